//! One turn of a loop, and the loop's life: events, mail, timers, reading, writing, sleeping.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hairstreak_base::{BlockPool, TimerQueue};

use super::context::{Context, Wish};
use super::listening::{Accepted, Listening};
use super::loop_set::{LoopSet, Post};
use super::mailbox::{Address, Letter};
use super::protocol::{End, Protocol};
use super::table::{Entry, Phase, Table};
use crate::connection::{Connection, Drained, Read};
use crate::poller::Readiness;
use crate::stream::Stream;

/// Tokens of listeners have this bit.
const LISTENER_BIT: u64 = 1 << 63;
/// The timer of the listeners that rest.
const LISTENERS_KEY: u32 = 0;
/// The timer of memory that is not needed.
const MEMORY_KEY: u32 = 1;
/// The timer of the connection with index 0; the others follow.
const FIRST_KEY: u32 = 2;
/// Time from a read until idle memory is freed.
const IDLE_MEMORY_TIME: Duration = Duration::from_millis(500);
/// Letters to itself that a loop handles before it looks at its events again.
const OWN_LETTERS_MAX: usize = 4096;

/// The time that all connections of a loop together wait for locks in one turn.
const LOCK_WAIT_MAX: Duration = Duration::from_millis(1);

/// One loop.
pub(super) struct Loop<P: Protocol> {
    loops: Arc<LoopSet<Letter<P, P::Mail>>>,
    index: usize,
    pool: Arc<BlockPool>,
    table: Table<P>,
    timers: TimerQueue<Instant>,
    listeners: Vec<Listening<P>>,
    post: Post<Letter<P, P::Mail>>,
    /// The memory of a batch of letters, and of a batch of events.
    letters: Vec<Letter<P, P::Mail>>,
    events: Vec<Readiness>,
    now: Instant,
    /// The rest of [`LOCK_WAIT_MAX`] in this turn.
    patience: Duration,
    is_stopping: bool,
}

impl<P: Protocol> Loop<P> {
    pub fn new(loops: Arc<LoopSet<Letter<P, P::Mail>>>, index: usize) -> Loop<P> {
        Loop {
            post: Post::new(loops.loop_count(), index),
            loops,
            index,
            pool: BlockPool::new(),
            table: Table::new(index),
            timers: TimerQueue::new(),
            listeners: Vec::new(),
            letters: Vec::new(),
            events: Vec::new(),
            now: Instant::now(),
            patience: LOCK_WAIT_MAX,
            is_stopping: false,
        }
    }

    /// Runs until the loops have been stopped and the last connection is over.
    pub fn run(mut self) -> io::Result<()> {
        while !(self.is_stopping && self.table.count() == 0) {
            self.wait()?;
            self.handle_events();
            self.handle_letters();
            self.handle_timers();
            self.read_ready();
            self.handle_own_letters();
            self.look_after_touched();
            self.post.send(&self.loops);
        }
        Ok(())
    }

    /// Sleeps until there is work.
    fn wait(&mut self) -> io::Result<()> {
        let is_busy = self.table.ready_count() + self.table.touched_count() + self.post.own.len() > 0;
        let loops = Arc::clone(&self.loops);
        let mailbox = loops.mailbox(self.index);
        let timeout = if is_busy || !mailbox.may_sleep() {
            Some(Duration::ZERO)
        } else {
            self.timers.next().map(|due| due.saturating_duration_since(Instant::now()))
        };
        let events = &mut self.events;
        events.clear();
        mailbox.poller.wait(timeout, |event| events.push(event))?;
        self.now = Instant::now();
        self.patience = LOCK_WAIT_MAX;
        Ok(())
    }

    fn handle_events(&mut self) {
        for at in 0..self.events.len() {
            let event = self.events[at];
            if event.token & LISTENER_BIT != 0 {
                self.accept((event.token & !LISTENER_BIT) as usize);
                continue;
            }
            let (index, serial) = (event.token as u32, (event.token >> 32) as u32);
            let Some(index) = self.table.find(index, serial) else { continue };
            let Some(entry) = self.table.get_mut(index) else { continue };
            entry.connection.on_event(&event);
            match entry.phase {
                Phase::Open => {
                    let ends_paused = event.ended && entry.connection.is_paused();
                    self.table.list_ready(index);
                    self.table.list_touched(index);
                    if ends_paused {
                        self.call(index, |protocol, context| protocol.handle_peer_end(context));
                    }
                }
                Phase::Establishing => self.establish(index),
                Phase::Draining => self.table.list_touched(index),
            }
        }
    }

