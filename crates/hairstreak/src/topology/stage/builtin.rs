//! The built-in stages: a sleep and an echo.

use std::num::NonZeroU64;
use std::time::Duration;

use super::ending::Ending;
use super::environment::sockets;
use super::lifeline;

/// Messages taken at once while more are there.
const BATCH_COUNT: usize = 256;

/// Waits `time` for each message before it passes it on. Ends only with the runner.
pub(super) fn sleep(time: Duration) -> Ending {
    // The kernel may otherwise delay the end of a wait by 50 us, to save wake-ups.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    started(|| {
        let (pull, push) = sockets()?;
        loop {
            let message = pull.recv().map_err(Ending::fault)?;
            std::thread::sleep(time);
            push.send(&message).map_err(Ending::fault)?;
        }
    })
}

/// Passes each message on. Ends only with the runner.
pub(super) fn echo() -> Ending {
    started(|| {
        let (pull, push) = sockets()?;
        let mut batch = Vec::with_capacity(BATCH_COUNT);
        loop {
            pull.recv_many(&mut batch, BATCH_COUNT).map_err(Ending::fault)?;
            push.send_all(&batch).map_err(Ending::fault)?;
        }
    })
}

fn started(work: impl FnOnce() -> Result<std::convert::Infallible, Ending>) -> Ending {
    if let Err(error) = lifeline::hold(|_| ()) {
        return Ending::fault(error);
    }
    match work() {
        Err(ending) => ending,
    }
}
