//! `CommandPool`: commands that work side by side on the tasks of one pipeline's worker, driven by one thread.
//!
//! Tasks wait in a queue and go to the command that has the fewest. Their outcomes are passed on as the worker's
//! results, in any order. While the sink has no room, no command goes on. Nothing else is held up.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hairstreak::pipeline::Worker;
use hairstreak_process::{
    Children, CommandPoolError, Counts, Each, EachOptions, Filter, FilterOptions, Framing, KEY_COUNT, News,
    Record, Results, STDIN, STDOUT, Slot, SlotContext, has_place,
};
use hairstreak_socket::settlement::Content;
use hairstreak_socket::{Interest, Message, Poller, Ready, RecvError};
use rustix::process::{Resource, getrlimit};

use crate::output::warn;

/// The largest number of tasks taken at once.
const BATCH_COUNT: usize = 1024;
/// The largest number of tasks given to one command before the next command gets some.
const BLOCK_COUNT_MAX: usize = 256;
/// Interval at which an idle pool checks whether the work has ended.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);
/// The wait for further tasks once all records were read. After it, the last tasks have come or have gone to other
/// workers.
const LAST_AFTER: Duration = Duration::from_millis(4);
/// The time limit for results that the map has not taken, when everything else is done.
const SETTLED_WITHIN: Duration = Duration::from_secs(30);

/// Descriptors of a command: both ends of its standard input, its standard output, and the descriptor that reports its end.
const DESCRIPTORS_EACH: usize = 4;
/// Descriptors for the rest of a map (about 26), for a start of a command (6 for a moment), and for a stop.
const OTHER_DESCRIPTORS: usize = 40;

/// The options of a pool.
#[derive(Clone, Debug)]
pub struct CommandPoolOptions {
    pub command: Vec<OsString>,
    pub framing: Framing,
    /// `true` if the command runs once for each record although its arguments have no place for the record.
    pub each: bool,
    /// The number of commands.
    pub job_count: usize,
    /// The largest number of records at all commands together.
    pub window: usize,
    pub tries_max: Option<u32>,
    pub record_bytes_max: usize,
    /// Set if the tasks come from another process: its endpoint, and the longest absence of that process.
    pub remote: Option<(String, Duration)>,
}

impl CommandPoolOptions {
    /// Returns `true` if the command runs once for each record.
    pub fn is_each(&self) -> bool {
        self.each || self.command.iter().any(|word| has_place(word))
    }
}

/// Orders of other threads to a pool.
#[derive(Debug, Default)]
pub struct Orders {
    /// All records were read: filters have to give the results that they hold back.
    pub input_is_over: AtomicBool,
    /// The number of records, if this pool has all of them.
    pub record_count: AtomicU64,
    /// All results are taken.
    pub work_is_over: AtomicBool,
}

/// Commands that work side by side.
pub struct CommandPool {
    options: CommandPoolOptions,
    worker: Worker,
    results: Results,
    poller: Poller,
    slots: Vec<Box<dyn Slot + Send>>,
    /// The slot whose turn is next. The turns rotate, so that the first slot is not always first when the sink has room
    /// again.
    turn: usize,
    queue: VecDeque<Record>,
    messages: Vec<Message>,
    children: Children,
    counts: Arc<Counts>,
    orders: Arc<Orders>,
    /// `true` after the ventilator has announced the end of its tasks.
    has_ended: bool,
    last_took: Instant,
    taken: u64,
    /// `last_seen`: the time of the last sign of the map. `was_ever_seen`: `true` after the first sign.
    last_seen: Instant,
    was_ever_seen: bool,
}

impl CommandPool {
    /// Starts the commands that keep running.
    pub fn start(
        options: CommandPoolOptions,
        worker: Worker,
        children: Children,
        counts: Arc<Counts>,
    ) -> Result<CommandPool, CommandPoolError> {
        let mut poller = Poller::new().map_err(CommandPoolError::System)?;
        let now = Instant::now();
        let (tasks, results) = worker.sockets();
        let mut results = Results::new(results.clone());
        let job_count = fitting(options.job_count.max(1));
        let mut context = SlotContext {
            poller: &mut poller,
            results: &mut results,
            children: &children,
            counts: &counts,
            warn,
            now,
            is_last: false,
        };
        let mut slots = Vec::with_capacity(job_count);
        for index in 0..job_count {
            slots.push(options.slot(index * KEY_COUNT, &mut context)?);
        }
        poller.add(tasks, job_count * KEY_COUNT, Interest::READABLE)?;
        Ok(CommandPool {
            options,
            worker,
            results,
            poller,
            slots,
            turn: 0,
            queue: VecDeque::new(),
            messages: Vec::with_capacity(BATCH_COUNT),
            children,
            counts,
            orders: Arc::default(),
            has_ended: false,
            last_took: now,
            taken: 0,
            last_seen: now,
            was_ever_seen: false,
        })
    }

