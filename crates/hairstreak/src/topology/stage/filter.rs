//! A stage that is a command: messages go into its standard input, results come out of its
//! standard output, one for each.
//!
//! One thread writes, another reads, so a command may be as many messages behind as it likes (most
//! gather their output in a buffer). A third waits for the command itself: what it started may hold its
//! output open long after it failed. When the runner says how many messages there are, and they are
//! in, the command's standard input is closed; then it must print what it owes and end with status
//! 0. This process stays until the runner lets it go.

use std::ffi::OsString;
use std::io::{self, BufReader, BufWriter, Write};
use std::process::{ChildStdin, ChildStdout, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use hairstreak_socket::{Message, Pull, Push};
use rustix::process::Pid;

use super::command::bound_to_this_process;
use super::descendants;
use super::ending::Ending;
use super::environment::sockets;
use super::lifeline;
use crate::topology::definition::Framing;
use crate::topology::framing::{read_message, write_message};

/// Messages taken at once while more are there.
const BATCH_COUNT: usize = 256;
/// The line by which the runner knows that a filter did all its work and ended well.
pub(in crate::topology) const FINISHED: &str = "finished";

/// Pumps messages through `command` until the runner is done.
pub(super) fn filter(framing: Framing, command: Vec<OsString>) -> Ending {
    run(framing, command).unwrap_or_else(|ending| ending)
}

fn run(framing: Framing, command: Vec<OsString>) -> Result<Ending, Ending> {
    let inlet = Arc::new(Inlet::default());
    let last = inlet.clone();
    lifeline::hold(move |count| last.announce_last(count)).map_err(Ending::fault)?;
    let mut child = bound_to_this_process(command)
        .and_then(|mut command| command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn())
        .map_err(Ending::fault)?;
    descendants::bury_all_but(Pid::from_child(&child)).map_err(Ending::fault)?;
    // INVARIANT: both are piped, a line above, and taken here only.
    let (stdin, stdout) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
    let (pull, push) = sockets()?;
    inlet.open(stdin);
    let taking = inlet.clone();
    let (teller, told) = mpsc::channel();
    let (of_results, of_command) = (teller.clone(), teller);
    start_thread("messages", move || take_messages(&pull, framing, &taking))?;
    let giving = inlet.clone();
    start_thread("results", move || {
        // It is listened to as long as this process lives.
        let _ = of_results.send(Told::Results(give_results(stdout, framing, &push, &giving)));
    })?;
    start_thread("command", move || {
        let _ = of_command.send(Told::Command(child.wait()));
    })?;
    end(&told, &inlet)
}

fn start_thread(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), Ending> {
    let started = thread::Builder::new().name(name.into()).spawn(work);
    started.map(drop).map_err(Ending::fault)
}

/// What the threads have to tell.
enum Told {
    /// The command's output has ended, after so many results; or they are wrong.
    Results(Result<u64, Ending>),
    /// The command has ended.
    Command(io::Result<ExitStatus>),
}

/// The command's standard input, and what went into it. The counts are readable while a write
/// waits for the command, which may in turn wait for its results to be read.
struct Inlet {
    stdin: Mutex<Option<BufWriter<ChildStdin>>>,
    count: AtomicU64,
    /// How many there will be, once the runner said so.
    last: AtomicU64,
}

impl Default for Inlet {
    fn default() -> Inlet {
        Inlet { stdin: Mutex::default(), count: AtomicU64::new(0), last: AtomicU64::new(u64::MAX) }
    }
}

impl Inlet {
    fn open(&self, stdin: ChildStdin) {
        let mut inlet = self.lock();
        *inlet = Some(BufWriter::with_capacity(1 << 16, stdin));
        self.close_after_last(&mut inlet);
    }

    /// Writes messages; each is counted first, for the command may answer at once.
    fn write(&self, framing: Framing, batch: &mut Vec<Message>) -> io::Result<()> {
        let mut stdin = self.lock();
        let Some(writer) = &mut *stdin else { return Err(io::ErrorKind::BrokenPipe.into()) };
        for message in batch.drain(..) {
            self.count.fetch_add(1, Ordering::SeqCst);
            write_message(writer, framing, message.body())?;
        }
        writer.flush()?;
        self.close_after_last(&mut stdin);
        Ok(())
    }

    fn announce_last(&self, count: u64) {
        self.last.store(count, Ordering::SeqCst);
        self.close_after_last(&mut self.lock());
    }

    fn close_after_last(&self, stdin: &mut Option<BufWriter<ChildStdin>>) {
        if self.is_complete() {
            *stdin = None;
        }
    }

    fn count(&self) -> u64 {
        self.count.load(Ordering::SeqCst)
    }

    fn is_complete(&self) -> bool {
        self.last.load(Ordering::SeqCst) == self.count()
    }

    fn lock(&self) -> MutexGuard<'_, Option<BufWriter<ChildStdin>>> {
        self.stdin.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Until the command takes no more: what came of it is seen where its results are read.
fn take_messages(pull: &Pull, framing: Framing, inlet: &Inlet) {
    let mut batch = Vec::with_capacity(BATCH_COUNT);
    while pull.recv_many(&mut batch, BATCH_COUNT).is_ok() {
        if inlet.write(framing, &mut batch).is_err() {
            return;
        }
    }
}

/// Until the command's output ends; how many results there were.
fn give_results(stdout: ChildStdout, framing: Framing, push: &Push, inlet: &Inlet) -> Result<u64, Ending> {
    let mut reader = BufReader::with_capacity(1 << 16, stdout);
    let mut results = 0;
    loop {
        let unreadable = |error| Ending::Fault(format!("result {} cannot be read: {error}", results + 1));
        let Some(body) = read_message(&mut reader, framing).map_err(unreadable)? else { return Ok(results) };
        results += 1;
        if results > inlet.count() {
            return Err(one_for_each(results, inlet.count()));
        }
        push.send(&Message::from(body)).map_err(Ending::fault)?;
        if reader.buffer().is_empty() {
            push.flush();
        }
    }
}

/// Waits until the command and its output have ended: was that right? A command that failed decides alone.
fn end(told: &Receiver<Told>, inlet: &Inlet) -> Result<Ending, Ending> {
    let (mut results, mut succeeded) = (None, false);
    let results = loop {
        match told.recv().map_err(Ending::fault)? {
            Told::Results(count) => results = Some(count?),
            Told::Command(status) => {
                let status = status.map_err(Ending::fault)?;
                if !status.success() {
                    return Ok(status.into());
                }
                succeeded = true;
            }
        }
        if let (Some(count), true) = (results, succeeded) {
            break count;
        }
    };
    if !inlet.is_complete() {
        return Err(Ending::Fault(format!("the filter ended early, after {results} results")));
    }
    if results < inlet.count() {
        return Err(one_for_each(results, inlet.count()));
    }
    let mut stdout = io::stdout();
    writeln!(stdout, "{FINISHED}").and_then(|()| stdout.flush()).map_err(Ending::fault)?;
    loop {
        thread::park();
    }
}

fn one_for_each(results: u64, count: u64) -> Ending {
    Ending::Fault(format!("the filter printed {results} results for {count} messages, one for each is due"))
}
