//! `Net`: the clock and network of the test kit, between brokers and parties. Each message travels whole.
//!
//! A cut loses all messages in transit, and each end notices at its own time. A link to a party has room for few
//! messages.

use std::time::Duration;

use hairstreak_base::Bytes;
use hairstreak_testkit::{Full, Life, Loss, Network, NetworkEvent, Packet, Path, Rng, Simulator, Trace};

use crate::{Outbox, Sent};

/// Unit of time: the simulation counts milliseconds.
const TICK: Duration = Duration::from_millis(1);
/// Longest latency of a message.
const LATENCY_MAX: u64 = 40;
/// Longest time to notice the end of a link, or to come back.
pub const NOTICE_MAX: u64 = 300;

/// Indexes of the ends of a link.
const BROKER: usize = 0;
pub const PARTY: usize = 1;

pub type Frames = Vec<Vec<u8>>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Node {
    Broker(usize),
    Client(usize),
    Worker(usize),
}

#[derive(Debug)]
pub enum Event {
    Network(NetworkEvent),
    /// A deadline of a broker.
    Timeout(Life<Node>),
    Start(Node),
    /// A party connects to this broker.
    Connect {
        life: Life<Node>,
        broker: usize,
    },
    /// A worker has finished this run.
    Done {
        life: Life<Node>,
        run: u64,
    },
    Tick(Life<Node>),
    Fault,
    Calm,
}

impl From<NetworkEvent> for Event {
    fn from(event: NetworkEvent) -> Event {
        Event::Network(event)
    }
}

pub struct Label {
    /// Result of a broker's sends on a link that is over, before its notice.
    after: Sent,
}

pub struct Net {
    pub sim: Simulator<Event>,
    pub links: Network<Node, Label, Packet<Frames>>,
    pub room_max: usize,
}

impl Net {
    pub fn new(rng: Rng, trace: Trace) -> Net {
        let links = Network::new(Loss::All, NOTICE_MAX);
        Net { sim: Simulator::new(rng, TICK, trace), links, room_max: 64 }
    }

    pub fn open(&mut self, party: Node, broker: usize) -> usize {
        let room = self.sim.rng.usize(1..=self.room_max);
        let after = if self.sim.rng.bool() { Sent::Gone } else { Sent::Done };
        let path = Path { delay_min: 1, delay_max: LATENCY_MAX, capacity: usize::MAX, torn_chance: 0 };
        let to_party = Path { capacity: room, ..path };
        self.links.connect([Node::Broker(broker), party], Label { after }, [to_party, path])
    }

    /// Sends a message of the party to its broker.
    pub fn say(&mut self, link: usize, frames: Frames) {
        let sent = self.links.send(&mut self.sim, link, PARTY, frames);
        assert_eq!(sent, Ok(()), "there is room without end on the way to a broker");
    }

    pub fn cut(&mut self, link: usize) {
        self.sim.note(|| format!("link {link} is cut"));
        self.links.cut(&mut self.sim, link);
    }

    /// Returns the links that are up, in the order in which they were opened.
    pub fn up(&self) -> Vec<usize> {
        self.links.iter().filter(|(_, link)| link.is_up()).map(|(index, _)| index).collect()
    }
}

/// Returns the routing id that a broker uses for the party at the other end of a link.
pub fn peer_of(link: usize) -> [u8; 4] {
    (link as u32).to_be_bytes()
}

/// Outbox that puts the messages of a broker onto its links.
pub struct BrokerOutbox<'a> {
    pub net: &'a mut Net,
    pub broker: usize,
}

impl Outbox for BrokerOutbox<'_> {
    fn send(&mut self, peer: &[u8], head: &[&[u8]], body: &[Bytes]) -> Sent {
        let link = u32::from_be_bytes(peer.try_into().unwrap()) as usize;
        let Net { sim, links, .. } = &mut *self.net;
        let found = &links[link];
        assert_eq!(found.ends[BROKER], Node::Broker(self.broker));
        if !found.is_up() {
            return found.label.after;
        }
        let head = head.iter().map(|frame| frame.to_vec());
        let frames = head.chain(body.iter().map(|frame| frame.as_bytes().to_vec())).collect();
        match links.send(sim, link, BROKER, frames) {
            Ok(()) => Sent::Done,
            Err(Full) => Sent::Full,
        }
    }
}
