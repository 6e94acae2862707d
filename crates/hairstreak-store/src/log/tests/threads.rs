//! The log with its threads: appending, confirming, failing, hanging and dying.

use std::collections::HashSet;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::{env, fs, process, thread};

use hairstreak_testkit::{Rng, until, until_at_least, until_eq};

use super::storage::{Faults, SimulatedStorage};
use super::world::LOG;
use crate::directory::DataDirectory;
use crate::log::error::LogError;
use crate::log::index::DroppedQueues;
use crate::log::message_log::{Appended, MessageLog, OpenedLog, Progress};
use crate::log::reader::{Loaded, SealedSegments, Source, load};
use crate::log::record::{Batch, MessageRecord, Record, Run, Runs, Target, Targets};
use crate::log::recovery::recover;
use crate::log::storage::{Directory, StorageBackend};
use crate::log::writer::SegmentSizes;

const SIZES: SegmentSizes = SegmentSizes { first: 32 << 10, last: 128 << 10 };
/// The queue of tests with one queue.
const QUEUE: u64 = 1;
/// Bound of a wait for a call.
const PATIENCE: Duration = Duration::from_secs(100);

/// The body of a message.
fn body(queue: u64, sequence: u64, size: usize) -> Vec<u8> {
    [queue, sequence].iter().flat_map(|number| number.to_le_bytes()).cycle().take(size.max(16)).collect()
}

/// A batch with one message.
fn message(queue: u64, sequence: u64, size: usize) -> Batch {
    let mut batch = Batch::default();
    batch.push(&Record::Message(MessageRecord {
        targets: Targets::List(&[Target { queue, sequence, ttl_ms: None }]),
        is_persistent: true,
        priority: 0,
        time_ms: 0,
        moved: None,
        exchange: b"x",
        routing_key: b"key",
        properties: b"",
        extensions: &[],
        body: &body(queue, sequence, size),
    }));
    batch
}

/// A batch that asks for a sync.
fn synced(mut batch: Batch) -> Batch {
    batch.want_sync();
    batch
}

/// A batch that asks for a write.
fn written(mut batch: Batch) -> Batch {
    batch.want_write();
    batch
}

fn until_written(node: &Node, position: u64) {
    until_at_least("the batch is written", position, || node.last().written);
}

/// An open log, and its progress.
struct Node {
    log: MessageLog,
    progress: Arc<Mutex<Vec<Progress>>>,
}

impl Node {
    fn open(storage: Arc<dyn StorageBackend>) -> Node {
        let progress = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&progress);
        let on_progress = Box::new(move |progress: &Progress| told.lock().unwrap().push(progress.clone()));
        let opened = MessageLog::open_with(storage, LOG, |_| true, on_progress, SIZES).unwrap();
        let OpenedLog { log, damages, missing_count, .. } = opened;
        assert!(!damages.iter().any(|damage| damage.was_synced), "{damages:?}");
        assert_eq!(missing_count, 0);
        Node { log, progress }
    }

    fn append(&self, batch: Batch) -> u64 {
        let Appended { position, has_to_wake } = self.log.append(batch);
        if has_to_wake {
            self.log.wake();
        }
        position
    }

    fn last(&self) -> Progress {
        let none = Progress { written: 0, synced: 0, failing: None, is_short: false, freed_bytes: 0 };
        self.progress.lock().unwrap().last().cloned().unwrap_or(none)
    }

    fn until_synced(&self, position: u64) {
        until_at_least("the batch is synced", position, || self.last().synced);
    }

    fn until_failing(&self) {
        until("the log fails", || self.last().failing.is_some());
    }

    /// Reads a queue by the thread of the log.
    fn load_all(&self, queue: u64) -> Loaded {
        let mut all = Loaded::default();
        loop {
            let (sender, receiver) = mpsc::channel();
            self.log.load(queue, all.next, || (30, 1 << 20), move |part| sender.send(part.unwrap()).unwrap());
            let part = receiver.recv_timeout(PATIENCE).unwrap();
            let is_end = part.next == all.next;
            all.messages.extend(part.messages);
            all.damaged.extend(part.damaged);
            all.next = part.next;
            if is_end {
                return all;
            }
        }
    }
}

