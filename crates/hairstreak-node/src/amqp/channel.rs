//! `Channel`: the state of one channel, and its methods of class basic that take messages and settle them.
//!
//! ```text
//!   open --basic.publish--> Header --content header--> Body --the last body frame--> open
//!   open --an error of its scope--> closing (all but close-ok is dropped) --channel.close-ok--> gone
//! ```

use hairstreak_broker::Refusal;
use hairstreak_broker::queue::ConsumerDeclaration;
use hairstreak_broker::vhost::{ChannelId, GetOutcome, Got, Settlement};
use hairstreak_wire::amqp::{Method, ReplyCode, basic};

use super::body::Assembly;
use super::confirms::Confirms;
use super::fault::Fault;
use super::memo::Memo;
use super::publish::Publish;
use super::transaction::Transaction;
use super::turn::Turn;
use crate::access::{ChannelSlot, Operation, Resource};
use crate::node::Publisher;
use crate::node::encoding::{push_get_ok, push_method};

/// Any user may read direct replies.
const REPLY_TO: &[u8] = b"amq.rabbitmq.reply-to";

/// One channel.
pub(super) struct Channel {
    /// The virtual host's name for the channel.
    pub id: ChannelId,
    pub number: u16,
    /// The last message that was published.
    pub memo: Memo,
    pub content: Content,
    /// The channel's entry in the count of channels that have published.
    pub publisher: Option<Publisher>,
    /// The client has asked for confirms.
    pub confirms: Option<Confirms>,
    /// The client has asked for transactions.
    pub transaction: Option<Transaction>,
    /// The last declared queue: an empty name refers to it.
    pub last_queue: Box<[u8]>,
    /// The place among the channels of the user.
    _slot: ChannelSlot,
}

impl Channel {
    pub fn new(id: ChannelId, number: u16, slot: ChannelSlot) -> Channel {
        Channel {
            id,
            number,
            memo: Memo::default(),
            content: Content::None,
            publisher: None,
            confirms: None,
            transaction: None,
            last_queue: Box::default(),
            _slot: slot,
        }
    }

    /// Returns true if publishers wait for an answer to each message. RabbitMQ takes a transaction for a kind of confirm.
    pub fn is_confirming(&self) -> bool {
        self.confirms.is_some() || self.transaction.is_some()
    }

    /// Returns true if a message is incomplete.
    pub fn is_in_content(&self) -> bool {
        !matches!(self.content, Content::None)
    }

    /// Handles a method of class basic but basic.publish and basic.get.
    pub fn handle_basic_method(&mut self, method: &Method<'_>, turn: &mut Turn<'_>) -> Result<(), Fault> {
        let result = match method {
            Method::BasicQos(qos) => self.set_prefetch(qos, turn),
            Method::BasicConsume(consume) => self.consume(consume, turn),
            Method::BasicCancel(cancel) => self.cancel(cancel, turn),
            Method::BasicAck(ack) => self.settle(ack.delivery_tag, ack.multiple, Settlement::Ack, turn),
            Method::BasicNack(nack) => {
                let settlement = Settlement::Reject { requeue: nack.requeue };
                self.settle(nack.delivery_tag, nack.multiple, settlement, turn)
            }
            Method::BasicReject(reject) => {
                let settlement = Settlement::Reject { requeue: reject.requeue };
                self.settle(reject.delivery_tag, false, settlement, turn)
            }
            Method::BasicRecover(recover) => {
                let result = self.recover(recover.requeue, turn);
                if result.is_ok() {
                    turn.reply(self.number, &Method::BasicRecoverOk(basic::RecoverOk {}));
                }
                result
            }
            Method::BasicRecoverAsync(recover) => self.recover(recover.requeue, turn),
            _ => Ok(()),
        };
        result.map_err(|refusal| Fault::in_method(refusal, method.id()))
    }

    fn set_prefetch(&mut self, qos: &basic::Qos, turn: &mut Turn<'_>) -> Result<(), Refusal> {
        if qos.prefetch_size != 0 {
            let text = format!("prefetch_size!=0 ({})", qos.prefetch_size);
            return Err(Refusal::new(ReplyCode::NotImplemented, text));
        }
        let state = &mut *turn.state;
        state.host.set_prefetch(self.id, qos.prefetch_count, qos.global, turn.now, &mut state.outlets);
        turn.reply(self.number, &Method::BasicQosOk(basic::QosOk {}));
        Ok(())
    }

