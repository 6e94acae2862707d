//! Tools for a log that no node uses: a check finds each flipped bit and changes nothing, and a salvage copies all sound messages.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use hairstreak_testkit::Rng;

use super::storage::SimulatedStorage;
use super::world::{LOG, SIZES, World, load_all, scramble};
use crate::log::LogId;
use crate::log::check::{self, LogReport, Part};
use crate::log::layout::{BLOCK_SIZE, file_name};
use crate::log::record::{Batch, Record};
use crate::log::recovery::recover;
use crate::log::salvage::{Salvaged, copy_messages};
use crate::log::stored_log::StoredLog;
use crate::log::writer::Writer;

/// Id of a log that a salvage makes.
const NEW: LogId = [9; 16];
const QUEUES: std::ops::Range<u64> = 1..5;

/// A log with some history. Returns the directory, and the bodies of its live messages.
fn world(seed: u64, is_closed: bool) -> SimulatedStorage {
    let mut world = World::new(seed);
    for _ in 0..world.rng.usize(20..120) {
        for _ in 0..world.rng.usize(1..6) {
            world.publish();
        }
        world.settle();
        world.write().unwrap();
        world.compact().unwrap();
    }
    world.sync().unwrap();
    if is_closed {
        world.close().unwrap();
    }
    world.storage.copy()
}

fn open(storage: &SimulatedStorage) -> StoredLog {
    StoredLog::open_on(Arc::new(storage.clone()), LOG).unwrap()
}

/// Checks a directory, and that the check has changed nothing.
fn check(storage: &SimulatedStorage) -> LogReport {
    let before = storage.contents();
    let report = check::check(&open(storage)).unwrap();
    assert_eq!(storage.contents(), before);
    report
}

fn damages(report: &LogReport) -> Vec<(&str, Part)> {
    let damages = report.findings.iter().filter(|finding| finding.part.is_damage());
    damages.map(|finding| (&*finding.file, finding.part)).collect()
}

fn lost_count(report: &LogReport) -> u64 {
    report.findings.iter().flat_map(|finding| finding.lost.values()).sum()
}

/// Messages by queue and sequence.
type Bodies = BTreeMap<(u64, u64), Vec<u8>>;

/// Starts a copy of the log, and returns its messages, the number of damaged ones, and the number of missing ones.
fn start(storage: &SimulatedStorage, log: LogId) -> (Bodies, u64, u64) {
    let storage = storage.copy();
    let recovered = recover(Arc::new(storage.clone()), log).unwrap();
    let (mut bodies, mut damaged) = (Bodies::new(), 0);
    for queue in QUEUES {
        let loaded = load_all(&storage, &log, &recovered.state.index, queue);
        damaged += loaded.damaged.len() as u64;
        for message in loaded.messages {
            bodies.insert((queue, message.sequence), message.message().unwrap().body.to_vec());
        }
    }
    (bodies, damaged, recovered.missing_count)
}

/// Salvages a log. Returns the new directory.
fn salvage(storage: &SimulatedStorage) -> (SimulatedStorage, Salvaged) {
    let (before, new) = (storage.contents(), SimulatedStorage::new(1));
    let salvaged = copy_messages(&open(storage), Arc::new(new.clone()), NEW, |_| true, SIZES).unwrap();
    assert_eq!(storage.contents(), before);
    (new, salvaged)
}

/// Salvages a log, and compares the new log with a start of the old one.
fn assert_salvaged(storage: &SimulatedStorage) -> Salvaged {
    let (new, salvaged) = salvage(storage);
    let (expected, damaged_count, missing_count) = start(storage, LOG);
    let (found, lost_count, _) = start(&new, NEW);
    assert!(found == expected, "{} of {} messages", found.len(), expected.len());
    assert_eq!(lost_count, 0);
    let copied_count = expected.len() as u64;
    assert_eq!(salvaged, Salvaged { copied_count, damaged_count, missing_count, unknown_count: 0 });
    assert_eq!(damages(&check::check(&StoredLog::open_on(Arc::new(new), NEW).unwrap()).unwrap()), []);
    salvaged
}