/// The leases of the queues with messages, as an open log reports them.
fn leases(storage: &SimulatedStorage) -> Vec<u64> {
    let opened = MessageLog::open_with(Arc::new(storage.clone()), LOG, |_| true, Box::new(|_| {}), SIZES);
    let mut queues = opened.unwrap().queues;
    queues.sort_unstable_by_key(|queue| queue.id);
    queues.iter().map(|queue| queue.leased).collect()
}

#[test]
fn a_start_after_a_kill_marks_messages_with_a_lease_and_a_start_after_an_end_in_order_no_others() {
    let storage = SimulatedStorage::new(0);
    let node = Node::open(Arc::new(storage.clone()));
    for queue in 1..=3 {
        for sequence in 1..=10 {
            node.append(message(queue, sequence, 100));
        }
    }
    let mut batch = Batch::default();
    batch.push(&Record::Leased { queue: 1, through: 4 });
    batch.push(&Record::Leased { queue: 2, through: 64 });
    node.until_synced(node.append(synced(batch)));
    // The copy is a log that was killed.
    let killed = storage.medium_copy();
    assert_eq!(leases(&killed), [4, 10, 0]);
    // The marks stay.
    assert_eq!(leases(&killed), [4, 10, 0]);
    node.log.end_leases(vec![(1, 2), (2, 0), (3, 0), (4, 0)]);
    node.log.close().unwrap();
    assert_eq!(leases(&storage), [2, 0, 0]);
}

/// Checks bodies and order. Returns the sequences.
fn checked(queue: u64, loaded: &Loaded) -> Vec<u64> {
    assert_eq!(loaded.damaged, []);
    let sequences: Vec<u64> = loaded.messages.iter().map(|message| message.sequence).collect();
    assert!(sequences.is_sorted_by(|one, next| one < next), "{sequences:?}");
    for message in &loaded.messages {
        let found = message.message().unwrap().body;
        assert_eq!(found, body(queue, message.sequence, found.len()), "{queue}/{}", message.sequence);
    }
    sequences
}

/// The sequences of a queue in a directory without an open log.
fn stored(storage: &SimulatedStorage, queue: u64) -> Vec<u64> {
    let recovered = recover(Arc::new(storage.clone()), LOG).unwrap();
    let limits = (usize::MAX, usize::MAX);
    checked(
        queue,
        &load(
            Source::new(storage, &LOG, &recovered.state.index),
            &mut SealedSegments::default(),
            (queue, 0),
            limits,
        )
        .unwrap(),
    )
}

/// Threads append to their own queues and to a shared queue. Each thread waits for each of its batches.
fn append_and_read_back(storage: &Arc<dyn StorageBackend>, count: u64) {
    const THREADS: u64 = 6;
    let node = Node::open(Arc::clone(storage));
    let shared_sequence = Mutex::new(0);
    thread::scope(|scope| {
        for queue in QUEUE + 1..=QUEUE + THREADS {
            let (node, shared_sequence) = (&node, &shared_sequence);
            scope.spawn(move || {
                for sequence in 1..=count {
                    node.append(message(queue, sequence, 300 * sequence as usize % 4_000));
                    // The lock of a virtual host gives the order.
                    let mut last = shared_sequence.lock().unwrap();
                    *last += 1;
                    let position = node.append(synced(message(QUEUE, *last, 50)));
                    drop(last);
                    node.until_synced(position);
                }
            });
        }
    });
    node.log.close().unwrap();
    assert_eq!(node.last().synced, 2 * THREADS * count);
    let node = Node::open(Arc::clone(storage));
    assert_eq!(checked(QUEUE, &node.load_all(QUEUE)), (1..=THREADS * count).collect::<Vec<_>>());
    for queue in QUEUE + 1..=QUEUE + THREADS {
        assert_eq!(checked(queue, &node.load_all(queue)), (1..=count).collect::<Vec<_>>());
    }
}

#[test]
fn many_threads_append_and_all_messages_are_read_back() {
    let storage: Arc<dyn StorageBackend> = Arc::new(SimulatedStorage::new(0));
    append_and_read_back(&storage, 60);
}

