//! The request-reply pattern (ZeroMQ RFC 28): REQ and REP, which take turns, and their asynchronous
//! forms DEALER and ROUTER.

mod dealer;
mod heartbeats;
mod notices;
mod rep;
mod req;
mod router;

pub(crate) use dealer::RULES as DEALER_RULES;
pub use dealer::{Dealer, DealerPattern};
pub use heartbeats::PeerHeartbeats;
pub(crate) use notices::Notices;
pub(crate) use rep::RULES as REP_RULES;
pub(crate) use rep::Reply;
pub use rep::{Rep, RepPattern};
pub(crate) use req::RULES as REQ_RULES;
pub(crate) use req::Request;
pub use req::{Req, ReqPattern};
pub(crate) use router::Names;
pub(crate) use router::RULES as ROUTER_RULES;
pub use router::{Router, RouterPattern, user_of};
