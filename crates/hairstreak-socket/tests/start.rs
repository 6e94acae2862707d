//! The process's first socket while the system has no memory for a thread. A binary of its own: the
//! limit is the whole process's.

use std::time::Duration;

use hairstreak_socket::{Context, OpenError, Pull, Push};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Memory beside what the process has now: enough for a socket, too little for a thread's stack.
const ALLOWANCE: u64 = 1 << 20;

fn limit_memory(to: Option<u64>) {
    let maximum = getrlimit(Resource::As).maximum;
    setrlimit(Resource::As, Rlimit { current: to.or(maximum), maximum }).unwrap();
}

fn memory_size() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = pages.split(' ').next().unwrap().parse().unwrap();
    pages * rustix::param::page_size() as u64
}

#[test]
fn a_first_socket_that_failed_for_want_of_a_thread_can_be_opened_later() {
    for _ in 0..3 {
        limit_memory(Some(memory_size() + ALLOWANCE));
        let refused = Push::new(&Context::new());
        limit_memory(None);
        assert!(matches!(refused, Err(OpenError::System(_))), "{refused:?}");
    }
    // Nobody drives the PUSH's engine but the background thread: its connecting and its last message.
    let pull = Pull::new(&Context::new()).unwrap();
    let endpoint = pull.bind("tcp://127.0.0.1:*").unwrap();
    let push = Push::new(&Context::new()).unwrap();
    push.connect(&endpoint.to_string()).unwrap();
    assert!(pull.wait_for_peers(1, Duration::from_secs(60)), "the background thread runs");
    push.send(b"sent in the background").unwrap();
    drop(push);
    assert_eq!(pull.recv_timeout(Duration::from_secs(60)).unwrap().body(), b"sent in the background");
}
