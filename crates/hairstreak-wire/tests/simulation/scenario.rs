//! `Scenario`: the choices of a seed before the run: sizes, limits, and the frequency of each fault.

use hairstreak_testkit::Rng;
use hairstreak_wire::settlement::{Content, RedeliveryRules};

/// The kind of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Links that are cut, delayed and half open; parties that crash, pause, leave and join.
    Faults,
    /// Only tasks that kill each worker that begins them.
    Poison,
    /// Faults, few tasks under way, in order, and many of them refused.
    Refusals,
    /// Faults, and ends that lose, double and swap frames inside a stream, or send random commands.
    Hostile,
}

/// The faults, in the order of [`Scenario::weights`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    Cut,
    /// A cut of a link between the ventilator and a worker.
    CutTasks,
    CrashWorker,
    CrashSink,
    Pause,
    Drain,
    Join,
    Tamper,
}

const FAULTS: [Fault; 8] = [
    Fault::Cut,
    Fault::CutTasks,
    Fault::CrashWorker,
    Fault::CrashSink,
    Fault::Pause,
    Fault::Drain,
    Fault::Join,
    Fault::Tamper,
];

/// Times are in microseconds, chances in percent.
#[derive(Clone, Debug)]
pub struct Scenario {
    pub kind: Kind,
    pub task_count: u64,
    pub window: u64,
    pub worker_count: usize,
    /// The credit of a worker, the credit of the sink, and the window of a worker's results.
    pub task_credit: u64,
    pub result_credit: u64,
    pub result_window: u64,
    pub batch_max: usize,
    pub keep_order: bool,
    /// The sink's application stores what it has seen together with the results.
    pub is_stored: bool,
    /// 0: without a limit.
    pub deliveries_max: u16,
    pub poison: Vec<u64>,
    pub blank_chance: u8,
    pub release_chance: u8,
    pub reject_chance: u8,
    /// The largest number of bytes under way in a stream.
    pub capacity: usize,
    pub delay_max: u64,
    pub torn_chance: u8,
    pub work_max: u64,
    /// The longest time of the sink's application for a result.
    pub take_max: u64,
    pub produce_max: u64,
    pub floor_interval: u64,
    /// The times until a cut is noticed, a party comes back, a connection is tried again.
    pub notice_max: u64,
    pub fault_interval_max: u64,
    pub calm_at: u64,
    weights: [u32; FAULTS.len()],
}

