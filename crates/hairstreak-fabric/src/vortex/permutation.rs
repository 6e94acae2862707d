//! `Permutation`: where a packet that stays in its cylinder goes to.

use super::shape::Shape;

/// The rule by which the heights of a cylinder follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Permutation {
    /// The rule of the patents: one cycle through all heights that agree on the bits that are already right. The other bits count up
    /// in reversed order: reverse them, add one, reverse them again.
    #[default]
    Patent,
    /// The bit of the cylinder changes, and nothing else.
    Flip,
}

impl Permutation {
    /// The height that follows `height` on a ring of `cylinder`. The innermost cylinder has no such ring.
    ///
    /// ```
    /// use hairstreak_fabric::vortex::{Permutation, Shape};
    ///
    /// let shape = Shape::new(8, 1)?;
    /// let ring = |start| std::iter::successors(Some(start), |height| Some(Permutation::Patent.next(shape, 0, *height)));
    /// assert_eq!(ring(0).take(9).collect::<Vec<_>>(), [0, 4, 2, 6, 1, 5, 3, 7, 0]);
    /// # Ok::<(), hairstreak_fabric::vortex::ShapeError>(())
    /// ```
    pub fn next(self, shape: Shape, cylinder: u32, height: u32) -> u32 {
        let free_bits = shape.height_bits() - cylinder;
        match self {
            Permutation::Flip => height ^ (1 << (free_bits - 1)),
            Permutation::Patent => {
                let mask = (1 << free_bits) - 1;
                let reversed = (height & mask).reverse_bits() >> (u32::BITS - free_bits);
                let next = (reversed + 1) & mask;
                (height & !mask) | (next.reverse_bits() >> (u32::BITS - free_bits))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_rules_change_the_bit_of_the_cylinder_and_keep_those_before() {
        let shape = Shape::new(64, 1).unwrap();
        for permutation in [Permutation::Patent, Permutation::Flip] {
            for cylinder in 0..shape.height_bits() {
                let mut is_reached = [false; 64];
                for height in 0..64 {
                    let next = permutation.next(shape, cylinder, height);
                    let bit = 1 << (shape.height_bits() - 1 - cylinder);
                    assert_eq!((height ^ next) & bit, bit);
                    assert_eq!((height ^ next) & !(2 * bit - 1), 0);
                    assert!(!std::mem::replace(&mut is_reached[next as usize], true));
                }
            }
        }
    }
}
