//! The sampler: reads the counters of everything every few seconds.
//!
//! A virtual host is read in slices. Between two slices its lock is free, and requests have their turn.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use hairstreak_broker::stats::HostStats;
use hairstreak_broker::vhost::VirtualHost;
use hairstreak_broker::view::{ChannelInfo, ExchangeInfo, QueueInfo};
use hairstreak_node::node::SharedHost;
use hairstreak_node::process;
use parking_lot::MutexGuard;

use super::figures::{Figure, Figures};
use super::history::INTERVAL_MS;
use super::message_counts::MessageCounts;
use super::rates::HostRates;
use crate::http::state::{State, now_ms};

/// Rows that are read while a host's lock is held.
const SLICE_COUNT: usize = 256;

/// Takes samples until the server stops.
pub(crate) async fn sample_forever(state: &State) {
    loop {
        let now = now_ms();
        tokio::time::sleep(Duration::from_millis(INTERVAL_MS - now % INTERVAL_MS)).await;
        let now = now_ms();
        sample(state, now - now % 1000).await;
    }
}

/// Takes one sample of everything. `at_ms` is later than the last time.
pub(crate) async fn sample(state: &State, at_ms: u64) {
    state.rates.lock().begin(at_ms);
    let bytes = sample_connections(state);
    let hosts = state.node.hosts.all();
    let mut totals = node_figures(state);
    for host in &hosts {
        let bytes = bytes.get(host.name()).copied().unwrap_or_default();
        let counts = sample_host(state, host, at_ms).await;
        totals.add_messages(&counts);
        state.rates.lock().end_host(host.name(), &counts, bytes);
    }
    hosts.iter().for_each(|host| add_churn(&mut totals, &stats_of(host)));
    state.rates.lock().end(at_ms, &totals, |name| hosts.iter().any(|host| host.name() == name));
}

/// Samples the connections, and sums their bytes for each virtual host.
fn sample_connections(state: &State) -> BTreeMap<Box<str>, [u64; 2]> {
    let mut sums: BTreeMap<Box<str>, [u64; 2]> = BTreeMap::new();
    let mut rates = state.rates.lock();
    for connection in state.node.connections.all() {
        let figures = &connection.figures;
        let bytes = [figures.read_bytes.load(Relaxed), figures.written_bytes.load(Relaxed)];
        rates.add_connection(&connection.name, bytes);
        let sum = sums.entry(connection.virtual_host.clone()).or_default();
        *sum = [sum[0] + bytes[0], sum[1] + bytes[1]];
    }
    sums
}

async fn sample_host(state: &State, host: &SharedHost, at_ms: u64) -> MessageCounts {
    state.rates.lock().begin_host(host.name(), at_ms);
    let (mut ready, mut unacknowledged) = (0, 0);
    let list_queues =
        |host: &VirtualHost, from, rows: &mut Vec<QueueInfo>| host.queue_infos(from, SLICE_COUNT, rows);
    let add_queue = |marks: &mut HostRates, queue: QueueInfo| {
        ready += queue.ready;
        unacknowledged += queue.unacknowledged;
        let counts = MessageCounts::of_queue(&queue);
        marks.queues.add(queue.name, counts.0);
    };
    sample_table(state, host, list_queues, add_queue).await;
    let list_exchanges = |host: &VirtualHost, from, rows: &mut Vec<ExchangeInfo>| {
        host.topology().exchange_infos(from, SLICE_COUNT, rows)
    };
    let add_exchange = |marks: &mut HostRates, exchange: ExchangeInfo| {
        marks.exchanges.add(exchange.name, [exchange.stats.publish_in, exchange.stats.publish_out]);
    };
    sample_table(state, host, list_exchanges, add_exchange).await;
    let list_channels = |host: &VirtualHost, from, rows: &mut Vec<ChannelInfo>| {
        host.channels().infos(from, SLICE_COUNT, rows)
    };
    let add_channel = |marks: &mut HostRates, channel: ChannelInfo| {
        marks.channels.add(channel.id, MessageCounts::of_channel(&channel.stats).0);
    };
    sample_table(state, host, list_channels, add_channel).await;
    MessageCounts::of_host(&stats_of(host), ready, unacknowledged)
}

/// Samples the rows of a table. `list` appends some rows from a cursor on, and returns the next cursor.
async fn sample_table<T>(
    state: &State,
    host: &SharedHost,
    list: impl Fn(&VirtualHost, usize, &mut Vec<T>) -> Option<usize>,
    mut add: impl FnMut(&mut HostRates, T),
) {
    let mut cursor = Some(0);
    while let Some(from) = cursor {
        let mut rows = Vec::new();
        cursor = {
            let locked = host.lock();
            let next = list(&locked.host, from, &mut rows);
            // A connection that waits for the lock has it next.
            MutexGuard::unlock_fair(locked);
            next
        };
        {
            let mut rates = state.rates.lock();
            let marks = rates.inside_mut(host.name());
            rows.into_iter().for_each(|row| add(marks, row));
        }
        tokio::task::yield_now().await;
    }
}

/// The figures of the node but those of its virtual hosts.
fn node_figures(state: &State) -> Figures {
    let mut figures = Figures::default();
    let (opened, closed) = state.node.connections.churn();
    figures.set(Figure::ConnectionCreated, opened);
    figures.set(Figure::ConnectionClosed, closed);
    figures.set(Figure::MemUsed, process::memory_bytes());
    figures.set(Figure::FdUsed, process::descriptor_count());
    figures.set(Figure::SocketsUsed, opened.saturating_sub(closed));
    figures.set(Figure::ProcUsed, process::thread_count());
    figures.set(Figure::DiskFree, state.about.disk_free());
    figures
}

fn add_churn(figures: &mut Figures, stats: &HostStats) {
    figures.add(Figure::ChannelCreated, stats.channels_opened);
    figures.add(Figure::ChannelClosed, stats.channels_closed);
    figures.add(Figure::QueueDeclared, stats.queues_declared);
    figures.add(Figure::QueueCreated, stats.queues_created);
    figures.add(Figure::QueueDeleted, stats.queues_deleted);
}

fn stats_of(host: &SharedHost) -> HostStats {
    host.lock().host.stats()
}

/// The counters of messages of a virtual host now.
pub(crate) fn host_messages(host: &SharedHost) -> MessageCounts {
    let counts = host.lock().host.message_counts();
    MessageCounts::of_host(&stats_of(host), counts.ready, counts.unacknowledged)
}

/// The figures of the node and of these virtual hosts now.
pub(crate) fn host_figures<'a>(state: &State, hosts: impl Iterator<Item = &'a SharedHost>) -> Figures {
    let mut figures = node_figures(state);
    for host in hosts {
        figures.add_messages(&host_messages(host));
        add_churn(&mut figures, &stats_of(host));
    }
    figures
}
