//! `Endpoint`: one end of a link. It converts frames to bytes and back, and a hostile end changes them.

use hairstreak_wire::settlement::Entry;
use hairstreak_wire::settlement::{
    Content, Outcome, SettlementError, SettlementTerms, TaskId, TaskRun, command,
};
use hairstreak_wire::zmtp::frame::{self, COMMAND_SIZE_MAX, HEADER_SIZE_MAX};
use hairstreak_wire::zmtp::{self, Command, CommandError, FrameError, MetadataError, metadata};

use crate::net::Net;

/// The reason for which an end gives its link up.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    #[error(transparent)]
    Settlement(#[from] SettlementError),
    #[error(transparent)]
    Frame(#[from] FrameError),
    #[error(transparent)]
    Command(#[from] CommandError),
    #[error(transparent)]
    Metadata(#[from] MetadataError),
    #[error("a message or a command before READY, READY again, or a READY without terms")]
    Handshake,
}

/// One frame's body.
#[derive(Debug)]
pub enum Frame {
    Message(Vec<u8>),
    Command(Vec<u8>),
}

/// One end.
#[derive(Debug)]
pub struct Endpoint {
    pub link: usize,
    pub end: usize,
    inbox: Vec<u8>,
    read: usize,
    outbox: Vec<u8>,
    /// The total number of bytes that went out.
    pub flushed: u64,
    /// A frame that a hostile end sends after the next one.
    held_back: Vec<u8>,
}

impl Endpoint {
    pub fn new(link: usize, end: usize) -> Endpoint {
        Endpoint {
            link,
            end,
            inbox: Vec::new(),
            read: 0,
            outbox: Vec::new(),
            flushed: 0,
            held_back: Vec::new(),
        }
    }

    pub fn receive(&mut self, bytes: &[u8]) {
        self.inbox.drain(..self.read);
        self.read = 0;
        self.inbox.extend(bytes);
    }

    pub fn next_frame(&mut self) -> Result<Option<Frame>, LinkError> {
        let unread = &self.inbox[self.read..];
        let header = frame::decode_header(unread, COMMAND_SIZE_MAX)?;
        let Some(header) = header else { return Ok(None) };
        let end = header.header_size + header.body_size;
        let Some(body) = unread.get(header.header_size..end) else { return Ok(None) };
        let body = body.to_vec();
        self.read += end;
        Ok(Some(if header.command { Frame::Command(body) } else { Frame::Message(body) }))
    }

    /// The place of the next pushed byte.
    pub fn position(&self) -> u64 {
        self.flushed + self.outbox.len() as u64
    }

    pub fn push_ready(&mut self, terms: SettlementTerms) {
        let (name, value) = terms.to_property();
        let mut properties = Vec::new();
        metadata::encode(&mut properties, &name, &value);
        zmtp::command::encode_ready(&mut self.outbox, &properties);
    }

    pub fn push_message(&mut self, net: &mut Net, body: &[u8]) {
        let mut header = [0; HEADER_SIZE_MAX];
        let size = frame::encode_header(&mut header, false, false, body.len());
        self.push_frames(net, &[&header[..size], body].concat());
    }

    /// Appends whole frames.
    pub fn push_frames(&mut self, net: &mut Net, mut frames: &[u8]) {
        if !net.links[self.link].label.is_tampered || net.is_calm {
            self.outbox.append(&mut self.held_back);
            self.outbox.extend(frames);
            return;
        }
        while let Ok(Some(header)) = frame::decode_header(frames, COMMAND_SIZE_MAX) {
            let (frame, behind) = frames.split_at(header.header_size + header.body_size);
            let mut held_back = std::mem::take(&mut self.held_back);
            let what = net.sim.rng.u8(0..20);
            match what {
                0 => {}
                1 => self.outbox.extend([frame, frame].concat()),
                2 => self.held_back.extend(frame),
                3 => {
                    self.outbox.extend(frame);
                    push_nonsense(net, &mut self.outbox);
                }
                _ => self.outbox.extend(frame),
            }
            if what < 4 {
                let (link, end) = (self.link, self.end);
                net.sim.note(|| format!("link {link} end {end}: tampers ({what})"));
            }
            self.outbox.append(&mut held_back);
            frames = behind;
        }
    }

    /// Writes the bytes that the stream takes.
    pub fn flush(&mut self, net: &mut Net) {
        if !self.outbox.is_empty() {
            let count = net.write(self.link, self.end, &self.outbox);
            self.outbox.drain(..count);
            self.flushed += count as u64;
        }
    }
}

/// The terms in a READY.
pub fn terms_in(body: &[u8]) -> Result<SettlementTerms, LinkError> {
    match zmtp::command::parse(body)? {
        Command::Ready { metadata: properties } => {
            let properties = metadata::parse(properties)?;
            SettlementTerms::of(&properties).ok().flatten().ok_or(LinkError::Handshake)
        }
        _ => Err(LinkError::Handshake),
    }
}

/// A well-formed command with small numbers at random.
fn push_nonsense(net: &mut Net, out: &mut Vec<u8>) {
    let mut number = |max| net.sim.rng.u64(0..max);
    match number(7) {
        0 => {
            let id = TaskId { epoch: number(2), sequence: number(100) };
            let content = [Content::Message, Content::Nothing, Content::Group][number(3) as usize];
            let run = TaskRun { id, deliveries: number(3) as u16, content };
            command::encode_tasks(out, run);
        }
        1 => command::encode_end(out, number(50)),
        2 => command::encode_credit(out, number(100)),
        3 => command::encode_drain(out),
        4 => {
            let first = TaskId { epoch: number(2), sequence: number(100) };
            let count = [1, 1 + number(50), u64::MAX][number(3) as usize];
            command::encode_done(out, &[(first, count)]);
        }
        kind => {
            let mut entries = Vec::new();
            for _ in 0..number(3) {
                let first = number(40);
                let outcome = [Outcome::Accepted, Outcome::Released, Outcome::Rejected][number(3) as usize];
                let entry = Entry { outcome, first, last: first + number(4), reason: b"nonsense" };
                command::encode_entry(&mut entries, &entry);
            }
            command::encode_settle(out, if kind == 5 { 0 } else { number(40) }, &entries);
        }
    }
}
