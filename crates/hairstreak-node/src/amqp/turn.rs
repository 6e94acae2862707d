//! `Turn`: the state that a connection uses while it has the lock of its virtual host.

use std::sync::Arc;

use hairstreak_base::{BlockPool, OutgoingBuffer};
use hairstreak_broker::message::Message;
use hairstreak_broker::queue::Durability;
use hairstreak_broker::vhost::{ChannelId, ConnectionId, PublishRun, Published, PublishedBy, Route};
use hairstreak_wire::amqp::Method;

use crate::access::{ConnectionSlot, Rights};
use crate::definitions::Place;
use crate::node::encoding::push_method;
use crate::node::{HostState, Journal, Publishers, Reached, Subject, Taken};

/// Steps of the virtual host after which a turn takes no further frame: about a millisecond. A step costs about as much as a
/// queue entry.
pub(super) const STEPS_MAX: u64 = 16_384;

/// One turn of a connection in its virtual host.
pub(super) struct Turn<'a> {
    pub state: &'a mut HostState,
    /// The name of the virtual host.
    pub virtual_host: &'a str,
    /// The connection's own output.
    pub output: &'a mut OutgoingBuffer,
    /// The way of changed definitions to the disk.
    pub journal: &'a Journal,
    /// The memory of long bodies.
    pub pool: &'a Arc<BlockPool>,
    pub publishers: &'a Arc<Publishers>,
    pub connection: ConnectionId,
    pub rights: &'a mut Rights,
    /// The connection's place in the list of its user's connections.
    pub slot: &'a ConnectionSlot,
    /// In the node's milliseconds.
    pub now: u64,
    /// The most bytes of a body in one frame.
    pub frame_body_max: usize,
    /// The count of the host's steps at which the turn is over.
    pub steps_end: u64,
    /// Answers to unfinished operations of the host.
    pub late: &'a mut Late,
    /// The last positions of the message log that may be confirmed.
    pub reached: Reached,
    pub promises: Promises,
}

/// Answers of a turn that promise changes on disk.
pub(super) struct Promises {
    /// The number of the turn on its connection.
    pub ticket: u64,
    /// True if answers wait for the changes of this turn.
    pub are_held: bool,
    /// Durability in the message log of the messages of this turn that answers also wait for.
    pub durability: Durability,
    /// The objects of answers that wait for the changes of others.
    pub places: Vec<Place>,
}

/// Answers to unfinished operations of the host.
#[derive(Debug, Default)]
pub(super) struct Late {
    bytes: Vec<u8>,
    /// The objects of the answers.
    places: Vec<Place>,
}

impl Late {
    /// Clears the answers, which are sent or will never be.
    pub fn clear(&mut self) {
        (self.bytes, self.places) = (Vec::new(), Vec::new());
    }
}

impl Promises {
    pub fn new(ticket: u64) -> Promises {
        Promises { ticket, are_held: false, durability: Durability::Memory, places: Vec::new() }
    }
}

impl Turn<'_> {
    /// Answers by a method. An answer to an unfinished operation of the host is kept until its end ([`Turn::tell_late`]).
    pub fn reply(&mut self, channel: u16, method: &Method<'_>) {
        if self.has_to_wait() {
            method.encode(channel, &mut self.late.bytes);
        } else {
            self.say(channel, method);
        }
    }

    /// Returns true if the host has not finished a request of the connection.
    #[inline]
    pub fn has_to_wait(&self) -> bool {
        self.state.host.has_to_wait(self.connection)
    }

    /// Sends the late answers: the host has finished the connection's operation.
    pub fn tell_late(&mut self) {
        if !self.late.bytes.is_empty() && !self.has_to_wait() {
            if self.journal.is_awaited() {
                self.promises.places.append(&mut self.late.places);
                self.hold();
            }
            self.hold_behind_changes();
            self.take_deliveries();
            self.output.push_copy(&self.late.bytes, &[], true);
            self.late.clear();
        }
    }

    /// Puts a method into the output. Behind a durable change, the method waits until the change is on disk.
    pub fn say(&mut self, channel: u16, method: &Method<'_>) {
        self.hold_behind_changes();
        push_method(self.output, channel, method);
    }

    /// Puts a method into the output that confirms the existence or the deletion of an exchange, a queue or a binding. Other
    /// clients may have changed the object just before: the method waits until these changes are on disk, too.
    pub fn promise(&mut self, channel: u16, method: &Method<'_>, subject: &Subject<'_>) {
        if self.has_to_wait() {
            self.late.places.extend(subject.places(self.virtual_host));
        } else if self.journal.is_awaited() {
            self.promises.places.extend(subject.places(self.virtual_host));
            self.hold();
        }
        self.reply(channel, method);
    }

    /// Has all that is put into the output from here on wait for the changes of this turn, if there are any.
    pub fn hold_behind_changes(&mut self) {
        if !self.promises.are_held && !self.state.host.changes_mut().is_empty() {
            self.hold();
        }
    }

    /// Puts a method into the output that waits until the message log has the messages of this turn with that durability.
    pub fn say_when_logged(&mut self, channel: u16, method: &Method<'_>, durability: Durability) {
        self.hold();
        self.promises.durability = self.promises.durability.max(durability);
        self.reply(channel, method);
    }

    fn hold(&mut self) {
        self.output.hold(self.promises.ticket);
        self.promises.are_held = true;
    }

    /// Publishes a message along its route, as [`VirtualHost::publish`](hairstreak_broker::vhost::VirtualHost::publish) does.
    #[inline]
    pub fn publish(&mut self, route: &Route, message: &Message<'_>) -> Published {
        self.state.host.publish(route, message, self.now, &mut self.state.outlets)
    }

    /// Counts the steps that a declaration took with the patterns of policies.
    pub fn note_declared(&mut self) {
        self.state.host.charge_pattern_steps();
    }

    /// Publishes a message along a long route. The outcome comes later.
    pub fn publish_slowly(&mut self, by: PublishedBy, route: &mut Route, message: &Message<'_>) {
        let HostState { host, outlets, .. } = &mut *self.state;
        host.publish_slowly(by, route, message, self.now, outlets);
    }

    /// Counts a message that a channel has published along a route.
    pub fn note_published(
        &mut self,
        channel: ChannelId,
        route: &Route,
        published: Published,
        is_mandatory: bool,
    ) {
        let run = PublishRun::one(published, is_mandatory);
        self.state.host.note_published(channel, route, run);
    }

    /// Returns true if the turn has taken long enough.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.state.host.step_count() >= self.steps_end
    }

    /// The output has room again for deliveries.
    pub fn note_room(&mut self) {
        let HostState { host, outlets, .. } = &mut *self.state;
        if outlets.has_written(self.connection, self.output.queued_bytes()) {
            host.handle_room(self.connection, self.now, outlets);
        }
    }

    /// Moves waiting deliveries into the output. Bytes added next come behind them.
    pub fn take_deliveries(&mut self) -> Taken {
        self.state.outlets.take(self.connection, self.output)
    }
}
