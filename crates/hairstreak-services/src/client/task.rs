//! Calls in tasks: no thread of the executor waits for a reply, and any executor will do.
//!
//! Of the tasks that wait, one leads: it has the client's poller, takes what comes for all, and looks at the time. The others
//! have left a waker, with their request or in the line for room. Who leads no more wakes one that may.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use hairstreak_socket::Message;

use super::error::RequestError;
use super::handle::{Client, Guard, Replies, State, WholeReply};
use super::open::{Found, Taker};
use super::wait_set::WaitSet;

/// The tasks that wait.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    is_led: bool,
    /// While nobody leads.
    wait_set: Option<WaitSet>,
    next_ticket: u64,
    /// Those that wait for room, by their tickets, and until when.
    line: BTreeMap<u64, (Option<Instant>, Waker)>,
}

/// What a task waits for.
#[derive(Clone, Copy, Debug)]
enum Awaited {
    /// A part of this request's reply, or its end.
    Reply(u64),
    /// Room for one more request, by this ticket, until then.
    Room(u64, Option<Instant>),
}

impl Client {
    /// As [`Client::call`], in a task. Dropped before it is ready, it withdraws the request. One of the calls that wait takes what comes for
    /// all: each is to be polled when it is woken, or dropped, or else the others wait as long.
    pub async fn call_async(&self, service: &str, body: impl Into<Message>) -> Result<Message, RequestError> {
        let body = body.into();
        let deadline = self.expiry(service)?;
        let number = self.ask_async(service, body, deadline).await?;
        // Withdraws what is not over when it is dropped.
        let mut replies = Replies { client: self, number, deadline, is_over: false };
        let mut whole = WholeReply::default();
        loop {
            let found = self.lock().driver.open.collect(number);
            match found {
                Found::End(end) => {
                    replies.is_over = true;
                    return end.map(|()| whole.into_message());
                }
                Found::Nothing => self.arrival(Awaited::Reply(number)).await?,
                found => whole.take(found),
            }
        }
    }

    /// Numbers a request when there is room, and sends it if there is a broker.
    async fn ask_async(
        &self,
        service: &str,
        body: Message,
        deadline: Option<Instant>,
    ) -> Result<u64, RequestError> {
        let ticket = {
            let mut state = self.lock();
            state.tasks.next_ticket += 1;
            state.tasks.next_ticket
        };
        while !self.has_room(&self.lock()) {
            self.check_time(deadline)?;
            self.arrival(Awaited::Room(ticket, deadline)).await?;
        }
        let mut state = self.lock();
        let number = state.driver.open.add(service.as_bytes(), body, deadline, Taker::Call);
        state.driver.flush();
        Ok(number)
    }

    /// Waits until there is what is awaited, or perhaps, and leads the others meanwhile if nobody else does.
    async fn arrival(&self, awaited: Awaited) -> Result<(), RequestError> {
        if self.is_forked() {
            return Err(RequestError::Forked);
        }
        let mut waiting = Waiting { client: self, awaited, wait_set: None, leads: false };
        poll_fn(|context| waiting.follow(context)).await;
        while waiting.leads && !self.is_here(&self.lock(), awaited) {
            waiting.lead().await?;
        }
        Ok(())
    }

    fn is_here(&self, state: &State, awaited: Awaited) -> bool {
        match awaited {
            Awaited::Reply(number) => state.driver.open.has_come(number),
            Awaited::Room(_, deadline) => self.has_room(state) || self.check_time(deadline).is_err(),
        }
    }

    /// Wakes as many as there is room for, and those whose time is over.
    pub(super) fn wake_line(&self, state: &mut State) {
        if state.tasks.line.is_empty() {
            return;
        }
        let mut room = self.room(state);
        let now = Instant::now();
        while let Some(first) = state.tasks.line.first_entry()
            && (room > 0 || first.get().0.is_some_and(|deadline| now >= deadline))
        {
            room = room.saturating_sub(1);
            first.remove().1.wake();
        }
    }
}

/// A task that waits. Dropped, it leaves the lead to another.
struct Waiting<'a> {
    client: &'a Client,
    awaited: Awaited,
    /// While it leads, from the second turn on.
    wait_set: Option<WaitSet>,
    leads: bool,
}

impl Waiting<'_> {
    /// Ready when it is here, or this one is to lead.
    fn follow(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.client.lock();
        if self.client.is_here(&state, self.awaited) {
            return Poll::Ready(());
        }
        if !state.tasks.is_led {
            (state.tasks.is_led, self.leads) = (true, true);
            self.wait_set = state.tasks.wait_set.take();
            return Poll::Ready(());
        }
        match self.awaited {
            Awaited::Reply(number) => state.driver.open.wake_for(number, context.waker()),
            Awaited::Room(ticket, deadline) => {
                state.tasks.line.insert(ticket, (deadline, context.waker().clone()));
            }
        }
        Poll::Pending
    }

    /// Waits for the socket, or for a while, and takes what is there.
    async fn lead(&mut self) -> Result<(), RequestError> {
        let system = |error: &dyn std::fmt::Display| RequestError::System(error.to_string());
        // It stays, however this ends: the next one that leads has it.
        let wait_set = match &mut self.wait_set {
            Some(wait_set) => wait_set,
            none => none.insert(WaitSet::new().map_err(|error| system(&error))?),
        };
        let patience = {
            let mut state = self.client.lock();
            state.driver.look(Instant::now());
            state.driver.flush();
            self.client.wake_line(&mut state);
            wait_set.follow(&mut state.driver).map_err(|error| system(&error))?;
            if let Awaited::Reply(number) = self.awaited {
                // A thread may take what comes for it.
                if state.driver.open.has_come(number) {
                    return Ok(());
                }
                state.driver.open.wake_for(number, &wait_set.waker());
            }
            state.driver.patience()
        };
        wait_set.wait_async(patience).await.map_err(|error| system(&error))?;
        let mut state = self.client.lock();
        state.driver.receive();
        state.driver.look(Instant::now());
        self.client.pass_turn(&mut state);
        Ok(())
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.client.is_forked() {
            return;
        }
        let mut state: Guard<'_> = self.client.lock();
        match self.awaited {
            Awaited::Reply(number) => state.driver.open.forget_waker(number),
            Awaited::Room(ticket, _) => drop(state.tasks.line.remove(&ticket)),
        }
        if self.leads {
            state.tasks.is_led = false;
            state.tasks.wait_set = self.wait_set.take();
        }
        if !state.tasks.is_led && !state.driver.open.wake_any() {
            let first = state.tasks.line.pop_first();
            drop(state);
            if let Some((_, (_, waker))) = first {
                waker.wake();
            }
        }
    }
}
