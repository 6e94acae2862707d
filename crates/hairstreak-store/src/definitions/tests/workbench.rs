//! `Bench`: a store on a simulated disk, and the answers to its batches.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

use hairstreak_testkit::until_eq;

use super::disk::SimulatedDisk;
use crate::definitions::entry::{Entry, Write};
use crate::definitions::error::StoreError;
use crate::definitions::store::{DefinitionStore, Settings};

/// Timeout of every wait in these tests. Only a hang exceeds it.
const LONG: Duration = Duration::from_secs(60);

/// A store with numbered batches, and their answers in order of arrival.
pub struct Bench {
    pub disk: SimulatedDisk,
    pub store: DefinitionStore,
    next: usize,
    sender: Sender<Answer>,
    answers: Receiver<Answer>,
}

/// The batch, its outcome and the name of the thread that called `done`.
pub type Answer = (usize, Result<(), Arc<StoreError>>, Option<String>);

impl Bench {
    pub fn new(settings: Settings) -> Bench {
        Bench::on(SimulatedDisk::new(0), settings).0
    }

    pub fn on(disk: SimulatedDisk, settings: Settings) -> (Bench, Vec<Entry>) {
        let (store, entries) = DefinitionStore::open_on(Box::new(disk.clone()), None, settings).unwrap();
        let (sender, answers) = mpsc::channel();
        (Bench { disk, store, next: 0, sender, answers }, entries)
    }

    /// Submits a batch. Returns its number.
    pub fn submit(&mut self, batch: Vec<Write>) -> usize {
        let (number, sender) = (self.next, self.sender.clone());
        self.next += 1;
        self.store.submit(batch, move |outcome| {
            let thread = thread::current().name().map(str::to_owned);
            sender.send((number, outcome, thread)).unwrap();
        });
        number
    }

    /// Submits a batch and waits for its answer. All answers before it have been taken already.
    pub fn commit(&mut self, batch: Vec<Write>) -> Result<(), Arc<StoreError>> {
        let number = self.submit(batch);
        let (answered, outcome, _) = self.answer();
        assert_eq!(answered, number);
        outcome
    }

    /// Returns the next answer.
    pub fn answer(&self) -> Answer {
        self.answers.recv_timeout(LONG).unwrap()
    }

    /// Returns whether no answer has arrived.
    pub fn is_unanswered(&self) -> bool {
        self.answers.try_recv().is_err()
    }

    /// Waits until the store fails, or has recovered.
    pub fn wait_until_failing(&self, is_failing: bool) {
        until_eq("the store fails", is_failing, || self.store.failing().is_some());
    }

    /// Returns the entries that a new process finds after a loss of power.
    pub fn after_power_loss(self) -> Vec<Entry> {
        let disk = self.disk.clone();
        disk.set_faults(super::disk::Faults { dead_from: Some(0), ..Default::default() });
        drop(self);
        disk.lose_power();
        Bench::on(disk, Settings::default()).1
    }
}
