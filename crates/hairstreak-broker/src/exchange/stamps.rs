//! `Stamps`: a set of small numbers that is emptied in no time, for each message.

#[derive(Debug, Default)]
pub(super) struct Stamps {
    /// A number is in the set if its stamp is the current one.
    stamps: Vec<u32>,
    current: u32,
}

impl Stamps {
    /// Empties the set.
    pub(super) fn clear(&mut self) {
        self.current = self.current.wrapping_add(1);
        if self.current == 0 {
            self.stamps.fill(0);
            self.current = 1;
        }
    }

    /// Adds a number. Returns true if it was not in the set.
    pub(super) fn add(&mut self, number: u32) -> bool {
        let index = number as usize;
        if index >= self.stamps.len() {
            self.stamps.resize(index + 1, 0);
        }
        std::mem::replace(&mut self.stamps[index], self.current) != self.current
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_new_once_until_the_set_is_emptied() {
        let mut stamps = Stamps::default();
        stamps.clear();
        assert!(stamps.add(7));
        assert!(!stamps.add(7));
        assert!(stamps.add(0));
        stamps.clear();
        assert!(stamps.add(7));
    }

    #[test]
    fn old_numbers_are_forgotten_when_the_stamps_begin_again() {
        let mut stamps = Stamps { stamps: vec![1, 0], current: u32::MAX };
        stamps.clear();
        assert!(stamps.add(0));
        assert!(stamps.add(1));
    }
}
