//! `Cell`: one combination of all dimensions but the pair of types.

use hairstreak_socket::Options;

use super::implementation::Implementation;
use super::ours::Ours;
use super::talk::Talk;
use crate::endpoints::endpoint;
use crate::roles::{MECHANISMS, Roles};
use crate::script::Script;
use crate::soak::amount;

#[derive(Clone, Copy, Debug)]
pub struct Cell {
    transport: &'static str,
    mechanism: &'static str,
    they_serve: bool,
    they_bind: bool,
}

impl Cell {
    /// Whether the other implementation can do it at all.
    fn is_possible(&self, their_role: &str) -> bool {
        // Their REQ takes the client's user id for a bad reply, and closes the connection.
        !(self.they_serve && their_role == "req" && self.mechanism != "null")
    }

    /// Our end, joined with one that the script is told to open.
    fn join(
        &self,
        ours: impl Fn(Options) -> Ours,
        script: &mut Script,
        their_role: &str,
        words: &str,
    ) -> Ours {
        let roles = Roles::new(self.mechanism);
        let (options, security) = if self.they_serve {
            (roles.client(), roles.server_arguments())
        } else {
            (roles.server(), roles.client_arguments())
        };
        let ours = ours(options);
        let ask =
            |join: &str, place: &str| format!("{their_role} {join} {place} {words} {}", security.join(" "));
        if self.they_bind {
            script.say(&ask("bind", &endpoint(self.transport)));
            (ours.connect)(&script.hear("bound"));
        } else {
            let place = (ours.bind)(&endpoint(self.transport));
            script.say(&ask("connect", &place));
        }
        ours
    }
}

fn cells(implementation: Implementation) -> Vec<Cell> {
    let mut cells = Vec::new();
    for &transport in implementation.transports() {
        for mechanism in MECHANISMS {
            for they_serve in [true, false] {
                for they_bind in [true, false] {
                    cells.push(Cell { transport, mechanism, they_serve, they_bind });
                }
            }
        }
    }
    cells
}

/// Has our end talk to theirs in every cell.
pub fn check(ours: impl Fn(Options) -> Ours, their_role: &str, talk: Talk) {
    let count = amount(1_000, 100_000);
    for implementation in [Implementation::Pyzmq, Implementation::JeroMq] {
        let mut script = implementation.take();
        for cell in cells(implementation).into_iter().filter(|cell| cell.is_possible(their_role)) {
            println!("{implementation:?}, {their_role}, {talk:?}, {cell:?}");
            let attempts = 0..implementation.attempts();
            let mut joined = attempts.filter_map(|_| {
                let words = format!("{} {count}", talk.theirs());
                let ours = cell.join(&ours, &mut script, their_role, &words);
                if (ours.wait)(implementation.patience()) {
                    return Some(ours);
                }
                script.say("close");
                None
            });
            let ours = joined.next().expect("they are connected");
            drop(joined);
            script.say("start");
            talk.run(&ours, &mut script, count);
            script.hear("done");
            // Before ours is gone: theirs would try to connect again, until another test has the port.
            script.say("close");
        }
        implementation.give_back(script);
    }
}
