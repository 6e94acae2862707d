//! `LoginJob`: a name and a password that the hashing thread checks, and the connections that wait for the answer.

use std::sync::Arc;

use zeroize::Zeroizing;

use super::error::LoginError;
use super::peer::Peer;
use crate::access::credential_mac::CredentialMac;
use crate::access::identity::Identity;

/// How a login ended.
pub type LoginResult = Result<Arc<Identity>, LoginError>;

/// Called once with the end of a login, on the hashing thread: it must not block.
pub type LoginAnswer = Box<dyn FnOnce(LoginResult) + Send>;

/// A name and a password to be checked. The password is wiped when it is dropped.
pub(in crate::access) struct LoginJob {
    pub mac: CredentialMac,
    pub name: Box<[u8]>,
    pub password: Zeroizing<Box<[u8]>>,
    /// All connections that gave this name and password.
    pub waiting: Vec<Waiting>,
}

/// A connection that waits for its login.
pub(in crate::access) struct Waiting {
    pub peer: Peer,
    pub answer: LoginAnswer,
}
