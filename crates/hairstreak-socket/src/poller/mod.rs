//! `Poller`: waits for many sockets, file descriptors and times at once, as `zmq_poll` does.
//!
//! ```
//! use hairstreak_socket::{Context, Interest, Poller, Pull, Push};
//! use std::time::Duration;
//!
//! const WORK: usize = 0;
//! const ORDERS: usize = 1;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let context = Context::new();
//! let (work, orders) = (Pull::new(&context)?, Pull::new(&context)?);
//! let (place, _) = (work.bind("tcp://127.0.0.1:*")?, orders.bind("tcp://127.0.0.1:*")?);
//!
//! let mut poller = Poller::new()?;
//! poller.add(&work, WORK, Interest::READABLE)?;
//! poller.add(&orders, ORDERS, Interest::READABLE)?;
//!
//! let push = Push::new(&Context::new())?;
//! push.connect(&place.to_string())?;
//! push.send("dig")?;
//!
//! let mut ready = Vec::new();
//! poller.wait_timeout(&mut ready, Duration::from_secs(60))?;
//! for found in &ready {
//!     match found.key {
//!         WORK if found.readable => assert_eq!(work.try_recv()?.body(), b"dig"),
//!         _ => println!("{found:?}"),
//!     }
//! }
//! # assert_eq!(ready.len(), 1);
//! # Ok(())
//! # }
//! ```
//!
//! **Level-triggered**: what is ready is reported by every wait until it is not any more. A socket is readable when
//! a receive returns at once with a message (not merely bytes), and writable when a send returns at once: because
//! there is room, or because the socket drops what has none. Another thread that uses the socket may be faster, so
//! `try_recv` and `try_send` are what goes with it.
//!
//! **How it waits.** A blocking wait drives the engines of its sockets itself, as a receive does: a message that
//! comes wakes this thread and no other. An engine that another thread drives meanwhile is left to it, and it wakes
//! this one. The async form leaves all to the background thread, as all async calls do, and needs no particular
//! executor; descriptors and times are watched by that thread too.
//!
//! - `table`: what is registered
//! - `looking`: what is ready now
//! - `blocking`: sleeping while driving the engines
//! - `task`: the async form
//! - `alarm`: how a poller that sleeps is woken

mod alarm;
mod blocking;
mod looking;
mod ready;
mod table;
mod task;

pub use ready::{Interest, Ready};
pub use table::Poller;