#[test]
fn many_threads_append_to_a_directory() {
    let path = env::temp_dir().join(format!("hairstreak-log-{}", process::id()));
    let storage: Arc<dyn StorageBackend> = Arc::new(Directory::open(&path).unwrap());
    append_and_read_back(&storage, 20);
    drop(storage);
    fs::remove_dir_all(&path).unwrap();
}

#[test]
fn a_log_whose_files_are_gone_is_no_new_log() {
    let path = env::temp_dir().join(format!("hairstreak-gone-{}", process::id()));
    let directory = DataDirectory::open(&path, "node").unwrap();
    let open = || MessageLog::open_in(&directory, Duration::ZERO, |_| true, Box::new(|_| {}));
    drop(open().unwrap());
    drop(open().unwrap());
    let folder = path.join("messages");
    fs::read_dir(&folder).unwrap().for_each(|entry| fs::remove_file(entry.unwrap().path()).unwrap());
    assert!(matches!(open(), Err(LogError::Missing { .. })));
    fs::remove_dir(&folder).unwrap();
    assert!(matches!(open(), Err(LogError::Missing { .. })));
    fs::remove_dir_all(&path).unwrap();
}

#[test]
fn messages_of_unknown_queues_are_dropped_and_counted_once() {
    let storage = SimulatedStorage::new(0);
    let node = Node::open(Arc::new(storage.clone()));
    for (queue, sequence) in [(1, 1), (1, 2), (2, 1), (2, 2), (2, 3), (3, 1)] {
        node.append(message(queue, sequence, 100));
    }
    let mut batch = Batch::default();
    batch.push(&Record::Dropped { queue: 3, first: 1, last: 1 });
    node.until_synced(node.append(synced(batch)));
    drop(node);
    for dropped in [DroppedQueues { queue_count: 1, message_count: 3 }, DroppedQueues::default()] {
        let is_known = |queue| queue == 1;
        let opened =
            MessageLog::open_with(Arc::new(storage.clone()), LOG, is_known, Box::new(|_| {}), SIZES).unwrap();
        assert_eq!(opened.dropped, dropped);
        assert_eq!(opened.queues.iter().map(|queue| (queue.id, queue.count)).collect::<Vec<_>>(), [(1, 2)]);
    }
}

#[test]
fn a_batch_that_nobody_waits_for_is_written_soon() {
    let storage = SimulatedStorage::new(0);
    let node = Node::open(Arc::new(storage.clone()));
    let syncs = storage.counts().syncs;
    for position in 1..=3 {
        assert_eq!(node.append(message(QUEUE, position, 100)), position);
        until_eq("the batch is written", position, || node.last().written);
    }
    // One without records, too.
    node.append(Batch::default());
    until_eq("the batch is written", 4, || node.last().written);
    assert!(
        node.progress.lock().unwrap().iter().any(|progress| (progress.written, progress.synced) == (1, 0))
    );
    // The first one has created a file. All are synced together, a second later.
    node.until_synced(4);
    let sync_count = storage.counts().syncs - syncs;
    assert!((2..=5).contains(&sync_count), "{sync_count} syncs");
    assert_eq!(stored(&storage.medium_copy(), QUEUE), [1, 2, 3]);
}

#[test]
fn a_batch_that_is_only_to_be_written_waits_for_no_sync() {
    let storage = SimulatedStorage::new(0);
    let node = Node::open(Arc::new(storage.clone()));
    node.until_synced(node.append(synced(message(QUEUE, 1, 50))));
    let held = storage.hold_syncs();
    let position = node.append(written(message(QUEUE, 2, 50)));
    until_written(&node, position);
    drop(held);
    node.until_synced(position);
    // One caller waits for the write, and another one for the sync.
    let mut both = written(message(QUEUE, 3, 50));
    both.want_sync();
    let held = storage.hold_syncs();
    let position = node.append(both);
    until_written(&node, position);
    until("the sync is blocked", || storage.has_blocked_sync());
    assert_eq!(node.last().synced, 2);
    assert_eq!(checked(QUEUE, &node.load_all(QUEUE)), [1, 2, 3]);
    drop(held);
    node.until_synced(position);
    assert_eq!(stored(&storage.medium_copy(), QUEUE), [1, 2, 3]);
}

