//! `Driver`: the sockets of a client, its current broker, and the effect of each message.
//!
//! ```text
//! unknown --- a peer that speaks HSN1 ---> greeting --- WELCOME ---> hsn1
//!    ^  \                                                              |
//!    |   `--- any other peer ---> plain                                |
//!    +--- the peer is gone for longer than the wait: the next broker --+
//! ```
//!
//! Each connection begins with WELCOME. The client then sends its open requests, or resends them, so no call has to
//! watch the connection. A plain broker sends no greeting: the client checks for a new connection by polling. It
//! resends the request in progress on a fresh connection.

use std::task::Waker;
use std::time::{Duration, Instant};

use hairstreak_base::Body;
use hairstreak_socket::security::fill_random;
use hairstreak_socket::{Context, Dealer, Interest, Message, Outgoing, SendError};
use hairstreak_wire::hsn1::{
    self, ClientId, FromBroker, Header, Part, RequestId, parse_from_broker, with_body,
};
use hairstreak_wire::mdp;

use super::broker_connection::BrokerConnection;
use super::error::{ClientError, RequestError};
use super::open::{Next, OpenRequests};
use super::options::ClientOptions;
use crate::admission::Admission;

/// Longest absence after which the client relies on the broker's memory. A broker remembers a client that is gone for a
/// minute, unless it has reached its limit of clients.
const TRUST_TIME: Duration = Duration::from_secs(30);
/// Interval between two checks of the connection and of the deadlines of requests.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Unknown,
    Greeting,
    Hsn1 { broker: [u8; 16] },
    Plain,
}

#[derive(Debug)]
pub(super) struct Driver {
    context: Context,
    /// The first connection always exists. The others are for a plain broker.
    connections: Vec<BrokerConnection>,
    brokers: Vec<String>,
    /// Index of the current broker.
    current: usize,
    /// Number of first sockets so far. `change_count` is the number of sets of sockets.
    generation: u64,
    change_count: u64,
    /// Requests sent to plain brokers so far, resends included.
    asked_count: u64,
    /// Wakers for a change of the sockets.
    watchers: Vec<Waker>,
    mode: Mode,
    id: ClientId,
    pub open: OpenRequests,
    /// First number that was not sent on this connection. For a plain broker, later requests may be in progress.
    unsent: u64,
    /// Start of the outage: no broker is connected, or it does not answer. `None` while it answers.
    alone_since: Option<Instant>,
    next_look: Instant,
    /// Time of the last check that found the broker connected.
    heard: Instant,
    /// Verdict of the node on the first socket.
    admission: Admission,
    /// Brokers in a row that refused this program.
    refused_count: usize,
    options: ClientOptions,
}

impl Driver {
    pub fn new(brokers: Vec<String>, options: ClientOptions) -> Result<Driver, ClientError> {
        let first = brokers.first().ok_or(ClientError::NoBroker)?;
        let context = Context::new();
        let dealer = Dealer::with_options(&context, options.socket())?;
        let admission = Admission::of(&dealer, &options.credentials);
        dealer.connect(first)?;
        let mut id = ClientId([0; 16]);
        fill_random(&mut id.0).map_err(ClientError::Random)?;
        Ok(Driver {
            context,
            connections: vec![BrokerConnection::new(dealer)],
            brokers,
            current: 0,
            generation: 0,
            change_count: 0,
            asked_count: 0,
            watchers: Vec::new(),
            mode: Mode::Unknown,
            id,
            open: OpenRequests::new(id),
            unsent: 1,
            alone_since: None,
            next_look: Instant::now(),
            heard: Instant::now(),
            admission,
            refused_count: 0,
            options,
        })
    }

    /// Returns the first socket.
    pub fn dealer(&self) -> &Dealer {
        // INVARIANT: made with one connection, which is only ever replaced.
        &self.connections[0].dealer
    }

    /// Returns a number that changes with the first socket.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Returns a number that changes with the set of sockets.
    pub fn change_count(&self) -> u64 {
        self.change_count
    }

