//! `Client`: the connection to the directory, its thread, and requests with their replies.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use hairstreak_base::process;
use hairstreak_socket::{
    ConnectError, Context, Dealer, Message, OpenError, Options, RecvError, ResolveError,
};
use hairstreak_wire::directory::{
    Attributes, Endpoint, Envelope, Name, OWNER_SIZE, Owner, Reply, Request, RequestId,
};
use rustix::rand::GetRandomFlags;
use thiserror::Error;

use super::follow::{Followed, ask_for_followed, handle_followed};
use super::registration::{Held, handle_renewal, renew};
use crate::admission::Admission;
use crate::credentials::Credentials;

/// Interval of renewals of registrations and of LOOKUPs of followed names.
const ROUND: Duration = Duration::from_secs(1);
/// Interval between two checks for an unreachable or refusing directory.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);
/// Time without a reply after which a request is sent again.
const PATIENCE: Duration = Duration::from_secs(1);
/// Time that one LOOKUP waits in the directory before it is sent again.
const LOOKUP_WAIT: Duration = Duration::from_millis(500);

/// Error of starting a client of the directory. An absent directory is not an error.
#[derive(Debug, Error)]
pub enum BuildError {
    /// The address of the directory is invalid.
    #[error("cannot use the directory: {0}")]
    Directory(#[from] ConnectError),
    /// The socket towards the directory could not be opened.
    #[error("cannot use the directory: {0}")]
    Socket(#[from] OpenError),
    /// The thread for the directory could not be started.
    #[error("cannot use the directory: {0}")]
    Thread(#[from] io::Error),
}

/// Callback with the reason of a continued wait for the directory. It runs in the waiting thread.
pub type OnDelay = Arc<dyn Fn(&ResolveError) + Send + Sync>;

/// The connection to one directory.
pub struct Client {
    endpoint: String,
    dealer: Dealer,
    admission: Mutex<Admission>,
    on_delay: OnDelay,
    owner: Owner,
    last_number: AtomicU64,
    state: Mutex<State>,
    /// Process of the client's thread.
    process: u32,
}

/// State that the client's thread shares with other threads. All maps are keyed by request number.
#[derive(Default)]
pub(super) struct State {
    calls: HashMap<u64, Sender<Reply>>,
    pub held: BTreeMap<u64, Held>,
    pub followed: BTreeMap<u64, Followed>,
    /// Last reported reason of a wait.
    told: Option<ResolveError>,
}

/// Reason that the directory gave no good answer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AskError {
    /// The directory does not answer.
    #[error("no answer from the directory at {directory}{}", because(trouble))]
    NoAnswer {
        /// The endpoint of the directory.
        directory: String,
        /// The reason that its host is not found.
        trouble: Option<ResolveError>,
    },
    /// The directory cannot be reached, and further waiting is pointless.
    #[error("the directory at {directory} cannot be reached: {trouble}")]
    Unreachable {
        /// The endpoint of the directory.
        directory: String,
        /// The reason.
        trouble: ResolveError,
    },
    /// The directory refuses.
    #[error("the directory at {directory} refuses: {text}")]
    Refused {
        /// The endpoint of the directory.
        directory: String,
        /// The directory's reason.
        text: String,
    },
    /// The connection belongs to the parent process of a fork. This process needs a connection of its own.
    #[error(
        "the connection to the directory at {directory} belongs to the process that this one was forked from"
    )]
    Forked {
        /// The endpoint of the directory.
        directory: String,
    },
}

/// Returns the end of a sentence that gives the reason of a missing answer.
fn because(trouble: &Option<ResolveError>) -> String {
    trouble.as_ref().map_or(String::new(), |trouble| format!(": {trouble}"))
}

/// Location of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// The attributes of the name.
    pub attributes: Attributes,
}

/// Purpose of a request: the first byte of its id, before a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Purpose {
    Call = b'c',
    Renewal = b'r',
    Follow = b'f',
    /// Release of a name. The reply is ignored.
    Farewell = b'u',
}

