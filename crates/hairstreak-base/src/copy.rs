//! Copies of short bodies without a call. The set-up of memcpy costs too much for most messages.

/// Copies `size` bytes, at least `WIDTH` and at most twice as many, as two blocks that may overlap.
///
/// # Safety
/// As [`copy_short`].
#[inline(always)]
unsafe fn copy_ends<const WIDTH: usize>(from: *const u8, to: *mut u8, size: usize) {
    // SAFETY: both blocks lie within `size` bytes of either side, and are read before any is written.
    unsafe {
        let head = from.cast::<[u8; WIDTH]>().read();
        let end = from.add(size - WIDTH).cast::<[u8; WIDTH]>().read();
        to.cast::<[u8; WIDTH]>().write(head);
        to.add(size - WIDTH).cast::<[u8; WIDTH]>().write(end);
    }
}

/// Copies `from` to `to`, in two overlapping words or blocks for up to 64 bytes.
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
            17..=32 => copy_ends::<16>(start, to, size),
            33..=64 => copy_ends::<32>(start, to, size),
            4..=7 => copy_ends::<4>(start, to, size),
            2..=3 => copy_ends::<2>(start, to, size),
            1 => to.write(start.read()),
            0 => {}
            _ => std::ptr::copy_nonoverlapping(start, to, size),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    #[test]
    fn every_size_is_copied_whole_and_nothing_beside_it() {
        let from: Vec<u8> = (1..=70).collect();
        for size in 0..=70 {
            let mut to = [0u8; 72];
            // SAFETY: `size` bytes behind the first are within `to`.
            unsafe { super::copy_short(&from[..size], to.as_mut_ptr().add(1)) };
            assert_eq!(to[1..=size], from[..size]);
            assert_eq!((to[0], to[size + 1]), (0, 0));
        }
    }
}
