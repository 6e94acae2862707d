//! `Run`: one combination of transport, binding side, options, and how far the receiver is behind.

use hairstreak_socket::Options;

use crate::endpoints::endpoint;
use crate::soak::amount;

/// Longer than a receiver may be stopped.
const LINGER_MS: u64 = 600_000;
/// Nobody connects again: the port may be another's by then.
const RECONNECT_MS: u64 = 600_000;
/// PINGs all the time, from sides that are in no hurry to have them answered.
const HEARTBEAT_MS: u64 = 10;
const HEARTBEAT_TIMEOUT_MS: u64 = 60_000;

/// How far the receiver is behind when the sender closes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Behind {
    /// It receives all the while, as fast as it can.
    Marks,
    /// It has not begun, and every buffer on the way is full.
    Buffers,
    /// It has not begun, and the sender keeps everything, without a mark.
    Everything,
}

#[derive(Clone, Debug)]
pub struct Run {
    /// What the sender binds or connects.
    pub place: String,
    pub sender_binds: bool,
    pub heartbeats: bool,
    pub shared_memory: bool,
    pub behind: Behind,
    /// Messages to be sent, if there is room.
    pub count: usize,
    pub seed: u64,
}

impl Run {
    /// The runs over `transport`: one of the schemes, or "ipc without shm".
    pub fn all(transport: &str) -> impl Iterator<Item = Run> {
        let scheme = transport.split(' ').next().unwrap();
        let shared_memory = scheme == transport;
        (0..amount(6, 100)).map(move |number| {
            let behind = [Behind::Everything, Behind::Marks, Behind::Buffers][number % 3];
            let long = if behind == Behind::Marks { 1_000_000 } else { 100_000 };
            Run {
                place: endpoint(scheme),
                sender_binds: number / 3 % 2 == 1,
                heartbeats: (number + number / 6) % 2 == 1,
                shared_memory,
                behind,
                count: amount(10_000, long),
                seed: number as u64,
            }
        })
    }

    pub fn options(&self) -> Options {
        let mut options = Options {
            linger_ms: LINGER_MS,
            reconnect_min_ms: RECONNECT_MS,
            reconnect_max_ms: RECONNECT_MS,
            shared_memory: self.shared_memory,
            ..Options::default()
        };
        if self.heartbeats {
            (options.heartbeat_ms, options.heartbeat_timeout_ms) = (HEARTBEAT_MS, HEARTBEAT_TIMEOUT_MS);
        }
        if self.behind == Behind::Everything {
            (options.send_count_max, options.send_bytes_max) = (usize::MAX, usize::MAX);
        }
        options
    }

    /// For a process that is to do it.
    pub fn to_words(&self) -> String {
        let Run { place, sender_binds, heartbeats, shared_memory, behind, count, seed } = self;
        format!("{place} {sender_binds} {heartbeats} {shared_memory} {behind:?} {count} {seed}")
    }

    pub fn from_words(words: &str) -> Run {
        let mut words = words.split(' ');
        let mut next = || words.next().unwrap();
        Run {
            place: next().to_owned(),
            sender_binds: next().parse().unwrap(),
            heartbeats: next().parse().unwrap(),
            shared_memory: next().parse().unwrap(),
            behind: match next() {
                "Marks" => Behind::Marks,
                "Buffers" => Behind::Buffers,
                _ => Behind::Everything,
            },
            count: next().parse().unwrap(),
            seed: next().parse().unwrap(),
        }
    }
}
