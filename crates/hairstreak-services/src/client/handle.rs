//! `Client`: calls, sends without waiting, and replies in parts. Any number of threads and tasks may share a client.
//!
//! A waiting caller drives the connection itself. Among several waiting callers one does so for all. A client has no
//! thread.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hairstreak_base::process;
use hairstreak_socket::{Dealer, Message};
use hairstreak_wire::mdp::is_service_name;

use super::driver::Driver;
use super::error::{ClientError, RequestError};
use super::open::{Found, Reply, Taker};
use super::options::ClientOptions;
use super::task::Tasks;
use super::wait_set::WaitSet;

/// Most messages taken in one turn.
const BATCH_COUNT_MAX: usize = 1024;
/// Most numbers from the first open one to the last, for smaller windows: one slow request does not stop the others.
const SPAN_MAX: usize = 65_536;

/// A client of services. Clones share one connection and one window.
#[derive(Clone, Debug)]
pub struct Client(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Signalled after each turn: the received messages may be for other callers.
    turn: Condvar,
    options: ClientOptions,
    /// Process of the client. In a forked child the thread that receives, or holds the lock, does not exist.
    process: u32,
}

#[derive(Debug)]
pub(super) struct State {
    pub driver: Driver,
    /// Set while a caller receives for all.
    is_led: bool,
    /// Callers that wait for their turn.
    waiting: usize,
    /// Buffer that each turn reuses.
    messages: Vec<Message>,
    wait_set: Option<WaitSet>,
    pub tasks: Tasks,
}

pub(super) type Guard<'a> = MutexGuard<'a, State>;

impl Client {
    /// Returns a client of this broker. Returns at once; the broker may start later.
    pub fn connect(broker: &str) -> Result<Client, ClientError> {
        Client::with_options(&[broker], ClientOptions::default())
    }

    /// Returns a client of the first of these brokers that answers. It goes to the next one when that broker is gone.
    pub fn with_options(brokers: &[&str], options: ClientOptions) -> Result<Client, ClientError> {
        let brokers = brokers.iter().map(|broker| (*broker).to_owned()).collect();
        let driver = Driver::new(brokers, options.clone())?;
        let state = State {
            driver,
            is_led: false,
            waiting: 0,
            messages: Vec::new(),
            wait_set: None,
            tasks: Tasks::default(),
        };
        let (state, turn, process) = (Mutex::new(state), Condvar::new(), process::current());
        Ok(Client(Arc::new(Shared { state, turn, options, process })))
    }

    /// Sends a request, and waits for the whole reply. The parts of a reply become one message. All parts come from one
    /// worker: if a worker dies in the middle, its parts are dropped.
    pub fn call(&self, service: &str, body: impl Into<Message>) -> Result<Message, RequestError> {
        let (number, deadline) = self.ask(service, body.into(), Taker::Call)?;
        let mut replies = Replies { client: self, number, deadline, is_over: false };
        let mut whole = WholeReply::default();
        loop {
            match replies.wait() {
                Found::End(end) => return end.map(|()| whole.into_message()),
                found => whole.take(found),
            }
        }
    }

