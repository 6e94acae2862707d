//! `Lender`: references to a body that is sent repeatedly, counted in advance.
//!
//! If one thread sends a body and another drops it, both touch the cache line of its count for each message. A sender
//! that puts the same body into a ring for the second time takes many references at once. It returns the unused
//! references when the ring is published; meanwhile only the receiver touches the count.
//!
//! Invariants: `left` references to the block of `lent` belong to this lender; no reference is kept behind
//! [`Lender::settle`].

use crate::block::Block;
use crate::bytes::Bytes;

/// Number of references counted at once, at most the number published at once.
const LENT_COUNT: usize = 64;

/// Gives out references to bodies; see the module's description.
#[derive(Debug, Default)]
pub(crate) struct Lender {
    lent: Option<Block>,
    left: usize,
    /// Address of the last body, only for comparison: the body may be freed.
    last: usize,
}

impl Lender {
    /// Returns another reference to the body.
    #[inline]
    pub(crate) fn reference(&mut self, frame: &Bytes) -> Bytes {
        let Some(block) = frame.block() else { return frame.clone() };
        if self.left == 0 || self.lent != Some(block) {
            self.settle();
            if std::mem::replace(&mut self.last, block.address()) != block.address() {
                return frame.clone();
            }
            block.retain(LENT_COUNT);
            (self.lent, self.left) = (Some(block), LENT_COUNT);
        }
        self.left -= 1;
        // SAFETY: one of the references that were counted ahead goes with it.
        unsafe { frame.counted_copy() }
    }

    /// Gives the unused references back.
    #[inline]
    pub(crate) fn settle(&mut self) {
        if let Some(block) = self.lent.take()
            && self.left > 0
        {
            // SAFETY: these references were counted and not given out.
            unsafe { block.release(std::mem::take(&mut self.left)) };
        }
    }
}

impl Drop for Lender {
    fn drop(&mut self) {
        self.settle();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_is_lent_and_not_needed_comes_back() {
        let (body, other) = (Bytes::from_vec(vec![1; 100]), Bytes::from_vec(vec![2; 100]));
        let mut lender = Lender::default();
        let given: Vec<Bytes> = (0..3 * LENT_COUNT).map(|_| lender.reference(&body)).collect();
        assert!(given.iter().all(|frame| frame.as_bytes() == [1; 100]));
        assert!(body.reference_count() > 3 * LENT_COUNT);
        lender.settle();
        assert_eq!(body.reference_count(), 3 * LENT_COUNT + 1);
        drop(given);
        let given = [lender.reference(&body), lender.reference(&other), lender.reference(&body)];
        assert_eq!((body.reference_count(), other.reference_count()), (3, 2));
        drop((given, lender.reference(&body), lender));
        assert_eq!((body.reference_count(), other.reference_count()), (1, 1));
    }

    #[test]
    fn a_body_that_goes_once_is_counted_once() {
        let (mut lender, body) = (Lender::default(), Bytes::from_vec(vec![1; 100]));
        let _given = lender.reference(&body);
        assert_eq!(body.reference_count(), 2);
        assert_eq!(lender.reference(&Bytes::copy_of(b"short")).as_bytes(), b"short");
    }
}
