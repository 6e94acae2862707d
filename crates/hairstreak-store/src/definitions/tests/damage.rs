//! Tests with damaged files. The damage is found before any write, reported with the file's name, and left unchanged;
//! or it is harmless. Nothing panics.

use fastrand::Rng;
use hairstreak_testkit::Seeds;

use super::disk::SimulatedDisk;
use crate::definitions::committer::Committer;
use crate::definitions::entry::{Entry, Kind, Write};
use crate::definitions::error::StoreError;

const SEEDS: Seeds = Seeds { target: "-p hairstreak-store --lib", soak_factor: 500 };
/// Size of redb's header, which is not a page of a tree.
const HEADER_SIZE: usize = 320;
/// The header's byte with the bit that selects the last of two commits.
const LAST_COMMIT_BYTE: usize = 9;
const LAST_COMMIT_BIT: u8 = 1;

/// A file and its entries.
struct Sample {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    /// The entries before the last commit.
    former: Vec<Entry>,
}

/// Returns a file with some thousand entries of three kinds after several commits. The process was killed, or closed
/// the file.
fn sample(is_closed: bool) -> Sample {
    let disk = SimulatedDisk::new(1);
    let mut rng = Rng::with_seed(2);
    let (mut committer, _) = Committer::open(Box::new(disk.clone())).unwrap();
    for _ in 0..20 {
        let write = |_| {
            let value = (rng.u8(..4) > 0).then(|| vec![rng.u8(..); rng.usize(..200)]);
            Write { kind: Kind::new(rng.u8(..3)), key: rng.u16(..1_000).to_be_bytes().to_vec(), value }
        };
        committer.commit(vec![(0..60).map(write).collect()]).unwrap();
    }
    let former = stored(&disk);
    committer.commit(vec![vec![super::write("last", Some("commit"))]]).unwrap();
    if is_closed {
        committer.close();
    }
    // A killed process writes nothing more: its disk stays as the committer left it.
    let bytes = disk.bytes();
    Sample { entries: stored(&disk), bytes, former }
}

fn stored(disk: &SimulatedDisk) -> Vec<Entry> {
    Committer::open(Box::new(SimulatedDisk::with_file(disk.bytes()))).unwrap().1
}

/// Opens a file with these bytes.
fn open(bytes: Vec<u8>) -> Result<Vec<Entry>, StoreError> {
    let disk = SimulatedDisk::with_file(bytes.clone());
    let opened = Committer::open(Box::new(disk.clone()));
    if let Err(error) = &opened {
        let said = error.to_string();
        assert!(matches!(error, StoreError::Damaged { .. } | StoreError::Version { .. }), "{said}");
        assert!(said.starts_with("/simulated/definitions.redb ") && said.contains("left as it is"), "{said}");
        assert!(!said.contains("panicked"), "{said}");
        assert!(disk.bytes() == bytes, "the damaged file was changed");
    }
    opened.map(|(_, entries)| entries)
}

#[test]
fn a_file_that_is_no_database_is_refused() {
    for bytes in [Vec::new(), vec![0; 100_000], b"redb".to_vec(), b"hairstreak\n".repeat(10_000)] {
        assert!(open(bytes).is_err());
    }
}

#[test]
fn a_shortened_or_lengthened_file_is_refused_or_intact() {
    let Sample { bytes, entries, .. } = sample(false);
    let sizes = (0..HEADER_SIZE).chain((0..bytes.len()).step_by(509)).chain((0..bytes.len()).step_by(4096));
    for size in sizes {
        if let Ok(read) = open(bytes[..size].to_vec()) {
            assert_eq!(read, entries, "{size}");
        }
    }
    for more in [1, 100, 4096, 100_000] {
        let longer = [&*bytes, &vec![7; more]].concat();
        if let Ok(read) = open(longer) {
            assert_eq!(read, entries, "{more}");
        }
    }
}

#[test]
fn every_bit_of_the_header_may_flip() {
    for is_closed in [true, false] {
        let Sample { bytes, entries, former } = sample(is_closed);
        for (place, bit) in (0..HEADER_SIZE).flat_map(|place| (0..8).map(move |bit| (place, 1 << bit))) {
            let mut damaged = bytes.clone();
            damaged[place] ^= bit;
            match open(damaged) {
                // A crash between the two syncs of a commit leaves the same bytes: docs/format.md.
                Ok(read) if (place, bit) == (LAST_COMMIT_BYTE, LAST_COMMIT_BIT) && !is_closed => {
                    assert_eq!(read, former);
                }
                Ok(read) => assert!(read == entries, "closed {is_closed}: byte {place}, bit {bit}"),
                Err(_) => {}
            }
        }
    }
}

#[test]
fn damaged_bytes_anywhere_are_found_or_harmless() {
    let samples = [sample(true), sample(false)];
    SEEDS.check("damaged_bytes", 300, |seed, _| {
        let mut rng = Rng::with_seed(seed);
        let Sample { bytes, entries, .. } = &samples[rng.usize(..2)];
        let mut damaged = bytes.clone();
        for _ in 0..rng.usize(1..4) {
            let start = rng.usize(..damaged.len());
            let end = damaged.len().min(start + [1, 1, 8, 512, 4096][rng.usize(..5)]);
            for byte in &mut damaged[start..end] {
                *byte = rng.u8(..);
            }
        }
        if damaged[LAST_COMMIT_BYTE] != bytes[LAST_COMMIT_BYTE] {
            damaged[LAST_COMMIT_BYTE] = bytes[LAST_COMMIT_BYTE];
        }
        if let Ok(read) = open(damaged) {
            assert!(read == *entries, "other definitions than were stored");
        }
    });
}
