//! Messages: an operator takes or views some by hand.

use std::thread;
use std::time::{Duration, Instant};

use hairstreak_broker::Refusal;
use hairstreak_broker::message::MessageView;
use hairstreak_broker::vhost::GetOutcome;

use super::error::OperatorError;
use super::virtual_hosts::live;
use crate::node::{HostState, Node, OPERATORS, SharedHost};

/// The bytes of bodies that one request takes.
const BODIES_BYTES_MAX: usize = 64 << 20;

/// Longest wait for messages that are read from the disk, and the time between two looks.
const READ_TIME_MAX: Duration = Duration::from_secs(10);
const READ_POLL_INTERVAL: Duration = Duration::from_millis(1);

/// The fate of messages that are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckMode {
    /// The messages are removed with their delivery, and count as taken without acknowledgement, as in RabbitMQ.
    Take,
    /// They are settled as rejected: dead letters if the queue has an exchange for them.
    Reject,
    /// They return to their places, marked as redelivered.
    Return,
}

/// A message that was taken or viewed.
#[derive(Clone, Debug, PartialEq)]
pub struct TakenMessage {
    /// The exchange.
    pub exchange: Box<[u8]>,
    /// The routing key.
    pub routing_key: Box<[u8]>,
    /// True if the message may have been delivered before.
    pub is_redelivered: bool,
    /// Messages that wait behind.
    pub message_count: u32,
    /// The properties as they are encoded.
    pub properties: Box<[u8]>,
    /// The body, or its first bytes.
    pub body: Vec<u8>,
    /// The size of the whole body, in bytes.
    pub body_size: usize,
}

/// Takes up to `count` messages from a queue. Bodies are cut to `body_bytes_max`.
///
/// # Errors
///
/// There is no such queue, or an error of basic.get.
pub fn take(
    node: &Node,
    virtual_host: &str,
    queue: &[u8],
    (count, mode): (usize, AckMode),
    body_bytes_max: usize,
) -> Result<Vec<TakenMessage>, OperatorError> {
    let host = live(node, virtual_host)?;
    let (channel, _) = node.act(&host, |state, _| state.host.open_channel(OPERATORS, 0));
    let channel = channel?;
    let (mut taken, mut bytes): (Vec<TakenMessage>, usize) = (Vec::new(), 0);
    let result = loop {
        if let Err(error) = await_front(node, &host, queue) {
            break Err(error);
        }
        let (got, _) = node.act(&host, |HostState { host, outlets, .. }, now| {
            while taken.len() < count && bytes < BODIES_BYTES_MAX {
                let outcome =
                    host.get(channel, queue, mode == AckMode::Take, now, outlets, |_, got, message| {
                        let copied = copy(message, got.is_redelivered, got.message_count, body_bytes_max);
                        bytes += copied.body.len();
                        taken.push(copied);
                    })?;
                if outcome != GetOutcome::Taken {
                    return Ok(outcome);
                }
            }
            Ok::<_, Refusal>(GetOutcome::Taken)
        });
        match got {
            Ok(GetOutcome::OnDisk) => {}
            Ok(GetOutcome::Taken | GetOutcome::Empty) => break Ok(()),
            Err(refusal) => break Err(refusal.into()),
        }
    };
    let (settled, _) = node.act(&host, |HostState { host, outlets, .. }, now| {
        if mode == AckMode::Take || taken.is_empty() {
            return Ok(());
        }
        // Tag 0 means all deliveries, of which the channel has some.
        host.reject(channel, 0, true, mode == AckMode::Return, now, outlets)
    });
    // Very many messages are settled only now.
    node.act(&host, |HostState { host, outlets, .. }, now| host.close_channel(channel, now, outlets));
    result?;
    settled?;
    Ok(taken)
}

/// Shows up to `count` waiting messages behind the first `offset`, in the order of their delivery. Nothing changes. Bodies are
/// cut to `body_bytes_max`.
///
/// # Errors
///
/// There is no such queue, or the queue is exclusive to a connection.
pub fn peek(
    node: &Node,
    virtual_host: &str,
    queue: &[u8],
    (offset, count): (usize, usize),
    body_bytes_max: usize,
) -> Result<Vec<TakenMessage>, OperatorError> {
    let host = live(node, virtual_host)?;
    await_front(node, &host, queue)?;
    let state = host.lock();
    let host = &state.host;
    let ready = host.queue(queue).ok_or(OperatorError::NotFound)?.ready;
    host.check_access(OPERATORS, queue)?;
    let mut shown: Vec<TakenMessage> = Vec::new();
    let mut bytes = 0;
    host.peek(queue, offset, count, |message, info| {
        if bytes < BODIES_BYTES_MAX {
            let behind = (ready as usize).saturating_sub(info.position + 1);
            let behind = behind.try_into().unwrap_or(u32::MAX);
            let copied = copy(message, info.is_redelivered, behind, body_bytes_max);
            bytes += copied.body.len();
            shown.push(copied);
        }
    });
    Ok(shown)
}

/// Waits until the first message of a queue need not wait for the disk.
fn await_front(node: &Node, host: &SharedHost, queue: &[u8]) -> Result<(), OperatorError> {
    let end = Instant::now() + READ_TIME_MAX;
    while node.act(host, |state, _| state.host.want_front(queue)).0 {
        if Instant::now() >= end {
            let text = format!("the disk has not answered for {} seconds", READ_TIME_MAX.as_secs());
            return Err(OperatorError::Unwritten(text));
        }
        thread::sleep(READ_POLL_INTERVAL);
    }
    Ok(())
}

fn copy(
    message: &MessageView<'_>,
    is_redelivered: bool,
    message_count: u32,
    body_bytes_max: usize,
) -> TakenMessage {
    let body = message.body.as_bytes();
    TakenMessage {
        exchange: message.exchange.into(),
        routing_key: message.routing_key.into(),
        is_redelivered,
        message_count,
        properties: message.properties.into(),
        body: body[..body.len().min(body_bytes_max)].to_vec(),
        body_size: body.len(),
    }
}