#[test]
fn a_batch_that_cannot_be_written_is_not_said_to_be_written() {
    let storage = SimulatedStorage::new(0);
    let node = Node::open(Arc::new(storage.clone()));
    node.until_synced(node.append(synced(message(QUEUE, 1, 50))));
    until_written(&node, node.append(written(message(QUEUE, 2, 50))));
    let dead_from = Some(storage.counts().operations + 1);
    storage.set_faults(Faults { dead_from, ..Faults::default() });
    let position = node.append(written(message(QUEUE, 3, 50)));
    node.until_failing();
    assert_eq!(node.last().written, 2);
    storage.set_faults(Faults::default());
    until_written(&node, position);
    // The groups before the failure stand in the fresh file.
    node.until_synced(position);
    assert_eq!(stored(&storage.medium_copy(), QUEUE), [1, 2, 3]);
}

#[test]
fn the_end_of_the_log_confirms_all_batches() {
    let storage = SimulatedStorage::new(0);
    let node = Node::open(Arc::new(storage.clone()));
    (1..=50).for_each(|sequence| {
        node.append(message(QUEUE, sequence, 10_000));
    });
    node.log.close().unwrap();
    assert_eq!((node.last().written, node.last().synced), (50, 50));
    assert_eq!(stored(&storage.medium_copy(), QUEUE).len(), 50);
}

#[test]
fn a_confirmed_batch_is_on_the_medium() {
    let storage = SimulatedStorage::new(0);
    let node = Node::open(Arc::new(storage.clone()));
    let mut rng = Rng::with_seed(3);
    for sequence in 1..=360 {
        let batch = message(QUEUE, sequence, rng.usize(..3_000));
        let batch = if rng.u8(..4) == 0 || sequence % 90 == 0 { synced(batch) } else { batch };
        assert_eq!(node.append(batch), sequence);
        if sequence % 90 == 0 {
            node.until_synced(sequence);
        }
        if sequence % 30 == 0 {
            let confirmed = node.last().synced;
            let there = stored(&storage.medium_copy(), QUEUE).len() as u64;
            assert!(there >= confirmed, "{confirmed} messages are confirmed, and {there} are there");
        }
    }
    let progress = node.progress.lock().unwrap();
    for (one, next) in progress.iter().zip(&progress[1..]) {
        assert!(one.written <= next.written && one.synced <= next.synced && next.synced <= next.written);
    }
}

#[test]
fn batches_that_wait_share_a_sync() {
    let storage = SimulatedStorage::new(0);
    let node = Node::open(Arc::new(storage.clone()));
    node.until_synced(node.append(synced(message(QUEUE, 1, 50))));
    let syncs = storage.counts().syncs;
    let held = storage.hold_syncs();
    node.append(synced(message(QUEUE, 2, 50)));
    until("the sync is blocked", || storage.has_blocked_sync());
    thread::scope(|scope| {
        for queue in QUEUE + 1..=QUEUE + 4 {
            let node = &node;
            scope.spawn(move || {
                (1..=25).for_each(|sequence| {
                    node.append(synced(message(queue, sequence, 50)));
                })
            });
        }
    });
    assert_eq!(node.last().synced, 1);
    drop(held);
    node.until_synced(102);
    assert_eq!(storage.counts().syncs, syncs + 2);
}

#[test]
fn a_sync_that_hangs_is_measured_and_blocks_nobody() {
    let storage = SimulatedStorage::new(0);
    let node = Node::open(Arc::new(storage.clone()));
    node.until_synced(node.append(synced(message(QUEUE, 1, 50))));
    until_eq("no sync", None, || node.log.sync_time());
    let held = storage.hold_syncs();
    let freed_bytes = || node.progress.lock().unwrap().iter().map(|told| told.freed_bytes).sum::<usize>();
    let before = freed_bytes();
    node.append(synced(message(QUEUE, 2, 50)));
    until("the sync is blocked", || storage.has_blocked_sync());
    let batches = (3..=40).map(|sequence| synced(message(QUEUE, sequence, 1_000)));
    let mut bytes = message(QUEUE, 2, 50).size();
    for batch in batches {
        bytes += batch.size();
        node.append(batch);
    }
    assert_eq!(freed_bytes(), before);
    let time = node.log.sync_time().unwrap();
    until("the sync takes longer", || node.log.sync_time().unwrap() >= time + Duration::from_millis(20));
    assert_eq!(node.last().synced, 1);
    // Messages that are written are read meanwhile.
    assert_eq!(checked(QUEUE, &node.load_all(QUEUE)), [1, 2]);
    drop(held);
    node.until_synced(40);
    until_eq("no sync", None, || node.log.sync_time());
    assert_eq!(freed_bytes(), before + bytes);
}

