//! `Worker`: does tasks one after another and passes the results on; a task is settled when its result is.

use std::collections::VecDeque;

use hairstreak_testkit::Life;
use hairstreak_wire::settlement::{Content, Outcome, TaskRun};

use crate::endpoint::LinkError;
use crate::ledger::{BAD_LUCK, Ledger};
use crate::net::{Event, Net, Party};
use crate::pull::Pull;
use crate::push::{Body, Push};
use crate::scenario::{Scenario, result_body};

/// The longest time without settlements from a busy party.
pub const TELL_DELAY_MAX: u64 = 64_000;

/// The fate of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Lives,
    Dies,
    Leaves,
}

#[derive(Debug)]
struct Task {
    link: usize,
    number: u64,
    run: TaskRun,
    body: Body,
}

#[derive(Debug)]
pub struct Worker {
    life: Life<Party>,
    pub tasks: Pull,
    pub results: Push,
    batch: VecDeque<Task>,
    current: Option<Task>,
    /// A result that waits for room.
    result: Option<(TaskRun, Body)>,
    is_busy: bool,
    turn: u32,
    is_tell_due: bool,
}

impl Worker {
    pub fn new(life: Life<Party>, scenario: &Scenario) -> Worker {
        Worker {
            life,
            tasks: Pull::new(scenario.task_credit, false),
            results: Push::new(scenario.result_window, scenario.redelivery_of_results(), true),
            batch: VecDeque::new(),
            current: None,
            result: None,
            is_busy: false,
            turn: 0,
            is_tell_due: false,
        }
    }

    /// Applies the sink's settlements of results to their tasks.
    pub fn receive_settled(&mut self, net: &mut Net, link: usize, bytes: &[u8]) -> Result<(), LinkError> {
        let (news, result) = self.results.receive(net, link, bytes);
        for (run, count) in news.accepted {
            self.tasks.settle_tasks(net, run.id, count, Outcome::Accepted, b"");
        }
        for returned in news.rejected {
            self.tasks.settle_tasks(net, returned.task.id, 1, Outcome::Rejected, &returned.reason);
        }
        result
    }

    pub fn on_turn(&mut self, turn: u32) {
        self.is_busy &= turn != self.turn;
    }

    pub fn tell(&mut self, net: &mut Net) {
        self.is_tell_due = false;
        self.tasks.tell(net, true);
    }

    /// Runs until it is busy, or has nothing to do.
    pub fn go_on(&mut self, net: &mut Net, ledger: &mut Ledger) -> Fate {
        self.results.send_waiting_again(net);
        loop {
            if self.is_busy {
                if self.tasks.has_news() && !std::mem::replace(&mut self.is_tell_due, true) {
                    net.sim.within(TELL_DELAY_MAX, Event::Tell(self.life));
                }
                return Fate::Lives;
            }
            if let Some((run, body)) = &self.result
                && !self.results.send(net, *run, body)
            {
                self.tasks.tell(net, true);
                return Fate::Lives;
            }
            self.result = None;
            if let Some(task) = self.current.take() {
                if net.scenario.is_poison(task.run.id.sequence) {
                    ledger.die(task.run.id);
                    return Fate::Dies;
                }
                self.reply(net, task);
            } else if let Some(task) = self.batch.pop_front() {
                // A done task is settled with its result.
                let TaskRun { id, deliveries, .. } = task.run;
                if deliveries == 0 || !self.results.is_under_way(id) {
                    self.begin(net, ledger, task);
                }
            } else if let Some(batch) = self.tasks.take_batch(net, net.scenario.batch_max) {
                let numbered = batch.numbers.zip(batch.messages);
                let task = |(number, (run, body))| Task { link: batch.link, number, run, body };
                self.batch.extend(numbered.map(task));
            } else {
                self.tasks.tell(net, true);
                let is_over = self.tasks.has_ended() && self.results.unsettled_count() == 0;
                return if is_over { Fate::Leaves } else { Fate::Lives };
            }
        }
    }

    fn begin(&mut self, net: &mut Net, ledger: &mut Ledger, task: Task) {
        ledger.begin(task.run.id, task.run.deliveries, &task.body);
        let party = self.life.node;
        net.sim.note(|| format!("{party:?} begins {}", task.run.id.sequence));
        self.current = Some(task);
        let time = net.sim.rng.u64(0..=net.scenario.work_max);
        if time > 0 {
            self.is_busy = true;
            self.turn += 1;
            net.sim.at(net.sim.now() + time, Event::GoOn { life: self.life, turn: self.turn });
        }
    }

    fn reply(&mut self, net: &mut Net, task: Task) {
        let Scenario { release_chance, reject_chance, .. } = net.scenario;
        if !net.is_calm && net.sim.chance(release_chance) {
            self.tasks.settle(net, task.link, task.number..task.number + 1, Outcome::Released, b"");
        } else if net.sim.chance(reject_chance) {
            self.tasks.settle_tasks(net, task.run.id, 1, Outcome::Rejected, BAD_LUCK);
        } else {
            let content = net.scenario.content(task.run.id.sequence);
            let body = if content == Content::Nothing { Vec::new() } else { result_body(&task.body) };
            self.result = Some((TaskRun { content, ..task.run }, body));
        }
    }
}
