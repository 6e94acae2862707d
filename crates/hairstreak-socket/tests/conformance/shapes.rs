//! Messages of every shape: sizes around those at which an encoding, a buffer or a path changes, and
//! several frames.

use hairstreak_socket::Message;

const SIZES: [usize; 14] = [0, 1, 16, 17, 61, 62, 63, 254, 255, 256, 8191, 8192, 16_385, 70_000];

/// Every shape once.
pub fn shapes() -> Vec<Message> {
    let body = |size: usize| -> Vec<u8> { (0..size).map(|i| (i * 7 + size) as u8).collect() };
    let mut shapes: Vec<Message> = SIZES.iter().map(|size| Message::from(body(*size))).collect();
    for size in SIZES {
        shapes.push(Message::from_frames([body(size), body(0), body(size / 2)]));
        shapes.push(Message::from_frames([body(3), body(size)]));
    }
    shapes
}
