//! `Net`: the test kit's clock and network with what a seed decided, and who talks about what.
//!
//! A link is two streams of bytes. When a link is cut, some of what is under way still comes, the rest never does, and each
//! end learns of it at a time of its own.

use std::time::Duration;

use hairstreak_testkit::{Life, Loss, Network, NetworkEvent, Path, Rng, Simulator, Trace};

use crate::scenario::Scenario;

/// Times are in microseconds.
const TICK: Duration = Duration::from_micros(1);

/// A participant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Party {
    Ventilator,
    Worker(usize),
    Sink,
}

/// What a link carries. End 0 sends the messages, of which there are none for reports, end 1 receives and has connected if it
/// is a worker of tasks or a sink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    Tasks,
    Results,
    Reports,
    Control,
}

/// What is known of a link.
#[derive(Debug)]
pub struct Label {
    pub load: Load,
    /// An end of it does not keep to the rules.
    pub is_tampered: bool,
}

/// What happens.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// Bytes, or the end of a link.
    Network(NetworkEvent),
    /// The party, in this life, connects.
    Connect { life: Life<Party>, load: Load },
    /// The party comes back.
    Start(Party),
    /// The party has done what it was at.
    GoOn { life: Life<Party>, turn: u32 },
    /// A busy party's senders are told what is settled.
    Tell(Life<Party>),
    /// The ventilator tells its sink what is settled.
    Floor,
    /// Something goes wrong.
    Fault,
    /// Nothing goes wrong any more.
    Calm,
}

impl From<NetworkEvent> for Event {
    fn from(event: NetworkEvent) -> Event {
        Event::Network(event)
    }
}

pub struct Net {
    pub sim: Simulator<Event>,
    pub links: Network<Party, Label, Vec<u8>>,
    pub scenario: Scenario,
    pub is_calm: bool,
}

impl Net {
    pub fn new(scenario: Scenario, rng: Rng, trace: Trace) -> Net {
        let links = Network::new(Loss::Tail, scenario.notice_max);
        Net { sim: Simulator::new(rng, TICK, trace), links, scenario, is_calm: false }
    }

    pub fn connect(&mut self, load: Load, parties: [Party; 2]) -> usize {
        let Scenario { capacity, delay_max, torn_chance, .. } = self.scenario;
        let path = Path { delay_min: 0, delay_max, capacity, torn_chance };
        let link = self.links.connect(parties, Label { load, is_tampered: false }, [path; 2]);
        self.sim.note(|| format!("link {link}: {load:?} of {parties:?}"));
        link
    }

    /// Writes what the stream takes of `bytes`. Returns how many.
    pub fn write(&mut self, link: usize, end: usize, bytes: &[u8]) -> usize {
        self.links.write(&mut self.sim, link, end, bytes)
    }
}
