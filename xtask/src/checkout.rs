//! Where this checkout is.

/// The root of the checkout that xtask was compiled in.
pub const CHECKOUT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
