//! `Fan`: handing messages to the instances of a stage, strictly in turn.
//!
//! Message `j` goes to instance `j mod n`. An instance without room is passed over: it is thousands of messages behind,
//! or is being started again. If no instance has room, the first with room again gets the message.

use std::sync::Arc;
use std::time::Duration;

use hairstreak_socket::{Context, Message, OpenError, Options, Push, SendError};

use super::error::RunError;
use super::tally::Tally;
use crate::topology::definition::{Framing, Stage, Work};
use crate::topology::stage::{plain, settled};

/// Wait for the instance whose turn it is, before the others are tried again.
const WAIT: Duration = Duration::from_millis(10);

/// The sockets towards one stage.
pub(super) struct Fan {
    stage: usize,
    name: String,
    accepts: Accepts,
    pushes: Vec<Push>,
    next: usize,
    /// The number of the next message, and for each instance the number of the message that it has next in its turn.
    number: u64,
    expected: Vec<u64>,
    tally: Arc<Tally>,
}

/// The messages that a stage accepts.
#[derive(Clone, Copy, PartialEq)]
enum Accepts {
    Anything,
    OneFrame,
    OneLine,
}

/// The outcome for a message.
pub(super) enum Given {
    Done,
    Abandoned,
}

impl Fan {
    /// Opens a socket for each instance of the stage with this index.
    pub(super) fn open(
        context: &Context,
        (index, stage): (usize, &Stage),
        tally: Arc<Tally>,
    ) -> Result<Fan, OpenError> {
        Fan::with_options(context, if stage.settles() { settled() } else { plain() }, (index, stage), tally)
    }

    fn with_options(
        context: &Context,
        options: Options,
        (index, stage): (usize, &Stage),
        tally: Arc<Tally>,
    ) -> Result<Fan, OpenError> {
        let accepts = match stage.work {
            Some(Work::Filter { framing: Framing::Lines, .. }) => Accepts::OneLine,
            Some(Work::Filter { framing: Framing::Length, .. }) => Accepts::OneFrame,
            _ => Accepts::Anything,
        };
        let open = |_| Push::with_options(context, options.clone());
        let pushes = (0..stage.instances).map(open).collect::<Result<Vec<_>, _>>()?;
        let epochs = pushes.iter().filter_map(|push| Some(push.first_unsettled()?.epoch));
        tally.stage(index).set_epochs(epochs.collect());
        let (name, expected) = (stage.name.clone(), vec![0; pushes.len()]);
        Ok(Fan { stage: index, name, accepts, pushes, next: 0, number: 1, expected, tally })
    }

    /// Returns the sockets, in the order of the instances.
    pub(super) fn pushes(&self) -> &[Push] {
        &self.pushes
    }

    /// Tells the instances that they were given all messages.
    pub(super) fn announce_end(&self) {
        self.pushes.iter().for_each(Push::announce_end);
    }

    /// Gives `message` to the instance whose turn it is. `name` returns its name for errors.
    pub(super) fn give(&mut self, message: &Message, name: impl Fn() -> String) -> Result<Given, RunError> {
        self.check(message, &name)?;
        loop {
            for _ in 0..self.pushes.len() {
                match self.try_give(|push| push.try_send(message)) {
                    Err(SendError::WouldBlock) => self.turn(),
                    sent => return self.sent(sent, &name),
                }
            }
            match self.try_give(|push| push.send_timeout(message, WAIT)) {
                Err(SendError::TimedOut) if self.tally.is_abandoned() => return Ok(Given::Abandoned),
                Err(SendError::TimedOut) => {}
                sent => return self.sent(sent, &name),
            }
        }
    }