#[test]
fn a_sound_log_has_no_finding_and_is_copied_whole() {
    for seed in 0..20 {
        let storage = world(seed, seed % 2 == 0);
        let report = check(&storage);
        assert_eq!(report.findings, [], "seed {seed}");
        assert!(!report.was_closed);
        let (expected, ..) = start(&storage, LOG);
        let live_count: u64 = report.queues.iter().map(|queue| queue.count).sum();
        assert_eq!(live_count, expected.len() as u64);
        assert!(report.group_count > 0 && report.record_counts["message"] > 0);
        assert_eq!(assert_salvaged(&storage).damaged_count, 0);
    }
}

#[test]
fn a_log_that_has_lost_its_power_is_sound() {
    for seed in 0..100 {
        let mut world = World::new(seed);
        world.close().unwrap();
        for _ in 0..6 {
            for _ in 0..world.rng.usize(1..30) {
                world.publish();
                world.settle();
                world.write().unwrap();
                world.compact().unwrap();
            }
            world.storage.lose_power();
            // A footer is not synced. A start makes a torn one again.
            let storage = world.storage.copy();
            let mut found = check(&storage);
            found.findings.retain(|finding| finding.part != Part::Footer);
            assert_eq!(damages(&found), [], "seed {seed}");
            assert_salvaged(&storage);
            world.restart(false);
            assert_eq!(damages(&check(&world.storage.copy())), [], "seed {seed}");
        }
    }
}

/// The bytes of a file that have a meaning: all but those between the footer and the trailer.
fn is_used(storage: &SimulatedStorage, name: &str, at: usize) -> bool {
    let log = open(storage);
    if !log.files.segments.iter().any(|segment| file_name(segment.file_number) == name) {
        return name == "checkpoint" || name == "checkpoint.old";
    }
    // The trailer has the place and the size of the footer's last part.
    let trailer = &storage.contents()[name][storage.size_of(name) - BLOCK_SIZE as usize..];
    let start = u64::from_le_bytes(trailer[8..16].try_into().unwrap()) as usize;
    let end = start + u32::from_le_bytes(trailer[16..20].try_into().unwrap()) as usize;
    let size = storage.size_of(name);
    at < end || at >= size - BLOCK_SIZE as usize
}

/// Flips a bit of a log with `expected` messages. Returns the damaged part; `None` if the byte has no meaning.
fn flip(whole: &SimulatedStorage, expected: usize, (name, at, bit): (&str, usize, u8)) -> Option<Part> {
    let storage = whole.copy();
    storage.rot(name, |bytes| bytes[at] ^= bit);
    let report = check(&storage);
    let mut found = damages(&report);
    found.retain(|(_, part)| *part != Part::FreeFile);
    if !is_used(whole, name, at) {
        assert_eq!(found, [], "{name} at {at}, bit {bit}");
        return None;
    }
    assert_eq!(found.len(), 1, "{name} at {at}, bit {bit}: {report:?}");
    let finding = &report.findings[0];
    assert_eq!(finding.file, name);
    let place = finding.offset..finding.offset + finding.size;
    assert!(place.contains(&(at as u64)), "{at} is not in {finding:?}");
    // The start of a node agrees.
    let salvaged = assert_salvaged(&storage);
    if finding.part != Part::Checkpoint {
        assert_eq!(lost_count(&report), salvaged.damaged_count);
        assert_eq!(expected as u64, salvaged.copied_count + salvaged.damaged_count);
        assert!(salvaged.damaged_count <= QUEUES.end - QUEUES.start, "a record in {QUEUES:?}");
    }
    Some(finding.part)
}

#[test]
fn each_byte_of_a_log_is_checked() {
    let mut world = World::new(9);
    for _ in 0..2 {
        (0..4).for_each(|_| world.publish());
        world.settle();
        world.write().unwrap();
    }
    world.close().unwrap();
    let whole = world.storage.copy();
    let expected = start(&whole, LOG).0.len();
    assert!(expected > 3);
    let mut used_count = 0;
    for name in whole.names() {
        for at in 0..whole.size_of(&name) {
            let bit = 1 << (at % 8);
            let is_zero_tail = !is_used(&whole, &name, at) && at % 64 != 0;
            // Bytes without a meaning are many: a part of them is enough.
            used_count += usize::from(!is_zero_tail && flip(&whole, expected, (&name, at, bit)).is_some());
        }
    }
    assert!(used_count > 2_000, "{used_count} bytes have a meaning");
}

