//! `Process`: a running command with pipes that do not block.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, ErrorKind, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

use hairstreak_socket::{Interest, Poller};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::ioctl_fionread;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::children::Children;
use super::error::CommandPoolError;

/// Number of poller keys that a process needs.
pub const KEY_COUNT: usize = 3;
/// The key of standard input.
pub const STDIN: usize = 0;
/// The key of standard output.
pub const STDOUT: usize = 1;
/// Key that is readable once the process has ended.
const END: usize = 2;

/// A running command.
#[derive(Debug)]
pub struct Process {
    child: Child,
    group: Pid,
    children: Children,
    /// First key of the process in the poller.
    key: usize,
    stdin: Option<PipeWriter>,
    /// Read end of the standard input. It shows the bytes that the process has not read.
    inlet: Option<PipeReader>,
    /// Bytes to write, from `written` on.
    pending: Vec<u8>,
    written: usize,
    is_stdin_watched: bool,
    stdout: Option<ChildStdout>,
}

/// Result of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    Bytes(usize),
    Nothing,
    End,
}

impl Process {
    /// Starts `command`. The poller watches it with keys from `key` on. Without `has_input` its standard input is
    /// empty.
    pub fn start(
        command: &[OsString],
        has_input: bool,
        children: &Children,
        poller: &mut Poller,
        key: usize,
    ) -> Result<Process, CommandPoolError> {
        let (program, arguments) = command.split_first().ok_or(CommandPoolError::NoCommand)?;
        let mut starting = Command::new(program);
        starting.args(arguments).stdout(Stdio::piped());
        let pipe = has_input.then(io::pipe).transpose().map_err(CommandPoolError::System)?;
        let (inlet, stdin) = pipe.unzip();
        let its_end =
            inlet.as_ref().map(PipeReader::try_clone).transpose().map_err(CommandPoolError::System)?;
        starting.stdin(its_end.map_or_else(Stdio::null, Stdio::from));
        // Reserves the descriptor that is opened after the start: a command that has begun cannot be tried again.
        let reserved = File::open("/dev/null").map_err(CommandPoolError::System)?;
        let (mut child, group) =
            children.start(&mut starting).map_err(|source| match children.have_stopped() {
                true => CommandPoolError::Stopped,
                false => CommandPoolError::Start { program: program.clone(), source },
            })?;
        let stdout = child.stdout.take();
        let watch = || -> io::Result<OwnedFd> {
            stdin.as_ref().map_or(Ok(()), set_nonblocking)?;
            stdout.as_ref().map_or(Ok(()), set_nonblocking)?;
            drop(reserved);
            Ok(pidfd_open(group, PidfdFlags::empty())?)
        };
        let end = watch().map_err(CommandPoolError::System)?;
        poller.add_descriptor(&end, key + END, Interest::READABLE)?;
        if let Some(stdout) = &stdout {
            poller.add_descriptor(stdout, key + STDOUT, Interest::READABLE)?;
        }
        let children = children.clone();
        Ok(Process {
            child,
            group,
            children,
            key,
            stdin,
            inlet,
            pending: Vec::new(),
            written: 0,
            is_stdin_watched: false,
            stdout,
        })
    }

    /// Returns the buffer for bytes to write next.
    pub fn pending(&mut self) -> &mut Vec<u8> {
        &mut self.pending
    }

    /// Returns the number of bytes that are still to be written.
    pub fn pending_size(&self) -> usize {
        self.pending.len() - self.written
    }

    pub fn is_open(&self) -> bool {
        self.stdin.is_some()
    }

    /// Writes as many bytes as the pipe takes.
    pub fn write(&mut self, poller: &mut Poller) -> Result<(), CommandPoolError> {
        while let Some(stdin) = &mut self.stdin
            && self.written < self.pending.len()
        {
            match stdin.write(&self.pending[self.written..]) {
                Ok(count) => self.written += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.forget_written();
                    return self.watch_stdin(true, poller);
                }
                // The process has closed its input. Its exit status shows the reason.
                Err(_) => self.written = self.pending.len(),
            }
        }
        self.pending.clear();
        self.written = 0;
        self.watch_stdin(false, poller)
    }

    /// Drops written bytes once they are half of the buffer, so that the rest is not moved over and over.
    fn forget_written(&mut self) {
        if self.written >= self.pending.len() / 2 {
            self.pending.drain(..std::mem::take(&mut self.written));
        }
    }

    /// Closes the standard input.
    pub fn close(&mut self, poller: &mut Poller) -> Result<(), CommandPoolError> {
        self.watch_stdin(false, poller)?;
        self.stdin = None;
        Ok(())
    }

    fn watch_stdin(&mut self, watch: bool, poller: &mut Poller) -> Result<(), CommandPoolError> {
        if let Some(stdin) = &self.stdin
            && watch != std::mem::replace(&mut self.is_stdin_watched, watch)
        {
            if watch {
                poller.add_descriptor(stdin, self.key + STDIN, Interest::WRITABLE)?;
            } else {
                poller.remove(self.key + STDIN);
            }
        }
        Ok(())
    }

    /// Reads available bytes without blocking.
    pub fn read(&mut self, into: &mut [u8], poller: &mut Poller) -> Result<Found, CommandPoolError> {
        let Some(stdout) = &mut self.stdout else { return Ok(Found::End) };
        loop {
            match stdout.read(into) {
                Ok(0) => break,
                Ok(count) => return Ok(Found::Bytes(count)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Found::Nothing),
                Err(error) => return Err(CommandPoolError::System(error)),
            }
        }
        poller.remove(self.key + STDOUT);
        self.stdout = None;
        Ok(Found::End)
    }

    pub fn kill(&self) {
        self.children.kill(self.group);
    }

    /// Returns the number of input bytes that the process has not read. After its end the number is final.
    pub fn unread_size(&self) -> usize {
        let in_pipe = self.inlet.as_ref().and_then(|inlet| ioctl_fionread(inlet).ok());
        self.pending_size() + in_pipe.map_or(0, |size| size as usize)
    }

    /// Returns the exit status of a process whose end the poller has reported. The poller stops watching the process.
    pub fn end(mut self, poller: &mut Poller) -> Result<ExitStatus, CommandPoolError> {
        for offset in 0..KEY_COUNT {
            // Some of the keys were removed before.
            poller.remove(self.key + offset);
        }
        // The group is removed before its number can be reused.
        self.children.forget(self.group);
        self.child.wait().map_err(CommandPoolError::System)
    }
}

fn set_nonblocking(pipe: &impl AsFd) -> io::Result<()> {
    Ok(fcntl_setfl(pipe, fcntl_getfl(pipe)? | OFlags::NONBLOCK)?)
}