    fn handle_letters(&mut self) {
        let mut letters = std::mem::take(&mut self.letters);
        self.loops.mailbox(self.index).take(&mut letters);
        for letter in letters.drain(..) {
            self.handle_letter(letter);
        }
        self.letters = letters;
        self.handle_own_letters();
    }

    fn handle_own_letters(&mut self) {
        for _ in 0..OWN_LETTERS_MAX {
            let Some(letter) = self.post.own.pop_front() else { return };
            self.handle_letter(letter);
        }
    }

    fn handle_letter(&mut self, letter: Letter<P, P::Mail>) {
        match letter {
            Letter::Mail { to, mail } => {
                if let Some(index) = self.table.find(to.index, to.serial) {
                    self.call(index, |protocol, context| protocol.handle_mail(mail, context));
                }
            }
            Letter::Release { to, ticket } => self.release(to, ticket),
            Letter::Adopt { stream, protocol } => self.adopt(stream, *protocol),
            Letter::Listen(listening) => self.listen(listening),
            Letter::Stop => self.stop(),
        }
    }

    /// Held output may leave, in this turn. A connection that is being drained has no protocol to do so.
    fn release(&mut self, to: Address, ticket: u64) {
        if let Some(index) = self.table.find(to.index, to.serial)
            && let Some(entry) = self.table.get_mut(index)
        {
            entry.connection.output.release(ticket);
            self.table.list_touched(index);
            self.call(index, |protocol, context| protocol.handle_released(context));
        }
    }

    fn handle_timers(&mut self) {
        while let Some(key) = self.timers.pop_due(self.now) {
            match key {
                LISTENERS_KEY => self.resume_listeners(),
                MEMORY_KEY => self.free_idle_memory(),
                key => self.on_timer((key - FIRST_KEY) as usize),
            }
        }
    }

    fn on_timer(&mut self, index: usize) {
        let now = self.now;
        let Some(entry) = self.table.get_mut(index) else { return };
        let is_late = entry.connection.deadline <= now;
        match entry.phase {
            Phase::Establishing if is_late => self.end(index, End::NotEstablished),
            Phase::Draining if is_late => self.end(index, End::NotDrained),
            Phase::Open if entry.protocol.poll_timeout().is_some_and(|due| due <= now) => {
                self.call(index, |protocol, context| protocol.handle_timeout(context));
            }
            _ => self.table.list_touched(index),
        }
    }

    /// A connection begins here.
    fn adopt(&mut self, stream: Stream, protocol: P) {
        let deadline = self.now + self.loops.options.establish_timeout;
        let connection = Connection::new(stream, &self.pool, deadline, self.now);
        let index = self.table.add(connection, protocol);
        let Some(entry) = self.table.get_mut(index) else { return };
        let token = u64::from(entry.address.serial) << 32 | index as u64;
        let watched = entry.connection.watch(&self.loops.mailbox(self.index).poller, token);
        if let Err(error) = watched {
            return self.end(index, End::Failed(error));
        }
        if entry.phase == Phase::Open {
            self.start(index);
        } else {
            self.establish(index);
        }
    }

    fn establish(&mut self, index: usize) {
        let Some(entry) = self.table.get_mut(index) else { return };
        match entry.connection.establish() {
            Ok(true) => {
                entry.phase = Phase::Open;
                self.start(index);
            }
            Ok(false) => self.table.list_touched(index),
            Err(error) => self.end(index, End::Failed(error)),
        }
    }

    fn start(&mut self, index: usize) {
        self.call(index, |protocol, context| protocol.handle_start(context));
        if self.is_stopping {
            self.call(index, |protocol, context| protocol.handle_stop(context));
        }
        self.table.list_ready(index);
    }

    /// Each connection that was ready has one turn.
    fn read_ready(&mut self) {
        for _ in 0..self.table.ready_count() {
            let Some(index) = self.table.next_ready() else { return };
            if let Err(end) = self.read(index) {
                self.end(index, end);
            }
        }
    }