    /// Returns all sockets, and the events to wait for.
    pub fn sockets(&self) -> impl Iterator<Item = (&Dealer, Interest)> {
        let is_held_up = match self.mode {
            Mode::Unknown => true,
            Mode::Plain => self.next_plain().is_some(),
            Mode::Greeting | Mode::Hsn1 { .. } => false,
        };
        let interest = move |connection: &BrokerConnection| match is_held_up && connection.number().is_none()
        {
            true => Interest::BOTH,
            false => Interest::READABLE,
        };
        self.connections.iter().map(move |connection| (&connection.dealer, interest(connection)))
    }

    /// Returns whether messages may come by more than one socket.
    pub fn is_plain(&self) -> bool {
        self.mode == Mode::Plain
    }

    /// Wakes `waker` once when the sockets change.
    pub fn wake_when_changed(&mut self, waker: Waker) {
        if !self.watchers.iter().any(|watcher| watcher.will_wake(&waker)) {
            self.watchers.push(waker);
        }
    }

    fn have_changed(&mut self) {
        self.change_count += 1;
        self.watchers.drain(..).for_each(Waker::wake);
    }

    /// Returns whether the broker numbers requests. `None`: there is no broker yet.
    pub fn uses_hsn1(&self) -> Option<bool> {
        match self.mode {
            Mode::Unknown => None,
            Mode::Greeting | Mode::Hsn1 { .. } => Some(true),
            Mode::Plain => Some(false),
        }
    }

    /// Returns the address of the current broker.
    pub fn broker(&self) -> &str {
        &self.brokers[self.current]
    }

    /// Returns the longest time to wait for a message.
    pub fn patience(&self) -> Duration {
        LOOK_INTERVAL
    }

    /// Returns whether the kind of broker is known, so that messages can be waited for.
    pub fn is_connected(&self) -> bool {
        self.mode != Mode::Unknown
    }

    /// Sends unsent requests, as far as there is room.
    pub fn flush(&mut self) {
        match self.mode {
            Mode::Hsn1 { broker } => self.flush_hsn1(broker),
            Mode::Plain => self.flush_plain(),
            Mode::Unknown | Mode::Greeting => {}
        }
    }

    fn flush_hsn1(&mut self, broker: [u8; 16]) {
        let now = Instant::now();
        while let Some(number) = self.open.next_from(self.unsent) {
            let Some((header, request)) = self.open.prepare(number, broker, now) else { return };
            let service = Some(&request.service[..]);
            let sent = with_body(header, service, request.body.as_frames(), |first, behind| match behind {
                [] => self.connections[0].dealer.try_send(first),
                body => self.connections[0].dealer.try_send(Outgoing::Headed { head: &[first], body }),
            });
            match sent {
                Ok(()) => {
                    request.sent_to = Some(broker);
                    self.unsent = number + 1;
                }
                Err(SendError::WouldBlock) => return,
                Err(error) => {
                    self.unsent = number + 1;
                    self.open.fail(number, error.into());
                }
            }
        }
    }

    /// Sends requests on idle connections. Further requests open further connections.
    fn flush_plain(&mut self) {
        while let Some(number) = self.next_plain() {
            let version = self.options.plain_version;
            let Some(request) = self.open.get_mut(number) else { return };
            let head = mdp::client_request(version, &request.service);
            let message = Outgoing::Headed { head: head.frames(), body: request.body.as_frames() };
            self.asked_count += 1;
            let mut sent = Err(SendError::WouldBlock);
            for connection in &mut self.connections {
                sent = connection.send(number, self.asked_count, message);
                if sent != Err(SendError::WouldBlock) {
                    break;
                }
            }
            match sent {
                Ok(()) => {
                    request.sent_to = Some([0; 16]);
                    self.unsent = number + 1;
                }
                Err(SendError::WouldBlock) => return self.add_connection(),
                Err(error) => {
                    self.unsent = number + 1;
                    self.open.fail(number, error.into());
                }
            }
        }
    }

