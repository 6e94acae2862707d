//! `Pace`: how fast a link settles: how much it is given at once, and whether it is given more.

use std::time::{Duration, Instant};

use crate::session::Session;

/// How long a link should be busy with a block that is within its share of the window, and with a larger one, up to
/// half of the window: what is dealt with so soon nobody misses.
const BLOCK_TIME: Duration = Duration::from_millis(1);
pub const LARGE_BLOCK_TIME: Duration = Duration::from_micros(200);
/// The block of a link that has not settled anything yet.
const FIRST_BLOCK: u64 = 16;

/// A receiver has one more than it works on, so that it need not wait for the next.
const AHEAD_COUNT_MIN: u64 = 2;

/// A receiver tells its sender within this time what is settled, though another stage is behind it.
const TELL_TIME: Duration = Duration::from_millis(200);
/// A link that is so many times slower than the fastest is given as many times less; a pace is no exact measure.
const SLOW_FACTOR: u64 = 4;

/// How fast a link settles.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pace {
    /// Since when it has had something unsettled, or when it last settled.
    since: Option<Instant>,
    /// When it last settled.
    pub settled: Option<Instant>,
    /// Nanoseconds for each message, on average; 0 if not known.
    nanos: u64,
    /// Its only message travels alone.
    pub is_alone: bool,
}

impl Pace {
    pub fn on_sent(&mut self) {
        self.since.get_or_insert_with(Instant::now);
    }

    pub fn on_settled(&mut self, count: u64, left: u64) {
        let Some(since) = self.since.filter(|_| count > 0) else { return };
        let now = Instant::now();
        let nanos = now.duration_since(since).as_nanos() as u64 / count;
        // The average of some: a pause of the machine is no news.
        let weight = if nanos < self.nanos { 2 } else { 32 };
        self.nanos =
            if self.nanos == 0 { nanos } else { (self.nanos * (weight - 1) + nanos) / weight }.max(1);
        (self.since, self.settled) = ((left > 0).then_some(now), Some(now));
        self.is_alone &= left > 0;
    }

    /// Nanoseconds for each message of the link: what its receiver says, or how fast it settles.
    pub fn nanos_of(&self, session: &Session) -> u64 {
        session.told_pace().unwrap_or(self.nanos)
    }

    /// Whether it has settled nothing for longer than what it has should take: perhaps it hangs.
    pub fn is_late(&self, session: &Session) -> bool {
        let nanos = session.told_pace().unwrap_or(0).saturating_mul(session.unsettled_count());
        let patience = TELL_TIME.saturating_add(Duration::from_nanos(nanos));
        self.since.is_some_and(|since| since.elapsed() > patience)
    }

    /// Whether it has had nothing unsettled since it last settled.
    pub fn is_at_rest(&self) -> bool {
        self.since.is_none() && !self.is_alone
    }

    /// How many messages that are not done the link may have, where it is to have no more than it wants, or does in `time`.
    pub fn ahead(&self, session: &Session, time: Option<Duration>) -> u64 {
        let by_pace = |time| match session.told_pace() {
            Some(nanos) => within(time, nanos).unwrap_or(u64::MAX).max(AHEAD_COUNT_MIN),
            None => within(time, self.nanos).unwrap_or(FIRST_BLOCK).max(FIRST_BLOCK),
        };
        // What has another stage behind it is done much later than its receiver has done with it.
        let time = time.filter(|_| !session.informs());
        session.wanted_ahead().or(time.map(by_pace)).unwrap_or(u64::MAX)
    }

    /// How many messages make a block for the link, of a window for so many.
    pub fn block(&self, session: &Session, window: u64, link_count: u64) -> u64 {
        let nanos = self.nanos_of(session);
        let share = (window / (2 * link_count.max(1))).max(1);
        let fair = within(BLOCK_TIME, nanos).unwrap_or(FIRST_BLOCK).min(share);
        let large = within(LARGE_BLOCK_TIME, nanos).unwrap_or(FIRST_BLOCK).min(window / 2);
        fair.max(large).max(1)
    }
}

/// How many times slower a link is than the fastest, if that is worth telling.
pub fn weight(nanos: u64, fastest: u64) -> u64 {
    Some(nanos / fastest.max(1)).filter(|factor| *factor >= SLOW_FACTOR).unwrap_or(1)
}

/// How many messages fit into the time, if it is known what one takes.
pub fn within(time: Duration, nanos: u64) -> Option<u64> {
    (time.as_nanos() as u64).checked_div(nanos)
}
