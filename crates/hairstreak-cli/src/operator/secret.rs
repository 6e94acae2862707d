//! Passwords that do not stand on the command line, where other users of the host would see them: a file, standard
//! input, or the terminal without echo.

use std::fs::{self, File};
use std::io::{self, IsTerminal, Read, Write};
use std::os::fd::AsFd;
use std::path::Path;

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use signal_hook::consts::SIGINT;

use crate::failure::Failure;

/// The longest password, in bytes.
const SECRET_SIZE_MAX: usize = 4096;
/// The terminal of this process, wherever its input and output are.
const TERMINAL: &str = "/dev/tty";

/// The first line of a file; `-` is standard input.
pub fn read_secret(file: &Path) -> Result<String, Failure> {
    let unreadable = |error: io::Error| Failure::failed(format!("cannot read {}: {error}", file.display()));
    if file.as_os_str() == "-" {
        return first_line(io::stdin().lock(), "standard input");
    }
    first_line(fs::File::open(file).map_err(unreadable)?, &file.display().to_string())
}

/// A new password: the first line of the file, asked for on the terminal twice, or the first line of standard input if
/// that is no terminal.
pub fn new_secret(file: Option<&Path>, user: &str) -> Result<String, Failure> {
    if let Some(file) = file {
        return read_secret(file);
    }
    if !io::stdin().is_terminal() {
        return read_secret(Path::new("-"));
    }
    let asked = |question: String| {
        ask(&question)?.ok_or_else(|| Failure::failed(format!("cannot ask for a password on {TERMINAL}")))
    };
    let secret = asked(format!("new password of user '{user}': "))?;
    if asked("the same again: ".to_owned())? != secret {
        return Err(Failure::failed("the two passwords differ"));
    }
    Ok(secret)
}

fn first_line(mut from: impl Read, name: &str) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let limit = SECRET_SIZE_MAX as u64 + 1;
    let read = from.by_ref().take(limit).read_to_end(&mut bytes);
    read.map_err(|error| Failure::failed(format!("cannot read {name}: {error}")))?;
    let line = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
    if line.len() > SECRET_SIZE_MAX {
        return Err(Failure::failed(format!("the password in {name} has more than {SECRET_SIZE_MAX} bytes")));
    }
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    match std::str::from_utf8(line) {
        Ok("") => Err(Failure::failed(format!("there is no password in {name}"))),
        Ok(line) => Ok(line.to_owned()),
        Err(_) => Err(Failure::failed(format!("the password in {name} is no UTF-8"))),
    }
}

/// Asks on the terminal, without echo. None: there is no terminal.
pub fn ask(question: &str) -> Result<Option<String>, Failure> {
    let Ok(terminal) = File::options().read(true).write(true).open(TERMINAL) else { return Ok(None) };
    let unusable =
        |error: io::Error| Failure::failed(format!("cannot ask for a password on {TERMINAL}: {error}"));
    let before = tcgetattr(terminal.as_fd()).map_err(|error| unusable(error.into()))?;
    // Signals come as characters, so that the terminal gets its echo back after any key.
    let mut silent = before.clone();
    silent.local_modes -= LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG;
    let typed = Silent::start(&terminal, &silent, before)
        .and_then(|_silent| (&terminal).write_all(question.as_bytes()).and_then(|()| typed(&terminal)));
    // A line that the terminal refuses is lost.
    let _ = (&terminal).write_all(b"\n");
    match typed.map_err(unusable)? {
        Typed::Line(line) => Ok(Some(line)),
        Typed::Interrupt => Err(Failure::stopped(SIGINT as u8, "stopped while a password was asked for")),
    }
}

/// A terminal without echo; its modes come back when this is dropped.
struct Silent<'a> {
    terminal: &'a File,
    before: Termios,
}

impl<'a> Silent<'a> {
    fn start(terminal: &'a File, modes: &Termios, before: Termios) -> io::Result<Silent<'a>> {
        tcsetattr(terminal.as_fd(), OptionalActions::Flush, modes)?;
        Ok(Silent { terminal, before })
    }
}

impl Drop for Silent<'_> {
    fn drop(&mut self) {
        // A terminal that has gone needs no echo.
        let _ = tcsetattr(self.terminal.as_fd(), OptionalActions::Flush, &self.before);
    }
}

enum Typed {
    Line(String),
    Interrupt,
}

/// The text that is typed up to the end of the line. Backspace and Ctrl-U work.
fn typed(terminal: &File) -> io::Result<Typed> {
    let mut line = Vec::new();
    let mut byte = [0];
    loop {
        let end = (&*terminal).read(&mut byte)? == 0;
        match byte[0] {
            b'\n' | b'\r' | 0x04 => break,
            _ if end => break,
            0x03 => return Ok(Typed::Interrupt),
            0x15 => line.clear(),
            0x08 | 0x7f => {
                // A character of several bytes goes as a whole.
                while line.pop().is_some_and(|byte: u8| byte & 0xc0 == 0x80) {}
            }
            byte if line.len() < SECRET_SIZE_MAX => line.push(byte),
            _ => {}
        }
    }
    String::from_utf8(line)
        .map(Typed::Line)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is no UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_is_the_password() {
        let read = |text: &[u8]| first_line(text, "there").map_err(|failure| failure.line().unwrap());
        for text in ["secret", "secret\n", "secret\r\n", "secret\nmore\n"] {
            assert_eq!(read(text.as_bytes()).as_deref(), Ok("secret"));
        }
        assert_eq!(read(&[b'x'; SECRET_SIZE_MAX]).unwrap().len(), SECRET_SIZE_MAX);
        for wrong in [&b""[..], b"\n", b"\xff", &[b'x'; SECRET_SIZE_MAX + 1]] {
            assert!(read(wrong).unwrap_err().contains("there"));
        }
    }
}