#[test]
fn after_a_failed_sync_nothing_is_confirmed_before_it_stands_in_a_fresh_file() {
    let storage = SimulatedStorage::new(0);
    let node = Node::open(Arc::new(storage.clone()));
    node.until_synced(node.append(synced(message(QUEUE, 1, 50))));
    node.append(message(QUEUE, 2, 50));
    until_eq("the batch is written", 2, || node.last().written);
    storage.set_faults(Faults { sync: true, ..Faults::default() });
    node.append(synced(message(QUEUE, 3, 50)));
    node.until_failing();
    node.append(synced(message(QUEUE, 4, 50)));
    assert_eq!(node.last().synced, 1);
    assert_eq!(stored(&storage.medium_copy(), QUEUE)[0], 1);
    storage.set_faults(Faults::default());
    node.until_synced(4);
    assert!(node.last().failing.is_none());
    // The page cache shows groups in the failed file that are not on the medium.
    assert_eq!(stored(&storage.medium_copy(), QUEUE), [1, 2, 3, 4]);
    let progress = node.progress.lock().unwrap();
    let is_failing = |progress: &&Progress| progress.failing.is_some();
    assert!(progress.iter().filter(is_failing).all(|progress| progress.synced == 1));
}

#[test]
fn a_sync_that_fails_once_is_not_tried_again() {
    let storage = SimulatedStorage::new(0);
    let node = Node::open(Arc::new(storage.clone()));
    node.until_synced(node.append(synced(message(QUEUE, 1, 50))));
    let is_segment = |name: &String| name.ends_with(".segment");
    let file_count = || storage.names().iter().filter(|name| is_segment(name)).count();
    let before = file_count();
    // A write, and its sync.
    let fails_at = Some(storage.counts().operations + 2);
    storage.set_faults(Faults { fails_at, ..Faults::default() });
    node.until_synced(node.append(synced(message(QUEUE, 2, 8_000))));
    assert_eq!(file_count(), before + 1);
    assert_eq!(stored(&storage.medium_copy(), QUEUE), [1, 2]);
}

#[test]
fn a_log_that_fails_at_its_end_confirms_nothing_that_is_lost() {
    for recovers in [false, true] {
        let storage = SimulatedStorage::new(0);
        let node = Node::open(Arc::new(storage.clone()));
        node.until_synced(node.append(synced(message(QUEUE, 1, 50))));
        storage.set_faults(Faults { sync: true, ..Faults::default() });
        node.append(synced(message(QUEUE, 2, 50)));
        node.until_failing();
        (3..=6).for_each(|sequence| {
            node.append(synced(message(QUEUE, sequence, 50)));
        });
        if recovers {
            storage.set_faults(Faults::default());
        }
        node.log.close().unwrap();
        let confirmed = node.last().synced;
        assert_eq!((confirmed, node.last().failing.is_some()), if recovers { (6, false) } else { (1, true) });
        let there = stored(&storage.medium_copy(), QUEUE);
        assert_eq!(there[..confirmed as usize], (1..=confirmed).collect::<Vec<_>>());
    }
}

