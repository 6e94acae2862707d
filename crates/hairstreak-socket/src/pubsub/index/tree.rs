//! The tree itself.
//!
//! Invariants: every node but the root has a subscriber or at least two children; a node keeps its
//! number as long as it has a subscriber; `Entry::place` of a subscriber's node is that node's place in
//! the subscriber's list.

use slab::Slab;
use thiserror::Error;

use super::entries::Entry;
use super::node::{Label, Node};

const ROOT: u32 = 0;

/// What one subscriber may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Different prefixes.
    pub count_max: usize,
    /// Bytes of one prefix.
    pub size_max: usize,
    /// Bytes of all its prefixes.
    pub bytes_max: usize,
}

/// Why a subscription was refused.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum SubscriptionError {
    /// Too many prefixes.
    #[error("more than {0} subscriptions (subscription_count_max)")]
    TooMany(usize),
    /// Too long a prefix.
    #[error("a subscription to more than {0} bytes (subscription_size_max)")]
    TooLong(usize),
    /// Too long in all.
    #[error("subscriptions of more than {0} bytes together (subscription_bytes_max)")]
    TooLarge(usize),
}

/// What came of a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// Nobody had this prefix before.
    First,
    /// Others had it.
    Another,
    /// The subscriber had it: it is counted.
    Again,
}

/// What came of a cancellation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removed {
    /// Nobody has the prefix any more.
    Last,
    /// Others still have it.
    OneOfSeveral,
    /// The subscriber still has it, having subscribed more often than it has cancelled.
    Counted,
    /// The subscriber did not have it.
    Absent,
}

/// Who subscribed to which prefixes. Subscribers are numbers, preferably small ones.
pub struct Index {
    nodes: Slab<Node>,
    subscribers: Vec<Subscriber>,
    /// How many subscribers have at least one prefix.
    subscriber_count: usize,
    /// The number of the last look-up.
    round: u64,
}

#[derive(Default)]
struct Subscriber {
    /// The nodes of its prefixes.
    nodes: Vec<u32>,
    /// Bytes of its prefixes.
    bytes: usize,
    /// The look-up that found it last.
    found_in: u64,
}

impl Default for Index {
    fn default() -> Index {
        Index::new()
    }
}

impl std::fmt::Debug for Index {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Index({} nodes, {} subscribers)", self.nodes.len(), self.subscriber_count)
    }
}

impl Index {
    /// An index of nothing.
    pub fn new() -> Index {
        let mut nodes = Slab::new();
        nodes.insert(Node::new(&[], ROOT));
        Index { nodes, subscribers: Vec::new(), subscriber_count: 0, round: 0 }
    }

    /// How many subscribers have at least one prefix.
    pub fn subscriber_count(&self) -> usize {
        self.subscriber_count
    }

    /// How many different prefixes a subscriber has.
    pub fn prefix_count(&self, subscriber: usize) -> usize {
        self.subscribers.get(subscriber).map_or(0, |subscriber| subscriber.nodes.len())
    }

    /// The bytes of all prefixes of a subscriber.
    pub fn prefix_bytes(&self, subscriber: usize) -> usize {
        self.subscribers.get(subscriber).map_or(0, |subscriber| subscriber.bytes)
    }

    /// Appends to `found` every subscriber, once, that has a prefix of `message`.
    pub fn find(&mut self, message: &[u8], found: &mut Vec<usize>) {
        self.round += 1;
        let (mut node, mut rest) = (&self.nodes[ROOT as usize], message);
        loop {
            for entry in node.entries.as_slice() {
                let subscriber = &mut self.subscribers[entry.subscriber as usize];
                if subscriber.found_in != self.round {
                    subscriber.found_in = self.round;
                    found.push(entry.subscriber as usize);
                }
            }
            let Some(child) = rest.first().and_then(|first| node.children.find(*first)) else { return };
            node = &self.nodes[child as usize];
            let Some(after) = rest.strip_prefix(node.label.as_bytes()) else { return };
            rest = after;
        }
    }

    /// Whether anybody has a prefix of `message`.
    pub fn is_wanted(&self, message: &[u8]) -> bool {
        let (mut node, mut rest) = (&self.nodes[ROOT as usize], message);
        loop {
            if !node.entries.as_slice().is_empty() {
                return true;
            }
            let Some(child) = rest.first().and_then(|first| node.children.find(*first)) else { return false };
            node = &self.nodes[child as usize];
            let Some(after) = rest.strip_prefix(node.label.as_bytes()) else { return false };
            rest = after;
        }
    }

