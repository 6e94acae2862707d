//! `Filter`: a long-running command. It reads one record on its standard input and writes one answer on its standard
//! output.
//!
//! ```text
//!             new records, or the rest        silent, or nothing follows
//!   Down ----------------------------> Flowing -----------+
//!    ^ |                                  ^ answered      |
//!    | +-- the suspect, first time --> Trying ------------+--> Closed
//!    | |                                                  |
//!    | +-- the suspect again, or ----> Closing -----------+
//!    |     a part that is divided               written
//!    |
//!    +-- the process ends: any of them, and Mute, which it is once it has closed its standard output
//! ```
//!
//! A filter is given many records ahead. It may hold its answers back: most programs buffer their output while it is a
//! pipe. A filter that is silent for the time of [`Patience`], with no further record to give, has its standard input
//! closed. It then writes the answers that it held back and ends. The next record starts it again.
//!
//! The unanswered records of a process that died are redone in the order of [`Redo`]. A record fails once `tries_max`
//! processes died that had no other record.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::ops::Range;
use std::process::ExitStatus;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::error::{CommandPoolError, Ending};
use super::framing::{Framing, Splitter};
use super::patience::Patience;
use super::process::{Found, Process};
use super::redo::{Part, Redo};
use super::slot::{News, Record, SHORTAGE_PAUSE, Slot, SlotContext, backoff};

/// Most bytes that wait for a filter to read them. Above this limit the filter gets no further record.
const PENDING_BYTES_MAX: usize = 128 * 1024;
/// Most bytes read from one filter before the other filters have their turn.
const TURN_BYTES_MAX: usize = 1 << 20;
/// Ends of a filter that never gave an answer. After so many the next failing record stops the pool. A filter that did
/// answer before, and now does not even read, is assumed to die of its records.
const NEVER_ANSWERED_MAX: u32 = 10;

/// Time that a filter may live on after it closed its standard output. The filter is killed then.
const MUTE_FOR: Duration = Duration::from_secs(1);

/// The options of all filters of a pool.
#[derive(Clone, Debug)]
pub struct FilterOptions {
    /// The command and its arguments.
    pub command: Vec<OsString>,
    /// The framing of records.
    pub framing: Framing,
    /// Most records that one filter has.
    pub share: usize,
    /// Most processes that may die while a record is their only one.
    pub tries_max: u32,
    /// Most bytes of an answer.
    pub answer_size_max: usize,
    /// The records come from other processes and may hold any bytes.
    pub is_remote: bool,
}

/// State of a filter in the diagram above.
#[derive(Clone, Copy, Debug)]
enum State {
    /// There is no process, and none is started before that time.
    Down { not_before: Option<Instant> },
    /// New records may follow the given ones.
    Flowing,
    /// The filter has the suspect. No record follows before the suspect is answered.
    Trying,
    /// The standard input is closed as soon as all bytes are written.
    Closing,
    /// The standard input is closed. `silent` is the time of the close if silence was its reason.
    Closed { silent: Option<Instant> },
    /// The filter closed its standard output at that time.
    Mute { since: Instant },
}

/// A long-running command.
#[derive(Debug)]
pub struct Filter {
    options: FilterOptions,
    key: usize,
    state: State,
    /// `None` only in the state `Down`.
    process: Option<Process>,
    splitter: Splitter,
    answers: Vec<Range<usize>>,
    /// Records without an answer, in order.
    given: VecDeque<Record>,
    redo: Redo,
    patience: Patience,
    /// Answers of this process.
    answered: u64,
    has_ever_answered: bool,
    /// Processes in a row that ended without an answer.
    fruitless: u32,
    /// Starts in a row that failed because the system was short of resources.
    shortages: u32,
}

