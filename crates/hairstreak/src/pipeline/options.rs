//! `PipelineOptions`: the limits and times of ventilator, workers and sink. Each part is given a copy of its own.
//!
//! - `Absence`: the time since the ventilator was last seen.

use std::time::{Duration, Instant};

use hairstreak_socket::Options;
use hairstreak_socket::settlement::{LETTER_NOTE_SIZE_MAX, Settlement, Settling};

/// Least credit of a worker or a sink, in tasks. It covers done tasks whose settlement the sender has not heard, so
/// that the sender need not be told of each. Tasks that are not done never exceed the window.
const PASSING_COUNT_MIN: usize = 4096;
/// Longest work that a worker has ahead. A worker that comes later then finds tasks, and a worker that leaves is soon
/// done.
const AHEAD_TIME: Duration = Duration::from_millis(500);
/// Least time allowed for connecting, for any heartbeat timeout.
const HANDSHAKE_TIMEOUT_MIN_MS: u64 = 2_000;

/// Least number of refused tasks that are kept for the application. With a small window the application may take them
/// seldom.
const REFUSED_COUNT_MIN: usize = 1_000;
/// Time without a call after which an application is not expected to take refused tasks.
const REFUSALS_PATIENCE: Duration = Duration::from_secs(10);

/// The default window.
const WINDOW_COUNT_MAX: usize = 10_000;
/// The largest window of [`Window::Auto`].
const AUTO_COUNT_MAX: usize = 100_000;

/// The number of tasks that may be under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// This number of tasks; at least 1.
    Count(usize),
    /// The number of tasks up to which throughput grows, at most 100,000.
    Auto,
}

impl Window {
    /// Returns the largest number of tasks that the window can have.
    pub fn count_max(self) -> usize {
        match self {
            Window::Count(count) => count.max(1),
            Window::Auto => AUTO_COUNT_MAX,
        }
    }
}

impl From<usize> for Window {
    fn from(count: usize) -> Window {
        Window::Count(count)
    }
}

/// Limits of a pipeline. Give all its parts the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PipelineOptions {
    /// Largest number of tasks under way in all stages: sent and not settled. At most this number is done twice when a
    /// worker dies, in any stage. If several peers give tasks to the worker, done tasks of which they have not heard
    /// yet come on top.
    pub window: Window,
    /// Largest number of tasks that a worker has ahead and whose results the sink has not taken; at least 1. `None`:
    /// the work of half a second by the worker's own account, and 16 tasks until that is known. With
    /// [`PipelineOptions::keep_order`], and with several stages, a worker may have the whole window.
    pub ahead: Option<usize>,
    /// Number of times that a task is given to a worker before it is given up; 0 means no limit. In a later stage, the
    /// next worker that gets the task rejects it.
    pub deliveries_max: u16,
    /// Longest time from handing over a task until the sink has taken its result, for all deliveries together. Then the
    /// task is given up: see [`Settlement::deadline`]. `None` means no limit.
    pub deadline: Option<Duration>,
    /// Endpoint of the [`DeadLetterSink`](super::DeadLetterSink) to which the ventilator sends refused tasks. `None`:
    /// see [`Ventilator::take_refusals`](super::Ventilator::take_refusals).
    pub dead_letters: Option<String>,
    /// Largest number of dead letters that wait to be taken. Above it, [`Ventilator::send`](super::Ventilator::send)
    /// waits. Tasks under way may still be refused then, so that the window may come on top.
    pub dead_letters_max: usize,
    /// The sink delivers results in the order of their tasks.
    pub keep_order: bool,
    /// Time that a worker or a sink waits for a ventilator that has gone, and a worker for the stage before, until the
    /// loss is reported.
    pub lost_after: Duration,
    /// Silence after which a peer is sent a PING, in milliseconds.
    pub heartbeat_ms: u64,
    /// Longest time without an answer to a PING, in milliseconds. Then the connection is given up, and the peer's tasks
    /// go to another. See [`Options::heartbeat_timeout_ms`].
    pub heartbeat_timeout_ms: u64,
    /// Time that a waiting part yields the processor before it sleeps, in microseconds. A processor without other work
    /// does not rest during this time. With 0 the part sleeps at once. See [`Options::yield_us`].
    pub yield_us: u64,
    /// Longest time that unwritten messages gather while their part neither sends nor waits, in microseconds. Examples
    /// are the last tasks of a burst, and results before a long task. See [`Options::gather_us`].
    pub gather_us: u64,
}

impl Default for PipelineOptions {
    fn default() -> PipelineOptions {
        PipelineOptions {
            window: Window::Count(WINDOW_COUNT_MAX),
            ahead: None,
            deliveries_max: 10,
            deadline: None,
            dead_letters: None,
            dead_letters_max: 1_000,
            keep_order: false,
            lost_after: Duration::from_secs(10),
            heartbeat_ms: 1_000,
            heartbeat_timeout_ms: 5_000,
            yield_us: 200,
            gather_us: 5_000,
        }
    }
}

