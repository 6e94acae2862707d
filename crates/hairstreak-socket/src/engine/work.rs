//! `Work`: what an engine has done since its last turn, and when to look whether the next is due.
//!
//! It counts frames as well as reads and writes: one read brings up to 32,768 empty frames, which take as long as a hundred
//! reads. The first frame of each message does not count. Messages of one frame go a short way, where nothing is counted; while a
//! caller is at those the watch tick has the background thread look for others. How long the application takes for its messages
//! the engine does not know, so that the clock is looked at four times as often as a turn is due by the work alone.

use std::time::Duration;

/// So many frames count as one read or write, which takes 1 to 20 us; a frame takes about 60 ns.
const FRAMES_PER_IO: u32 = 256;
/// Reads and writes after which a caller that never waits takes a turn at the poller all the same, or as many frames.
const IO_PER_TURN: u32 = 16;
const FRAMES_PER_TURN: u32 = IO_PER_TURN * FRAMES_PER_IO;
/// But not sooner after the last: in shared memory so many take a microsecond, which is what the turn costs.
const TURN_INTERVAL: Duration = Duration::from_micros(20);
/// The same where frames are most of the work: those of a peer that sends them as fast as they can be taken are worth fewer turns.
const FRAMES_TURN_INTERVAL: Duration = Duration::from_micros(100);
/// The work for one that found what it waited for without sleeping: it has it in its hands, so that whoever also
/// sends takes its turn with a message that is on its way.
const FRAMES_PER_TURN_LOOKING: u32 = 4 * FRAMES_PER_TURN;
/// Work after which the clock is looked at first.
const FRAMES_PER_LOOK: u32 = FRAMES_PER_TURN / 4;
/// A turn that long ago is long enough for so little work.
const SLOW_TURN_INTERVAL: Duration = Duration::from_millis(1);

/// Work since the last turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Work {
    /// Reads and writes among them.
    frames: u32,
    /// Reads and writes alone.
    io: u32,
    /// With so many the clock is looked at.
    look_at: u32,
}

impl Default for Work {
    fn default() -> Work {
        Work { frames: 0, io: 0, look_at: FRAMES_PER_LOOK }
    }
}

impl Work {
    /// Reads or writes were made.
    #[inline]
    pub fn add_io(&mut self, count: u32) {
        self.io = self.io.saturating_add(count);
        self.frames = self.frames.saturating_add(count.saturating_mul(FRAMES_PER_IO));
    }

    /// Messages were received that have so many frames beyond the first of each.
    #[inline]
    pub fn add_further_frames(&mut self, count: usize) {
        self.frames = self.frames.saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
    }

    /// Whether to look at the clock for a turn.
    #[inline]
    pub fn is_worth_a_look(&self) -> bool {
        self.frames >= self.look_at
    }

    /// The same for one that found what it waited for.
    #[inline]
    pub fn is_worth_a_look_behind_a_wait(&self) -> bool {
        self.is_worth_a_look() && self.frames >= FRAMES_PER_TURN_LOOKING
    }

    /// Whether a turn is due, the last having been that long ago. If not, the clock is looked at again after some more work.
    pub fn is_turn_due(&mut self, since_turn: Duration) -> bool {
        let is_much = self.frames >= FRAMES_PER_TURN;
        let interval = match is_much {
            true if self.io >= IO_PER_TURN => TURN_INTERVAL,
            true => FRAMES_TURN_INTERVAL,
            false => SLOW_TURN_INTERVAL,
        };
        let is_due = since_turn >= interval;
        if !is_due && is_much {
            self.look_at = self.frames.saturating_add(FRAMES_PER_TURN / 2);
        } else if !is_due {
            self.look_at = (2 * self.frames).min(FRAMES_PER_TURN);
        }
        is_due
    }

