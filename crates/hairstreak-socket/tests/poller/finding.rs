//! What a poller finds, in the words of a test.

use std::time::Duration;

use hairstreak_socket::{Interest, Pattern, Poller, Ready, Socket};

use crate::LONG;

/// What is ready; somebody is bound to be in time.
pub fn wait(poller: &mut Poller) -> Vec<Ready> {
    let mut ready = Vec::new();
    poller.wait_timeout(&mut ready, LONG).unwrap();
    assert!(!ready.is_empty(), "nothing is ready");
    ready
}

/// What is ready now.
pub fn look(poller: &mut Poller) -> Vec<Ready> {
    let mut ready = Vec::new();
    poller.wait_timeout(&mut ready, Duration::ZERO).unwrap();
    ready
}

/// Waits until the socket is ready for this, and reports whether it still is when looked at again.
pub fn becomes<P: Pattern>(socket: &Socket<P>, interest: Interest) -> bool {
    let mut poller = Poller::new().unwrap();
    poller.add(socket, 7, interest).unwrap();
    wait(&mut poller) == look(&mut poller)
}

/// Whether the socket is readable, and writable, now.
pub fn is<P: Pattern>(socket: &Socket<P>) -> (bool, bool) {
    let mut poller = Poller::new().unwrap();
    poller.add(socket, 7, Interest::BOTH).unwrap();
    let found = look(&mut poller);
    assert!(found.len() <= 1 && found.iter().all(|ready| ready.key == 7), "{found:?}");
    found.first().map_or((false, false), |ready| (ready.readable, ready.writable))
}
