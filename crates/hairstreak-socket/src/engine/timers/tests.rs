//! Tests of `Timers`: what is due, and nothing else.

use super::*;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn keys_come_back_as_what_they_stand_for() {
    for index in [0, 1, 2, 6, 100_000] {
        for due in [Due::Link(index), Due::Connector(index), Due::Listener(index)] {
            assert_eq!(Due::of(due.key()), due);
        }
        assert_eq!(Due::of(Due::Deadlines(index).key()), Due::Deadlines(index));
        assert_eq!(Due::of(Due::Room(index).key()), Due::Room(index));
        assert_eq!(Due::of(Due::Refusals(index).key()), Due::Refusals(index));
    }
    assert_eq!(Due::of(Due::Settled.key()), Due::Settled);
}

#[test]
fn what_is_due_comes_and_all_else_stays() {
    let now = Instant::now();
    let mut timers = Timers::new(now);
    for index in 0..5000 {
        timers.set(Due::Link(index), now + SECOND);
        timers.set(Due::Connector(index), now + SECOND);
    }
    timers.set_earlier(Due::Link(17), now);
    timers.set_earlier(Due::Link(18), now + 2 * SECOND);
    timers.set(Due::Connector(19), now);
    timers.set(Due::Connector(20), now);
    timers.cancel(Due::Connector(20));
    let due: Vec<Due> = std::iter::from_fn(|| timers.pop(now)).collect();
    assert!(due == [Due::Link(17), Due::Connector(19)] || due == [Due::Connector(19), Due::Link(17)]);
    assert_eq!(timers.next(), Some(now + SECOND));
    assert_eq!(std::iter::from_fn(|| timers.pop(now + SECOND)).count(), 2 * 5000 - 3);
    assert_eq!(timers.next(), None);
}

#[test]
fn heartbeats_come_together_and_never_early() {
    let origin = Instant::now();
    let timers = Timers::new(origin);
    let mut times = std::collections::BTreeSet::new();
    for ms in 0..1000 {
        let at = origin + Duration::from_millis(ms);
        let together = timers.heartbeat_at(at, SECOND);
        assert!(at <= together && together < at + SECOND / HEARTBEAT_PARTS, "{ms}");
        times.insert(together);
    }
    assert_eq!(times.len(), HEARTBEAT_PARTS as usize + 1);
    assert_eq!(timers.heartbeat_at(origin + SECOND, Duration::ZERO), origin + SECOND);
}
