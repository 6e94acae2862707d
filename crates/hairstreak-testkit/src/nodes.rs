//! `Nodes`: which nodes run, and since when.
//!
//! A node that is killed loses its memory and starts again as another [`Life`]. Events that a node scheduled for itself
//! name its life, so that a node does not get the events of an earlier one.

use std::collections::BTreeMap;

/// A node from one start to the next kill. The first life has the number 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Life<N> {
    /// The node.
    pub node: N,
    /// Number of times that the node was killed before.
    pub number: u32,
}

/// All nodes of a world. A node that was never started is down.
#[derive(Debug)]
pub struct Nodes<N> {
    states: BTreeMap<N, State>,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    life: u32,
    is_up: bool,
    paused_until: u64,
}

impl<N: Copy + Ord + std::fmt::Debug> Nodes<N> {
    /// No node runs.
    pub fn new() -> Nodes<N> {
        Nodes { states: BTreeMap::new() }
    }

    /// Starts a node.
    ///
    /// # Panics
    ///
    /// If the node runs already.
    pub fn start(&mut self, node: N) -> Life<N> {
        let state = self.states.entry(node).or_default();
        assert!(!std::mem::replace(&mut state.is_up, true), "{node:?} runs already");
        Life { node, number: state.life }
    }

    /// Ends a node's life. The caller drops the machine, and ends the node's links by [`Network::crash`] or
    /// [`Network::leave`].
    ///
    /// # Panics
    ///
    /// If the node does not run.
    ///
    /// [`Network::crash`]: crate::Network::crash
    /// [`Network::leave`]: crate::Network::leave
    pub fn kill(&mut self, node: N) {
        let state = self.states.entry(node).or_default();
        assert!(std::mem::replace(&mut state.is_up, false), "{node:?} does not run");
        state.life += 1;
    }

    /// The present life of a node that runs, the next one of a node that does not.
    pub fn life(&self, node: N) -> Life<N> {
        Life { node, number: self.state(node).life }
    }

    /// Returns true if the node runs.
    pub fn is_up(&self, node: N) -> bool {
        self.state(node).is_up
    }

    /// Returns true if the node runs and was not killed since that life began.
    pub fn is_alive(&self, life: Life<N>) -> bool {
        let state = self.state(life.node);
        state.is_up && state.life == life.number
    }

    /// Lets a node do nothing until then. The computer of the node stands still, so a kill does not end the pause.
    pub fn pause(&mut self, node: N, until: u64) {
        self.states.entry(node).or_default().paused_until = until;
    }

    /// Returns the end of the node's last pause. The world puts events back until then.
    pub fn paused_until(&self, node: N) -> u64 {
        self.state(node).paused_until
    }

    fn state(&self, node: N) -> State {
        self.states.get(&node).copied().unwrap_or_default()
    }
}

impl<N: Copy + Ord + std::fmt::Debug> Default for Nodes<N> {
    fn default() -> Self {
        Nodes::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kill_ends_a_life_and_the_next_start_begins_another() {
        let mut nodes = Nodes::new();
        assert!(!nodes.is_up('a'));
        let first = nodes.start('a');
        assert!(nodes.is_up('a') && nodes.is_alive(first));
        nodes.kill('a');
        assert!(!nodes.is_up('a') && !nodes.is_alive(first));
        assert!(!nodes.is_alive(nodes.life('a')));
        let second = nodes.start('a');
        assert_eq!((first.number, second.number), (0, 1));
        assert!(!nodes.is_alive(first) && nodes.is_alive(second));
    }

    #[test]
    fn a_pause_is_of_one_node_and_outlasts_a_kill() {
        let mut nodes = Nodes::new();
        nodes.start('a');
        nodes.pause('a', 50);
        nodes.kill('a');
        assert_eq!((nodes.paused_until('a'), nodes.paused_until('b')), (50, 0));
    }
}
