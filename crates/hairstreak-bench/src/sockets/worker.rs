//! A worker process: its part of one sample, timed and verified.
//!
//! The measurer's clock runs from the first message it received to the last (throughput), or from the end of the
//! warm-up to the last reply (round trips). Consumption counts for all messages, at both ends, from the moment the
//! ends know each other. A peer keeps its sockets open until it is told that the measurer has everything.

use std::io::{self, Write};
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use super::contender::{
    Component, Contender, ContenderError, Libzmq, Opening, Ours, Receiving, RingLimit, Sending, StreamLimit,
};
use super::plan::Transport;
use super::task::{Answer, BATCH_COUNT, Calls, CaseName, ContenderName, Measurement, Role, Task};
use crate::usage::Usage;
use crate::{allocations, cores, process};

/// One in this many round trips is a warm-up.
const WARM_UP_SHARE: u64 = 20;

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
        (ContenderName::Limit, Transport::Inproc) => work_as::<RingLimit>(&task, orders),
        (ContenderName::Limit, Transport::Tcp | Transport::Ipc | Transport::Shm) => {
            work_as::<StreamLimit>(&task, orders)
        }
    }
}

fn work_as<C: Contender>(task: &Task, orders: mpsc::Receiver<()>) -> Result<(), WorkerError> {
    let contender = C::open(Opening::of(task)).map_err(blame(task))?;
    let measurement = match task.role {
        Role::Measurer => measure(&contender, task, |endpoints| answer(&Answer::Bound(endpoints)))?,
        Role::Peer => serve(&contender, task, &task.endpoints, &orders)?,
        Role::Both => measure_both(&contender, task)?,
    };
    answer(&Answer::Measured(measurement))?;
    // The benchmark says so to every worker; until then a peer may be behind.
    let _ = orders.recv();
    Ok(())
}

/// Both ends in this process, each on a core; the consumption of a process is that of both already.
fn measure_both<C: Contender>(contender: &C, task: &Task) -> Result<Measurement, WorkerError> {
    let (bound, endpoints) = mpsc::channel();
    let (finish, orders) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(move || {
            let Ok(endpoints) = endpoints.recv() else { return };
            cores::keep_to(1);
            let endpoints: Vec<String> = endpoints;
            if let Err(error) = serve(contender, task, &endpoints, &orders) {
                // The measurer would wait for this thread's messages for ever.
                eprintln!("hairstreak-bench: {error}");
                std::process::exit(1);
            }
        });
        let measurement = measure(contender, task, |endpoints| {
            cores::keep_to(0);
            bound.send(endpoints).map_err(|_| io::Error::other("the peer thread is gone").into())
        });
        // Without a listener the thread has failed and ends the process.
        let _ = finish.send(());
        measurement
    })
}

/// The measurer: binds, passes its endpoints to `announce`, runs the case with the clock.
fn measure<C: Contender>(
    contender: &C,
    task: &Task,
    announce: impl FnOnce(Vec<String>) -> Result<(), WorkerError>,
) -> Result<Measurement, WorkerError> {
    let component = contender.component().map_err(blame(task))?;
    let (mut receiver, endpoint) = component.bind_receiver(0).map_err(blame(task))?;
    match task.case {
        CaseName::Throughput => {
            announce(vec![endpoint])?;
            receiver.wait_ready().map_err(blame(task))?;
            measure_throughput(&mut receiver, task)
        }
        CaseName::RoundTrip => {
            let (mut sender, back) = component.bind_sender(1).map_err(blame(task))?;
            announce(vec![endpoint, back])?;
            receiver.wait_ready().map_err(blame(task))?;
            sender.wait_ready().map_err(blame(task))?;
            measure_round_trips(&mut sender, &mut receiver, task)
        }
    }
}

/// The peer: connects, sends or returns, and stays until told to finish.
fn serve<C: Contender>(
    contender: &C,
    task: &Task,
    endpoints: &[String],
    orders: &mpsc::Receiver<()>,
) -> Result<Measurement, WorkerError> {
    let component = contender.component().map_err(blame(task))?;
    let endpoint = endpoints.first().ok_or(WorkerError::Endpoints(0))?;
    let mut sender = component.connect_sender(endpoint).map_err(blame(task))?;
    let before;
    match task.case {
        CaseName::Throughput => {
            sender.wait_ready().map_err(blame(task))?;
            before = Usage::now()?;
            send_all(&mut sender, task).map_err(blame(task))?;
            let _ = orders.recv();
        }
        CaseName::RoundTrip => {
            let back = endpoints.get(1).ok_or(WorkerError::Endpoints(1))?;
            let mut receiver = component.connect_receiver(back).map_err(blame(task))?;
            receiver.wait_ready().map_err(blame(task))?;
            sender.wait_ready().map_err(blame(task))?;
            before = Usage::now()?;
            return_all(&mut sender, &mut receiver, task)?;
            let _ = orders.recv();
        }
    }
    Ok(Measurement { usage: Usage::now()?.since(&before), ..Measurement::default() })
}

