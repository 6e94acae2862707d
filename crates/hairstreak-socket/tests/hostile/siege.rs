//! A socket under attack, and the good peer that it serves all the while.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use hairstreak_socket::{Context, Dealer, Options, Pull, Push, Router, Stats};
use hairstreak_testkit::until;

use crate::LONG;
use crate::endpoints::endpoint;
use crate::memory::{descriptor_count, resident_bytes};

/// Memory that an attack may cost at most, unless it says otherwise.
pub const MEMORY_MAX: usize = 32 << 20;
/// Messages of the good peer that have to arrive during an attack.
const GOOD_COUNT: u64 = 500;

/// One test at a time: they look at the memory of the whole process.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A receiving socket that attackers reach, and its good peer.
pub struct Siege {
    /// Where attackers connect to.
    pub place: String,
    sockets: Sockets,
    exchanged: u64,
}

enum Sockets {
    Pull(Pull, Push),
    Router(Router, Dealer),
}

impl Siege {
    pub fn new(role: &str, transport: &str, options: &Options) -> Siege {
        let (ours, theirs) = (Context::new(), Context::new());
        let (place, sockets) = if role == "PULL" {
            let pull = Pull::with_options(&ours, options.clone()).unwrap();
            let place = pull.bind(&endpoint(transport)).unwrap().to_string();
            let push = Push::new(&theirs).unwrap();
            push.connect(&place).unwrap();
            (place, Sockets::Pull(pull, push))
        } else {
            let router = Router::with_options(&ours, options.clone()).unwrap();
            let place = router.bind(&endpoint(transport)).unwrap().to_string();
            let dealer = Dealer::new(&theirs).unwrap();
            dealer.connect(&place).unwrap();
            (place, Sockets::Router(router, dealer))
        };
        let mut siege = Siege { place, sockets, exchanged: 0 };
        (0..100).for_each(|_| siege.exchange());
        siege
    }

    /// The socket type that the besieged one talks to.
    pub fn peer_type(&self) -> &'static str {
        match self.sockets {
            Sockets::Pull(..) => "PUSH",
            Sockets::Router(..) => "DEALER",
        }
    }

    /// One message of the good peer, past whatever attackers got through.
    pub fn exchange(&mut self) {
        let body = format!("good {}", self.exchanged);
        let sent = match &self.sockets {
            Sockets::Pull(_, push) => push.send_timeout(&body, LONG),
            Sockets::Router(_, dealer) => dealer.send_timeout(&body, LONG),
        };
        sent.unwrap();
        while self.receive() != body.as_bytes() {}
        self.exchanged += 1;
    }

    /// The body of the next message, whoever sent it.
    pub fn receive(&self) -> Vec<u8> {
        let message = match &self.sockets {
            Sockets::Pull(pull, push) => {
                push.flush();
                pull.recv_timeout(LONG)
            }
            Sockets::Router(router, dealer) => {
                dealer.flush();
                router.recv_timeout(LONG)
            }
        };
        message.unwrap_or_else(|e| panic!("{}: {e}, {:?}", self.place, self.stats())).body().to_vec()
    }

    pub fn stats(&self) -> Stats {
        match &self.sockets {
            Sockets::Pull(pull, _) => pull.stats(),
            Sockets::Router(router, _) => router.stats(),
        }
    }

    /// Serves the good peer until the statistics are as they should be.
    pub fn serve_until(&mut self, what: &str, reached: impl Fn(&Stats) -> bool) {
        until(&format!("{}: {what}", self.place.clone()), || {
            let stats = self.stats();
            if reached(&stats) {
                return Ok(());
            }
            self.exchange();
            Err(Box::new(stats))
        });
    }
}

/// Attacks a PULL and a ROUTER over tcp and ipc. `attack` runs in a thread of its own and returns its
/// connections, which stay open until the good peer has been served often enough.
pub fn besiege<C>(options: &Options, attack: impl Fn(&str, &'static str) -> C + Sync)
where
    C: Send,
{
    besiege_within(MEMORY_MAX, options, |place, peer_type| (attack(place, peer_type), 0));
}

/// As `besiege`. The attack costs at most `memory_max`, and returns how many failed connections it has
/// to be counted for.
pub fn besiege_within<C>(
    memory_max: usize,
    options: &Options,
    attack: impl Fn(&str, &'static str) -> (C, u64) + Sync,
) where
    C: Send,
{
    let _alone = alone();
    for (role, transport) in [("PULL", "tcp"), ("PULL", "ipc"), ("ROUTER", "tcp"), ("ROUTER", "ipc")] {
        let mut siege = Siege::new(role, transport, options);
        let (memory_before, descriptors_before) = (resident_bytes(), descriptor_count());
        let (place, peer_type) = (siege.place.clone(), siege.peer_type());
        thread::scope(|scope| {
            let attacker = scope.spawn(|| attack(&place, peer_type));
            let until = siege.exchanged + GOOD_COUNT;
            while !attacker.is_finished() || siege.exchanged < until {
                siege.exchange();
            }
            let (connections, failure_count) = attacker.join().unwrap();
            siege.serve_until("counted", |stats| stats.failed_connections >= failure_count);
            let grown = resident_bytes().saturating_sub(memory_before);
            assert!(grown <= memory_max, "{role}, {transport}: {grown} bytes more than before");
            drop(connections);
        });
        siege.serve_until("left alone", |stats| {
            stats.peer_count == 1 && descriptor_count() <= descriptors_before
        });
    }
}
