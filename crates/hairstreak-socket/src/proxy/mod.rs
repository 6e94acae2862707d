//! `Proxy`: passes messages between two sockets, both ways as far as their patterns go, as `zmq_proxy_steerable`
//! does: XSUB and XPUB (forwarder), PULL and PUSH (streamer), ROUTER and DEALER (queue), or any others that fit.
//!
//! ```
//! use hairstreak_socket::{Context, Proxy, Pull, Push};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let context = Context::new();
//! // Both ends, opened in one thread, share an engine.
//! let (frontend, backend) = (Pull::new(&context)?, Push::new(&context)?);
//! let entrance = frontend.bind("tcp://127.0.0.1:*")?;
//! let exit = backend.bind("tcp://127.0.0.1:*")?;
//! let mut proxy = Proxy::new(&frontend, &backend)?;
//! let control = proxy.control();
//! let running = std::thread::spawn(move || proxy.run());
//!
//! let (push, pull) = (Push::new(&context)?, Pull::new(&context)?);
//! push.connect(&entrance.to_string())?;
//! pull.connect(&exit.to_string())?;
//! push.send("over the bridge")?;
//! assert_eq!(pull.recv()?.body(), b"over the bridge");
//!
//! control.terminate();
//! let statistics = running.join().unwrap()?;
//! assert_eq!((statistics.frontend.received, statistics.backend.sent), (1, 1));
//! # Ok(())
//! # }
//! ```
//!
//! **What it promises.** Messages go on as they came, envelopes and all, and long bodies are shared, not copied. It
//! takes a message of one end only when the other has room for it, and so has the capture: what cannot go on waits
//! where it is, within the marks of the sockets, and its senders wait in turn. Nothing is lost on the way, unless the
//! socket that it goes to drops what has no room (PUB, XPUB, and a ROUTER that is not mandatory, unless told
//! otherwise); that socket counts it. Each way has its turn, for a burst. A message for a peer of a ROUTER or STREAM that
//! waits for room holds up those behind it, whoever they are for.
//!
//! **In a task** it runs by [`Proxy::run_async`], of any executor, cancel safe.
//!
//! **Steering.** By a [`ProxyControl`] from any thread, or by a socket that receives the words of libzmq: `PAUSE`,
//! `RESUME`, `TERMINATE` and `STATISTICS`. A socket that can reply does so to each: with the eight numbers of libzmq
//! to `STATISTICS`, with an empty frame to the others, and to what is no such word with a frame that says so. The
//! numbers count whole messages, where libzmq counts frames.
//!
//! - `port`: one of its sockets, whatever its pattern
//! - `way`: moving messages one way
//! - `statistics`: what is counted
//! - `control`: steering from other threads
//! - `words`: steering by messages
//! - `running`: the loop

mod control;
mod port;
mod running;
mod statistics;
mod way;
mod words;

pub use control::ProxyControl;
pub use port::{ProxyEnd, ProxySocket};
pub use running::Proxy;
pub use statistics::{ProxyStats, ProxyTraffic};
