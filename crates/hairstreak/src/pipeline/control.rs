//! The ventilator's end of the control link: a thread that takes the wishes of sinks, and tells sinks which tasks are
//! settled. It tells refused tasks at once, and all others when the floor passes them.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hairstreak_socket::settlement::{ControlMessage, RefusedTasks, SequenceRuns, TaskId};
use hairstreak_socket::{Context, Endpoint, Interest, Message, Options, Poller, Push, RecvError, Router};

use super::error::PipelineError;

/// Shortest interval between two reports of settled tasks to sinks.
const FLOOR_INTERVAL: Duration = Duration::from_millis(20);
/// Largest number of sinks. Further sinks are told nothing.
const SINK_COUNT_MAX: usize = 64;

/// The wishes of sinks, and the news for them.
#[derive(Debug, Default)]
struct Wishes {
    paused: bool,
    stopped: bool,
    end: Option<ControlMessage<'static>>,
    /// A sink has been told of the end.
    is_end_told: bool,
    closing: bool,
}

#[derive(Debug, Default)]
struct Shared {
    wishes: Mutex<Wishes>,
    /// A sink wants a pause, or no more tasks. Read before each task, without the lock.
    has_wish: AtomicBool,
    changed: Condvar,
}

impl Shared {
    fn wishes(&self) -> MutexGuard<'_, Wishes> {
        self.wishes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The ventilator's end of the control link.
#[derive(Debug)]
pub(super) struct Control {
    shared: Arc<Shared>,
    /// Wakes the thread when there is news for sinks.
    waker: Waker,
    thread: Option<JoinHandle<()>>,
    pub endpoint: Endpoint,
}

impl Control {
    /// Listens at `place`, and tells sinks which of `tasks` are settled.
    pub fn bind(
        place: &str,
        options: Options,
        tasks: Push,
        tasks_place: &Endpoint,
    ) -> Result<Control, PipelineError> {
        let options = Options { router_handover: true, ..options };
        let router = Router::with_options(&Context::new(), options)?;
        let endpoint = router.bind(place)?;
        let mut poller = Poller::new()?;
        poller.add(&router, 0, Interest::READABLE)?;
        let waker = poller.waker();
        tasks.wake_on_refusal(poller.waker());
        let shared = Arc::new(Shared::default());
        let serving = Serving {
            router,
            poller,
            tasks,
            place: tasks_place.to_string(),
            shared: Arc::clone(&shared),
            sinks: HashMap::new(),
            pausing: HashSet::new(),
            floor: None,
        };
        let thread = std::thread::Builder::new().name("hairstreak-control".into());
        let thread = Some(thread.spawn(move || serving.serve())?);
        Ok(Control { shared, waker, thread, endpoint })
    }

    /// Returns whether a sink wants a pause, or no more tasks.
    #[inline]
    pub fn has_wish(&self) -> bool {
        // The wish itself is read under the lock.
        self.shared.has_wish.load(Ordering::Relaxed)
    }

    /// Waits while a sink wants a pause. Returns false if a sink wants no more tasks.
    pub fn wait_for_wish(&self) -> bool {
        let mut wishes = self.shared.wishes();
        while wishes.paused && !wishes.stopped {
            wishes = self.shared.changed.wait(wishes).unwrap_or_else(PoisonError::into_inner);
        }
        !wishes.stopped
    }

    /// Tells sinks that all tasks are settled, including sinks that connect until the ventilator is dropped. Waits at
    /// most `timeout` until one sink has been told: a sink may be about to connect.
    pub fn end(&self, end: ControlMessage<'static>, timeout: Duration) {
        let mut wishes = self.shared.wishes();
        wishes.end = Some(end);
        self.waker.wake_by_ref();
        let waits = |wishes: &mut Wishes| !wishes.is_end_told;
        drop(self.shared.changed.wait_timeout_while(wishes, timeout, waits));
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.shared.wishes().closing = true;
        self.waker.wake_by_ref();
        if let Some(thread) = self.thread.take() {
            // The thread ends at once. A panic in it has been reported.
            let _ = thread.join();
        }
    }
}

struct Serving {
    router: Router,
    poller: Poller,
    tasks: Push,
    /// The endpoint at which tasks are handed out.
    place: String,
    shared: Arc<Shared>,
    sinks: HashMap<Vec<u8>, Told>,
    /// Sinks that want a pause.
    pausing: HashSet<Vec<u8>>,
    floor: Option<TaskId>,
}

/// A sink's knowledge of refused tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    All,
    /// The sink did not take a message about refused tasks. It is told the unsettled tasks instead.
    NotAll,
}

impl Serving {
    fn serve(mut self) {
        let (mut has_ended, mut floor_due) = (false, Instant::now());
        let mut found = Vec::new();
        loop {
            let left = floor_due.saturating_duration_since(Instant::now());
            if self.poller.wait_timeout(&mut found, left).is_err() {
                return;
            }
            match self.router.try_recv() {
                Ok(message) => self.hear(&message),
                Err(RecvError::WouldBlock) => {}
                Err(_) => return,
            }
            self.tell_refused();
            let is_floor_due = Instant::now() >= floor_due;
            if is_floor_due {
                floor_due = Instant::now() + FLOOR_INTERVAL;
                self.forget_pauses();
                self.tell_left_over();
            }
            let (end, closing) = {
                let wishes = self.shared.wishes();
                (wishes.end, wishes.closing)
            };
            match end {
                Some(end) if !has_ended => {
                    has_ended = true;
                    self.tell_all(end);
                }
                None if is_floor_due => self.tell_floor(),
                _ => {}
            }
            if closing {
                // Messages that were sent still go out.
                return;
            }
        }
    }

