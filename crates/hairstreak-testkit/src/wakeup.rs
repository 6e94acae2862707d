//! `Wakeup`: keeps one machine's next timeout in the queue.
//!
//! A machine without a clock names the time of its next call, and may name another time after each event. The world calls
//! [`Wakeup::arm`] after each event of the machine, and [`Wakeup::is_due`] when the armed event comes.

use std::time::Duration;

use crate::simulator::Simulator;

/// The timeout that is in the queue. Each life of a node has one of its own.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wakeup {
    armed_at: Option<u64>,
}

impl Wakeup {
    /// Schedules `event` for the time that the machine names, since the start of the world: one tick from now at the
    /// earliest, so that time goes on. An event that is in the queue and comes no later serves as well.
    pub fn arm<E>(&mut self, sim: &mut Simulator<E>, timeout: Option<Duration>, event: E) {
        let Some(timeout) = timeout else { return };
        let time = sim.tick_at(timeout).max(sim.now() + 1);
        if self.armed_at.is_none_or(|armed_at| time < armed_at) {
            self.armed_at = Some(time);
            sim.at(time, event);
        }
    }

    /// Returns true if the current event is the armed one. An earlier event may have replaced it. The machine may have postponed
    /// its timeout, so the caller asks the machine, and arms again in any case.
    pub fn is_due<E>(&mut self, sim: &Simulator<E>) -> bool {
        self.armed_at.take_if(|armed_at| *armed_at == sim.now()).is_some()
    }
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::*;
    use crate::trace::Trace;

    fn ms(ms: u64) -> Option<Duration> {
        Some(Duration::from_millis(ms))
    }

    /// Returns the times at which a machine is called whose timeouts follow `next`.
    fn called(first: &[u64], next: impl Fn(u64) -> Option<Duration>) -> Vec<u64> {
        let mut sim = Simulator::new(Rng::with_seed(0), Duration::from_millis(1), Trace::Off);
        let mut wakeup = Wakeup::default();
        first.iter().for_each(|time| wakeup.arm(&mut sim, ms(*time), ()));
        let mut called = Vec::new();
        while sim.next().is_some() {
            if wakeup.is_due(&sim) {
                called.push(sim.now());
                let timeout = next(sim.now());
                wakeup.arm(&mut sim, timeout, ());
            }
        }
        called
    }

    #[test]
    fn the_earliest_timeout_comes_once() {
        assert_eq!(called(&[30, 10, 20, 10], |_| None), [10]);
    }

    #[test]
    fn a_timeout_that_is_named_again_comes_once_though_an_older_event_is_in_the_queue() {
        assert_eq!(called(&[30, 10], |now| ms(30).filter(|_| now < 30)), [10, 30]);
    }

    #[test]
    fn a_timeout_that_is_past_comes_a_tick_later() {
        assert_eq!(called(&[0], |now| ms(1).filter(|_| now < 3)), [1, 2, 3]);
    }
}