    pub fn in_frames(&self) -> u32 {
        self.frames
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Instant;

    use super::*;
    use crate::{Context, Message, Options, Pull, Push};

    const SOON: Duration = Duration::ZERO;
    const PATIENCE: Duration = Duration::from_secs(60);

    /// How many turns its caller takes at a PULL that has so many messages of so many empty frames, received one by one or in
    /// batches, and never waits. The caller takes the time for a frame that is enough for a turn where frames are.
    fn turns_for(messages: usize, frame_count: usize, in_batches: bool) -> u64 {
        let options =
            Options { receive_count_max: usize::MAX, receive_bytes_max: usize::MAX, ..Options::default() };
        let pull = Pull::with_options(&Context::new(), options).unwrap();
        let push = Push::new(&Context::new()).unwrap();
        push.connect(&pull.bind("tcp://127.0.0.1:*").unwrap().to_string()).unwrap();
        let message = Message::from_frames(vec![b""; frame_count]);
        (0..messages).for_each(|_| push.send(&message).unwrap());
        push.flush();
        let end = Instant::now() + PATIENCE;
        while pull.stats().received_bytes < 2 * (messages * frame_count) as u64 {
            assert!(Instant::now() < end);
            thread::yield_now();
        }
        let turns = || pull.handle.engine.lock().turns;
        let (before, mut batch, mut received) = (turns(), Vec::new(), 0);
        while received < messages {
            let count = match in_batches {
                true => pull.recv_many(&mut batch, 1024).unwrap(),
                false => pull.recv().map(|_| 1).unwrap(),
            };
            let since = Instant::now();
            while since.elapsed() < FRAMES_TURN_INTERVAL * (count * frame_count) as u32 / 1000 {}
            received += count;
        }
        turns() - before
    }

    #[test]
    fn a_caller_takes_its_turns_by_the_frames_that_it_receives() {
        // What is here was read before, so that reads alone are worth a turn or two.
        for (messages, frame_count, in_batches) in
            [(60, 1000, false), (60, 1000, true), (6_000, 10, false), (6_000, 10, true)]
        {
            let turns = turns_for(messages, frame_count, in_batches);
            assert!(turns >= 6, "{turns} for {messages} of {frame_count}, {in_batches}");
        }
    }

    /// Messages of so many frames until a turn is due, the last having been that long ago.
    fn messages_per_turn(frame_count: usize, since_turn: Duration) -> u32 {
        let mut work = Work::default();
        for messages in 1.. {
            work.add_further_frames(frame_count - 1);
            if work.is_worth_a_look() && work.is_turn_due(since_turn) {
                return messages;
            }
        }
        unreachable!("it grows with each message")
    }

    #[test]
    fn frames_add_up_over_messages_whatever_their_number() {
        for (frame_count, messages) in [(2, 4096), (3, 2048), (11, 410), (1001, 5), (100_000, 1)] {
            assert_eq!(messages_per_turn(frame_count, FRAMES_TURN_INTERVAL), messages, "of {frame_count}");
        }
    }

    #[test]
    fn one_that_takes_long_for_its_messages_has_its_turn_sooner() {
        assert_eq!(messages_per_turn(2, SLOW_TURN_INTERVAL), 1024);
        assert_eq!(messages_per_turn(1001, SLOW_TURN_INTERVAL), 2);
    }

    #[test]
    fn reads_and_writes_count_beside_frames() {
        let mut work = Work::default();
        work.add_io(15);
        work.add_further_frames(255);
        assert!(work.is_worth_a_look() && !work.is_turn_due(FRAMES_TURN_INTERVAL));
        work.add_further_frames(1);
        assert!(work.is_worth_a_look() && work.is_turn_due(FRAMES_TURN_INTERVAL));
        assert!(!work.is_turn_due(TURN_INTERVAL));
        work.add_io(1);
        assert!(work.is_turn_due(TURN_INTERVAL));
    }

    #[test]
    fn the_clock_is_looked_at_now_and_then_only() {
        let (mut work, mut looks) = (Work::default(), Vec::new());
        for io in 1..=40 {
            work.add_io(1);
            if work.is_worth_a_look() {
                assert!(!work.is_turn_due(SOON));
                looks.push(io);
            }
        }
        assert_eq!(looks, [4, 8, 16, 24, 32, 40]);
    }

    #[test]
    fn more_than_can_be_counted_is_the_most() {
        let mut work = Work::default();
        work.add_further_frames(usize::MAX);
        work.add_io(u32::MAX);
        assert_eq!(work.in_frames(), u32::MAX);
        assert!(!work.is_turn_due(SOON) && work.is_worth_a_look_behind_a_wait());
    }
}
