//! Tests of the ring: bytes in order at any step size, hostile positions, and loom's models of both waits.

#[cfg(not(loom))]
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;

#[cfg(loom)]
use loom::cell::UnsafeCell;

use super::*;
use crate::sync::Arc;

/// A ring in memory of this process. Each byte is a cell, so that loom sees every access.
struct Shared {
    words: RingWords,
    cells: Vec<UnsafeCell<u8>>,
}

// SAFETY: a cell is touched by the writer while free and by the reader while published.
unsafe impl Sync for Shared {}
// SAFETY: as above.
unsafe impl Send for Shared {}

#[derive(Clone)]
struct Memory(Arc<Shared>);

impl Memory {
    fn new(capacity: usize) -> Memory {
        let cells = (0..capacity).map(|_| UnsafeCell::new(0)).collect();
        Memory(Arc::new(Shared { words: RingWords::default(), cells }))
    }
}

// SAFETY: `take` writes every byte of `into`; the number of cells never changes.
unsafe impl RingMemory for Memory {
    fn words(&self) -> &RingWords {
        &self.0.words
    }

    fn capacity(&self) -> usize {
        self.0.cells.len()
    }

    fn put(&self, at: usize, bytes: &[u8]) {
        for (cell, byte) in self.0.cells[at..at + bytes.len()].iter().zip(bytes) {
            #[cfg(not(loom))]
            // SAFETY: see `Shared`.
            unsafe {
                cell.get().write(*byte);
            }
            #[cfg(loom)]
            // SAFETY: loom checks it.
            cell.with_mut(|place| unsafe { place.write(*byte) });
        }
    }

    fn take(&self, at: usize, into: &mut [MaybeUninit<u8>]) {
        for (cell, byte) in self.0.cells[at..at + into.len()].iter().zip(into) {
            #[cfg(not(loom))]
            // SAFETY: see `Shared`.
            byte.write(unsafe { cell.get().read() });
            #[cfg(loom)]
            // SAFETY: loom checks it.
            byte.write(cell.with(|place| unsafe { place.read() }));
        }
    }
}

fn ring(capacity: usize) -> (RingWriter<Memory>, RingReader<Memory>, Memory) {
    let memory = Memory::new(capacity);
    (RingWriter::new(memory.clone()), RingReader::new(memory.clone()), memory)
}

/// Takes up to `size` bytes.
fn take(reader: &mut RingReader<Memory>, size: usize) -> Result<Vec<u8>, RingError> {
    let mut bytes = vec![MaybeUninit::uninit(); size];
    let count = reader.take(&mut bytes)?;
    // SAFETY: this many bytes are initialised.
    Ok(bytes[..count].iter().map(|byte| unsafe { byte.assume_init() }).collect())
}

#[cfg(not(loom))]
mod plain {
    use super::*;
    use crate::sync::atomic::Ordering;
    use crate::sync::rounds;

    /// Pseudorandom numbers that depend on the seed alone.
    struct Dice(u64);

    impl Dice {
        fn roll(&mut self, sides: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as usize % sides
        }
    }

    #[test]
    fn bytes_come_out_as_they_went_in_whatever_the_steps() {
        for seed in 0..rounds(200) as u64 {
            let mut dice = Dice(seed);
            let (mut writer, mut reader, _) = ring(1 << dice.roll(8));
            let (mut written, mut published, mut got) = (0u64, 0u64, 0u64);
            for _ in 0..rounds(2000) {
                let bytes: Vec<u8> = (0..dice.roll(300) as u64).map(|i| (written + i) as u8).collect();
                written += writer.put(&bytes).unwrap() as u64;
                if dice.roll(3) > 0 {
                    let _ = writer.publish();
                    published = written;
                }
                let size = dice.roll(300);
                let taken = take(&mut reader, size).unwrap();
                assert_eq!(taken.len() as u64, (published - got).min(size as u64), "seed {seed}");
                assert!(taken.iter().all(|byte| (*byte, got += 1).0 == (got - 1) as u8), "seed {seed}");
                if dice.roll(3) > 0 {
                    let _ = reader.release();
                }
            }
        }
    }

    #[test]
    fn who_waits_is_rung_once_and_a_writer_not_before_half_is_free() {
        let (mut writer, mut reader, _) = ring(8);
        assert!(reader.await_bytes().unwrap());
        assert_eq!(writer.put(b"12345678").unwrap(), 8);
        assert!(writer.publish() && !writer.publish(), "the reader is rung once");
        assert!(!reader.await_bytes().unwrap(), "there are bytes");
        assert!(writer.await_room().unwrap());
        take(&mut reader, 3).unwrap();
        assert!(!reader.release() && writer.await_room().unwrap(), "too little is free");
        take(&mut reader, 1).unwrap();
        assert!(reader.release() && !reader.release(), "the writer is rung once");
        assert!(!writer.await_room().unwrap());
    }

    #[test]
    fn the_end_comes_behind_the_last_byte() {
        let (mut writer, mut reader, _) = ring(8);
        writer.put(b"12").unwrap();
        let _ = writer.publish();
        writer.end();
        assert!(reader.has_news() && !reader.is_over().unwrap());
        assert_eq!(take(&mut reader, 8).unwrap(), b"12");
        assert!(reader.is_over().unwrap());
    }

