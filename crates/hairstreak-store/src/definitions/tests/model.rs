//! Random batches, faults, crashes and losses of power by seed, against a plain model.
//!
//! The model is a list of batches in the order of their submission. After a restart the definitions are the result of
//! a prefix of the list. The prefix ends at the end of a group, and contains all answered batches.

use std::collections::BTreeMap;

use fastrand::Rng;
use hairstreak_testkit::{Seeds, Trace};
use rustix::io::Errno;

use super::disk::{Faults, SimulatedDisk};
use crate::definitions::committer::Committer;
use crate::definitions::entry::{Entry, Kind, Write};
use crate::definitions::error::StoreError;

const SEEDS: Seeds = Seeds { target: "-p hairstreak-store --lib", soak_factor: 400 };

type Definitions = BTreeMap<(Kind, Vec<u8>), Vec<u8>>;

#[test]
fn what_was_answered_survives_the_loss_of_power_and_nothing_is_half() {
    SEEDS.check("what_was_answered", 250, |seed, trace| {
        World::new(seed, matches!(trace, Trace::Printed)).run(60)
    });
}

struct World {
    rng: Rng,
    disk: SimulatedDisk,
    /// `None` while the process is down.
    committer: Option<Committer>,
    is_failing: bool,
    /// The definitions that were stored when the process last started.
    base: Definitions,
    /// The groups since the last start.
    groups: Vec<Vec<Vec<Write>>>,
    /// Number of answered groups.
    answered: usize,
    is_traced: bool,
}

impl World {
    fn new(seed: u64, is_traced: bool) -> World {
        let disk = SimulatedDisk::new(seed);
        let (rng, base) = (Rng::with_seed(!seed), Definitions::new());
        World {
            rng,
            disk,
            committer: None,
            is_failing: false,
            base,
            groups: Vec::new(),
            answered: 0,
            is_traced,
        }
    }

    fn run(&mut self, steps: usize) {
        for _ in 0..steps {
            match self.rng.u8(..100) {
                _ if self.committer.is_none() => self.start(),
                0..60 => self.commit(),
                60..75 => self.fail_or_heal(),
                75..85 => self.retry(),
                85..89 => self.die_soon(),
                89..93 => self.lose_power(),
                93..97 => self.kill(),
                _ => self.close(),
            }
        }
        self.lose_power();
        self.start();
        assert!(self.committer.is_some(), "a disk without faults opens");
    }

    fn trace(&self, what: impl FnOnce() -> String) {
        if self.is_traced {
            println!("{:>6} {}", self.disk.operation_count(), what());
        }
    }

    fn start(&mut self) {
        self.trace(|| "start".into());
        let opened = Committer::open(Box::new(self.disk.clone()));
        let (committer, entries) = match opened {
            Ok(opened) => opened,
            // The disk is dead or refuses operations.
            Err(error) => {
                let is_of_system = matches!(
                    error,
                    StoreError::Io { .. } | StoreError::NoSpace { .. } | StoreError::ReadOnly { .. }
                );
                assert!(is_of_system, "{error}");
                return if self.rng.bool() { self.lose_power() } else { self.fail_or_heal() };
            }
        };
        self.check(&entries);
        self.base = entries.into_iter().map(|entry| ((entry.kind, entry.key), entry.value)).collect();
        self.groups.clear();
        self.answered = 0;
        self.committer = Some(committer);
        self.is_failing = false;
    }

    /// Compares the stored entries with the allowed states.
    fn check(&self, entries: &[Entry]) {
        let stored: Definitions =
            entries.iter().map(|entry| ((entry.kind, entry.key.clone()), entry.value.clone())).collect();
        let mut expected = self.base.clone();
        let mut fits = Vec::new();
        for count in 0..=self.groups.len() {
            if count > 0 {
                apply(&mut expected, &self.groups[count - 1]);
            }
            if expected == stored {
                fits.push(count);
            }
        }
        let is_well = fits.last().is_some_and(|fit| *fit >= self.answered);
        assert!(
            is_well,
            "{} groups, {} answered; stored is what {fits:?} leave",
            self.groups.len(),
            self.answered
        );
    }

    fn commit(&mut self) {
        let group: Vec<Vec<Write>> = (0..self.rng.usize(1..4)).map(|_| self.batch()).collect();
        self.groups.push(group.clone());
        let committer = self.committer.as_mut().unwrap();
        if self.is_failing {
            committer.keep(group);
        } else {
            let committed = committer.commit(group);
            self.note(committed);
        }
    }

    fn batch(&mut self) -> Vec<Write> {
        let count = [1, 1, 2, 3, 8][self.rng.usize(..5)];
        let rng = &mut self.rng;
        let write = |_| {
            let kind = Kind::new(rng.u8(..3));
            let key = rng.u8(..12).to_le_bytes().to_vec();
            // Some values fill pages of their own.
            let size = if rng.u8(..20) == 0 { 9_000 } else { 40 };
            let value = (rng.u8(..4) > 0).then(|| rng.u64(..).to_le_bytes().repeat(size / 8));
            Write { kind, key, value }
        };
        (0..count).map(write).collect()
    }

    fn note(&mut self, committed: Result<(), StoreError>) {
        self.trace(|| format!("committed: {committed:?}"));
        self.is_failing = committed.is_err();
        if committed.is_ok() {
            self.answered = self.groups.len();
        }
    }

    fn retry(&mut self) {
        if self.is_failing {
            let committed = self.committer.as_mut().unwrap().retry();
            self.note(committed);
        }
    }

    fn fail_or_heal(&mut self) {
        let faults = match self.rng.u8(..7) {
            0 => Faults { write: Some(Errno::NOSPC), ..Faults::default() },
            1 => Faults { write: Some(Errno::ROFS), ..Faults::default() },
            2 => Faults { space: Some(self.rng.usize(4_096..200_000)), ..Faults::default() },
            3 | 4 => Faults { sync: true, ..Faults::default() },
            _ => Faults::default(),
        };
        self.trace(|| format!("{faults:?}"));
        self.disk.set_faults(faults);
    }

    /// Schedules a loss of power within the next operations.
    fn die_soon(&mut self) {
        self.trace(|| "dies soon".into());
        let dead_from = Some(self.disk.operation_count() + self.rng.u64(1..40));
        self.disk.set_faults(Faults { dead_from, ..Faults::default() });
    }

    fn lose_power(&mut self) {
        self.trace(|| "the power goes".into());
        // The process writes nothing more.
        self.disk.set_faults(Faults { dead_from: Some(0), ..Faults::default() });
        self.committer = None;
        self.disk.lose_power();
    }

    /// Kills the process. The disk keeps its power, and the page cache stays as the process left it.
    fn kill(&mut self) {
        self.trace(|| "killed".into());
        self.disk.set_faults(Faults { dead_from: Some(0), ..Faults::default() });
        self.committer = None;
        self.fail_or_heal();
    }

    fn close(&mut self) {
        self.trace(|| "closed".into());
        if let Some(mut committer) = self.committer.take() {
            committer.close();
        }
    }
}

fn apply(definitions: &mut Definitions, group: &[Vec<Write>]) {
    for write in group.iter().flatten() {
        let key = (write.kind, write.key.clone());
        match &write.value {
            Some(value) => definitions.insert(key, value.clone()),
            None => definitions.remove(&key),
        };
    }
}
