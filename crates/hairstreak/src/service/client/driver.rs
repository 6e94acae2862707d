//! `Driver`: the client's socket, which broker it is connected to, and what each message changes.
//!
//! ```text
//! unknown --- a peer that says it numbers requests ---> greeting --- WELCOME ---> numbered
//!    ^  \                                                                            |
//!    |   `--- any other peer ---> plain                                              |
//!    +--- the peer is gone, for longer than is waited: the next broker --------------+
//! ```
//!
//! WELCOME comes with each connection: whatever is open is sent then, or again. So no call has to watch the connection. A plain
//! broker says nothing: that its connection is another is seen by looking, and what is open is sent again, too.

use std::time::{Duration, Instant};

use hairstreak_base::Body;
use hairstreak_socket::monitor::ConnectionId;
use hairstreak_socket::security::fill_random;
use hairstreak_socket::{Context, Dealer, Message, Outgoing, SendError};
use hairstreak_wire::mdp;
use hairstreak_wire::numbered::{
    ClientId, FromBroker, Header, Numbered, Part, RequestId, parse_from_broker, with_body,
};

use super::error::{ClientError, RequestError};
use super::open::{Next, OpenRequests};
use super::options::ClientOptions;

/// A broker remembers a client that is gone for a minute, unless it has as many as it may; one that was gone for longer than this
/// does not rely on it.
const TRUST_TIME: Duration = Duration::from_secs(30);
/// How often the connection and the times of requests are looked at.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Unknown,
    Greeting,
    Numbered {
        broker: [u8; 16],
    },
    /// The request that is under way, of which there is one at most.
    Plain {
        number: Option<u64>,
    },
}

#[derive(Debug)]
pub(super) struct Driver {
    context: Context,
    dealer: Dealer,
    brokers: Vec<String>,
    /// Which of them it is.
    current: usize,
    /// Sockets so far.
    generation: u64,
    mode: Mode,
    /// The connection that the mode is of, where it is a plain one, and how many parts of the reply under way have come on it.
    connection: Option<ConnectionId>,
    plain_parts: u32,
    id: ClientId,
    pub open: OpenRequests,
    /// Numbers from this one on have not been sent on this connection.
    unsent: u64,
    /// Since when there is no peer, or none that says anything.
    alone_since: Option<Instant>,
    next_look: Instant,
    /// When the broker was there, the last time that was looked.
    heard: Instant,
    options: ClientOptions,
}

impl Driver {
    pub fn new(brokers: Vec<String>, options: ClientOptions) -> Result<Driver, ClientError> {
        let first = brokers.first().ok_or(ClientError::NoBroker)?;
        let context = Context::new();
        let dealer = Dealer::with_options(&context, options.socket())?;
        dealer.connect(first)?;
        let mut id = ClientId([0; 16]);
        fill_random(&mut id.0).map_err(ClientError::Random)?;
        Ok(Driver {
            context,
            dealer,
            brokers,
            current: 0,
            generation: 0,
            mode: Mode::Unknown,
            connection: None,
            plain_parts: 0,
            id,
            open: OpenRequests::new(id),
            unsent: 1,
            alone_since: None,
            next_look: Instant::now(),
            heard: Instant::now(),
            options,
        })
    }

    pub fn dealer(&self) -> Dealer {
        self.dealer.clone()
    }

    /// Tells the socket from those before it.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Whether the broker numbers requests; `None`: there is no broker yet.
    pub fn is_numbered(&self) -> Option<bool> {
        match self.mode {
            Mode::Unknown => None,
            Mode::Greeting | Mode::Numbered { .. } => Some(true),
            Mode::Plain { .. } => Some(false),
        }
    }

    /// Which broker it is.
    pub fn broker(&self) -> &str {
        &self.brokers[self.current]
    }

    /// No longer than this should be waited for a message.
    pub fn patience(&self) -> Duration {
        LOOK_INTERVAL
    }

    /// Whether the kind of broker is known, so that messages can be waited for.
    pub fn is_connected(&self) -> bool {
        self.mode != Mode::Unknown
    }

    /// Sends what has not been sent, as far as there is room.
    pub fn flush(&mut self) {
        match self.mode {
            Mode::Numbered { broker } => self.flush_numbered(broker),
            Mode::Plain { number: None } => self.send_next_plain(),
            Mode::Unknown | Mode::Greeting | Mode::Plain { .. } => {}
        }
    }