    /// Sends a request, and returns an iterator over the parts of its reply. Dropped before its end, the iterator
    /// withdraws the request. If a worker dies after some parts were returned, the next reply must begin with the same
    /// parts. If it does, the remaining parts follow; if not, the last item is [`RequestError::RepliesDiffer`]. The
    /// same holds for [`Client::recv`].
    pub fn stream(&self, service: &str, body: impl Into<Message>) -> Result<Replies<'_>, RequestError> {
        let (number, deadline) = self.ask(service, body.into(), Taker::Stream)?;
        Ok(Replies { client: self, number, deadline, is_over: false })
    }

    /// Sends a request without waiting for the reply. Returns a number, with which [`Client::recv`] returns the reply.
    /// Waits while the window is full, and keeps replies that arrive meanwhile. A client has no thread: requests made
    /// before a broker is connected are sent by the next waiting call.
    pub fn send(&self, service: &str, body: impl Into<Message>) -> Result<u64, RequestError> {
        Ok(self.ask(service, body.into(), Taker::Inbox)?.0)
    }

    /// Waits for the next reply to a sent request, or for a part of one, and returns it in the order of arrival.
    /// `None`: no request is in progress, or this process was forked from the client's.
    pub fn recv(&self) -> Option<Reply> {
        if self.is_forked() {
            return None;
        }
        let mut state = self.lock();
        loop {
            if let Some(reply) = state.driver.open.pop_inbox() {
                return Some(reply);
            }
            if state.driver.open.open_count() == 0 {
                return None;
            }
            state = self.take_turn(state, None);
        }
    }

    /// Returns the next reply as [`Client::recv`] does, without waiting.
    pub fn try_recv(&self) -> Option<Reply> {
        if self.is_forked() {
            return None;
        }
        let mut state = self.lock();
        if state.driver.open.inbox_count() == 0 {
            state = self.take_turn(state, Some(Instant::now()));
        }
        state.driver.open.pop_inbox()
    }

    /// Withdraws a request that was sent. A later reply is dropped.
    pub fn cancel(&self, number: u64) {
        if !self.is_forked() {
            self.lock().driver.withdraw(number);
        }
    }

    /// Waits until there is a broker. Returns whether it numbers requests. `None`: the time is over.
    pub fn uses_hsn1(&self, timeout: Duration) -> Option<bool> {
        if self.is_forked() {
            return None;
        }
        let deadline = Instant::now().checked_add(timeout);
        let mut state = self.lock();
        loop {
            let known = state.driver.uses_hsn1();
            if known.is_some() || deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return known;
            }
            state = self.take_turn(state, deadline);
        }
    }

    /// Returns the address of the broker that the client is connected to, or tries to connect to.
    pub fn broker(&self) -> String {
        self.lock().driver.broker().to_owned()
    }

    /// Returns the number of requests without a reply.
    pub fn open_count(&self) -> usize {
        self.lock().driver.open.open_count()
    }

    /// Returns whether this process was forked from the client's.
    pub(super) fn is_forked(&self) -> bool {
        !process::is_current(self.0.process)
    }

    pub(super) fn lock(&self) -> Guard<'_> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Numbers a request, and sends it if there is a broker. Returns the number and the deadline.
    fn ask(
        &self,
        service: &str,
        body: Message,
        taker: Taker,
    ) -> Result<(u64, Option<Instant>), RequestError> {
        let expires = self.expiry(service)?;
        let mut state = self.lock();
        if taker == Taker::Inbox && state.driver.open.inbox_is_full(self.0.options.unread_max) {
            return Err(RequestError::Unread(state.driver.open.inbox_count()));
        }
        while !self.has_room(&state) {
            self.check_time(expires)?;
            state = self.take_turn(state, expires);
        }
        let number = state.driver.open.add(service.as_bytes(), body, expires, taker);
        state.driver.flush();
        Ok((number, expires))
    }

    /// Returns the deadline of a request that is made now. Refuses an invalid name of a service, and a forked child.
    pub(super) fn expiry(&self, service: &str) -> Result<Option<Instant>, RequestError> {
        if !is_service_name(service.as_bytes()) {
            return Err(RequestError::ServiceName(service.len()));
        }
        if self.is_forked() {
            return Err(RequestError::Forked);
        }
        Ok(self.0.options.timeout.and_then(|timeout| Instant::now().checked_add(timeout)))
    }

    /// Fails if that time has passed.
    pub(super) fn check_time(&self, expires: Option<Instant>) -> Result<(), RequestError> {
        match expires.is_some_and(|expires| Instant::now() >= expires) {
            true => Err(RequestError::TimedOut(self.0.options.timeout.unwrap_or_default())),
            false => Ok(()),
        }
    }

    /// Returns whether one more request may be open.
    pub(super) fn has_room(&self, state: &State) -> bool {
        self.room(state) > 0
    }

    /// Returns the number of further requests that may be open.
    pub(super) fn room(&self, state: &State) -> usize {
        let (open, window) = (&state.driver.open, self.0.options.window.max(1));
        let count = window.saturating_sub(open.open_count());
        count.min(window.max(SPAN_MAX).saturating_sub(open.span()))
    }

    /// Wakes the other waiting callers, because received messages may be for them.
    pub(super) fn pass_turn(&self, state: &mut State) {
        if state.waiting > 0 {
            self.0.turn.notify_all();
        }
        self.wake_line(state);
    }

    /// Receives once for all callers, or waits until another caller has done so. Returns at `until` at the latest, or
    /// after a while.
    fn take_turn<'a>(&'a self, mut state: Guard<'a>, until: Option<Instant>) -> Guard<'a> {
        let patience = state.driver.patience();
        let left = until.map_or(patience, |until| until.saturating_duration_since(Instant::now()));
        let timeout = left.min(patience);
        if state.is_led {
            state.waiting += 1;
            let (mut state, _) =
                self.0.turn.wait_timeout(state, timeout).unwrap_or_else(PoisonError::into_inner);
            state.waiting -= 1;
            return state;
        }
        state.is_led = true;
        state.driver.flush();
        let generation = state.driver.generation();
        let mut place = state.waiting_place();
        let mut messages = std::mem::take(&mut state.messages);
        drop(state);
        place.wait(&mut messages, timeout);
        let mut state = self.lock();
        // Messages of a connection that was given up meanwhile may be for another request with the same number.
        if state.driver.generation() == generation {
            messages.drain(..).for_each(|message| state.driver.take(message));
        }
        messages.clear();
        state.messages = messages;
        if let Place::WaitSet(wait_set) = place {
            state.wait_set = Some(wait_set);
            state.driver.receive();
        }
        state.driver.look(Instant::now());
        state.is_led = false;
        self.pass_turn(&mut state);
        state
    }
}

