//! Damaged files: a flipped bit costs its record, and nothing is read for what it is not.

use std::io::IoSlice;
use std::sync::Arc;

use hairstreak_testkit::Rng;

use super::storage::SimulatedStorage;
use super::world::{LOG, SIZES, World, scramble};
use crate::log::layout::file_number;
use crate::log::message_log::MessageLog;
use crate::log::reader::{SealedSegments, Source, load};
use crate::log::record::{Batch, MessageRecord, Record, Run, Runs, Target, Targets};
use crate::log::recovery::recover;
use crate::log::storage::StorageBackend;
use crate::log::writer::Writer;

const COUNT: u64 = 300;
const QUEUES: u64 = 3;
/// Bytes that the system reads and writes at once.
const PAGE: usize = 4_096;

/// The body of a message.
fn body(sequence: u64) -> Vec<u8> {
    sequence.to_le_bytes().repeat(1 + sequence as usize % 40)
}

/// A batch with a message of queue 0.
fn message(sequence: u64, body: &[u8]) -> Batch {
    let targets = [Target { queue: 0, sequence, ttl_ms: None }];
    let mut batch = Batch::default();
    batch.push(&Record::Message(MessageRecord {
        targets: Targets::List(&targets),
        is_persistent: true,
        priority: 0,
        time_ms: 0,
        moved: None,
        exchange: b"",
        routing_key: b"",
        properties: b"",
        extensions: &[],
        body,
    }));
    batch
}

/// A closed log with `COUNT` messages in each queue.
fn log() -> SimulatedStorage {
    let storage = SimulatedStorage::new(0);
    let recovered = recover(Arc::new(storage.clone()), LOG).unwrap();
    let mut writer = Writer::new(Arc::new(storage.clone()), recovered.state, SIZES);
    for sequence in 1..=COUNT {
        let targets = [0, 1, 2].map(|queue| Target { queue, sequence, ttl_ms: Some(1_000) });
        let mut batch = Batch::default();
        batch.push(&Record::Message(MessageRecord {
            targets: Targets::List(&targets),
            is_persistent: true,
            priority: 3,
            time_ms: 5,
            moved: None,
            exchange: b"x",
            routing_key: b"key",
            properties: b"p",
            extensions: &[],
            body: &body(sequence),
        }));
        writer.write(vec![batch]).unwrap();
        writer.sync().unwrap();
    }
    writer.close().unwrap();
    storage
}

/// Reads all queues. Returns the number of messages that are missing, at most `lost_max` in each queue, and of damages.
fn check(storage: &SimulatedStorage, lost_max: usize) -> (usize, usize) {
    let recovered = recover(Arc::new(storage.clone()), LOG).unwrap();
    let mut lost_count = 0;
    for queue in 0..QUEUES {
        let loaded = load(
            Source::new(storage, &LOG, &recovered.state.index),
            &mut SealedSegments::default(),
            (queue, 0),
            (usize::MAX, usize::MAX),
        )
        .unwrap();
        for message in &loaded.messages {
            assert_eq!(message.ttl_ms, Some(1_000));
            assert_eq!(message.message().unwrap().body, body(message.sequence), "never a wrong body");
        }
        let lost = COUNT as usize - loaded.messages.len();
        assert!(lost <= lost_max, "queue {queue} has lost {lost} messages, {:?}", loaded.damaged);
        lost_count += lost;
    }
    (lost_count, recovered.damages.iter().filter(|damage| damage.was_synced).count())
}

