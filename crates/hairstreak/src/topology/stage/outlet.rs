//! `Outlet`: a command's standard output. Its messages are the results of the command's input, in the same order.

use std::io::{self, BufReader, ErrorKind};
use std::process::ChildStdout;
use std::sync::Arc;

use hairstreak_socket::{Message, Push};

use super::ending::Ending;
use super::inlet::Inlet;
use crate::topology::definition::Framing;
use crate::topology::framing::read_part;

/// Passes on the results of a command.
pub(super) struct Outlet {
    inlet: Arc<Inlet>,
    push: Push,
    /// Number of results so far.
    count: u64,
    /// Number of results of the present run that still follow.
    run_left: u64,
}

/// The last output, behind the last complete result.
pub(super) enum Rest {
    Nothing,
    /// A line without its newline: a result if the command ended well, otherwise a part of a result.
    Line(Vec<u8>),
    /// A part of a result.
    Torn(io::Error),
}

impl Outlet {
    pub(super) fn new(inlet: Arc<Inlet>, push: Push) -> Outlet {
        Outlet { inlet, push, count: 0, run_left: 0 }
    }

    /// Sends results until the command's output ends.
    pub(super) fn give_results(&mut self, stdout: ChildStdout, framing: Framing) -> Result<Rest, Ending> {
        let mut reader = BufReader::with_capacity(1 << 16, stdout);
        loop {
            match read_part(&mut reader, framing) {
                Ok(None) => return Ok(Rest::Nothing),
                Ok(Some((line, false))) => return Ok(Rest::Line(line)),
                Ok(Some((body, true))) => self.give(body)?,
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(Rest::Torn(error)),
                Err(error) => return Err(self.unreadable(&error)),
            }
            if reader.buffer().is_empty() {
                self.push.flush();
            }
        }
    }

    /// Sends the next result.
    pub(super) fn give(&mut self, body: Vec<u8>) -> Result<(), Ending> {
        self.count += 1;
        if self.run_left == 0 {
            let Some((run, count)) = self.inlet.next_run() else { return Err(self.one_for_each()) };
            self.push.pass_on(run);
            self.run_left = count;
        }
        self.run_left -= 1;
        self.push.send(&Message::from(body)).map_err(Ending::fault)
    }

    /// Returns the number of results so far.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn one_for_each(&self) -> Ending {
        let (results, count) = (self.count, self.inlet.count());
        Ending::Fault(format!(
            "the filter printed {results} results for {count} messages, one for each is due"
        ))
    }

    pub(super) fn unreadable(&self, error: &io::Error) -> Ending {
        Ending::Fault(format!("result {} cannot be read: {error}", self.count + 1))
    }

    /// Sends gathered results.
    pub(super) fn flush(&self) {
        self.push.flush();
    }
}
