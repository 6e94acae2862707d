//! `Ventilator`: hands out numbered tasks, and tells the sink settlements, refused tasks, and the end.

use std::collections::BTreeMap;

use hairstreak_testkit::Life;
use hairstreak_wire::settlement::{Content, ControlMessage, RefusedTasks, SequenceRuns, TaskId, TaskRun};

use crate::endpoint::{Endpoint, Frame, LinkError};
use crate::ledger::Ledger;
use crate::net::{Event, Net, Party};
use crate::push::Push;
use crate::scenario::{Scenario, task_body};

pub const EPOCH: u64 = 1;

#[derive(Debug)]
pub struct Ventilator {
    life: Life<Party>,
    pub tasks: Push,
    produced: u64,
    /// `true` if the application takes refusals at once. Otherwise at the end, so that some of them turn out to be done before.
    takes_refusals: bool,
    not_before: u64,
    floor: Option<TaskId>,
    end: Option<ControlMessage<'static>>,
    /// Sinks, with a flag for their HELLO.
    controls: BTreeMap<usize, (Endpoint, bool)>,
}

impl Ventilator {
    pub fn new(life: Life<Party>, scenario: &Scenario) -> Ventilator {
        Ventilator {
            life,
            tasks: Push::new(scenario.window, scenario.redelivery(), false),
            produced: 0,
            takes_refusals: scenario.window.is_multiple_of(2),
            not_before: 0,
            floor: None,
            end: None,
            controls: BTreeMap::new(),
        }
    }

    pub fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    pub fn attach_control(&mut self, link: usize) {
        self.controls.insert(link, (Endpoint::new(link, 0), false));
    }

    pub fn lose_control(&mut self, link: usize) {
        self.controls.remove(&link);
    }

    pub fn flush_control(&mut self, net: &mut Net, link: usize) {
        if let Some((endpoint, _)) = self.controls.get_mut(&link) {
            endpoint.flush(net);
        }
    }

    pub fn hear(&mut self, net: &mut Net, link: usize, bytes: &[u8]) -> Result<(), LinkError> {
        let (floor, left) = (self.first_unsettled(), self.tasks.unsettled_runs());
        let Some((endpoint, is_greeted)) = self.controls.get_mut(&link) else { return Ok(()) };
        endpoint.receive(bytes);
        while let Some(Frame::Message(body)) = endpoint.next_frame()? {
            if ControlMessage::decode(&body) == Some(ControlMessage::Hello) {
                *is_greeted = true;
                let next = TaskId { epoch: EPOCH, sequence: self.produced };
                let left = SequenceRuns::encode(left.iter().copied());
                let left = ControlMessage::Left(next, SequenceRuns::of(&left));
                for news in [left, self.end.unwrap_or(ControlMessage::Floor(floor))] {
                    endpoint.push_message(net, &news.encode());
                }
                endpoint.flush(net);
            }
        }
        Ok(())
    }

    fn tell_sinks(&mut self, net: &mut Net, news: ControlMessage) {
        net.sim.note(|| format!("ventilator: {news:?}"));
        for (endpoint, _) in self.controls.values_mut().filter(|(_, is_greeted)| *is_greeted) {
            endpoint.push_message(net, &news.encode());
            endpoint.flush(net);
        }
    }

    /// The first unsettled task; the next new task if all are settled.
    fn first_unsettled(&self) -> TaskId {
        self.tasks.first_unsettled().unwrap_or(TaskId { epoch: EPOCH, sequence: self.produced })
    }

    pub fn tell_floor(&mut self, net: &mut Net) {
        let floor = self.first_unsettled();
        if self.end.is_none() && self.floor != Some(floor) {
            self.floor = Some(floor);
            self.tell_sinks(net, ControlMessage::Floor(floor));
        }
    }

    fn tell_refused(&mut self, net: &mut Net) {
        if let RefusedTasks::Runs(runs) = self.tasks.redelivery.take_refused()
            && !runs.is_empty()
        {
            let runs = SequenceRuns::encode(runs.iter().map(|(first, count)| (first.sequence, *count)));
            self.tell_sinks(net, ControlMessage::Refused(EPOCH, SequenceRuns::of(&runs)));
        }
    }

    /// The application takes the refusals.
    fn take_refusals(&mut self, net: &mut Net, ledger: &mut Ledger) {
        for refusal in self.tasks.redelivery.take_refusals() {
            net.sim.note(|| format!("ventilator: {} refused: {:?}", refusal.task.sequence, refusal.cause));
            ledger.refuse(refusal.task, refusal.cause);
        }
    }

    pub fn go_on(&mut self, net: &mut Net, ledger: &mut Ledger) {
        self.tell_refused(net);
        if self.takes_refusals {
            self.take_refusals(net, ledger);
        }
        self.tasks.send_waiting_again(net);
        let Scenario { task_count, produce_max, window, .. } = net.scenario;
        while self.produced < task_count && net.sim.now() >= self.not_before {
            let id = TaskId { epoch: EPOCH, sequence: self.produced };
            let task = TaskRun { id, deliveries: 0, content: Content::Message };
            if !self.tasks.send(net, task, &task_body(self.produced)) {
                break;
            }
            self.produced += 1;
            self.not_before = net.sim.now() + net.sim.rng.u64(0..=produce_max);
            net.sim.at(self.not_before, Event::GoOn { life: self.life, turn: 0 });
        }
        let unsettled = self.tasks.unsettled_count();
        assert!(unsettled <= window, "{unsettled} unsettled, in a window of {window}");
        if self.produced == task_count && unsettled == 0 && self.end.is_none() {
            self.tasks.end(net);
            self.take_refusals(net, ledger);
            let rejected = self.tasks.redelivery.refused_count();
            let end = ControlMessage::End { epoch: EPOCH, count: task_count, rejected };
            self.end = Some(end);
            self.tell_sinks(net, end);
        }
    }
}
