//! `Parking`: the bytes that connections take of messages while the memory alarm is raised.
//!
//! Parked frames are not among the bytes that the alarm watches: consumers cannot free them, and the alarm would never end. They
//! share bounds of their own with the bytes of bodies that had begun, one for each connection and one for the node. A part of the
//! first is never refused, so that a greedy client cannot block the others.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

/// Bytes of frames that a connection may park.
const CONNECTION_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Bytes within that bound that a connection may always park, even if others have used the node's bound.
const CONNECTION_BYTES_MIN: usize = 128 * 1024;
/// Bytes of frames that all connections park, and at most a quarter of the watermark.
const NODE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Bytes of frames of ending connections that are handled while the alarm is raised. The bound holds from one end of the alarm to
/// the next, and is at most a sixteenth of the watermark.
const GRACE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The parked bytes of all connections.
#[derive(Debug, Default)]
pub struct Parking {
    bytes: AtomicUsize,
    /// Bytes of bodies that had begun, which are no frames. They also count in `bytes`.
    body_bytes: AtomicUsize,
    grace_bytes: AtomicUsize,
}

impl Parking {
    /// Parks `size` more bytes for a connection that has parked `held` bytes. `spare`: bytes that the connection may park above
    /// its own bound, within the node's. Returns false if there is no room.
    pub fn park(&self, held: usize, size: usize, spare: usize, watermark: usize) -> bool {
        let (own, node_max) = (held + size, NODE_BYTES_MAX.min(watermark / 4));
        let is_granted = own <= CONNECTION_BYTES_MIN;
        let has_room = || own <= CONNECTION_BYTES_MAX + spare && self.bytes.load(Relaxed) + size <= node_max;
        if !is_granted && !has_room() {
            return false;
        }
        self.bytes.fetch_add(size, Relaxed);
        true
    }

    /// Takes `size` bytes of bodies that had begun, behind the connection's `taken` bytes since the alarm was raised. They keep
    /// their place until the alarm is over: the messages come whole. Returns false if there is no room.
    pub fn take_body(&self, taken: usize, size: usize, watermark: usize) -> bool {
        let has_room = self.park(taken, size, 0, watermark);
        self.body_bytes.fetch_add(if has_room { size } else { 0 }, Relaxed);
        has_room
    }

    /// `size` parked bytes are handled, or dropped.
    pub fn leave(&self, size: usize) {
        self.bytes.fetch_sub(size, Relaxed);
    }

    /// Ends a connection that has parked `size` bytes. Returns true if they are handled nevertheless.
    pub fn let_in(&self, size: usize, watermark: usize) -> bool {
        let bytes_max = GRACE_BYTES_MAX.min(watermark / 16);
        let take = |bytes: usize| bytes.checked_add(size).filter(|bytes| *bytes <= bytes_max);
        self.grace_bytes.fetch_update(Relaxed, Relaxed, take).is_ok()
    }

    /// The alarm is over.
    pub fn renew(&self) {
        self.grace_bytes.store(0, Relaxed);
        self.leave(self.body_bytes.swap(0, Relaxed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WATERMARK: usize = 1 << 30;

    #[test]
    fn a_greedy_connection_leaves_others_their_part() {
        let parking = Parking::default();
        assert!(parking.park(0, CONNECTION_BYTES_MAX, 0, WATERMARK));
        assert!(!parking.park(CONNECTION_BYTES_MAX, 1, 0, WATERMARK));
        assert!(parking.park(CONNECTION_BYTES_MAX, 1, 1, WATERMARK));
        parking.leave(CONNECTION_BYTES_MAX + 1);
        for _ in 0..NODE_BYTES_MAX / CONNECTION_BYTES_MAX {
            assert!(parking.park(0, CONNECTION_BYTES_MAX, 0, WATERMARK));
        }
        assert!(!parking.park(0, CONNECTION_BYTES_MIN + 1, 0, WATERMARK));
        assert!(parking.park(0, CONNECTION_BYTES_MIN, 0, WATERMARK));
        assert!(!parking.park(CONNECTION_BYTES_MIN, 1, 0, WATERMARK));
        // Bytes that a client has announced, and not sent, give no room above the bound of the node.
        assert!(!parking.park(CONNECTION_BYTES_MIN, 1, NODE_BYTES_MAX, WATERMARK));
        parking.leave(2 * CONNECTION_BYTES_MAX);
        assert!(parking.park(CONNECTION_BYTES_MIN, 1, 0, WATERMARK));
    }

    #[test]
    fn a_low_watermark_makes_the_bounds_of_the_node_low() {
        let parking = Parking::default();
        let watermark = 4 * CONNECTION_BYTES_MAX;
        assert!(parking.park(0, CONNECTION_BYTES_MAX, 0, watermark));
        assert!(!parking.park(0, CONNECTION_BYTES_MIN + 1, 0, watermark));
    }

    #[test]
    fn bodies_keep_their_place_until_the_alarm_is_over() {
        let parking = Parking::default();
        for _ in 0..NODE_BYTES_MAX / CONNECTION_BYTES_MAX {
            assert!(parking.take_body(0, CONNECTION_BYTES_MAX, WATERMARK));
        }
        assert!(!parking.take_body(0, CONNECTION_BYTES_MIN + 1, WATERMARK));
        assert!(!parking.park(0, CONNECTION_BYTES_MIN + 1, 0, WATERMARK));
        assert!(parking.take_body(0, CONNECTION_BYTES_MIN, WATERMARK));
        parking.renew();
        assert!(parking.take_body(0, CONNECTION_BYTES_MAX, WATERMARK));
        assert!(!parking.take_body(CONNECTION_BYTES_MAX, 1, WATERMARK));
    }

    #[test]
    fn connections_that_end_share_one_grace_until_the_alarm_is_over() {
        let parking = Parking::default();
        assert!(parking.let_in(GRACE_BYTES_MAX, WATERMARK));
        assert!(!parking.let_in(1, WATERMARK));
        parking.renew();
        assert!(parking.let_in(1, WATERMARK));
        assert!(!parking.let_in(GRACE_BYTES_MAX, WATERMARK));
        assert!(!parking.let_in(WATERMARK / 64, WATERMARK / 64));
    }
}
