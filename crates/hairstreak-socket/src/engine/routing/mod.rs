//! Which link a message goes to, and which it is taken from: what several patterns have in common.
//! What is peculiar to one stands in its own file (`Rules`, pattern.rs).
//!
//! - `sending`: in turn over the links with room, or a copy to each of several
//! - `receiving`: fair queueing, one message from each link that has any, in turn
//! - `readiness`: whether a socket could receive or send at once
//! - `subscriptions`: from a subscriber to its publishers, and into their index
//! - `room`: marks, writing what has gathered, and who is listed for what

mod readiness;
mod receiving;
mod room;
mod sending;
mod subscriptions;

pub(crate) use readiness::SetAside;
pub(crate) use receiving::{Received, ShortIn, UNEXPECTED_MAX};
pub(super) use room::remove_turn;
pub(super) use sending::SHORT_SIZE_MAX;
pub(crate) use sending::{Sent, ShortOut};
