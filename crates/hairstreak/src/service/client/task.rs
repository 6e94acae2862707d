//! Calls in a task: no thread of the executor waits for a reply, and any executor will do.

use std::time::Instant;

use hairstreak_socket::{Dealer, Interest, Message, Poller, RecvError};

use super::error::RequestError;
use super::handle::{Client, Replies};
use super::open::{Found, Taker};

/// What the poller of a call has.
const SOCKET: usize = 0;
const CLOCK: usize = 1;

/// What a call waits with: the client's socket, and a clock for what time alone does.
struct Bell {
    poller: Poller,
    dealer: Dealer,
    generation: u64,
}

impl Client {
    /// As [`Client::call`], in a task. Dropped before it is ready, it withdraws the request.
    pub async fn call_async(&self, service: &str, body: impl Into<Message>) -> Result<Message, RequestError> {
        let body = body.into();
        let deadline = self.expiry(service)?;
        let mut bell = None;
        while !self.has_room(&self.lock()) {
            self.arrival(&mut bell, None).await?;
        }
        let number = {
            let mut state = self.lock();
            let number = state.driver.open.add(service.as_bytes(), body, deadline, Taker::Caller);
            state.driver.flush();
            number
        };
        // Withdraws what is not over when it is dropped.
        let mut replies = Replies { client: self, number, deadline, is_over: false };
        let mut frames = Vec::new();
        loop {
            let found = self.lock().driver.open.collect(number);
            match found {
                Found::Part(part) => frames.extend_from_slice(part.as_frames()),
                Found::End(end) => {
                    replies.is_over = true;
                    return end.map(|()| frames.into_iter().collect());
                }
                Found::Nothing => self.arrival(&mut bell, Some(number)).await?,
            }
        }
    }

    /// Waits until something has come, for this request or any other, or a while has passed, and takes what is there.
    async fn arrival(&self, bell: &mut Option<Bell>, number: Option<u64>) -> Result<(), RequestError> {
        let system = |error: &dyn std::fmt::Display| RequestError::System(error.to_string());
        let patience = {
            let mut state = self.lock();
            state.driver.look(Instant::now());
            state.driver.flush();
            let generation = state.driver.generation();
            if bell.as_ref().is_none_or(|bell| bell.generation != generation) {
                let mut poller = Poller::new().map_err(|error| system(&error))?;
                let dealer = state.driver.dealer();
                poller.add(&dealer, SOCKET, Interest::READABLE).map_err(|error| system(&error))?;
                *bell = Some(Bell { poller, dealer, generation });
            }
            state.driver.patience()
        };
        let Some(Bell { poller, dealer, .. }) = bell else { return Ok(()) };
        if let Some(number) = number {
            // Another task, or a thread, may take what comes for it.
            let waker = poller.waker();
            let mut state = self.lock();
            if state.driver.open.has_come(number) {
                return Ok(());
            }
            state.driver.open.wake_for(number, &waker);
        }
        poller.remove(CLOCK);
        poller.add_time(Instant::now() + patience, CLOCK).map_err(|error| system(&error))?;
        poller.wait_async(&mut Vec::new()).await.map_err(|error| system(&error))?;
        let mut state = self.lock();
        loop {
            match dealer.try_recv() {
                Ok(message) => state.driver.take(&message),
                Err(RecvError::Forked) => return Err(RequestError::Forked),
                Err(_) => break,
            }
        }
        state.driver.look(Instant::now());
        self.pass_turn(&state);
        Ok(())
    }
}
