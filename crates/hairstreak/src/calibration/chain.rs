//! The cost of messages in a run, measured on a chain of the same sockets, settlements and calls.
//!
//! ```text
//!   source --> stage --> hub --> last        each a thread with an engine of its own, as the processes of a run have
//! ```
//!
//! *Alone*: for each message the stage computes longer than a link gathers. It then writes each message by itself, and
//! each message wakes up hub and last. *Gathered*: the stage computes nothing, and the chain is full. Times are times
//! on a core.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use hairstreak_socket::{Context, Message, Pull, Push};

use super::core::{burn, process_time, thread_time};
use super::figures::{CalibrationError, median};
use crate::topology::stage::settled;

/// Longest wait for a message. A message that takes longer will never come.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Largest number of messages taken at once, as in instances and hubs.
const BATCH_COUNT: usize = 1024;
const ENDPOINT: &str = "tcp://127.0.0.1:0";

/// Nanoseconds for a message: the time on a core of each thread, and of all other threads of the process.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spent {
    pub(super) source: f64,
    /// The work of the stage is not counted.
    pub(super) stage: f64,
    pub(super) hub: f64,
    pub(super) last: f64,
    /// The time of the engines' background threads.
    pub(super) background: f64,
    /// Median of the time from the stage's call that sends to the return of the hub's call that receives.
    pub(super) delay: f64,
}

/// The two sockets of a thread of the chain.
struct Ends {
    pull: Option<Pull>,
    push: Option<Push>,
}

/// Passes `count` messages of `size` bytes. For each of them the stage computes for `work`.
pub(super) fn pass(size: usize, count: usize, work: Duration) -> Result<Spent, CalibrationError> {
    let began = Instant::now();
    let stamps: Vec<AtomicU64> = (0..=count).map(|_| AtomicU64::new(0)).collect();
    let stamps = &stamps;
    let (endpoints, to_stage) = sync_channel(1);
    let (more_endpoints, to_last) = sync_channel(2);
    let (ready, is_ready) = sync_channel(1);
    let (begin, go) = sync_channel(1);
    let (over, wait_for_end) = Stay::all();
    let [of_source, of_stage, of_hub, of_last] = wait_for_end;
    let now = move || began.elapsed().as_nanos() as u64;
    thread::scope(|scope| {
        let source = spawn(scope, move || {
            let push = Push::with_options(&Context::new(), settled())?;
            // The receiver has gone only if the measurement failed.
            let _ = endpoints.send(push.bind(ENDPOINT)?.to_string());
            let message = Message::from(vec![b'x'; size]);
            // The first message shows that the links are up. It does not count.
            push.send_timeout(&message, TIMEOUT)?;
            push.flush();
            go.recv_timeout(TIMEOUT).map_err(|_| failed("the last thread"))?;
            let before = thread_time();
            for _ in 0..count {
                push.send_timeout(&message, TIMEOUT)?;
            }
            push.flush();
            let spent = thread_time() - before;
            of_source.until_the_end(Ends { pull: None, push: Some(push) });
            Ok(spent)
        })?;
        let hub = spawn(scope, move || {
            let context = Context::new();
            let pull = Pull::with_options(&context, settled())?;
            pull.settle_lazily(true);
            let push = Push::with_options(&context, settled())?;
            let _ = more_endpoints.send((pull.bind(ENDPOINT)?.to_string(), push.bind(ENDPOINT)?.to_string()));
            let mut delays = Vec::with_capacity(count);
            let spent = relay(&pull, count, |messages, first| {
                let at = now();
                for (message, number) in messages.iter().zip(first..) {
                    delays.push(at.saturating_sub(stamps[number].load(Ordering::Relaxed)) as f64);
                    push.send_timeout(message, TIMEOUT)?;
                }
                Ok(Duration::ZERO)
            })?;
            push.flush();
            of_hub.until_the_end(Ends { pull: Some(pull), push: Some(push) });
            Ok((spent, median(delays)))
        })?;
        let (to_hub, from_hub) = to_last.recv().map_err(|_| failed("the hub"))?;
        let from_source = to_stage.recv().map_err(|_| failed("the source"))?;
        let stage = spawn(scope, move || {
            let context = Context::new();
            let pull = Pull::with_options(&context, settled())?;
            let push = Push::with_options(&context, settled())?;
            push.settle_upstream(&pull);
            pull.settle_lazily(true);
            push.connect(&to_hub)?;
            pull.connect(&from_source)?;
            let spent = relay(&pull, count, |messages, first| {
                let mut burnt = Duration::ZERO;
                for (message, number) in messages.iter().zip(first..) {
                    if !work.is_zero() {
                        burnt += burn(work);
                    }
                    stamps[number].store(now(), Ordering::Relaxed);
                    push.send_timeout(message, TIMEOUT)?;
                }
                Ok(burnt)
            })?;
            push.flush();
            of_stage.until_the_end(Ends { pull: Some(pull), push: Some(push) });
            Ok(spent)
        })?;
        let last = spawn(scope, move || {
            let pull = Pull::with_options(&Context::new(), settled())?;
            pull.settle_lazily(true);
            pull.connect(&from_hub)?;
            let spent = relay(&pull, count, |_, first| {
                if first == 0 {
                    let _ = ready.send(());
                }
                Ok(Duration::ZERO)
            })?;
            of_last.until_the_end(Ends { pull: Some(pull), push: None });
            Ok(spent)
        })?;
        is_ready.recv_timeout(TIMEOUT).map_err(|_| failed("a thread"))?;
        let before = process_time();
        let _ = begin.send(());
        // All threads stay until the last thread has everything.
        over.wait(TIMEOUT + work * count as u32)?;
        let all = process_time() - before;
        drop(over);
        let (source, stage, last) = (join(source)?, join(stage)?, join(last)?);
        let (hub, delay) = join(hub)?;
        let each = |spent: Duration| spent.as_nanos() as f64 / count as f64;
        let own = source + stage.own + stage.burnt + hub.own + last.own;
        Ok(Spent {
            source: each(source),
            stage: each(stage.own),
            hub: each(hub.own),
            last: each(last.own),
            background: each(all.saturating_sub(own)),
            delay,
        })
    })
}