impl Client {
    /// Connects, now or when the directory starts, and starts the thread. The thread ends when the last `Arc` is
    /// dropped.
    pub fn start(
        endpoint: String,
        credentials: &Credentials,
        on_delay: OnDelay,
    ) -> Result<Arc<Client>, BuildError> {
        // The client has its own context: the thread that waits for replies must not drive the sockets of the
        // component.
        let options = Options { security: credentials.security(), ..options() };
        let dealer = Dealer::with_options(&Context::new(), options)?;
        let admission = Mutex::new(Admission::of(&dealer, credentials));
        dealer.connect(&endpoint)?;
        let client = Arc::new(Client {
            endpoint,
            dealer: dealer.clone(),
            admission,
            on_delay,
            owner: random_owner()?,
            last_number: AtomicU64::new(0),
            state: Mutex::default(),
            process: process::current(),
        });
        let weak = Arc::downgrade(&client);
        thread::Builder::new().name("directory".into()).spawn(move || run(&dealer, &weak))?;
        Ok(client)
    }

    /// Returns the endpoint of the directory.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Waits until the directory is connected. Fails at once if the host is unknown. With a resolver that does not
    /// answer at the moment, it waits and reports the reason.
    pub fn wait_until_connected(&self, deadline: Instant) -> Result<(), AskError> {
        self.check_process()?;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if self.dealer.wait_for_peers(1, left.min(LOOK_INTERVAL)) {
                self.state().told = None;
                return Ok(());
            }
            match self.dealer.trouble() {
                Some(trouble) if !trouble.is_temporary() => {
                    return Err(AskError::Unreachable { directory: self.endpoint.clone(), trouble });
                }
                Some(trouble) => self.tell(trouble),
                None => {}
            }
            if let Some(text) = self.refusal() {
                return Err(AskError::Refused { directory: self.endpoint.clone(), text });
            }
            if left <= LOOK_INTERVAL {
                return Err(AskError::no_answer(self));
            }
        }
    }

    /// Returns the reason that the directory refuses this program, if it does.
    fn refusal(&self) -> Option<String> {
        let mut admission = self.admission.lock().unwrap_or_else(PoisonError::into_inner);
        admission.refusal().map(str::to_owned)
    }

    /// Reports the reason of a wait for the directory, once for each reason.
    fn tell(&self, trouble: ResolveError) {
        if self.state().told.replace(trouble.clone()).as_ref() != Some(&trouble) {
            (self.on_delay)(&trouble);
        }
    }

    /// Returns this machine's address on the connection to the directory. `None`: there is no connection. `Some(None)`:
    /// the connection has no network address.
    pub fn local_address(&self) -> Option<Option<SocketAddr>> {
        let peer = self.dealer.peers().into_iter().next()?;
        Some(peer.local)
    }

    /// Looks up `name` once. The directory may wait a little for the name, but not beyond `deadline`.
    pub fn look_up(&self, name: &Name, deadline: Instant) -> Result<Option<Found>, AskError> {
        let left = deadline.saturating_duration_since(Instant::now());
        let wait_ms = left.min(LOOKUP_WAIT).as_millis() as u32;
        let until = Instant::now() + left.min(LOOKUP_WAIT) + PATIENCE;
        match self.ask_until(until, || Some(Request::Lookup { name: name.clone(), wait_ms }))? {
            Reply::Found { endpoint, attributes, .. } => Ok(Some(Found { endpoint, attributes })),
            Reply::NotFound { .. } => Ok(None),
            other => Err(AskError::refused(self, other)),
        }
    }

    /// Sends the request that `request` returns, and sends it again whenever a reply takes too long.
    pub fn ask_until(
        &self,
        deadline: Instant,
        request: impl Fn() -> Option<Request>,
    ) -> Result<Reply, AskError> {
        self.check_process()?;
        let call = Call::new(self);
        loop {
            self.wait_until_connected(deadline)?;
            if let Some(request) = request() {
                self.send(Purpose::Call, call.number, &request);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match call.reply.recv_timeout(left.min(LOOKUP_WAIT + PATIENCE)) {
                Ok(reply) => return Ok(reply),
                Err(RecvTimeoutError::Timeout) if Instant::now() < deadline => {}
                Err(_) => return Err(AskError::no_answer(self)),
            }
        }
    }

    /// Sends without blocking. A lost request is sent again, or its loss does no harm.
    pub(super) fn send(&self, purpose: Purpose, number: u64, request: &Request) {
        let mut id = [purpose as u8; 9];
        id[1..].copy_from_slice(&number.to_be_bytes());
        let Some(request_id) = RequestId::new(&id) else { return };
        let frames = request.encode(&Envelope { delimited: false, request_id });
        let frames: Vec<&[u8]> = frames.iter().map(Vec::as_slice).collect();
        let _ = self.dealer.try_send(frames.as_slice());
    }

    fn handle_message(&self, message: &Message) {
        let frames: Vec<&[u8]> = message.frames().collect();
        // A malformed message is ignored.
        let Ok((envelope, reply)) = Reply::decode(&frames) else { return };
        let Some((&purpose, number)) = envelope.request_id.as_bytes().split_first() else { return };
        let Ok(number) = number.try_into().map(u64::from_be_bytes) else { return };
        match purpose {
            b'c' => {
                if let Some(call) = self.state().calls.remove(&number) {
                    // The caller may have given up meanwhile.
                    let _ = call.send(reply);
                }
            }
            b'r' => handle_renewal(self, number, &reply),
            b'f' => handle_followed(self, number, reply),
            _ => {}
        }
    }

    /// Refuses a forked child before it touches the lock, which a thread of the parent may hold.
    fn check_process(&self) -> Result<(), AskError> {
        if self.is_forked() {
            return Err(AskError::Forked { directory: self.endpoint.clone() });
        }
        Ok(())
    }

    /// Returns whether this is a forked child. The names that the parent holds stay with the parent.
    pub(super) fn is_forked(&self) -> bool {
        !process::is_current(self.process)
    }

    pub(super) fn owner(&self) -> Owner {
        self.owner
    }

    pub(super) fn next_number(&self) -> u64 {
        self.last_number.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // The close wakes the thread. The last message, a released name, is still sent.
        self.dealer.clone().close();
    }
}

