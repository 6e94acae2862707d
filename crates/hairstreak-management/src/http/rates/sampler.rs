//! The sampler: reads the counters of everything every few seconds.
//!
//! A virtual host is read in slices. Between two slices its lock is free, and requests have their turn.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use std::vec::Drain;

use hairstreak_broker::stats::HostStats;
use hairstreak_broker::vhost::VirtualHost;
use hairstreak_broker::view::{ChannelInfo, ExchangeInfo, QueueInfo};
use hairstreak_node::node::{Node, SharedHost};
use hairstreak_node::process;

use super::counters::{Figure, Figures, MessageCounts};
use super::history::INTERVAL_MS;
use crate::http::state::{About, State, now_ms, visit};

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
    let mut totals = node_figures(&state.node, &state.about);
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
    let add_queues = |queues: Drain<'_, QueueInfo>| {
        let mut rates = state.rates.lock();
        let marks = &mut rates.inside_mut(host.name()).queues;
        queues.for_each(|queue| {
            ready += queue.ready;
            unacknowledged += queue.unacknowledged;
            let counts = MessageCounts::of_queue(&queue);
            marks.add(queue.name, counts.0);
        });
    };
    visit(host, VirtualHost::queue_infos, add_queues).await;
    let add_exchanges = |exchanges: Drain<'_, ExchangeInfo>| {
        let mut rates = state.rates.lock();
        let marks = &mut rates.inside_mut(host.name()).exchanges;
        exchanges.for_each(|row| marks.add(row.name, [row.stats.publish_in, row.stats.publish_out]));
    };
    visit(host, |host, from, count, rows| host.topology().exchange_infos(from, count, rows), add_exchanges)
        .await;
    let add_channels = |channels: Drain<'_, ChannelInfo>| {
        let mut rates = state.rates.lock();
        let marks = &mut rates.inside_mut(host.name()).channels;
        channels.for_each(|channel| marks.add(channel.id, MessageCounts::of_channel(&channel.stats).0));
    };
    visit(host, |host, from, count, rows| host.channels().infos(from, count, rows), add_channels).await;
    MessageCounts::of_host(&stats_of(host), ready, unacknowledged)
}

/// The figures of the node, without the figures of its virtual hosts.
pub(crate) fn node_figures(node: &Node, about: &About) -> Figures {
    let mut figures = Figures::default();
    let (opened, closed) = node.connections.churn();
    figures.add(Figure::ConnectionCreated, opened);
    figures.add(Figure::ConnectionClosed, closed);
    figures.add(Figure::MemUsed, process::memory_bytes());
    figures.add(Figure::FdUsed, process::descriptor_count());
    figures.add(Figure::SocketsUsed, opened.saturating_sub(closed));
    figures.add(Figure::ProcUsed, process::thread_count());
    figures.add(Figure::DiskFree, about.disk_free(node));
    figures
}

/// Adds the numbers of channels and queues that have come and gone.
pub(crate) fn add_churn(figures: &mut Figures, stats: &HostStats) {
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
    let mut figures = node_figures(&state.node, &state.about);
    for host in hosts {
        figures.add_messages(&host_messages(host));
        add_churn(&mut figures, &stats_of(host));
    }
    figures
}