#[test]
fn a_full_disk_fails_until_there_is_space() {
    let storage = SimulatedStorage::new(0);
    let node = Node::open(Arc::new(storage.clone()));
    let mut sequence = 0;
    let mut append = |node: &Node| {
        sequence += 1;
        node.append(synced(message(QUEUE, sequence, 5_000)))
    };
    // Segments have their full size.
    (0..60).for_each(|_| node.until_synced(append(&node)));
    let space = storage.used_bytes() + SIZES.last as usize / 2;
    storage.set_faults(Faults { space: Some(space), ..Faults::default() });
    while node.last().failing.is_none() {
        let position = append(&node);
        until("the batch is synced or fails", || {
            node.last().synced == position || node.last().failing.is_some()
        });
    }
    (0..5).for_each(|_| {
        append(&node);
    });
    // The attempt leaves nothing behind: one segment and a checkpoint are enough.
    let space = space + SIZES.last as usize * 3 / 4;
    storage.set_faults(Faults { space: Some(space), ..Faults::default() });
    let position = append(&node);
    node.until_synced(position);
    assert!(node.last().failing.is_none());
    drop(node);
    assert_eq!(stored(&storage.medium_copy(), QUEUE), (1..=position).collect::<Vec<_>>());
}

#[test]
fn a_log_opens_on_a_full_disk_and_a_loss_of_power_shows_that_it_was_in_use() {
    let storage = SimulatedStorage::new(0);
    let node = Node::open(Arc::new(storage.clone()));
    let position = node.append(synced(message(QUEUE, 1, 5_000)));
    node.until_synced(position);
    node.log.close().unwrap();
    assert!(recover(Arc::new(storage.medium_copy()), LOG).unwrap().was_closed);
    let space = Some(storage.used_bytes());
    storage.set_faults(Faults { space, ..Faults::default() });
    let node = Node::open(Arc::new(storage.clone()));
    assert_eq!(checked(QUEUE, &node.load_all(QUEUE)), [1]);
    let medium = storage.medium_copy();
    let recovered = recover(Arc::new(medium.clone()), LOG).unwrap();
    assert!(!recovered.was_closed && recovered.damages.is_empty());
    assert_eq!(stored(&medium, QUEUE), [1]);
}

#[test]
fn while_space_is_short_the_log_gives_back_all_that_it_can() {
    const SPACE: usize = 4 << 20;
    let limit = SPACE as u64 / 2;
    let storage = SimulatedStorage::new(0);
    storage.set_faults(Faults { space: Some(SPACE), ..Faults::default() });
    let node = Node::open(Arc::new(storage.clone()));
    let free_bytes = || {
        node.log.look_at_space();
        node.log.free_bytes()
    };
    node.log.set_free_limit(limit);
    let mut count = 0;
    while !node.last().is_short {
        count += 1;
        node.until_synced(node.append(synced(message(QUEUE, count, 5_000))));
    }
    // The file that takes the last free space is noticed at once.
    assert!(storage.used_bytes() as u64 <= SPACE as u64 - limit + 2 * SIZES.last);
    let mut batch = Batch::default();
    let run = Run { queue: QUEUE, first: 2, count: count - 1, body_size: 5_000 };
    batch.push(&Record::Settled(Runs::List(&[run])));
    node.append(batch);
    // One message is left. Only some spare files stay, even if no batch comes.
    until("space is free", || free_bytes() >= SPACE as u64 - 4 * SIZES.last);
    node.until_synced(node.append(synced(message(QUEUE, count + 1, 50))));
    assert!(!node.last().is_short);
    drop(node);
    assert_eq!(stored(&storage.medium_copy(), QUEUE), [1, count + 1]);
}

#[test]
fn a_log_at_rest_gives_dead_segments_back_when_space_becomes_short() {
    const SPACE: usize = 1 << 20;
    let storage = SimulatedStorage::new(0);
    storage.set_faults(Faults { space: Some(SPACE), ..Faults::default() });
    let node = Node::open(Arc::new(storage.clone()));
    let mut count = 0;
    while (storage.used_bytes() as u64) < SIZES.last + SIZES.last / 2 {
        count += 1;
        node.until_synced(node.append(synced(message(QUEUE, count, 5_000))));
    }
    let mut batch = Batch::default();
    batch.push(&Record::Settled(Runs::List(&[Run { queue: QUEUE, first: 1, count, body_size: 5_000 }])));
    node.until_synced(node.append(synced(batch)));
    // Too few segments are dead to be freed at once while there is space.
    assert!(storage.used_bytes() as u64 > SIZES.last);
    node.log.set_free_limit(SPACE as u64);
    until("the files are small", || {
        node.log.look_at_space();
        storage.used_bytes() as u64 <= 2 * SIZES.first
    });
    node.until_synced(node.append(synced(message(QUEUE, count + 1, 50))));
    drop(node);
    assert_eq!(stored(&storage.medium_copy(), QUEUE), [count + 1]);
}