    /// Returns the next request that is not in progress at a plain broker.
    fn next_plain(&self) -> Option<u64> {
        let mut number = self.open.next_from(self.unsent)?;
        while self.connection_of(number).is_some() {
            number = self.open.next_from(number + 1)?;
        }
        Some(number)
    }

    fn connection_of(&self, number: u64) -> Option<usize> {
        self.connections.iter().position(|connection| connection.number() == Some(number))
    }

    /// Opens one more connection to the plain broker, if all are busy and the limit permits. Waiting callers are woken.
    fn add_connection(&mut self) {
        let are_busy = self.connections.iter().all(|connection| connection.number().is_some());
        if are_busy
            && self.connections.len() < self.options.plain_connections
            && let Some((dealer, _)) = self.connection_to(self.current)
        {
            self.connections.push(BrokerConnection::new(dealer));
            self.have_changed();
        }
    }

    /// Replaces a connection with an outstanding reply, which would be taken for the reply to the next request. The
    /// request in progress there is sent again if it is still open.
    fn replace_connection(&mut self, index: usize) {
        let Some(number) = self.connections.get(index).and_then(BrokerConnection::number) else { return };
        let Some((dealer, admission)) = self.connection_to(self.current) else { return };
        if index == 0 {
            self.admission = admission;
        }
        std::mem::replace(&mut self.connections[index], BrokerConnection::new(dealer)).dealer.close();
        self.unsent = self.unsent.min(number);
        self.generation += u64::from(index == 0);
        self.have_changed();
    }

    /// Takes all available messages of all sockets.
    pub fn receive(&mut self) {
        let mut index = 0;
        while let Some(connection) = self.connections.get(index) {
            match connection.dealer.try_recv() {
                Ok(message) => self.take_from(index, message),
                Err(_) => index += 1,
            }
        }
    }

    /// Takes a message of the first socket.
    pub fn take(&mut self, message: Message) {
        self.take_from(0, message);
    }

    fn take_from(&mut self, index: usize, message: Message) {
        let frames = message.as_frames();
        if frames.first().is_some_and(|first| Header::is_one(first.as_bytes())) {
            match parse_from_broker(frames) {
                Ok(FromBroker::Reply(part)) => self.take_part(part, message),
                Ok(command) => self.take_hsn1(command),
                Err(_) => {}
            }
        } else if self.mode == Mode::Plain
            && let Ok(reply) = mdp::parse_reply(frames)
            && let Some((number, place)) = self.connections[index].take(reply.is_final)
        {
            if self.open.take_at(number, place, &frames[reply.body_index..]) == Next::Withdraw {
                self.tell_withdrawn(number);
            }
            if reply.is_final {
                self.flush();
            }
        }
    }

    fn take_part(&mut self, part: Part, message: Message) {
        let body = Body::new(message, part.body.index, part.body.start);
        match self.open.take_part(part, body.frames()) {
            Next::Nothing => {}
            Next::Again => {
                self.unsent = self.unsent.min(part.request.number);
                self.flush();
            }
            Next::Withdraw => self.tell_withdrawn(part.request.number),
        }
    }

    fn take_hsn1(&mut self, command: FromBroker<'_>) {
        match command {
            // A request of plain MDP may have gone to this broker. The broker would then treat the connection as a
            // plain client.
            FromBroker::Welcome { .. } if self.mode == Mode::Plain => self.connect_anew(self.current),
            FromBroker::Welcome { broker, .. } => {
                if self.heard.elapsed() > TRUST_TIME {
                    self.open.distrust();
                }
                self.mode = Mode::Hsn1 { broker };
                self.alone_since = None;
                self.unsent = 0;
                self.flush();
            }
            FromBroker::Disconnect { .. } => self.connect_anew(self.current),
            FromBroker::Refused { request, refusal, text } if self.open.is_ours(request) => {
                let text = String::from_utf8_lossy(text).into_owned();
                self.open.fail(request.number, RequestError::Refused { refusal, text });
            }
            FromBroker::Refused { .. }
            | FromBroker::Reply(_)
            | FromBroker::Drained
            | FromBroker::Request { .. }
            | FromBroker::Cancel(_) => {}
        }
    }

