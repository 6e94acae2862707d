//! `FabricClock`: the time of a fabric, read from the fabric's memory.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::attaching::reach;
use super::error::VortexError;
use super::hello::{ANSWER_SIZE, Attached, Hello, Wish, decode_answer, encode_answer};
use crate::poller::{Interest, Poller};
use crate::shm::{self, SegmentError, SharedMemory};

/// The time limit for an answer of the fabric.
const ANSWER_TIME: Duration = Duration::from_secs(5);
const PAGE_SIZE: usize = 4096;
const WORDS: usize = 7;

/// The facts of a fabric, which stay from its start to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FabricFacts {
    /// A number that no earlier or later fabric of that name has.
    pub epoch: u64,
    /// Heights of each switch.
    pub heights: u32,
    /// Angles of each switch.
    pub angles: u32,
    /// Switches side by side.
    pub networks: u32,
    /// The length of a slot, in picoseconds of the fabric's own time.
    pub slot_picoseconds: u64,
}

/// The time of a fabric. The clock stands while no cell is under way.
#[derive(Debug)]
pub struct FabricClock {
    page: Page,
}

impl FabricClock {
    /// The clock of a fabric of this host. Waits for the fabric's answer.
    ///
    /// # Errors
    ///
    /// [`VortexError`], or the system has no memory or descriptor to give.
    pub fn attach(fabric: &str) -> io::Result<FabricClock> {
        let (socket, _) = reach(fabric)?;
        shm::send(&socket, &Hello { wish: Wish::Clock, from: None, rank: None, port: 0 }.encode())?;
        let poller = Poller::new()?;
        poller.add(&socket, 0, Interest::Readable)?;
        let mut is_there = false;
        poller.wait(Some(ANSWER_TIME), |_| is_there = true)?;
        if !is_there {
            return Err(VortexError::NoAnswer(fabric.to_owned()).into());
        }
        // The fabric sends an answer at once, or not at all.
        let (mut answer, mut descriptor) = ([MaybeUninit::uninit(); ANSWER_SIZE], None);
        let answer = shm::receive(&socket, &mut answer, &mut descriptor)?;
        let answer: Option<[u8; ANSWER_SIZE]> = (&*answer).try_into().ok();
        let stranger = || VortexError::Stranger(fabric.to_owned());
        match (answer.and_then(decode_answer), descriptor) {
            (Some(Ok(_)), Some(descriptor)) => {
                let memory =
                    SharedMemory::open_to_read(descriptor.as_fd(), PAGE_SIZE).map_err(|_| stranger())?;
                Ok(FabricClock { page: Page(memory) })
            }
            (Some(Err(refusal)), _) => Err(VortexError::Refused(refusal).into()),
            _ => Err(stranger().into()),
        }
    }

    /// Slots that have passed.
    pub fn slots(&self) -> u64 {
        self.page.word(0).load(Ordering::Relaxed)
    }

    /// Returns the passed slots as time. Do not mix this time with times of the host's clocks.
    pub fn time(&self) -> Duration {
        let picoseconds = u128::from(self.slots()) * u128::from(self.facts().slot_picoseconds);
        Duration::from_nanos(u64::try_from(picoseconds / 1_000).unwrap_or(u64::MAX))
    }

    /// Cells that have arrived at cards, of all kinds.
    pub fn cells(&self) -> u64 {
        self.page.word(1).load(Ordering::Relaxed)
    }

    /// The facts of the fabric.
    pub fn facts(&self) -> FabricFacts {
        let word = |index| self.page.word(index).load(Ordering::Relaxed);
        FabricFacts {
            epoch: word(2),
            heights: word(3) as u32,
            angles: word(4) as u32,
            networks: word(5) as u32,
            slot_picoseconds: word(6),
        }
    }
}

/// The clock as the fabric has it.
#[derive(Debug)]
pub(super) struct OwnClock {
    page: Page,
    file: OwnedFd,
}

impl OwnClock {
    pub fn new(facts: FabricFacts) -> Result<OwnClock, SegmentError> {
        let (memory, file) = SharedMemory::create_to_show(PAGE_SIZE)?;
        let page = Page(memory);
        let (heights, angles, networks) = (facts.heights.into(), facts.angles.into(), facts.networks.into());
        let words = [0, 0, facts.epoch, heights, angles, networks, facts.slot_picoseconds];
        (0..).zip(words).for_each(|(index, word)| page.word(index).store(word, Ordering::Relaxed));
        Ok(OwnClock { page, file })
    }

    /// Shows the time.
    pub fn set(&self, slots: u64, cells: u64) {
        self.page.word(0).store(slots, Ordering::Relaxed);
        self.page.word(1).store(cells, Ordering::Relaxed);
    }

    /// Answers a process that asked for the clock. The process may be gone.
    pub fn give(&self, socket: impl AsFd) {
        let answer = encode_answer(Ok(Attached { rank: 0, port: 0 }));
        let _ = shm::send_with(socket, &answer, self.file.as_fd());
    }
}

/// The words of the clock. Attached processes cannot write them.
#[derive(Debug)]
struct Page(SharedMemory);

impl Page {
    fn word(&self, index: usize) -> &AtomicU64 {
        assert!(index < WORDS);
        // SAFETY: the word lies within the memory, which begins at a page; it is an atomic, of which any content is valid.
        unsafe { self.0.start().cast::<AtomicU64>().add(index).as_ref() }
    }
}
