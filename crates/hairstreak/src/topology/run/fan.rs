//! Handing messages to the instances of a stage, strictly one after another.
//!
//! Message `j` goes to instance `j mod n`. Only an instance that has no room left, being thousands of
//! messages behind, is passed over; when none has room the one whose turn it is is waited for.

use std::sync::Arc;
use std::time::Duration;

use hairstreak_socket::{Context, Message, OpenError, Options, Push, SendError};

use super::error::RunError;
use super::tally::Tally;
use crate::topology::definition::{Framing, Stage, Work};

/// How often a wait for room looks whether the run is still wanted.
const ABANDON_CHECK: Duration = Duration::from_millis(100);

/// The sockets towards one stage.
pub(super) struct Fan {
    stage: usize,
    name: String,
    accepts: Accepts,
    pushes: Vec<Push>,
    next: usize,
    tally: Arc<Tally>,
}

/// What a stage can be given.
#[derive(Clone, Copy, PartialEq)]
enum Accepts {
    Anything,
    OneFrame,
    OneLine,
}

/// What became of a message.
pub(super) enum Given {
    Done,
    Abandoned,
}

impl Fan {
    /// Opens a socket for each instance of the stage with that index.
    pub(super) fn open(
        context: &Context,
        options: &Options,
        (index, stage): (usize, &Stage),
        tally: Arc<Tally>,
    ) -> Result<Fan, OpenError> {
        let accepts = match stage.work {
            Some(Work::Filter { framing: Framing::Lines, .. }) => Accepts::OneLine,
            Some(Work::Filter { framing: Framing::Length, .. }) => Accepts::OneFrame,
            _ => Accepts::Anything,
        };
        let open = |_| Push::with_options(context, options.clone());
        let pushes = (0..stage.instances).map(open).collect::<Result<_, _>>()?;
        Ok(Fan { stage: index, name: stage.name.clone(), accepts, pushes, next: 0, tally })
    }

    /// The sockets, in order of the instances.
    pub(super) fn pushes(&self) -> &[Push] {
        &self.pushes
    }

    /// The stage's index.
    pub(super) fn stage(&self) -> usize {
        self.stage
    }

    /// Gives `message` to the instance whose turn it is. `name` says which one it is, for errors.
    pub(super) fn give(&mut self, message: &Message, name: impl Fn() -> String) -> Result<Given, RunError> {
        self.check(message, &name)?;
        for _ in 0..self.pushes.len() {
            match self.try_give(|push| push.try_send(message)) {
                Err(SendError::WouldBlock) => self.turn(),
                sent => return self.sent(sent, &name),
            }
        }
        loop {
            match self.try_give(|push| push.send_timeout(message, ABANDON_CHECK)) {
                Err(SendError::TimedOut) if self.tally.is_abandoned() => return Ok(Given::Abandoned),
                Err(SendError::TimedOut) => {}
                sent => return self.sent(sent, &name),
            }
        }
    }

    /// Counts first: the result may be back before the call is.
    fn try_give(&self, send: impl FnOnce(&Push) -> Result<(), SendError>) -> Result<(), SendError> {
        self.tally.giving(self.stage, self.next);
        let sent = send(&self.pushes[self.next]);
        if sent.is_err() {
            self.tally.not_given(self.stage, self.next);
        }
        sent
    }

    fn sent(&mut self, sent: Result<(), SendError>, name: &impl Fn() -> String) -> Result<Given, RunError> {
        match sent {
            Ok(()) => {
                self.turn();
                Ok(Given::Done)
            }
            Err(error) => {
                let reason = format!("cannot be sent to stage \"{}\": {error}", self.name);
                Err(RunError::Message { message: name(), reason })
            }
        }
    }

    fn turn(&mut self) {
        self.next = if self.next + 1 == self.pushes.len() { 0 } else { self.next + 1 };
    }

    fn check(&self, message: &Message, name: &impl Fn() -> String) -> Result<(), RunError> {
        let refuse = |reason| Err(RunError::Message { message: name(), reason });
        if self.accepts == Accepts::Anything {
            return Ok(());
        }
        if message.frame_count() != 1 {
            return refuse(format!(
                "has {} frames, filter \"{}\" takes one",
                message.frame_count(),
                self.name
            ));
        }
        if self.accepts == Accepts::OneLine && message.body().contains(&b'\n') {
            return refuse(format!(
                "contains a newline, which framing = \"lines\" of stage \"{}\" cannot carry; \"length\" can",
                self.name
            ));
        }
        Ok(())
    }
}