    /// Withdraws a request. Its later replies are dropped.
    pub fn withdraw(&mut self, number: u64) {
        if !self.open.withdraw(number) {
            return;
        }
        self.tell_withdrawn(number);
    }

    fn tell_withdrawn(&mut self, number: u64) {
        match self.mode {
            Mode::Hsn1 { .. } => {
                let header = Header::Cancel { request: RequestId { client: self.id, number } }.encode();
                // A lost command does no harm: the broker forgets the request in time.
                let _ = self.dealer().try_send(header.as_ref());
            }
            Mode::Plain => {
                if let Some(index) = self.connection_of(number) {
                    self.replace_connection(index);
                }
            }
            Mode::Unknown | Mode::Greeting => {}
        }
    }

    /// Gives up overdue requests, and checks the connection to the broker.
    pub fn look(&mut self, now: Instant) {
        if now < self.next_look && self.is_connected() {
            return;
        }
        self.next_look = now + LOOK_INTERVAL;
        if let Some(timeout) = self.options.timeout {
            for number in self.open.expire(now, timeout) {
                self.tell_withdrawn(number);
            }
        }
        let peers = self.dealer().peers();
        if self.mode == Mode::Plain {
            for index in 0..self.connections.len() {
                if self.connections[index].has_lost() {
                    self.replace_connection(index);
                }
            }
            self.flush();
        }
        if let Some(peer) = peers.first() {
            match (self.mode, hsn1::is_spoken_by(&peer.properties)) {
                (Mode::Unknown, true) => self.mode = Mode::Greeting,
                // Work of a broker that numbers requests may be done a second time here. The requests are sent all the
                // same.
                (Mode::Unknown | Mode::Hsn1 { .. } | Mode::Greeting, false) => {
                    (self.mode, self.unsent) = (Mode::Plain, 0);
                    self.flush();
                }
                _ => {}
            }
            if self.mode != Mode::Greeting {
                self.heard = now;
                self.alone_since = None;
                self.refused_count = 0;
                return;
            }
        } else if let Some(reason) = self.admission.refusal().map(str::to_owned) {
            return self.is_refused(reason);
        }
        let since = *self.alone_since.get_or_insert(now);
        if now.saturating_duration_since(since) >= self.options.failover_after && self.brokers.len() > 1 {
            self.connect_anew((self.current + 1) % self.brokers.len());
        }
    }

    /// Handles a broker that refuses this program. Requests fail if all brokers refuse.
    fn is_refused(&mut self, reason: String) {
        let broker_count = self.brokers.len();
        self.refused_count = broker_count.min(self.refused_count + 1);
        if self.refused_count == broker_count {
            let broker = self.broker().to_owned();
            let error = RequestError::Unauthorized { broker, reason };
            while let Some(number) = self.open.next_from(0) {
                self.open.fail(number, error.clone());
            }
        }
        if broker_count > 1 {
            self.connect_anew((self.current + 1) % broker_count);
        }
    }

    /// Goes to a broker on a new connection. All open requests count as unsent.
    fn connect_anew(&mut self, broker: usize) {
        let Some((dealer, admission)) = self.connection_to(broker) else { return };
        self.admission = admission;
        let connections = std::mem::replace(&mut self.connections, vec![BrokerConnection::new(dealer)]);
        connections.into_iter().for_each(|connection| connection.dealer.close());
        (self.current, self.mode, self.alone_since, self.unsent) = (broker, Mode::Unknown, None, 0);
        self.generation += 1;
        self.have_changed();
    }

    fn connection_to(&self, broker: usize) -> Option<(Dealer, Admission)> {
        let dealer = Dealer::with_options(&self.context, self.options.socket()).ok()?;
        let admission = Admission::of(&dealer, &self.options.credentials);
        dealer.connect(&self.brokers[broker]).ok()?;
        Some((dealer, admission))
    }
}
