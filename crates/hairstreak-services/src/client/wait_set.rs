//! `WaitSet`: waits for messages, room and a deadline on all connections to a plain broker, in a thread or in a task.

use std::io;
use std::task::Waker;
use std::time::{Duration, Instant};

use hairstreak_socket::{AddError, Interest, Poller, WaitError};

use super::driver::Driver;

/// Key of the deadline. No socket has it.
const CLOCK: usize = usize::MAX;

#[derive(Debug)]
pub(super) struct WaitSet {
    poller: Poller,
    /// State of the driver's sockets that the poller follows. `interests` is indexed by the keys of the sockets, from
    /// 0.
    change_count: Option<u64>,
    interests: Vec<Interest>,
}

impl WaitSet {
    pub fn new() -> io::Result<WaitSet> {
        Ok(WaitSet { poller: Poller::new()?, change_count: None, interests: Vec::new() })
    }

    /// Waits for the current events of the driver. A change of its sockets ends the wait.
    pub fn follow(&mut self, driver: &mut Driver) -> Result<(), AddError> {
        if self.change_count != Some(driver.change_count()) {
            self.change_count = None;
            for key in 0..self.interests.len() {
                self.poller.remove(key);
            }
            self.interests.clear();
            for (key, (dealer, interest)) in driver.sockets().enumerate() {
                self.poller.add(dealer, key, interest)?;
                self.interests.push(interest);
            }
            self.change_count = Some(driver.change_count());
        }
        for (key, ((_, interest), before)) in driver.sockets().zip(&mut self.interests).enumerate() {
            if *before != interest && self.poller.modify(key, interest).is_ok() {
                *before = interest;
            }
        }
        // The waker is set last: the driver keeps it, and its descriptors, until the sockets change.
        driver.wake_when_changed(self.poller.waker());
        Ok(())
    }

    /// Returns a waker that ends the wait.
    pub fn waker(&self) -> Waker {
        self.poller.waker()
    }

    pub fn wait(&mut self, timeout: Duration) -> Result<(), WaitError> {
        self.poller.wait_timeout(&mut Vec::new(), timeout)
    }

    pub async fn wait_async(&mut self, timeout: Duration) -> Result<(), WaitError> {
        self.poller.remove(CLOCK);
        self.poller.add_time(Instant::now() + timeout, CLOCK).map_err(io::Error::other)?;
        self.poller.wait_async(&mut Vec::new()).await
    }
}
