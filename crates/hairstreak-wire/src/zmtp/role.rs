//! `Role`: how this side secures a connection, and what the two sides of an authentication tell each other.
//!
//! Whether a socket binds or connects has nothing to do with its role, as in libzmq.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use zeroize::Zeroizing;

use super::greeting;
use super::mechanism::curve::{CookieKeys, KeyPair, PublicKey};

/// The largest username or password, in bytes.
pub const LOGIN_SIZE_MAX: usize = 255;

/// What this side is in a handshake.
#[derive(Clone, Debug, Default)]
pub enum Role {
    /// NULL: neither side asks for anything.
    #[default]
    Peer,
    /// PLAIN, with this name and password.
    PlainClient(Login),
    /// CURVE, with these keys of ours.
    CurveClient {
        /// Ours.
        keys: KeyPair,
        /// Who the server has to be.
        server_key: PublicKey,
    },
    /// The client chooses one of these mechanisms, and its credentials are asked about.
    Server(Arc<Acceptance>),
}

/// A name and a password for PLAIN; wiped when dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    username: Vec<u8>,
    password: Zeroizing<Vec<u8>>,
}

impl Login {
    /// None when either is over [`LOGIN_SIZE_MAX`].
    pub fn new(username: &[u8], password: &[u8]) -> Option<Login> {
        let fits = username.len().max(password.len()) <= LOGIN_SIZE_MAX;
        fits.then(|| Login { username: username.to_vec(), password: Zeroizing::new(password.to_vec()) })
    }

    /// The name.
    pub fn username(&self) -> &[u8] {
        &self.username
    }

    /// The password.
    pub fn password(&self) -> &[u8] {
        &self.password
    }
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Login(\"{}\", ..)", self.username.escape_ascii())
    }
}

/// The mechanisms that a server accepts. One value serves all its connections.
#[derive(Debug)]
pub struct Acceptance {
    null: bool,
    plain: bool,
    curve: Option<KeyPair>,
    cookies: Mutex<CookieKeys>,
}

impl Acceptance {
    /// Accepts NULL, PLAIN, and CURVE with these keys.
    pub fn new(null: bool, plain: bool, curve: Option<KeyPair>) -> Acceptance {
        Acceptance { null, plain, curve, cookies: Mutex::default() }
    }

    /// Whether it accepts no mechanism at all.
    pub fn is_empty(&self) -> bool {
        self.names().is_empty()
    }

    /// The names of what it accepts, the strongest first.
    pub(super) fn names(&self) -> Vec<&'static str> {
        let offers = [
            (self.curve.is_some(), greeting::CURVE),
            (self.plain, greeting::PLAIN),
            (self.null, greeting::NULL),
        ];
        offers.into_iter().filter(|(accepted, _)| *accepted).map(|(_, name)| name).collect()
    }

    pub(super) fn curve(&self) -> Option<&KeyPair> {
        self.curve.as_ref()
    }

    pub(super) fn renew_cookies(&self, now: Duration, entropy: &Entropy) {
        if self.curve.is_some() {
            self.cookies().renew(now, &entropy.for_cookies());
        }
    }

    pub(super) fn cookies(&self) -> MutexGuard<'_, CookieKeys> {
        self.cookies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Unpredictable bytes, enough for one handshake in any role; wiped when dropped.
#[derive(Clone)]
pub struct Entropy(Zeroizing<[u8; Entropy::SIZE]>);

impl Entropy {
    /// How many bytes.
    pub const SIZE: usize = 96;

    /// These bytes, which no other handshake may have.
    pub fn new(bytes: Zeroizing<[u8; Entropy::SIZE]>) -> Entropy {
        Entropy(bytes)
    }

    fn part<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut part = [0; N];
        part.copy_from_slice(&self.0[at..at + N]);
        part
    }

    /// The transient secret key and the salt of the vouch.
    pub(super) fn for_client(&self) -> ([u8; 32], [u8; 16]) {
        (self.part(0), self.part(32))
    }

    /// The transient secret key, the salt of WELCOME and that of the cookie.
    pub(super) fn for_server(&self) -> ([u8; 32], [u8; 16], [u8; 16]) {
        (self.part(0), self.part(32), self.part(48))
    }

    fn for_cookies(&self) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(self.part(64))
    }
}

impl fmt::Debug for Entropy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Entropy(..)")
    }
}

/// Who a client says it is. For CURVE it has been proved; of a password the server has yet to judge.
#[derive(Clone, PartialEq, Eq)]
pub enum Credentials {
    /// Anybody.
    Null,
    /// A name and a password, up to [`LOGIN_SIZE_MAX`] bytes each.
    Plain {
        /// The name.
        username: Vec<u8>,
        /// The password; wiped when dropped.
        password: Zeroizing<Vec<u8>>,
    },
    /// Whoever has the secret key of this.
    Curve {
        /// The client's long-term key.
        public_key: PublicKey,
    },
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Credentials::Null => f.write_str("Null"),
            Credentials::Plain { username, .. } => write!(f, "Plain(\"{}\", ..)", username.escape_ascii()),
            Credentials::Curve { public_key } => write!(f, "Curve({public_key})"),
        }
    }
}

/// What a server makes of credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Let in.
    Accept {
        /// What the server calls the user, if it has a name for it.
        user_id: Option<String>,
    },
    /// Refused for good: the client gets the status 400.
    Refuse,
    /// Refused for now: the client gets the status 300.
    TryLater,
}
