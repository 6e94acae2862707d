//! The work of a member of a sample: its task, its contenders, and both roles.

use std::sync::mpsc;
use std::thread;

use anyhow::{Context as _, Result, ensure};

use super::calls::{Announce, Orders, or_exit};
use super::{one_way, there_and_back};
use crate::frame::allocations;
use crate::frame::processes::{Answer, orders};
use crate::sample::contender::{Contender, Libzmq, Ours, RingLimit, StreamLimit};
use crate::sample::task::{CaseName, ContenderName, Measurement, Role, Task, Transport};

/// Takes part in a sample with `task`, which is JSON.
pub fn take_part(task: &str) -> Result<()> {
    let task: Task = serde_json::from_str(task).context("not a task")?;
    let orders = orders();
    if task.is_counting {
        allocations::start_counting();
    }
    // The cipher's limit concerns streams; other traffic on the socket does not count.
    let is_stream = task.subject.transport == Transport::Tcp || task.subject.is_sealed();
    let outcome = match task.subject.contender {
        ContenderName::Ours => work_as::<Ours>(&task, orders),
        ContenderName::Libzmq => work_as::<Libzmq>(&task, orders),
        ContenderName::Limit if is_stream => work_as::<StreamLimit>(&task, orders),
        ContenderName::Limit => work_as::<RingLimit>(&task, orders),
    };
    outcome.context(task.subject.contender.text())
}

fn work_as<C: Contender>(task: &Task, orders: Orders) -> Result<()> {
    // Independent streams share nothing, and subscribers apart from their publisher neither: each has a contender of its own.
    let count = match (task.subject.case, task.role) {
        (CaseName::PubSub, Role::Peer | Role::Both) | (CaseName::RoundTrip | CaseName::Echo, _) => 1,
        _ => task.subject.endpoint_count(),
    };
    let contenders = (0..count).map(|_| C::open(&task.subject)).collect::<Result<Vec<C>>>()?;
    let announce = |endpoints| Answer::<Measurement>::Bound(endpoints).print();
    let measurement = match task.role {
        Role::Measurer => measure(&contenders, task, &announce)?,
        Role::Peer => serve(&contenders, task, &orders)?,
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
            or_exit(serve(contenders, &Task { endpoints, ..task.clone() }, &orders));
        });
        let announce = move |endpoints| bound.send(endpoints).context("the peer thread is gone");
        let measurement = measure(contenders, task, &announce);
        // Without a listener the thread has failed and ends the process.
        let _ = finish.send(());
        measurement
    })
}

/// The measurer: binds, announces its endpoints, runs the case with the clock.
fn measure<C: Contender>(contenders: &[C], task: &Task, announce: &Announce) -> Result<Measurement> {
    match task.subject.case {
        CaseName::RoundTrip => there_and_back::measure_one(&contenders[0], task, announce),
        CaseName::Echo => there_and_back::measure_many(&contenders[0], task, announce),
        _ => one_way::measure(contenders, task, announce),
    }
}

/// The peer: connects, sends or returns, and stays until the order to finish.
fn serve<C: Contender>(contenders: &[C], task: &Task, orders: &Orders) -> Result<Measurement> {
    let count = task.endpoints.len();
    ensure!(count == task.subject.endpoint_count(), "the task names {count} endpoints");
    match task.subject.case {
        CaseName::RoundTrip => there_and_back::serve_one(&contenders[0], task, orders),
        CaseName::Echo => there_and_back::serve_many(&contenders[0], task, orders),
        _ => one_way::serve(contenders, task, orders),
    }
}