impl PipelineOptions {
    /// Returns the options of the socket that hands out tasks.
    pub(super) fn tasks_out(&self) -> Options {
        self.with(Settlement {
            unsettled_count_max: self.window.count_max(),
            grows: self.window == Window::Auto,
            deliveries_max: self.deliveries_max,
            deadline: self.deadline,
            // The whole window may be refused at one instant, and so may the tasks sent next before the sending thread
            // takes any refused task.
            refused_count_max: self.window.count_max().saturating_mul(2).max(REFUSED_COUNT_MIN),
            refusals_patience: Some(REFUSALS_PATIENCE),
            in_order: self.keep_order,
            ahead_time: Some(AHEAD_TIME),
            ..self.passing_settlement()
        })
    }

    /// Returns the options of sockets that receive tasks or dead letters.
    pub(super) fn tasks_in(&self) -> Options {
        self.with(Settlement {
            ahead_count: self.ahead.map_or(0, |count| count.max(1)),
            ..self.passing_settlement()
        })
    }

    /// Returns the options of the socket that passes results on, to the sink or to another stage.
    pub(super) fn results_out(&self) -> Options {
        let settlement = Settlement {
            unsettled_count_max: self.window.count_max(),
            in_order: self.keep_order,
            ..self.passing_settlement()
        };
        // A worker that waited for the ventilator in vain does not wait longer for the receivers of its results.
        let linger_ms = u64::try_from(self.lost_after.as_millis()).unwrap_or(u64::MAX);
        Options { linger_ms: linger_ms.min(Options::default().linger_ms), ..self.with(settlement) }
    }

    /// Returns the options of the socket of a sink or a relay.
    pub(super) fn results_in(&self) -> Options {
        self.with(Settlement { collects: true, ..self.passing_settlement() })
    }

    /// Returns the options of the socket that sends dead letters. A note is added to each task.
    pub(super) fn letters_out(&self) -> Options {
        let settlement = Settlement {
            unsettled_count_max: self.dead_letters_max.max(1),
            // Any PULL socket may read them.
            is_required: false,
            ..self.passing_settlement()
        };
        PipelineOptions::with_note(self.with(settlement))
    }

    /// Returns the options of the socket that takes dead letters.
    pub(super) fn letters_in(&self) -> Options {
        PipelineOptions::with_note(self.tasks_in())
    }

    fn with_note(options: Options) -> Options {
        Options {
            frame_count_max: options.frame_count_max + 1,
            message_size_max: options.message_size_max + LETTER_NOTE_SIZE_MAX,
            ..options
        }
    }

    /// Returns the options of the socket with which a sink reports.
    pub(super) fn reports(&self) -> Options {
        self.with(Settlement { credit_count: 0, ..self.passing_settlement() })
    }

    fn passing_settlement(&self) -> Settlement {
        let count = self.window.count_max().max(PASSING_COUNT_MIN);
        Settlement {
            unsettled_count_max: count,
            credit_count: count,
            settling: Settling::ByHand,
            // A peer that does not settle would lose tasks, and its results would belong to no task.
            is_required: true,
            ..Settlement::default()
        }
    }

    fn with(&self, settlement: Settlement) -> Options {
        let PipelineOptions { yield_us, gather_us, .. } = *self;
        Options { settlement: Some(settlement), yield_us, gather_us, ..self.control() }
    }

    /// Returns the options of the sockets between sink and ventilator.
    pub(super) fn control(&self) -> Options {
        Options {
            heartbeat_ms: self.heartbeat_ms,
            heartbeat_timeout_ms: self.heartbeat_timeout_ms,
            // An attempt that began while the link was cut is given up soon, because the system retries it less and
            // less often.
            handshake_timeout_ms: self.heartbeat_timeout_ms.max(HANDSHAKE_TIMEOUT_MIN_MS),
            ..Options::default()
        }
    }
}

/// Interval at which an idle part looks for its ventilator.
pub(super) const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// The time since the first look that found no peer. A part that does not look does not miss its peer.
#[derive(Debug, Default)]
pub(super) struct Absence {
    since: Option<Instant>,
}

impl Absence {
    /// Fails with the duration of the absence if that is `lost_after` or longer.
    pub fn look(&mut self, is_there: bool, lost_after: Duration) -> Result<(), Duration> {
        if is_there {
            self.since = None;
            return Ok(());
        }
        let lost_for = self.since.get_or_insert_with(Instant::now).elapsed();
        if lost_for >= lost_after { Err(lost_for) } else { Ok(()) }
    }
}
