//! `Sink`: takes results like the pipeline's sink, around the real `Seen`: each once, in order if requested. It reports
//! done tasks to the ventilator, and settles in bulk while the reports arrive.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

use hairstreak_testkit::Life;
use hairstreak_wire::settlement::{Content, ControlMessage, Outcome, Ranges, Ready, Seen, TaskId, TaskRun};

use crate::endpoint::{Endpoint, Frame, LinkError};
use crate::ledger::{Ledger, NO_ROOM};
use crate::net::{Event, Net, Party};
use crate::pull::{Batch, Pull};
use crate::push::Body;
use crate::scenario::{Kind, Scenario};
use crate::worker::TELL_DELAY_MAX;

/// A batch that is settled as a whole after it has been processed.
#[derive(Debug)]
struct Taken {
    link: usize,
    numbers: Range<u64>,
    tasks: Vec<(TaskId, u64)>,
}

#[derive(Debug)]
pub struct Sink {
    pub life: Life<Party>,
    pub results: Pull,
    /// The PULL that sends reports, and the tasks that are still to report.
    pub reports: Pull,
    unreported: Vec<(TaskId, u64)>,
    /// `true` if the last report went to the ventilator.
    is_heard: bool,
    control: Option<Endpoint>,
    said: VecDeque<Vec<u8>>,
    /// `true` if the ventilator has said which tasks are done already.
    is_introduced: bool,
    sources: BTreeMap<u64, Seen<Body>>,
    ready: VecDeque<Ready<Body>>,
    batch: Option<Taken>,
    /// The tasks of the batch whose results were not delivered.
    dropped: BTreeSet<TaskId>,
    last: Option<TaskId>,
    keep_order: bool,
    is_busy: bool,
    turn: u32,
    is_tell_due: bool,
    /// The number of tasks in END, and the number of these without a result.
    pub ended: Option<(u64, u64)>,
}

impl Sink {
    /// A sink that knows the stored results.
    pub fn new(
        life: Life<Party>,
        scenario: &Scenario,
        stored: &BTreeMap<u64, hairstreak_wire::settlement::Ranges>,
    ) -> Sink {
        let mut sources: BTreeMap<u64, Seen<Body>> = BTreeMap::new();
        for (&epoch, ranges) in stored {
            let seen = sources.entry(epoch).or_default();
            if scenario.keep_order {
                // Skipped results have had their turn.
                let last = ranges.iter().last().map_or(0, |range| range.end);
                seen.raise_floor(last, &mut |_| {});
            }
            for range in ranges.iter().filter(|_| !scenario.keep_order) {
                let run = TaskRun {
                    id: TaskId { epoch, sequence: range.start },
                    deliveries: 0,
                    content: Content::Nothing,
                };
                let bodies = range.clone().map(|_| Body::new());
                seen.take(run, range.end - range.start, bodies, scenario.keep_order, &mut |_| {});
            }
        }
        Sink {
            life,
            results: Pull::new(scenario.result_credit, true),
            reports: Pull::new(0, true),
            unreported: Vec::new(),
            is_heard: false,
            control: None,
            said: VecDeque::new(),
            is_introduced: false,
            sources,
            ready: VecDeque::new(),
            batch: None,
            dropped: BTreeSet::new(),
            last: None,
            keep_order: scenario.keep_order,
            is_busy: false,
            turn: 0,
            is_tell_due: false,
            ended: None,
        }
    }

    pub fn attach_control(&mut self, net: &mut Net, link: usize) {
        let mut endpoint = Endpoint::new(link, 1);
        endpoint.push_message(net, &ControlMessage::Hello.encode());
        endpoint.flush(net);
        self.control = Some(endpoint);
    }

    pub fn lose_control(&mut self) {
        self.control = None;
    }

    pub fn flush_control(&mut self, net: &mut Net) {
        if let Some(endpoint) = &mut self.control {
            endpoint.flush(net);
        }
    }

