//! A proxy in a task: of a plain executor, of tokio, dropped and taken up again at any moment.

use std::future::Future;
use std::pin::pin;
use std::task::Poll;
use std::thread;

use hairstreak_socket::{Context, Proxy, ProxyEnd, Pull, Push, RunError};
use hairstreak_testkit::{rng, until, until_eq};

use crate::endpoints::endpoint;
use crate::executor::{Alarm, block_on, poll_with};
use crate::{LONG, TRANSPORTS};

const COUNT: u64 = 5000;
/// More than a burst, fewer than the marks allow.
const MANY: u64 = 1000;
/// What one burst moves at most.
const BURST_COUNT_MAX: u64 = 256;

/// A streamer, and its peers.
struct Line {
    proxy: Proxy,
    frontend: Pull,
    push: Push,
    pull: Pull,
}

impl Line {
    /// Whose ends share an engine, or have one each.
    fn new(transport: &str, shares: bool) -> Line {
        let context = Context::new();
        let other = if shares { context.clone() } else { Context::new() };
        let (frontend, backend) = (Pull::new(&context).unwrap(), Push::new(&other).unwrap());
        let (push, pull) = (Push::new(&Context::new()).unwrap(), Pull::new(&Context::new()).unwrap());
        push.connect(&frontend.bind(&endpoint(transport)).unwrap().to_string()).unwrap();
        pull.connect(&backend.bind(&endpoint(transport)).unwrap().to_string()).unwrap();
        assert!(push.wait_for_peers(1, LONG) && pull.wait_for_peers(1, LONG));
        assert!(frontend.wait_for_peers(1, LONG) && backend.wait_for_peers(1, LONG));
        let proxy = Proxy::new(&frontend, &backend).unwrap();
        Line { proxy, frontend, push, pull }
    }
}

fn send(push: &Push, count: u64) {
    (0..count).for_each(|number| push.send_timeout(&number.to_le_bytes(), LONG).unwrap());
    push.flush();
}

fn receive(pull: &Pull, count: u64, what: &str) {
    for number in 0..count {
        assert_eq!(pull.recv_timeout(LONG).unwrap().body(), number.to_le_bytes(), "{what}");
    }
}

/// Any executor, which runs the future to its end.
fn tokio<F: Future<Output: Send + 'static> + Send + 'static>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async { tokio::spawn(future).await.unwrap() })
}

#[test]
fn it_passes_everything_in_a_task_of_any_executor() {
    for transport in TRANSPORTS {
        for (shares, plain) in [(true, true), (true, false), (false, true), (false, false)] {
            let Line { mut proxy, push, pull, .. } = Line::new(transport, shares);
            let control = proxy.control();
            let running = thread::spawn(move || match plain {
                true => block_on(proxy.run_async()),
                false => tokio(async move { proxy.run_async().await }),
            });
            let sender = thread::spawn(move || {
                send(&push, COUNT);
                push
            });
            receive(&pull, COUNT, transport);
            // One after the other, too: it sleeps and is woken.
            let push = sender.join().unwrap();
            for _ in 0..100 {
                send(&push, 1);
                receive(&pull, 1, transport);
            }
            control.terminate();
            let stats = running.join().unwrap().unwrap();
            assert_eq!((stats.frontend.received, stats.backend.sent), (COUNT + 100, COUNT + 100));
        }
    }
}

#[test]
fn dropped_at_any_moment_it_loses_nothing_and_goes_on() {
    for transport in TRANSPORTS {
        for shares in [true, false] {
            let Line { mut proxy, push, pull, .. } = Line::new(transport, shares);
            let control = proxy.control();
            let sender = thread::spawn(move || {
                send(&push, COUNT);
                push
            });
            let mut rng = rng();
            let running = thread::spawn(move || {
                let alarm = Alarm::new();
                let mut runs = 0;
                loop {
                    let mut run = pin!(proxy.run_async());
                    for _ in 0..rng.u8(1..4) {
                        if let Poll::Ready(stats) = poll_with(&alarm, run.as_mut()) {
                            return (stats.unwrap(), runs);
                        }
                        if rng.bool() {
                            alarm.wait();
                        }
                    }
                    runs += 1;
                }
            });
            receive(&pull, COUNT, transport);
            sender.join().unwrap();
            let sent = || control.statistics().backend.sent;
            until_eq("messages sent", COUNT, &sent);
            // A word that comes between two runs holds for the next; one that comes in a run that is dropped before
            // it looks, has ended.
            until("it has ended", || {
                control.terminate();
                running.is_finished()
            });
            let (stats, runs) = running.join().unwrap();
            assert_eq!((stats.backend.sent, stats.in_hand), (COUNT, 0), "{transport}");
            assert!(runs > 0, "{transport}: it was never dropped");
        }
    }
}

#[test]
fn it_gives_way_to_other_tasks_between_two_bursts() {
    for shares in [true, false] {
        let Line { mut proxy, frontend, push, pull } = Line::new("inproc", shares);
        send(&push, MANY);
        until("all is there", || frontend.stats().queued_count == 0 && push.stats().queued_count > 0);
        let control = proxy.control();
        let alarm = Alarm::new();
        let mut run = pin!(proxy.run_async());
        for bursts in 1..=MANY / BURST_COUNT_MAX {
            assert!(poll_with(&alarm, run.as_mut()).is_pending());
            assert_eq!(control.statistics().backend.sent, bursts * BURST_COUNT_MAX);
            alarm.wait();
        }
        assert!(poll_with(&alarm, run.as_mut()).is_pending());
        assert_eq!(control.statistics().backend.sent, MANY);
        receive(&pull, MANY, "inproc");
    }
}

#[test]
fn it_is_paused_and_ended_while_it_waits_and_a_dropped_run_is_forgotten() {
    let Line { mut proxy, frontend, push, pull } = Line::new("tcp", true);
    let control = proxy.control();
    {
        let mut run = pin!(proxy.run_async());
        let alarm = Alarm::new();
        control.pause();
        assert!(poll_with(&alarm, run.as_mut()).is_pending());
    }
    // That run was paused, not this one.
    let running = thread::spawn(move || {
        let result = block_on(proxy.run_async());
        (proxy, result)
    });
    send(&push, 1);
    receive(&pull, 1, "tcp");
    control.terminate();
    let (mut proxy, result) = running.join().unwrap();
    assert_eq!(result.unwrap().backend.sent, 1);
    let running = thread::spawn(move || block_on(proxy.run_async()));
    frontend.close();
    assert!(matches!(running.join().unwrap(), Err(RunError::Closed(ProxyEnd::Frontend))));
}
