//! Reading a monitor in every way, not reading it, and not having one.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context as TaskContext, Poll, Wake, Waker};
use std::time::Duration;

use hairstreak_socket::monitor::{EventKind, MonitorError, MonitorRecvError};
use hairstreak_socket::{Context, Options, Pull, Push};

use crate::LONG;
use crate::endpoints::endpoint;
use crate::executor::{Alarm, block_on, poll_with};
use crate::witness::Witness;

/// Binds and unbinds once: two events.
fn make_two_events(pull: &Pull) {
    let place = pull.bind(&endpoint("inproc")).unwrap();
    assert!(pull.unbind(&place));
}

#[test]
fn a_monitor_that_is_not_read_loses_the_oldest_and_says_how_many() {
    const COUNT_MAX: usize = 10;
    let options = Options { monitor_event_count_max: COUNT_MAX, ..Options::default() };
    let pull = Pull::with_options(&Context::new(), options).unwrap();
    let monitor = pull.monitor().unwrap();
    let read = || std::iter::from_fn(|| monitor.try_recv().ok()).collect::<Vec<_>>();
    for _ in 0..COUNT_MAX / 2 {
        make_two_events(&pull);
    }
    let at_the_limit = read();
    assert_eq!(at_the_limit.len(), COUNT_MAX);
    assert!(at_the_limit.iter().all(|event| event.lost_count == 0));
    for _ in 0..COUNT_MAX / 2 {
        make_two_events(&pull);
    }
    let last = pull.bind(&endpoint("inproc")).unwrap();
    let past_it = read();
    assert_eq!(past_it.len(), COUNT_MAX);
    assert_eq!((past_it[0].lost_count, &past_it[0].kind), (1, &EventKind::Unbound));
    assert!(past_it[1..].iter().all(|event| event.lost_count == 0));
    assert_eq!(past_it[COUNT_MAX - 1].endpoint, Some(last));
    for _ in 0..1000 {
        make_two_events(&pull);
    }
    let kept = read();
    assert_eq!(kept.iter().map(|event| event.lost_count + 1).sum::<u64>(), 2000);
    make_two_events(&pull);
    assert_eq!(monitor.recv().unwrap().lost_count, 0, "it was told once");
}

#[test]
fn one_event_is_held_where_none_may_be() {
    let options = Options { monitor_event_count_max: 0, ..Options::default() };
    let pull = Pull::with_options(&Context::new(), options).unwrap();
    let monitor = pull.monitor().unwrap();
    (0..3).for_each(|_| make_two_events(&pull));
    let event = monitor.recv().unwrap();
    assert_eq!((event.kind, event.lost_count), (EventKind::Unbound, 5));
}

#[test]
fn every_monitor_is_told_and_there_may_be_so_many() {
    let pull = Pull::new(&Context::new()).unwrap();
    let mut monitors: Vec<_> = (0..16).map(|_| Witness::of(&pull)).collect();
    assert_eq!(pull.monitor().unwrap_err(), MonitorError::TooMany);
    make_two_events(&pull);
    for monitor in &mut monitors {
        monitor.expect(EventKind::Listening);
        monitor.expect(EventKind::Unbound);
    }
    monitors.pop();
    let mut late = Witness::of(&pull);
    make_two_events(&pull);
    late.expect(EventKind::Listening);
}

#[test]
fn an_event_can_be_awaited_with_and_without_a_limit_and_looked_for() {
    let pull = Pull::new(&Context::new()).unwrap();
    let monitor = pull.monitor().unwrap();
    assert_eq!(monitor.try_recv().unwrap_err(), MonitorRecvError::WouldBlock);
    assert_eq!(monitor.recv_timeout(Duration::from_millis(1)).unwrap_err(), MonitorRecvError::TimedOut);
    let other = pull.clone();
    let maker = std::thread::spawn(move || make_two_events(&other));
    assert_eq!(monitor.recv().unwrap().kind, EventKind::Listening);
    assert_eq!(monitor.recv_timeout(LONG).unwrap().kind, EventKind::Unbound);
    maker.join().unwrap();
    let other = pull.clone();
    let maker = std::thread::spawn(move || make_two_events(&other));
    assert_eq!(block_on(monitor.recv_async()).unwrap().kind, EventKind::Listening);
    assert_eq!(block_on(monitor.recv_async()).unwrap().kind, EventKind::Unbound);
    maker.join().unwrap();
    pull.close();
    assert_eq!(block_on(monitor.recv_async()).unwrap().kind, EventKind::Closed);
    assert_eq!(block_on(monitor.recv_async()).unwrap_err(), MonitorRecvError::Ended);
}

#[test]
fn a_task_is_woken_by_an_event_and_by_the_end_and_loses_none_when_it_is_dropped() {
    let pull = Pull::new(&Context::new()).unwrap();
    let monitor = pull.monitor().unwrap();
    let alarm = Alarm::new();
    {
        let mut future = pin!(monitor.recv_async());
        assert!(poll_with(&alarm, future.as_mut()).is_pending());
        make_two_events(&pull);
        alarm.wait();
        // Woken, and dropped without having looked.
    }
    assert_eq!(monitor.try_recv().unwrap().kind, EventKind::Listening);
    assert_eq!(monitor.try_recv().unwrap().kind, EventKind::Unbound);
    let mut future = pin!(monitor.recv_async());
    assert!(poll_with(&alarm, future.as_mut()).is_pending());
    pull.close();
    alarm.wait();
    assert!(matches!(poll_with(&alarm, future.as_mut()), Poll::Ready(Ok(_))));
    let mut future = pin!(monitor.recv_async());
    assert_eq!(poll_with(&alarm, future.as_mut()), Poll::Ready(Err(MonitorRecvError::Ended)));
}

/// A waker that uses the socket: it would hang if it were called with the engine's lock held.
struct Busy {
    pull: Pull,
    called: AtomicBool,
}

impl Wake for Busy {
    fn wake(self: Arc<Self>) {
        assert_eq!(self.pull.stats().sent, 0);
        self.pull.monitor().unwrap();
        self.called.store(true, Ordering::SeqCst);
    }
}

#[test]
fn a_waker_may_use_the_socket() {
    let pull = Pull::new(&Context::new()).unwrap();
    let monitor = pull.monitor().unwrap();
    let busy = Arc::new(Busy { pull: pull.clone(), called: AtomicBool::new(false) });
    let waker = Waker::from(Arc::clone(&busy));
    let mut future = pin!(monitor.recv_async());
    assert!(future.as_mut().poll(&mut TaskContext::from_waker(&waker)).is_pending());
    make_two_events(&pull);
    assert!(busy.called.load(Ordering::SeqCst));
}

#[test]
fn a_monitor_outlives_its_socket_and_may_go_before_it() {
    let context = Context::new();
    let push = Push::new(&context).unwrap();
    drop(push.monitor().unwrap());
    let mut monitor = Witness::of(&push);
    drop((push, context));
    monitor.expect(EventKind::Closed);
}
