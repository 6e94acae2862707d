//! `Backlog`: what a settled PUSH keeps beside its links: the next task, and what came back.
//!
//! Tasks are counted where they are sent: while a link has a grant, the next task is the one behind its last.

use std::task::Waker;

use hairstreak_base::Message;
use hairstreak_wire::settlement::{
    Content, Deadlines, LinkChoice, Redelivery, RedeliveryRules, TaskId, TaskRun,
};

use super::Settlement;
use super::receivers::Receivers;
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
    /// Links that have something, and links at rest.
    pub receivers: Receivers,
    /// The PUSH, of the same engine, that sends what is refused here.
    pub letters_to: Option<SocketName>,
    /// The PUSH, of the same engine, whose refused messages this one sends.
    pub letters_of: Option<SocketName>,
    /// Nothing new will be sent, if so: when receivers are told.
    pub ending: Option<Ending>,
    /// All receivers that there are have been told.
    pub has_told_end: bool,
    /// When tasks have to be settled.
    pub deadlines: Deadlines,
    /// What came back.
    pub redelivery: Redelivery<Message>,
    /// Who is to be woken when tasks are refused, and whether that has been done since they were last asked for.
    pub refusal_waker: Option<Waker>,
    pub has_woken: bool,
}

/// When receivers are told that no message follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Each behind the last that it may get, once no other has any that may come back.
    WhenOver,
    /// At once: what is not settled, nobody needs.
    Now,
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
        let Settlement { in_order, .. } = settings;
        let rules = RedeliveryRules {
            deliveries_max: settings.deliveries_max,
            refused_count_max: settings.refused_count_max,
            refusals_patience: settings.refusals_patience,
            in_order,
            alone_deliveries: settings.alone_deliveries,
        };
        Backlog {
            window: Window::new(settings.unsettled_count_max, settings.grows),
            next: TaskRun {
                id: TaskId { epoch: fastrand::u64(..), sequence: 0 },
                deliveries: 0,
                content: Content::Message,
            },
            upstream: None,
            granted: None,
            receivers: Receivers::default(),
            letters_to: None,
            letters_of: None,
            ending: None,
            has_told_end: false,
            deadlines: Deadlines::new(settings.deadline, in_order),
            redelivery: Redelivery::new(rules),
            refusal_waker: None,
            has_woken: false,
        }
    }

    /// How many more messages may be sent, so many being unsettled. What is passed on is bounded by its source.
    pub fn room(&self, unsettled: u64) -> u64 {
        if self.upstream.is_some() { u64::MAX } else { self.window.count().saturating_sub(unsettled) }
    }

    /// Whether what links have not settled is what is not done, for all that is known, so that none need be given more than it is
    /// to have ahead.
    pub fn knows_what_is_done(&self) -> bool {
        self.upstream.is_none() && !self.redelivery.is_in_order()
    }

    /// Whether tasks are passed on in order. The one that all others wait for may be new here, or behind one that is: new tasks then
    /// wait for none that is to be sent again, and go where one travels alone if there is no other receiver.
    pub fn passes_on_in_order(&self) -> bool {
        self.upstream.is_some() && self.redelivery.is_in_order()
    }

    /// Whether nothing new is to be sent before what waits to be sent again.
    pub fn holds_up_new(&self) -> bool {
        self.redelivery.waiting_count() > 0 && !self.passes_on_in_order()
    }

    /// With whom the next new task may go.
    pub fn link_choice_of_new(&self) -> LinkChoice {
        if self.passes_on_in_order() { LinkChoice::Any } else { LinkChoice::Open }
    }

    /// Who is to be woken now, as tasks have been refused since they were last asked for.
    pub fn take_wake_up(&mut self) -> Option<Waker> {
        if !self.redelivery.has_refused() || std::mem::replace(&mut self.has_woken, true) {
            return None;
        }
        self.refusal_waker.clone()
    }
}
