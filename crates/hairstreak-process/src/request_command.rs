//! `ServiceCommand`: a command that is run for each request.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hairstreak_services::{PASSWORD_VARIABLE, Request};
use hairstreak_socket::Message;
use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use thiserror::Error;

use super::children::Children;

/// Longest reply, in bytes: the size limit of a message.
const REPLY_BYTES_MAX: u64 = 127 << 20;

/// Interval between two checks that the reply is still wanted.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);
/// Grace period of a command whose reply is no longer wanted. The command is killed after it.
const GRACE: Duration = Duration::from_secs(2);

/// A command that is run for each request.
#[derive(Clone, Debug)]
pub struct ServiceCommand {
    words: Vec<OsString>,
    children: Children,
}

/// Reason that a request has no reply.
#[derive(Debug, Error)]
pub enum CommandError {
    /// The command cannot be started.
    #[error("cannot start {program}: {source}")]
    Start {
        /// The program.
        program: String,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The output cannot be read.
    #[error("the command's output cannot be read: {0}")]
    Read(std::io::Error),
    /// The output is too long.
    #[error("the command's output has more than {REPLY_BYTES_MAX} bytes")]
    TooLong,
    /// The command failed.
    #[error("the command failed: {0}")]
    Failed(std::process::ExitStatus),
}

impl ServiceCommand {
    /// Returns a command with these words. Its processes are added to `children`.
    pub fn new(words: Vec<OsString>, children: Children) -> ServiceCommand {
        ServiceCommand { words, children }
    }

    /// Runs the command for this request.
    pub fn answer(&self, request: &Request<'_>) -> Result<Message, CommandError> {
        let (mut child, group) = self.start(request)?;
        let is_over = AtomicBool::new(false);
        let (output, status) = thread::scope(|scope| {
            let watch = || self.watch(request, group, &is_over);
            let watcher = thread::Builder::new().name("watch".into()).spawn_scoped(scope, watch);
            let output = feed_and_read(&mut child, request);
            if output.is_err() {
                self.children.kill(group);
            }
            // The command may run on for long after it has closed its output.
            let status = wait(&mut child);
            is_over.store(true, Ordering::Relaxed);
            if let Ok(watcher) = watcher {
                watcher.thread().unpark();
            }
            self.children.forget(group);
            (output, status.and_then(|()| child.wait()))
        });
        let (status, output) = (status.map_err(CommandError::Read)?, output?);
        if status.success() { Ok(output.into()) } else { Err(CommandError::Failed(status)) }
    }

    /// Ends the command once its reply is no longer wanted.
    fn watch(&self, request: &Request<'_>, group: Pid, is_over: &AtomicBool) {
        let mut asked: Option<Instant> = None;
        while !is_over.load(Ordering::Relaxed) {
            if asked.is_some_and(|asked| asked.elapsed() >= GRACE) {
                return self.children.kill(group);
            }
            if asked.is_none() && request.is_cancelled() {
                self.children.ask_to_end(group);
                asked = Some(Instant::now());
            }
            thread::park_timeout(LOOK_INTERVAL);
        }
    }

    fn start(&self, request: &Request<'_>) -> Result<(Child, Pid), CommandError> {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).stdin(Stdio::piped()).stdout(Stdio::piped());
        if let Some(id) = request.id() {
            command.env("HAIRSTREAK_REQUEST", id.to_string());
        }
        // The command does not see the credentials of the worker.
        command.env_remove(PASSWORD_VARIABLE);
        command.env("HAIRSTREAK_REPEATED", if request.is_repeated() { "1" } else { "0" });
        let program = || self.words[0].display().to_string();
        self.children.start(&mut command).map_err(|source| CommandError::Start { program: program(), source })
    }
}

/// Writes the body and reads the output at the same time: a command may write before it has read everything.
fn feed_and_read(child: &mut Child, request: &Request<'_>) -> Result<Vec<u8>, CommandError> {
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let mut output = Vec::new();
    thread::scope(|scope| {
        let feed = move || {
            let Some(mut stdin) = stdin else { return };
            for frame in request.frames() {
                // The command has read enough, or has ended. Its exit status shows the result.
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

/// Waits for the end of the child and leaves it as a zombie, so that the number of its group is not reused.
fn wait(child: &mut Child) -> std::io::Result<()> {
    loop {
        match waitid(WaitId::Pid(Pid::from_child(child)), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
            Err(Errno::INTR) => {}
            done => return done.map(drop).map_err(Into::into),
        }
    }
}
