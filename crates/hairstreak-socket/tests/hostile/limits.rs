//! Limits of messages at the bound and one past it, both ways.

use hairstreak_socket::{Context, Message, Options, Pull, Push, SendError};
use hairstreak_testkit::until;

use crate::LONG;
use crate::endpoints::endpoint;
use crate::raw::{MORE, Raw, frame};
use crate::siege::alone;

const SIZES: [usize; 8] = [0, 10, 255, 256, 1000, 16_384, 65_536, 1_000_000];

fn pull(options: &Options) -> (Pull, String) {
    let pull = Pull::with_options(&Context::new(), options.clone()).unwrap();
    let place = pull.bind(&endpoint("tcp")).unwrap().to_string();
    (pull, place)
}

/// Sends frames of these sizes as one message by hand; whether it is received or its connection closed.
fn arrives(pull: &Pull, place: &str, sizes: &[usize]) -> bool {
    let mut raw = Raw::ready(place, "PUSH");
    let failed = pull.stats().failed_connections;
    for (index, size) in sizes.iter().enumerate() {
        raw.send(&frame(if index + 1 < sizes.len() { MORE } else { 0 }, &vec![1; *size]));
    }
    raw.end();
    until("a message, or a failed connection", || {
        if let Ok(message) = pull.try_recv() {
            assert!(message.frames().map(<[u8]>::len).eq(sizes.iter().copied()));
            raw.wait_for_end();
            return Some(true);
        }
        (pull.stats().failed_connections > failed).then_some(false)
    })
}

#[test]
fn a_message_of_the_largest_size_is_received_and_one_byte_more_is_not() {
    let _alone = alone();
    for size in SIZES {
        let (pull, place) = pull(&Options { message_size_max: size, ..Options::default() });
        assert!(arrives(&pull, &place, &[size]), "{size}");
        assert!(!arrives(&pull, &place, &[size + 1]), "{size}");
        for first in [0, size / 3, size] {
            assert!(arrives(&pull, &place, &[first, size - first]), "{size}");
            assert!(arrives(&pull, &place, &[first, 0, size - first, 0]), "{size}");
            assert!(!arrives(&pull, &place, &[first, size - first + 1]), "{size}");
            assert!(!arrives(&pull, &place, &[first, 0, size - first, 1]), "{size}");
        }
    }
}

#[test]
fn a_message_of_the_most_frames_is_received_and_one_frame_more_is_not() {
    let _alone = alone();
    for count in [1, 2, 3, 1024] {
        let (pull, place) = pull(&Options { frame_count_max: count, ..Options::default() });
        for size in [0, 5, 300] {
            assert!(arrives(&pull, &place, &vec![size; count]), "{count}");
            assert!(!arrives(&pull, &place, &vec![size; count + 1]), "{count}");
        }
    }
}

#[test]
fn what_is_over_a_limit_is_not_sent() {
    let _alone = alone();
    for transport in ["tcp", "ipc", "inproc"] {
        for limit in SIZES {
            let options = Options { message_size_max: limit, frame_count_max: 3, ..Options::default() };
            let pull = Pull::new(&Context::new()).unwrap();
            let push = Push::with_options(&Context::new(), options).unwrap();
            push.connect(&pull.bind(&endpoint(transport)).unwrap().to_string()).unwrap();
            assert!(push.wait_for_peers(1, LONG));
            let (largest, larger) = (vec![1; limit], vec![1; limit + 1]);
            let error = SendError::TooLarge { size: limit + 1, limit };
            assert_eq!(push.try_send(&larger), Err(error), "{transport}, {limit}");
            assert_eq!(push.send_timeout(&larger, LONG), Err(error), "{transport}, {limit}");
            assert_eq!(
                push.send_all([&larger]).map_err(|error| error.source),
                Err(error),
                "{transport}, {limit}"
            );
            assert_eq!(push.send(&Message::from_frames([&largest[..], b"1"])), Err(error), "{limit}");
            let error = SendError::TooManyFrames { count: 4, limit: 3 };
            assert_eq!(push.send(&[&b""[..]; 4]), Err(error), "{transport}, {limit}");
            push.send_timeout(&largest, LONG).unwrap();
            push.send_timeout(&[&largest[..], b"", b""], LONG).unwrap();
            push.flush();
            assert_eq!(pull.recv_timeout(LONG).unwrap(), Message::from(largest.clone()));
            assert_eq!(pull.recv_timeout(LONG).unwrap(), Message::from_frames([&largest[..], b"", b""]));
        }
    }
}
