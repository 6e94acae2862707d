//! Deterministic simulation for tests: one virtual clock, one queue of events, and the devices that use them. Beside it,
//! the few functions that tests of real parts share.
//!
//! A test builds a world of its own: protocol machines as nodes, an event type, and the checks that must hold. The
//! test kit provides the surroundings:
//!
//! | type | task |
//! |---|---|
//! | [`Simulator`] | virtual time, the queue of events, all randomness, the trace |
//! | [`Nodes`] | which nodes run, in which [`Life`], and which are paused |
//! | [`Network`] | links between nodes: delay, tearing, bounded buffers, cuts, silence |
//! | [`Wakeup`] | the next timeout of a machine that takes the time as an argument |
//! | [`Seeds`] | runs a world for many seeds, and prints the command that replays a failure |
//!
//! Tests of real threads, sockets and processes use:
//!
//! | item | task |
//! |---|---|
//! | [`until`], [`until_eq`], [`until_at_least`] | wait for a condition, with a bound |
//! | [`BoundedChild`], [`BoundedCommand`] | wait for processes, with a bound |
//! | [`rng`] | randomness whose seed is printed |
//! | [`without_capabilities`] | has root obey the permissions of files |
//! | [`Task`] | a thread that others see asleep |
//! | [`beside_a_sleeper`] | measures how late the machine wakes a sleeper |
//! | [`MeasuredAllocator`] | how much memory is in use |
//!
//! Invariants: a seed decides everything that happens in a simulation, so that a failure can be replayed. No type of a
//! simulation reads a real clock or starts a thread. Nothing here opens a socket. No crate of the workspace is known here, so
//! that each may use the test kit.
//!
//! A device keeps its own state and puts its events into the queue of the simulator that each call lends to the device.
//! The event type of the world holds the events of each device by a `From` implementation: [`NetworkEvent`] today. A
//! simulated disk (lost writes that were not synced, torn writes) belongs beside `network/`, with a `DiskEvent` of its own.
//!
//! A node asks another one until there is an answer, over a link that is cut once:
//!
//! ```
//! use std::time::Duration;
//!
//! use hairstreak_testkit::{Loss, Network, NetworkEvent, Packet, Path, Rng, Simulator, Trace};
//!
//! enum Event {
//!     Network(NetworkEvent),
//!     Connect,
//! }
//!
//! impl From<NetworkEvent> for Event {
//!     fn from(event: NetworkEvent) -> Event {
//!         Event::Network(event)
//!     }
//! }
//!
//! let mut sim = Simulator::new(Rng::with_seed(7), Duration::from_millis(1), Trace::Off);
//! let mut links: Network<char, (), Packet<&str>> = Network::new(Loss::All, 300);
//! let path = Path { delay_min: 1, delay_max: 40, capacity: 10, torn_chance: 0 };
//! sim.at(0, Event::Connect);
//! let answer = loop {
//!     match sim.next().expect("something happens") {
//!         Event::Connect => {
//!             let link = links.connect(['a', 'b'], (), [path; 2]);
//!             links.send(&mut sim, link, 0, "question").unwrap();
//!             if link == 0 {
//!                 links.cut(&mut sim, link);
//!             }
//!         }
//!         Event::Network(NetworkEvent::Over { link, end }) => {
//!             links.close(&mut sim, link, end);
//!             if end == 0 {
//!                 sim.within(500, Event::Connect);
//!             }
//!         }
//!         Event::Network(NetworkEvent::Arrive { link, end }) => match links.receive(&sim, link, end) {
//!             Some("question") => links.send(&mut sim, link, end, "answer").unwrap(),
//!             Some(answer) => break answer,
//!             None => {}
//!         },
//!     }
//! };
//! assert_eq!(answer, "answer");
//! ```

mod capabilities;
mod lateness;
mod memory_use;
mod network;
mod nodes;
mod process;
mod seeds;
mod simulator;
mod task;
mod trace;
mod until;
mod wakeup;

pub use fastrand::Rng;

pub use capabilities::without_capabilities;
pub use lateness::beside_a_sleeper;
pub use memory_use::MeasuredAllocator;
pub use network::{Full, Link, Loss, Network, NetworkEvent, Packet, Path, Payload};
pub use nodes::{Life, Nodes};
pub use process::{BoundedChild, BoundedCommand};
pub use seeds::{Seeds, assert_replays, rng};
pub use simulator::Simulator;
pub use task::Task;
pub use trace::Trace;
pub use until::{Look, PATIENCE, until, until_at_least, until_eq};
pub use wakeup::Wakeup;
