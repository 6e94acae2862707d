//! Encoding of strings and sizes.

/// The longest short string, in bytes. Names of queues, exchanges and consumers are short strings, and so are routing
/// keys.
pub const SHORT_STRING_SIZE_MAX: usize = 255;

/// Returns the part of `bytes` that fits a short string. Callers pass no longer ones: names come from peers, or are
/// checked when an application passes them.
#[inline(always)]
pub(super) fn fitting(bytes: &[u8]) -> &[u8] {
    debug_assert!(bytes.len() <= SHORT_STRING_SIZE_MAX, "a short string of {} bytes", bytes.len());
    &bytes[..bytes.len().min(SHORT_STRING_SIZE_MAX)]
}

#[inline]
pub(super) fn put_short_string(bytes: &[u8], out: &mut Vec<u8>) {
    let bytes = fitting(bytes);
    out.push(bytes.len() as u8);
    out.extend_from_slice(bytes);
}

#[inline]
pub(super) fn put_long_string(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
    out.extend_from_slice(bytes);
}

/// Appends the output of `put`, preceded by its size.
pub(super) fn put_sized(out: &mut Vec<u8>, put: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    put(out);
    let size = (out.len() - start - 4) as u32;
    out[start..start + 4].copy_from_slice(&size.to_be_bytes());
}