impl Scenario {
    pub fn draw(kind: Kind, rng: &mut Rng) -> Scenario {
        let task_count = below(rng, &[8, 40, 80]);
        let is_refused = kind == Kind::Refusals;
        let (window, keep_order) =
            if is_refused { (rng.u64(1..4), true) } else { (below(rng, &[2, 8, 32]), rng.bool()) };
        let is_calm = kind == Kind::Poison;
        let poison_count = if is_calm { rng.usize(1..4) } else { rng.usize(0..3) / 2 };
        let mut poison: Vec<u64> = (0..poison_count).map(|_| rng.u64(0..task_count)).collect();
        poison.sort_unstable();
        poison.dedup();
        let needs_limit = !poison.is_empty();
        let deliveries_max = match kind {
            Kind::Poison => rng.u16(3..7),
            _ if needs_limit || rng.bool() => rng.u16(1..8),
            _ => 0,
        };
        let mut weights = FAULTS.map(|_| if rng.bool() { rng.u32(1..10) } else { 0 });
        match kind {
            Kind::Poison => weights = [0; FAULTS.len()],
            Kind::Faults => weights[Fault::Tamper as usize] = 0,
            Kind::Refusals => {
                weights[Fault::CutTasks as usize] = rng.u32(1..30);
                // A sink that takes the place of another needs the floor: it does not learn the results of that sink.
                (weights[Fault::CrashSink as usize], weights[Fault::Tamper as usize]) = (0, 0);
            }
            Kind::Hostile => weights[Fault::Tamper as usize] = 10,
        }
        let chance = |rng: &mut Rng| if is_calm || rng.bool() { 0 } else { rng.u8(1..15) };
        Scenario {
            kind,
            task_count,
            window,
            worker_count: rng.usize(1..=5),
            // In order, results wait for earlier results, which may never arrive with less credit than the window.
            task_credit: if keep_order { window + rng.u64(0..3) } else { below(rng, &[window, window * 2]) },
            // The value in real pipelines: enough that results which wait for their turn do not stop others.
            result_credit: window,
            result_window: window,
            batch_max: *pick(rng, &[1, 3, 100]),
            keep_order,
            is_stored: rng.bool(),
            deliveries_max,
            poison,
            blank_chance: chance(rng),
            release_chance: chance(rng),
            reject_chance: if is_refused { rng.u8(10..50) } else { chance(rng) },
            capacity: *pick(rng, &[40, 1000, 100_000]),
            delay_max: *pick(rng, &[1, 300, 20_000]),
            torn_chance: *pick(rng, &[0, 10, 80]),
            work_max: *pick(rng, &[0, 100, 5000]),
            take_max: *pick(rng, &[0, 100, 5000]),
            produce_max: *pick(rng, &[0, 0, 3000]),
            // No result may wait for the floor: a new sink is told the floor, which does not rise any more.
            floor_interval: if is_refused { u64::MAX / 2 } else { *pick(rng, &[1000, 20_000]) },
            notice_max: *pick(rng, &[100, 10_000, 300_000]),
            fault_interval_max: *pick(rng, &[1000, 10_000, 50_000]),
            calm_at: below(rng, &[3000, 100_000, 400_000]),
            weights,
        }
    }

    /// The next fault.
    pub fn draw_fault(&self, rng: &mut Rng) -> Option<Fault> {
        let all: u32 = self.weights.iter().sum();
        let mut at = if all > 0 { rng.u32(0..all) } else { return None };
        FAULTS.into_iter().find(|fault| {
            let weight = self.weights[*fault as usize];
            let is_it = at < weight;
            at = at.saturating_sub(weight);
            is_it
        })
    }

    pub fn is_poison(&self, sequence: u64) -> bool {
        self.poison.contains(&sequence)
    }

    pub fn redelivery(&self) -> RedeliveryRules {
        let (deliveries_max, in_order) = (self.deliveries_max, self.keep_order);
        RedeliveryRules {
            deliveries_max,
            refused_count_max: 1000,
            refusals_patience: None,
            in_order,
            alone_deliveries: 2,
        }
    }

    pub fn redelivery_of_results(&self) -> RedeliveryRules {
        RedeliveryRules { deliveries_max: 0, ..self.redelivery() }
    }

    /// The result of the task. The message of a group is not read here.
    pub fn content(&self, sequence: u64) -> Content {
        match sequence % 5 {
            _ if self.is_blank(sequence) => Content::Nothing,
            3 => Content::Group,
            _ => Content::Message,
        }
    }

    /// Returns `true` if the task has no result.
    pub fn is_blank(&self, sequence: u64) -> bool {
        sequence * 7919 % 100 < u64::from(self.blank_chance)
    }
}

/// From 1 to one of the limits.
fn below(rng: &mut Rng, limits: &[u64]) -> u64 {
    let limit = *pick(rng, limits);
    rng.u64(1..=limit)
}

fn pick<'a, T>(rng: &mut Rng, all: &'a [T]) -> &'a T {
    &all[rng.usize(0..all.len())]
}

/// The body of a task's message, sometimes larger than a short frame.
pub fn task_body(sequence: u64) -> Vec<u8> {
    let size = if sequence % 37 == 5 { 300 } else { sequence % 13 };
    let mut body = sequence.to_be_bytes().to_vec();
    body.extend((0..size).map(|at| at as u8));
    body
}

/// The fate of the task.
pub fn result_body(task: &[u8]) -> Vec<u8> {
    [b"=", task].concat()
}
