//! Yielding the processor before sleeping, where the application wants that (`yield_us`) and sleeps were short.
//!
//! To sleep and be woken costs 10 to 50 us, most of it where a processor has nothing else to do and halts. Who yields
//! instead keeps the processor awake and leaves it to whoever has work. That pays only as long as nobody works for long:
//! to one that yields, the scheduler comes back after a slice, milliseconds later, where one that sleeps would be woken and
//! take its turn at once. So whoever was made to wait so yields no more for a while, and longer each time.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use hairstreak_transport::{Poller, Readiness};

use super::state::State;

/// Who comes back so much later had to wait for another that works.
const ASIDE_TIME: Duration = Duration::from_micros(500);
/// For how long nobody yields then; twice as long each time.
const BACK_OFF_MIN: Duration = Duration::from_millis(20);
const BACK_OFF_MAX: Duration = Duration::from_secs(2);
/// So many waits in a row that ended while it yielded, and the back-off begins anew.
const GOOD_COUNT: u32 = 1000;

/// How long a sleep in the poller is, and whether the processor is yielded first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sleep {
    /// At most; for ever without.
    pub timeout: Option<Duration>,
    yield_time: Duration,
    yielding: Yielding,
}

/// What is learnt from how waits went.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Yielding {
    /// The last sleep was no longer than the time to yield.
    slept_briefly: bool,
    not_before: Option<Instant>,
    back_off: Duration,
    good_count: u32,
}

impl State {
    /// A sleep in the poller, `timeout` at most.
    pub(super) fn sleep_of(&self, timeout: Option<Duration>) -> Sleep {
        Sleep { timeout, yield_time: self.yield_time, yielding: self.yielding }
    }

    /// It went so.
    pub(super) fn note_sleep(&mut self, sleep: Sleep) {
        self.yielding = sleep.yielding;
    }
}

impl Sleep {
    /// It only looks, if that is wanted.
    pub fn or_look(self, only_looks: bool) -> Sleep {
        Sleep { timeout: if only_looks { Some(Duration::ZERO) } else { self.timeout }, ..self }
    }

    /// Waits for events, as [`Poller::wait`] does, and learns from it.
    pub fn run(&mut self, poller: &Poller, mut handle: impl FnMut(Readiness)) -> io::Result<()> {
        if self.yield_time.is_zero() || self.timeout == Some(Duration::ZERO) {
            return poller.wait(self.timeout, handle).map(drop);
        }
        let begin = Instant::now();
        if self.yielding.is_worthwhile(begin) && self.yield_from(begin, poller, &mut handle)? {
            return Ok(());
        }
        let begin = Instant::now();
        poller.wait(self.timeout, handle)?;
        self.yielding.slept_briefly = begin.elapsed() < self.yield_time;
        Ok(())
    }

    /// Looks, and yields in between. Returns whether the wait is over.
    fn yield_from(
        &mut self,
        begin: Instant,
        poller: &Poller,
        handle: &mut impl FnMut(Readiness),
    ) -> io::Result<bool> {
        let mut before = begin;
        loop {
            if poller.wait(Some(Duration::ZERO), &mut *handle)? {
                self.yielding.on_good();
                return Ok(true);
            }
            thread::yield_now();
            let now = Instant::now();
            if now - before >= ASIDE_TIME {
                self.yielding.on_aside(now);
                return Ok(false);
            }
            if self.timeout.is_some_and(|timeout| now - begin >= timeout) {
                return Ok(true);
            }
            if now - begin >= self.yield_time {
                self.yielding.slept_briefly = false;
                return Ok(false);
            }
            before = now;
        }
    }
}

impl Yielding {
    fn is_worthwhile(&self, now: Instant) -> bool {
        self.slept_briefly && self.not_before.is_none_or(|not_before| now >= not_before)
    }

    fn on_good(&mut self) {
        self.good_count += 1;
        if self.good_count >= GOOD_COUNT {
            (self.good_count, self.back_off) = (0, Duration::ZERO);
        }
    }

    fn on_aside(&mut self, now: Instant) {
        self.back_off = (self.back_off * 2).clamp(BACK_OFF_MIN, BACK_OFF_MAX);
        (self.good_count, self.not_before) = (0, Some(now + self.back_off));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: Duration = Duration::from_micros(100);

    #[test]
    fn it_yields_only_where_the_last_sleep_was_short() {
        let poller = Poller::new().unwrap();
        let mut sleep = Sleep { timeout: None, yield_time: TIME, yielding: Yielding::default() };
        assert!(!sleep.yielding.is_worthwhile(Instant::now()));
        sleep_briefly(&mut sleep, &poller);
        assert!(sleep.yielding.is_worthwhile(Instant::now()));
        sleep.timeout = Some(10 * TIME);
        let begin = Instant::now();
        while sleep.yielding.slept_briefly {
            // Unless another works, which would end it sooner.
            sleep.run(&poller, |_| ()).unwrap();
        }
        assert!(begin.elapsed() >= TIME);
        sleep_briefly(&mut sleep, &poller);
    }

    /// Sleeps and is woken at once, until one sleep was short. On a busy machine some of these sleeps are long.
    fn sleep_briefly(sleep: &mut Sleep, poller: &Poller) {
        let is_brief = (0..1000).any(|_| {
            poller.wake();
            sleep.run(poller, |_| ()).unwrap();
            sleep.yielding.slept_briefly
        });
        assert!(is_brief, "no sleep that was ended at once was short");
    }

    #[test]
    fn a_wake_up_ends_a_wait_that_yields() {
        let poller = Poller::new().unwrap();
        let yielding = Yielding { slept_briefly: true, ..Yielding::default() };
        let mut sleep = Sleep { timeout: None, yield_time: Duration::MAX, yielding };
        poller.wake();
        sleep.run(&poller, |_| ()).unwrap();
        assert!(sleep.yielding.good_count == 1 || sleep.yielding.not_before.is_some());
    }

    #[test]
    fn who_was_made_to_wait_yields_no_more_for_a_while_and_longer_each_time() {
        let mut yielding = Yielding { slept_briefly: true, ..Yielding::default() };
        let now = Instant::now();
        for back_off in [20, 40, 80, 160, 320, 640, 1280, 2000, 2000].map(Duration::from_millis) {
            yielding.on_aside(now);
            assert_eq!(yielding.not_before, Some(now + back_off));
            assert!(!yielding.is_worthwhile(now + back_off - TIME) && yielding.is_worthwhile(now + back_off));
        }
        (0..GOOD_COUNT).for_each(|_| yielding.on_good());
        yielding.on_aside(now);
        assert_eq!(yielding.not_before, Some(now + BACK_OFF_MIN));
    }
}
