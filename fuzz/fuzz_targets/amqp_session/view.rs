//! `View`: what a client gets to see. Frames are well-formed and within the limit, and come when they may.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use hairstreak_wire::amqp::{
    ContentHeader, FRAME_SIZE_MIN, Frame, FrameKind, Method, PROTOCOL_HEADER, Properties, decode_frame,
};

use crate::calls::Calls;

/// The largest frame that the node proposes.
const PROPOSED_FRAME_SIZE: usize = 131_072;

/// The size of the largest body.
const BODY_SIZE_MAX: usize = 530_000;

/// How far the node is with this connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Before connection.open-ok.
    Handshake,
    Open,
    /// connection.close came: only close-ok may follow.
    Closing,
    /// Nothing may follow.
    Over,
}

/// One channel.
#[derive(Debug, Default)]
struct ChannelView {
    is_open: bool,
    /// channel.close came: only close-ok may follow, until the channel is opened again.
    is_closing: bool,
    last_delivery_tag: u64,
    last_confirm_tag: u64,
}

/// The client's answer to a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    ChannelClose(u16),
    ConnectionClose,
}

/// Content on its way: its channel, and the body's size and missing bytes once the header is here.
struct Content {
    channel: u16,
    body: Option<(u64, u64)>,
    /// The message came by the default exchange, and its routing key names another queue than its own.
    is_strayed: bool,
}

pub struct View {
    phase: Phase,
    unread: Vec<u8>,
    frame_size_max: usize,
    channels: BTreeMap<u16, ChannelView>,
    content: Option<Content>,
    is_blocked: bool,
    /// Answers that the client waits for.
    pub calls: Calls,
    /// Names of queues that the node has told.
    pub queues: BTreeSet<Vec<u8>>,
    /// The queue that was told last.
    pub last_queue: Vec<u8>,
    /// The reply-to of the last message.
    pub reply_to: Vec<u8>,
}

impl View {
    /// `frame_size_max`: the client's limit once the connection is open, if it keeps to that.
    pub fn new(frame_size_max: Option<usize>) -> View {
        View {
            phase: Phase::Handshake,
            unread: Vec::new(),
            frame_size_max: frame_size_max.unwrap_or(PROPOSED_FRAME_SIZE),
            channels: BTreeMap::new(),
            content: None,
            is_blocked: false,
            calls: Calls::default(),
            queues: BTreeSet::new(),
            last_queue: Vec::new(),
            reply_to: Vec::new(),
        }
    }

    pub fn last_delivery_tag(&self, channel: u16) -> u64 {
        self.channels.get(&channel).map_or(0, |channel| channel.last_delivery_tag)
    }

    /// Takes what the node has written. `checks_bodies`: bodies are those of [`body`].
    pub fn take(&mut self, bytes: &[u8], checks_bodies: bool) -> Vec<Seen> {
        self.unread.extend_from_slice(bytes);
        let (mut seen, mut at) = (Vec::new(), 0);
        let unread = std::mem::take(&mut self.unread);
        if self.phase == Phase::Handshake && unread.starts_with(b"AMQP") {
            assert_eq!(unread, PROTOCOL_HEADER);
            self.phase = Phase::Over;
            return seen;
        }
        loop {
            let is_open = self.phase != Phase::Handshake;
            let size_max = if is_open { self.frame_size_max } else { FRAME_SIZE_MIN };
            let frame = decode_frame(&unread[at..], size_max);
            let frame = frame.unwrap_or_else(|error| panic!("{error}: {:02x?}", &unread[at..]));
            let Some(frame) = frame else { break };
            at += frame.size();
            seen.extend(self.take_frame(&frame, checks_bodies));
        }
        self.unread = unread[at..].to_vec();
        seen
    }

    /// The node has used all that was sent, and the client has taken all that was written.
    pub fn check(&self) {
        if self.phase == Phase::Open {
            self.calls
                .check(|number| self.channels.get(&number).map_or(0, |channel| channel.last_confirm_tag));
        }
    }

    /// The node writes nothing more.
    pub fn end(&self) {
        assert!(self.unread.is_empty(), "part of a frame: {:02x?}", self.unread);
        assert!(self.content.is_none(), "part of a message");
    }

    fn take_frame(&mut self, frame: &Frame<'_>, checks_bodies: bool) -> Option<Seen> {
        assert!(self.phase != Phase::Over, "{frame:?} behind the end");
        match frame.kind {
            FrameKind::Method => {
                assert!(self.content.is_none(), "a method within content");
                let method = Method::decode(frame.payload);
                let method = method.unwrap_or_else(|error| panic!("{error}: {:02x?}", frame.payload));
                let is_from_queue = self.calls.receive(frame.channel, &method);
                if frame.channel == 0 {
                    self.take_connection_method(&method)
                } else {
                    self.take_method(frame.channel, &method, is_from_queue)
                }
            }
            FrameKind::Header => {
                let content = self.content.as_mut().expect("a content header without its method");
                assert!(content.channel == frame.channel && content.body.is_none());
                let header = ContentHeader::decode(frame.payload).expect("a content header");
                let properties = Properties::decode(header.properties).expect("properties");
                // Copies and dead letters have headers.
                assert!(!content.is_strayed || properties.headers.is_some(), "a message from a wrong queue");
                if let Some(reply_to) = properties.reply_to {
                    self.reply_to = reply_to.to_vec();
                }
                content.body = Some((header.body_size, header.body_size));
                self.end_content();
                None
            }
            FrameKind::Body => {
                let content = self.content.as_mut().expect("a body without its method");
                let (size, missing) = content.body.as_mut().expect("a body without its header");
                assert!(content.channel == frame.channel && !frame.payload.is_empty());
                let at = *size - *missing;
                *missing = missing
                    .checked_sub(frame.payload.len() as u64)
                    .expect("a body longer than its header says");
                if checks_bodies {
                    assert!(frame.payload == body(*size, at, frame.payload.len()), "a changed body");
                }
                self.end_content();
                None
            }
            FrameKind::Heartbeat => {
                assert!(frame.channel == 0 && frame.payload.is_empty() && self.content.is_none());
                None
            }
        }
    }

