//! The members of a sample.
//!
//! - `members`: a member of any scheme; our broker, client and workers
//! - `proxies`: client, proxy and worker in one process, ours and libzmq's
//! - `majordomo`: the rival's broker, client and workers on libzmq
//! - `entry`: the parts that all members share

mod entry;
mod majordomo;
mod members;
mod proxies;

pub use members::take_part;
pub(super) use members::{CAPACITY, PLAIN_CAPACITY};
pub(super) use proxies::YIELD_US;