/// The core time of a relaying thread.
struct Relayed {
    /// Without the time that it burnt.
    own: Duration,
    burnt: Duration,
}

/// Receives all messages and passes each batch to `handle`, with the number of its first message.
fn relay(
    pull: &Pull,
    count: usize,
    mut handle: impl FnMut(&[Message], usize) -> Result<Duration, CalibrationError>,
) -> Result<Relayed, CalibrationError> {
    let (mut messages, mut taken) = (Vec::with_capacity(BATCH_COUNT), 0);
    let (mut burnt, mut before) = (Duration::ZERO, thread_time());
    while taken <= count {
        messages.clear();
        let batch = pull.recv_batch(&mut messages, BATCH_COUNT, TIMEOUT)?;
        let time = handle(&messages, taken)?;
        pull.accept_batch(&batch);
        if taken == 0 {
            before = thread_time();
        } else {
            burnt += time;
        }
        taken += messages.len();
    }
    Ok(Relayed { own: (thread_time() - before).saturating_sub(burnt), burnt })
}

fn failed(who: &str) -> CalibrationError {
    CalibrationError::Thread(format!("{who} ended early"))
}

fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
    work: impl FnOnce() -> Result<T, CalibrationError> + Send + 'scope,
) -> Result<thread::ScopedJoinHandle<'scope, Result<T, CalibrationError>>, CalibrationError> {
    let spawned = thread::Builder::new().spawn_scoped(scope, work);
    spawned.map_err(|error| CalibrationError::Thread(error.to_string()))
}

fn join<T>(handle: thread::ScopedJoinHandle<'_, Result<T, CalibrationError>>) -> Result<T, CalibrationError> {
    handle.join().map_err(|_| failed("a thread"))?
}

/// Keeps the sockets of a thread open until the chain is done, because they do not linger.
struct Stay {
    done: SyncSender<()>,
    end: Receiver<()>,
}

/// The waiting side of all [`Stay`]s.
struct Over {
    done: Receiver<()>,
    _ends: Vec<SyncSender<()>>,
}

impl Stay {
    fn all() -> (Over, [Stay; 4]) {
        let (done, all_done) = sync_channel(4);
        let mut ends = Vec::with_capacity(4);
        let stays = [(); 4].map(|()| {
            let (sender, end) = sync_channel(1);
            ends.push(sender);
            Stay { done: done.clone(), end }
        });
        (Over { done: all_done, _ends: ends }, stays)
    }

    fn until_the_end(self, ends: Ends) {
        let _ = self.done.send(());
        let _ = self.end.recv();
        drop((ends.pull, ends.push));
    }
}

impl Over {
    /// Waits until all threads have done their part, at most `each` for each of them.
    fn wait(&self, each: Duration) -> Result<(), CalibrationError> {
        for _ in 0..4 {
            self.done.recv_timeout(each).map_err(|_| failed("a thread"))?;
        }
        Ok(())
    }
}
