//! Numbered messages through sockets that threads share, chain, clone and drop: whatever the form of the
//! call, every number arrives, none twice, those of one sender in order.
//!
//! Not about waiting: who blocks, leads and times out is tested in tests/threads.

#[path = "../workbench/endpoints.rs"]
mod endpoints;
#[path = "../workbench/soak.rs"]
mod soak;

mod chains;
mod leaving;
mod numbers;
mod sharing;

use std::time::Duration;

use hairstreak_socket::{Context, Options, Pull, Push};

/// Longer than anything here takes: who waits this long waits in vain.
const LONG: Duration = Duration::from_secs(60);
const TRANSPORTS: [&str; 3] = ["tcp", "ipc", "inproc"];

/// A connected pair, PULL bound; both in one engine if the contexts are the same one.
fn pair(transport: &str, push: &Context, pull: &Context) -> (Push, Pull) {
    pair_with(transport, push, pull, &Options::default())
}

fn pair_with(transport: &str, push: &Context, pull: &Context, options: &Options) -> (Push, Pull) {
    let pull = Pull::with_options(pull, options.clone()).unwrap();
    let bound = pull.bind(&endpoints::endpoint(transport)).unwrap().to_string();
    let push = Push::with_options(push, options.clone()).unwrap();
    push.connect(&bound).unwrap();
    (push, pull)
}

/// Marks so low that senders have to wait.
fn low_marks() -> Options {
    Options { send_count_max: 20, receive_count_max: 20, ..Options::default() }
}
