//! The engine: one epoll, and all sockets, connections, listeners and timers of one component,
//! under one lock that costs its usual thread no atomic operation.
//!
//! **Who drives it.** A thread that has to wait in a call becomes the *leader*: it flushes what has
//! gathered, releases the lock, sleeps in the poller, takes the lock, and handles every event of
//! the engine, whichever socket it is for. Other threads that have to wait meanwhile are
//! *followers*: they sleep apart until their socket has news or the leader leaves. With nobody
//! inside, the background thread watches the engine (background.rs).
//!
//! ```text
//!            a caller blocks                        5 ms tick, nobody was here
//!   watched -----------------> led by callers ------------------------------> watched
//! ```
//!
//! The lock is never held while sleeping, nor while the application's code (a waker) runs.
//!
//! - `state`: the tables, and what a socket is
//! - `link`: what a connection is
//! - `wait`: leading, following, leaving
//! - `work`: what is done between two turns
//! - `memory`: the pool, and the links that keep memory of the pool while they are busy
//! - `waiters`: tasks and pollers that wait for a socket
//! - `authenticating`: the application's verdicts on who wants to be let in
//! - `rings`: looking at what has no event
//! - `spinning`: looking for a while before sleeping, where that is wanted
//! - `yielding`: leaving the processor to others before sleeping, where that is wanted
//! - `events`: what the poller reports; handshakes; links coming and going
//! - `telling`: what monitors are told
//! - `wiring`: bind, connect, reconnect, close
//! - `routing`: which link a message goes to, and which it is taken from; marks and lists
//! - `settling`: what is kept until it is settled, and when that is told
//! - `held`: what waits before a link of a socket that drops the oldest
//! - `unread`: links that had used up their turn, or whose application stopped receiving
//! - `timers`, `due`: one queue of timers; heartbeats, time-outs, reconnects
//! - `ticks`, `ticking`: the timerfd, in place of callers that are busy elsewhere

mod authenticating;
mod due;
mod events;
mod held;
mod link;
mod memory;
mod rings;
mod routing;
mod settling;
mod spinning;
mod state;
mod telling;
mod ticking;
mod ticks;
mod timers;
mod unread;
mod wait;
mod waiters;
mod wiring;
mod work;
mod yielding;

pub(crate) use link::{Across, Link, LinkKind, Origin};
pub(crate) use routing::{Received, Sent, SetAside, ShortIn, ShortOut, UNEXPECTED_MAX};
pub(crate) use state::{ConnectorState, SocketState, State, Unread};
pub(crate) use timers::Due;
pub(crate) use wait::{Engine, Guard, contain};
pub(crate) use waiters::{Wait, Wish};
pub(crate) use yielding::Sleep;
