//! `Link`: the socket of one broker, shared by the threads that send replies.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hairstreak_base::Bytes;
use hairstreak_socket::monitor::ConnectionId;
use hairstreak_socket::{Context, Dealer, Message, Outgoing, SendError};
use hairstreak_wire::hsn1::{self, Header, PartPlace, Refusal, RequestId, with_body};
use hairstreak_wire::mdp::{self, Version, WorkerCommand};

use super::error::WorkerError;
use super::options::WorkerOptions;
use super::store::StoredReply;
use crate::admission::Admission;

/// Interval at which a sender that waits for room checks that the broker is still connected.
const ROOM_LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// A connection of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Connection {
    /// Number of earlier sockets of the link.
    socket: u64,
    connection: ConnectionId,
}

#[derive(Debug)]
pub(super) struct Link {
    broker: String,
    dealer: Mutex<Dealer>,
    admission: Mutex<Admission>,
    /// Number of earlier sockets.
    reopened: AtomicU64,
    version: Version,
    /// Set if the broker takes parts that name their run.
    takes_runs: AtomicBool,
}

impl Link {
    pub fn open(context: &Context, broker: &str, options: &WorkerOptions) -> Result<Link, WorkerError> {
        let dealer = Dealer::with_options(context, options.socket())?;
        let admission = Admission::of(&dealer, &options.credentials);
        dealer.connect(broker)?;
        Ok(Link {
            broker: broker.to_owned(),
            dealer: Mutex::new(dealer),
            admission: Mutex::new(admission),
            reopened: AtomicU64::new(0),
            version: options.plain_version,
            takes_runs: AtomicBool::new(false),
        })
    }

    pub fn dealer(&self) -> Dealer {
        self.lock_dealer().clone()
    }

    fn lock_admission(&self) -> MutexGuard<'_, Admission> {
        self.admission.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fails if the broker refuses this program.
    pub fn check_admission(&self) -> Result<(), WorkerError> {
        let refusal = self.lock_admission().refusal().map(str::to_owned);
        refusal.map_or(Ok(()), |reason| Err(self.unauthorized(reason)))
    }

    /// Returns the error of a worker that the broker refuses.
    pub fn unauthorized(&self, reason: String) -> WorkerError {
        WorkerError::Unauthorized { broker: self.broker.clone(), reason }
    }

    fn lock_dealer(&self) -> MutexGuard<'_, Dealer> {
        self.dealer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the socket with a new one.
    pub fn reopen(&self, context: &Context, options: &WorkerOptions) -> Result<(), WorkerError> {
        let dealer = Dealer::with_options(context, options.socket())?;
        let admission = Admission::of(&dealer, &options.credentials);
        dealer.connect(&self.broker)?;
        *self.lock_admission() = admission;
        let before = std::mem::replace(&mut *self.lock_dealer(), dealer);
        self.reopened.fetch_add(1, Ordering::Relaxed);
        before.close();
        Ok(())
    }

    /// Returns the connection to the broker, and whether the broker speaks HSN1. `None`: not connected.
    pub fn peer(&self) -> Option<(ConnectionId, bool)> {
        let peers = self.dealer().peers();
        peers.first().map(|peer| (peer.connection, hsn1::is_spoken_by(&peer.properties)))
    }

    /// Returns an identifier of the current connection, distinct from all others.
    pub fn connection(&self) -> Option<Connection> {
        let (connection, _) = self.peer()?;
        Some(Connection { socket: self.reopened.load(Ordering::Relaxed), connection })
    }

    /// Sends, and waits for room while the broker is connected. A reply that is lost with the connection is asked for
    /// again, because READY lists it.
    fn post(&self, head: &[&[u8]], body: &[Bytes]) -> Result<(), SendError> {
        let outgoing = match (head, body) {
            ([only], []) => Outgoing::Body(only),
            _ => Outgoing::Headed { head, body },
        };
        loop {
            let sent = self.lock_dealer().try_send(outgoing);
            match sent {
                Err(SendError::WouldBlock) => {}
                Err(error @ (SendError::TooLarge { .. } | SendError::TooManyFrames { .. })) => {
                    return Err(error);
                }
                _ => return Ok(()),
            }
            let dealer = self.dealer();
            if dealer.peers().is_empty() {
                return Ok(());
            }
            match dealer.send_timeout(outgoing, ROOM_LOOK_INTERVAL) {
                Err(SendError::TimedOut) => {}
                _ => return Ok(()),
            }
        }
    }

    /// Sends a small command, which always fits.
    fn tell(&self, head: &[&[u8]], body: &[Bytes]) {
        let _ = self.post(head, body);
    }

    /// Flushes buffered messages.
    pub fn flush(&self) {
        self.dealer().flush();
    }

    pub fn send_ready(&self, service: &str, capacity: u32, held: &[u8]) {
        self.tell(&[Header::Ready { capacity }.encode().as_ref(), service.as_bytes(), held], &[]);
    }

    pub fn send_held(&self, held: &[u8]) {
        self.tell(&[Header::Held.encode().as_ref(), held], &[]);
    }

    pub fn send_header(&self, header: Header) {
        self.tell(&[header.encode().as_ref()], &[]);
    }

    /// Sets whether the broker takes parts that name their run. Each request carries this flag.
    pub fn note_runs(&self, takes_runs: bool) {
        self.takes_runs.store(takes_runs, Ordering::Relaxed);
    }

    pub fn send_part(&self, request: RequestId, place: PartPlace, body: &Message) {
        let PartPlace { run, index, is_final } = place;
        // A whole reply needs no run.
        let is_whole = is_final && index == 0;
        let run = Some(run).filter(|_| !is_whole && self.takes_runs.load(Ordering::Relaxed));
        let header = match is_final {
            true => Header::Final { request, index, run },
            false => Header::Partial { request, index, run },
        };
        if let Err(error) =
            with_body(header, None, body.as_frames(), |first, behind| self.post(&[first], behind))
        {
            self.send_refused(request, &format!("the reply cannot be sent: {error}"));
        }
    }

    pub fn send_refused(&self, request: RequestId, text: &str) {
        let header = Header::Refused { request, refusal: Refusal::Failed }.encode();
        self.tell(&[header.as_ref(), text.as_bytes()], &[]);
    }

    /// Sends a stored reply in the same parts as the first time.
    pub fn send_stored(&self, request: RequestId, run: u64, reply: &StoredReply) {
        let count = reply.parts.len();
        for (index, part) in reply.parts.iter().enumerate() {
            let is_final = index + 1 == count && reply.failure.is_none();
            self.send_part(request, PartPlace { run, index: index as u32, is_final }, part);
        }
        if let Some(text) = &reply.failure {
            self.send_refused(request, text);
        }
    }

    pub fn send_plain_ready(&self, service: &str) {
        self.tell(mdp::worker_ready(self.version, service.as_bytes()).frames(), &[]);
    }

    pub fn send_plain_command(&self, command: WorkerCommand) {
        self.tell(mdp::worker_command(self.version, command).frames(), &[]);
    }

    pub fn send_plain_reply(&self, address: &Bytes, is_final: bool, body: &Message) {
        self.tell(mdp::worker_reply(self.version, address.as_bytes(), is_final).frames(), body.as_frames());
    }
}