    #[test]
    fn impossible_positions_are_errors_on_either_side() {
        for (tail, head) in [(9, 1), (u64::MAX, 5), (4, u64::MAX), (1 << 40, 7)] {
            let (mut writer, mut reader, memory) = ring(8);
            writer.put(b"1234").unwrap();
            let _ = writer.publish();
            memory.words().tail().store(tail, Ordering::Relaxed);
            memory.words().head().store(head, Ordering::Relaxed);
            assert_eq!(take(&mut reader, 8).is_err(), tail > 8, "tail {tail}");
            assert_eq!(writer.put(&[0; 8]).is_err(), head > 4, "head {head}");
        }
        let (mut writer, mut reader, memory) = ring(8);
        writer.put(b"1234").unwrap();
        let _ = writer.publish();
        take(&mut reader, 2).unwrap();
        memory.words().tail().store(1, Ordering::Relaxed);
        assert_eq!(take(&mut reader, 8), Err(RingError), "a writer that goes back");
    }

    #[test]
    fn words_that_change_at_will_harm_nobody() {
        for seed in 0..rounds(2000) as u64 {
            let mut dice = Dice(seed);
            let (mut writer, mut reader, memory) = ring(64);
            for _ in 0..50 {
                let words = memory.words();
                let near = dice.roll(200) as u64;
                let value = if dice.roll(4) > 0 { near } else { u64::MAX - near };
                match dice.roll(5) {
                    0 => words.tail().store(value, Ordering::Relaxed),
                    1 => words.head().store(value, Ordering::Relaxed),
                    2 => words.ended().store(value as u32, Ordering::Relaxed),
                    3 => words.reader_waits().store(value as u32, Ordering::Relaxed),
                    _ => words.writer_waits().store(value as u32, Ordering::Relaxed),
                }
                // Any outcome is fine that stays within the ring and returns.
                let _ = writer.put(&[7; 100]).map(|count| assert!(count <= 64));
                let _ = (writer.publish(), writer.await_room());
                let _ = take(&mut reader, 100).map(|bytes| assert!(bytes.len() <= 64));
                let _ = (reader.release(), reader.has_news(), reader.is_over(), reader.await_bytes());
            }
        }
    }
}

#[cfg(loom)]
mod loom_tests {
    use loom::sync::Notify;

    use super::*;

    /// Three bytes pass through a ring of two, which fills and wraps. loom's cells detect a byte that both sides
    /// touch.
    #[test]
    fn loom_bytes_cross_in_order_and_none_is_lost() {
        loom::model(|| {
            let (mut writer, mut reader, _) = ring(2);
            let thread = loom::thread::spawn(move || {
                for byte in 0..3 {
                    while writer.put(&[byte]).unwrap() == 0 {
                        loom::thread::yield_now();
                    }
                    let _ = writer.publish();
                }
                writer.end();
            });
            let mut got = Vec::new();
            while !reader.is_over().unwrap() {
                got.extend(take(&mut reader, 2).unwrap());
                let _ = reader.release();
                loom::thread::yield_now();
            }
            assert_eq!(got, [0, 1, 2]);
            thread.join().unwrap();
        });
    }

    /// A waiting reader is rung for the byte, or has seen it.
    #[test]
    fn loom_a_waiting_reader_is_rung_or_sees_the_byte() {
        loom::model(|| {
            let (mut writer, mut reader, _) = ring(2);
            let thread = loom::thread::spawn(move || {
                writer.put(&[1]).unwrap();
                writer.publish()
            });
            let waits = reader.await_bytes().unwrap();
            let rung = thread.join().unwrap();
            assert!(rung || !waits);
        });
    }

    /// A writer that waits for half of the ring is rung when that room is free, or has seen the room.
    #[test]
    fn loom_a_waiting_writer_is_rung_or_sees_the_room() {
        loom::model(|| {
            let (mut writer, mut reader, _) = ring(2);
            writer.put(&[1, 2]).unwrap();
            let _ = writer.publish();
            let thread = loom::thread::spawn(move || {
                take(&mut reader, 1).unwrap();
                reader.release()
            });
            let waits = writer.await_room().unwrap();
            let rung = thread.join().unwrap();
            assert!(rung || !waits);
        });
    }

    /// Each side sleeps until it is rung. loom detects when both sleep for ever.
    #[test]
    fn loom_two_sides_that_sleep_get_everything_across() {
        loom::model(|| {
            let (mut writer, mut reader, _) = ring(1);
            let bells = Arc::new((Notify::new(), Notify::new()));
            let theirs = Arc::clone(&bells);
            let thread = loom::thread::spawn(move || {
                for byte in 0..2 {
                    while writer.put(&[byte]).unwrap() == 0 {
                        if writer.await_room().unwrap() {
                            theirs.1.wait();
                        }
                    }
                    if writer.publish() {
                        theirs.0.notify();
                    }
                }
            });
            let mut got = Vec::new();
            while got.len() < 2 {
                got.extend(take(&mut reader, 1).unwrap());
                if reader.release() {
                    bells.1.notify();
                }
                if got.len() < 2 && reader.await_bytes().unwrap() {
                    bells.0.wait();
                }
            }
            assert_eq!(got, [0, 1]);
            thread.join().unwrap();
        });
    }
}