#[test]
fn a_process_that_dies_keeps_all_that_was_confirmed() {
    for round in 0..12 {
        let storage = SimulatedStorage::new(round);
        let node = Node::open(Arc::new(storage.clone()));
        let dead_from = Some(storage.counts().operations + 1 + 7 * round);
        storage.set_faults(Faults { dead_from, ..Faults::default() });
        let confirmed = Mutex::new(HashSet::new());
        thread::scope(|scope| {
            for queue in QUEUE..QUEUE + 3 {
                let (node, confirmed) = (&node, &confirmed);
                scope.spawn(move || {
                    for sequence in 1.. {
                        let position = node.append(synced(message(queue, sequence, 1_000)));
                        let is_over = until("the batch is synced, or the node is dead", || {
                            let Progress { synced, failing, .. } = node.last();
                            (synced >= position || failing.is_some()).then_some(synced < position)
                        });
                        if is_over {
                            break;
                        }
                        confirmed.lock().unwrap().insert((queue, sequence));
                    }
                });
            }
        });
        drop(node);
        if round % 2 == 0 {
            storage.lose_power();
        }
        storage.set_faults(Faults::default());
        let node = Node::open(Arc::new(storage.clone()));
        let mut there = HashSet::new();
        for queue in QUEUE..QUEUE + 3 {
            there.extend(checked(queue, &node.load_all(queue)).into_iter().map(|sequence| (queue, sequence)));
        }
        let confirmed = confirmed.into_inner().unwrap();
        assert!(confirmed.is_subset(&there), "{:?} are lost", confirmed.difference(&there));
    }
}

#[test]
fn the_log_copies_messages_while_it_is_idle_and_serves_batches_first() {
    const COUNT: u64 = 2_000;
    const KEPT: u64 = 20;
    let storage = SimulatedStorage::new(0);
    let node = Node::open(Arc::new(storage.clone()));
    for sequence in 1..=COUNT {
        node.append(message(QUEUE, sequence, 1_000));
    }
    node.until_synced(node.append(synced(Batch::default())));
    // Each 20th message stays. One record settles all others.
    let others = (1..=COUNT).step_by(KEPT as usize).map(|first| Run {
        queue: QUEUE,
        first,
        count: KEPT - 1,
        body_size: 1_000,
    });
    let mut batch = Batch::default();
    batch.push(&Record::Settled(Runs::List(&others.collect::<Vec<_>>())));
    assert!(storage.used_bytes() as u64 > COUNT * 1_000);
    node.append(batch);
    let live = COUNT / KEPT * 1_100;
    until("the files are small", || storage.used_bytes() as u64 <= 2 * live + 6 * SIZES.last);
    node.until_synced(node.append(synced(message(QUEUE, COUNT + 1, 50))));
    let sequences = checked(QUEUE, &node.load_all(QUEUE));
    let kept: Vec<u64> = (1..=COUNT).filter(|sequence| sequence % KEPT == 0).chain([COUNT + 1]).collect();
    assert_eq!(sequences, kept);
    // It rests: there is nothing more to copy.
    let written = storage.counts().written_bytes;
    drop(node);
    assert!(storage.counts().written_bytes < written + (1 << 20));
    assert_eq!(stored(&storage.medium_copy(), QUEUE), kept);
}

#[test]
fn the_next_file_is_made_while_the_log_rests() {
    let storage = SimulatedStorage::new(0);
    let node = Node::open(Arc::new(storage.clone()));
    let files = || storage.names().iter().filter(|name| name.ends_with(".segment")).count();
    let mut sequence = 0;
    let mut append = |size| {
        sequence += 1;
        node.until_synced(node.append(synced(message(QUEUE, sequence, size))));
    };
    append(1_000);
    assert_eq!(files(), 1);
    (0..16).for_each(|_| append(1_000));
    until_eq("the next file is made", 2, files);
    // The stop does not wait for the file of the next segment.
    (0..30).for_each(|_| append(1_000));
    node.log.close().unwrap();
    assert_eq!(stored(&storage.medium_copy(), QUEUE).len(), 47);
}

