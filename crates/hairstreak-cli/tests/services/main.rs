//! Services: `serve`, `call`, `worker` and `services` as processes, with other Majordomo implementations, kill -9 and bad input.

#[path = "../workbench/daemon.rs"]
#[expect(dead_code, reason = "what a daemon says on standard error matters to others")]
mod daemon;
#[path = "../../../hairstreak-socket/tests/workbench/soak.rs"]
mod soak;

mod bounds;
mod commands;
mod floods;
mod kills;
mod matrix;
mod part;
mod script;
mod tasks;

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use daemon::Daemon;

/// A time limit that only a hanging test reaches.
const LONG: Duration = Duration::from_secs(60);

/// An endpoint of this test alone, for a broker that is started again there. The system gives its port to no connection.
fn place() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let (process, next) = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    format!("tcp://127.{}.{}.{next}:5558", 1 + process / 250 % 250, 1 + process % 250)
}

/// A broker and its endpoint: an endpoint of its own, or the first of `words`. The other words are options.
fn broker(words: &[&str]) -> (Daemon, String) {
    let words = if words.is_empty() { &["tcp://127.0.0.1:*"] } else { words };
    let words = [&["--bind", "tcp://127.0.0.1:*", "--services"], words].concat();
    let mut broker = Daemon::start("serve", &words);
    broker.place("directory");
    let endpoint = broker.place("services");
    (broker, endpoint)
}
