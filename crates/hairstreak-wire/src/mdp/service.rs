//! What services may be called, and which names are not for workers.

/// The longest name of a service, in bytes.
pub const SERVICE_NAME_SIZE_MAX: usize = 255;

/// Whether a service may be called so: 1 to [`SERVICE_NAME_SIZE_MAX`] bytes, whichever.
pub fn is_service_name(name: &[u8]) -> bool {
    (1..=SERVICE_NAME_SIZE_MAX).contains(&name.len())
}

/// Whether the broker itself answers to the name: `mmi.*` (RFC 8), and `hairstreak.*`.
pub fn is_management(name: &[u8]) -> bool {
    name.starts_with(b"mmi.") || name.starts_with(b"hairstreak.")
}
