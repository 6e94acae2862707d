//! What a worker does with its task, and what every case of it needs.

use std::io;
use std::sync::mpsc;
use std::thread;

use super::{echo, one_way, round_trip};
use crate::sample::contender::{Contender, ContenderError, Libzmq, Opening, Ours, RingLimit, StreamLimit};
use crate::sample::scenario::Transport;
use crate::sample::task::{
    Answer, Calls, CaseName, ContenderName, Measurement, Role, SUBSCRIBER_COUNT, Task,
};
use crate::{allocations, cores, process};

/// One in this many round trips is a warm-up.
pub(super) const WARM_UP_SHARE: u64 = 20;

/// Why a worker gave up.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The benchmark passed something that is no task.
    #[error("not a task: {0}")]
    Task(#[from] serde_json::Error),
    /// A socket or stream failed.
    #[error("{contender}: {error}")]
    Contender {
        /// Whose.
        contender: &'static str,
        /// How.
        error: ContenderError,
    },
    /// A message arrived in another size than it was sent in.
    #[error("message {index} arrived with {size} bytes where {expected} were sent")]
    Size {
        /// Messages before it.
        index: u64,
        /// What arrived.
        size: usize,
        /// What was sent.
        expected: usize,
    },
    /// More messages arrived than were sent.
    #[error("{surplus} messages arrived more than were sent")]
    Surplus {
        /// How many.
        surplus: u64,
    },
    /// The task names fewer endpoints than its case has.
    #[error("the task names {0} endpoints, which is too few")]
    Endpoints(usize),
    /// The consumption or an answer could not be had.
    #[error("worker: {0}")]
    Io(#[from] io::Error),
}

/// Runs as a worker: does what `task`, in JSON, says and prints the answers.
pub fn work(task: &str) -> Result<(), WorkerError> {
    let task: Task = serde_json::from_str(task)?;
    let orders = process::orders();
    if task.is_counting {
        allocations::start_counting();
    }
    match (task.contender, task.transport) {
        (ContenderName::Ours, _) => work_as::<Ours>(&task, orders),
        (ContenderName::Libzmq, _) => work_as::<Libzmq>(&task, orders),
        (ContenderName::Limit, Transport::Tcp) => work_as::<StreamLimit>(&task, orders),
        // The cipher's limit is one of streams; what goes over the socket beside it does not count.
        (ContenderName::Limit, _) if task.case == CaseName::Curve => work_as::<StreamLimit>(&task, orders),
        (ContenderName::Limit, Transport::Ipc | Transport::Shm | Transport::Inproc) => {
            work_as::<RingLimit>(&task, orders)
        }
    }
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

fn work_as<C: Contender>(task: &Task, orders: mpsc::Receiver<()>) -> Result<(), WorkerError> {
    let contenders: Result<Vec<C>, _> =
        (0..contender_count(task)).map(|_| C::open(Opening::of(task))).collect();
    let contenders = contenders.map_err(blame(task))?;
    let measurement = match task.role {
        Role::Measurer => measure(&contenders, task, |endpoints| Ok(Answer::Bound(endpoints).print()?))?,
        Role::Peer => serve(&contenders, task, &task.endpoints, &orders)?,
        Role::Both => measure_both(&contenders, task)?,
    };
    Answer::Measured(measurement).print()?;
    // The benchmark says so to every worker; until then a peer may be behind.
    let _ = orders.recv();
    Ok(())
}

/// Both ends in this process; the consumption of a process is that of both already.
fn measure_both<C: Contender>(contenders: &[C], task: &Task) -> Result<Measurement, WorkerError> {
    let (bound, endpoints) = mpsc::channel::<Vec<String>>();
    let (finish, orders) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(move || {
            let Ok(endpoints) = endpoints.recv() else { return };
            or_exit(serve(contenders, task, &endpoints, &orders));
        });
        let measurement = measure(contenders, task, |endpoints| {
            bound.send(endpoints).map_err(|_| io::Error::other("the peer thread is gone").into())
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
    announce: impl FnOnce(Vec<String>) -> Result<(), WorkerError>,
) -> Result<Measurement, WorkerError> {
    match task.case {
        CaseName::Throughput | CaseName::Curve | CaseName::PubSub => {
            one_way::measure(contenders, task, announce)
        }
        CaseName::RoundTrip => round_trip::measure(&contenders[0], task, announce),
        CaseName::Echo => echo::measure(&contenders[0], task, announce),
    }
}

/// The peer: connects, sends or returns, and stays until told to finish.
fn serve<C: Contender>(
    contenders: &[C],
    task: &Task,
    endpoints: &[String],
    orders: &mpsc::Receiver<()>,
) -> Result<Measurement, WorkerError> {
    match task.case {
        CaseName::Throughput | CaseName::Curve | CaseName::PubSub => {
            one_way::serve(contenders, task, endpoints, orders)
        }
        CaseName::RoundTrip => round_trip::serve(&contenders[0], task, endpoints, orders),
        CaseName::Echo => echo::serve(&contenders[0], task, endpoints, orders),
    }
}

/// Where both ends are threads of this process, or look instead of sleeping, each keeps to a core: those that receive
/// begin with the first, those that send with the second.
pub(super) fn keep_apart(task: &Task, index: usize, sends: bool) {
    if task.role == Role::Both || task.calls == Calls::Spin {
        cores::keep_to(2 * index + usize::from(sends));
    }
}

/// For a thread on which others wait: a failure ends the process.
pub(super) fn or_exit<T>(outcome: Result<T, WorkerError>) -> T {
    outcome.unwrap_or_else(|error| {
        eprintln!("hairstreak-bench: {error}");
        std::process::exit(1)
    })
}

#[inline]
pub(super) fn check_size(size: usize, index: u64, task: &Task) -> Result<(), WorkerError> {
    if size != task.size {
        return Err(WorkerError::Size { index, size, expected: task.size });
    }
    Ok(())
}

pub(super) fn blame(task: &Task) -> impl Fn(ContenderError) -> WorkerError {
    |error| WorkerError::Contender { contender: task.contender.text(), error }
}
