//! `Node`: the state that all connections of a process share.

use std::sync::Arc;
use std::time::Instant;

use hairstreak_base::BlockPool;
use hairstreak_broker::vhost::{Limits, SegmentPool};
use hairstreak_transport::event_loop::Address;

use super::account::Account;
use super::clock::Clock;
use super::connections::Connections;
use super::hosts::Hosts;
use super::options::AmqpOptions;
use super::shared_host::{HostState, SharedHost};
use super::users::Users;

/// The part of the memory watermark that is kept for messages to come: one of four.
const SPARE_PART: usize = 4;

/// The state that all connections share.
pub(crate) struct Node {
    pub clock: Clock,
    pub users: Users,
    pub account: Arc<Account>,
    pub message_size_max: u64,
    /// The memory of long bodies.
    pub pool: Arc<BlockPool>,
    /// The memory of messages to come.
    segments: Arc<SegmentPool>,
    pub hosts: Hosts,
    pub connections: Arc<Connections>,
    /// Bounds of each virtual host.
    limits: Limits,
}

impl Node {
    pub fn new(options: &AmqpOptions) -> Node {
        let node = Node {
            clock: Clock::start(),
            users: Users::new(options.users.clone()),
            account: Arc::new(Account::new(options.memory_watermark)),
            message_size_max: options.message_size_max,
            pool: BlockPool::new(),
            segments: Arc::new(SegmentPool::new(options.memory_watermark / SPARE_PART)),
            hosts: Hosts::default(),
            connections: Arc::default(),
            limits: options.limits.clone(),
        };
        for name in &options.virtual_hosts {
            node.add_host(name);
        }
        node
    }

    /// Adds a virtual host. Returns false if there is one of that name.
    pub fn add_host(&self, name: &str) -> bool {
        let (segments, account) = (Arc::clone(&self.segments), Arc::clone(&self.account));
        self.hosts.add(SharedHost::new(name, self.limits.clone(), segments, account))
    }

    /// Whether publishers have to wait.
    #[inline]
    pub fn is_alarmed(&self) -> bool {
        self.account.alarm.is_raised()
    }

    /// To be called before a host's lock is released: sees to the alarm and to the host's next timer.
    pub fn note(&self, host: &SharedHost, state: &HostState) {
        if let Some(due) = state.host.next_timeout() {
            self.account.timekeeper.wake_by(due);
        }
        if self.segments.take_is_fresh() {
            self.account.timekeeper.wake_by(0);
        }
        host.note_memory(state);
    }

    /// Fires the due timers of the virtual hosts. With `clears` all connections look at the alarm. `time` tells the time, and `wake` wakes a
    /// connection. Returns when the next timer is due.
    pub fn fire(
        &self,
        clears: bool,
        time: impl Fn() -> Instant,
        mut wake: impl FnMut(Address),
    ) -> Option<u64> {
        let mut next = self.segments.trim(self.clock.millis(time()));
        for host in self.hosts.all() {
            let mut state = host.lock();
            let HostState { host: machine, outlets } = &mut *state;
            let now = self.clock.millis(time());
            if machine.next_timeout().is_some_and(|due| due <= now) {
                machine.handle_timeout(now, outlets);
            }
            if clears {
                outlets.wake_all();
            }
            outlets.woken().for_each(&mut wake);
            next = [next, machine.next_timeout()].into_iter().flatten().min();
            host.note_memory(&state);
        }
        next
    }
}
