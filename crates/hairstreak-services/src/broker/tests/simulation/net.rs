//! `Net`: the test kit's clock and network, between brokers and parties; each message travels whole.
//!
//! A cut loses all that is under way, and each end notices in its own time. A link to a party has room for few messages.

use std::time::Duration;

use hairstreak_base::Bytes;
use hairstreak_testkit::{Full, Life, Loss, Network, NetworkEvent, Packet, Path, Rng, Simulator, Trace};

use crate::{Outbox, Sent};

/// Times are in milliseconds.
const TICK: Duration = Duration::from_millis(1);
/// The longest a message is under way.
const LATENCY_MAX: u64 = 40;
/// How long it takes to notice that a link is over, and to come back.
pub const NOTICE_MAX: u64 = 300;

/// The ends of a link.
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
    /// A broker wants to be told the time.
    Timeout(Life<Node>),
    Start(Node),
    /// A party connects to this broker.
    Connect {
        life: Life<Node>,
        broker: usize,
    },
    /// A worker is done with what it began as this run.
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
    /// What a broker is told of a link that is over, before its notice.
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

    /// The party says something to its broker.
    pub fn say(&mut self, link: usize, frames: Frames) {
        let sent = self.links.send(&mut self.sim, link, PARTY, frames);
        assert_eq!(sent, Ok(()), "there is room without end on the way to a broker");
    }

    pub fn cut(&mut self, link: usize) {
        self.sim.note(|| format!("link {link} is cut"));
        self.links.cut(&mut self.sim, link);
    }

    /// Links that are up, in the order in which they were opened.
    pub fn up(&self) -> Vec<usize> {
        self.links.iter().filter(|(_, link)| link.is_up()).map(|(index, _)| index).collect()
    }
}

/// What a broker calls the party at the other end of a link.
pub fn peer_of(link: usize) -> [u8; 4] {
    (link as u32).to_be_bytes()
}

/// What a broker says goes onto its links.
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
