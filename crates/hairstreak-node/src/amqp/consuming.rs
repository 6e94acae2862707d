//! Methods of class basic that take messages and settle them.

use hairstreak_broker::Refusal;
use hairstreak_broker::queue::ConsumerDeclaration;
use hairstreak_broker::vhost::{Got, Settlement};
use hairstreak_wire::amqp::{Method, ReplyCode, basic};

use super::channel::{Channel, queue_name};
use super::fault::Fault;
use super::turn::Turn;
use crate::access::{Operation, Resource};
use crate::node::encoding::{push_get_ok, push_method};

/// Any user may read direct replies.
const REPLY_TO: &[u8] = b"amq.rabbitmq.reply-to";

impl Channel {
    /// Handles a method of class basic but basic.publish.
    pub(super) fn handle_basic_method(
        &mut self,
        method: &Method<'_>,
        turn: &mut Turn<'_>,
    ) -> Result<(), Fault> {
        let result = match method {
            Method::BasicQos(qos) => self.set_prefetch(qos, turn),
            Method::BasicConsume(consume) => self.consume(consume, turn),
            Method::BasicCancel(cancel) => self.cancel(cancel, turn),
            Method::BasicGet(get) => self.get(get, turn),
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

    fn get(&mut self, get: &basic::Get<'_>, turn: &mut Turn<'_>) -> Result<(), Refusal> {
        let queue = queue_name(&self.last_queue, get.queue)?;
        turn.rights.check(Operation::Read, Resource::Queue(queue))?;
        // Waiting deliveries have lower numbers. An acknowledgement of this message and all before it must not cover a message
        // that the client has not received.
        turn.take_deliveries();
        let state = &mut *turn.state;
        let (number, output, frame_body_max) = (self.number, &mut *turn.output, turn.frame_body_max);
        let outlets = &mut state.outlets;
        let is_there =
            state.host.get(self.id, queue, get.no_ack, turn.now, outlets, |_, got: Got, message| {
                let figures = (got.delivery_tag, got.is_redelivered, got.message_count);
                push_get_ok(output, number, figures, message, frame_body_max);
            })?;
        if !is_there {
            turn.reply(self.number, &Method::BasicGetEmpty(basic::GetEmpty {}));
        }
        Ok(())
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
