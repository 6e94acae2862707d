//! CURVE (RFC 26, RFC 25): both ends prove who they are, and all traffic is encrypted under keys that are
//! made for one connection and forgotten after it.
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
//! Capitals are public keys and small letters secret ones; C and S last, C' and S' are made anew.
//! Everything random comes from the `Entropy` that a handshake is given; the clock that ages the key
//! of the cookies is its owner's.
//!
//! Invariants: a nonce is used once under one key; a peer's nonces strictly increase; nothing of a box
//! is looked at before its tag was verified; secrets are wiped when they are dropped, and no `Debug`
//! shows one.

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
