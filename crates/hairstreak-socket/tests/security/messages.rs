//! Numbered messages of many sizes and frames, the same in tests/python/secure.py; and two sockets that exchange
//! them.

use hairstreak_socket::{Dealer, Message, Pull, Push, Router};

use crate::LONG;

/// Around every limit that sealing and framing have.
const SIZES: [usize; 21] =
    [0, 1, 8, 30, 31, 62, 63, 64, 95, 96, 159, 160, 221, 222, 223, 255, 256, 1000, 8192, 20_000, 70_000];

/// The frames of message `number`.
pub fn message(number: usize) -> Vec<Vec<u8>> {
    let size = SIZES[number % SIZES.len()];
    let mut body = format!("{number}:").into_bytes();
    body.extend((0..=255).cycle().take(size));
    body.truncate(size);
    if number.is_multiple_of(3) { vec![b"head".to_vec(), Vec::new(), body] } else { vec![body] }
}

/// The same, as a publication to `t`.
pub fn published(number: usize) -> Message {
    Message::from_frames([vec![b"t".to_vec()], message(number)].concat())
}

pub fn send_all(push: &Push, count: usize) {
    for number in 0..count {
        let frames = message(number);
        let sent = match (&frames[..], number % 2) {
            ([body], 0) => push.send_timeout(body, LONG),
            (frames, 0) => push.send_timeout(&frames.iter().map(Vec::as_slice).collect::<Vec<_>>()[..], LONG),
            (frames, _) => push.send_timeout(&Message::from_frames(frames), LONG),
        };
        sent.unwrap_or_else(|e| panic!("message {number}: {e}, {:?}", push.stats()));
    }
    push.flush();
}

pub fn receive_all(pull: &Pull, count: usize) {
    for number in 0..count {
        let got = pull.recv_timeout(LONG);
        let got = got.unwrap_or_else(|e| panic!("message {number}: {e}, {:?}", pull.stats()));
        assert_eq!(got, Message::from_frames(message(number)), "message {number}");
    }
}

pub fn ask_all(dealer: &Dealer, count: usize) {
    for number in 0..count {
        dealer.send_timeout(&Message::from_frames(message(number)), LONG).unwrap();
        let got = dealer.recv_timeout(LONG).unwrap_or_else(|e| panic!("echo {number}: {e}"));
        assert_eq!(got, Message::from_frames(message(number)), "echo {number}");
    }
}

pub fn echo_all(router: &Router, count: usize) {
    for number in 0..count {
        let got = router.recv_timeout(LONG).unwrap_or_else(|e| panic!("question {number}: {e}"));
        router.send_timeout(&got, LONG).unwrap();
    }
}
