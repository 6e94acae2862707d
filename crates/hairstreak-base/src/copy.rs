//! Copying short bodies without a call: most messages are shorter than memcpy's set-up is worth.

/// Copies `from` to `to`, in two overlapping words for up to 16 bytes.
///
/// # Safety
/// `to` is writable for `from.len()` bytes and does not overlap `from`.
#[inline(always)]
pub(crate) unsafe fn copy_short(from: &[u8], to: *mut u8) {
    let size = from.len();
    let start = from.as_ptr();
    // SAFETY: every access stays within `size` bytes of either side; the two halves may overlap
    // each other, both carrying the same bytes.
    unsafe {
        match size {
            8..=16 => {
                let head = start.cast::<u64>().read_unaligned();
                let end = start.add(size - 8).cast::<u64>().read_unaligned();
                to.cast::<u64>().write_unaligned(head);
                to.add(size - 8).cast::<u64>().write_unaligned(end);
            }
            2 => to.cast::<u16>().write_unaligned(start.cast::<u16>().read_unaligned()),
            _ => std::ptr::copy_nonoverlapping(start, to, size),
        }
    }
}

/// Stores two words at once: whoever loads both at once, as a move of the value around them does, need
/// not wait until two stores have left the processor.
///
/// # Safety
/// `to` is writable for 16 bytes.
#[inline(always)]
pub(crate) unsafe fn store_pair(to: *mut u8, words: [u64; 2]) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: passed on; SSE2 is part of the architecture.
    unsafe {
        use std::arch::x86_64::{_mm_set_epi64x, _mm_storeu_si128};
        _mm_storeu_si128(to.cast(), _mm_set_epi64x(words[1] as i64, words[0] as i64));
    }
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: passed on.
    unsafe {
        to.cast::<[u64; 2]>().write_unaligned(words);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    #[test]
    fn every_size_is_copied_whole_and_nothing_beside_it() {
        let from: Vec<u8> = (1..=40).collect();
        for size in 0..=40 {
            let mut to = [0u8; 42];
            // SAFETY: `size` bytes behind the first are within `to`.
            unsafe { super::copy_short(&from[..size], to.as_mut_ptr().add(1)) };
            assert_eq!(to[1..=size], from[..size]);
            assert_eq!((to[0], to[size + 1]), (0, 0));
        }
    }
}
