//! `Backlog`: what a settled PUSH keeps beside its links: the next task, and what came back.
//!
//! Tasks are counted where they are sent: while a link has a grant, the next task is the one behind its last.

use std::task::Waker;

use hairstreak_base::Message;
use hairstreak_wire::settlement::{Deadlines, Redelivery, RedeliveryRules, TaskId, TaskRun};

use super::Settlement;
use super::window::Window;

/// What a settled PUSH keeps.
#[derive(Debug)]
pub(crate) struct Backlog {
    /// How many messages may be unsettled.
    pub window: Window,
    /// The next new task, unless a link has a grant.
    pub next: TaskRun,
    /// The PULL, of the same engine, whose tasks are passed on here: what becomes of them here becomes of them there.
    pub upstream: Option<usize>,
    pub granted: Option<GrantedLink>,
    /// The PUSH, of the same engine, that sends what is refused here.
    pub letters_to: Option<SocketName>,
    /// The PUSH, of the same engine, whose refused messages this one sends.
    pub letters_of: Option<SocketName>,
    /// Nothing new will be sent: receivers are told behind the last that they may get.
    pub has_ended: bool,
    /// When tasks have to be settled.
    pub deadlines: Deadlines,
    /// What came back.
    pub redelivery: Redelivery<Message>,
    /// Who is to be woken when tasks are refused, and whether that has been done since they were last asked for.
    pub refusal_waker: Option<Waker>,
    pub has_woken: bool,
}

/// The link that is given new messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GrantedLink {
    pub index: usize,
    pub serial: u32,
}

/// A socket of an engine: an index is used again, a serial is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SocketName {
    pub index: usize,
    pub serial: u32,
}

impl Backlog {
    pub fn new(settings: Settlement) -> Backlog {
        let Settlement { deliveries_max, refused_count_max, in_order, alone_deliveries, .. } = settings;
        let rules = RedeliveryRules { deliveries_max, refused_count_max, in_order, alone_deliveries };
        Backlog {
            window: Window::new(settings.unsettled_count_max, settings.grows),
            next: TaskRun {
                id: TaskId { epoch: fastrand::u64(..), sequence: 0 },
                deliveries: 0,
                is_blank: false,
            },
            upstream: None,
            granted: None,
            letters_to: None,
            letters_of: None,
            has_ended: false,
            deadlines: Deadlines::new(settings.deadline, in_order),
            redelivery: Redelivery::new(rules),
            refusal_waker: None,
            has_woken: false,
        }
    }

    /// Who is to be woken now, as tasks have been refused since they were last asked for.
    pub fn take_wake_up(&mut self) -> Option<Waker> {
        if !self.redelivery.has_refused() || std::mem::replace(&mut self.has_woken, true) {
            return None;
        }
        self.refusal_waker.clone()
    }
}
