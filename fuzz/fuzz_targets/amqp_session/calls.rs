//! `Calls`: what the methods of a client have the node answer, and in which order.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use hairstreak_wire::amqp::Method;

/// The name of a queue, if a method has one.
type Queue = Option<Vec<u8>>;

/// Reply codes for what no client sends that keeps to the protocol: frame-error, syntax-error, channel-error, unexpected-frame.
const BLAMING: [u16; 4] = [501, 502, 504, 505];

/// The answers that one client waits for.
#[derive(Default)]
pub struct Calls {
    channels: BTreeMap<u16, ChannelCalls>,
    /// The client has sent bytes that are no method, or an answer to a method that it had not seen: the node's answers cannot be foreseen.
    is_unsure: bool,
}

#[derive(Default)]
struct ChannelCalls {
    /// The names of the answers, and the queue that a basic.get names.
    answers: VecDeque<(&'static str, Queue)>,
    /// The queues that a consumer was started on.
    consumed: BTreeMap<Vec<u8>, BTreeSet<Queue>>,
    /// How many messages were published since the client asked for confirms.
    published: Option<u64>,
    /// Consumers that are over.
    ended: BTreeSet<Vec<u8>>,
    /// Consumers that were started without an answer.
    silent: BTreeSet<Vec<u8>>,
}

impl Calls {
    /// The client does what no client may.
    pub fn forgo(&mut self) {
        self.is_unsure = true;
    }

    /// The client sends a method.
    pub fn send(&mut self, number: u16, method: &Method<'_>) {
        if matches!(method, Method::ChannelCloseOk(_)) {
            self.is_unsure = true;
        }
        let channel = self.channels.entry(number).or_default();
        match method {
            Method::ConfirmSelect(_) => _ = channel.published.get_or_insert(0),
            Method::BasicPublish(_) => channel.published = channel.published.map(|count| count + 1),
            Method::BasicConsume(consume) => {
                let tag = consume.consumer_tag.to_vec();
                if consume.no_wait {
                    channel.silent.insert(tag.clone());
                }
                channel.consumed.entry(tag).or_default().insert(named(consume.queue));
            }
            _ => {}
        }
        let queue = if let Method::BasicGet(get) = method { named(get.queue) } else { None };
        channel.answers.extend(answer(method).map(|answer| (answer, queue)));
    }

    /// The last message is sent so many times more.
    pub fn repeat(&mut self, number: u16, count: u64) {
        let channel = self.channels.entry(number).or_default();
        channel.published = channel.published.map(|before| before + count);
    }

    /// The node sends a method. Returns whether the routing key of a message that came by the default exchange names a queue from which it may come,
    /// as far as that is known.
    pub fn receive(&mut self, number: u16, method: &Method<'_>) -> bool {
        let mut is_from_queue = true;
        let channel = self.channels.entry(number).or_default();
        match method {
            Method::ChannelClose(_) => *channel = ChannelCalls::default(),
            Method::ConnectionClose(close) => {
                let is_blamed = BLAMING.contains(&close.reply_code);
                assert!(self.is_unsure || !is_blamed, "{}", String::from_utf8_lossy(close.reply_text));
                self.is_unsure = true;
            }
            _ if self.is_unsure => {}
            // The answer to a close that crossed one of the node.
            Method::ChannelCloseOk(_) if channel.answers.is_empty() => {}
            Method::BasicDeliver(deliver) => {
                let tag = deliver.consumer_tag;
                let queues = channel.consumed.get(tag);
                is_from_queue = queues.is_none_or(|queues| {
                    queues.iter().any(|queue| queue.as_ref().is_none_or(|queue| queue == deliver.routing_key))
                });
                assert!(
                    !channel.ended.contains(tag) || channel.silent.contains(tag),
                    "a delivery for {tag:?}, which has ended"
                );
            }
            Method::BasicCancel(cancel) => _ = channel.ended.insert(cancel.consumer_tag.to_vec()),
            Method::BasicReturn(_) | Method::BasicAck(_) | Method::BasicNack(_) => {}
            answer if number > 0 => {
                let (expected, queue) = channel.answers.pop_front().unzip();
                let name = if answer.name() == "basic.get-empty" { "basic.get-ok" } else { answer.name() };
                assert_eq!(Some(name), expected, "on channel {number}");
                match answer {
                    Method::BasicGetOk(got) => {
                        is_from_queue = queue.flatten().is_none_or(|queue| queue == got.routing_key);
                    }
                    Method::ChannelCloseOk(_) => (channel.published, channel.ended) = (None, BTreeSet::new()),
                    Method::BasicCancelOk(ok) => _ = channel.ended.insert(ok.consumer_tag.to_vec()),
                    Method::BasicConsumeOk(ok) => _ = channel.ended.remove(ok.consumer_tag),
                    _ => {}
                }
            }
            _ => {}
        }
        is_from_queue
    }

    /// The node has used all that was sent, and the client has read all that was written. `confirmed`: the last confirm of a channel.
    pub fn check(&self, confirmed: impl Fn(u16) -> u64) {
        for (number, channel) in self.channels.iter().filter(|(number, _)| !self.is_unsure && **number > 0) {
            assert!(channel.answers.is_empty(), "{:?} on channel {number} do not come", channel.answers);
            assert!(
                channel.published.is_none_or(|count| count == confirmed(*number)),
                "confirms on channel {number}"
            );
        }
    }
}

/// No queue: the one that was declared last, or direct replies.
fn named(queue: &[u8]) -> Queue {
    (!queue.is_empty() && !queue.starts_with(b"amq.")).then(|| queue.to_vec())
}

fn answer(method: &Method<'_>) -> Option<&'static str> {
    let (name, no_wait) = match method {
        Method::ChannelOpen(_) => ("channel.open-ok", false),
        Method::ChannelClose(_) => ("channel.close-ok", false),
        Method::ChannelFlow(_) => ("channel.flow-ok", false),
        Method::AccessRequest(_) => ("access.request-ok", false),
        Method::ExchangeDeclare(declare) => ("exchange.declare-ok", declare.no_wait),
        Method::ExchangeDelete(delete) => ("exchange.delete-ok", delete.no_wait),
        Method::ExchangeBind(bind) => ("exchange.bind-ok", bind.no_wait),
        Method::ExchangeUnbind(unbind) => ("exchange.unbind-ok", unbind.no_wait),
        Method::QueueDeclare(declare) => ("queue.declare-ok", declare.no_wait),
        Method::QueueBind(bind) => ("queue.bind-ok", bind.no_wait),
        Method::QueueUnbind(_) => ("queue.unbind-ok", false),
        Method::QueuePurge(purge) => ("queue.purge-ok", purge.no_wait),
        Method::QueueDelete(delete) => ("queue.delete-ok", delete.no_wait),
        Method::BasicQos(_) => ("basic.qos-ok", false),
        Method::BasicConsume(consume) => ("basic.consume-ok", consume.no_wait),
        Method::BasicCancel(cancel) => ("basic.cancel-ok", cancel.no_wait),
        Method::BasicGet(_) => ("basic.get-ok", false),
        Method::BasicRecover(_) => ("basic.recover-ok", false),
        Method::ConfirmSelect(select) => ("confirm.select-ok", select.no_wait),
        Method::TxSelect(_) => ("tx.select-ok", false),
        Method::TxCommit(_) => ("tx.commit-ok", false),
        Method::TxRollback(_) => ("tx.rollback-ok", false),
        _ => return None,
    };
    (!no_wait).then_some(name)
}
