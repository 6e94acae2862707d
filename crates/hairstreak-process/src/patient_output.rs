//! `PatientOutput`: a file that is written to the end, even if it does not block, such as the standard output. A second
//! part keeps a closed standard output closed.
//!
//! A terminal or a pipe is one open file for all programs that share it. If another program sets `O_NONBLOCK`, a write
//! here fails with EAGAIN while the reader is slow. The writer then waits for room, as it would without the flag.

use std::ffi::c_int;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, fcntl_getfd, write};
use rustix::stdio::{stderr, stdout};

/// The number of the standard output.
const STANDARD_OUTPUT: c_int = 1;

/// A file for writing. A write waits for room, even if another program has set `O_NONBLOCK`.
#[derive(Debug)]
pub struct PatientOutput(Target);

#[derive(Debug)]
enum Target {
    File(File),
    /// The standard output or the standard error. No descriptor is opened, so that a process at its limit can still write.
    Standard(BorrowedFd<'static>),
}

impl PatientOutput {
    /// Wraps a file. If the file is closed, the write returns the error.
    pub fn new(file: File) -> PatientOutput {
        PatientOutput(Target::File(file))
    }

    /// Returns the standard output. Fails if it is closed.
    pub fn standard_output() -> io::Result<PatientOutput> {
        PatientOutput::standard(stdout())
    }

    /// Returns the standard error. Fails if it is closed.
    pub fn standard_error() -> io::Result<PatientOutput> {
        PatientOutput::standard(stderr())
    }

    fn standard(fd: BorrowedFd<'static>) -> io::Result<PatientOutput> {
        fcntl_getfd(fd)?;
        Ok(PatientOutput(Target::Standard(fd)))
    }

    fn fd(&self) -> BorrowedFd<'_> {
        match &self.0 {
            Target::File(file) => file.as_fd(),
            Target::Standard(fd) => *fd,
        }
    }
}

impl Write for PatientOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match write(self.fd(), bytes) {
                Err(Errno::AGAIN) => wait_for_room(self.fd())?,
                Err(Errno::INTR) => {}
                written => return Ok(written?),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Waits until there is room or the reader is gone. The next write reports a reader that is gone.
fn wait_for_room(file: BorrowedFd<'_>) -> io::Result<()> {
    match poll(&mut [PollFd::from_borrowed_fd(file, PollFlags::OUT)], None) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Makes a program call [`keep_standard_output_closed`](fn@keep_standard_output_closed) before its runtime starts.
#[macro_export]
macro_rules! keep_standard_output_closed {
    () => {
        const _: () = {
            #[used]
            #[unsafe(link_section = ".init_array")]
            static BEFORE_MAIN: extern "C" fn() = $crate::keep_standard_output_closed;
        };
    };
}

/// Keeps a standard output closed if it was closed when the program was started (`>&-`). A write there fails with
/// EBADF, except through [`std::io::Stdout`], which hides the error.
///
/// Without this call Rust's runtime opens /dev/null in its place before `main`, so that no later file gets its number.
/// Bytes written there are lost. A descriptor that is not writable reserves the number too.
pub extern "C" fn keep_standard_output_closed() {
    // SAFETY: numbers and a constant text. The closed descriptor was opened above.
    unsafe {
        if libc::fcntl(STANDARD_OUTPUT, libc::F_GETFD) != -1 {
            return;
        }
        let unwritable = libc::open(c"/dev/null".as_ptr(), libc::O_RDONLY);
        // The standard input may be closed too. In that case `open` returns the number of the standard input.
        if unwritable != -1 && unwritable != STANDARD_OUTPUT {
            libc::dup2(unwritable, STANDARD_OUTPUT);
            libc::close(unwritable);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Read};
    use std::os::fd::OwnedFd;

    use rustix::fs::{OFlags, fcntl_setfl};

    use super::*;

    #[test]
    fn all_is_written_though_the_pipe_does_not_block() {
        let (mut reader, writer) = io::pipe().unwrap();
        fcntl_setfl(&writer, OFlags::NONBLOCK).unwrap();
        let text: Vec<u8> = (0..1_000_000_u32).flat_map(u32::to_le_bytes).collect();
        let expected = text.clone();
        let writing = std::thread::spawn(move || {
            let mut output = PatientOutput::new(OwnedFd::from(writer).into());
            output.write_all(&text).map(|()| output.flush())
        });
        let mut read = Vec::new();
        reader.read_to_end(&mut read).unwrap();
        writing.join().unwrap().unwrap().unwrap();
        assert!(read == expected, "{} bytes of {}", read.len(), expected.len());
    }

    #[test]
    fn a_reader_that_is_gone_is_an_error() {
        let (reader, writer) = io::pipe().unwrap();
        fcntl_setfl(&writer, OFlags::NONBLOCK).unwrap();
        let mut output = PatientOutput::new(OwnedFd::from(writer).into());
        // More than the pipe holds, so that the writer waits when the reader goes.
        let writing = std::thread::spawn(move || output.write_all(&vec![0; 1 << 20]));
        drop(reader);
        assert_eq!(writing.join().unwrap().unwrap_err().kind(), ErrorKind::BrokenPipe);
    }
}
