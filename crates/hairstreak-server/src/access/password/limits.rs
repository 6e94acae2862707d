//! How long a password may be, and how dear a hash.

/// The most bytes of a password.
pub const PASSWORD_SIZE_MAX: usize = 4096;

/// The least memory of Argon2id with one lane.
pub(super) const MEMORY_KIB_MIN: u32 = 8;
/// The most memory that one hash may take: definitions from elsewhere cannot ask for more.
pub(super) const MEMORY_KIB_MAX: u32 = 65_536;
/// The most passes over the memory.
pub(super) const PASSES_MAX: u32 = 10;