#[test]
fn a_flipped_bit_costs_its_record_and_is_reported() {
    let whole = log();
    assert_eq!(check(&whole, 0), (0, 0));
    let names: Vec<String> = whole.names().into_iter().filter(|name| file_number(name).is_some()).collect();
    assert!(names.len() > 3);
    let mut rng = Rng::with_seed(1);
    for round in 0..400 {
        let storage = whole.copy();
        let name = &names[rng.usize(..names.len())];
        // Without a checkpoint all groups are read, and with one only those of the messages.
        let has_checkpoint = round % 2 == 0;
        if !has_checkpoint {
            storage.lose_file("checkpoint");
            storage.lose_file("checkpoint.old");
        }
        storage.rot(name, |bytes| {
            let bit = rng.usize(..bytes.len() * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
        });
        let (lost_count, _) = check(&storage, 1);
        assert!(lost_count == 0 || lost_count == QUEUES as usize);
        // Once more: the footers that were made again are right.
        assert_eq!(check(&storage, 1).0, lost_count);
    }
}

#[test]
fn a_damaged_group_in_front_of_sound_ones_is_damage_and_the_end_of_the_log_is_not() {
    let whole = log();
    let mut names: Vec<String> =
        whole.names().into_iter().filter(|name| file_number(name).is_some()).collect();
    names.sort();
    for (name, expected_count) in [(&names[0], 1), (&names[names.len() - 1], 0)] {
        let storage = whole.copy();
        storage.lose_file("checkpoint");
        storage.lose_file("checkpoint.old");
        // A byte of the first body in the segment; in the last segment no later group says that it was synced.
        storage.rot(name, |bytes| {
            if expected_count == 0 {
                let last = bytes.windows(4).rposition(|bytes| bytes == b"HGrp").unwrap();
                bytes[last + 80] ^= 1;
            } else {
                bytes[1_024 + 80] ^= 1;
            }
        });
        assert_eq!(check(&storage, 1), (QUEUES as usize, expected_count));
    }
}

#[test]
fn a_lost_acknowledgement_costs_a_redelivery() {
    let storage = SimulatedStorage::new(0);
    let recovered = recover(Arc::new(storage.clone()), LOG).unwrap();
    let mut writer = Writer::new(Arc::new(storage.clone()), recovered.state, SIZES);
    let mut settled = Batch::default();
    settled.push(&Record::Settled(Runs::List(&[Run { queue: 0, first: 2, count: 1, body_size: 0 }])));
    let message = |sequence| message(sequence, &body(sequence));
    for batch in [message(1), message(2), settled, message(3)] {
        writer.write(vec![batch]).unwrap();
        writer.sync().unwrap();
    }
    let sequences = |storage: &SimulatedStorage| {
        let recovered = recover(Arc::new(storage.clone()), LOG).unwrap();
        let loaded = load(
            Source::new(storage, &LOG, &recovered.state.index),
            &mut SealedSegments::default(),
            (0, 0),
            (usize::MAX, usize::MAX),
        )
        .unwrap();
        assert_eq!(loaded.damaged, []);
        let sequences: Vec<u64> = loaded.messages.iter().map(|message| message.sequence).collect();
        (sequences, recovered.damages)
    };
    assert_eq!(sequences(&storage.copy()).0, [1, 3]);
    let contents = storage.contents();
    let name = contents.keys().find(|name| file_number(name).is_some()).unwrap();
    let groups: Vec<usize> = (0..contents[name].len())
        .step_by(512)
        .filter(|at| contents[name][*at..].starts_with(b"HGrp"))
        .collect();
    let storage = storage.copy();
    // A byte behind the header of the third group.
    storage.rot(name, |bytes| bytes[groups[2] + 64] ^= 1);
    let (found, damages) = sequences(&storage);
    assert_eq!(found, [1, 2, 3]);
    assert!(
        damages.iter().all(|damage| damage.was_synced && damage.offset == groups[2] as u64),
        "{damages:?}"
    );
    assert_eq!(damages.len(), 1);
}

#[test]
fn a_lost_file_is_told() {
    let storage = log();
    storage.lose_file("00000001.segment");
    let recovered = recover(Arc::new(storage.clone()), LOG).unwrap();
    assert!(recovered.missing_count > 0);
    // The rest is there.
    assert!(check(&storage, COUNT as usize).0 < (COUNT * QUEUES) as usize);
}

/// Sets the headers of a segment and of its groups to zeros.
fn tear(storage: &SimulatedStorage, name: &str) {
    storage.rot(name, |bytes| {
        for (place, block) in bytes.chunks_mut(512).enumerate() {
            if place < 2 || block.starts_with(b"HGrp") {
                block.fill(0);
            }
        }
    });
}

/// Starts a log. Returns the number of damages, and whether the file is there, is set aside, or is gone.
fn start(storage: &SimulatedStorage, name: &str) -> (usize, &'static str, bool) {
    let recovered = recover(Arc::new(storage.clone()), LOG).unwrap();
    let names = storage.names();
    let has = |name: &str| names.iter().any(|other| other == name);
    let state = match (has(name), has(&format!("{name}.damaged"))) {
        (false, false) => "gone",
        (false, true) => "set aside",
        _ => "there",
    };
    (recovered.damages.len(), state, recovered.are_leases_lost)
}

#[test]
fn the_torn_beginning_of_a_segment_is_no_damage_and_a_lost_segment_is() {
    let storage = SimulatedStorage::new(0);
    let open = || {
        let opened = MessageLog::open_with(Arc::new(storage.clone()), LOG, |_| true, Box::new(|_| {}), SIZES);
        drop(opened.unwrap());
    };
    open();
    let recovered = recover(Arc::new(storage.clone()), LOG).unwrap();
    let checkpoint = storage.contents()["checkpoint"].clone();
    let mut writer = Writer::new(Arc::new(storage.clone()), recovered.state, SIZES);
    let mut first_files = Vec::new();
    let mut sequence = 0;
    while first_files.len() < 3 {
        sequence += 1;
        writer.write(vec![message(sequence, &[7; 2_000])]).unwrap();
        writer.sync().unwrap();
        first_files = storage.names().into_iter().filter(|name| file_number(name).is_some()).collect();
    }
    first_files.sort();
    // As after a kill: the last checkpoint is that of the start.
    storage.rot("checkpoint", |bytes| bytes.clone_from(&checkpoint));
    storage.lose_file("checkpoint.old");
    let last = first_files.last().unwrap();
    assert_eq!(start(&storage.copy(), last), (0, "there", false));

    let torn = storage.copy();
    tear(&torn, last);
    assert_eq!(start(&torn.copy(), last), (0, "gone", false));
    // The file was damaged later, or cannot be read.
    let rotten = torn.copy();
    rotten.rot(last, |bytes| bytes[3] = 1);
    assert_eq!(start(&rotten, last), (1, "set aside", true));
    let unreadable = torn.copy();
    unreadable.break_sector(last, 512);
    assert_eq!(start(&unreadable, last), (1, "set aside", true));
    // The next segment says that the groups were synced.
    let lost = storage.copy();
    tear(&lost, &first_files[1]);
    assert_eq!(start(&lost, &first_files[1]), (1, "set aside", true));
    // Without a checkpoint, the number of the segment is not known.
    torn.lose_file("checkpoint");
    assert_eq!(start(&torn, last), (1, "set aside", true));
}

#[test]
fn any_bytes_are_scanned_without_a_panic() {
    let mut world = World::new(5);
    for _ in 0..50 {
        world.publish();
        world.settle();
        world.write().unwrap();
    }
    world.sync().unwrap();
    let storage = world.storage.copy();
    let mut rng = Rng::with_seed(2);
    for _ in 0..100 {
        let storage = storage.copy();
        for name in storage.names() {
            storage.rot(&name, |bytes| scramble(bytes, &mut rng));
        }
        let recovered = recover(Arc::new(storage.clone()), LOG).unwrap();
        for queue in 0..6 {
            let _ = load(
                Source::new(&storage, &LOG, &recovered.state.index),
                &mut SealedSegments::default(),
                (queue, 0),
                (usize::MAX, usize::MAX),
            );
        }
    }
}

/// Checks that a log without its checkpoints loses the records of a damaged page only, wherever the page is.
fn check_pages(damage: impl Fn(&SimulatedStorage, &str, usize)) {
    let whole = log();
    let names: Vec<String> = whole.names().into_iter().filter(|name| file_number(name).is_some()).collect();
    for name in &names {
        for page in (0..whole.size_of(name)).step_by(PAGE) {
            let storage = whole.copy();
            storage.lose_file("checkpoint");
            storage.lose_file("checkpoint.old");
            damage(&storage, name, page);
            // Each message has a group, and each group a sector.
            check(&storage, PAGE / 512 + 1);
        }
    }
}

#[test]
fn a_lost_page_costs_its_records_even_with_all_headers_in_it() {
    check_pages(|storage, name, page| {
        storage.rot(name, |bytes| bytes[page..].iter_mut().take(PAGE).for_each(|byte| *byte = 0x55));
    });
}

#[test]
fn a_page_that_cannot_be_read_costs_its_records() {
    check_pages(|storage, name, page| {
        (page..page + PAGE).step_by(512).for_each(|sector| storage.break_sector(name, sector));
    });
}

#[test]
fn all_messages_count_as_delivered_where_leases_may_be_lost() {
    let storage = log();
    let leases = |storage: &SimulatedStorage| {
        let opened = MessageLog::open_with(Arc::new(storage.clone()), LOG, |_| true, Box::new(|_| {}), SIZES);
        let queues = opened.unwrap().queues;
        queues.iter().map(|queue| queue.leased).collect::<Vec<_>>()
    };
    assert_eq!(leases(&storage.copy()), [0; QUEUES as usize]);
    let damaged = storage.copy();
    let checkpoint = damaged.open("checkpoint").unwrap();
    checkpoint.write_at(&[IoSlice::new(&[0; 16])], 40).unwrap();
    checkpoint.sync().unwrap();
    assert_eq!(leases(&damaged), [COUNT; QUEUES as usize]);
    // The damage is gone, and the marks stay.
    assert_eq!(leases(&damaged), [COUNT; QUEUES as usize]);
}
