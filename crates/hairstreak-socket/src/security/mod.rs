//! Who may talk to a socket, and how: mechanisms, authentication, addresses.
//!
//! ```no_run
//! use hairstreak_socket::security::{AccessTable, Authenticator, Login, Mechanisms, Security, Server};
//! use hairstreak_socket::security::generate_key_pair;
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (server_keys, client_keys) = (generate_key_pair()?, generate_key_pair()?);
//! let server_key = *server_keys.public();
//! // A listener that takes CURVE clients it knows, and one user with a password.
//! let table = AccessTable::new().allow_key(*client_keys.public(), "billing").allow_login("ann", "secret");
//! let mechanisms = Mechanisms { plain: true, curve: Some(server_keys), ..Mechanisms::default() };
//! let pull = Security::Server(Server::new(mechanisms, Authenticator::Table(table)));
//! // And one client of each.
//! let push = Security::Curve { keys: client_keys, server_key };
//! let other = Login::new(b"ann", b"secret").map(Security::Plain);
//! # Ok(())
//! # }
//! ```
//!
//! Mechanisms hold for tcp and ipc; inproc has none, as in libzmq: both ends are one process.

mod access;
mod address_rules;
mod authenticator;
mod mechanism;

pub use access::AccessTable;
pub use address_rules::{AddressRules, AddressRulesError};
pub use authenticator::{Answer, Applicant, Authenticator};
pub use hairstreak_wire::zmtp::curve::{KeyError, KeyPair, PublicKey, SecretKey};
pub use hairstreak_wire::zmtp::role::Login;
pub use hairstreak_wire::zmtp::{Credentials, Verdict};
pub use mechanism::{Mechanisms, Security, Server, fill_random, generate_key_pair};