    /// Reads within the budget and hands the bytes to the protocol.
    fn read(&mut self, index: usize) -> Result<(), End<P::Error>> {
        if self.table.get_mut(index).is_some_and(|entry| std::mem::take(&mut entry.is_deferred)) {
            self.call(index, |protocol, context| protocol.handle_deferred(context));
        }
        let Some(entry) = self.table.get_mut(index) else { return Ok(()) };
        if entry.is_deferred {
            return Ok(());
        }
        // A connection that was paused meanwhile is called when reading is resumed.
        if std::mem::take(&mut entry.has_yielded) && !entry.connection.is_paused() {
            self.call(index, |protocol, context| protocol.handle_bytes(context));
        }
        for _ in 0..self.loops.options.reads_per_turn.max(1) {
            let Some(entry) = self.table.get_mut(index) else { return Ok(()) };
            if entry.phase != Phase::Open
                || entry.connection.is_paused()
                || entry.has_yielded
                || entry.is_deferred
            {
                return Ok(());
            }
            if !entry.connection.is_readable()
                || entry.connection.is_input_over()
                || entry.connection.input.is_full()
            {
                self.table.rest(index);
                return Ok(());
            }
            let Entry { connection, protocol, .. } = &mut *entry;
            let body = protocol.body_to_read().filter(|_| connection.input.unread().is_empty());
            let is_body = body.is_some();
            let read = match body {
                Some((body, size_max)) => connection.read_body(body, size_max)?,
                None => connection.read()?,
            };
            match read {
                Read::Nothing => {
                    self.table.rest(index);
                    return Ok(());
                }
                Read::Bytes(size) if is_body => {
                    self.call(index, |protocol, context| protocol.handle_body_bytes(size, context));
                }
                Read::Bytes(_) => {
                    self.timers.set_earlier(MEMORY_KEY, self.now + IDLE_MEMORY_TIME);
                    self.call(index, |protocol, context| protocol.handle_bytes(context));
                }
                Read::End if entry.connection.has_write_failed() => {
                    return Err(End::Failed(io::ErrorKind::BrokenPipe.into()));
                }
                Read::End => {
                    self.call(index, |protocol, context| protocol.handle_input_end(context));
                    return Ok(());
                }
            }
        }
        self.table.list_ready(index);
        Ok(())
    }

    /// Connections give back the memory that they could not give back before, and the pool frees idle memory.
    fn free_idle_memory(&mut self) {
        if self.table.rest_again() {
            self.timers.set(MEMORY_KEY, self.now + IDLE_MEMORY_TIME);
        }
        self.pool.trim();
    }

