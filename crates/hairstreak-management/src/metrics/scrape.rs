//! `scrape`: makes a page of the figures of the node.
//!
//! Virtual hosts are read in slices, so that no lock is held for long. The samples of several objects are therefore of different moments.

use std::sync::Arc;
use std::time::Instant;

use hairstreak_node::node::{Node, Totals};

use super::channels::{self, ChannelFigures};
use super::connections;
use super::exchanges::{self, ExchangeTables};
use super::globals::{self, Publishing};
use super::node::{self, NodeFigures};
use super::queues::{QueueFigures, QueueTables};
use super::selection::{Registry, Selection};
use super::table::{Block, Page};
use crate::http::{About, Bounds, ConnectionIndex, Objects};

/// The state of the endpoint.
pub(super) struct State {
    pub(super) node: Arc<Node>,
    pub(super) about: About,
    pub(super) started: Instant,
}

impl State {
    fn figures(&self, totals: &Totals) -> NodeFigures {
        NodeFigures::now(&self.node, &self.about, self.started.elapsed(), totals)
    }
}

/// The blocks of a page.
type Blocks = Vec<Box<dyn Block>>;

/// The page of a selection. Waits until there is room for its rows.
pub(super) async fn scrape(state: &State, selection: &Selection, bounds: &Bounds) -> Page {
    let objects = count_objects(state);
    let row_count = match selection.registry {
        Registry::Aggregated | Registry::MemoryBreakdown => 1,
        Registry::PerObject | Registry::Detailed => {
            objects.queues + objects.channels + objects.connections + objects.exchanges
        }
    };
    let share = bounds.reserve_rows(row_count).await;
    let mut blocks = match selection.registry {
        Registry::MemoryBreakdown => vec![Box::new(node::memory(&state.node)) as Box<dyn Block>],
        Registry::Detailed => detailed(state, selection).await,
        Registry::Aggregated | Registry::PerObject => everything(state, selection, &objects).await,
    };
    blocks.extend(node::identity(&state.node, &state.about, selection.registry));
    Page::new(blocks, share)
}

async fn detailed(state: &State, selection: &Selection) -> Blocks {
    let mut blocks = node_blocks(state, selection, &state.figures(&state.node.hosts.totals()));
    blocks.extend(per_object(state, selection).await);
    blocks
}

async fn everything(state: &State, selection: &Selection, objects: &Objects) -> Blocks {
    let totals = state.node.hosts.totals();
    let figures = state.figures(&totals);
    let mut blocks = node_blocks(state, selection, &figures);
    blocks.push(Box::new(figures.alarms(selection)));
    blocks.push(node::objects(objects, selection));
    blocks.extend(globals::blocks(Publishing {
        totals,
        publisher_count: state.node.publishers.count(),
        consumer_count: objects.consumers as u64,
    }));
    blocks.extend(match selection.registry {
        Registry::Aggregated => sums(state, &totals).await,
        _ => per_object(state, selection).await,
    });
    blocks
}

/// The metrics of the node that are asked for by group.
fn node_blocks(state: &State, selection: &Selection, figures: &NodeFigures) -> Blocks {
    vec![Box::new(figures.table(selection)), Box::new(node::logins(&state.node, selection))]
}

/// A series for each object.
async fn per_object(state: &State, selection: &Selection) -> Blocks {
    let all = state.node.connections.all();
    let index = ConnectionIndex::new(&state.node);
    let mut queues = QueueTables::new(selection);
    let mut exchanges = ExchangeTables::new(selection);
    let mut channels = channels::table(selection);
    for host in state.node.hosts.all().iter().filter(|host| selection.has_virtual_host(host.name())) {
        if !queues.are_empty() {
            queues.add(host, selection).await;
        }
        if !channels.is_empty() {
            channels::add(&mut channels, host, &index).await;
        }
        exchanges.add(host).await;
    }
    let mut blocks: Blocks = vec![Box::new(channels), Box::new(connections::table(&all, selection))];
    blocks.extend(queues.into_blocks());
    blocks.extend(exchanges.into_blocks());
    blocks
}

/// The sums over all objects.
async fn sums(state: &State, totals: &Totals) -> Blocks {
    let all = state.node.connections.all();
    let (mut queues, mut channels) = (QueueFigures::default(), ChannelFigures::default());
    for host in state.node.hosts.all() {
        queues.add(&host).await;
        channels.add(&host).await;
    }
    vec![
        Box::new(channels.table(&totals.stats)),
        Box::new(connections::sums(&state.node, &all)),
        Box::new(queues.table(&totals.stats)),
        Box::new(exchanges::sum(totals.stats.publish)),
    ]
}

fn count_objects(state: &State) -> Objects {
    let (opened, closed) = state.node.connections.churn();
    Objects { connections: opened.saturating_sub(closed) as usize, ..Objects::count(&state.node.hosts.all()) }
}
