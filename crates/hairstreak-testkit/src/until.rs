//! `until`: the one wait for a condition in tests of real parts.
//!
//! Not for simulations, whose clock is virtual, and not for values that arrive by a call: such a call has a timeout of its own.
//! Invariants: a wait has a bound, and a wait that fails names the expected state and the state that is there.

use std::convert::Infallible;
use std::fmt::Debug;
use std::thread;
use std::time::{Duration, Instant};

/// The bound of each wait. No wait of a test takes this long, even on a machine with much else to do.
pub const PATIENCE: Duration = Duration::from_secs(100);

/// Time in which the condition is checked without pauses. Later checks are a millisecond apart.
const QUICK: Duration = Duration::from_millis(10);

/// The result of one check of a condition: a `bool`, an `Option` or a `Result`.
pub trait Look {
    /// The value that a wait returns.
    type Found;
    /// The observed state as long as the condition does not hold.
    type There: Debug;

    /// The awaited value, or the state in its place if the type has one.
    fn outcome(self) -> Result<Self::Found, Option<Self::There>>;
}

impl Look for bool {
    type Found = ();
    type There = Infallible;

    fn outcome(self) -> Result<(), Option<Infallible>> {
        self.then_some(()).ok_or(None)
    }
}

impl<T> Look for Option<T> {
    type Found = T;
    type There = Infallible;

    fn outcome(self) -> Result<T, Option<Infallible>> {
        self.ok_or(None)
    }
}

impl<T, E: Debug> Look for Result<T, E> {
    type Found = T;
    type There = E;

    fn outcome(self) -> Result<T, Option<E>> {
        self.map_err(Some)
    }
}

/// Checks the condition repeatedly until it holds, and returns the found value.
///
/// ```
/// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
///
/// use hairstreak_testkit::until;
///
/// let count = AtomicU32::new(0);
/// std::thread::scope(|scope| {
///     scope.spawn(|| count.store(7, Relaxed));
///     until("the thread has begun", || count.load(Relaxed) > 0);
///     let count = until("seven", || match count.load(Relaxed) {
///         7 => Ok("seven"),
///         other => Err(other),
///     });
///     assert_eq!(count, "seven");
/// });
/// ```
///
/// # Panics
///
/// If the condition does not hold within [`PATIENCE`].
#[track_caller]
pub fn until<L: Look>(expected: &str, look: impl FnMut() -> L) -> L::Found {
    until_within(PATIENCE, expected, look)
}

/// Calls `look` repeatedly until it returns `wanted`. A failure names both values.
///
/// # Panics
///
/// If the two differ for all of [`PATIENCE`].
#[track_caller]
pub fn until_eq<T: PartialEq + Debug>(expected: &str, wanted: T, mut look: impl FnMut() -> T) {
    until(&format!("{expected}: {wanted:?}"), || {
        let there = look();
        if there == wanted { Ok(()) } else { Err(there) }
    });
}

/// Calls `look` repeatedly until it returns `wanted` or more. A failure names both values.
///
/// # Panics
///
/// If the value stays smaller for all of [`PATIENCE`].
#[track_caller]
pub fn until_at_least<T: PartialOrd + Debug>(expected: &str, wanted: T, mut look: impl FnMut() -> T) {
    until(&format!("{expected}: at least {wanted:?}"), || {
        let there = look();
        if there >= wanted { Ok(()) } else { Err(there) }
    });
}

#[track_caller]
fn until_within<L: Look>(patience: Duration, expected: &str, mut look: impl FnMut() -> L) -> L::Found {
    let start = Instant::now();
    loop {
        let there = match look().outcome() {
            Ok(found) => return found,
            Err(there) => there,
        };
        let elapsed = start.elapsed();
        if elapsed >= patience {
            let there = there.map_or_else(String::new, |there| format!(", but there is: {there:?}"));
            panic!("expected within {patience:?}: {expected}{there}");
        }
        match elapsed < QUICK {
            true => thread::yield_now(),
            // tidy: allow(sleeps) the pause between two looks leaves the processor to others
            false => thread::sleep(Duration::from_millis(1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    /// The message of a wait that has no patience.
    fn failure<L: Look>(look: impl FnMut() -> L) -> String {
        let wait = AssertUnwindSafe(|| until_within(Duration::ZERO, "all peers", look));
        let panic = catch_unwind(wait).err().expect("a panic");
        panic.downcast_ref::<String>().expect("a message").clone()
    }

    #[test]
    fn a_wait_ends_when_the_condition_holds_and_has_its_value() {
        let count = Cell::new(0);
        let next = || count.replace(count.get() + 1);
        until("five looks", || next() == 5);
        assert_eq!(until("ten looks", || Some(next()).filter(|&count| count == 10)), 10);
        assert_eq!(
            until("some looks", || if next() == 20 { Ok("enough") } else { Err("too few") }),
            "enough"
        );
        until_eq("looks", 30, next);
        until_at_least("looks", 70, || 2 * next());
        assert_eq!(count.get(), 36);
    }

    #[test]
    fn a_wait_without_success_names_the_expected_state_and_the_state_that_is_there() {
        assert_eq!(failure(|| false), "expected within 0ns: all peers");
        assert_eq!(failure(|| None::<u8>), "expected within 0ns: all peers");
        assert_eq!(
            failure(|| Err::<(), _>(["ann"])),
            r#"expected within 0ns: all peers, but there is: ["ann"]"#
        );
    }
}
