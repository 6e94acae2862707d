//! Calls in tasks: no thread of the executor waits for a reply. Any executor works.
//!
//! One of the waiting tasks leads: it owns the client's poller, takes the messages for all, and checks deadlines. The
//! others leave a waker with their request, or in the line for room. A task that stops leading wakes a possible
//! successor.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use hairstreak_socket::Message;

use super::error::RequestError;
use super::handle::{Client, Guard, Replies, State, WholeReply};
use super::open::{Found, Taker};
use super::wait_set::WaitSet;

/// The waiting tasks.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    is_led: bool,
    /// Wait set for the next leader. `None` while a task leads.
    wait_set: Option<WaitSet>,
    next_ticket: u64,
    /// Tasks that wait for room, by ticket, with their deadlines.
    line: BTreeMap<u64, (Option<Instant>, Waker)>,
}

/// Event that a task waits for.
#[derive(Clone, Copy, Debug)]
enum Awaited {
    /// A part of this request's reply, or its end.
    Reply(u64),
    /// Room for one more request, with this ticket and deadline.
    Room(u64, Option<Instant>),
}

impl Client {
    /// Does the same as [`Client::call`], in a task. Dropped before it is ready, the future withdraws the request. One
    /// of the waiting calls receives for all. Poll a woken call or drop it: the others wait as long.
    pub async fn call_async(&self, service: &str, body: impl Into<Message>) -> Result<Message, RequestError> {
        let body = body.into();
        let deadline = self.expiry(service)?;
        let number = self.ask_async(service, body, deadline).await?;
        // Dropped before the end, this withdraws the request.
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

    /// Waits until the awaited event has happened, or may have. Leads the other tasks meanwhile if no other task does.
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

    /// Wakes as many tasks as there is room for, and the tasks whose deadline has passed.
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

/// A waiting task. Dropped, it leaves the lead to another.
struct Waiting<'a> {
    client: &'a Client,
    awaited: Awaited,
    /// Set while the task leads, from the second turn on.
    wait_set: Option<WaitSet>,
    leads: bool,
}

impl Waiting<'_> {
    /// Returns ready once the event is here or this task has to lead.
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

    /// Waits for the sockets, or for a while, and takes the available messages.
    async fn lead(&mut self) -> Result<(), RequestError> {
        let system = |error: &dyn std::fmt::Display| RequestError::System(error.to_string());
        // The wait set stays here in every case, so that the next leader gets it.
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
                // A thread may take the messages of this request.
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