    /// Returns the orders for the pool, and the waker that makes the pool read them.
    pub fn orders(&self) -> (Arc<Orders>, std::task::Waker) {
        (Arc::clone(&self.orders), self.poller.waker())
    }

    /// Works until nothing is left. After an error, keep the pool while the program ends: closing its sockets would
    /// wait for the delivery of results that may have no reader left.
    pub fn work(&mut self) -> Result<(), CommandPoolError> {
        let mut ready: Vec<Ready> = Vec::new();
        let mut news = vec![News::default(); self.slots.len()];
        loop {
            let took = self.take()?;
            let gets_no_more = self.has_ended || self.work_is_over();
            let now = Instant::now();
            if took {
                self.last_took = now;
                self.was_ever_seen = true;
            }
            let is_ending = gets_no_more || self.orders.input_is_over.load(Ordering::Acquire);
            let is_last = gets_no_more || (is_ending && self.has_taken_all(now));
            self.go_on(&mut news, is_last, now)?;
            self.send_waiting()?;
            self.results.flush();
            if gets_no_more && self.queue.is_empty() && self.slots.iter().all(|slot| slot.is_idle()) {
                return self.settle();
            }
            // While tasks arrive, the poller does not sleep: the next tasks are there already, or nearly.
            let longest = if is_ending && !is_last { LAST_AFTER } else { LOOK_INTERVAL };
            let timeout = if took { Duration::ZERO } else { self.until_next(now).min(longest) };
            self.poller.wait_timeout(&mut ready, timeout)?;
            self.look_for_map(now)?;
            for found in &ready {
                let Some(news) = news.get_mut(found.key / KEY_COUNT) else { continue };
                match found.key % KEY_COUNT {
                    STDIN => news.input = true,
                    STDOUT => news.output = true,
                    _ => news.end = true,
                }
            }
        }
    }

    /// Returns `true` if all records were read and no further task is expected.
    fn has_taken_all(&self, now: Instant) -> bool {
        match self.orders.record_count.load(Ordering::Acquire) {
            0 => now.saturating_duration_since(self.last_took) >= LAST_AFTER,
            count => self.taken >= count,
        }
    }

    /// Takes waiting tasks, at most the window. Returns `true` if there were any.
    fn take(&mut self) -> Result<bool, CommandPoolError> {
        let tasks = self.worker.sockets().0;
        let count = self.queue.len();
        while !self.has_ended {
            match tasks.recv_batch(&mut self.messages, BATCH_COUNT, Duration::ZERO) {
                Ok(batch) => {
                    let mut messages = self.messages.drain(..);
                    for (run, count) in batch.runs {
                        let tasks = messages.by_ref().take(count as usize).enumerate();
                        if run.content != Content::Message {
                            tasks.for_each(drop);
                            self.worker.sockets().0.reject_tasks(
                                run.id,
                                count,
                                "a map takes a record a task",
                            );
                            continue;
                        }
                        self.queue.extend(
                            tasks.map(|(offset, message)| Record::new(run.plus(offset as u64), message)),
                        );
                    }
                }
                Err(RecvError::TimedOut) => break,
                Err(RecvError::Ended) => self.has_ended = true,
                Err(error) => return Err(error.into()),
            }
        }
        self.taken += (self.queue.len() - count) as u64;
        Ok(self.queue.len() > count)
    }

    /// Lets every command continue, and gives it the records that it has room for.
    fn go_on(&mut self, news: &mut [News], is_last: bool, now: Instant) -> Result<(), CommandPoolError> {
        let mut context = SlotContext {
            poller: &mut self.poller,
            results: &mut self.results,
            children: &self.children,
            counts: &self.counts,
            warn,
            now,
            is_last: false,
        };
        for _ in 0..news.len() {
            if context.results.are_waiting() {
                return Ok(());
            }
            let turn = self.turn;
            self.turn = (turn + 1) % news.len();
            let (slot, its_news) = (&mut self.slots[turn], &mut news[turn]);
            if its_news.is_any() || slot.deadline().is_some_and(|at| at <= now) {
                slot.go_on(std::mem::take(its_news), &mut context)?;
            }
        }
        while !self.queue.is_empty() && !context.results.are_waiting() {
            let with_room = self.slots.iter_mut().filter(|slot| slot.room(now) > 0);
            let Some(slot) = with_room.min_by_key(|slot| slot.load()) else { break };
            let block = self.queue.len().div_ceil(news.len()).min(BLOCK_COUNT_MAX).min(slot.room(now));
            slot.give(&mut self.queue, block, &mut context)?;
            slot.go_on(News::default(), &mut context)?;
        }
        if is_last && self.queue.is_empty() && !context.results.are_waiting() {
            context.is_last = true;
            self.slots.iter_mut().try_for_each(|slot| slot.go_on(News::default(), &mut context))?;
        }
        Ok(())
    }

