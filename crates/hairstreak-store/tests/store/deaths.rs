//! kill -9 of the process in the middle of its batches: what was answered is there, and no batch is half.
//!
//! The process that dies is this test binary, started again to run `the_victim` alone. The page cache survives its death: what a loss of power
//! leaves is the matter of the crate's simulated disks.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use hairstreak_store::{DataDirectory, DefinitionStore, Kind, Write};
use hairstreak_testkit::{BoundedChild, Rng, rng, until};

use crate::place::Place;
use crate::soak::amount;
use crate::{NODE, open};

const PLACE: &str = "HAIRSTREAK_TEST_DIES_IN";
const SEED: &str = "HAIRSTREAK_TEST_SEED";
/// So many batches wait for their answers.
const WINDOW: usize = 50;
/// The key that says how many batches there were.
const COUNT: (Kind, &[u8]) = (Kind::new(0), b"count");

type Definitions = BTreeMap<(Kind, Vec<u8>), Vec<u8>>;

#[test]
fn what_was_answered_survives_kill_9_and_no_batch_is_half() {
    let place = Place::new();
    let (data, answers) = (place.join("data"), place.join("answers"));
    let mut former = Definitions::new();
    let (mut killed_in_the_middle, mut rng) = (0, rng());
    for round in 0..amount(20, 1_000) as u64 {
        fs::write(&answers, "").unwrap();
        let mut victim = start_victim(&place, round);
        wait_a_moment(&answers, &mut rng);
        victim.kill().unwrap();
        victim.end();
        let answered = answer_count(&answers);

        let (_, store, entries) = open(&data).unwrap_or_else(|error| panic!("round {round}: {error}"));
        store.close().unwrap();
        let stored: Definitions =
            entries.into_iter().map(|entry| ((entry.kind, entry.key), entry.value)).collect();
        let count = count_of(&stored).max(count_of(&former));
        assert!(count >= count_of(&former) + answered, "round {round}: {answered} answered, {count} stored");
        let mut batches = Batches::new(round, &former);
        while count_of(&former) < count {
            batches.next().into_iter().for_each(|write| apply(&mut former, write));
        }
        assert!(stored == former, "round {round}: half a batch");
        killed_in_the_middle += usize::from(answered > 0);
    }
    assert!(killed_in_the_middle > 5, "{killed_in_the_middle} processes lived to answer");
}

fn start_victim(place: &Path, seed: u64) -> Child {
    let mut victim = Command::new(std::env::current_exe().unwrap());
    let victim = victim.args(["deaths::the_victim", "--exact"]).env(PLACE, place).env(SEED, seed.to_string());
    victim.stdout(Stdio::null()).spawn().unwrap()
}

/// For as long as the victim lives: some die while they open the store.
fn wait_a_moment(answers: &Path, rng: &mut Rng) {
    if rng.u8(..5) == 0 {
        let longest = Duration::from_micros(rng.u64(..20_000));
        return std::thread::sleep(longest); // tidy: allow(sleeps) the victim dies at any time
    }
    let wanted = rng.usize(1..2_000);
    until(&format!("{wanted} bytes of answers"), || match answer_count(answers) {
        count if count >= wanted => Ok(()),
        count => Err(count),
    });
}

fn answer_count(answers: &Path) -> usize {
    fs::metadata(answers).unwrap().len() as usize
}

fn count_of(definitions: &Definitions) -> usize {
    let count = definitions.get(&(COUNT.0, COUNT.1.to_vec()));
    count.map_or(0, |count| usize::from_le_bytes(count[..].try_into().unwrap()))
}

fn apply(definitions: &mut Definitions, write: Write) {
    match write.value {
        Some(value) => definitions.insert((write.kind, write.key), value),
        None => definitions.remove(&(write.kind, write.key)),
    };
}

/// The batches of a round. Each counts itself.
struct Batches {
    rng: Rng,
    count: usize,
}

impl Batches {
    fn new(seed: u64, former: &Definitions) -> Batches {
        Batches { rng: Rng::with_seed(seed), count: count_of(former) }
    }

    fn next(&mut self) -> Vec<Write> {
        self.count += 1;
        let (rng, count) = (&mut self.rng, self.count.to_le_bytes().to_vec());
        let write = |_| {
            let value = (rng.u8(..3) > 0).then(|| count.repeat(rng.usize(1..100)));
            Write { kind: Kind::new(rng.u8(1..4)), key: rng.u8(..).to_string().into(), value }
        };
        let mut batch: Vec<Write> = (0..5).map(write).collect();
        batch.insert(2, Write { kind: COUNT.0, key: COUNT.1.to_vec(), value: Some(count) });
        batch
    }
}

/// The process that is killed. Run with the others it has nothing to do.
#[test]
fn the_victim() {
    let Ok(place) = std::env::var(PLACE) else { return };
    let seed = std::env::var(SEED).unwrap().parse().unwrap();
    let place = Path::new(&place);
    let directory = DataDirectory::open(&place.join("data"), NODE).unwrap();
    let (store, entries) = DefinitionStore::open(&directory).unwrap();
    let former = entries.into_iter().map(|entry| ((entry.kind, entry.key), entry.value)).collect();
    let mut batches = Batches::new(seed, &former);
    let (sender, answered) = mpsc::channel();
    for number in 0.. {
        let sender = sender.clone();
        let mut answers: File = OpenOptions::new().append(true).open(place.join("answers")).unwrap();
        store.submit(batches.next(), move |outcome| {
            outcome.unwrap();
            // A byte for each answer.
            answers.write_all(b".").unwrap();
            let _ = sender.send(());
        });
        if number >= WINDOW {
            answered.recv().unwrap();
        }
    }
}
