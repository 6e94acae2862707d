//! Class basic: publishing, delivering and settling messages.

use crate::amqp::frame::{FRAME_END, FRAME_OVERHEAD, FrameKind, encode_frame_header};

class! {
    60;
    /// Limits the number of messages delivered ahead of their acknowledgement.
    Qos = 10, "basic.qos" {
        /// Limit in bytes; RabbitMQ accepts only 0: no limit.
        prefetch_size: long,
        /// Limit of messages; 0: no limit.
        prefetch_count: short,
        /// In RabbitMQ: the limit applies to the channel, and not to each new consumer.
        global: bit,
    }
    /// The limit is set.
    QosOk = 11, "basic.qos-ok" {}
    /// Starts a consumer.
    Consume<'a> = 20, "basic.consume" {
        _: short,
        /// The name of the queue; empty: the one that the channel declared last.
        queue: shortstr,
        /// The consumer's tag; empty: the server makes a tag.
        consumer_tag: shortstr,
        /// No messages published by the same connection. RabbitMQ ignores this.
        no_local: bit,
        /// Messages count as acknowledged once they are sent.
        no_ack: bit,
        /// Exclusive use of the queue by this consumer.
        exclusive: bit,
        /// No answer.
        no_wait: bit,
        /// Further arguments.
        arguments: table,
    }
    /// The consumer has started.
    ConsumeOk<'a> = 21, "basic.consume-ok" {
        /// The consumer's tag.
        consumer_tag: shortstr,
    }
    /// Ends a consumer. The server also sends it when the queue is deleted.
    Cancel<'a> = 30, "basic.cancel" {
        /// The consumer's tag.
        consumer_tag: shortstr,
        /// No answer.
        no_wait: bit,
    }
    /// The consumer has ended.
    CancelOk<'a> = 31, "basic.cancel-ok" {
        /// The consumer's tag.
        consumer_tag: shortstr,
    }
    /// Publishes the content that follows.
    Publish<'a> = 40, "basic.publish" {
        _: short,
        /// The name of the exchange; empty: the default exchange.
        exchange: shortstr,
        /// The routing key.
        routing_key: shortstr,
        /// The message is returned if no queue receives it.
        mandatory: bit,
        /// The message is returned if no consumer is ready. RabbitMQ rejects this.
        immediate: bit,
    }
    /// Returns the content that follows as undeliverable.
    Return<'a> = 50, "basic.return" {
        /// Reason as a number.
        reply_code: short,
        /// Reason as a text.
        reply_text: shortstr,
        /// The exchange to which the message was published.
        exchange: shortstr,
        /// The routing key with which the message was published.
        routing_key: shortstr,
    }
    /// Delivers the content that follows to a consumer.
    Deliver<'a> = 60, "basic.deliver" {
        /// The consumer's tag.
        consumer_tag: shortstr,
        /// The number of the delivery on the channel.
        delivery_tag: longlong,
        /// The message may have been delivered before.
        redelivered: bit,
        /// The exchange to which the message was published.
        exchange: shortstr,
        /// The routing key with which the message was published.
        routing_key: shortstr,
    }
    /// Requests one message.
    Get<'a> = 70, "basic.get" {
        _: short,
        /// The name of the queue; empty: the one that the channel declared last.
        queue: shortstr,
        /// The message counts as acknowledged once it is sent.
        no_ack: bit,
    }
    /// Answers with the content that follows.
    GetOk<'a> = 71, "basic.get-ok" {
        /// The number of the delivery on the channel.
        delivery_tag: longlong,
        /// The message may have been delivered before.
        redelivered: bit,
        /// The exchange to which the message was published.
        exchange: shortstr,
        /// The routing key with which the message was published.
        routing_key: shortstr,
        /// Number of messages left in the queue.
        message_count: long,
    }
    /// The queue has no message.
    GetEmpty = 72, "basic.get-empty" {
        _: shortstr,
    }
    /// Acknowledges deliveries (client) or published messages (server).
    Ack = 80, "basic.ack" {
        /// Number of the delivery, or of the published message, on the channel.
        delivery_tag: longlong,
        /// All up to that number. With number 0: all.
        multiple: bit,
    }
    /// The client rejects a message.
    Reject = 90, "basic.reject" {
        /// The number of the delivery on the channel.
        delivery_tag: longlong,
        /// The message returns to its queue.
        requeue: bit,
    }
    /// Returns all unacknowledged messages to their queues, without an answer.
    RecoverAsync = 100, "basic.recover-async" {
        /// Messages may go to other consumers.
        requeue: bit,
    }
    /// Returns all unacknowledged messages to their queues.
    Recover = 110, "basic.recover" {
        /// Messages may go to other consumers.
        requeue: bit,
    }
    /// The messages are back in their queues.
    RecoverOk = 111, "basic.recover-ok" {}
    /// Rejects deliveries (client) or published messages (server).
    Nack = 120, "basic.nack" {
        /// Number of the delivery, or of the published message, on the channel.
        delivery_tag: longlong,
        /// All up to that number. With number 0: all.
        multiple: bit,
        /// The messages return to their queues.
        requeue: bit,
    }
}

/// Size of the frame of a basic.ack, in bytes.
pub const ACK_FRAME_SIZE: usize = FRAME_OVERHEAD + PAYLOAD_SIZE;

const PAYLOAD_SIZE: usize = 4 + 8 + 1;

/// Returns the whole frame of a basic.ack, which has the same size for every message.
///
/// ```text
/// header (7) | 0 60 0 80 | delivery tag (8) | multiple (1) | 0xCE
/// ```
#[inline]
pub fn ack_frame(channel: u16, delivery_tag: u64, multiple: bool) -> [u8; ACK_FRAME_SIZE] {
    let mut frame = [FRAME_END; ACK_FRAME_SIZE];
    let (class, method) = Ack::ID;
    frame[..7].copy_from_slice(&encode_frame_header(FrameKind::Method, channel, PAYLOAD_SIZE as u32));
    frame[7..9].copy_from_slice(&class.to_be_bytes());
    frame[9..11].copy_from_slice(&method.to_be_bytes());
    frame[11..19].copy_from_slice(&delivery_tag.to_be_bytes());
    frame[19] = multiple.into();
    frame
}

/// Appends the frame of a basic.ack.
#[inline]
pub fn encode_ack(channel: u16, delivery_tag: u64, multiple: bool, out: &mut Vec<u8>) {
    out.extend_from_slice(&ack_frame(channel, delivery_tag, multiple));
}
