//! `Role`: this side's part in securing a connection, and the credentials and verdicts of an authentication.
//!
//! The role is independent of binding and connecting, as in libzmq.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use zeroize::Zeroizing;

use super::greeting;
use super::mechanism::curve::{CookieKeys, KeyPair, PublicKey};

/// The largest username or password, in bytes.
pub const LOGIN_SIZE_MAX: usize = 255;

/// Role of this side in a handshake.
#[derive(Clone, Debug, Default)]
pub enum Role {
    /// NULL: neither side asks for credentials.
    #[default]
    Peer,
    /// PLAIN, with this name and password.
    PlainClient(Login),
    /// CURVE, with these keys of ours.
    CurveClient {
        /// Our keys.
        keys: KeyPair,
        /// Expected key of the server.
        server_key: PublicKey,
    },
    /// The client chooses one of these mechanisms, and the server asks for a verdict on its credentials.
    Server(Arc<Acceptance>),
}

/// A name and a password for PLAIN; wiped when dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    username: Vec<u8>,
    password: Zeroizing<Vec<u8>>,
}

impl Login {
    /// Creates a login. `None` if either is over [`LOGIN_SIZE_MAX`].
    pub fn new(username: &[u8], password: &[u8]) -> Option<Login> {
        let fits = username.len().max(password.len()) <= LOGIN_SIZE_MAX;
        fits.then(|| Login { username: username.to_vec(), password: Zeroizing::new(password.to_vec()) })
    }

    /// Returns the name.
    pub fn username(&self) -> &[u8] {
        &self.username
    }

    /// Returns the password.
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

    /// Returns whether no mechanism is accepted.
    pub fn is_empty(&self) -> bool {
        self.names().is_empty()
    }

    /// Returns the names of the accepted mechanisms, the strongest first.
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
    /// Size in bytes.
    pub const SIZE: usize = 96;

    /// Wraps these bytes, which no other handshake may use.
    pub fn new(bytes: Zeroizing<[u8; Entropy::SIZE]>) -> Entropy {
        Entropy(bytes)
    }

    fn part<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut part = [0; N];
        part.copy_from_slice(&self.0[at..at + N]);
        part
    }

    /// Returns the transient secret key and the salt of the vouch.
    pub(super) fn for_client(&self) -> ([u8; 32], [u8; 16]) {
        (self.part(0), self.part(32))
    }

    /// Returns the transient secret key, the salt of WELCOME and that of the cookie.
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

/// A client's claim of identity. For CURVE it is proved; a password has still to be checked by the server.
#[derive(Clone, PartialEq, Eq)]
pub enum Credentials {
    /// No identity.
    Null,
    /// A name and a password, up to [`LOGIN_SIZE_MAX`] bytes each.
    Plain {
        /// The name.
        username: Vec<u8>,
        /// The password; wiped when dropped.
        password: Zeroizing<Vec<u8>>,
    },
    /// The holder of the secret key for this public key.
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

/// A server's decision on credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The client is let in.
    Accept {
        /// User id that the server assigns, if it has one.
        user_id: Option<String>,
    },
    /// The client is rejected permanently: it gets the status 400.
    Refuse,
    /// The client is rejected for now: it gets the status 300.
    TryLater,
}