    /// Counts the message before sending it: the result may be back before the call returns.
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
                self.note_given();
                self.turn();
                Ok(Given::Done)
            }
            Err(error) => {
                let reason = format!("cannot be sent to stage \"{}\": {error}", self.name);
                Err(RunError::Message { message: name(), reason })
            }
        }
    }

    /// Notes that the next message is the next task of the instance whose turn it is.
    fn note_given(&mut self) {
        let (number, step) = (self.number, self.pushes.len() as u64);
        if self.expected[self.next] != number {
            let instance = self.tally.stage(self.stage).instance(self.next);
            instance.numbering.begin(instance.given() - 1, number, step, instance.answered_below());
        }
        self.expected[self.next] = number + step;
        self.number += 1;
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

#[cfg(test)]
mod tests {
    use hairstreak_socket::Pull;

    use super::*;

    /// A fan to two instances whose queues hold four messages each, and the other ends.
    fn fan_of_two(name: &str, work: Work) -> (Fan, Vec<Pull>, Arc<Tally>) {
        let context = Context::new();
        let options = Options { send_count_max: 4, receive_count_max: 4, linger_ms: 0, ..Options::default() };
        let tally = Arc::new(Tally::new([2]));
        tally.start();
        let (work, distribution) = (Some(work), Default::default());
        let stage = Stage { name: "work".into(), instances: 2, work, times: None, distribution };
        let fan = Fan::with_options(&context, options.clone(), (0, &stage), tally.clone()).unwrap();
        let connected = |(index, push): (usize, &Push)| {
            let endpoint = format!("inproc://fan-{name}-{index}");
            push.bind(&endpoint).unwrap();
            let pull = Pull::with_options(&context, options.clone()).unwrap();
            pull.connect(&endpoint).unwrap();
            assert!(push.wait_for_peers(1, Duration::from_secs(10)));
            pull
        };
        let pulls = fan.pushes().iter().enumerate().map(connected).collect();
        (fan, pulls, tally)
    }

    fn give(fan: &mut Fan, body: &str) -> Result<bool, String> {
        let given = fan.give(&Message::from(body), || "message 7".into());
        given.map(|given| matches!(given, Given::Done)).map_err(|error| error.to_string())
    }

    #[test]
    fn messages_go_to_the_instances_in_turn() {
        let (mut fan, pulls, tally) = fan_of_two("turn", Work::Echo);
        for body in ["a", "b", "c"] {
            assert_eq!(give(&mut fan, body), Ok(true));
        }
        let received = [&pulls[0], &pulls[1], &pulls[0]].map(|pull| pull.recv().unwrap());
        assert_eq!(received.map(|message| message.body().to_vec()), [b"a", b"b", b"c"]);
        assert_eq!(tally.stage(0).given_to_each(), [2, 1]);
    }

    #[test]
    fn an_instance_without_room_is_passed_over() {
        let (mut fan, pulls, tally) = fan_of_two("room", Work::Echo);
        for _ in 0..100 {
            assert_eq!(give(&mut fan, "x"), Ok(true));
            fan.pushes()[1].flush();
            while pulls[1].try_recv().is_ok() {}
        }
        let given = tally.stage(0).given_to_each();
        assert!(given[0] < 20 && given[0] + given[1] == 100, "{given:?}");
    }

    #[test]
    fn a_wait_for_room_ends_when_the_run_is_abandoned() {
        let (mut fan, _pulls, tally) = fan_of_two("abandoned", Work::Echo);
        tally.abandon();
        let all_given = (0..100).all(|_| give(&mut fan, "x") == Ok(true));
        assert!(!all_given);
    }

    #[test]
    fn a_filter_of_lines_is_given_lines_only() {
        let command = crate::topology::CommandLine::Shell("cat".into());
        let (mut fan, _pulls, _) = fan_of_two("lines", Work::Filter { command, framing: Framing::Lines });
        assert_eq!(give(&mut fan, "one line"), Ok(true));
        let refusal = give(&mut fan, "two\nlines").unwrap_err();
        assert!(refusal.starts_with("message 7 contains a newline, which framing = \"lines\""), "{refusal}");
        let frames = Message::from_frames(["head", "body"]);
        let refused = fan.give(&frames, || "message 8".into()).map(|_| ()).unwrap_err().to_string();
        assert_eq!(refused, "message 8 has 2 frames, filter \"work\" takes one");
    }
}