impl Filter {
    /// Starts the process at once, so that it is ready when the first record comes.
    pub fn start(
        options: FilterOptions,
        key: usize,
        context: &mut SlotContext<'_>,
    ) -> Result<Filter, CommandPoolError> {
        let splitter = Splitter::new(options.framing, options.answer_size_max);
        let mut filter = Filter {
            options,
            key,
            state: State::Down { not_before: None },
            process: None,
            splitter,
            answers: Vec::new(),
            given: VecDeque::new(),
            redo: Redo::default(),
            patience: Patience::new(context.now),
            answered: 0,
            has_ever_answered: false,
            fruitless: 0,
            shortages: 0,
        };
        filter.ensure_process(context)?;
        Ok(filter)
    }

    fn hand_over(&mut self, record: Record, context: &mut SlotContext<'_>) -> Result<(), CommandPoolError> {
        if self.options.is_remote
            && let Some(reason) = self.options.framing.refusal(record.message.body())
        {
            return context.finish(&record, b"", &reason);
        }
        if self.given.is_empty() {
            self.patience.note_news(context.now);
        }
        if let Some(process) = &mut self.process {
            self.options.framing.write(process.pending(), record.message.body());
        }
        self.given.push_back(record);
        Ok(())
    }

    /// Starts a process if there is none. Returns whether there is one: a shortage of resources delays the start.
    fn ensure_process(&mut self, context: &mut SlotContext<'_>) -> Result<bool, CommandPoolError> {
        if self.process.is_some() {
            return Ok(true);
        }
        match Process::start(&self.options.command, true, context.children, context.poller, self.key) {
            Ok(process) => self.process = Some(process),
            Err(error) if context.may_try_again(&error, self.shortages) => {
                self.shortages += 1;
                self.state = State::Down { not_before: Some(context.now + SHORTAGE_PAUSE) };
                return Ok(false);
            }
            Err(error) => return Err(error),
        }
        self.state = State::Flowing;
        self.shortages = 0;
        self.answered = 0;
        self.splitter.clear();
        Ok(true)
    }

    /// Gives the next part of the records to be redone, once the part before is answered.
    fn give_again(&mut self, context: &mut SlotContext<'_>) -> Result<(), CommandPoolError> {
        let may_give = match self.state {
            State::Down { not_before } => not_before.is_none_or(|at| at <= context.now),
            State::Flowing => self.given.is_empty(),
            _ => false,
        };
        if !may_give || self.redo.is_empty() || !self.ensure_process(context)? {
            return Ok(());
        }
        let Some(part) = self.redo.next(self.patience.is_prompt()) else { return Ok(()) };
        let (state, records) = match part {
            // Processes that die quickly never reach the state of silence. The input is closed at once instead.
            Part::Suspect(suspect) if suspect.tries > 0 => (State::Closing, vec![suspect]),
            Part::Suspect(suspect) => (State::Trying, vec![suspect]),
            Part::Divided(records) => (State::Closing, records),
            Part::Rest(records) => (State::Flowing, records),
        };
        self.state = state;
        context.counts.redone.fetch_add(records.len() as u64, Ordering::Relaxed);
        records.into_iter().try_for_each(|record| self.hand_over(record, context))
    }

