//! `ServiceCommand`: a command that is run for each request.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::thread;

use hairstreak::Message;
use hairstreak::service::Request;
use rustix::process::Pid;
use thiserror::Error;

use crate::map::Children;

/// The longest reply, in bytes: what a message may have.
const REPLY_BYTES_MAX: u64 = 127 << 20;

#[derive(Clone, Debug)]
pub struct ServiceCommand {
    words: Vec<OsString>,
    children: Children,
}

/// Why a request has no reply.
#[derive(Debug, Error)]
pub enum CommandError {
    #[error("cannot start {program}: {source}")]
    Start { program: String, source: std::io::Error },
    #[error("the command's output cannot be read: {0}")]
    Read(std::io::Error),
    #[error("the command's output has more than {REPLY_BYTES_MAX} bytes")]
    TooLong,
    #[error("the command failed: {0}")]
    Failed(std::process::ExitStatus),
}

impl ServiceCommand {
    /// What it starts is among `children`.
    pub fn new(words: Vec<OsString>, children: Children) -> ServiceCommand {
        ServiceCommand { words, children }
    }

    /// Runs it for this request.
    pub fn answer(&self, request: &Request<'_>) -> Result<Message, CommandError> {
        let (mut child, group) = self.start(request)?;
        let output = feed_and_read(&mut child, request);
        if output.is_err() {
            self.children.kill(group);
        }
        self.children.forget(group);
        let status = child.wait().map_err(CommandError::Read)?;
        let output = output?;
        if status.success() { Ok(output.into()) } else { Err(CommandError::Failed(status)) }
    }

    fn start(&self, request: &Request<'_>) -> Result<(Child, Pid), CommandError> {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).stdin(Stdio::piped()).stdout(Stdio::piped());
        if let Some(id) = request.id() {
            command.env("HAIRSTREAK_REQUEST", id.to_string());
        }
        command.env("HAIRSTREAK_REPEATED", if request.is_repeated() { "1" } else { "0" });
        let program = || self.words[0].display().to_string();
        self.children.start(&mut command).map_err(|source| CommandError::Start { program: program(), source })
    }
}

/// Writes the body while it reads, as a command may write before it has read all.
fn feed_and_read(child: &mut Child, request: &Request<'_>) -> Result<Vec<u8>, CommandError> {
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let mut output = Vec::new();
    thread::scope(|scope| {
        let feed = move || {
            let Some(mut stdin) = stdin else { return };
            for frame in request.frames() {
                // It has read enough, or is gone: its status tells.
                if stdin.write_all(frame.as_bytes()).is_err() {
                    return;
                }
            }
        };
        thread::Builder::new().name("body".into()).spawn_scoped(scope, feed).map_err(CommandError::Read)?;
        if let Some(stdout) = stdout {
            stdout.take(REPLY_BYTES_MAX + 1).read_to_end(&mut output).map_err(CommandError::Read)?;
        }
        if output.len() as u64 > REPLY_BYTES_MAX { Err(CommandError::TooLong) } else { Ok(output) }
    })
}