    pub fn receive_control(&mut self, bytes: &[u8]) -> Result<(), LinkError> {
        let Some(endpoint) = &mut self.control else { return Ok(()) };
        endpoint.receive(bytes);
        while let Some(Frame::Message(body)) = endpoint.next_frame()? {
            self.said.push_back(body);
        }
        Ok(())
    }

    pub fn result_count(&self) -> u64 {
        self.sources.values().map(|seen| seen.count).sum()
    }

    /// Tasks without a result, when all is done.
    pub fn rejected_count(&self) -> u64 {
        let (count, refused) = self.ended.unwrap_or_default();
        self.sources.values().map(|seen| seen.rejected_count(count, refused)).next().unwrap_or(refused)
    }

    pub fn on_turn(&mut self, turn: u32) {
        self.is_busy &= turn != self.turn;
    }

    pub fn tell(&mut self, net: &mut Net) {
        self.is_tell_due = false;
        self.results.tell(net, true);
    }

    /// Runs until its application is busy, or there is nothing to do. Returns `true` if all is done.
    pub fn go_on(&mut self, net: &mut Net, ledger: &mut Ledger) -> bool {
        loop {
            if self.is_busy {
                self.tell_later(net);
                return false;
            }
            if let Some(last) = self.last.take() {
                self.settle_named(net, last);
            }
            match self.ready.pop_front() {
                Some(Ready::Result(task, body)) => {
                    net.sim.note(|| format!("sink: result of {}", task.sequence));
                    ledger.deliver(task, &body);
                    self.last = self.keep_order.then_some(task);
                    self.be_busy(net);
                    continue;
                }
                Some(Ready::Over(task)) => {
                    if self.keep_order {
                        self.settle_named(net, task);
                    }
                    continue;
                }
                Some(Ready::Dropped(task)) => {
                    if self.keep_order {
                        self.results.settle_tasks(net, task, 1, Outcome::Accepted, b"");
                    } else {
                        self.dropped.insert(task);
                    }
                    continue;
                }
                None => {}
            }
            if let Some(Taken { link, numbers, tasks }) = self.batch.take() {
                self.results.settle(net, link, numbers, Outcome::Accepted, b"");
                let dropped = std::mem::take(&mut self.dropped);
                for (first, count) in tasks {
                    let mut delivered = Ranges::new();
                    delivered.insert(first.sequence..first.sequence + count);
                    for task in dropped.range(first..first.plus(count)) {
                        delivered.remove(task.sequence..task.sequence + 1);
                    }
                    for range in delivered.iter() {
                        let first = TaskId { sequence: range.start, ..first };
                        self.note_done(net, first, range.end - range.start);
                    }
                }
            }
            let hears_first = !self.is_introduced || net.sim.rng.u8(0..8) == 0;
            if hears_first && self.hear(net) {
                continue;
            }
            if self.is_introduced
                && let Some(batch) = self.results.take_batch(net, net.scenario.batch_max)
            {
                self.sort(net, batch);
                self.check_memory(net, ledger);
                continue;
            }
            if !self.hear(net) {
                self.is_heard &= self.ended.is_none();
                self.report(net);
                self.results.tell(net, !self.is_heard);
                self.tell_later(net);
                return self.ended.is_some();
            }
        }
    }

    /// Sends further reports and settlements with time.
    fn tell_later(&mut self, net: &mut Net) {
        if self.results.has_news() && !std::mem::replace(&mut self.is_tell_due, true) {
            net.sim.within(TELL_DELAY_MAX, Event::Tell(self.life));
        }
    }

    fn settle_named(&mut self, net: &mut Net, task: TaskId) {
        self.results.settle_tasks(net, task, 1, Outcome::Accepted, b"");
        self.note_done(net, task, 1);
    }

    fn note_done(&mut self, net: &mut Net, first: TaskId, count: u64) {
        self.unreported.push((first, count));
        let unreported: u64 = self.unreported.iter().map(|(_, count)| count).sum();
        if unreported >= (net.scenario.window / 2).max(1) {
            self.report(net);
        }
    }

