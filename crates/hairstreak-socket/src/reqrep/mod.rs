//! The request-reply pattern's asynchronous ends (ZeroMQ RFC 28): DEALER and ROUTER.

mod dealer;
mod router;

pub use dealer::{Dealer, DealerPattern};
pub use router::{Router, RouterPattern};