    fn consume(&mut self, consume: &basic::Consume<'_>, turn: &mut Turn<'_>) -> Result<(), Refusal> {
        let queue = queue_name(&self.last_queue, consume.queue)?;
        if queue != REPLY_TO {
            turn.rights.check(Operation::Read, Resource::Queue(queue))?;
        }
        let declaration = ConsumerDeclaration {
            queue,
            consumer_tag: consume.consumer_tag,
            no_ack: consume.no_ack,
            is_exclusive: consume.exclusive,
            arguments: &consume.arguments,
        };
        // Waiting deliveries belong to other consumers. The answer comes before the first delivery of this consumer.
        turn.take_deliveries();
        let state = &mut *turn.state;
        let (number, output) = (self.number, &mut *turn.output);
        state.host.consume(self.id, &declaration, turn.now, &mut state.outlets, |_, tag| {
            if !consume.no_wait {
                let ok = basic::ConsumeOk { consumer_tag: tag };
                push_method(output, number, &Method::BasicConsumeOk(ok));
            }
        })
    }

    fn cancel(&mut self, cancel: &basic::Cancel<'_>, turn: &mut Turn<'_>) -> Result<(), Refusal> {
        let state = &mut *turn.state;
        state.host.cancel(self.id, cancel.consumer_tag, turn.now, &mut state.outlets);
        turn.take_deliveries();
        if !cancel.no_wait {
            let ok = basic::CancelOk { consumer_tag: cancel.consumer_tag };
            turn.reply(self.number, &Method::BasicCancelOk(ok));
        }
        Ok(())
    }

    /// Takes a message from a queue. Returns the name of the queue if its first message is being read from the disk: the answer
    /// follows.
    pub fn get(
        &mut self,
        queue: &[u8],
        no_ack: bool,
        turn: &mut Turn<'_>,
    ) -> Result<Option<Box<[u8]>>, Refusal> {
        let queue = queue_name(&self.last_queue, queue)?;
        turn.rights.check(Operation::Read, Resource::Queue(queue))?;
        // Waiting deliveries have lower numbers. An acknowledgement of this message and all before it must not cover a message
        // that the client has not received.
        turn.take_deliveries();
        let state = &mut *turn.state;
        let (number, output, frame_body_max) = (self.number, &mut *turn.output, turn.frame_body_max);
        let outlets = &mut state.outlets;
        let outcome = state.host.get(self.id, queue, no_ack, turn.now, outlets, |_, got: Got, message| {
            let figures = (got.delivery_tag, got.is_redelivered, got.message_count);
            push_get_ok(output, number, figures, message, frame_body_max);
        })?;
        if outcome == GetOutcome::Empty {
            turn.reply(self.number, &Method::BasicGetEmpty(basic::GetEmpty {}));
        }
        if outcome != GetOutcome::OnDisk {
            return Ok(None);
        }
        turn.state.host.await_front(turn.connection, queue);
        Ok(Some(queue.into()))
    }

    fn recover(&mut self, requeue: bool, turn: &mut Turn<'_>) -> Result<(), Refusal> {
        let state = &mut *turn.state;
        state.host.recover(self.id, requeue, turn.now, &mut state.outlets)
    }

    /// Settles deliveries now, or with the commit of the channel's transaction.
    fn settle(
        &mut self,
        tag: u64,
        multiple: bool,
        settlement: Settlement,
        turn: &mut Turn<'_>,
    ) -> Result<(), Refusal> {
        let (host, outlets) = (&mut turn.state.host, &mut turn.state.outlets);
        if let Some(transaction) = &mut self.transaction {
            let count = host.hold(self.id, tag, multiple)?;
            transaction.add_settlement(count, settlement);
            return Ok(());
        }
        match settlement {
            Settlement::Ack => host.ack(self.id, tag, multiple, turn.now, outlets),
            Settlement::Reject { requeue } => host.reject(self.id, tag, multiple, requeue, turn.now, outlets),
        }
    }
}

/// A basic.get whose message is being read from the disk.
#[derive(Debug)]
pub(super) struct Getting {
    pub channel: u16,
    pub queue: Box<[u8]>,
    pub no_ack: bool,
}

/// Received part of a message.
pub(super) enum Content {
    /// No message is incomplete.
    None,
    /// basic.publish came. The content header is next.
    Header(Publish),
    /// The content header came. Bytes of the body are missing.
    Body(Box<Assembly>),
}

/// Returns `name`, or the queue that the channel declared last if `name` is empty.
///
/// # Errors
///
/// `NOT_FOUND`: the name is empty and the channel has declared no queue.
pub(super) fn queue_name<'a>(last_queue: &'a [u8], name: &'a [u8]) -> Result<&'a [u8], Refusal> {
    match (name, last_queue) {
        ([], []) => Err(Refusal::new(ReplyCode::NotFound, "no previously declared queue")),
        ([], last) => Ok(last),
        (name, _) => Ok(name),
    }
}

/// Returns the routing key of a binding. Without a queue and a key it is the name of the queue that the channel declared last.
pub(super) fn routing_key<'a>(last_queue: &'a [u8], queue: &[u8], key: &'a [u8]) -> &'a [u8] {
    if queue.is_empty() && key.is_empty() { last_queue } else { key }
}
