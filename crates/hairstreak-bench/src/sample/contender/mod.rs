//! The contenders, behind one contract: the same loops time all of them.
//!
//! - `contract`, `pair`: the traits of a contender, and an end of two ends
//! - `ours`, `libzmq`: the messaging systems
//! - `ring_limit`, `stream_limit`, `cipher_limit`: the limit programs
//!
//! The limit programs are no messaging systems: they do only the unavoidable work of a case, and show the distance of a
//! contender from the machine.

mod cipher_limit;
mod contract;
mod keys;
mod libzmq;
mod libzmq_api;
mod ours;
mod pair;
mod ring_limit;
mod ring_memory;
mod stream_limit;

pub use contract::{
    Contender, DealerPattern, Echoing, End, Opens, PubPattern, PullPattern, PushPattern, Receiving,
    RouterPattern, Sending, SubPattern, check_size, failed,
};
pub use libzmq::{Libzmq, RIVAL_NAME, setting};
pub use libzmq_api::{Context as LibzmqContext, Socket as LibzmqHandle, SocketType as LibzmqType};
pub use ours::Ours;
pub use pair::Pair;
pub use ring_limit::RingLimit;
pub use stream_limit::StreamLimit;