    fn read(&mut self, bytes_max: usize, context: &mut SlotContext<'_>) -> Result<(), CommandPoolError> {
        let mut total = 0;
        while let Some(process) = &mut self.process {
            match process.read(self.splitter.room(), context.poller)? {
                Found::Bytes(count) => {
                    self.splitter.filled(count);
                    self.answer(context)?;
                    total += count;
                    if total >= bytes_max {
                        return Ok(());
                    }
                }
                Found::Nothing => return Ok(()),
                Found::End => {
                    if !matches!(self.state, State::Mute { .. }) {
                        self.state = State::Mute { since: context.now };
                    }
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Passes on the answers in the buffer.
    fn answer(&mut self, context: &mut SlotContext<'_>) -> Result<(), CommandPoolError> {
        self.answers.clear();
        while let Some(answer) = self.splitter.next_record()? {
            self.answers.push(answer);
        }
        self.pass_on(context)
    }

    fn pass_on(&mut self, context: &mut SlotContext<'_>) -> Result<(), CommandPoolError> {
        if self.answers.len() > self.given.len() {
            return Err(CommandPoolError::TooMany);
        }
        if self.answers.is_empty() {
            return Ok(());
        }
        self.patience.note_news(context.now);
        self.answered += self.answers.len() as u64;
        self.has_ever_answered = true;
        self.fruitless = 0;
        match self.state {
            State::Closed { silent: Some(silent) } => {
                self.patience.note_closed(context.now.saturating_duration_since(silent));
                self.state = State::Closed { silent: None };
            }
            State::Trying => {
                self.patience.note_prompt();
                self.state = State::Flowing;
            }
            _ => {}
        }
        let mut rest = &self.answers[..];
        let mut records = self.given.drain(..rest.len()).peekable();
        while let Some(first) = records.next() {
            let mut count = 1;
            while records.next_if(|record| record.run == first.run.plus(count)).is_some() {
                count += 1;
            }
            let (answers, behind) = rest.split_at(count as usize);
            context.results.pass_on(first.run, answers.iter().map(|answer| self.splitter.bytes(answer)))?;
            rest = behind;
        }
        Ok(())
    }

    /// Closes the standard input of a filter that gets no further record for now, and that is silent or has to end.
    fn close(&mut self, context: &mut SlotContext<'_>) -> Result<(), CommandPoolError> {
        let mut is_silent = self.end_of_patience().is_some_and(|at| at <= context.now);
        if is_silent && self.process.as_ref().is_some_and(|process| process.unread_size() > 0) {
            // The filter is busy, or still starting.
            is_silent = false;
            self.patience.note_news(context.now);
        }
        let is_last = matches!(self.state, State::Closing) || (context.is_last && self.redo.is_empty());
        if let Some(process) = &mut self.process
            && process.is_open()
            && process.pending_size() == 0
            && (is_silent || is_last)
        {
            process.close(context.poller)?;
            if !matches!(self.state, State::Mute { .. }) {
                self.state = State::Closed { silent: (is_silent && !is_last).then_some(context.now) };
            }
        }
        Ok(())
    }

    fn end_of_patience(&self) -> Option<Instant> {
        let may_be_silent = matches!(self.state, State::Flowing | State::Trying) && !self.given.is_empty();
        let has_all = self.process.as_ref().is_some_and(|process| process.pending_size() == 0);
        (may_be_silent && has_all).then(|| self.patience.ends_at())
    }

    /// Handles the end of the process.
    fn bury(&mut self, context: &mut SlotContext<'_>) -> Result<(), CommandPoolError> {
        self.read(usize::MAX, context)?;
        let Some(process) = self.process.take() else { return Ok(()) };
        let (was_open, unread_size) = (process.is_open(), process.unread_size());
        let status = process.end(context.poller)?;
        if context.children.have_stopped() {
            return Err(CommandPoolError::Stopped);
        }
        if status.success()
            && let Some(last) = self.splitter.last()?
        {
            self.answers = vec![last];
            self.pass_on(context)?;
        }
        self.state = State::Down { not_before: None };
        match (status.success(), self.given.is_empty()) {
            (true, true) => Ok(()),
            (false, true) => {
                // A filter that was killed after its last answer harmed no record.
                if let Some(code) = status.code()
                    && !was_open
                    && self.answered > 0
                {
                    context.counts.failed_ends.fetch_add(1, Ordering::Relaxed);
                    (context.warn)(&format!("the filter exited with status {code} after its last answer"));
                }
                Ok(())
            }
            // A filter that ends early is no case of missing answers: it leaves input unread now, or did so before.
            (true, false)
                if !was_open
                    && unread_size == 0
                    && context.counts.early_ends.load(Ordering::Relaxed) == 0 =>
            {
                Err(CommandPoolError::TooFew {
                    answers: self.answered,
                    given: self.answered + self.given.len() as u64,
                })
            }
            _ => self.take_back(status, unread_size, context),
        }
    }

    /// Returns the unanswered records to `redo`.
    fn take_back(
        &mut self,
        status: ExitStatus,
        unread_size: usize,
        context: &mut SlotContext<'_>,
    ) -> Result<(), CommandPoolError> {
        if self.answered == 0 {
            self.fruitless += 1;
            self.state = State::Down { not_before: Some(context.now + backoff(self.fruitless)) };
        } else if status.success() && context.counts.early_ends.fetch_add(1, Ordering::Relaxed) == 0 {
            let left = self.given.len();
            (context.warn)(&format!(
                "the filter ended early, with {left} records unanswered: they are redone, by another"
            ));
        }
        let never_starts = self.fruitless >= NEVER_ANSWERED_MAX;
        let begun = self.begun_count(unread_size).max(usize::from(never_starts));
        let tries = self.redo.take_back(self.given.drain(..).collect(), begun);
        let Some(tries) = tries.filter(|&tries| tries >= self.options.tries_max) else { return Ok(()) };
        if !self.has_ever_answered && never_starts {
            return Err(CommandPoolError::NeverAnswers { count: self.fruitless, status });
        }
        let reason = format!("the filter {}, {tries} times", Ending(status));
        self.redo.take_suspect().map_or(Ok(()), |failed| context.finish(&failed, b"", &reason))
    }

    /// Returns the number of records that the process has read in whole or in part, if it left `unread_size` bytes
    /// unread.
    fn begun_count(&self, unread_size: usize) -> usize {
        let mut unread_size = unread_size;
        let unread = self.given.iter().rev().take_while(|record| {
            let size = self.options.framing.written_size(record.message.body().len());
            let is_unread = size <= unread_size;
            unread_size = unread_size.saturating_sub(size);
            is_unread
        });
        self.given.len() - unread.count()
    }
}

impl Slot for Filter {
    fn room(&self, now: Instant) -> usize {
        let takes = match (&self.process, self.state) {
            (_, State::Down { not_before }) => not_before.is_none_or(|at| at <= now),
            (Some(process), State::Flowing | State::Mute { .. }) => {
                process.is_open() && process.pending_size() < PENDING_BYTES_MAX
            }
            _ => false,
        };
        let takes = takes && self.redo.is_empty();
        if takes { self.options.share.saturating_sub(self.given.len()) } else { 0 }
    }

    fn load(&self) -> usize {
        self.given.len()
    }

    fn give(
        &mut self,
        queue: &mut VecDeque<Record>,
        count: usize,
        context: &mut SlotContext<'_>,
    ) -> Result<(), CommandPoolError> {
        if !self.ensure_process(context)? {
            return Ok(());
        }
        for _ in 0..count {
            // Large records stay in the queue, where other filters can take them.
            let has_room =
                self.process.as_ref().is_some_and(|process| process.pending_size() < PENDING_BYTES_MAX);
            let Some(record) = has_room.then(|| queue.pop_front()).flatten() else { break };
            self.hand_over(record, context)?;
        }
        Ok(())
    }

    fn go_on(&mut self, news: News, context: &mut SlotContext<'_>) -> Result<(), CommandPoolError> {
        if news.end {
            self.bury(context)?;
        } else if news.output {
            self.read(TURN_BYTES_MAX, context)?;
        }
        if matches!(self.state, State::Down { not_before: Some(at) } if at <= context.now) {
            self.state = State::Down { not_before: None };
        }
        self.give_again(context)?;
        if let Some(process) = &mut self.process {
            process.write(context.poller)?;
            if let State::Mute { since } = self.state
                && since + MUTE_FOR <= context.now
                && !self.given.is_empty()
            {
                process.kill();
            }
        }
        self.close(context)
    }

    fn deadline(&self) -> Option<Instant> {
        match self.state {
            State::Down { not_before } => {
                not_before.or((!self.redo.is_empty()).then(|| self.patience.last_news()))
            }
            State::Mute { since } => (!self.given.is_empty()).then_some(since + MUTE_FOR),
            _ => self.end_of_patience(),
        }
    }

    fn is_idle(&self) -> bool {
        self.process.is_none() && self.given.is_empty() && self.redo.is_empty()
    }
}