    fn end_content(&mut self) {
        if self.content.as_ref().is_some_and(|content| matches!(content.body, Some((_, 0)))) {
            self.content = None;
        }
    }

    fn take_connection_method(&mut self, method: &Method<'_>) -> Option<Seen> {
        match (self.phase, method) {
            (Phase::Handshake, Method::ConnectionStart(_) | Method::ConnectionTune(_)) => {}
            (Phase::Handshake, Method::ConnectionOpenOk(_)) => self.phase = Phase::Open,
            (Phase::Open, Method::ConnectionUpdateSecretOk(_)) => {}
            (Phase::Open, Method::ConnectionBlocked(_)) => {
                assert!(!std::mem::replace(&mut self.is_blocked, true), "blocked twice");
            }
            (Phase::Open, Method::ConnectionUnblocked(_)) => {
                assert!(std::mem::take(&mut self.is_blocked), "unblocked, but not blocked");
            }
            (Phase::Handshake | Phase::Open, Method::ConnectionClose(_)) => {
                self.phase = Phase::Closing;
                return Some(Seen::ConnectionClose);
            }
            (_, Method::ConnectionCloseOk(_)) => self.phase = Phase::Over,
            (phase, other) => panic!("{} in phase {phase:?}", other.name()),
        }
        None
    }

    fn take_method(&mut self, number: u16, method: &Method<'_>, is_from_queue: bool) -> Option<Seen> {
        assert_eq!(self.phase, Phase::Open, "{} on channel {number}", method.name());
        let channel = self.channels.entry(number).or_default();
        match method {
            Method::ChannelOpenOk(_) => {
                assert!(!channel.is_open, "opened twice");
                *channel = ChannelView { is_open: true, ..ChannelView::default() };
                return None;
            }
            Method::ChannelCloseOk(_) => {
                assert!(channel.is_open || channel.is_closing, "close-ok on a closed channel");
                channel.is_open = false;
                return None;
            }
            other => assert!(channel.is_open, "{} on a channel that is not open", other.name()),
        }
        match method {
            Method::ChannelClose(_) => {
                (channel.is_open, channel.is_closing) = (false, true);
                return Some(Seen::ChannelClose(number));
            }
            Method::BasicDeliver(deliver) => {
                channel.take_delivery(deliver.delivery_tag);
                let is_strayed = deliver.exchange.is_empty() && !is_from_queue;
                self.content = Some(Content { channel: number, body: None, is_strayed });
            }
            Method::BasicGetOk(got) => {
                channel.take_delivery(got.delivery_tag);
                let is_strayed = got.exchange.is_empty() && !is_from_queue;
                self.content = Some(Content { channel: number, body: None, is_strayed });
            }
            Method::BasicReturn(_) => {
                self.content = Some(Content { channel: number, body: None, is_strayed: false })
            }
            Method::BasicAck(ack) => channel.take_confirm(ack.delivery_tag, ack.multiple),
            Method::BasicNack(nack) => channel.take_confirm(nack.delivery_tag, nack.multiple),
            Method::QueueDeclareOk(declared) => {
                self.last_queue = declared.queue.to_vec();
                self.queues.insert(declared.queue.to_vec());
            }
            Method::ChannelFlowOk(_)
            | Method::AccessRequestOk(_)
            | Method::ExchangeDeclareOk(_)
            | Method::ExchangeDeleteOk(_)
            | Method::ExchangeBindOk(_)
            | Method::ExchangeUnbindOk(_)
            | Method::QueueBindOk(_)
            | Method::QueueUnbindOk(_)
            | Method::QueuePurgeOk(_)
            | Method::QueueDeleteOk(_)
            | Method::BasicQosOk(_)
            | Method::BasicConsumeOk(_)
            | Method::BasicCancelOk(_)
            | Method::BasicCancel(_)
            | Method::BasicGetEmpty(_)
            | Method::BasicRecoverOk(_)
            | Method::ConfirmSelectOk(_)
            | Method::TxSelectOk(_)
            | Method::TxCommitOk(_)
            | Method::TxRollbackOk(_) => {}
            other => panic!("{} is for clients only", other.name()),
        }
        None
    }
}

impl ChannelView {
    fn take_delivery(&mut self, tag: u64) {
        assert_eq!(tag, self.last_delivery_tag + 1, "the delivery tag");
        self.last_delivery_tag = tag;
    }

    /// Each publish is confirmed once, in order.
    fn take_confirm(&mut self, tag: u64, is_multiple: bool) {
        let least = self.last_confirm_tag + 1;
        assert!(if is_multiple { tag >= least } else { tag == least }, "confirm {tag} behind {least}");
        self.last_confirm_tag = tag;
    }
}

/// `count` bytes of a body of `size` bytes, from `at` on: a body tells its size, and each byte its place.
pub fn body(size: u64, at: u64, count: usize) -> &'static [u8] {
    static BYTES: LazyLock<Vec<u8>> = LazyLock::new(|| (0..256 + BODY_SIZE_MAX).map(|at| at as u8).collect());
    let first = size.wrapping_mul(31).wrapping_add(at) as u8;
    &BYTES[usize::from(first)..][..count]
}
