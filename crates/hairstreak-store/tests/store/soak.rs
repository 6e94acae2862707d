//! How much a test does: a short form that everybody runs, a long one under HAIRSTREAK_SOAK.

/// `short`, or `long` when HAIRSTREAK_SOAK is set.
pub fn amount(short: usize, long: usize) -> usize {
    if std::env::var_os("HAIRSTREAK_SOAK").is_some() { long } else { short }
}