impl AskError {
    /// Returns the text of the error after a wait.
    pub fn after(&self, seconds: f32) -> String {
        match self {
            AskError::NoAnswer { directory, trouble } => {
                format!("no answer from the directory at {directory} in {seconds} s{}", because(trouble))
            }
            other => other.to_string(),
        }
    }

    fn no_answer(client: &Client) -> AskError {
        AskError::NoAnswer { directory: client.endpoint.clone(), trouble: client.dealer.trouble() }
    }

    /// Returns the error for a reply that does not answer the question.
    pub fn refused(client: &Client, reply: Reply) -> AskError {
        let text = match reply {
            Reply::Error { text, .. } => text,
            other => format!("unexpected reply {other:?}"),
        };
        AskError::Refused { directory: client.endpoint.clone(), text }
    }
}

/// A pending reply.
struct Call<'c> {
    client: &'c Client,
    number: u64,
    reply: Receiver<Reply>,
}

impl Call<'_> {
    fn new(client: &Client) -> Call<'_> {
        let (sender, reply) = channel();
        let number = client.next_number();
        client.state().calls.insert(number, sender);
        Call { client, number, reply }
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.client.state().calls.remove(&self.number);
    }
}

/// Runs the client's thread.
fn run(dealer: &Dealer, client: &Weak<Client>) {
    loop {
        let is_connected = dealer.wait_for_peers(1, ROUND);
        let Some(strong) = client.upgrade() else { return };
        if !is_connected {
            continue;
        }
        renew(&strong);
        ask_for_followed(&strong);
        drop(strong);
        let end = Instant::now() + ROUND;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match dealer.recv_timeout(left) {
                Ok(message) => {
                    let Some(client) = client.upgrade() else { return };
                    client.handle_message(&message);
                }
                Err(RecvError::Closed | RecvError::Forked) => return,
                Err(_) => break,
            }
            // The next round is due, regardless of the number of messages.
            if left.is_zero() {
                break;
            }
        }
    }
}

/// Returns the socket options. A directory is near and its messages are small: detect a loss early, and buffer little.
fn options() -> Options {
    Options {
        reconnect_max_ms: 500,
        heartbeat_ms: 5_000,
        heartbeat_timeout_ms: 5_000,
        message_size_max: 256 << 10,
        linger_ms: 1_000,
        ..Options::default()
    }
}

/// Returns an owner from the system's random bytes. State in this process cannot replace them: a forked child would get
/// the same.
fn random_owner() -> std::io::Result<Owner> {
    let mut token = [0; OWNER_SIZE];
    // A request for so few bytes succeeds at once or fails.
    rustix::rand::getrandom(&mut token, GetRandomFlags::empty())?;
    Ok(Owner(token))
}
