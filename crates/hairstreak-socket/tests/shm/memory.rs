//! What shared memory costs: pages that were touched, not rings.

use hairstreak_socket::{Context, Options, Pull, Push};

use crate::LONG;
use crate::endpoints::endpoint;
use crate::soak::amount;

/// Shared pages that this process has touched, in bytes; those that both ends touched count twice.
fn shared_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssShmem:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<usize>().unwrap() * 1024
}

#[test]
fn a_connection_uses_the_pages_it_touches_and_not_a_ring() {
    let count = amount(300, 4000);
    let place = endpoint("shm");
    let options = Options { shared_ring_bytes: 1 << 20, ..Options::default() };
    let pull = Pull::with_options(&Context::new(), options.clone()).unwrap();
    pull.bind(&place).unwrap();
    let before = shared_bytes();
    let push = Push::with_options(&Context::new(), options).unwrap();
    for _ in 0..count {
        push.connect(&place).unwrap();
    }
    assert!(push.wait_for_peers(count, LONG));
    (0..count).for_each(|_| push.send_timeout(b"a short message", LONG).unwrap());
    (0..count).for_each(|_| drop(pull.recv_timeout(LONG).unwrap()));
    let each = (shared_bytes() - before) / count;
    assert!(each <= 64 * 1024, "{each} bytes for each of {count} connections");
}
