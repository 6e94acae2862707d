//! `Session`: a client in its virtual host, from connection.open to the end.
//!
//! Here are its end and that of a channel, by either side. The rest is in `frames` (bytes to frames), `parking`, `publishing` and
//! `methods` (one place for each method). The methods of a single channel are in `channel` and `declaring`.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use foldhash::fast::RandomState;
use hairstreak_base::OutgoingBuffer;
use hairstreak_transport::Connection;
use hairstreak_transport::event_loop::Address;
use hairstreak_wire::amqp::{Method, Scope, channel, connection};

use super::alarm_quota::AlarmQuota;
use super::channel::{Channel, Content, Getting};
use super::confirms::Confirms;
use super::fault::Fault;
use super::parked::Parked;
use super::product::Tuned;
use super::reading::Reading;
use super::throttle::Throttle;
use super::transaction::{Committing, Transaction};
use super::turn::Turn;
use crate::node::{Awaited, Figures, Messages, Node, Reached, Waiter};

/// A client in its virtual host.
pub(super) struct Session {
    pub node: Arc<Node>,
    pub tuned: Tuned,
    /// The client asked for notices when it has to wait (connection.blocked).
    pub hears_blocked: bool,
    pub channels: HashMap<u16, Box<Channel>, RandomState>,
    /// Channels that were closed with an error and whose close the client has not confirmed. All other frames on them are
    /// dropped.
    pub closing_channels: Vec<u16>,
    /// The channel that published last.
    pub publishing: Option<u16>,
    /// The received part of a long frame or of a body.
    pub reading: Reading,
    pub throttle: Throttle,
    /// The bodies that go on while the memory alarm is raised.
    pub alarm_quota: AlarmQuota,
    /// Frames that wait for the end of the memory alarm.
    pub parked: Parked,
    /// The transaction that is being committed.
    pub committing: Option<Committing>,
    /// The basic.get whose message is being read from the disk.
    pub getting: Option<Getting>,
    pub outcome: Outcome,
    /// Channels with messages of this turn in the message log.
    unplaced: Vec<u16>,
    /// Channels with confirms that wait for the message log.
    awaiting: Vec<u16>,
    /// Positions at which the message log wakes the connection, one for each durability that waits.
    awaited: Vec<Awaited>,
    /// Confirms may wait for a position at which the message log does not wake the connection.
    has_to_await: bool,
}

/// State of the session after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Running,
    /// The node has sent connection.close.
    Closed,
    /// The node has sent connection.close, and cannot read later frames.
    Lost,
    /// The client has sent connection.close, and was answered.
    Left,
}

impl Session {
    pub fn new(node: Arc<Node>, address: Address, tuned: Tuned, hears_blocked: bool) -> Session {
        Session {
            alarm_quota: AlarmQuota::new(Arc::clone(&node.account), address),
            parked: Parked::new(Arc::clone(&node.account)),
            node,
            tuned,
            hears_blocked,
            channels: HashMap::default(),
            closing_channels: Vec::new(),
            publishing: None,
            reading: Reading::default(),
            throttle: Throttle::default(),
            committing: None,
            getting: None,
            outcome: Outcome::Running,
            unplaced: Vec::new(),
            awaiting: Vec::new(),
            awaited: Vec::new(),
            has_to_await: false,
        }
    }

    /// Reports the state of the connection to operators.
    pub fn report(&self, figures: &Figures, connection: &Connection) {
        figures.read_bytes.store(connection.read_bytes(), Relaxed);
        figures.written_bytes.store(connection.output.written_bytes(), Relaxed);
        figures.unwritten_bytes.store(connection.output.queued_bytes() as u64, Relaxed);
        figures.channel_count.store(self.channels.len() as u32, Relaxed);
        figures.is_blocked.store(self.throttle.is_blocked(), Relaxed);
    }

    /// Answers an error: its channel is closed, or the connection.
    pub(super) fn refuse(&mut self, fault: Fault, number: u16, turn: &mut Turn<'_>) {
        let Fault { refusal, method: (class_id, method_id), is_fatal } = fault;
        let reply_text = refusal.code.reply_text(&refusal.text);
        let reply_code = refusal.code.number();
        if refusal.code.scope() == Scope::Channel && number != 0 {
            self.tell_confirms(number, turn);
            self.close_channel(number, turn);
            // Until the client confirms the close, its frames on this channel are dropped.
            self.closing_channels.push(number);
            let close = channel::Close { reply_code, reply_text: &reply_text, class_id, method_id };
            turn.reply(number, &Method::ChannelClose(close));
        } else {
            if self.begins_end_of_parked() {
                self.handle_parked(turn);
            }
            if self.outcome != Outcome::Running {
                return;
            }
            self.settle_slow(turn);
            turn.tell_late();
            self.tell_what_waits(turn);
            let close = connection::Close { reply_code, reply_text: &reply_text, class_id, method_id };
            turn.late.clear();
            turn.say(0, &Method::ConnectionClose(close));
            self.outcome = if is_fatal { Outcome::Lost } else { Outcome::Closed };
        }
    }

