//! `Filter`: a command that runs on, one record in on its standard input, one answer out on its standard output.
//!
//! ```text
//!            give                        answer
//!   redo ----------> given (unanswered) --------> results
//!    ^                 |
//!    +-----------------+  the process ends
//! ```
//!
//! It is given many records ahead, and may hold its answers back: most programs gather them while their output is a
//! pipe. One that is silent for `patience` with nothing to follow has its standard input closed: it gives what it
//! held back, ends, and is started again with the next record. If that was the wrong guess, and it was only slow, patience grows.
//!
//! What a process that died had not answered is redone, at first all of it. What was unanswered twice is divided: its
//! first record, and both halves of the rest, one part after the other, so that a record that kills its filter is
//! soon alone. One that is alone with `tries_max` deaths has failed.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::ops::Range;
use std::process::ExitStatus;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::ending::Ending;
use super::error::CrewError;
use super::framing::{Framing, Splitter};
use super::process::{Found, Process};
use super::slot::{Desk, News, Record, Slot, backoff};
use crate::output::note;

/// Bytes that wait for a filter to read them; with more it is given nothing.
const PENDING_BYTES_MAX: usize = 128 * 1024;
/// Bytes read from one filter before the others have their turn.
const TURN_BYTES_MAX: usize = 1 << 20;
/// A filter that has ended so often and never given an answer is given up with the next record that fails.
const NEVER_ANSWERED_MAX: u32 = 10;
/// How long a filter may be silent at first, at least and at most.
const PATIENCE: Duration = Duration::from_millis(250);
const PATIENCE_MIN: Duration = Duration::from_millis(2);
const PATIENCE_MAX: Duration = Duration::from_secs(10);

/// How long a filter that has closed its standard output may live on before it is killed.
const MUTE_FOR: Duration = Duration::from_secs(1);

/// What all filters of a crew have in common.
#[derive(Clone, Debug)]
pub struct FilterOptions {
    pub command: Vec<OsString>,
    pub framing: Framing,
    /// The most records that one filter has.
    pub share: usize,
    /// How many processes a record may be alone with when they die.
    pub tries_max: u32,
    pub answer_size_max: usize,
    /// Records come from other processes, and may be anything.
    pub is_remote: bool,
}

/// A command that runs on.
#[derive(Debug)]
pub struct Filter {
    options: FilterOptions,
    key: usize,
    process: Option<Process>,
    splitter: Splitter,
    answers: Vec<Range<usize>>,
    /// Not answered, first to last.
    given: VecDeque<Record>,
    /// To be given again, one part after the other.
    redo: VecDeque<Vec<Record>>,
    is_redoing: bool,
    /// Answers of this process.
    answered: u64,
    has_ever_answered: bool,
    /// Processes in a row that ended without an answer.
    fruitless: u32,
    not_before: Option<Instant>,
    /// When it last answered, or began to have something to answer.
    last_news: Instant,
    patience: Duration,
    /// When its standard input was closed for its silence.
    hushed: Option<Instant>,
    /// When it closed its standard output.
    mute_since: Option<Instant>,
}

impl Filter {
    /// Starts it at once, so that it is ready when the first record comes.
    pub fn start(options: FilterOptions, key: usize, desk: &mut Desk<'_>) -> Result<Filter, CrewError> {
        let splitter = Splitter::new(options.framing, options.answer_size_max);
        let mut filter = Filter {
            options,
            key,
            process: None,
            splitter,
            answers: Vec::new(),
            given: VecDeque::new(),
            redo: VecDeque::new(),
            is_redoing: false,
            answered: 0,
            has_ever_answered: false,
            fruitless: 0,
            not_before: None,
            last_news: desk.now,
            patience: PATIENCE,
            hushed: None,
            mute_since: None,
        };
        filter.ensure_process(desk)?;
        Ok(filter)
    }

    fn can_start(&self, now: Instant) -> bool {
        self.process.is_none() && self.not_before.is_none_or(|at| at <= now)
    }

    fn is_open(&self) -> bool {
        self.process.as_ref().is_some_and(Process::is_open)
    }

    fn hand_over(&mut self, record: Record, desk: &mut Desk<'_>) -> Result<(), CrewError> {
        if self.options.is_remote
            && let Some(reason) = self.options.framing.refusal(record.message.body())
        {
            return desk.finish(&record, b"", &reason);
        }
        if self.given.is_empty() {
            self.last_news = desk.now;
        }
        if let Some(process) = &mut self.process {
            self.options.framing.write(process.pending(), record.message.body());
        }
        self.given.push_back(record);
        Ok(())
    }

