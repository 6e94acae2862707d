//! `Receiver`: the receiving side of a worker: its connections, their messages, and its reports to brokers.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use hairstreak_base::Body;
use hairstreak_socket::{Context, Interest, Message, Poller, RecvError};
use hairstreak_wire::hsn1::Header;
use hairstreak_wire::mdp::WorkerCommand;

use super::board::Begin;
use super::error::WorkerError;
use super::link::Link;
use super::run::{Arrival, Job, Shared};
use super::session::{Mode, Origin, Session, Wanted};

/// Interval between two checks of connections and deadlines.
pub(super) const LOOK_INTERVAL: Duration = Duration::from_millis(100);
/// Least number of reports to several brokers while a broker holds a resent request for the worker that has it.
const TELLINGS: u32 = 3;
/// Silence after which all waiting messages have been read.
const SETTLING_TIME: Duration = Duration::from_millis(10);
/// Most messages taken in one turn.
const BATCH_COUNT_MAX: usize = 1024;

pub(super) struct Receiver<'a> {
    shared: &'a Shared,
    context: &'a Context,
    sessions: Vec<Session>,
    /// Poller for several brokers.
    poller: Option<Poller>,
    /// Time at which the worker began to leave.
    leaving: Option<Instant>,
    next_look: Instant,
    next_telling: Instant,
    telling_interval: Duration,
    /// Pauses handled so far.
    pause_count: u64,
    /// Requests that are on the board and not yet handed to the threads.
    begun: Vec<Job>,
    /// Brokers to reconnect to. A socket is fastest in the thread that opens it, so the deputy leaves this to the
    /// worker.
    reopening: Vec<usize>,
    /// Refusal of a broker, which ends the worker.
    refused: Option<WorkerError>,
    /// Buffer that each turn reuses.
    messages: Vec<Message>,
}

