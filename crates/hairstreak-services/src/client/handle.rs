//! `Client`: calls, requests without waiting, replies in parts; from as many threads and tasks as need be.
//!
//! The caller that waits drives the connection itself; of several that wait one does it for all. A client has no thread.

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

/// Messages that are taken in one turn.
const BATCH_COUNT_MAX: usize = 1024;
/// Numbers from the first open one to the last, where the window is smaller: one slow request does not stop the others.
const SPAN_MAX: usize = 65_536;

/// Asks services. Clones share one connection and one window.
#[derive(Clone, Debug)]
pub struct Client(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Somebody has received: what came may be others'.
    turn: Condvar,
    options: ClientOptions,
    /// Whose it is: in a forked child whoever receives, or has the lock, is not there.
    process: u32,
}

#[derive(Debug)]
pub(super) struct State {
    pub driver: Driver,
    /// A caller receives for all.
    is_led: bool,
    /// Callers that wait for their turn.
    waiting: usize,
    /// Used again by each turn.
    messages: Vec<Message>,
    wait_set: Option<WaitSet>,
    pub tasks: Tasks,
}

pub(super) type Guard<'a> = MutexGuard<'a, State>;

impl Client {
    /// A client of this broker. Returns at once; the broker may come later.
    pub fn connect(broker: &str) -> Result<Client, ClientError> {
        Client::with_options(&[broker], ClientOptions::default())
    }

    /// A client of the first of these brokers that answers, and of the next when that one is gone.
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

    /// Asks, and waits for the whole reply; its parts, if it comes in several, are one message. All of them are of one worker's
    /// reply: where a worker dies in the middle, what it said is dropped.
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

    /// Asks; the reply is an iterator of its parts. Dropped before its end, it withdraws the request. Where a worker dies behind parts that
    /// were returned, the next one has to begin with the same parts: then the others follow. Else the last item is
    /// [`RequestError::RepliesDiffer`]. So is what [`Client::recv`] returns.
    pub fn stream(&self, service: &str, body: impl Into<Message>) -> Result<Replies<'_>, RequestError> {
        let (number, deadline) = self.ask(service, body.into(), Taker::Stream)?;
        Ok(Replies { client: self, number, deadline, is_over: false })
    }

    /// Asks without waiting for the reply, which [`Client::recv`] returns with the number that this returns. Waits while the
    /// window is full; what comes meanwhile is kept. A client has no thread: what is asked before there is a broker goes out
    /// when somebody waits.
    pub fn send(&self, service: &str, body: impl Into<Message>) -> Result<u64, RequestError> {
        Ok(self.ask(service, body.into(), Taker::Inbox)?.0)
    }

    /// The next reply to what was sent, or part of one, in the order in which they come; waits for it. `None`: nothing is under
    /// way, or this process was forked from the client's.
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

    /// As [`Client::recv`], but only what is here.
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

    /// Withdraws a request that was sent: its reply, if one comes, is dropped.
    pub fn cancel(&self, number: u64) {
        if !self.is_forked() {
            self.lock().driver.withdraw(number);
        }
    }

    /// Waits until there is a broker. Returns whether it numbers requests; `None`: there is none in time.
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

    /// The broker that it is connected to, or tries to be.
    pub fn broker(&self) -> String {
        self.lock().driver.broker().to_owned()
    }

    /// Requests without a reply.
    pub fn open_count(&self) -> usize {
        self.lock().driver.open.open_count()
    }

    /// Whether this process was forked from the client's.
    pub(super) fn is_forked(&self) -> bool {
        !process::is_current(self.0.process)
    }

    pub(super) fn lock(&self) -> Guard<'_> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Numbers a request, and sends it if there is a broker. Returns until when its reply is waited for.
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

    /// Until when the reply to a request that is made now is waited for. Refuses what is no service's name, and a forked child.
    pub(super) fn expiry(&self, service: &str) -> Result<Option<Instant>, RequestError> {
        if !is_service_name(service.as_bytes()) {
            return Err(RequestError::ServiceName(service.len()));
        }
        if self.is_forked() {
            return Err(RequestError::Forked);
        }
        Ok(self.0.options.timeout.and_then(|timeout| Instant::now().checked_add(timeout)))
    }

    /// Fails when that time has passed.
    pub(super) fn check_time(&self, expires: Option<Instant>) -> Result<(), RequestError> {
        match expires.is_some_and(|expires| Instant::now() >= expires) {
            true => Err(RequestError::TimedOut(self.0.options.timeout.unwrap_or_default())),
            false => Ok(()),
        }
    }

    /// Whether one more request may be open.
    pub(super) fn has_room(&self, state: &State) -> bool {
        self.room(state) > 0
    }

    /// How many more requests may be open.
    pub(super) fn room(&self, state: &State) -> usize {
        let (open, window) = (&state.driver.open, self.0.options.window.max(1));
        let count = window.saturating_sub(open.open_count());
        count.min(window.max(SPAN_MAX).saturating_sub(open.span()))
    }

    /// Somebody else may have to look at what has come.
    pub(super) fn pass_turn(&self, state: &mut State) {
        if state.waiting > 0 {
            self.0.turn.notify_all();
        }
        self.wake_line(state);
    }

    /// Receives for all callers, once, or waits until another one has. Returns no later than `until`, or after a while.
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
        // What a connection brought that was given up meanwhile may be meant for what another request is by now.
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
    /// Where a thread waits now.
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

/// Where a thread waits that receives for all.
enum Place {
    /// For a broker: there is none yet.
    Peer(Dealer),
    /// For messages of the only socket. (With a plain broker: where there is no descriptor left to wait for all of them; what the
    /// others bring is taken a while later.)
    Messages(Dealer),
    /// For messages of several.
    WaitSet(WaitSet),
}

impl Place {
    /// Returns when something has come, or might have.
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

/// The parts of a reply, as they come.
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
                // A stream does not begin anew.
                Found::Anew | Found::Nothing => {}
            }
        }
    }
}

impl Replies<'_> {
    /// Waits for what comes next; behind the end there is another.
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

/// The parts of a reply, to be one message.
#[derive(Debug, Default)]
pub(super) struct WholeReply {
    first: Option<Message>,
    rest: Vec<Message>,
}

impl WholeReply {
    /// The next part, or that the reply begins anew.
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
