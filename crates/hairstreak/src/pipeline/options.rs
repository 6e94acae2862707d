//! `PipelineOptions`: what ventilator, workers and sink agree on; each may be given its own.
//!
//! - `Absence`: the time since the ventilator was last seen.

use std::time::{Duration, Instant};

use hairstreak_socket::Options;
use hairstreak_socket::settlement::{LETTER_NOTE_SIZE_MAX, Settlement, Settling};

/// Tasks that a worker, or a sink, may have that are done already, for all that its sender has been told: so that it need not
/// be told of each. Not done are never more than the window.
const PASSING_COUNT_MIN: usize = 4096;
/// A worker has no more ahead than it does in this time: who comes later finds something to do, and who leaves is soon done.
const AHEAD_TIME: Duration = Duration::from_millis(500);
/// Connecting may take so long however soon a connection is given up.
const HANDSHAKE_TIMEOUT_MIN_MS: u64 = 2_000;

/// Refused tasks that are kept for the application, at least: with a small window it may take them seldom.
const REFUSED_COUNT_MIN: usize = 1_000;
/// An application that has taken no refused task for this long is not expected to take any.
const REFUSALS_PATIENCE: Duration = Duration::from_secs(10);

/// The window where none is asked for.
const WINDOW_COUNT_MAX: usize = 10_000;
/// What a window that grows by itself does not grow beyond.
const AUTO_COUNT_MAX: usize = 100_000;

/// How many tasks may be under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// So many; at least 1.
    Count(usize),
    /// As many as throughput grows with, up to 100,000.
    Auto,
}

impl Window {
    /// The most that it can be.
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
    /// The most tasks that are under way in all stages: sent and not settled. So many may be done twice when a worker dies, in
    /// whichever stage it is; where several give it tasks, also those that are done and of which they have not heard yet.
    pub window: Window,
    /// The most tasks that a worker has ahead, whose results the sink has not taken; at least 1. `None`: what it does in half a second by its
    /// own account, 16 until that is known. With [`PipelineOptions::keep_order`], and with several stages, it may have as many as the window.
    pub ahead: Option<usize>,
    /// How often a task is given to a worker before it is given up; 0: as often as need be. In a later stage the next worker
    /// that it comes to then rejects it.
    pub deliveries_max: u16,
    /// How long a task may take from when it was handed over to when the sink has taken its result, in all its deliveries. Then
    /// it is given up: see [`Settlement::deadline`]. `None`: as long as need be.
    pub deadline: Option<Duration>,
    /// Where a [`DeadLetterSink`](super::DeadLetterSink) listens, to which the ventilator sends what is refused. `None`: see
    /// [`Ventilator::take_refusals`](super::Ventilator::take_refusals).
    pub dead_letters: Option<String>,
    /// Dead letters that may wait to be taken: with more, [`Ventilator::send`](super::Ventilator::send) waits. Tasks that are
    /// under way by then may still be refused, so that there are at most as many more as the window has.
    pub dead_letters_max: usize,
    /// The sink delivers results in the order of their tasks.
    pub keep_order: bool,
    /// How long a worker or a sink waits for a ventilator that has gone to come back, or a worker for one of the stage before,
    /// before it says that it is lost.
    pub lost_after: Duration,
    /// A peer that has been silent this long is sent a PING.
    pub heartbeat_ms: u64,
    /// How long a PING may stay unanswered before the connection is given up: what the peer had goes to another. See
    /// [`Options::heartbeat_timeout_ms`].
    pub heartbeat_timeout_ms: u64,
    /// How long a part that waits yields the processor before it sleeps, in microseconds: while it waits no longer than that, a
    /// processor without other work does not rest. 0: it sleeps at once. See [`Options::yield_us`].
    pub yield_us: u64,
    /// How long what was sent without being written at once may gather while its part does something else than to send and to
    /// wait, in microseconds: a burst's last tasks, or results behind which a long task begins. See [`Options::gather_us`].
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
    /// Of the socket that hands out tasks.
    pub(super) fn tasks_out(&self) -> Options {
        self.with(Settlement {
            unsettled_count_max: self.window.count_max(),
            grows: self.window == Window::Auto,
            deliveries_max: self.deliveries_max,
            deadline: self.deadline,
            // The whole window may be refused at one instant, and what is sent next before the thread that sends it takes any.
            refused_count_max: self.window.count_max().saturating_mul(2).max(REFUSED_COUNT_MIN),
            refusals_patience: Some(REFUSALS_PATIENCE),
            in_order: self.keep_order,
            ahead_time: Some(AHEAD_TIME),
            ..self.passing_settlement()
        })
    }