    /// Waits until the sink has taken the results that it had no room for, while the map is there and wants them.
    fn send_waiting(&mut self) -> Result<(), CommandPoolError> {
        while !self.results.send_waiting(LOOK_INTERVAL)? {
            if self.work_is_over() {
                self.results.drop_waiting();
            }
            self.look_for_map(Instant::now())?;
        }
        Ok(())
    }

    /// Returns `true` if every record has its result, from this pool or another.
    fn work_is_over(&self) -> bool {
        self.worker.is_over() || self.orders.work_is_over.load(Ordering::Acquire)
    }

    fn until_next(&self, now: Instant) -> Duration {
        let next = self.slots.iter().filter_map(|slot| slot.deadline()).min();
        next.map_or(LOOK_INTERVAL, |at| at.saturating_duration_since(now).min(LOOK_INTERVAL))
    }

    fn look_for_map(&mut self, now: Instant) -> Result<(), CommandPoolError> {
        let Some((place, lost_after)) = &self.options.remote else { return Ok(()) };
        if now.saturating_duration_since(self.last_seen) < LOOK_INTERVAL {
            return Ok(());
        }
        let now = Instant::now();
        if !self.worker.sockets().0.peers().is_empty() {
            self.was_ever_seen = true;
            self.last_seen = now;
        }
        let for_time = now.saturating_duration_since(self.last_seen);
        if for_time < *lost_after || self.worker.is_over() {
            return Ok(());
        }
        let place = place.clone();
        match self.was_ever_seen {
            true => Err(CommandPoolError::Lost { place, for_time }),
            false => Err(CommandPoolError::NeverFound { place, for_time }),
        }
    }

    /// Returns `true` if the map has all results, or will get them.
    fn settle(&mut self) -> Result<(), CommandPoolError> {
        let begin = Instant::now();
        while !self.work_is_over() && !self.worker.sockets().1.wait_settled(LOOK_INTERVAL) {
            if begin.elapsed() >= SETTLED_WITHIN {
                return Err(CommandPoolError::Unsettled(self.worker.sockets().1.unsettled().count));
            }
            self.look_for_map(Instant::now())?;
        }
        Ok(())
    }
}

/// Returns the number of commands that there are descriptors for: at most `wanted`, at least one. Reports a smaller number
/// to the user.
fn fitting(wanted: usize) -> usize {
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let open = std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    let left = usize::try_from(limit).unwrap_or(usize::MAX).saturating_sub(open + OTHER_DESCRIPTORS);
    let count = wanted.min((left / DESCRIPTORS_EACH).max(1));
    if count < wanted {
        warn(&format!(
            "{count} of {wanted} commands run side by side: this process may have {limit} open files (ulimit -n)"
        ));
    }
    count
}

impl CommandPoolOptions {
    fn slot(
        &self,
        key: usize,
        context: &mut SlotContext<'_>,
    ) -> Result<Box<dyn Slot + Send>, CommandPoolError> {
        /// The number of tries of a record, for a command per record and for filters.
        const EACH_TRIES: u32 = 1;
        const FILTER_TRIES: u32 = 3;
        let command = self.command.clone();
        if self.is_each() {
            let options = EachOptions {
                command,
                framing: self.framing,
                to_stdin: self.each,
                tries_max: self.tries_max.unwrap_or(EACH_TRIES),
                answer_size_max: self.record_bytes_max,
            };
            return Ok(Box::new(Each::new(options, key)));
        }
        let options = FilterOptions {
            command,
            framing: self.framing,
            share: (self.window / self.job_count.max(1)).max(1),
            tries_max: self.tries_max.unwrap_or(FILTER_TRIES),
            answer_size_max: self.record_bytes_max,
            is_remote: self.remote.is_some(),
        };
        Ok(Box::new(Filter::start(options, key, context)?))
    }
}
