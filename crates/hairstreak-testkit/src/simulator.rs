//! `Simulator`: virtual time, the queue of events, and all randomness.
//!
//! Invariants: time never goes back. Events of one time come in the order in which they were scheduled. The seed alone decides
//! the random values.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::time::Duration;

use fastrand::Rng;

use crate::trace::Trace;

/// One world's clock and queue. `E` is the world's event; it holds the events of each device.
///
/// Times and delays are in ticks, whose length the world chooses: with a coarse tick more events fall together.
#[derive(Debug)]
pub struct Simulator<E> {
    now: u64,
    tick_ns: u64,
    queue: BinaryHeap<Scheduled<E>>,
    scheduled_count: u64,
    /// The only source of randomness: a draw from anywhere else cannot be replayed.
    pub rng: Rng,
    /// Destination of the lines of [`Simulator::note`].
    pub trace: Trace,
}

#[derive(Debug)]
struct Scheduled<E> {
    time: u64,
    order: u64,
    event: E,
}

impl<E> Simulator<E> {
    /// A world at time 0 with nothing scheduled.
    ///
    /// # Panics
    ///
    /// If the tick is shorter than a nanosecond or longer than `u64::MAX` of them.
    pub fn new(rng: Rng, tick: Duration, trace: Trace) -> Simulator<E> {
        let tick_ns = u64::try_from(tick.as_nanos()).unwrap_or_default();
        assert!(tick_ns > 0, "a tick of {tick:?}");
        Simulator { now: 0, tick_ns, queue: BinaryHeap::new(), scheduled_count: 0, rng, trace }
    }

    /// The time of the last event, in ticks.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Returns the current time as a duration since the start, for machines that take the time as an argument.
    pub fn time(&self) -> Duration {
        Duration::from_nanos(self.now.saturating_mul(self.tick_ns))
    }

    /// The first tick at which a duration since the start has passed.
    pub fn tick_at(&self, time: Duration) -> u64 {
        let time_ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        time_ns.div_ceil(self.tick_ns)
    }

    /// Schedules an event: now, if the time is past.
    pub fn at(&mut self, time: u64, event: E) {
        self.scheduled_count += 1;
        let time = time.max(self.now);
        self.queue.push(Scheduled { time, order: self.scheduled_count, event });
    }

    /// Schedules an event after a random delay of at most `delay_max` ticks.
    pub fn within(&mut self, delay_max: u64, event: E) {
        let delay = self.rng.u64(0..=delay_max);
        self.at(self.now + delay, event);
    }

    /// Returns the next event, and sets the time to its time. `None` if nothing is scheduled.
    #[allow(clippy::should_implement_trait, reason = "an iterator would keep the simulator borrowed")]
    pub fn next(&mut self) -> Option<E> {
        let Scheduled { time, event, .. } = self.queue.pop()?;
        self.now = time;
        Some(event)
    }

    /// True in `percent` of a hundred draws. A chance of 0 draws nothing.
    pub fn chance(&mut self, percent: u8) -> bool {
        percent > 0 && self.rng.u8(0..100) < percent
    }

    /// Adds a line to the trace, if there is one.
    pub fn note(&mut self, line: impl FnOnce() -> String) {
        self.trace.note(self.now, line);
    }
}

impl<E> Scheduled<E> {
    fn key(&self) -> (u64, u64) {
        (self.time, self.order)
    }
}

impl<E> Ord for Scheduled<E> {
    /// The earliest is the greatest, because the heap hands out the greatest first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

impl<E> PartialOrd for Scheduled<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> PartialEq for Scheduled<E> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<E> Eq for Scheduled<E> {}

#[cfg(test)]
mod tests {
    use super::*;

    fn simulator() -> Simulator<u64> {
        Simulator::new(Rng::with_seed(1), Duration::from_millis(2), Trace::Off)
    }

    fn all(sim: &mut Simulator<u64>) -> Vec<(u64, u64)> {
        std::iter::from_fn(|| sim.next().map(|event| (sim.now(), event))).collect()
    }

    #[test]
    fn events_come_by_time_and_those_of_one_time_as_they_were_scheduled() {
        let mut sim = simulator();
        for (event, time) in [5, 3, 5, 0, 3, 5].into_iter().enumerate() {
            sim.at(time, event as u64);
        }
        assert_eq!(all(&mut sim), [(0, 3), (3, 1), (3, 4), (5, 0), (5, 2), (5, 5)]);
    }

    #[test]
    fn an_event_for_the_past_comes_now_and_behind_what_was_scheduled_for_now() {
        let mut sim = simulator();
        sim.at(7, 1);
        sim.at(7, 2);
        assert_eq!(sim.next(), Some(1));
        sim.at(3, 3);
        assert_eq!(all(&mut sim), [(7, 2), (7, 3)]);
    }

    #[test]
    fn random_delays_reach_both_bounds() {
        let mut sim = simulator();
        (0..100).for_each(|event| sim.within(2, event));
        let times: Vec<u64> = all(&mut sim).into_iter().map(|(time, _)| time).collect();
        assert_eq!((times.first(), times.last()), (Some(&0), Some(&2)));
    }

    #[test]
    fn a_duration_ends_at_the_first_tick_that_is_not_before_it() {
        let mut sim = simulator();
        let ticks = [0, 1, 2, 3, 4].map(|ms| sim.tick_at(Duration::from_millis(ms)));
        assert_eq!(ticks, [0, 1, 1, 2, 2]);
        assert_eq!(sim.tick_at(Duration::MAX), u64::MAX / 2_000_000 + 1);
        sim.at(5, 0);
        sim.next();
        assert_eq!(sim.time(), Duration::from_millis(10));
    }

    #[test]
    fn a_chance_of_nothing_draws_nothing() {
        let mut sim = simulator();
        assert!(!sim.chance(0));
        assert!((0..100).all(|_| sim.chance(100)));
        let mut other = simulator();
        assert!((0..100).all(|_| other.chance(100)));
        assert_eq!(sim.rng.u64(..), other.rng.u64(..));
    }
}
