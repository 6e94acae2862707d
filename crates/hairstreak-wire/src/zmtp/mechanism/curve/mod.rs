//! CURVE (RFC 26, RFC 25): both ends prove their identity, and all traffic is encrypted under keys that are created
//! for one connection and forgotten after it.
//!
//! ```text
//! client                                                              server
//!   HELLO     C', Box[zeros](C'->S)                              ---->
//!   <----     WELCOME   Box[S', cookie = Box[C', s'](cookie key)](S->C')
//!                                             the server forgets C' and s'
//!   INITIATE  cookie, Box[C, Box[C', S](C->S'), metadata](C'->S') ---->
//!                                             are C's credentials good?
//!   <----     READY     Box[metadata](S'->C')
//!   MESSAGE   Box[flags, payload](C'->S')                         <--->
//! ```
//!
//! Capitals are public keys and small letters secret ones. C and S are permanent; C' and S' are created for each
//! connection. All random bytes come from the `Entropy` that a handshake is given; the owner has the clock that ages
//! the key of the cookies.
//!
//! Invariants: a nonce is used once under one key; a peer's nonces strictly increase; a box is not inspected before
//! its tag is verified; secrets are wiped when they are dropped, and no `Debug` shows one.

mod client;
mod cookie;
mod key;
mod keystream;
mod lanes;
mod sealed;
mod server;
mod traffic;
mod z85;

pub(in crate::zmtp) use client::CurveClient;
pub(in crate::zmtp) use cookie::CookieKeys;
pub use key::{KEY_SIZE, KeyError, KeyPair, PublicKey, SecretKey, Z85_KEY_SIZE};
pub(in crate::zmtp) use server::CurveServer;
pub use traffic::{CurveCipher, MESSAGE_OVERHEAD, MessageError, MessageFlags};
