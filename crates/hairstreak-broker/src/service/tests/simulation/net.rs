//! Connections between parties and brokers: each way in order, each at its own pace, until it ends.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use fastrand::Rng;
use hairstreak_base::Frame;

use crate::service::{Outbox, Sent};

/// The longest a message is under way.
pub const LATENCY_MAX: u64 = 40;

pub type Frames = Vec<Vec<u8>>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Party {
    Client(usize),
    Worker(usize),
}

#[derive(Debug)]
pub enum Event {
    /// A message is at the broker's end of the link.
    ToBroker {
        link: u32,
        frames: Frames,
    },
    /// One is at the party's.
    ToParty {
        link: u32,
        frames: Frames,
    },
    /// The broker notices that the link is over.
    BrokerNotice {
        link: u32,
    },
    /// The party does.
    PartyNotice {
        link: u32,
    },
    BrokerTimeout {
        broker: usize,
        life: u32,
    },
    StartBroker(usize),
    Start(Party),
    Connect {
        party: Party,
        life: u32,
        broker: usize,
    },
    Done {
        worker: usize,
        life: u32,
        run: u64,
    },
    Tick {
        party: Party,
        life: u32,
    },
    Fault,
    Calm,
}

pub struct Link {
    pub party: Party,
    pub life: u32,
    pub broker: usize,
    pub broker_life: u32,
    /// Messages go through.
    pub is_up: bool,
    /// The party does not read until then.
    pub paused_until: u64,
    /// Messages to the party that have not arrived.
    in_flight: usize,
    room: usize,
    /// When the last message of each way arrives.
    arrival: [u64; 2],
    /// What a broker is told of a link that is over, before its notice.
    after: Sent,
}

pub struct Net {
    pub now: u64,
    pub rng: Rng,
    pub links: HashMap<u32, Link>,
    next_link: u32,
    events: BTreeMap<(u64, u64), Event>,
    next_event: u64,
    pub trace: Option<Vec<String>>,
    pub room_max: usize,
}

impl Net {
    pub fn new(rng: Rng, is_traced: bool) -> Net {
        Net {
            now: 0,
            rng,
            links: HashMap::new(),
            next_link: 0,
            events: BTreeMap::new(),
            next_event: 0,
            trace: is_traced.then(Vec::new),
            room_max: 64,
        }
    }

    pub fn time(&self) -> Duration {
        Duration::from_millis(self.now)
    }

    pub fn note(&mut self, text: impl FnOnce() -> String) {
        let now = self.now;
        if let Some(trace) = &mut self.trace {
            trace.push(format!("{now} {}", text()));
        }
    }

    pub fn at(&mut self, time: u64, event: Event) {
        self.next_event += 1;
        self.events.insert((time.max(self.now), self.next_event), event);
    }

    pub fn within(&mut self, longest: u64, event: Event) {
        let time = self.now + self.rng.u64(..=longest);
        self.at(time, event);
    }

    pub fn next(&mut self) -> Option<Event> {
        let ((time, _), event) = self.events.pop_first()?;
        self.now = time;
        Some(event)
    }

    pub fn open(&mut self, party: Party, life: u32, broker: usize, broker_life: u32) -> u32 {
        self.next_link += 1;
        let room = self.rng.usize(1..=self.room_max);
        let after = if self.rng.bool() { Sent::Gone } else { Sent::Done };
        let arrival = [self.now; 2];
        let link = Link {
            party,
            life,
            broker,
            broker_life,
            is_up: true,
            paused_until: 0,
            in_flight: 0,
            room,
            arrival,
            after,
        };
        self.links.insert(self.next_link, link);
        self.next_link
    }

    /// The party says something to its broker.
    pub fn say(&mut self, link: u32, frames: Frames) {
        let delay = self.rng.u64(1..=LATENCY_MAX);
        let Some(found) = self.links.get_mut(&link).filter(|link| link.is_up) else { return };
        found.arrival[0] = found.arrival[0].max(self.now + delay);
        let arrival = found.arrival[0];
        self.at(arrival, Event::ToBroker { link, frames });
    }

    pub fn has_arrived(&mut self, link: u32) {
        if let Some(link) = self.links.get_mut(&link) {
            link.in_flight -= 1;
        }
    }

    /// The link is over; each end notices in its own time. What is under way is lost.
    pub fn cut(&mut self, link: u32, notice_max: u64) {
        let Some(found) = self.links.get_mut(&link).filter(|link| link.is_up) else { return };
        found.is_up = false;
        let party = found.party;
        self.note(|| format!("link {link} of {party:?} is cut"));
        self.within(notice_max, Event::BrokerNotice { link });
        self.within(notice_max, Event::PartyNotice { link });
    }

    /// Links that are up, in a fixed order.
    pub fn up(&self) -> Vec<u32> {
        let mut links: Vec<u32> =
            self.links.iter().filter(|(_, link)| link.is_up).map(|(id, _)| *id).collect();
        links.sort_unstable();
        links
    }
}

/// What a broker says goes onto its links.
pub struct BrokerOutbox<'a> {
    pub net: &'a mut Net,
    pub broker: usize,
}

impl Outbox for BrokerOutbox<'_> {
    fn send(&mut self, peer: &[u8], head: &[&[u8]], body: &[Frame]) -> Sent {
        let id = u32::from_be_bytes(peer.try_into().unwrap());
        let now = self.net.now;
        let delay = self.net.rng.u64(1..=LATENCY_MAX);
        let Some(link) = self.net.links.get_mut(&id) else { return Sent::Gone };
        assert_eq!(link.broker, self.broker);
        if !link.is_up {
            return link.after;
        }
        if link.in_flight >= link.room {
            return Sent::Full;
        }
        link.in_flight += 1;
        link.arrival[1] = link.arrival[1].max(now + delay).max(link.paused_until);
        let arrival = link.arrival[1];
        let head = head.iter().map(|frame| frame.to_vec());
        let frames = head.chain(body.iter().map(|frame| frame.as_bytes().to_vec())).collect();
        self.net.at(arrival, Event::ToParty { link: id, frames });
        Sent::Done
    }
}
