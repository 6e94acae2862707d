//! Idle connections, each with a channel: what the broker has in memory for them beyond what it had without.
//!
//! The broker is a fresh one: memory that other cases left behind would take the connections in.

use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::amqp::{AmqpError, Link};
use super::server::{Running, ServerError, ServerKind};

/// Connections are opened by so many threads.
const OPENER_COUNT: u32 = 8;
/// A broker frees unneeded memory within this time.
const SETTLE_TIME: Duration = Duration::from_secs(3);

/// Memory of a broker for idle connections.
#[derive(Debug, Serialize)]
pub struct IdleRow {
    /// `hairstreak` or `RabbitMQ`.
    pub contender: &'static str,
    /// How many.
    pub connections: u32,
    /// Bytes in memory for all of them.
    pub memory_bytes: u64,
    /// The same for each.
    pub bytes_per_connection: f64,
    /// Connections, each with its channel, that were opened in a second.
    pub connects_per_s: f64,
    /// Whose it is.
    #[serde(skip)]
    pub kind: ServerKind,
}

/// Why there is no figure.
#[derive(Debug, thiserror::Error)]
pub enum IdleError {
    /// A connection could not be opened.
    #[error("a connection to {broker}: {error}")]
    Open {
        /// The broker.
        broker: &'static str,
        /// Why.
        error: AmqpError,
    },
    /// The broker's process is gone.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// A thread of this process gave up.
    #[error("a thread of this process panicked")]
    Thread,
}

impl IdleRow {
    /// The row of `connections` connections.
    pub fn new(kind: ServerKind, connections: u32, memory_bytes: u64, connects_per_s: f64) -> IdleRow {
        let bytes_per_connection = memory_bytes as f64 / f64::from(connections);
        IdleRow {
            contender: kind.text(),
            connections,
            memory_bytes,
            bytes_per_connection,
            connects_per_s,
            kind,
        }
    }
}

/// Opens `count` connections and looks at `server` meanwhile; `None` if its process is not known.
pub fn measure(server: &Running, count: u32) -> Result<Option<IdleRow>, IdleError> {
    let broker = server.kind.text();
    let failed = |error| IdleError::Open { broker, error };
    // The first connection makes the broker allocate memory that all connections share.
    let _first = Link::open(server.address).map_err(failed)?;
    thread::sleep(SETTLE_TIME);
    let Some(before) = server.usage()? else { return Ok(None) };
    let start = Instant::now();
    let links = thread::scope(|scope| {
        let shares = (0..OPENER_COUNT).map(|index| (count + index) / OPENER_COUNT);
        let open = |share| {
            move || (0..share).map(|_| Link::open_small(server.address)).collect::<Result<Vec<_>, _>>()
        };
        let openers: Vec<_> = shares.map(|share| scope.spawn(open(share))).collect();
        let links = openers.into_iter().map(|opener| match opener.join() {
            Ok(links) => links.map_err(failed),
            Err(_) => Err(IdleError::Thread),
        });
        links.collect::<Result<Vec<Vec<Link>>, IdleError>>()
    })?;
    let connects_per_s = f64::from(count) / start.elapsed().as_secs_f64();
    thread::sleep(SETTLE_TIME);
    let after = server.usage()?.unwrap_or_default();
    drop(links);
    let memory_bytes = after.resident_bytes.saturating_sub(before.resident_bytes);
    Ok(Some(IdleRow::new(server.kind, count, memory_bytes, connects_per_s)))
}