#[test]
fn a_batch_that_is_too_large_for_a_group_is_cut() {
    const COUNT: u64 = 500;
    let storage = SimulatedStorage::new(0);
    let node = Node::open(Arc::new(storage.clone()));
    let mut large = Batch::default();
    for sequence in 1..=COUNT {
        let one = message(QUEUE, sequence, 10_000);
        large.bytes.extend(one.bytes);
        large.count += 1;
    }
    let size = large.size();
    node.append(message(QUEUE + 1, 1, 50));
    node.append(large);
    node.until_synced(node.append(synced(message(QUEUE + 1, 2, 50))));
    let progress: Vec<u64> = node.progress.lock().unwrap().iter().map(|progress| progress.written).collect();
    assert!(progress.contains(&1) && progress.last() == Some(&3), "{progress:?}");
    let is_cut = |name: &String| !name.ends_with(".segment") || storage.size_of(name) < size * 3 / 4;
    assert!(storage.names().iter().all(is_cut), "the batch is one group");
    drop(node);
    assert!(stored(&storage, QUEUE).into_iter().eq(1..=COUNT));
    assert_eq!(stored(&storage, QUEUE + 1), [1, 2]);
}

#[test]
fn the_end_of_the_log_does_not_wait_for_ever_for_a_sync() {
    let storage = SimulatedStorage::new(0);
    let node = Node::open(Arc::new(storage.clone()));
    node.until_synced(node.append(synced(message(QUEUE, 1, 50))));
    let held = storage.hold_syncs();
    node.append(synced(message(QUEUE, 2, 50)));
    until("the sync is blocked", || storage.has_blocked_sync());
    let error = node.log.close_within(Duration::from_millis(50)).unwrap_err();
    let line = "the disk has not answered a write or a sync of /simulated/00000000.segment for 0 s: ";
    assert!(error.to_string().starts_with(line), "{error}");
    assert_eq!(node.last().synced, 1);
    // The thread may still end.
    drop(held);
    node.until_synced(2);
    node.log.close().unwrap();
}

#[test]
fn a_panic_of_a_thread_is_told() {
    for writes_panic in [true, false] {
        let storage = SimulatedStorage::new(0);
        let node = Node::open(Arc::new(storage.clone()));
        node.until_synced(node.append(synced(message(QUEUE, 1, 50))));
        storage.set_faults(Faults { writes_panic, reads_panic: !writes_panic, ..Faults::default() });
        let thread = if writes_panic {
            node.append(synced(message(QUEUE, 2, 50)));
            "messages"
        } else {
            let (sender, receiver) = mpsc::channel();
            node.log.load(QUEUE, 0, || (30, 1 << 20), move |loaded| sender.send(loaded.is_err()).unwrap());
            assert!(receiver.recv_timeout(PATIENCE).unwrap(), "a reader that panics answers");
            "messages-read"
        };
        node.until_failing();
        let error = node.last().failing.unwrap().to_string();
        assert_eq!(error, format!("the thread {thread} has panicked: restart the node"));
        assert_eq!(node.last().synced, 1);
        node.append(synced(message(QUEUE, 3, 50)));
        node.log.close().unwrap();
        assert_eq!(node.last().failing.unwrap().to_string(), error, "for ever");
    }
}

#[test]
fn a_closed_log_answers_readers() {
    let node = Node::open(Arc::new(SimulatedStorage::new(0)));
    node.until_synced(node.append(synced(message(QUEUE, 1, 50))));
    node.log.close().unwrap();
    let (sender, receiver) = mpsc::channel();
    node.log.load(QUEUE, 0, || (30, 1 << 20), move |loaded| sender.send(loaded).unwrap());
    let error = receiver.recv_timeout(PATIENCE).unwrap().unwrap_err();
    assert_eq!(error.to_string(), "the message log is closed");
}