    /// Calls the protocol of an open connection, and does as it wishes.
    fn call(
        &mut self,
        index: usize,
        act: impl FnOnce(&mut P, &mut Context<'_, P, P::Mail>) -> Result<(), P::Error>,
    ) {
        let Some(entry) = self.table.get_mut(index) else { return };
        if entry.phase != Phase::Open {
            return;
        }
        match call_entry(entry, &self.loops, &mut self.post, (self.now, &mut self.patience), act) {
            (Ok(()), wish) if wish.closes => self.close(index),
            (Ok(()), wish) => {
                entry.has_yielded |= wish.yields;
                entry.is_deferred |= wish.defers;
                let connection = &entry.connection;
                let has_input = connection.is_readable() && !connection.is_input_over();
                if entry.has_yielded || entry.is_deferred || has_input && !connection.is_paused() {
                    self.table.list_ready(index);
                }
                self.table.list_touched(index);
                if wish.resumes {
                    self.resume(index);
                }
            }
            (Err(error), _) => self.fail(index, error),
        }
    }

    /// Hands the buffered input to the protocol, and lists the connection for a read.
    fn resume(&mut self, index: usize) {
        let Some(entry) = self.table.get_mut(index) else { return };
        if !entry.connection.input.unread().is_empty() {
            self.call(index, |protocol, context| protocol.handle_bytes(context));
        }
        self.table.list_ready(index);
    }

    /// A protocol ended its connection: earlier output that is not held is written as far as the stream takes it at
    /// once.
    fn fail(&mut self, index: usize, error: P::Error) {
        if let Some(entry) = self.table.get_mut(index) {
            // The connection is over either way.
            let _ = entry.connection.flush();
        }
        self.end(index, End::Protocol(error));
    }

    fn close(&mut self, index: usize) {
        let deadline = self.now + self.loops.options.drain_timeout;
        if let Some(entry) = self.table.get_mut(index) {
            entry.phase = Phase::Draining;
            entry.connection.deadline = deadline;
            self.table.list_touched(index);
        }
    }

    /// Writes the output of the touched connections, and sets the timers that their protocols want.
    fn look_after_touched(&mut self) {
        // A protocol that puts something out whenever something was written has its next turn later.
        for _ in 0..self.table.touched_count() {
            let Some(index) = self.table.next_touched() else { return };
            if let Err(end) = self.look_after(index) {
                self.end(index, end);
            }
        }
    }

    fn look_after(&mut self, index: usize) -> Result<(), End<P::Error>> {
        let Some(entry) = self.table.get_mut(index) else { return Ok(()) };
        let due = match entry.phase {
            Phase::Establishing => Some(entry.connection.deadline),
            Phase::Draining => match entry.connection.drain() {
                Drained::Over => return Err(End::Closed),
                Drained::Written | Drained::Waits if entry.connection.is_readable() => Some(self.now),
                Drained::Written | Drained::Waits => Some(entry.connection.deadline),
            },
            Phase::Open => {
                if let Err(error) = entry.connection.flush() {
                    if entry.connection.is_input_over() {
                        return Err(End::Failed(error));
                    }
                    // Bytes of the peer may have come before it went.
                    entry.connection.stop_writing();
                    self.table.list_ready(index);
                }
                self.tell_written(index);
                self.table.get_mut(index).and_then(|entry| entry.protocol.poll_timeout())
            }
        };
        let key = index as u32 + FIRST_KEY;
        match due {
            Some(due) => self.timers.set(key, due),
            None => {
                self.timers.cancel(key);
            }
        }
        Ok(())
    }

    fn tell_written(&mut self, index: usize) {
        let Some(entry) = self.table.get_mut(index) else { return };
        let written = entry.connection.output.written_bytes();
        if std::mem::replace(&mut entry.written_told, written) != written {
            self.call(index, |protocol, context| protocol.handle_written(context));
        }
    }

    fn end(&mut self, index: usize, end: End<P::Error>) {
        let Some(mut entry) = self.table.remove(index) else { return };
        self.timers.cancel(index as u32 + FIRST_KEY);
        entry.connection.unwatch(&self.loops.mailbox(self.index).poller);
        end_entry(&mut entry, &self.loops, &mut self.post, (self.now, &mut self.patience), end);
        self.loops.connection_has_ended(self.index);
    }

    fn listen(&mut self, listening: Listening<P>) {
        self.listeners.push(listening);
        self.resume_listeners();
    }

    /// Watches the listeners that are not watched, or sees to it that this is tried again.
    fn resume_listeners(&mut self) {
        let poller = &self.loops.mailbox(self.index).poller;
        for (at, listening) in self.listeners.iter_mut().enumerate() {
            if let Some(due) = listening.watch(poller, at as u64 | LISTENER_BIT, self.now) {
                self.timers.set_earlier(LISTENERS_KEY, due);
            }
        }
    }

    fn accept(&mut self, at: usize) {
        let Some(listening) = self.listeners.get_mut(at) else { return };
        let (loops, post) = (&self.loops, &mut self.post);
        let hand_over = |stream, protocol| post.put(loops.place(None), Letter::Adopt { stream, protocol });
        let poller = &loops.mailbox(self.index).poller;
        match listening.accept(poller, self.now, || loops.has_room(), hand_over) {
            Accepted::All => {}
            Accepted::Failed(error, due) => {
                loops.options.on_accept_failure.call(listening.endpoint(), &error);
                self.timers.set_earlier(LISTENERS_KEY, due);
            }
        }
    }

    fn stop(&mut self) {
        self.is_stopping = true;
        let poller = &self.loops.mailbox(self.index).poller;
        self.listeners.drain(..).for_each(|listening| listening.unwatch(poller));
        for index in self.table.indexes() {
            match self.table.get_mut(index).map(|entry| entry.phase) {
                Some(Phase::Open) => self.call(index, |protocol, context| protocol.handle_stop(context)),
                Some(Phase::Establishing) => self.end(index, End::Closed),
                _ => {}
            }
        }
    }
}

/// The end of a connection that is out of the table.
pub(super) fn end_entry<P: Protocol>(
    entry: &mut Entry<P>,
    loops: &LoopSet<Letter<P, P::Mail>>,
    post: &mut Post<Letter<P, P::Mail>>,
    time: (Instant, &mut Duration),
    end: End<P::Error>,
) {
    let tell = |protocol: &mut P, context: &mut Context<'_, P, P::Mail>| {
        protocol.handle_end(end, context);
        Ok(())
    };
    let _: (Result<(), P::Error>, Wish) = call_entry(entry, loops, post, time, tell);
    entry.connection.end();
}

/// Calls a protocol. `time`: the time of the turn, and its patience.
pub(super) fn call_entry<P: Protocol>(
    entry: &mut Entry<P>,
    loops: &LoopSet<Letter<P, P::Mail>>,
    post: &mut Post<Letter<P, P::Mail>>,
    (now, patience): (Instant, &mut Duration),
    act: impl FnOnce(&mut P, &mut Context<'_, P, P::Mail>) -> Result<(), P::Error>,
) -> (Result<(), P::Error>, Wish) {
    let mut wish = Wish::default();
    let Entry { connection, protocol, address, .. } = entry;
    let mut context = Context { connection, now, patience, address: *address, post, loops, wish: &mut wish };
    let result = act(protocol, &mut context);
    (result, wish)
}
