//! The ventilator's end of the control link: a thread that hears what sinks want and tells them what is settled.

use std::collections::HashSet;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use hairstreak_socket::settlement::{ControlMessage, LeftTasks, TaskId};
use hairstreak_socket::{Context, Endpoint, Message, Options, Push, RecvError, Router};

use super::error::PipelineError;

/// How often sinks are told what is settled, at most.
const FLOOR_INTERVAL: Duration = Duration::from_millis(20);
/// Sinks that are told; of more, further ones are not.
const SINK_COUNT_MAX: usize = 64;

/// What sinks want, and what they are to be told.
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
    changed: Condvar,
}

impl Shared {
    fn wishes(&self) -> MutexGuard<'_, Wishes> {
        self.wishes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The ventilator's end.
#[derive(Debug)]
pub(super) struct Control {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    pub endpoint: Endpoint,
}

impl Control {
    /// Listens there, and tells what of `tasks` is settled.
    pub fn bind(
        place: &str,
        options: Options,
        tasks: Push,
        tasks_place: &Endpoint,
    ) -> Result<Control, PipelineError> {
        let options = Options { router_handover: true, ..options };
        let router = Router::with_options(&Context::new(), options)?;
        let endpoint = router.bind(place)?;
        let shared = Arc::new(Shared::default());
        let serving = Arc::clone(&shared);
        let place = tasks_place.to_string();
        let thread = std::thread::Builder::new().name("hairstreak-control".into()).spawn(move || {
            Serving {
                router,
                tasks,
                place,
                shared: serving,
                sinks: HashSet::new(),
                pausing: HashSet::new(),
                floor: None,
            }
            .serve();
        })?;
        Ok(Control { shared, thread: Some(thread), endpoint })
    }

    /// Waits while a sink wants a pause. Returns whether it wants tasks at all.
    pub fn wait_for_wish(&self) -> bool {
        let mut wishes = self.shared.wishes();
        while wishes.paused && !wishes.stopped {
            wishes = self.shared.changed.wait(wishes).unwrap_or_else(PoisonError::into_inner);
        }
        !wishes.stopped
    }

    /// All is settled: sinks are told, those too that come until the ventilator is dropped. Waits for one, `timeout` at
    /// most: it may be about to connect.
    pub fn end(&self, end: ControlMessage<'static>, timeout: Duration) {
        let mut wishes = self.shared.wishes();
        wishes.end = Some(end);
        let waits = |wishes: &mut Wishes| !wishes.is_end_told;
        drop(self.shared.changed.wait_timeout_while(wishes, timeout, waits));
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.shared.wishes().closing = true;
        if let Some(thread) = self.thread.take() {
            // It ends within an interval; a panic in it has been reported.
            let _ = thread.join();
        }
    }
}

struct Serving {
    router: Router,
    tasks: Push,
    /// Where tasks are handed out.
    place: String,
    shared: Arc<Shared>,
    sinks: HashSet<Vec<u8>>,
    /// Those that want a pause.
    pausing: HashSet<Vec<u8>>,
    floor: Option<TaskId>,
}

impl Serving {
    fn serve(mut self) {
        let mut ended = false;
        loop {
            match self.router.recv_timeout(FLOOR_INTERVAL) {
                Ok(message) => self.hear(&message),
                Err(RecvError::TimedOut) => {}
                Err(_) => return,
            }
            self.forget_pauses();
            let (end, closing) = {
                let wishes = self.shared.wishes();
                (wishes.end, wishes.closing)
            };
            match end {
                Some(end) if !ended => {
                    ended = true;
                    self.tell_all(end);
                }
                Some(_) => {}
                None => self.tell_floor(),
            }
            if closing {
                // What was said still goes out.
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
                if self.sinks.insert(sink.to_vec()) {
                    self.tell(sink, ControlMessage::Tasks(&self.place));
                }
                // A sink that is new is to know at once what is done already.
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
                self.pausing.clear();
                self.wish(|wishes| wishes.paused = false);
            }
            _ => {}
        }
    }

    /// A sink that is gone wants no pause any more; one that comes back says so again.
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

    fn tell_left(&self, sink: &[u8]) {
        if let Some((next, runs)) = self.tasks.unsettled_tasks() {
            let runs = LeftTasks::encode(runs.iter().map(|(task, count)| (task.sequence, *count)));
            self.tell(sink, ControlMessage::Left(next, LeftTasks::of(&runs)));
        }
    }

    fn wish(&self, change: impl FnOnce(&mut Wishes)) {
        change(&mut self.shared.wishes());
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
        self.sinks.retain(|sink| present.contains(sink));
        self.sinks.iter().for_each(|sink| self.tell(sink, news));
        self.router.flush();
        if matches!(news, ControlMessage::End { .. }) && !self.sinks.is_empty() {
            self.wish(|wishes| wishes.is_end_told = true);
        }
    }

    fn tell(&self, sink: &[u8], news: ControlMessage<'_>) {
        // A sink that is gone asks again when it comes back; one that takes nothing hears of the next floor.
        let _ = self.router.try_send(&[sink, &news.encode()]);
    }
}
