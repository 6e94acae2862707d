//! `Session`: a client in its virtual host, from connection.open to the end.
//!
//! The methods of the session are in `frames` (bytes to frames), `methods` (one place for each method), `publishing` and
//! `closing`. The methods of a single channel are in `consuming` and `declaring`.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use foldhash::fast::RandomState;
use hairstreak_transport::Connection;
use hairstreak_transport::event_loop::Address;

use super::alarm_quota::AlarmQuota;
use super::channel::Channel;
use super::parked::Parked;
use super::product::Tuned;
use super::reading::Reading;
use super::throttle::Throttle;
use super::transaction::Committing;
use crate::node::{Figures, Node};

/// A client in its virtual host.
pub(super) struct Session {
    pub node: Arc<Node>,
    pub tuned: Tuned,
    /// The client asked for notices when it has to wait (connection.blocked).
    pub hears_blocked: bool,
    pub channels: HashMap<u16, Box<Channel>, RandomState>,
    /// Channels that were closed with an error and whose close the client has not confirmed. All other frames on them are
    /// dropped.
    pub closing_channels: Vec<u16>,
    /// The channel that published last.
    pub publishing: Option<u16>,
    /// The received part of a long frame or of a body.
    pub reading: Reading,
    pub throttle: Throttle,
    /// The bodies that go on while the memory alarm is raised.
    pub alarm_quota: AlarmQuota,
    /// Frames that wait for the end of the memory alarm.
    pub parked: Parked,
    /// The transaction that is being committed.
    pub committing: Option<Committing>,
    pub outcome: Outcome,
}

/// State of the session after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Running,
    /// The node has sent connection.close.
    Closed,
    /// The node has sent connection.close, and cannot read later frames.
    Lost,
    /// The client has sent connection.close, and was answered.
    Left,
}

impl Session {
    pub fn new(node: Arc<Node>, address: Address, tuned: Tuned, hears_blocked: bool) -> Session {
        Session {
            alarm_quota: AlarmQuota::new(Arc::clone(&node.account), address),
            parked: Parked::new(Arc::clone(&node.account)),
            node,
            tuned,
            hears_blocked,
            channels: HashMap::default(),
            closing_channels: Vec::new(),
            publishing: None,
            reading: Reading::default(),
            throttle: Throttle::default(),
            committing: None,
            outcome: Outcome::Running,
        }
    }

    /// Reports the state of the connection to operators.
    pub fn report(&self, figures: &Figures, connection: &Connection) {
        figures.read_bytes.store(connection.read_bytes(), Relaxed);
        figures.written_bytes.store(connection.output.written_bytes(), Relaxed);
        figures.unwritten_bytes.store(connection.output.queued_bytes() as u64, Relaxed);
        figures.channel_count.store(self.channels.len() as u32, Relaxed);
        figures.is_blocked.store(self.throttle.is_blocked(), Relaxed);
    }
}