    /// Every prefix that anybody has, once.
    pub fn prefixes(&self) -> impl Iterator<Item = Vec<u8>> {
        let nodes = self.nodes.iter().filter(|(_, node)| !node.entries.as_slice().is_empty());
        nodes.map(|(node, _)| self.prefix_of(node as u32))
    }

    /// Adds a subscription.
    pub fn subscribe(
        &mut self,
        subscriber: usize,
        prefix: &[u8],
        limits: &Limits,
    ) -> Result<Added, SubscriptionError> {
        if prefix.len() > limits.size_max {
            return Err(SubscriptionError::TooLong(limits.size_max));
        }
        let number = subscriber as u32;
        let known = self.node_of(prefix);
        if let Some(node) = known
            && let Some(entry) = self.nodes[node as usize].entries.find_mut(number)
        {
            entry.count = entry.count.saturating_add(1);
            return Ok(Added::Again);
        }
        if subscriber >= self.subscribers.len() {
            self.subscribers.resize_with(subscriber + 1, Subscriber::default);
        }
        let this = &mut self.subscribers[subscriber];
        if this.nodes.len() >= limits.count_max {
            return Err(SubscriptionError::TooMany(limits.count_max));
        }
        if this.bytes + prefix.len() > limits.bytes_max {
            return Err(SubscriptionError::TooLarge(limits.bytes_max));
        }
        this.bytes += prefix.len();
        self.subscriber_count += usize::from(this.nodes.is_empty());
        let place = this.nodes.len() as u32;
        let node = known.unwrap_or_else(|| self.make_node(prefix));
        self.subscribers[subscriber].nodes.push(node);
        let entries = &mut self.nodes[node as usize].entries;
        let is_first = entries.as_slice().is_empty();
        entries.insert(Entry { subscriber: number, count: 1, place });
        Ok(if is_first { Added::First } else { Added::Another })
    }

    /// Takes one subscription back.
    pub fn cancel(&mut self, subscriber: usize, prefix: &[u8]) -> Removed {
        let Some(node) = self.node_of(prefix) else { return Removed::Absent };
        let Some(entry) = self.nodes[node as usize].entries.find_mut(subscriber as u32) else {
            return Removed::Absent;
        };
        if entry.count > 1 {
            entry.count -= 1;
            return Removed::Counted;
        }
        let place = entry.place;
        self.remove_at(subscriber, place, prefix.len())
    }

    /// Takes all of a subscriber's subscriptions back. `on_last` gets the prefixes that nobody else has.
    pub fn remove(&mut self, subscriber: usize, mut on_last: impl FnMut(Vec<u8>)) {
        while let Some(&node) = self.subscribers.get(subscriber).and_then(|this| this.nodes.last()) {
            let prefix = self.prefix_of(node);
            let place = self.subscribers[subscriber].nodes.len() - 1;
            if self.remove_at(subscriber, place as u32, prefix.len()) == Removed::Last {
                on_last(prefix);
            }
        }
        if let Some(this) = self.subscribers.get_mut(subscriber) {
            this.nodes = Vec::new();
        }
    }

    /// Removes the subscriber's prefix at `place` of its list.
    fn remove_at(&mut self, subscriber: usize, place: u32, prefix_size: usize) -> Removed {
        let this = &mut self.subscribers[subscriber];
        let node = this.nodes.swap_remove(place as usize);
        this.bytes -= prefix_size;
        self.subscriber_count -= usize::from(this.nodes.is_empty());
        if let Some(&moved) = this.nodes.get(place as usize)
            && let Some(entry) = self.nodes[moved as usize].entries.find_mut(subscriber as u32)
        {
            entry.place = place;
        }
        let entries = &mut self.nodes[node as usize].entries;
        entries.remove(subscriber as u32);
        if !entries.as_slice().is_empty() {
            return Removed::OneOfSeveral;
        }
        self.prune(node);
        Removed::Last
    }

