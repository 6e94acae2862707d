//! The requests that a worker runs or has replies to: ranges of numbers for each client.

use super::error::Hsn1Error;
use super::request_id::ClientId;

/// Limit of the ranges in one list.
pub const HELD_COUNT_MAX: usize = 65_536;

const RANGE_SIZE: usize = 32;

/// Consecutive requests of one client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// The client.
    pub client: ClientId,
    /// Number of the first request.
    pub first: u64,
    /// Number of the last request.
    pub last: u64,
}

/// Returns the encoded ranges as a frame, at most [`HELD_COUNT_MAX`].
pub fn encode_held(ranges: impl IntoIterator<Item = Held>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for range in ranges.into_iter().take(HELD_COUNT_MAX) {
        bytes.extend(range.client.0);
        bytes.extend(range.first.to_be_bytes());
        bytes.extend(range.last.to_be_bytes());
    }
    bytes
}

/// Parses the ranges of a frame. No range ends before it begins. Overlaps are not checked.
pub fn parse_held(frame: &[u8]) -> Result<impl Iterator<Item = Held> + Clone + '_, Hsn1Error> {
    let (ranges, rest) = frame.as_chunks::<RANGE_SIZE>();
    let held = ranges.iter().map(|range| {
        let number = |at: usize| u64::from_be_bytes(std::array::from_fn(|index| range[at + index]));
        let client = ClientId(std::array::from_fn(|index| range[index]));
        Held { client, first: number(16), last: number(24) }
    });
    let is_sound = rest.is_empty()
        && ranges.len() <= HELD_COUNT_MAX
        && held.clone().all(|range| range.first > 0 && range.first <= range.last);
    if is_sound { Ok(held) } else { Err(Hsn1Error::Held { size: frame.len() }) }
}