#[test]
fn each_flipped_bit_is_found_and_costs_a_record_at_most() {
    let mut rng = Rng::with_seed(1);
    let (mut part_counts, mut unused_count) = (BTreeMap::new(), 0);
    for seed in 0..8 {
        let whole = world(seed, true);
        let (expected, ..) = start(&whole, LOG);
        let names = whole.names();
        for _ in 0..100 {
            let name = &names[rng.usize(..names.len())];
            // A third of the places are in the headers and in the trailer.
            let size = whole.size_of(name);
            let at = match rng.u8(..6) {
                0 => rng.usize(..size.min(1_100)),
                1 => size.saturating_sub(512) + rng.usize(..size.min(40)),
                _ => rng.usize(..size),
            };
            let place = (&**name, at, 1 << rng.u8(..8));
            match flip(&whole, expected.len(), place) {
                Some(part) => *part_counts.entry(format!("{part:?}")).or_insert(0) += 1,
                None => unused_count += 1,
            }
        }
    }
    println!("{part_counts:?}, {unused_count} without a meaning");
    for part in
        ["Checkpoint", "FormerCheckpoint", "SegmentHeader", "GroupHeader", "Records", "Footer", "Zeros"]
    {
        assert!(part_counts.contains_key(part), "{part}: {part_counts:?}");
    }
}

#[test]
fn missing_shortened_and_emptied_files_are_named_with_their_messages() {
    let whole = world(3, true);
    let (expected, ..) = start(&whole, LOG);
    let log = open(&whole);
    let segments: Vec<(u64, String)> =
        log.files.segments.iter().map(|segment| (segment.number, file_name(segment.file_number))).collect();
    assert!(segments.len() > 2);
    for (number, name) in &segments {
        let live: Vec<(u64, u64)> = log
            .index()
            .live_in(*number)
            .into_iter()
            .flat_map(|(queue, sequences)| sequences.into_iter().map(move |sequence| (queue, sequence)))
            .collect();
        let storage = whole.copy();
        storage.lose_file(name);
        let report = check(&storage);
        assert_eq!(damages(&report), [(&**name, Part::MissingFile)]);
        assert_eq!(lost_count(&report), live.len() as u64);
        let salvaged = assert_salvaged(&storage);
        assert_eq!((salvaged.missing_count, salvaged.damaged_count), (live.len() as u64, 0));

        let storage = whole.copy();
        storage.rot(name, |bytes| bytes[..1_024].fill(0x55));
        let report = check(&storage);
        assert_eq!(damages(&report), [(&**name, Part::SegmentHeader); 2]);
        assert_eq!(assert_salvaged(&storage).damaged_count, 0);

        for size in [0, 100, 700, 1_500, whole.size_of(name) / 2, whole.size_of(name) - 1] {
            let storage = whole.copy();
            storage.rot(name, |bytes| bytes.truncate(size));
            let report = check(&storage);
            assert!(damages(&report).contains(&(name, Part::MissingEnd)), "{size}: {report:?}");
            let salvaged = assert_salvaged(&storage);
            assert_eq!(lost_count(&report), salvaged.damaged_count);
            assert_eq!(salvaged.copied_count + salvaged.damaged_count, expected.len() as u64);
        }
    }
    for (names, expected) in [
        (&["checkpoint"][..], &[][..]),
        (&["checkpoint", "checkpoint.old"], &[("checkpoint", Part::Checkpoint)]),
    ] {
        let storage = whole.copy();
        names.iter().for_each(|name| storage.lose_file(name));
        let found = check(&storage);
        let found = damages(&found);
        assert!(expected.iter().all(|expected| found.contains(expected)), "{found:?}");
        assert_salvaged(&storage);
    }
    let storage = whole.copy();
    storage.rot("checkpoint", Vec::clear);
    assert!(damages(&check(&storage)).contains(&("checkpoint", Part::Checkpoint)));
}

