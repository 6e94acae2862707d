//! A PUSH and a PULL that are connected, and the numbers that they exchange.

use hairstreak_socket::{Context, Message, Options, Pull, Push};

use crate::LONG;
use crate::endpoints::endpoint;

/// Marks that are reached after a few messages, so that a sender often has to wait.
pub fn low_marks() -> Options {
    Options { send_count_max: 8, receive_count_max: 8, ..Options::default() }
}

/// A connected pair, each in an engine of its own.
pub fn pair(transport: &str, options: &Options) -> (Push, Pull) {
    pair_in(&Context::new(), &Context::new(), transport, options)
}

/// A connected pair in these contexts.
pub fn pair_in(pushing: &Context, pulling: &Context, transport: &str, options: &Options) -> (Push, Pull) {
    let pull = Pull::with_options(pulling, options.clone()).unwrap();
    let push = Push::with_options(pushing, options.clone()).unwrap();
    push.connect(&pull.bind(&endpoint(transport)).unwrap().to_string()).unwrap();
    assert!(push.wait_for_peers(1, LONG) && pull.wait_for_peers(1, LONG));
    (push, pull)
}

/// A number as a message's body: one byte in four, longer bodies fill the buffers on the way.
pub fn body(number: u64) -> Vec<u8> {
    let mut body = number.to_le_bytes().to_vec();
    body.resize(if number.is_multiple_of(4) { 5000 } else { 8 }, 0);
    body
}

pub fn number(message: &Message) -> u64 {
    let body = message.body();
    let number = u64::from_le_bytes(body[..8].try_into().unwrap());
    assert_eq!(body, self::body(number));
    number
}
