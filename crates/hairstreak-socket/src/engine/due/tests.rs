//! Tests of what is visited when: work does not grow with connections that are idle. Visits are counted, by a clock
//! that the tests set.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hairstreak_testkit::until;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::engine::Engine;
use crate::{Context, Dealer, Options, Router};

const LONG: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);
/// Connections in which nothing happens.
const IDLE_COUNT: usize = 2000;
const BUSY_COUNT: usize = 3;
/// Descriptors of both ends of them all, with some to spare.
const DESCRIPTOR_COUNT: u64 = 3 * IDLE_COUNT as u64;

fn options(heartbeat: Duration) -> Options {
    let heartbeat_ms = heartbeat.as_millis() as u64;
    Options { heartbeat_ms, heartbeat_timeout_ms: heartbeat_ms, shared_memory: false, ..Options::default() }
}

/// A ROUTER with so many peers.
fn router(context: &Context, heartbeat: Duration, count: usize) -> (Router, Vec<Dealer>) {
    let router = Router::with_options(context, options(heartbeat)).unwrap();
    let place = router.bind("tcp://127.0.0.1:*").unwrap().to_string();
    let elsewhere = Context::new();
    let peers = (0..count).map(|_| {
        let dealer = Dealer::with_options(&elsewhere, options(HOUR)).unwrap();
        dealer.connect(&place).unwrap();
        dealer
    });
    let peers = peers.collect();
    assert!(router.wait_for_peers(count, LONG));
    (router, peers)
}

/// How many visits the timers make that are due by `at`, over all turns.
fn visits(engine: &Arc<Engine>, at: Instant) -> (usize, usize) {
    let mut state = engine.lock();
    state.now = at;
    let turns = std::iter::from_fn(|| Some(state.run_timers(engine)).filter(|count| *count > 0));
    let turns: Vec<usize> = turns.collect();
    (turns.iter().sum(), turns.len())
}

#[test]
fn work_does_not_grow_with_idle_connections() {
    let limit = getrlimit(Resource::Nofile);
    let current = limit.current.map(|current| current.max(DESCRIPTOR_COUNT));
    setrlimit(Resource::Nofile, Rlimit { current, maximum: limit.maximum }).unwrap();

    let context = Context::new();
    let (idle, _peers) = router(&context, HOUR, IDLE_COUNT);
    let (busy, talkers) = router(&context, Duration::from_secs(1), BUSY_COUNT);
    let engine = &idle.handle.engine;
    assert!(Arc::ptr_eq(engine, &busy.handle.engine));

    // The heartbeats of those that are asked each second.
    let now = Instant::now();
    assert_eq!(visits(engine, now + Duration::from_secs(10)), (BUSY_COUNT, 1));

    // What one of them brings, and the application does not take.
    talkers[0].send_timeout("unread", LONG).unwrap();
    talkers[0].flush();
    until("something waits", || !busy.stats().waiting_age.is_zero());
    let mut state = engine.lock();
    assert_eq!((state.read_unattended(engine), state.read_again(engine)), (1, 0));
    drop(state);

    // Where very many are due at once, each is visited once, and others have the lock in between.
    let (count, turns) = visits(engine, now + 2 * HOUR);
    assert_eq!(count, IDLE_COUNT + BUSY_COUNT);
    assert_eq!(turns, count.div_ceil(super::TIMERS_PER_TURN));
}