    /// Of sockets that receive tasks, or dead letters.
    pub(super) fn tasks_in(&self) -> Options {
        self.with(Settlement {
            ahead_count: self.ahead.map_or(0, |count| count.max(1)),
            ..self.passing_settlement()
        })
    }

    /// Of the socket that passes results on, to the sink or to another stage.
    pub(super) fn results_out(&self) -> Options {
        let settlement = Settlement {
            unsettled_count_max: self.window.count_max(),
            in_order: self.keep_order,
            ..self.passing_settlement()
        };
        // Whoever waited for the ventilator in vain does not wait longer for those that it passes results to.
        let linger_ms = u64::try_from(self.lost_after.as_millis()).unwrap_or(u64::MAX);
        Options { linger_ms: linger_ms.min(Options::default().linger_ms), ..self.with(settlement) }
    }

    /// Of the socket of a sink, or a relay.
    pub(super) fn results_in(&self) -> Options {
        self.with(Settlement { collects: true, ..self.passing_settlement() })
    }

    /// Of the socket that sends dead letters: a note is added to each task.
    pub(super) fn letters_out(&self) -> Options {
        let settlement = Settlement {
            unsettled_count_max: self.dead_letters_max.max(1),
            // Any PULL may read them.
            is_required: false,
            ..self.passing_settlement()
        };
        PipelineOptions::with_note(self.with(settlement))
    }

    /// Of the socket that takes them.
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

    /// Of the socket by which a sink reports.
    pub(super) fn reports(&self) -> Options {
        self.with(Settlement { credit_count: 0, ..self.passing_settlement() })
    }

    fn passing_settlement(&self) -> Settlement {
        let count = self.window.count_max().max(PASSING_COUNT_MIN);
        Settlement {
            unsettled_count_max: count,
            credit_count: count,
            settling: Settling::ByHand,
            // Tasks would be lost with a peer that does not, and their results be nobody's.
            is_required: true,
            ..Settlement::default()
        }
    }

    fn with(&self, settlement: Settlement) -> Options {
        let PipelineOptions { yield_us, gather_us, .. } = *self;
        Options { settlement: Some(settlement), yield_us, gather_us, ..self.control() }
    }

    /// Of the sockets between sink and ventilator.
    pub(super) fn control(&self) -> Options {
        Options {
            heartbeat_ms: self.heartbeat_ms,
            heartbeat_timeout_ms: self.heartbeat_timeout_ms,
            // An attempt that began while the link was cut is not waited for: the system tries again less and less often.
            handshake_timeout_ms: self.heartbeat_timeout_ms.max(HANDSHAKE_TIMEOUT_MIN_MS),
            ..Options::default()
        }
    }
}

/// Interval at which an idle part looks for its ventilator.
pub(super) const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// The time since the first look that found none: a part that has not looked for long has not missed it.
#[derive(Debug, Default)]
pub(super) struct Absence {
    since: Option<Instant>,
}

impl Absence {
    /// Fails with how long it has been, if that is `lost_after` or longer.
    pub fn look(&mut self, is_there: bool, lost_after: Duration) -> Result<(), Duration> {
        if is_there {
            self.since = None;
            return Ok(());
        }
        let lost_for = self.since.get_or_insert_with(Instant::now).elapsed();
        if lost_for >= lost_after { Err(lost_for) } else { Ok(()) }
    }
}