#[test]
fn any_bytes_are_checked_and_salvaged_without_a_panic() {
    let whole = world(5, false);
    let mut rng = Rng::with_seed(2);
    for _ in 0..100 {
        let storage = whole.copy();
        for name in storage.names() {
            storage.rot(&name, |bytes| scramble(bytes, &mut rng));
        }
        check(&storage);
        assert_salvaged(&storage);
        let visited = open(&storage).visit(|_, _| ControlFlow::<()>::Continue(())).unwrap();
        assert!(visited.is_continue());
    }
}

#[test]
fn a_salvage_keeps_returns_and_leaves_out_what_is_not_known() {
    let mut world = World::new(1);
    (0..200).for_each(|_| world.publish());
    world.close().unwrap();
    let storage = world.storage.copy();
    let recovered = recover(Arc::new(storage.clone()), LOG).unwrap();
    let (epoch, index) = (recovered.state.epoch, Arc::clone(&recovered.state.index));
    let queues = index.lock().unwrap().recovered();
    let mut writer = Writer::new(Arc::new(storage.clone()), recovered.state, SIZES);
    let mut batch = Batch::default();
    for queue in &queues {
        batch.push(&Record::Returned { queue: queue.id, sequence: queue.first_sequence, count: queue.id });
        batch.push(&Record::Leased { queue: queue.id, through: queue.first_sequence });
    }
    writer.write(vec![batch]).unwrap();
    writer.finish(&[]).unwrap();
    assert!(check(&storage).was_closed);
    let new = SimulatedStorage::new(1);
    let known = |queue| queue != 2;
    let salvaged = copy_messages(&open(&storage), Arc::new(new.clone()), NEW, known, SIZES).unwrap();
    let unknown = queues.iter().find(|queue| queue.id == 2).unwrap();
    assert_eq!((salvaged.unknown_count, salvaged.damaged_count), (unknown.count, 0));
    let recovered = recover(Arc::new(new), NEW).unwrap();
    assert!(recovered.was_closed && recovered.state.epoch > epoch);
    let found = recovered.state.index.lock().unwrap().recovered();
    assert_eq!(found.len() + 1, queues.len());
    for queue in found {
        let before = queues.iter().find(|before| before.id == queue.id).unwrap();
        assert_eq!(queue.returns, [(before.first_sequence, before.id)]);
        assert_eq!((queue.leased, queue.count), (before.first_sequence, before.count));
    }
}

#[test]
fn records_are_visited_in_their_order_until_the_visitor_stops() {
    let storage = world(2, true);
    let log = open(&storage);
    let mut places = Vec::new();
    let mut count = 0_u64;
    let visited = log.visit(|place, record| {
        places.push((place.segment, place.offset));
        count += u64::from(record.kind_name() == "message");
        ControlFlow::<()>::Continue(())
    });
    assert!(visited.unwrap().is_continue());
    assert!(places.is_sorted());
    assert_eq!(check::check(&log).unwrap().record_counts["message"], count);
    let mut left = 5;
    let stopped = log.visit(|_, _| {
        left -= 1;
        if left == 0 { ControlFlow::Break("stop") } else { ControlFlow::Continue(()) }
    });
    assert_eq!((stopped.unwrap(), left), (ControlFlow::Break("stop"), 0));
}

#[test]
fn a_log_of_another_version_or_node_is_refused_unchanged() {
    let storage = world(1, true);
    let name = storage.names().into_iter().find(|name| name.ends_with(".segment")).unwrap();
    let refusal = |log: LogId| {
        let before = storage.contents();
        let said = StoredLog::open_on(Arc::new(storage.clone()), log).unwrap_err().to_string();
        assert_eq!(storage.contents(), before);
        said
    };
    assert!(refusal(NEW).ends_with("belongs to another message log: move it away"));
    storage.rot(&name, |bytes| {
        bytes[4] = 9;
        let sum = crc32c::crc32c(&bytes[..48]);
        bytes[48..52].copy_from_slice(&sum.to_le_bytes());
    });
    assert!(refusal(LOG).contains("has format 9 of the message log, and this program knows format 1"));
}