    fn flush_numbered(&mut self, broker: [u8; 16]) {
        let now = Instant::now();
        while let Some(number) = self.open.next_from(self.unsent) {
            let Some((header, request)) = self.open.prepare(number, broker, now) else { return };
            let service = Some(&request.service[..]);
            let sent = with_body(header, service, request.body.as_frames(), |first, behind| match behind {
                [] => self.dealer.try_send(first),
                body => self.dealer.try_send(Outgoing::Headed { head: &[first], body }),
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

    fn send_next_plain(&mut self) {
        while let Some(number) = self.open.next_from(self.unsent) {
            let version = self.options.plain_version;
            let Some(request) = self.open.get_mut(number) else { return };
            let head = mdp::client_request(version, &request.service);
            let message = Outgoing::Headed { head: head.frames(), body: request.body.as_frames() };
            match self.dealer.try_send(message) {
                Ok(()) => {
                    request.sent_to = Some([0; 16]);
                    self.unsent = number + 1;
                    (self.mode, self.plain_parts) = (Mode::Plain { number: Some(number) }, 0);
                    return;
                }
                Err(SendError::WouldBlock) => return,
                Err(error) => {
                    self.unsent = number + 1;
                    self.open.fail(number, error.into());
                }
            }
        }
    }

    /// A message came.
    pub fn take(&mut self, message: Message) {
        let frames = message.as_frames();
        if frames.first().is_some_and(|first| Header::is_one(first.as_bytes())) {
            match parse_from_broker(frames) {
                Ok(FromBroker::Reply(part)) => self.take_part(part, message),
                Ok(command) => self.take_numbered(command),
                Err(_) => {}
            }
        } else if let Mode::Plain { number: Some(number) } = self.mode
            && let Ok(reply) = mdp::parse_reply(frames)
        {
            let body = &frames[reply.body_index..];
            let next = self.open.take_plain(number, self.plain_parts, reply.is_final, body);
            self.plain_parts += 1;
            if next == Next::Withdraw {
                self.tell_withdrawn(number);
            } else if reply.is_final {
                self.mode = Mode::Plain { number: None };
                self.send_next_plain();
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

    fn take_numbered(&mut self, command: FromBroker<'_>) {
        match command {
            // A request of plain MDP may have gone to it, which makes the connection a plain client's.
            FromBroker::Welcome { .. } if matches!(self.mode, Mode::Plain { .. }) => {
                self.connect_anew(self.current);
            }
            FromBroker::Welcome { broker, .. } => {
                if self.heard.elapsed() > TRUST_TIME {
                    self.open.distrust();
                }
                self.mode = Mode::Numbered { broker };
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

    /// Withdraws a request: what comes for it is dropped.
    pub fn withdraw(&mut self, number: u64) {
        if !self.open.withdraw(number) {
            return;
        }
        self.tell_withdrawn(number);
    }

    fn tell_withdrawn(&mut self, number: u64) {
        match self.mode {
            Mode::Numbered { .. } => {
                let header = Header::Cancel { request: RequestId { client: self.id, number } }.encode();
                // One that does not go is no loss: the broker forgets it in time.
                let _ = self.dealer.try_send(header.as_ref());
            }
            // Its reply may come still, and would be taken for the next one's.
            Mode::Plain { number: Some(current) } if current == number => self.connect_anew(self.current),
            _ => {}
        }
    }

    /// Time has passed: gives up what waited too long, and looks for the broker.
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
        let peers = self.dealer.peers();
        let peer = peers.first().map(|peer| (peer.connection, Numbered::of(&peer.properties).is_some()));
        if let Mode::Plain { .. } = self.mode
            && peer.is_none_or(|(connection, _)| self.connection != Some(connection))
        {
            // Whoever was there has forgotten all.
            (self.mode, self.unsent) = (Mode::Unknown, 0);
        }
        if let Some((connection, is_numbered)) = peer {
            match self.mode {
                Mode::Unknown if is_numbered => self.mode = Mode::Greeting,
                // What a broker that numbers had may be done twice here, and is asked for all the same.
                Mode::Unknown | Mode::Numbered { .. } | Mode::Greeting if !is_numbered => {
                    (self.mode, self.unsent) = (Mode::Plain { number: None }, 0);
                    self.connection = Some(connection);
                    self.flush();
                }
                _ => {}
            }
            if self.mode != Mode::Greeting {
                self.heard = now;
                self.alone_since = None;
                return;
            }
        }
        let since = *self.alone_since.get_or_insert(now);
        if now.saturating_duration_since(since) >= self.options.failover_after && self.brokers.len() > 1 {
            self.connect_anew((self.current + 1) % self.brokers.len());
        }
    }

    /// Goes to a broker by a connection of its own, as if nothing had been sent.
    fn connect_anew(&mut self, broker: usize) {
        let Ok(dealer) = Dealer::with_options(&self.context, self.options.socket()) else { return };
        if dealer.connect(&self.brokers[broker]).is_err() {
            return;
        }
        std::mem::replace(&mut self.dealer, dealer).close();
        (self.current, self.mode, self.alone_since, self.unsent) = (broker, Mode::Unknown, None, 0);
        self.generation += 1;
    }
}
