//! The publish-subscribe pattern (ZeroMQ RFC 29): a PUB's message goes to every SUB that subscribed to
//! its beginning. XPUB and XSUB are the same with subscriptions as messages, for what stands between.
//!
//! A subscription is a message of one frame, upwards: 1 and the prefix; a cancellation 0 and the prefix.
//! To a peer that speaks ZMTP 3.1 it goes as a SUBSCRIBE or CANCEL command.

pub mod index;
mod publisher;
mod subscriber;

pub(crate) use publisher::{PUB_RULES, Publisher, XPUB_RULES, is_subscription};
pub use publisher::{Pub, PubPattern, Publishes, XPub, XPubPattern};
pub(crate) use subscriber::{SUB_RULES, Subscriber, XSUB_RULES};
pub use subscriber::{Sub, SubPattern, Subscribes, XSub, XSubPattern};
