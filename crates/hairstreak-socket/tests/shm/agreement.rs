//! Who goes on in shared memory: two of us over ipc, unless one does not want to or cannot.

use hairstreak_socket::{BindError, Context, Options, Pull, Push};
use hairstreak_testkit::until;

use crate::LONG;
use crate::endpoints::endpoint;
use crate::relay::Relay;

/// A connected pair, PULL bound to `place`.
fn pair(place: &str, ours: Options, theirs: Options) -> (Push, Pull) {
    let pull = Pull::with_options(&Context::new(), ours).unwrap();
    let bound = pull.bind(place).unwrap().to_string();
    let push = Push::with_options(&Context::new(), theirs).unwrap();
    push.connect(&bound).unwrap();
    (push, pull)
}

fn check_works(push: &Push, pull: &Pull) {
    for number in 0..3000u32 {
        let body = number.to_le_bytes().repeat(number as usize % 300);
        push.send_timeout(&body, LONG).unwrap();
        assert_eq!(pull.recv_timeout(LONG).unwrap().body(), body);
    }
}

fn check(place: &str, ours: Options, theirs: Options, is_shared: bool) {
    let (push, pull) = pair(place, ours, theirs);
    check_works(&push, &pull);
    assert_eq!(push.peers()[0].shared_memory, is_shared, "{place}");
    assert_eq!(pull.peers()[0].shared_memory, is_shared, "{place}");
}

fn without() -> Options {
    Options { shared_memory: false, ..Options::default() }
}

#[test]
fn two_that_can_do_and_one_that_does_not_want_to_keeps_both_on_the_socket() {
    // Who gives and who takes is drawn by lot: some turns see both.
    for _ in 0..10 {
        check(&endpoint("ipc"), Options::default(), Options::default(), true);
        check(&endpoint("shm"), Options::default(), Options::default(), true);
        check(&endpoint("shm"), without(), without(), true);
    }
    check(&endpoint("ipc"), Options::default(), without(), false);
    check(&endpoint("ipc"), without(), Options::default(), false);
    check(&endpoint("tcp"), Options::default(), Options::default(), false);
}

#[test]
fn a_file_as_well_as_a_name_can_be_bound_and_goes_with_its_socket() {
    let path = std::env::temp_dir().join(format!("hs-shm-{}", std::process::id()));
    let place = format!("shm://{}", path.display());
    check(&place, Options::default(), Options::default(), true);
    assert!(!path.exists());
}

#[test]
fn the_smaller_of_two_ring_sizes_is_used_and_impossible_ones_are_refused() {
    let with = |shared_ring_bytes| Options { shared_ring_bytes, ..Options::default() };
    check(&endpoint("shm"), with(4096), with(64 << 20), true);
    check(&endpoint("shm"), with(1 << 16), with(4096), true);
    for size in [0, 4095, 5000, 128 << 20] {
        let refused = Pull::with_options(&Context::new(), with(size)).err().unwrap();
        assert!(refused.to_string().contains("shared_ring_bytes"), "{refused}");
    }
}

#[test]
fn a_peer_that_cannot_is_refused_where_shared_memory_is_a_must() {
    let place = endpoint("shm");
    let pull = Pull::new(&Context::new()).unwrap();
    pull.bind(&place).unwrap();
    let push = Push::with_options(&Context::new(), without()).unwrap();
    push.connect(&place.replace("shm://", "ipc://@")).unwrap();
    until("refused", || pull.stats().failed_connections > 0);
    assert!(pull.peers().is_empty());
    let clash = Pull::new(&Context::new()).unwrap().bind(&place).unwrap_err();
    assert!(matches!(clash, BindError::InUse(_)), "{clash}");
}

#[test]
fn descriptors_that_are_lost_on_the_way_leave_both_on_the_socket() {
    for _ in 0..6 {
        let pull = Pull::new(&Context::new()).unwrap();
        let place = pull.bind(&endpoint("ipc")).unwrap().to_string();
        let relay = Relay::start(&place);
        let push = Push::new(&Context::new()).unwrap();
        push.connect(relay.place()).unwrap();
        check_works(&push, &pull);
        assert!(!push.peers()[0].shared_memory && !pull.peers()[0].shared_memory);
    }
}

#[test]
fn a_relay_between_two_that_both_listen_or_both_connect_does_no_harm() {
    for _ in 0..6 {
        let pull = Pull::new(&Context::new()).unwrap();
        let push = Push::new(&Context::new()).unwrap();
        let (one, other) = (endpoint("ipc"), endpoint("ipc"));
        pull.bind(&one).unwrap();
        push.bind(&other).unwrap();
        Relay::join(&one, &other);
        check_works(&push, &pull);

        let pull = Pull::new(&Context::new()).unwrap();
        let push = Push::new(&Context::new()).unwrap();
        let (one, other) = Relay::between_connecting();
        pull.connect(&one).unwrap();
        push.connect(&other).unwrap();
        check_works(&push, &pull);
    }
}
