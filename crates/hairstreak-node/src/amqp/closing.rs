//! Closing a channel or a connection, by either side.

use hairstreak_wire::amqp::{Method, Scope, channel, connection};

use super::channel::Content;
use super::fault::Fault;
use super::session::{Outcome, Session};
use super::transaction::Transaction;
use super::turn::Turn;

impl Session {
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

    /// Sends all confirms: only the channel that published last owes some.
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
            confirms.tell(number, turn.output);
        }
    }
}
