//! The metrics of exchanges and of virtual hosts as such.

use std::collections::HashMap;

use hairstreak_broker::vhost::VirtualHost;
use hairstreak_broker::view::{BindingInfo, ExchangeInfo};
use hairstreak_node::node::SharedHost;

use super::exposition::{Group, group, labels};
use super::selection::{Registry, Selection};
use super::table::{Block, Table};
use crate::http::visit;

/// The beginning of names that RabbitMQ has the same of on each node of a cluster.
const CLUSTER_PREFIX: &str = "rabbitmq_cluster_";

/// The figures of an exchange, or the sums of all.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExchangeFigures {
    publish: u64,
    binding_count: usize,
}

static PUBLISHED: Group<ExchangeFigures> = group!("exchange_metrics", |exchange| {
    Counter "exchange_messages_published_total" "Messages that clients published to the exchange" = exchange.publish as f64;
});

static NAMES: Group<ExchangeFigures> = group!("exchange_names", |_object| {
    Gauge "exchange_name" "The exchange is there" = 1.0;
});

static BINDINGS: Group<ExchangeFigures> = group!("exchange_bindings", |exchange| {
    Gauge "exchange_bindings" "Bindings from the exchange" = exchange.binding_count as f64;
});

static HOSTS: Group<()> = group!("vhost_status", |_object| {
    Gauge "vhost_status" "The virtual host works" = 1.0;
});

/// The tables of exchanges and virtual hosts.
pub(super) struct ExchangeTables {
    published: Table<ExchangeFigures>,
    known: Table<ExchangeFigures>,
    hosts: Table<()>,
    counts_bindings: bool,
}

impl ExchangeTables {
    pub(super) fn new(selection: &Selection) -> ExchangeTables {
        // The other groups are on the detailed page only.
        let is_detailed = selection.registry == Registry::Detailed;
        let known = if is_detailed { selection.pick([&NAMES, &BINDINGS]) } else { Vec::new() };
        let hosts = if is_detailed { selection.pick([&HOSTS]) } else { Vec::new() };
        ExchangeTables {
            published: Table::new(selection.registry.prefix(), selection.pick([&PUBLISHED])),
            counts_bindings: known.iter().any(|group| group.name == BINDINGS.name),
            known: Table::new(CLUSTER_PREFIX, known),
            hosts: Table::new(CLUSTER_PREFIX, hosts),
        }
    }

    /// Returns `true` if no metrics of exchanges are asked for.
    pub(super) fn are_empty(&self) -> bool {
        self.published.is_empty() && self.known.is_empty()
    }

    pub(super) async fn add(&mut self, host: &SharedHost) {
        let name = host.name().as_bytes();
        self.hosts.push(&labels(&[("vhost", name)]), &());
        if self.are_empty() {
            return;
        }
        let bindings = if self.counts_bindings { count_bindings(host).await } else { HashMap::new() };
        let mut push = |exchange: ExchangeInfo| {
            let binding_count = bindings.get(&exchange.name).copied().unwrap_or_default();
            let figures = ExchangeFigures { publish: exchange.stats.publish_in, binding_count };
            let own = labels(&[("vhost", name), ("exchange", &exchange.name)]);
            self.published.push(&own, &figures);
            // RabbitMQ does not name the default exchange here.
            if !exchange.name.is_empty() {
                let own = labels(&[("vhost", name), ("exchange", &exchange.name), ("type", &exchange.kind)]);
                self.known.push(&own, &figures);
            }
        };
        let list = |host: &VirtualHost, from, count, rows: &mut Vec<_>| {
            host.topology().exchange_infos(from, count, rows)
        };
        visit(host, list, |exchanges| exchanges.for_each(&mut push)).await;
    }

    pub(super) fn into_blocks(self) -> [Box<dyn Block>; 3] {
        [Box::new(self.published), Box::new(self.known), Box::new(self.hosts)]
    }
}

/// All messages that clients published, as a table.
pub(super) fn sum(publish: u64) -> Table<ExchangeFigures> {
    let sum = ExchangeFigures { publish, binding_count: 0 };
    Table::of_one(Registry::Aggregated.prefix(), [&PUBLISHED], &sum)
}

/// Returns the number of bindings of each exchange.
async fn count_bindings(host: &SharedHost) -> HashMap<Box<[u8]>, usize> {
    let mut counts = HashMap::new();
    let mut add = |binding: BindingInfo| *counts.entry(binding.source).or_default() += 1;
    let list =
        |host: &VirtualHost, from, count, rows: &mut Vec<_>| host.topology().binding_infos(from, count, rows);
    visit(host, list, |bindings| bindings.for_each(&mut add)).await;
    counts
}
