//! `Rates`: the samples of everything that has rates.

use foldhash::HashMap;
use hairstreak_broker::vhost::ChannelId;

use super::counters::{Figures, MESSAGE_COUNTER_COUNT, MessageCounts};
use super::history::History;
use super::marks::{Marks, ROUND_COUNT_MAX, Row};

/// The number of counters of a virtual host: the counters of messages, and the bytes that its connections received and
/// sent.
pub(crate) const HOST_COUNTER_COUNT: usize = MESSAGE_COUNTER_COUNT + 2;

/// The most bytes of the changes of all objects. They may have a few more until the next sampling.
const CHANGES_BYTES_MAX: usize = 64 << 20;

/// The samples.
pub(crate) struct Rates {
    totals: History,
    hosts: Marks<Box<str>, HOST_COUNTER_COUNT>,
    connections: Marks<Box<str>, 2>,
    inside: HashMap<Box<str>, HostRates>,
    begin_ms: u64,
    /// The samplings whose changes objects keep.
    kept: u32,
    /// Bytes of the changes that the sampling in progress has met.
    changes_bytes: usize,
}

/// The samples of the objects of one virtual host.
pub(super) struct HostRates {
    pub(super) queues: Marks<Box<[u8]>, MESSAGE_COUNTER_COUNT>,
    pub(super) exchanges: Marks<Box<[u8]>, 2>,
    pub(super) channels: Marks<ChannelId, MESSAGE_COUNTER_COUNT>,
}

impl Rates {
    pub(crate) fn new(begin_ms: u64) -> Rates {
        Rates {
            totals: History::new(begin_ms),
            hosts: Marks::new(begin_ms),
            connections: Marks::new(begin_ms),
            inside: HashMap::default(),
            begin_ms,
            kept: ROUND_COUNT_MAX,
            changes_bytes: 0,
        }
    }

    /// The figures of the whole node over time.
    pub(crate) fn totals(&self) -> &History {
        &self.totals
    }

    pub(crate) fn host(&self, name: &str) -> Row<HOST_COUNTER_COUNT> {
        self.hosts.row(name)
    }

    pub(crate) fn connection(&self, name: &str) -> Row<2> {
        self.connections.row(name)
    }

    pub(crate) fn queue(&self, host: &str, name: &[u8]) -> Row<MESSAGE_COUNTER_COUNT> {
        self.inside.get(host).map_or_else(Row::default, |host| host.queues.row(name))
    }

    pub(crate) fn exchange(&self, host: &str, name: &[u8]) -> Row<2> {
        self.inside.get(host).map_or_else(Row::default, |host| host.exchanges.row(name))
    }

    pub(crate) fn channel(&self, host: &str, channel: ChannelId) -> Row<MESSAGE_COUNTER_COUNT> {
        self.inside.get(host).map_or_else(Row::default, |host| host.channels.row(&channel))
    }

    /// Begins a sampling of everything.
    pub(super) fn begin(&mut self, at_ms: u64) {
        self.kept = kept(self.kept, self.changes_bytes);
        self.changes_bytes = 0;
        self.hosts.begin(at_ms, self.kept);
        self.connections.begin(at_ms, self.kept);
    }

    /// Begins the sampling of the objects of a virtual host.
    pub(super) fn begin_host(&mut self, name: &str, at_ms: u64) {
        let kept = self.kept;
        let host = self.inside_mut(name);
        host.queues.begin(at_ms, kept);
        host.exchanges.begin(at_ms, kept);
        host.channels.begin(at_ms, kept);
    }

    pub(super) fn inside_mut(&mut self, name: &str) -> &mut HostRates {
        let begin_ms = self.begin_ms;
        self.inside.entry(name.into()).or_insert_with(|| HostRates {
            queues: Marks::new(begin_ms),
            exchanges: Marks::new(begin_ms),
            channels: Marks::new(begin_ms),
        })
    }

    pub(super) fn add_connection(&mut self, name: &str, bytes: [u64; 2]) {
        self.connections.add(name.into(), bytes);
    }

    /// Ends the sampling of a virtual host, with its totals.
    pub(super) fn end_host(&mut self, name: &str, counts: &MessageCounts, bytes: [u64; 2]) {
        let host = self.inside_mut(name);
        let bytes_of_objects = host.queues.end() + host.exchanges.end() + host.channels.end();
        self.changes_bytes += bytes_of_objects;
        let mut values = [0; HOST_COUNTER_COUNT];
        values[..MESSAGE_COUNTER_COUNT].copy_from_slice(&counts.0);
        values[MESSAGE_COUNTER_COUNT..].copy_from_slice(&bytes);
        self.hosts.add(name.into(), values);
    }

    /// Ends the sampling. Hosts that `is_there` does not know are gone.
    pub(super) fn end(&mut self, at_ms: u64, totals: &Figures, is_there: impl Fn(&str) -> bool) {
        self.changes_bytes += self.hosts.end() + self.connections.end();
        self.inside.retain(|name, _| is_there(name));
        self.totals.add(at_ms, &totals.0);
    }
}

/// The samplings whose changes objects keep next, if these take `bytes` bytes: all, or as many as fit.
fn kept(before: u32, bytes: usize) -> u32 {
    if bytes <= CHANGES_BYTES_MAX {
        return (before + 1).min(ROUND_COUNT_MAX);
    }
    let share = CHANGES_BYTES_MAX as f64 / bytes as f64;
    ((f64::from(before) * share) as u32).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn histories_become_as_short_as_they_have_to_be() {
        assert_eq!(kept(ROUND_COUNT_MAX, 0), ROUND_COUNT_MAX);
        assert_eq!(kept(ROUND_COUNT_MAX, CHANGES_BYTES_MAX), ROUND_COUNT_MAX);
        assert_eq!(kept(ROUND_COUNT_MAX, 4 * CHANGES_BYTES_MAX), ROUND_COUNT_MAX / 4);
        assert_eq!(kept(30, CHANGES_BYTES_MAX / 2), 31);
        assert_eq!(kept(1, usize::MAX), 1);
    }
}
