//! How often a test repeats what it does: seldom under Miri, which is some hundred times slower.

/// `count`, or a hundredth of it under Miri.
pub(crate) const fn rounds(count: usize) -> usize {
    if cfg!(miri) { count.div_ceil(100) } else { count }
}
