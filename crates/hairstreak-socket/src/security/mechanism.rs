//! `Security`: the mechanism of a socket, in one of two roles; `Server`, the accepting role; and random bytes and keys.
//!
//! The role has nothing to do with who binds and who connects, as in libzmq.

use std::io;
use std::sync::{Arc, LazyLock};
use std::time::Instant;

use hairstreak_wire::zmtp::curve::{KeyPair, PublicKey, SecretKey};
use hairstreak_wire::zmtp::role::{Acceptance, Entropy, Login, Role};
use hairstreak_wire::zmtp::{Handshake, HandshakeLimits, LocalPeer};
use rustix::rand::{GetRandomFlags, getrandom};
use zeroize::Zeroizing;

use super::authenticator::Authenticator;

/// How the connections of a socket are secured.
#[derive(Clone, Debug, Default)]
pub enum Security {
    /// NULL: no authentication, no encryption.
    #[default]
    Null,
    /// A client of PLAIN: shows this name and password, in the clear. (ZMQ_PLAIN_USERNAME, ZMQ_PLAIN_PASSWORD)
    Plain(Login),
    /// A client of CURVE: proves who it is, talks to nobody but the server of that key, and encrypts.
    /// (ZMQ_CURVE_PUBLICKEY, ZMQ_CURVE_SECRETKEY, ZMQ_CURVE_SERVERKEY)
    Curve {
        /// Ours.
        keys: KeyPair,
        /// The server's.
        server_key: PublicKey,
    },
    /// A server: each client chooses among the accepted mechanisms, and is authenticated.
    /// (ZMQ_PLAIN_SERVER, ZMQ_CURVE_SERVER and ZAP)
    Server(Server),
}

/// Which mechanisms a server accepts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mechanisms {
    /// Clients without any security.
    pub null: bool,
    /// Clients with a name and a password, in the clear.
    pub plain: bool,
    /// Clients with a key, talking to this one of ours, encrypted.
    pub curve: Option<KeyPair>,
}

/// A server's mechanisms and its judge. Clones are the same server.
#[derive(Clone, Debug)]
pub struct Server {
    acceptance: Arc<Acceptance>,
    authenticator: Arc<Authenticator>,
    assigns_ids: bool,
}

impl Server {
    /// A server that accepts these mechanisms and asks this authenticator about every client.
    pub fn new(mechanisms: Mechanisms, authenticator: Authenticator) -> Server {
        let Mechanisms { null, plain, curve } = mechanisms;
        let acceptance = Arc::new(Acceptance::new(null, plain, curve));
        Server { acceptance, authenticator: Arc::new(authenticator), assigns_ids: false }
    }

    /// The same server. A ROUTER that has it gives each connection a routing id of its own, whatever the peer announced, so that no
    /// peer can choose one or have that of a peer before it; and the id says whom the authenticator let in, see
    /// [`user_of`](crate::reqrep::user_of).
    pub fn assigning_ids(self) -> Server {
        Server { assigns_ids: true, ..self }
    }

    pub(crate) fn authenticator(&self) -> &Arc<Authenticator> {
        &self.authenticator
    }

    pub(crate) fn accepts_nothing(&self) -> bool {
        self.acceptance.is_empty()
    }
}

/// Servers are the same when they are clones of one.
impl PartialEq for Server {
    fn eq(&self, other: &Server) -> bool {
        self.assigns_ids == other.assigns_ids
            && Arc::ptr_eq(&self.acceptance, &other.acceptance)
            && Arc::ptr_eq(&self.authenticator, &other.authenticator)
    }
}

impl Eq for Server {}

impl PartialEq for Security {
    fn eq(&self, other: &Security) -> bool {
        match (self, other) {
            (Security::Null, Security::Null) => true,
            (Security::Plain(one), Security::Plain(other)) => one == other,
            (Security::Curve { keys, server_key }, Security::Curve { keys: others, server_key: theirs }) => {
                keys == others && server_key == theirs
            }
            (Security::Server(one), Security::Server(other)) => one == other,
            _ => false,
        }
    }
}

impl Eq for Security {}

impl Security {
    /// The handshake of a new connection.
    pub(crate) fn handshake(&self, local: LocalPeer, now: Instant) -> io::Result<Handshake> {
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        let limits = HandshakeLimits::default();
        let role = match self {
            Security::Null => return Ok(Handshake::new(local, limits)),
            Security::Plain(login) => Role::PlainClient(login.clone()),
            Security::Curve { keys, server_key } => {
                Role::CurveClient { keys: keys.clone(), server_key: *server_key }
            }
            Security::Server(server) => Role::Server(Arc::clone(&server.acceptance)),
        };
        let mut bytes = Zeroizing::new([0; Entropy::SIZE]);
        fill_random(&mut *bytes)?;
        let since_start = now.saturating_duration_since(*START);
        Ok(Handshake::secured(local, limits, &role, Entropy::new(bytes), since_start))
    }

    /// Whether a ROUTER gives each connection an id of its own.
    pub(crate) fn assigns_ids(&self) -> bool {
        matches!(self, Security::Server(server) if server.assigns_ids)
    }

    /// Who judges the clients of this side.
    pub(crate) fn authenticator(&self) -> Option<&Arc<Authenticator>> {
        match self {
            Security::Server(server) => Some(server.authenticator()),
            _ => None,
        }
    }
}

/// A new key pair.
pub fn generate_key_pair() -> io::Result<KeyPair> {
    let mut secret = Zeroizing::new([0; 32]);
    fill_random(&mut *secret)?;
    Ok(KeyPair::new(SecretKey::from_bytes(*secret)))
}

/// Fills `bytes` with unpredictable bytes of the system, for keys and secret ids.
pub fn fill_random(bytes: &mut [u8]) -> io::Result<()> {
    let mut rest = bytes;
    while !rest.is_empty() {
        match getrandom(&mut *rest, GetRandomFlags::empty()) {
            Ok(count) => rest = &mut rest[count..],
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_pairs_are_the_same() {
        let (one, other) = (generate_key_pair().unwrap(), generate_key_pair().unwrap());
        assert_ne!(one, other);
        assert_eq!(KeyPair::new(one.secret().clone()), one);
    }
}