fn send_all<S: Sending>(sender: &mut S, task: &Task) -> Result<(), ContenderError> {
    let body = vec![b'h'; task.size];
    match task.calls {
        Calls::One | Calls::Spin => {
            for _ in 0..task.message_count {
                sender.send(&body)?;
            }
        }
        Calls::Handle => sender.send_handles(&body, task.message_count)?,
        Calls::Batch => {
            let mut left = task.message_count;
            while left > 0 {
                let count = left.min(BATCH_COUNT as u64);
                sender.send_batch(&body, count as usize)?;
                left -= count;
            }
        }
    }
    sender.flush()
}

fn return_all<S: Sending, R: Receiving>(
    sender: &mut S,
    receiver: &mut R,
    task: &Task,
) -> Result<(), WorkerError> {
    let body = vec![b'h'; task.size];
    for index in 0..task.message_count {
        check_size(receiver.receive().map_err(blame(task))?, index, task)?;
        sender.send(&body).and_then(|()| sender.flush()).map_err(blame(task))?;
    }
    Ok(())
}

fn measure_throughput<R: Receiving>(receiver: &mut R, task: &Task) -> Result<Measurement, WorkerError> {
    let before = Usage::now()?;
    let first_count = receive_some(receiver, task, 0)?;
    let start = Instant::now();
    let mut count = first_count;
    match task.calls {
        Calls::One | Calls::Handle | Calls::Spin => {
            while count < task.message_count {
                check_size(receiver.receive().map_err(blame(task))?, count, task)?;
                count += 1;
            }
        }
        Calls::Batch => {
            while count < task.message_count {
                count += receive_some(receiver, task, count)?;
            }
        }
    }
    let elapsed_s = start.elapsed().as_secs_f64();
    Ok(Measurement { timed_count: count - first_count, elapsed_s, usage: Usage::now()?.since(&before) })
}

/// One call of the kind the task asks for; gives how many messages it brought.
fn receive_some<R: Receiving>(receiver: &mut R, task: &Task, count: u64) -> Result<u64, WorkerError> {
    match task.calls {
        Calls::One | Calls::Handle | Calls::Spin => {
            check_size(receiver.receive().map_err(blame(task))?, count, task)?;
            Ok(1)
        }
        Calls::Batch => {
            let max = (task.message_count - count).min(BATCH_COUNT as u64) as usize;
            Ok(receiver.receive_batch(task.size, max).map_err(blame(task))? as u64)
        }
    }
}

fn measure_round_trips<S: Sending, R: Receiving>(
    sender: &mut S,
    receiver: &mut R,
    task: &Task,
) -> Result<Measurement, WorkerError> {
    let body = vec![b'h'; task.size];
    let warm_up_count = task.message_count / WARM_UP_SHARE;
    let before = Usage::now()?;
    let mut start = Instant::now();
    for index in 0..task.message_count {
        if index == warm_up_count {
            start = Instant::now();
        }
        sender.send(&body).and_then(|()| sender.flush()).map_err(blame(task))?;
        check_size(receiver.receive().map_err(blame(task))?, index, task)?;
    }
    let elapsed_s = start.elapsed().as_secs_f64();
    let timed_count = task.message_count - warm_up_count;
    Ok(Measurement { timed_count, elapsed_s, usage: Usage::now()?.since(&before) })
}

#[inline]
fn check_size(size: usize, index: u64, task: &Task) -> Result<(), WorkerError> {
    if size != task.size {
        return Err(WorkerError::Size { index, size, expected: task.size });
    }
    Ok(())
}

fn blame(task: &Task) -> impl Fn(ContenderError) -> WorkerError {
    |error| WorkerError::Contender { contender: task.contender.text(), error }
}

fn answer(answer: &Answer) -> Result<(), WorkerError> {
    let mut output = io::stdout().lock();
    writeln!(output, "{}", serde_json::to_string(answer)?)?;
    Ok(output.flush()?)
}
