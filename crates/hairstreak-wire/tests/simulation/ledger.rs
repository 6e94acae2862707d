//! `Ledger`: checks the guarantees with a view of all parties.

use std::collections::BTreeMap;

use hairstreak_wire::settlement::{Ranges, RefusalCause, TaskId};

use crate::scenario::{Kind, Scenario, result_body, task_body};

/// The reason of a worker for a rejected task, and of a sink for a rejected result.
pub const BAD_LUCK: &[u8] = b"bad luck";
pub const NO_ROOM: &[u8] = b"no room";

#[derive(Debug, Default)]
struct Entry {
    /// The counts of deliveries with which workers began the task, and the number of workers that died of it.
    begun: Vec<u16>,
    deaths: u32,
    delivered: u32,
    /// The number of allowed repeated deliveries, for sinks that have forgotten an earlier one.
    forgotten: u32,
    refused: Option<RefusalCause>,
}

#[derive(Debug)]
pub struct Ledger {
    scenario: Scenario,
    entries: BTreeMap<TaskId, Entry>,
    /// The last delivered task of each source, since the sink last forgot.
    last: BTreeMap<u64, u64>,
    /// The results that the sink's application has stored.
    pub stored: BTreeMap<u64, Ranges>,
    pub refused_count: u64,
    pub is_finished: bool,
}

impl Ledger {
    pub fn new(scenario: &Scenario) -> Ledger {
        Ledger {
            scenario: scenario.clone(),
            entries: BTreeMap::new(),
            last: BTreeMap::new(),
            stored: BTreeMap::new(),
            refused_count: 0,
            is_finished: false,
        }
    }

    fn is_hostile(&self) -> bool {
        self.scenario.kind == Kind::Hostile
    }

    fn entry(&mut self, task: TaskId) -> &mut Entry {
        self.entries.entry(task).or_default()
    }

    /// A worker begins the task.
    pub fn begin(&mut self, task: TaskId, deliveries: u16, body: &[u8]) {
        let (is_hostile, deliveries_max) = (self.is_hostile(), self.scenario.deliveries_max);
        let entry = self.entry(task);
        let is_new = !entry.begun.contains(&deliveries);
        entry.begun.push(deliveries);
        if !is_hostile {
            assert_eq!(body, task_body(task.sequence), "the body of {task:?}");
            assert!(is_new, "{task:?} comes again with deliveries {deliveries}");
            assert!(deliveries_max == 0 || deliveries < deliveries_max, "{task:?}: deliveries {deliveries}");
        }
    }

    /// A worker dies of it.
    pub fn die(&mut self, task: TaskId) {
        self.entry(task).deaths += 1;
    }

    /// The ventilator gives it up.
    pub fn refuse(&mut self, task: TaskId, cause: RefusalCause) {
        if let RefusalCause::Rejected(reason) = &cause
            && !self.is_hostile()
        {
            assert!([BAD_LUCK, NO_ROOM].contains(&&reason[..]), "{reason:?}");
        }
        let before = self.entry(task).refused.replace(cause);
        assert!(before.is_none(), "{task:?} is refused twice");
        self.refused_count += 1;
    }

    /// The sink's application has its result.
    pub fn deliver(&mut self, task: TaskId, body: &[u8]) {
        let is_hostile = self.is_hostile();
        let is_blank = self.scenario.is_blank(task.sequence);
        let entry = self.entry(task);
        entry.delivered += 1;
        let (delivered, forgotten) = (entry.delivered, entry.forgotten);
        assert!(delivered <= 1 + forgotten, "{task:?} is delivered {delivered} times, forgotten {forgotten}");
        if !is_hostile {
            assert_eq!(body, result_body(&task_body(task.sequence)), "the result of {task:?}");
            assert!(!is_blank, "{task:?} has no result");
        }
        if self.scenario.keep_order {
            let last = self.last.insert(task.epoch, task.sequence);
            assert!(last < Some(task.sequence), "{task:?} behind {last:?}");
        }
        if self.scenario.is_stored {
            let new = task.sequence..task.sequence + 1;
            assert!(self.stored.entry(task.epoch).or_default().insert(new));
        }
    }

    /// The sink crashes; `is_at_risk`: of which tasks a second result may come.
    pub fn forget(&mut self, is_at_risk: impl Fn(TaskId) -> bool) {
        if self.scenario.is_stored {
            return;
        }
        self.last.clear();
        for (task, entry) in &mut self.entries {
            entry.forgotten += u32::from(entry.delivered > 0 && is_at_risk(*task));
        }
    }

    /// The sink has been told that all is done: `count` tasks, of which `rejected` were refused. `counts`: what a sink that
    /// was there from the beginning says of results, and of tasks that were refused and have none.
    pub fn finish(
        &mut self,
        count: u64,
        rejected: u64,
        counts: Option<(u64, u64)>,
        sends: &BTreeMap<TaskId, u32>,
    ) {
        self.is_finished = true;
        assert_eq!((count, rejected), (self.scenario.task_count, self.refused_count), "what END says");
        if self.is_hostile() {
            return;
        }
        let (mut delivered_count, mut refused_count, mut blank_count) = (0, 0, 0);
        for sequence in 0..count {
            let task = TaskId { epoch: 1, sequence };
            let is_blank = self.scenario.is_blank(sequence);
            let sent = sends.get(&task).copied().unwrap_or_default();
            let entry = self.entries.entry(task).or_default();
            let (is_delivered, is_refused) = (entry.delivered > 0, entry.refused.is_some());
            assert!(is_delivered || is_refused || is_blank, "{task:?} is lost");
            // A task that was given up may have had its result, which the ventilator did not know, and a sink that got
            // it again may have rejected it. A task that a worker rejects may only have a result from another worker.
            let is_by_worker = entry.refused == Some(RefusalCause::Rejected(BAD_LUCK.to_vec()));
            assert!(!(is_delivered && is_by_worker) || sent > 1, "{task:?} is delivered and rejected");
            delivered_count += u64::from(is_delivered);
            refused_count += u64::from(is_refused && !is_delivered && !is_blank);
            blank_count += u64::from(is_refused && is_blank);
        }
        if let Some((results, rejected)) = counts {
            assert_eq!(results, delivered_count, "results that the sink counts");
            // A task without a result may have been done before it was given up.
            let all = refused_count..=refused_count + blank_count;
            assert!(all.contains(&rejected), "{rejected} rejected, {all:?} were");
        }
        self.check_poison();
    }

    fn check_poison(&self) {
        for (task, Entry { deaths, refused, .. }) in &self.entries {
            let is_poison = self.scenario.is_poison(task.sequence);
            assert!(*deaths <= u32::from(self.scenario.deliveries_max), "{deaths} deaths of {task:?}");
            // In order, a suspect may have company, and be blamed for what another does.
            let is_alone = !self.scenario.keep_order || self.scenario.poison.len() < 2;
            if self.scenario.kind == Kind::Poison && (is_poison || is_alone) {
                assert_eq!(refused.is_some(), is_poison, "{task:?}: {refused:?}");
            }
        }
    }
}
