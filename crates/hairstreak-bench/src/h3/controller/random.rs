//! Random numbers: seeds of messages, and the keys of digests.

use hairstreak_socket::security::fill_random;

use super::error::H3Error;

/// A number that nobody foresees.
pub fn random_number() -> Result<u64, H3Error> {
    let mut bytes = [0; 8];
    fill_random(&mut bytes).map_err(H3Error::Random)?;
    Ok(u64::from_le_bytes(bytes))
}
