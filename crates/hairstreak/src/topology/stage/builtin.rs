//! The built-in stages: a sleep, a spin and an echo.

use std::cell::RefCell;
use std::convert::Infallible;
use std::num::NonZeroU64;
use std::thread;
use std::time::Duration;

use fastrand::Rng;
use hairstreak_model::Distribution;
use hairstreak_socket::{Message, Push, RecvError};

use super::ending::Ending;
use super::environment::sockets;
use super::lifeline;
use crate::calibration::burn;

/// Largest number of messages taken at once.
const BATCH_COUNT: usize = 1024;

/// Waits `time` for each message, on average, before passing it on. Ends only with the runner.
pub(super) fn sleep(time: Duration, distribution: Distribution) -> Ending {
    // The kernel may otherwise delay the end of a wait by 50 us, to save wake-ups.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    serve_each(time, distribution, thread::sleep)
}

/// Computes `time` for each message, on average, before passing it on. Ends only with the runner.
pub(super) fn spin(time: Duration, distribution: Distribution) -> Ending {
    serve_each(time, distribution, |time| {
        burn(time);
    })
}

fn serve_each(time: Duration, distribution: Distribution, work: fn(Duration)) -> Ending {
    let rng = RefCell::new(Rng::new());
    serve(|messages, push| {
        for message in messages {
            work(time.mul_f64(distribution.draw(&mut rng.borrow_mut())));
            push.send(message).map_err(Ending::fault)?;
        }
        Ok(())
    })
}

/// Passes each message on. Ends only with the runner.
pub(super) fn echo() -> Ending {
    serve(|messages, push| push.send_all(messages).map(drop).map_err(Ending::fault))
}

/// Calls `work` with messages, again and again. It sends a result for each of them.
fn serve(work: impl Fn(&[Message], &Push) -> Result<(), Ending>) -> Ending {
    if let Err(error) = lifeline::hold() {
        return Ending::fault(error);
    }
    let Err(ending) = serve_all(work);
    ending
}

fn serve_all(work: impl Fn(&[Message], &Push) -> Result<(), Ending>) -> Result<Infallible, Ending> {
    let (pull, push) = sockets()?;
    let mut messages = Vec::with_capacity(BATCH_COUNT);
    loop {
        messages.clear();
        let batch = match pull.recv_batch(&mut messages, BATCH_COUNT, Duration::MAX) {
            Ok(batch) => batch,
            Err(RecvError::Ended) => break,
            Err(error) => return Err(Ending::fault(error)),
        };
        let mut rest = &messages[..];
        for (run, count) in batch.runs {
            let (tasks, behind) = rest.split_at(count as usize);
            push.pass_on(run);
            work(tasks, &push)?;
            rest = behind;
        }
    }
    push.flush();
    lifeline::stay()
}
