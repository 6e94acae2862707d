//! kill -9 of either side at any moment: the other notices at once, goes on with others, and nothing is left behind.
//!
//! The process that dies is this test binary, started again to run `the_victim` alone.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use hairstreak_socket::{Context, Dealer, Options, Pull, Push, RecvError, Router, RouterNotify};
use hairstreak_testkit::{BoundedChild, Rng, rng, until};
use hairstreak_wire::zmtp::SocketType;

use crate::LONG;
use crate::endpoints::endpoint;
use crate::peer::Peer;
use crate::soak::amount;

const PLACE: &str = "HAIRSTREAK_TEST_SHARES_WITH";
const ROLE: &str = "HAIRSTREAK_TEST_ROLE";

/// Silence that would be noticed only long after the test has given up.
fn patient() -> Options {
    Options { heartbeat_ms: 600_000, ..Options::default() }
}

fn start_victim(role: &str, place: &str) -> Child {
    let mut victim = Command::new(std::env::current_exe().unwrap());
    let victim = victim.args(["deaths::the_victim", "--exact"]).env(PLACE, place).env(ROLE, role);
    victim.stdout(Stdio::null()).spawn().unwrap()
}

/// Whether nothing of the endpoint and no file of shared memory is left.
fn is_clean(place: &str) -> bool {
    let (scheme, name) = place.split_once("://").unwrap();
    let sockets = std::fs::read_to_string("/proc/net/unix").unwrap();
    let mut files = std::fs::read_dir("/dev/shm").into_iter().flatten().flatten();
    !files.any(|file| file.file_name().to_string_lossy().contains("hairstreak"))
        && !sockets.lines().any(|line| line.ends_with(name))
        && (scheme == "shm" || !std::path::Path::new(name).exists())
}

fn wait_a_moment(pull: &Pull, rng: &mut Rng) {
    // Nothing comes here: this is how long the victim lives.
    let waited = pull.recv_timeout(Duration::from_micros(rng.u64(0..3000)));
    assert_eq!(waited.unwrap_err(), RecvError::TimedOut);
}

/// The tests of this file look at the whole process.
static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

#[test]
fn a_sender_that_is_killed_is_missed_at_once_and_leaves_nothing() {
    let _alone = ALONE.lock();
    let mut rng = rng();
    for transport in ["shm", "ipc"] {
        let place = endpoint(transport);
        let pull = Pull::with_options(&Context::new(), patient()).unwrap();
        pull.bind(&place).unwrap();
        let clock = Pull::new(&Context::new()).unwrap();
        for _ in 0..amount(15, 500) {
            let mut victim = start_victim("sender", &place);
            let mut next = 0;
            let mut take = |pull: &Pull| {
                while let Ok(message) = pull.try_recv() {
                    assert_eq!(message.body()[..8], u64::to_le_bytes(next), "torn, lost or doubled");
                    next += 1;
                }
                next
            };
            until("messages", || take(&pull) > 100);
            assert!(pull.peers()[0].shared_memory);
            wait_a_moment(&clock, &mut rng);
            victim.kill().unwrap();
            until("the sender is missed", || {
                take(&pull);
                pull.peers().is_empty()
            });
            victim.end();
        }
        drop(pull);
        until("nothing is left", || is_clean(&place));
    }
}

#[test]
fn a_receiver_that_is_killed_is_missed_at_once_and_leaves_nothing() {
    let _alone = ALONE.lock();
    let mut rng = rng();
    for transport in ["shm", "ipc"] {
        let place = endpoint(transport);
        let push = Push::with_options(&Context::new(), patient()).unwrap();
        push.bind(&place).unwrap();
        for _ in 0..amount(15, 500) {
            let mut victim = start_victim("receiver", &place);
            assert!(push.wait_for_peers(1, LONG));
            // More than fits: the sender is in the middle of it, or waits for room.
            for number in 0..rng.u64(1..2000) {
                let _ = push.send_timeout(&number.to_le_bytes().repeat(1000), Duration::from_millis(5));
            }
            victim.kill().unwrap();
            until("the receiver is missed", || push.peers().is_empty());
            victim.end();
        }
        drop(push);
        until("nothing is left", || is_clean(&place));
    }
}

#[test]
fn a_router_is_told_of_one_that_is_killed_behind_its_last_message() {
    let _alone = ALONE.lock();
    let mut rng = rng();
    for transport in ["shm", "ipc"] {
        let place = endpoint(transport);
        let router_notify = RouterNotify { connect: true, disconnect: true };
        let router = Router::with_options(&Context::new(), Options { router_notify, ..patient() }).unwrap();
        router.bind(&place).unwrap();
        for _ in 0..amount(15, 500) {
            let mut victim = start_victim("dealer", &place);
            let notice = router.recv_timeout(LONG).unwrap();
            assert_eq!(notice.frames().skip(1).collect::<Vec<_>>(), [b""]);
            let last = rng.u64(0..1000);
            for next in 0.. {
                if next == last {
                    victim.kill().unwrap();
                }
                let message = router.recv_timeout(LONG).unwrap();
                if message == notice {
                    break;
                }
                assert_eq!(message.frame(1).unwrap()[..8], u64::to_le_bytes(next), "torn, lost or doubled");
            }
            assert_eq!((router.try_recv(), router.peers().len()), (Err(RecvError::WouldBlock), 0));
            victim.end();
        }
    }
}

#[test]
fn a_peer_that_goes_with_its_last_step_of_the_agreement_is_missed() {
    let place = endpoint("shm");
    let pull = Pull::with_options(&Context::new(), patient()).unwrap();
    pull.bind(&place).unwrap();
    for _ in 0..amount(300, 20_000) {
        let mut peer = Peer::connect(&place, SocketType::Push, false);
        peer.take();
        peer.write(b"\x00\x04last");
        drop(peer);
        assert_eq!(pull.recv_timeout(LONG).unwrap().body(), b"last");
        until("the peer is missed", || pull.peers().is_empty());
    }
}

/// The process that is killed. Run with the others it has nobody to die for.
#[test]
fn the_victim() {
    let Ok(place) = std::env::var(PLACE) else { return };
    let role = std::env::var(ROLE).unwrap();
    if role == "dealer" {
        let dealer = Dealer::with_options(&Context::new(), patient()).unwrap();
        dealer.connect(&place).unwrap();
        for number in 0u64.. {
            dealer.send(&number.to_le_bytes().repeat(1 + number as usize % 200)).unwrap();
        }
    }
    if role == "sender" {
        let push = Push::with_options(&Context::new(), patient()).unwrap();
        push.connect(&place).unwrap();
        for number in 0u64.. {
            push.send(&number.to_le_bytes().repeat(1 + number as usize % 200)).unwrap();
        }
    }
    let pull = Pull::with_options(&Context::new(), patient()).unwrap();
    pull.connect(&place).unwrap();
    while pull.recv().is_ok() {
        // Slower than the sender, so that it has to wait.
        std::thread::yield_now();
    }
}