    /// Reports done tasks. While no report can be sent, settlements are sent at once.
    fn report(&mut self, net: &mut Net) {
        if !self.unreported.is_empty() {
            self.is_heard = self.reports.report(net, &std::mem::take(&mut self.unreported));
            if !self.is_heard {
                self.results.tell(net, true);
            }
        }
    }

    fn be_busy(&mut self, net: &mut Net) {
        let time = net.sim.rng.u64(0..=net.scenario.take_max);
        if time > 0 {
            self.is_busy = true;
            self.turn += 1;
            net.sim.at(net.sim.now() + time, Event::GoOn { life: self.life, turn: self.turn });
        }
    }

    /// Separates new results from repeated ones.
    fn sort(&mut self, net: &mut Net, batch: Batch) {
        let Batch { link, numbers, messages } = batch;
        if !net.is_calm && net.sim.chance(net.scenario.release_chance / 2) {
            return self.results.settle(net, link, numbers, Outcome::Released, b"");
        }
        if !net.is_calm && net.sim.chance(net.scenario.reject_chance / 2) {
            return self.results.settle(net, link, numbers, Outcome::Rejected, NO_ROOM);
        }
        let mut tasks = Vec::new();
        let mut rest = messages.into_iter().peekable();
        while let Some((run, body)) = rest.next() {
            let mut bodies = vec![body];
            while let Some((_, body)) = rest.next_if(|(next, _)| *next == run.plus(bodies.len() as u64)) {
                bodies.push(body);
            }
            let seen = self.sources.entry(run.id.epoch).or_default();
            let (count, ready) = (bodies.len() as u64, &mut self.ready);
            if net.scenario.kind != Kind::Hostile {
                let mut contents =
                    (0..count).map(|offset| net.scenario.content(run.plus(offset).id.sequence));
                assert!(contents.all(|content| content == run.content), "{run:?}, {count} tasks");
            }
            tasks.push((run.id, count));
            seen.take(run, count, bodies.into_iter(), self.keep_order, &mut |next| ready.push_back(next));
        }
        if !self.keep_order {
            self.batch = Some(Taken { link, numbers, tasks });
        }
    }

    /// It is bounded by the window, for a sink that knows all that was delivered, and is told what is refused.
    fn check_memory(&self, net: &Net, ledger: &Ledger) {
        let Scenario { kind, window, is_stored, blank_chance, .. } = net.scenario;
        let knows_all = self.life.number == 0 || is_stored && blank_chance == 0;
        if kind != Kind::Hostile && knows_all {
            for seen in self.sources.values() {
                let (count, limit) = (seen.range_count() as u64, window + 1 + ledger.refused_count);
                assert!(count <= limit, "{count} ranges with a window of {window}");
            }
        }
    }

    /// Reads the messages of the ventilator. Returns `true` if there was one.
    fn hear(&mut self, net: &mut Net) -> bool {
        let Some(said) = self.said.pop_front() else { return false };
        let Some(message) = ControlMessage::decode(&said) else { return true };
        net.sim.note(|| format!("sink hears {message:?}"));
        let (sources, ready) = (&mut self.sources, &mut self.ready);
        let mut deliver = |next| ready.push_back(next);
        match message {
            ControlMessage::Floor(floor) => {
                self.is_introduced = true;
                sources.entry(floor.epoch).or_default().raise_floor(floor.sequence, &mut deliver);
            }
            ControlMessage::Left(next, left) => {
                sources.entry(next.epoch).or_default().skip_settled(next.sequence, left, &mut deliver);
            }
            ControlMessage::Refused(epoch, runs) => {
                let seen = sources.entry(epoch).or_default();
                runs.for_each(|(first, count)| seen.pass_over(first, count, &mut deliver));
            }
            ControlMessage::End { epoch, count, rejected } => {
                (self.is_introduced, self.ended) = (true, Some((count, rejected)));
                sources.entry(epoch).or_default().raise_floor(count, &mut deliver);
            }
            _ => {}
        }
        true
    }
}
