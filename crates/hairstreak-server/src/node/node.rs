//! `Node`: what all AMQP connections of a process share.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use hairstreak_base::BlockPool;
use hairstreak_broker::vhost::SegmentPool;
use hairstreak_transport::event_loop::Address;

use super::alarm::{Alarm, Change};
use super::clock::Clock;
use super::options::AmqpOptions;
use super::shared_host::{HostState, SharedHost};
use super::timekeeper::Timekeeper;
use super::users::Users;

/// The part of the memory watermark that is kept for messages to come: one of four.
const SPARE_PART: usize = 4;

/// The state that all connections share.
pub(crate) struct Node {
    pub clock: Clock,
    pub users: Users,
    pub alarm: Alarm,
    pub message_size_max: u64,
    /// The memory of long bodies.
    pub pool: Arc<BlockPool>,
    /// The memory of messages to come.
    segments: Arc<SegmentPool>,
    pub timekeeper: Timekeeper,
    hosts: HashMap<Box<str>, Arc<SharedHost>>,
}

impl Node {
    pub fn new(options: &AmqpOptions) -> Node {
        let segments = Arc::new(SegmentPool::new(options.memory_watermark / SPARE_PART));
        let host = |name: &String| {
            let host = SharedHost::new(name, options.limits.clone(), Arc::clone(&segments));
            (name.as_str().into(), Arc::new(host))
        };
        Node {
            clock: Clock::start(),
            users: Users::new(options.users.clone()),
            alarm: Alarm::new(options.memory_watermark),
            message_size_max: options.message_size_max,
            pool: BlockPool::new(),
            hosts: options.virtual_hosts.iter().map(host).collect(),
            segments,
            timekeeper: Timekeeper::new(),
        }
    }

    pub fn host(&self, name: &str) -> Option<Arc<SharedHost>> {
        self.hosts.get(name).cloned()
    }

    pub fn hosts(&self) -> impl Iterator<Item = &Arc<SharedHost>> {
        self.hosts.values()
    }

    /// To be called before a host's lock is released: sees to the alarm and to the host's next timer.
    pub fn note(&self, host: &SharedHost, state: &HostState) {
        if let Some(due) = state.host.next_timeout() {
            self.timekeeper.wake_by(due);
        }
        if self.segments.take_is_fresh() {
            self.timekeeper.wake_by(0);
        }
        let bytes = state.host.memory_bytes();
        self.note_bytes(host.note_memory(bytes), bytes);
    }

    /// The memory of a part of the node has changed from `before` bytes to `now`.
    pub fn note_bytes(&self, before: usize, now: usize) {
        if self.alarm.note(before, now) == Change::Cleared {
            self.timekeeper.wake_publishers();
        }
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
        for host in self.hosts() {
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
            let bytes = machine.memory_bytes();
            self.note_bytes(host.note_memory(bytes), bytes);
            next = [next, machine.next_timeout()].into_iter().flatten().min();
        }
        next
    }
}