impl<'a> Receiver<'a> {
    pub fn new(shared: &'a Shared, context: &'a Context) -> Result<Receiver<'a>, WorkerError> {
        let now = Instant::now();
        let sessions = shared.links.iter().map(|_| Session::new(now)).collect();
        let mut receiver = Receiver {
            shared,
            context,
            sessions,
            poller: None,
            leaving: None,
            next_look: now,
            next_telling: now,
            telling_interval: Duration::MAX,
            pause_count: shared.pauses.look(now),
            begun: Vec::new(),
            reopening: Vec::new(),
            refused: None,
            messages: Vec::new(),
        };
        receiver.watch_links()?;
        Ok(receiver)
    }

    /// Builds the poller anew after a change of the sockets.
    fn watch_links(&mut self) -> Result<(), WorkerError> {
        if self.shared.links.len() > 1 {
            let mut poller = Poller::new()?;
            for (index, link) in self.shared.links.iter().enumerate() {
                poller.add(&link.dealer(), index, Interest::READABLE)?;
            }
            self.poller = Some(poller);
        }
        Ok(())
    }

    /// Receives for other threads until the worker has left.
    pub fn run(mut self) -> Result<(), WorkerError> {
        while !self.step()? {}
        Ok(())
    }

    /// Takes the messages that arrive within a while. Returns whether the worker has left.
    pub fn step(&mut self) -> Result<bool, WorkerError> {
        if let Some(error) = self.refused.take() {
            return Err(error);
        }
        for link in std::mem::take(&mut self.reopening) {
            self.shared.links[link].reopen(self.context, &self.shared.options)?;
            self.sessions[link] = Session::new(Instant::now());
            self.watch_links()?;
        }
        let now = Instant::now();
        if self.was_paused(now) {
            self.resume(None)?;
        }
        if now >= self.next_look {
            self.next_look = now + LOOK_INTERVAL;
            self.look(now);
            self.shared.links.iter().try_for_each(Link::check_admission)?;
            if self.has_left(now) {
                return Ok(true);
            }
        }
        let patience = self.next_look.saturating_duration_since(now);
        if self.poller.is_none() && self.sessions[0].mode == Mode::Unknown {
            if self.shared.links[0].dealer().wait_for_peers(1, patience) {
                self.next_look = now;
            }
            return Ok(false);
        }
        self.take(patience)?;
        Ok(false)
    }

    /// Takes available messages while the worker handles requests.
    pub fn step_aside(&mut self) {
        let now = Instant::now();
        self.next_look = now + LOOK_INTERVAL;
        // The worker itself finds a receive error later.
        if self.was_paused(now) {
            let _ = self.resume(None);
        }
        self.look(now);
        let _ = self.take(Duration::ZERO);
    }

    /// Returns whether there was a pause that is not yet handled.
    fn was_paused(&self, now: Instant) -> bool {
        self.shared.pauses.look(now) != self.pause_count
    }

    /// Handles a pause. Waiting requests came before or during it. If their connection is over, they are dropped,
    /// because the broker has given them to other workers. If not, other workers may have them too. `in_hand`: the
    /// received messages of one broker.
    fn resume(&mut self, mut in_hand: Option<(usize, Vec<Message>)>) -> Result<(), WorkerError> {
        for link in 0..self.sessions.len() {
            let mut messages =
                in_hand.take_if(|(of, _)| *of == link).map_or(Vec::new(), |(_, messages)| messages);
            self.read_all(link, &mut messages)?;
            let is_over = self.sessions[link].greeted != self.shared.links[link].connection();
            let is_kept = |message: &Message| !is_over || !is_request(message);
            if self.take_messages(link, messages.drain(..).filter(is_kept)) {
                self.greet(link);
            }
        }
        self.pause_count = self.shared.pauses.look(Instant::now());
        self.shared.enqueue(self.begun.drain(..));
        Ok(())
    }

    /// Reads all available messages, which also shows whether the connection is over.
    fn read_all(&self, link: usize, messages: &mut Vec<Message>) -> Result<(), WorkerError> {
        let dealer = self.shared.links[link].dealer();
        let count_max = BATCH_COUNT_MAX + self.shared.options.capacity() as usize;
        let mut more = Vec::new();
        while messages.len() < count_max {
            match dealer.recv_many_timeout(&mut more, BATCH_COUNT_MAX, SETTLING_TIME) {
                Ok(_) => messages.append(&mut more),
                Err(RecvError::TimedOut | RecvError::WouldBlock) => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn take(&mut self, patience: Duration) -> Result<(), WorkerError> {
        let Some(poller) = &mut self.poller else { return self.receive(0, patience) };
        let mut ready = Vec::new();
        poller.wait_timeout(&mut ready, patience)?;
        ready.iter().try_for_each(|found| self.receive(found.key, Duration::ZERO))
    }

    /// Takes available messages, and hands the requests to the threads once all of them are on the board.
    fn receive(&mut self, link: usize, mut patience: Duration) -> Result<(), WorkerError> {
        let mut messages = std::mem::take(&mut self.messages);
        let mut is_welcome = false;
        loop {
            match self.shared.links[link].dealer().recv_many_timeout(&mut messages, BATCH_COUNT_MAX, patience)
            {
                Ok(_) => {}
                Err(RecvError::TimedOut | RecvError::WouldBlock) => break,
                Err(error) => return Err(error.into()),
            }
            if self.was_paused(Instant::now()) {
                self.resume(Some((link, std::mem::take(&mut messages))))?;
                break;
            }
            is_welcome |= self.take_messages(link, messages.drain(..));
            if !is_welcome {
                break;
            }
            // Requests of the connection before may follow the WELCOME of this connection. READY has to list them.
            patience = Duration::ZERO;
        }
        self.messages = messages;
        if is_welcome {
            self.greet(link);
        }
        self.shared.enqueue(self.begun.drain(..));
        Ok(())
    }

    /// Takes messages. Returns whether WELCOME was among them.
    fn take_messages(&mut self, link: usize, messages: impl Iterator<Item = Message>) -> bool {
        let now = Instant::now();
        messages.fold(false, |is_welcome, message| is_welcome | self.take_message(now, link, message))
    }

    /// Takes a message. Returns whether it was WELCOME.
    fn take_message(&mut self, now: Instant, link: usize, message: Message) -> bool {
        match self.sessions[link].take(now, message.as_frames()) {
            Wanted::Request { origin, body } => {
                let connection = self.sessions[link].greeted;
                let arrival = Arrival { connection, pause_count: self.pause_count };
                let body = Body::new(message, body.index, body.start);
                self.begin(Job { link, origin, body, arrival });
            }
            Wanted::Ready { patience } => {
                self.telling_interval = self.telling_interval.min(patience / TELLINGS);
                return true;
            }
            Wanted::Cancel(request) => self.shared.board().cancel(request),
            Wanted::Reconnect => self.reopen_later(link),
            Wanted::Leave { reason } => self.refused = Some(self.shared.links[link].unauthorized(reason)),
            Wanted::Nothing => {}
        }
        false
    }

    fn reopen_later(&mut self, link: usize) {
        if !self.reopening.contains(&link) {
            self.reopening.push(link);
        }
    }

    fn begin(&mut self, job: Job) {
        let Origin::Hsn1 { request, first, takes_runs, .. } = job.origin else {
            return self.begun.push(job);
        };
        self.shared.links[job.link].note_runs(takes_runs);
        let begin = self.shared.board().begin(request, first, job.link);
        match begin {
            Begin::Run => self.begun.push(job),
            Begin::Runs => {}
            Begin::Over => self.shared.links[job.link].send_refused(request, "its client has had the reply"),
            Begin::Replied(reply, run) => {
                self.shared.replayed.fetch_add(1, Ordering::Relaxed);
                self.shared.links[job.link].send_stored(request, run, &reply);
            }
        }
    }

    /// Sends a broker the list of the worker's requests after its WELCOME.
    fn greet(&mut self, index: usize) {
        let (link, shared) = (&self.shared.links[index], self.shared);
        let (held, ended_count) = {
            let mut board = shared.board();
            (board.held(), board.ended_count())
        };
        self.sessions[index].ended_before = ended_count;
        self.sessions[index].greeted = link.connection();
        if self.leaving.is_none() {
            link.send_ready(&shared.service, shared.options.capacity(), &held);
        } else {
            self.take_leave(index);
        }
    }

    /// Sends DRAIN, after all replies from before this connection: the broker cannot ask for them later.
    fn take_leave(&self, index: usize) {
        let link = &self.shared.links[index];
        let replies = self.shared.board().replies_until(self.sessions[index].ended_before);
        for (request, reply) in &replies {
            let run = self.shared.board().next_run();
            link.send_stored(*request, run, reply);
        }
        link.send_header(Header::Drain);
    }

    /// Checks connections and heartbeats, and starts to leave if asked to.
    fn look(&mut self, now: Instant) {
        let mut tells = now >= self.next_telling && self.shared.board().take_change();
        for index in 0..self.sessions.len() {
            let link = &self.shared.links[index];
            let before = self.sessions[index].mode;
            if self.sessions[index].see_peer(now, link.peer()) {
                link.send_plain_ready(&self.shared.service);
            }
            tells |= before == Mode::Hsn1 && self.sessions[index].mode == Mode::Unknown;
            let (heartbeat_is_due, is_silent) =
                self.sessions[index].look(now, self.shared.options.plain_heartbeat);
            if is_silent {
                self.reopen_later(index);
            } else if heartbeat_is_due {
                link.send_plain_command(WorkerCommand::Heartbeat);
            }
        }
        if tells {
            self.tell_brokers(now);
        }
        if self.shared.leaves() && self.leaving.is_none() {
            self.leaving = Some(now);
            let speaks_hsn1 = |index: &usize| self.sessions[*index].mode == Mode::Hsn1;
            (0..self.sessions.len()).filter(speaks_hsn1).for_each(|index| self.take_leave(index));
        }
    }

    /// Reports the worker's requests to all brokers: a client may change to another broker.
    fn tell_brokers(&mut self, now: Instant) {
        if self.sessions.len() < 2 {
            return;
        }
        self.next_telling = now.checked_add(self.telling_interval).unwrap_or(now);
        let held = self.shared.board().held();
        for (session, link) in self.sessions.iter().zip(&self.shared.links) {
            if session.mode == Mode::Hsn1 {
                link.send_held(&held);
            }
        }
    }

    /// Returns whether the leave is complete: the worker is idle, and every broker knows and has all replies. Sends the
    /// disconnect in this case.
    fn has_left(&mut self, now: Instant) -> bool {
        let Some(since) = self.leaving else { return false };
        if !self.shared.is_idle() {
            return false;
        }
        let owes = !self.shared.board().replies_until(u64::MAX).is_empty();
        let knows = |session: &Session| match session.mode {
            Mode::Hsn1 => session.is_drained,
            Mode::Plain => true,
            // An absent broker may come back within the timeout, and ask for missing replies.
            Mode::Unknown | Mode::Greeting => !owes,
        };
        let is_late = now.saturating_duration_since(since) >= self.shared.options.leave_timeout;
        if !is_late && !self.sessions.iter().all(knows) {
            return false;
        }
        for (session, link) in self.sessions.iter().zip(&self.shared.links) {
            match session.mode {
                Mode::Hsn1 => link.send_header(Header::Disconnect),
                Mode::Plain => link.send_plain_command(WorkerCommand::Disconnect),
                Mode::Unknown | Mode::Greeting => {}
            }
        }
        true
    }
}

/// Returns whether the message is a numbered request.
fn is_request(message: &Message) -> bool {
    let header = message.frame(0).map(Header::parse);
    matches!(header, Some(Ok((Header::Request { .. }, _))))
}