    fn node_of(&self, prefix: &[u8]) -> Option<u32> {
        let (mut number, mut rest) = (ROOT, prefix);
        while let Some(first) = rest.first() {
            number = self.nodes[number as usize].children.find(*first)?;
            rest = rest.strip_prefix(self.nodes[number as usize].label.as_bytes())?;
        }
        Some(number)
    }

    fn prefix_of(&self, node: u32) -> Vec<u8> {
        let (mut labels, mut number) = (Vec::new(), node);
        while number != ROOT {
            let node = &self.nodes[number as usize];
            labels.push(node.label.as_bytes());
            number = node.parent;
        }
        labels.into_iter().rev().flatten().copied().collect()
    }

    /// A new node for a prefix that has none.
    fn make_node(&mut self, prefix: &[u8]) -> u32 {
        let (mut above, mut rest) = (ROOT, prefix);
        loop {
            let Some(child) = rest.first().and_then(|first| self.nodes[above as usize].children.find(*first))
            else {
                return if rest.is_empty() { above } else { self.add_child(above, rest) };
            };
            let label = self.nodes[child as usize].label.as_bytes();
            let shared = label.iter().zip(rest).take_while(|(a, b)| a == b).count();
            let whole = shared == label.len();
            rest = &rest[shared..];
            above = if whole { child } else { self.split(child, shared) };
        }
    }

    fn add_child(&mut self, parent: u32, label: &[u8]) -> u32 {
        let child = self.nodes.insert(Node::new(label, parent)) as u32;
        self.nodes[parent as usize].children.set(label[0], child);
        child
    }

    /// Puts a node into the edge above `lower`, behind the first `size` bytes of its label.
    fn split(&mut self, lower: u32, size: usize) -> u32 {
        let node = &mut self.nodes[lower as usize];
        let label = std::mem::replace(&mut node.label, Label::new(&[]));
        let (front, back) = label.as_bytes().split_at(size);
        node.label = Label::new(back);
        let parent = node.parent;
        let upper = self.add_child(parent, front);
        self.nodes[upper as usize].children.set(back[0], lower);
        self.nodes[lower as usize].parent = upper;
        upper
    }

    /// Removes a node that nobody needs any more, and the one above if it need not be there either.
    fn prune(&mut self, number: u32) {
        if number == ROOT {
            return;
        }
        let node = &self.nodes[number as usize];
        let (parent, first) = (node.parent, node.label.as_bytes()[0]);
        let (child_count, child) = (node.children.count(), node.children.iter().next());
        match (child_count, child) {
            (1, Some((_, child))) => {
                let node = self.nodes.remove(number as usize);
                let below = &mut self.nodes[child as usize];
                below.label = Label::new(&[node.label.as_bytes(), below.label.as_bytes()].concat());
                below.parent = parent;
                self.nodes[parent as usize].children.set(first, child);
            }
            (0, _) => {
                self.nodes.remove(number as usize);
                let above = &mut self.nodes[parent as usize];
                above.children.remove(first);
                if parent != ROOT && above.entries.as_slice().is_empty() && above.children.count() == 1 {
                    self.prune(parent);
                }
            }
            _ => {}
        }
    }

    /// Panics when an invariant does not hold.
    #[cfg(test)]
    pub(super) fn check(&self) {
        for (number, node) in &self.nodes {
            let entries = node.entries.as_slice();
            if number != ROOT as usize {
                assert!(!entries.is_empty() || node.children.count() > 1, "a node for nothing");
                assert!(!node.label.as_bytes().is_empty());
            }
            assert!(entries.is_sorted_by(|a, b| a.subscriber < b.subscriber));
            for entry in entries {
                let nodes = &self.subscribers[entry.subscriber as usize].nodes;
                assert_eq!(nodes[entry.place as usize] as usize, number);
            }
            assert!(node.children.iter().is_sorted_by(|a, b| a.0 < b.0));
            for (first, child) in node.children.iter() {
                let child = &self.nodes[child as usize];
                assert_eq!((child.parent as usize, child.label.as_bytes()[0]), (number, first));
            }
        }
        let with_any = self.subscribers.iter().filter(|subscriber| !subscriber.nodes.is_empty());
        assert_eq!(with_any.count(), self.subscriber_count);
    }

    #[cfg(test)]
    pub(super) fn node_count(&self) -> usize {
        self.nodes.len()
    }
}
