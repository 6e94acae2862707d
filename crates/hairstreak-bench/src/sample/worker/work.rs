//! The work of a member of a sample: its task, both roles, and the parts that all cases share.

use std::sync::mpsc;
use std::thread;

use anyhow::{Context as _, Result, anyhow, bail};

use super::{one_way, there_and_back};
use crate::frame::processes::{Answer, orders};
use crate::frame::{allocations, cores};
use crate::sample::contender::{Contender, Libzmq, Opening, Ours, RingLimit, StreamLimit};
use crate::sample::task::{
    Calls, CaseName, ContenderName, Measurement, Role, SUBSCRIBER_COUNT, Task, Transport,
};

/// One in this many round trips is a warm-up.
pub(super) const WARM_UP_SHARE: u64 = 20;

/// Takes part in a sample with `task`, which is JSON.
pub fn take_part(task: &str) -> Result<()> {
    let task: Task = serde_json::from_str(task).context("not a task")?;
    let orders = orders();
    if task.is_counting {
        allocations::start_counting();
    }
    let outcome = match (task.contender, task.transport) {
        (ContenderName::Ours, _) => work_as::<Ours>(&task, orders),
        (ContenderName::Libzmq, _) => work_as::<Libzmq>(&task, orders),
        (ContenderName::Limit, Transport::Tcp) => work_as::<StreamLimit>(&task, orders),
        // The cipher's limit concerns streams; other traffic on the socket does not count.
        (ContenderName::Limit, _) if task.case == CaseName::Curve => work_as::<StreamLimit>(&task, orders),
        (ContenderName::Limit, Transport::Ipc | Transport::Shm | Transport::Inproc) => {
            work_as::<RingLimit>(&task, orders)
        }
    };
    outcome.context(task.contender.text())
}

/// Contenders opened in this process. Independent streams share nothing, and subscribers apart from their publisher
/// neither: each has one of its own.
fn contender_count(task: &Task) -> usize {
    match (task.case, task.role) {
        (CaseName::Throughput | CaseName::Curve, _) => task.stream_count,
        (CaseName::PubSub, Role::Measurer) => SUBSCRIBER_COUNT,
        _ => 1,
    }
}

fn work_as<C: Contender>(task: &Task, orders: mpsc::Receiver<()>) -> Result<()> {
    let contenders = (0..contender_count(task)).map(|_| C::open(Opening::of(task)));
    let contenders = contenders.collect::<Result<Vec<C>>>()?;
    let measurement = match task.role {
        Role::Measurer => {
            measure(&contenders, task, |endpoints| Answer::<Measurement>::Bound(endpoints).print())?
        }
        Role::Peer => serve(&contenders, task, &task.endpoints, &orders)?,
        Role::Both => measure_both(&contenders, task)?,
    };
    Answer::Measured(measurement).print()?;
    // A peer may be behind until the benchmark's order comes.
    let _ = orders.recv();
    Ok(())
}

/// Both ends in this process; the consumption of a process is that of both already.
fn measure_both<C: Contender>(contenders: &[C], task: &Task) -> Result<Measurement> {
    let (bound, endpoints) = mpsc::channel::<Vec<String>>();
    let (finish, orders) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(move || {
            let Ok(endpoints) = endpoints.recv() else { return };
            or_exit(serve(contenders, task, &endpoints, &orders));
        });
        let measurement = measure(contenders, task, |endpoints| {
            bound.send(endpoints).map_err(|_| anyhow!("the peer thread is gone"))
        });
        // Without a listener the thread has failed and ends the process.
        let _ = finish.send(());
        measurement
    })
}

/// The measurer: binds, passes its endpoints to `announce`, runs the case with the clock.
fn measure<C: Contender>(
    contenders: &[C],
    task: &Task,
    announce: impl FnOnce(Vec<String>) -> Result<()>,
) -> Result<Measurement> {
    match task.case {
        CaseName::Throughput | CaseName::Curve | CaseName::PubSub => {
            one_way::measure(contenders, task, announce)
        }
        CaseName::RoundTrip => there_and_back::measure_round_trips(&contenders[0], task, announce),
        CaseName::Echo => there_and_back::measure_echoes(&contenders[0], task, announce),
    }
}

/// The peer: connects, sends or returns, and stays until the order to finish.
fn serve<C: Contender>(
    contenders: &[C],
    task: &Task,
    endpoints: &[String],
    orders: &mpsc::Receiver<()>,
) -> Result<Measurement> {
    match task.case {
        CaseName::Throughput | CaseName::Curve | CaseName::PubSub => {
            one_way::serve(contenders, task, endpoints, orders)
        }
        CaseName::RoundTrip => there_and_back::serve_round_trips(&contenders[0], task, endpoints, orders),
        CaseName::Echo => there_and_back::serve_echoes(&contenders[0], task, endpoints, orders),
    }
}

/// Keeps each thread to a core of its own if both ends are threads of this process, or spin instead of sleeping.
/// Receivers begin with the first core, senders with the second.
pub(super) fn keep_apart(task: &Task, index: usize, sends: bool) {
    if task.role == Role::Both || task.calls == Calls::Spin {
        cores::keep_to(2 * index + usize::from(sends));
    }
}

/// Unwraps the outcome of a thread on which others wait: a failure ends the process.
pub(super) fn or_exit<T>(outcome: Result<T>) -> T {
    outcome.unwrap_or_else(|error| {
        eprintln!("hairstreak-bench: {error:#}");
        std::process::exit(1)
    })
}

#[inline]
pub(super) fn check_size(size: usize, index: u64, task: &Task) -> Result<()> {
    if size != task.size {
        bail!("message {index} arrived with {size} bytes where {} were sent", task.size);
    }
    Ok(())
}