    /// Confirms and deliveries go before the end of the connection: nothing may come behind it.
    pub(super) fn tell_what_waits(&mut self, turn: &mut Turn<'_>) {
        self.tell_all_confirms(turn);
        turn.take_deliveries();
    }

    /// Closes a channel, which gives everything back. Pending output to the client goes first.
    pub(super) fn close_channel(&mut self, number: u16, turn: &mut Turn<'_>) {
        if let Some(channel) = self.channels.remove(&number) {
            let state = &mut *turn.state;
            state.host.close_channel(channel.id, turn.now, &mut state.outlets);
            if let Content::Body(assembly) = &channel.content {
                self.throttle.end_partial(assembly.size, assembly.size - assembly.missing());
            }
            self.throttle.release(channel.transaction.as_ref().map_or(0, Transaction::bytes));
        }
        turn.take_deliveries();
    }

    /// A method came on a channel that this side has closed.
    pub(super) fn take_while_closing(
        &mut self,
        number: u16,
        id: (u16, u16),
        turn: &mut Turn<'_>,
    ) -> Result<(), Fault> {
        if id == channel::CloseOk::ID {
            self.closing_channels.retain(|closing| *closing != number);
        }
        if id == channel::Close::ID {
            // Both sides have closed at the same time.
            turn.reply(number, &Method::ChannelCloseOk(channel::CloseOk {}));
        }
        Ok(())
    }

    /// Notes the position of the messages that channels have put into the message log in this turn.
    pub(super) fn place_confirms(&mut self, position: u64) {
        for number in self.unplaced.drain(..) {
            if let Some(confirms) =
                self.channels.get_mut(&number).and_then(|channel| channel.confirms.as_mut())
            {
                confirms.place(position);
                self.has_to_await |= confirms.awaited().is_some_and(|next| !is_covered(&self.awaited, next));
                if !self.awaiting.contains(&number) {
                    self.awaiting.push(number);
                }
            }
        }
    }

    /// Has the message log wake the connection at the next positions that confirms wait for, unless the log wakes it earlier.
    pub(super) fn await_log(&mut self, messages: &Messages, connection: Address) {
        if !std::mem::take(&mut self.has_to_await) {
            return;
        }
        let Session { channels, awaiting, awaited, .. } = self;
        let confirms = awaiting.iter().filter_map(|number| channels.get(number)?.confirms.as_ref());
        for next in confirms.filter_map(Confirms::awaited) {
            if !is_covered(awaited, next) {
                awaited.retain(|other| other.durability != next.durability);
                awaited.push(next);
                messages.wait(next, Waiter::Connection(connection));
            }
        }
    }

    /// Sends the confirms of messages for which the message log is far enough.
    pub(super) fn confirm_logged(&mut self, reached: Reached, output: &mut OutgoingBuffer) {
        let Session { channels, awaiting, awaited, .. } = self;
        awaiting.retain(|number| {
            let confirms = channels.get_mut(number).and_then(|channel| channel.confirms.as_mut());
            confirms.is_some_and(|confirms| {
                confirms.tell(reached, *number, output);
                confirms.awaited().is_some()
            })
        });
        awaited.retain(|awaited| !reached.has(*awaited));
        self.has_to_await = true;
    }

    /// Sends all confirms: only the channel that published last owes some that wait for nothing.
    pub(super) fn tell_all_confirms(&mut self, turn: &mut Turn<'_>) {
        if let Some(number) = self.publishing {
            self.tell_confirms(number, turn);
        }
    }

    /// Sends the confirms of one channel.
    pub(super) fn tell_confirms(&mut self, number: u16, turn: &mut Turn<'_>) {
        if let Some(channel) = self.channels.get_mut(&number)
            && let Some(confirms) = &mut channel.confirms
        {
            confirms.tell(turn.reached, number, turn.output);
            if confirms.is_unplaced() && !self.unplaced.contains(&number) {
                self.unplaced.push(number);
            }
        }
    }
}

/// Returns true if the message log wakes the connection at this position, or earlier.
fn is_covered(awaited: &[Awaited], next: Awaited) -> bool {
    awaited.iter().any(|other| other.durability == next.durability && other.position <= next.position)
}
