//! `WaitSet`: waits for messages, room and a time on all connections to a plain broker, in a thread or in a task.

use std::io;
use std::task::Waker;
use std::time::{Duration, Instant};

use hairstreak_socket::{AddError, Interest, Poller, WaitError};

use super::driver::Driver;

/// A key that no socket has.
const CLOCK: usize = usize::MAX;

#[derive(Debug)]
pub(super) struct WaitSet {
    poller: Poller,
    /// Which sockets it waits for, and what for. Their keys count from 0.
    change_count: Option<u64>,
    interests: Vec<Interest>,
}

impl WaitSet {
    pub fn new() -> io::Result<WaitSet> {
        Ok(WaitSet { poller: Poller::new()?, change_count: None, interests: Vec::new() })
    }

    /// Waits for what the driver waits for now. When it has other sockets it ends the wait.
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
        // Not before it can wait: the driver keeps the waker, and with it the descriptors, until its sockets change.
        driver.wake_when_changed(self.poller.waker());
        Ok(())
    }

    /// Ends the wait.
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
