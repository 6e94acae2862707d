//! `Net`: the virtual clock, what happens next, and byte streams that are slow, torn and cut.
//!
//! A link is two streams; what is written arrives in order, in pieces, later. When a link is cut, some of what is under way
//! still comes, the rest never does, and each end learns of it at a time of its own.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use fastrand::Rng;

use crate::scenario::Scenario;

/// A participant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Party {
    Ventilator,
    Worker(usize),
    Sink,
}

/// What a link carries. End 0 sends the messages, of which there are none for reports, end 1 receives and has connected if it
/// is a worker of tasks or a sink.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Load {
    Tasks,
    Results,
    Reports,
    Control,
}

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// Bytes, at this end of the link.
    Arrive { link: usize, end: usize },
    /// This end learns that the link is over.
    Over { link: usize, end: usize },
    /// The party, in this life, connects.
    Connect { party: Party, life: u32, load: Load },
    /// The party comes back.
    Start(Party),
    /// The party has done what it was at.
    GoOn { party: Party, life: u32, turn: u32 },
    /// A busy party's senders are told what is settled.
    Tell { party: Party, life: u32 },
    /// The ventilator tells its sink what is settled.
    Floor,
    /// Something goes wrong.
    Fault,
    /// Nothing goes wrong any more.
    Calm,
}

#[derive(Debug, Default)]
struct Stream {
    pieces: VecDeque<(u64, Vec<u8>)>,
    size: usize,
    last: u64,
}

#[derive(Debug)]
pub struct Link {
    pub load: Load,
    pub parties: [Party; 2],
    pub is_open: [bool; 2],
    pub is_cut: bool,
    /// An end of it does not keep to the rules.
    pub is_tampered: bool,
    /// What end 0 says, and end 1.
    streams: [Stream; 2],
}

pub struct Net {
    pub now: u64,
    pub rng: Rng,
    pub scenario: Scenario,
    pub links: Vec<Link>,
    pub is_calm: bool,
    queue: BinaryHeap<Reverse<(u64, u64, Event)>>,
    order: u64,
    /// What happened, if somebody wants to know.
    pub trace: Option<Vec<String>>,
}

impl Net {
    pub fn new(scenario: Scenario, rng: Rng, is_traced: bool) -> Net {
        Net {
            now: 0,
            rng,
            scenario,
            links: Vec::new(),
            is_calm: false,
            queue: BinaryHeap::new(),
            order: 0,
            trace: is_traced.then(Vec::new),
        }
    }

    pub fn note(&mut self, what: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            trace.push(format!("{:>9} {}", self.now, what()));
        }
    }

    pub fn at(&mut self, time: u64, event: Event) {
        self.order += 1;
        self.queue.push(Reverse((time.max(self.now), self.order, event)));
    }

    pub fn within(&mut self, delay_max: u64, event: Event) {
        let delay = self.rng.u64(0..=delay_max);
        self.at(self.now + delay, event);
    }

    pub fn next(&mut self) -> Option<Event> {
        let Reverse((time, _, event)) = self.queue.pop()?;
        self.now = time;
        Some(event)
    }

    pub fn chance(&mut self, percent: u8) -> bool {
        percent > 0 && self.rng.u8(0..100) < percent
    }

    pub fn connect(&mut self, load: Load, parties: [Party; 2]) -> usize {
        let link = self.links.len();
        self.links.push(Link {
            load,
            parties,
            is_open: [true; 2],
            is_cut: false,
            is_tampered: false,
            streams: [Stream::default(), Stream::default()],
        });
        self.note(|| format!("link {link}: {load:?} of {parties:?}"));
        link
    }

    /// Writes what the stream takes of `bytes`. Returns how many.
    pub fn write(&mut self, link: usize, end: usize, bytes: &[u8]) -> usize {
        let (is_cut, size) = (self.links[link].is_cut, self.links[link].streams[end].size);
        if is_cut {
            return bytes.len();
        }
        let count = bytes.len().min(self.scenario.capacity.saturating_sub(size));
        let mut rest = &bytes[..count];
        while !rest.is_empty() {
            let is_torn = self.chance(self.scenario.torn_chance);
            let size = if is_torn { self.rng.usize(1..=rest.len()) } else { rest.len() };
            let (piece, behind) = rest.split_at(size);
            let due = self.now + self.rng.u64(0..=self.scenario.delay_max);
            let stream = &mut self.links[link].streams[end];
            stream.last = stream.last.max(due);
            let due = stream.last;
            stream.pieces.push_back((due, piece.to_vec()));
            stream.size += size;
            self.at(due, Event::Arrive { link, end: 1 - end });
            rest = behind;
        }
        count
    }

    /// What has arrived at this end.
    pub fn read(&mut self, link: usize, end: usize) -> Vec<u8> {
        let now = self.now;
        let stream = &mut self.links[link].streams[1 - end];
        let mut bytes = Vec::new();
        while let Some((_, piece)) = stream.pieces.pop_front_if(|(due, _)| *due <= now) {
            stream.size -= piece.len();
            bytes.extend(piece);
        }
        bytes
    }

    /// Cuts a link: each end that is open learns of it within `notice_max`.
    pub fn cut(&mut self, link: usize, notice_max: u64) {
        if std::mem::replace(&mut self.links[link].is_cut, true) {
            return;
        }
        for end in 0..2 {
            let mut left = self.rng.usize(0..=self.links[link].streams[end].size);
            let stream = &mut self.links[link].streams[end];
            stream.pieces.retain_mut(|(_, piece)| {
                piece.truncate(left);
                left -= piece.len();
                !piece.is_empty()
            });
            stream.size = stream.pieces.iter().map(|(_, piece)| piece.len()).sum();
            if self.links[link].is_open[end] {
                self.within(notice_max, Event::Over { link, end });
            }
        }
    }

    /// This end knows that the link is over.
    pub fn close(&mut self, link: usize, end: usize) {
        self.links[link].is_open[end] = false;
        let notice_max = self.scenario.notice_max;
        self.cut(link, notice_max);
    }

    /// This end closes its link: what it has written still comes, and then the other end learns of it.
    pub fn finish(&mut self, link: usize, end: usize) {
        let own = &mut self.links[link];
        own.is_open[end] = false;
        if !std::mem::replace(&mut own.is_cut, true) {
            own.streams[1 - end] = Stream::default();
            let last = own.streams[end].last;
            self.at(last, Event::Over { link, end: 1 - end });
        }
    }

    /// The links of a party that it believes to be open, and which end is its own.
    pub fn links_of(&self, party: Party) -> Vec<(usize, usize)> {
        let all = self.links.iter().enumerate().flat_map(|(index, link)| {
            (0..2)
                .filter(move |end| link.parties[*end] == party && link.is_open[*end])
                .map(move |end| (index, end))
        });
        all.collect()
    }
}
