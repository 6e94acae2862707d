//! `Net`: the clock and the network of the test kit, with the choices of a seed, and the links between parties.
//!
//! A link is two streams of bytes. When a link is cut, some bytes under way still arrive, the others are lost, and each
//! end notices the cut at a time of its own.

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

/// The content of a link. End 0 sends the messages, of which there are none for reports. End 1 receives, and has connected if it
/// is a worker of tasks or a sink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    Tasks,
    Results,
    Reports,
    Control,
}

/// The state of a link.
#[derive(Debug)]
pub struct Label {
    pub load: Load,
    /// `true` if an end of the link breaks the rules.
    pub is_tampered: bool,
}

/// An event.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// Bytes, or the end of a link.
    Network(NetworkEvent),
    /// The party, in this life, connects.
    Connect { life: Life<Party>, load: Load },
    /// The party comes back.
    Start(Party),
    /// The party has finished its current work.
    GoOn { life: Life<Party>, turn: u32 },
    /// A busy party tells its senders the settlements.
    Tell(Life<Party>),
    /// The ventilator tells its sink the settlements.
    Floor,
    /// A fault.
    Fault,
    /// The end of all faults.
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

    /// Writes as many of `bytes` as the stream takes. Returns their number.
    pub fn write(&mut self, link: usize, end: usize, bytes: &[u8]) -> usize {
        self.links.write(&mut self.sim, link, end, bytes)
    }
}