    /// Starts a process if there is none.
    fn ensure_process(&mut self, desk: &mut Desk<'_>) -> Result<(), CrewError> {
        if self.process.is_none() {
            let command = &self.options.command;
            self.process = Some(Process::start(command, true, desk.children, desk.poller, self.key)?);
            self.answered = 0;
            self.splitter.clear();
            self.mute_since = None;
        }
        Ok(())
    }

    /// The next part of what is to be redone, once the one before is answered.
    fn give_again(&mut self, desk: &mut Desk<'_>) -> Result<(), CrewError> {
        if self.given.is_empty() {
            self.is_redoing = false;
        }
        let may_give = self.given.is_empty() && (self.is_open() || self.can_start(desk.now));
        if !may_give {
            return Ok(());
        }
        let Some(part) = self.redo.pop_front() else { return Ok(()) };
        self.ensure_process(desk)?;
        desk.counts.redone.fetch_add(part.len() as u64, Ordering::Relaxed);
        self.is_redoing = part.iter().any(|record| record.deaths > 1);
        part.into_iter().try_for_each(|record| self.hand_over(record, desk))
    }

    fn read(&mut self, bytes_max: usize, desk: &mut Desk<'_>) -> Result<(), CrewError> {
        let mut total = 0;
        while let Some(process) = &mut self.process {
            match process.read(self.splitter.room(), desk.poller)? {
                Found::Bytes(count) => {
                    self.splitter.filled(count);
                    self.answer(desk)?;
                    total += count;
                    if total >= bytes_max {
                        return Ok(());
                    }
                }
                Found::Nothing => return Ok(()),
                Found::End => {
                    self.mute_since.get_or_insert(desk.now);
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Passes on the answers that are here.
    fn answer(&mut self, desk: &mut Desk<'_>) -> Result<(), CrewError> {
        self.answers.clear();
        while let Some(answer) = self.splitter.next()? {
            self.answers.push(answer);
        }
        self.pass_on(desk)
    }

    fn pass_on(&mut self, desk: &mut Desk<'_>) -> Result<(), CrewError> {
        if self.answers.len() > self.given.len() {
            return Err(CrewError::TooMany);
        }
        if self.answers.is_empty() {
            return Ok(());
        }
        self.last_news = desk.now;
        self.answered += self.answers.len() as u64;
        self.has_ever_answered = true;
        self.fruitless = 0;
        if let Some(hushed) = self.hushed.take() {
            self.learn(desk.now.saturating_duration_since(hushed));
        }
        let mut rest = &self.answers[..];
        let mut records = self.given.drain(..rest.len()).peekable();
        while let Some(first) = records.next() {
            let mut count = 1;
            while records.next_if(|record| record.run == first.run.plus(count)).is_some() {
                count += 1;
            }
            let (answers, behind) = rest.split_at(count as usize);
            desk.results.pass_on(first.run, answers.iter().map(|answer| self.splitter.bytes(answer)))?;
            rest = behind;
        }
        Ok(())
    }

    /// It answered so long after its standard input was closed: at once if it had held answers back.
    fn learn(&mut self, answered_after: Duration) {
        self.patience = if answered_after <= self.patience / 2 {
            (self.patience / 4).max(PATIENCE_MIN)
        } else {
            (self.patience * 4).min(PATIENCE_MAX)
        };
    }

    /// Closes the standard input of a filter that is silent and has nothing to follow.
    fn hush(&mut self, desk: &mut Desk<'_>) -> Result<(), CrewError> {
        let is_due = self.deadline_of_silence().is_some_and(|at| at <= desk.now);
        // What is suspected of killing its filter is not left lying in a buffer: more deaths may come meanwhile.
        let is_last = self.is_redoing || (desk.is_last && self.redo.is_empty());
        if let Some(process) = &mut self.process
            && process.is_open()
            && process.pending_size() == 0
            && (is_due || is_last)
        {
            process.close(desk.poller)?;
            self.hushed = (is_due && !is_last).then_some(desk.now);
        }
        Ok(())
    }

    fn deadline_of_silence(&self) -> Option<Instant> {
        let process = self.process.as_ref()?;
        let waits = process.is_open() && process.pending_size() == 0 && !self.given.is_empty();
        waits.then(|| self.last_news + self.patience)
    }

    /// The process has ended.
    fn bury(&mut self, desk: &mut Desk<'_>) -> Result<(), CrewError> {
        self.read(usize::MAX, desk)?;
        let Some(process) = self.process.take() else { return Ok(()) };
        let (was_open, has_unread) = (process.is_open(), process.has_unread());
        let status = process.end(desk.poller)?;
        if desk.children.have_stopped() {
            return Err(CrewError::Stopped);
        }
        if status.success()
            && let Some(last) = self.splitter.last()?
        {
            self.answers = vec![last];
            self.pass_on(desk)?;
        }
        self.hushed = None;
        match (status.success(), self.given.is_empty()) {
            (true, true) => Ok(()),
            (false, true) => {
                // What was killed once it had answered everything has failed nobody.
                if let Some(code) = status.code()
                    && !was_open
                    && self.answered > 0
                {
                    desk.counts.failed_ends.fetch_add(1, Ordering::Relaxed);
                    note(&format!(
                        "hairstreak: the filter exited with status {code} after its last answer\n"
                    ));
                }
                Ok(())
            }
            // One that ends early is none that leaves answers out: it leaves something unread, or did so before.
            (true, false)
                if !was_open && !has_unread && desk.counts.early_ends.load(Ordering::Relaxed) == 0 =>
            {
                Err(CrewError::TooFew {
                    answers: self.answered,
                    given: self.answered + self.given.len() as u64,
                })
            }
            _ => self.take_back(status, desk),
        }
    }

    /// Has what was not answered redone.
    fn take_back(&mut self, status: ExitStatus, desk: &mut Desk<'_>) -> Result<(), CrewError> {
        if self.answered == 0 {
            self.fruitless += 1;
            self.not_before = Some(desk.now + backoff(self.fruitless));
        } else if status.success() && desk.counts.early_ends.fetch_add(1, Ordering::Relaxed) == 0 {
            let left = self.given.len();
            note(&format!(
                "hairstreak: the filter ended early, with {left} records unanswered: they are redone, by another\n"
            ));
        }
        let mut left: Vec<Record> = self.given.drain(..).collect();
        left.iter_mut().for_each(|record| record.deaths += 1);
        let was_alone = left.len() == 1;
        if let [alone] = &mut left[..] {
            alone.tries += 1;
            if alone.tries >= self.options.tries_max {
                if !self.has_ever_answered && self.fruitless >= NEVER_ANSWERED_MAX {
                    return Err(CrewError::NeverAnswers { count: self.fruitless, status });
                }
                let tries = alone.tries;
                return desk.finish(alone, b"", &format!("the filter {}, {tries} times", Ending(status)));
            }
        }
        if was_alone || left.iter().all(|record| record.deaths < 2) {
            self.redo.push_front(left);
            return Ok(());
        }
        let mut rest = left.split_off(1);
        let half = rest.split_off(rest.len() / 2);
        for part in [half, rest, left] {
            if !part.is_empty() {
                self.redo.push_front(part);
            }
        }
        Ok(())
    }
}

impl Slot for Filter {
    fn room(&self, now: Instant) -> usize {
        let takes = match &self.process {
            Some(process) => process.is_open() && process.pending_size() < PENDING_BYTES_MAX,
            None => self.can_start(now),
        };
        let takes = takes && self.redo.is_empty() && !self.is_redoing;
        if takes { self.options.share.saturating_sub(self.given.len()) } else { 0 }
    }

    fn load(&self) -> usize {
        self.given.len()
    }

    fn give(
        &mut self,
        queue: &mut VecDeque<Record>,
        count: usize,
        desk: &mut Desk<'_>,
    ) -> Result<(), CrewError> {
        self.ensure_process(desk)?;
        for _ in 0..count {
            // Large ones wait where others can have them.
            let has_room =
                self.process.as_ref().is_some_and(|process| process.pending_size() < PENDING_BYTES_MAX);
            let Some(record) = has_room.then(|| queue.pop_front()).flatten() else { break };
            self.hand_over(record, desk)?;
        }
        Ok(())
    }

    fn go_on(&mut self, news: News, desk: &mut Desk<'_>) -> Result<(), CrewError> {
        if news.end {
            self.bury(desk)?;
        } else if news.output {
            self.read(TURN_BYTES_MAX, desk)?;
        }
        self.not_before = self.not_before.filter(|at| *at > desk.now);
        self.give_again(desk)?;
        if let Some(process) = &mut self.process {
            process.write(desk.poller)?;
            if !self.given.is_empty() && self.mute_since.is_some_and(|since| since + MUTE_FOR <= desk.now) {
                process.kill();
            }
        }
        self.hush(desk)
    }

    fn deadline(&self) -> Option<Instant> {
        match (&self.process, self.mute_since) {
            (Some(_), Some(since)) => (!self.given.is_empty()).then_some(since + MUTE_FOR),
            (Some(_), None) => self.deadline_of_silence(),
            (None, _) => self.not_before.or((!self.redo.is_empty()).then_some(self.last_news)),
        }
    }

    fn is_idle(&self) -> bool {
        self.process.is_none() && self.given.is_empty() && self.redo.is_empty()
    }
}
