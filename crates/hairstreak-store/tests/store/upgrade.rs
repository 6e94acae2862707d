//! The upgrade of a data directory of version 1. A process that dies at any step leaves a directory that the next start upgrades.

use std::fs;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use hairstreak_store::DataDirectory;
use hairstreak_store::log::{Batch, MessageLog, OpenedLog, Record};

use crate::place::Place;
use crate::{LONG, commit, entry, open, write};

const QUEUE: u64 = 7;

/// Opens the log of a directory. The receiver gets the positions up to which the log is synced.
fn open_log(directory: &DataDirectory) -> (OpenedLog, mpsc::Receiver<u64>) {
    let (sender, synced) = mpsc::channel();
    let on_progress = Box::new(move |progress: &hairstreak_store::log::Progress| {
        let _ = sender.send(progress.synced);
    });
    (MessageLog::open_in(directory, Duration::ZERO, |_| true, on_progress).unwrap(), synced)
}

/// Writes a record to the log of a directory, and waits for its sync.
fn append(directory: &DataDirectory) {
    let (opened, synced) = open_log(directory);
    let mut batch = Batch::default();
    batch.want_sync();
    batch.push(&Record::Leased { queue: QUEUE, through: 9 });
    let appended = opened.log.append(batch);
    opened.log.wake();
    while synced.recv_timeout(LONG).unwrap() < appended.position {}
}

/// An upgraded directory: the file `node` as it was, with its definitions, and with its messages, and a file of the log.
struct Upgraded {
    old: String,
    middle: String,
    new: String,
    checkpoint: Vec<u8>,
}

/// Makes the directory of an old program, with a definition, and reads what its upgrade gives.
fn make(place: &Path) -> Upgraded {
    let node = place.join("node");
    let (directory, store, _) = open(place).unwrap();
    commit(&store, vec![write("a", Some("1"))]).unwrap();
    let middle = fs::read_to_string(&node).unwrap();
    drop(open_log(&directory));
    drop((directory, store));
    let new = fs::read_to_string(&node).unwrap();
    let checkpoint = fs::read(place.join("messages/checkpoint")).unwrap();
    fs::remove_dir_all(place.join("messages")).unwrap();
    let old = middle.replace("version 2", "version 1").replace("holds definitions\n", "");
    fs::write(&node, &old).unwrap();
    Upgraded { old, middle, new, checkpoint }
}

#[test]
fn an_old_directory_upgrades_after_a_death_at_any_step() {
    const STEPS: usize = 10;
    for step in 0..STEPS {
        let place = Place::new();
        let Upgraded { old, middle, new, checkpoint } = make(&place);
        assert!(old.contains("version 1") && new.contains("holds messages\n") && middle.len() < new.len());
        let put = |name: &str, bytes: &[u8]| fs::write(place.join(name), bytes).unwrap();
        // The files that each step of an upgrade leaves. A step changes the files of the step before.
        let steps: [&dyn Fn(); STEPS - 1] = [
            &|| put("node.new", &middle.as_bytes()[..middle.len() / 2]),
            &|| put("node.new", middle.as_bytes()),
            &|| fs::rename(place.join("node.new"), place.join("node")).unwrap(),
            &|| fs::create_dir(place.join("messages")).unwrap(),
            &|| put("messages/checkpoint.new", &checkpoint[..checkpoint.len() / 2]),
            &|| {
                fs::remove_file(place.join("messages/checkpoint.new")).unwrap();
                put("messages/checkpoint", &checkpoint);
            },
            &|| put("node.new", &new.as_bytes()[..new.len() - 3]),
            &|| {
                fs::remove_file(place.join("node.new")).unwrap();
                put("node", new.as_bytes());
            },
            &|| put("messages/00000001.segment", &[0; 5_000]),
        ];
        steps[..step].iter().for_each(|act| act());

        let (directory, store, entries) = open(&place).unwrap();
        assert_eq!(entries, [entry("a", "1")], "step {step}");
        append(&directory);
        assert_eq!(fs::read_to_string(place.join("node")).unwrap(), new, "step {step}");
        let queues = open_log(&directory).0.queues;
        // The lease ended with the log.
        assert_eq!(queues.iter().map(|queue| (queue.id, queue.leased)).collect::<Vec<_>>(), [(QUEUE, 0)]);
        drop((directory, store));
    }
}