    fn hear(&mut self, message: &Message) {
        let (Some(sink), Some(said)) = (message.frame(0), ControlMessage::decode(message.body())) else {
            return;
        };
        match said {
            ControlMessage::Hello if self.sinks.len() < SINK_COUNT_MAX => {
                if self.sinks.insert(sink.to_vec(), Told::All).is_none() {
                    self.tell(sink, ControlMessage::Tasks(&self.place));
                }
                // A new sink learns at once which tasks are done already.
                self.tell_left(sink);
                self.floor = self.tasks.first_unsettled().or(self.floor);
                let end = self.shared.wishes().end;
                if let Some(news) = end.or(self.floor.map(ControlMessage::Floor)) {
                    self.tell_all(news);
                }
            }
            ControlMessage::Stop => self.wish(|wishes| wishes.stopped = true),
            ControlMessage::Pause => {
                self.pausing.insert(sink.to_vec());
                self.wish(|wishes| wishes.paused = true);
            }
            ControlMessage::Resume => {
                self.pausing.remove(sink);
                let paused = !self.pausing.is_empty();
                self.wish(|wishes| wishes.paused = paused);
            }
            _ => {}
        }
    }

    /// Ends the pauses of sinks that are gone. A sink that comes back asks again.
    fn forget_pauses(&mut self) {
        if self.pausing.is_empty() {
            return;
        }
        let present = self.present();
        self.pausing.retain(|sink| present.contains(sink));
        if self.pausing.is_empty() {
            self.wish(|wishes| wishes.paused = false);
        }
    }

    fn present(&self) -> HashSet<Vec<u8>> {
        self.router.peers().into_iter().map(|peer| peer.routing_id).collect()
    }

    /// Tells a sink which tasks are unsettled; all others are settled. Returns false if the sink does not take the
    /// message.
    fn tell_left(&self, sink: &[u8]) -> bool {
        let Some((next, runs)) = self.tasks.unsettled_tasks() else { return true };
        let runs = SequenceRuns::encode(runs.iter().map(|(task, count)| (task.sequence, *count)));
        self.tell(sink, ControlMessage::Left(next, SequenceRuns::of(&runs)))
    }

    /// Tells all sinks which tasks were refused since the last call.
    fn tell_refused(&mut self) {
        let runs = match self.tasks.take_refused() {
            RefusedTasks::Runs(runs) => runs,
            RefusedTasks::TooMany => {
                self.sinks.values_mut().for_each(|told| *told = Told::NotAll);
                return self.tell_left_over();
            }
        };
        for runs in runs.chunk_by(|(one, _), (other, _)| one.epoch == other.epoch) {
            let sequences = runs.iter().map(|(first, count)| (first.sequence, *count));
            let sequences = SequenceRuns::encode(sequences);
            self.tell_all(ControlMessage::Refused(runs[0].0.epoch, SequenceRuns::of(&sequences)));
        }
    }

    /// Tells the unsettled tasks to sinks that have not heard of all refused tasks.
    fn tell_left_over(&mut self) {
        let mut sinks = std::mem::take(&mut self.sinks);
        for (sink, told) in sinks.iter_mut().filter(|(_, told)| **told == Told::NotAll) {
            if self.tell_left(sink) {
                *told = Told::All;
            }
        }
        self.sinks = sinks;
        self.router.flush();
    }

    fn wish(&self, change: impl FnOnce(&mut Wishes)) {
        {
            let mut wishes = self.shared.wishes();
            change(&mut wishes);
            self.shared.has_wish.store(wishes.paused || wishes.stopped, Ordering::Relaxed);
        }
        self.shared.changed.notify_all();
    }

    fn tell_floor(&mut self) {
        let floor = self.tasks.first_unsettled();
        if floor != self.floor
            && let Some(floor) = floor
        {
            self.floor = Some(floor);
            self.tell_all(ControlMessage::Floor(floor));
        }
    }

    fn tell_all(&mut self, news: ControlMessage<'_>) {
        let present = self.present();
        let mut sinks = std::mem::take(&mut self.sinks);
        sinks.retain(|sink, _| present.contains(sink));
        for (sink, told) in &mut sinks {
            if !self.tell(sink, news) && matches!(news, ControlMessage::Refused(..)) {
                *told = Told::NotAll;
            }
        }
        self.sinks = sinks;
        self.router.flush();
        if matches!(news, ControlMessage::End { .. }) && !self.sinks.is_empty() {
            self.wish(|wishes| wishes.is_end_told = true);
        }
    }

    /// Sends a message to a sink. Returns whether the sink takes it. A sink that is gone asks again when it comes back.
    /// A sink that takes nothing hears of the next floor.
    fn tell(&self, sink: &[u8], news: ControlMessage<'_>) -> bool {
        self.router.try_send(&[sink, &news.encode()]).is_ok()
    }
}