impl State {
    /// Returns the event source of the waiting thread.
    fn waiting_place(&mut self) -> Place {
        if !self.driver.is_connected() {
            return Place::Peer(self.driver.dealer().clone());
        }
        if self.driver.is_plain()
            && let Some(mut wait_set) = self.wait_set.take().or_else(|| WaitSet::new().ok())
            && wait_set.follow(&mut self.driver).is_ok()
        {
            return Place::WaitSet(wait_set);
        }
        Place::Messages(self.driver.dealer().clone())
    }
}

/// Event source of the thread that receives for all.
enum Place {
    /// A new broker: there is none yet.
    Peer(Dealer),
    /// Messages of the only socket. With a plain broker this is the fallback if no descriptor is left for a wait set.
    /// Messages of the other sockets are then taken a little later.
    Messages(Dealer),
    /// Messages of several sockets.
    WaitSet(WaitSet),
}

impl Place {
    /// Returns after an event, or a possible one.
    fn wait(&mut self, messages: &mut Vec<Message>, timeout: Duration) {
        match self {
            Place::Peer(dealer) => {
                dealer.wait_for_peers(1, timeout);
            }
            // A socket that was replaced meanwhile is closed.
            Place::Messages(dealer) => {
                let _ = dealer.recv_many_timeout(messages, BATCH_COUNT_MAX, timeout);
            }
            Place::WaitSet(wait_set) => drop(wait_set.wait(timeout)),
        }
    }
}

/// Iterator over the parts of a reply as they arrive.
#[derive(Debug)]
pub struct Replies<'a> {
    pub(super) client: &'a Client,
    pub(super) number: u64,
    pub(super) deadline: Option<Instant>,
    pub(super) is_over: bool,
}

impl Iterator for Replies<'_> {
    type Item = Result<Message, RequestError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.wait() {
                Found::Part(part) => return Some(Ok(part)),
                Found::End(end) => return end.err().map(Err),
                // A stream does not begin again.
                Found::Anew | Found::Nothing => {}
            }
        }
    }
}

impl Replies<'_> {
    /// Waits for the next item. After the end, returns the end again.
    fn wait(&mut self) -> Found {
        if self.is_over {
            return Found::End(Ok(()));
        }
        if self.client.is_forked() {
            self.is_over = true;
            return Found::End(Err(RequestError::Forked));
        }
        let mut state = self.client.lock();
        loop {
            match state.driver.open.collect(self.number) {
                Found::Nothing => {}
                found => {
                    self.is_over = matches!(found, Found::End(_));
                    return found;
                }
            }
            if let Err(error) = self.client.check_time(self.deadline) {
                state.driver.withdraw(self.number);
                self.is_over = true;
                return Found::End(Err(error));
            }
            state = self.client.take_turn(state, self.deadline);
        }
    }
}

/// Collector that joins the parts of a reply into one message.
#[derive(Debug, Default)]
pub(super) struct WholeReply {
    first: Option<Message>,
    rest: Vec<Message>,
}

impl WholeReply {
    /// Takes the next part, or starts over if the reply begins again.
    pub fn take(&mut self, found: Found) {
        match found {
            Found::Part(part) if self.first.is_none() => self.first = Some(part),
            Found::Part(part) => self.rest.push(part),
            Found::Anew => *self = WholeReply::default(),
            Found::End(_) | Found::Nothing => {}
        }
    }

    pub fn into_message(self) -> Message {
        let first = self.first.unwrap_or_default();
        if self.rest.is_empty() {
            return first;
        }
        std::iter::once(&first).chain(&self.rest).flat_map(Message::as_frames).cloned().collect()
    }
}

impl Drop for Replies<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.client.cancel(self.number);
        }
    }
}
