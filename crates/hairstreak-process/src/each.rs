//! `Each`: a command that is run once for each record.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::time::Instant;

use super::error::{CommandPoolError, Ending};
use super::framing::Framing;
use super::process::{Found, Process};
use super::slot::{News, Record, SHORTAGE_PAUSE, Slot, SlotContext, backoff};

/// Placeholder of the record in a word of the command.
pub const PLACE: &[u8] = b"{}";
/// Size of one read.
const READ_SIZE: usize = 64 * 1024;

/// The options of all slots of a pool.
#[derive(Clone, Debug)]
pub struct EachOptions {
    /// The command and its arguments.
    pub command: Vec<OsString>,
    /// The framing of records.
    pub framing: Framing,
    /// The command reads the record from its standard input.
    pub to_stdin: bool,
    /// Most processes that get the same record.
    pub tries_max: u32,
    /// Most bytes of an answer.
    pub answer_size_max: usize,
}

/// A command that is run once for each record.
#[derive(Debug)]
pub struct Each {
    options: EachOptions,
    key: usize,
    record: Option<Record>,
    process: Option<Process>,
    output: Vec<u8>,
    not_before: Option<Instant>,
    /// Starts in a row that failed because the system was short of resources.
    shortages: u32,
}

impl Each {
    /// Returns a slot without a process. `key` is the first of its keys in the poller.
    pub fn new(options: EachOptions, key: usize) -> Each {
        Each { options, key, record: None, process: None, output: Vec::new(), not_before: None, shortages: 0 }
    }

    fn start(&mut self, context: &mut SlotContext<'_>) -> Result<(), CommandPoolError> {
        let Some(record) = &self.record else { return Ok(()) };
        let body = record.message.body();
        let words: Vec<OsString> = self.options.command.iter().map(|word| filled_in(word, body)).collect();
        self.output.clear();
        match Process::start(&words, self.options.to_stdin, context.children, context.poller, self.key) {
            Ok(mut process) => {
                if self.options.to_stdin {
                    process.pending().extend_from_slice(body);
                    // In line framing a record ends with a newline.
                    process.pending().extend((self.options.framing == Framing::Lines).then_some(b'\n'));
                    process.write(context.poller)?;
                }
                self.process = Some(process);
                self.shortages = 0;
                Ok(())
            }
            Err(error) if context.may_try_again(&error, self.shortages) => {
                self.shortages += 1;
                self.not_before = Some(context.now + SHORTAGE_PAUSE);
                Ok(())
            }
            Err(CommandPoolError::Start { program, source }) if self.is_of_record(&source) => {
                self.finish(&format!("cannot start {}: {source}", program.display()), context)
            }
            Err(error) => Err(error),
        }
    }

    /// Returns whether the start failed because of this record, so that other records may succeed.
    fn is_of_record(&self, error: &std::io::Error) -> bool {
        let names_program = self.options.command.first().is_some_and(|word| has_place(word));
        names_program || matches!(error.kind(), ErrorKind::ArgumentListTooLong | ErrorKind::InvalidInput)
    }

    fn read(&mut self, context: &mut SlotContext<'_>) -> Result<(), CommandPoolError> {
        while let Some(process) = &mut self.process {
            let size = self.output.len();
            self.output.resize(size + READ_SIZE, 0);
            let found = process.read(&mut self.output[size..], context.poller)?;
            let count = if let Found::Bytes(count) = found { count } else { 0 };
            self.output.truncate(size + count);
            if self.output.len() > self.options.answer_size_max {
                process.kill();
                return Ok(());
            }
            if count == 0 {
                return Ok(());
            }
        }
        Ok(())
    }

    fn bury(&mut self, context: &mut SlotContext<'_>) -> Result<(), CommandPoolError> {
        if self.output.len() <= self.options.answer_size_max {
            self.read(context)?;
        }
        let Some(process) = self.process.take() else { return Ok(()) };
        let status = process.end(context.poller)?;
        if context.children.have_stopped() {
            return Err(CommandPoolError::Stopped);
        }
        let size_max = self.options.answer_size_max;
        if self.output.len() > size_max {
            self.output.clear();
            return self.finish(&format!("its output has more than {size_max} bytes"), context);
        }
        if !status.success() {
            return self.try_again(&Ending(status).to_string(), context);
        }
        self.finish("", context)
    }

    fn try_again(&mut self, reason: &str, context: &mut SlotContext<'_>) -> Result<(), CommandPoolError> {
        let Some(record) = &mut self.record else { return Ok(()) };
        record.tries += 1;
        if record.tries >= self.options.tries_max {
            return self.finish(reason, context);
        }
        context.counts.redone.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        self.not_before = Some(context.now + backoff(record.tries));
        Ok(())
    }

    fn finish(&mut self, reason: &str, context: &mut SlotContext<'_>) -> Result<(), CommandPoolError> {
        self.record.take().map_or(Ok(()), |record| context.finish(&record, &self.output, reason))
    }
}

impl Slot for Each {
    fn room(&self, _now: Instant) -> usize {
        usize::from(self.record.is_none())
    }

    fn load(&self) -> usize {
        usize::from(self.record.is_some())
    }

    fn give(
        &mut self,
        queue: &mut VecDeque<Record>,
        count: usize,
        _desk: &mut SlotContext<'_>,
    ) -> Result<(), CommandPoolError> {
        if count > 0 {
            self.record = queue.pop_front();
            self.not_before = None;
        }
        Ok(())
    }

    fn go_on(&mut self, news: News, context: &mut SlotContext<'_>) -> Result<(), CommandPoolError> {
        if news.end {
            self.bury(context)?;
        } else if news.output {
            self.read(context)?;
        }
        if self.process.is_none() && self.not_before.is_none_or(|at| at <= context.now) {
            self.start(context)?;
        }
        if let Some(process) = &mut self.process
            && process.is_open()
        {
            process.write(context.poller)?;
            if process.pending_size() == 0 {
                process.close(context.poller)?;
            }
        }
        Ok(())
    }

    fn deadline(&self) -> Option<Instant> {
        if self.record.is_some() && self.process.is_none() { self.not_before } else { None }
    }

    fn is_idle(&self) -> bool {
        self.process.is_none() && self.record.is_none()
    }
}

/// Returns whether this word of a command has a placeholder.
pub fn has_place(word: &OsStr) -> bool {
    memchr::memmem::find(word.as_bytes(), PLACE).is_some()
}

/// Returns the word with the record in the place of each placeholder.
fn filled_in(word: &OsStr, record: &[u8]) -> OsString {
    let word = word.as_bytes();
    let mut filled = Vec::with_capacity(word.len());
    let mut rest = 0;
    for at in memchr::memmem::find_iter(word, PLACE) {
        filled.extend_from_slice(&word[rest..at]);
        filled.extend_from_slice(record);
        rest = at + PLACE.len();
    }
    filled.extend_from_slice(&word[rest..]);
    OsString::from_vec(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_put_in_every_place_as_it_is() {
        let filled = |word: &str, record: &[u8]| filled_in(OsStr::new(word), record).into_vec();
        assert_eq!(filled("{}", b"a b'\"$(c)"), b"a b'\"$(c)");
        assert_eq!(filled("x{}y{}{", b"{}"), b"x{}y{}{");
        assert_eq!(filled("{ }", b"a"), b"{ }");
        assert_eq!(filled("", b"a"), b"");
    }
}
