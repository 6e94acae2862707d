//! `Work`: what an engine has done since its last turn. It counts frames as well as reads and writes: one read brings up to
//! 32,768 empty frames, which take as long as a thousand reads.

/// So many frames count as one read or write, which takes 1 to 20 us; a frame takes about 60 ns.
const FRAMES_PER_IO: u32 = 256;

/// An amount of work, in frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd)]
pub(crate) struct Work(u32);

impl Work {
    /// The work of so many reads and writes.
    pub const fn of_io(count: u32) -> Work {
        Work(count * FRAMES_PER_IO)
    }

    /// Reads or writes were made.
    #[inline]
    pub fn add_io(&mut self, count: u32) {
        self.0 = self.0.saturating_add(count.saturating_mul(FRAMES_PER_IO));
    }

    /// Frames were received, whatever messages they belong to.
    #[inline]
    pub fn add_frames(&mut self, count: usize) {
        self.0 = self.0.saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
    }

    pub fn in_frames(self) -> u32 {
        self.0
    }

    pub fn half(self) -> Work {
        Work(self.0 / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_add_up_over_messages_until_they_are_worth_a_read() {
        let mut work = Work::default();
        (1..FRAMES_PER_IO).for_each(|_| work.add_frames(1));
        assert!(work < Work::of_io(1));
        work.add_frames(1);
        assert_eq!(work, Work::of_io(1));
        work.add_io(2);
        work.add_frames(FRAMES_PER_IO as usize);
        assert_eq!((work, work.half()), (Work::of_io(4), Work::of_io(2)));
    }

    #[test]
    fn more_than_can_be_counted_is_the_most() {
        let mut work = Work::default();
        work.add_frames(usize::MAX);
        work.add_io(u32::MAX);
        assert_eq!(work.in_frames(), u32::MAX);
    }
}
