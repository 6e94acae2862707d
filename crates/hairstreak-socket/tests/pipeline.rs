//! PUSH and PULL over every transport: one suite, run for each.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::time::Duration;

use hairstreak_socket::{
    Context, Distribution, Message, Options, Pull, Push, RecvError, SendAllError, SendError,
};
use hairstreak_testkit::{until, until_eq};

const LONG: Duration = Duration::from_secs(20);
const TRANSPORTS: [&str; 5] = ["tcp", "tcp6", "ipc", "shm", "inproc"];

fn endpoint(transport: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let unique = format!("hs-{}-{number}", std::process::id());
    match transport {
        "tcp" => "tcp://127.0.0.1:*".into(),
        "tcp6" => "tcp://[::1]:*".into(),
        "ipc" if number.is_multiple_of(2) => format!("ipc://@{unique}"),
        "ipc" => format!("ipc://{}/{unique}", std::env::temp_dir().display()),
        "shm" => format!("shm://{unique}"),
        _ => format!("inproc://{unique}"),
    }
}

/// A connected pair in engines of their own, PULL bound.
fn pair(transport: &str) -> (Push, Pull) {
    pair_with(transport, Options::default())
}

fn pair_with(transport: &str, options: Options) -> (Push, Pull) {
    let pull = Pull::with_options(&Context::new(), options.clone()).unwrap();
    let bound = pull.bind(&endpoint(transport)).unwrap();
    let push = Push::with_options(&Context::new(), options).unwrap();
    push.connect(&bound.to_string()).unwrap();
    (push, pull)
}

fn body(index: usize) -> Vec<u8> {
    let size = match index % 13 {
        0 => 0,
        1 => 255,
        2 => 256,
        3 => 70_000,
        4 => 1 << 20,
        n => n * 17,
    };
    vec![index as u8; size]
}

#[test]
fn messages_of_all_sizes_arrive_in_order() {
    for transport in TRANSPORTS {
        let (push, pull) = pair(transport);
        let sender = std::thread::spawn(move || {
            for index in 0..400 {
                let message = match index % 3 {
                    0 => Message::from(body(index)),
                    1 => Message::from_frames([body(index), vec![], body(index + 1)]),
                    _ => {
                        push.send(&body(index)).unwrap();
                        continue;
                    }
                };
                push.send(&message).unwrap();
            }
        });
        for index in 0..400 {
            let message = pull.recv_timeout(LONG).unwrap();
            let expected = match index % 3 {
                1 => Message::from_frames([body(index), vec![], body(index + 1)]),
                _ => Message::from(body(index)),
            };
            assert!(message == expected, "{transport}: message {index} differs");
        }
        sender.join().unwrap();
    }
}

#[test]
fn many_small_messages_arrive_one_by_one_and_in_batches() {
    for transport in TRANSPORTS {
        let (push, pull) = pair(transport);
        let sender = std::thread::spawn(move || {
            for number in 0..100_000u64 {
                push.send(&number.to_le_bytes()).unwrap();
            }
            let numbers: Vec<[u8; 8]> = (100_000..200_000u64).map(u64::to_le_bytes).collect();
            assert_eq!(push.send_all(&numbers).unwrap(), 100_000);
        });
        let mut expected = 0u64;
        while expected < 100_000 {
            let message = pull.recv_timeout(LONG);
            let message =
                message.unwrap_or_else(|e| panic!("{transport}: {expected}: {e} {:?}", pull.peers()));
            assert_eq!(message.body(), expected.to_le_bytes());
            expected += 1;
        }
        let mut batch = Vec::new();
        while expected < 200_000 {
            assert!(pull.recv_many(&mut batch, 1000).unwrap() > 0);
            for message in &batch {
                assert_eq!(message.body(), expected.to_le_bytes());
                expected += 1;
            }
        }
        sender.join().unwrap();
    }
}

#[test]
fn connecting_before_binding_works() {
    for transport in TRANSPORTS {
        let name = match transport {
            "tcp" | "tcp6" => {
                let probe = Pull::new(&Context::new()).unwrap();
                probe.bind(&endpoint(transport)).unwrap().to_string()
            }
            _ => endpoint(transport),
        };
        let push = Push::new(&Context::new()).unwrap();
        push.connect(&name).unwrap();
        assert_eq!(push.try_send("early"), Err(SendError::WouldBlock));
        let pull = Pull::new(&Context::new()).unwrap();
        pull.bind(&name).unwrap();
        push.send_timeout("hello", LONG).unwrap();
        assert_eq!(pull.recv_timeout(LONG).unwrap().body(), b"hello");
    }
}

#[test]
fn a_peer_that_comes_back_is_connected_again() {
    for transport in TRANSPORTS {
        let (push, pull) = pair(transport);
        push.send_timeout("one", LONG).unwrap();
        assert_eq!(pull.recv_timeout(LONG).unwrap().body(), b"one");
        let name = push.peers()[0].endpoint.clone();
        pull.close();
        until_eq("peers", 0, || push.peers().len());
        let pull = Pull::new(&Context::new()).unwrap();
        pull.bind(&name).unwrap();
        push.send_timeout("two", LONG).unwrap();
        assert_eq!(pull.recv_timeout(LONG).unwrap().body(), b"two");
    }
}

#[test]
fn work_is_shared_in_turn_and_results_are_taken_fairly() {
    for transport in TRANSPORTS {
        let push = Push::new(&Context::new()).unwrap();
        let bound = push.bind(&endpoint(transport)).unwrap().to_string();
        let pulls: Vec<Pull> = (0..3)
            .map(|_| {
                let pull = Pull::new(&Context::new()).unwrap();
                pull.connect(&bound).unwrap();
                pull
            })
            .collect();
        assert!(push.wait_for_peers(3, LONG));
        for number in 0..300u32 {
            push.send(&number.to_le_bytes()).unwrap();
        }
        push.flush();
        for pull in &pulls {
            for _ in 0..100 {
                pull.recv_timeout(LONG).unwrap();
            }
            assert_eq!(pull.try_recv(), Err(RecvError::WouldBlock));
        }
    }
}

#[test]
fn a_full_peer_blocks_the_sender_and_room_frees_it() {
    let options = Options { send_count_max: 10, ..Options::default() };
    for transport in TRANSPORTS {
        let (push, pull) = pair_with(transport, options.clone());
        assert!(push.wait_for_peers(1, LONG));
        let body = vec![7; 100_000];
        let mut sent = 0;
        while push.send_timeout(&body, Duration::from_millis(100)).is_ok() {
            sent += 1;
            assert!(sent < 1000, "{transport}: no mark holds");
        }
        assert_eq!(push.try_send(&body), Err(SendError::WouldBlock));
        let sender = std::thread::spawn(move || push.send_timeout(&body, LONG));
        for _ in 0..=sent {
            assert_eq!(pull.recv_timeout(LONG).unwrap().size(), 100_000);
        }
        sender.join().unwrap().unwrap();
    }
}

#[test]
fn what_was_accepted_is_delivered_after_close() {
    for transport in TRANSPORTS {
        let (push, pull) = pair(transport);
        let body = vec![1; 50_000];
        assert!(push.wait_for_peers(1, LONG));
        let mut sent = 0;
        while push.try_send(&body).is_ok() {
            sent += 1;
        }
        push.close();
        for number in 0..sent {
            assert!(pull.recv_timeout(LONG).is_ok(), "{transport}: {number} of {sent} arrived");
        }
    }
}

#[test]
fn receiving_times_out_and_never_blocks_when_asked_not_to() {
    for transport in TRANSPORTS {
        let (_push, pull) = pair(transport);
        assert_eq!(pull.try_recv(), Err(RecvError::WouldBlock));
        assert_eq!(pull.recv_timeout(Duration::from_millis(10)), Err(RecvError::TimedOut));
    }
}

#[test]
fn closing_ends_a_blocked_receiver() {
    let pull = Pull::new(&Context::new()).unwrap();
    let other = pull.clone();
    let thread = std::thread::spawn(move || other.recv());
    until("the receiver ends", || {
        pull.clone().close();
        thread.is_finished()
    });
    assert_eq!(thread.join().unwrap(), Err(RecvError::Closed));
}

#[test]
fn several_threads_share_one_handle() {
    for transport in TRANSPORTS {
        let (push, pull) = pair(transport);
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let push = push.clone();
                std::thread::spawn(move || (0..5_000).for_each(|_| push.send("x").unwrap()))
            })
            .collect();
        let receivers: Vec<_> = (0..2)
            .map(|_| {
                let pull = pull.clone();
                std::thread::spawn(move || {
                    let mut count = 0;
                    while pull.recv_timeout(Duration::from_millis(500)).is_ok() {
                        count += 1;
                    }
                    count
                })
            })
            .collect();
        threads.into_iter().for_each(|t| t.join().unwrap());
        push.flush();
        let total: usize = receivers.into_iter().map(|t| t.join().unwrap()).sum();
        assert_eq!(total, 15_000, "{transport}");
    }
}

#[test]
fn a_clone_of_a_closed_socket_stays_closed_when_another_is_opened() {
    let context = Context::new();
    let pull = Pull::new(&context).unwrap();
    let clone = pull.clone();
    pull.close();
    let other = Pull::new(&context).unwrap();
    let bound = other.bind(&endpoint("tcp")).unwrap().to_string();
    let push = Push::new(&Context::new()).unwrap();
    push.connect(&bound).unwrap();
    push.send_timeout("for the other", LONG).unwrap();
    assert_eq!(clone.recv_timeout(LONG), Err(RecvError::Closed));
    drop(clone);
    assert_eq!(other.recv_timeout(LONG).unwrap().body(), b"for the other");
}

#[test]
fn copies_to_all_leave_nobody_out_when_one_is_slow() {
    const COUNT: u32 = 20_000;
    let body = |number: u32| [&number.to_le_bytes()[..], &[7; 1000]].concat();
    let options = Options {
        send_count_max: 64,
        send_count_low: Some(16),
        distribution: Distribution::All,
        ..Options::default()
    };
    for transport in TRANSPORTS {
        let push = Push::with_options(&Context::new(), options.clone()).unwrap();
        let bound = push.bind(&endpoint(transport)).unwrap().to_string();
        let full = Arc::new(Barrier::new(2));
        let receivers: Vec<_> = [None, Some(Arc::clone(&full))]
            .into_iter()
            .map(|full| {
                let bound = bound.clone();
                std::thread::spawn(move || {
                    let options = Options { receive_count_max: 64, ..Options::default() };
                    let pull = Pull::with_options(&Context::new(), options).unwrap();
                    pull.connect(&bound).unwrap();
                    // The slow one, until every buffer on its way is full.
                    full.map(|full| full.wait());
                    for expected in 0..COUNT {
                        let message = pull.recv_timeout(LONG).unwrap();
                        assert!(message.body() == body(expected), "{transport}: {expected}");
                    }
                })
            })
            .collect();
        assert!(push.wait_for_peers(2, LONG));
        let sent = (0..COUNT).find(|number| push.try_send(&body(*number)).is_err());
        full.wait();
        for number in sent.expect("it gets full")..COUNT {
            push.send_timeout(&body(number), LONG).unwrap();
        }
        push.flush();
        receivers.into_iter().for_each(|receiver| receiver.join().unwrap());
        let drops = push.stats().drops;
        assert_eq!((drops.no_peer, drops.newest), (0, 0), "{transport}");
    }
}

/// Short bodies, others, and one long body over and over, by reference.
#[test]
fn batches_of_every_kind_arrive_in_order_within_small_marks() {
    const COUNT: usize = 6_000;
    let message = |index: usize| match index % 500 {
        0..200 => Message::from(&index.to_le_bytes()),
        200..300 => Message::from(vec![7; 3_000]),
        n if n % 3 == 0 => Message::from_frames([&index.to_le_bytes()[..], b"second"]),
        n => Message::from(vec![index as u8; 1 + n]),
    };
    for transport in TRANSPORTS {
        let options = Options { send_count_max: 50, send_count_low: Some(20), ..Options::default() };
        let (push, pull) =
            pair_with(transport, Options { send_bytes_max: 50_000, send_bytes_low: Some(20_000), ..options });
        let sender = std::thread::spawn(move || {
            for start in (0..COUNT).step_by(100) {
                let messages: Vec<Message> = (start..start + 100).map(message).collect();
                let sent = match start % 500 {
                    0 | 100 => push.send_all(messages.iter().map(Message::body)),
                    200 => push.send_all(std::iter::repeat_n(&messages[0], 100)),
                    _ => push.send_all(&messages),
                };
                assert_eq!(sent, Ok(100));
            }
            push
        });
        let (tell, told) = mpsc::channel();
        std::thread::spawn(move || {
            let (mut got, mut batch, mut max) = (Vec::new(), Vec::new(), 1);
            while got.len() < COUNT {
                let count = pull.recv_many(&mut batch, max).unwrap();
                assert!((1..=max).contains(&count) && batch.len() == count);
                got.extend(batch.iter().cloned());
                max = 1 + max * 7 % 90;
            }
            tell.send((pull, got)).unwrap();
        });
        let (pull, got) = told.recv_timeout(LONG).unwrap();
        drop(sender.join().unwrap());
        for (index, got) in got.iter().enumerate() {
            assert_eq!(*got, message(index), "{transport} {index}");
        }
        assert_eq!(pull.stats().received, COUNT as u64);
    }
}

#[test]
fn bodies_by_reference_stop_at_the_mark_by_bytes() {
    let options = Options { send_bytes_max: 1 << 20, ..Options::default() };
    let (push, pull) = pair_with("inproc", options);
    assert!(push.wait_for_peers(1, LONG));
    let body = Message::from(vec![1; 10_000]);
    let timeout = Duration::from_millis(20);
    let accepted = (0..1_000).take_while(|_| push.send_timeout(&body, timeout).is_ok()).count();
    assert_eq!(accepted, 105, "the last one passes the mark");
    (0..accepted).for_each(|_| assert_eq!(pull.recv_timeout(LONG).unwrap(), body));
    assert_eq!(pull.try_recv(), Err(RecvError::WouldBlock));
    push.try_send(&body).unwrap();
}

#[test]
fn a_body_over_the_limit_is_refused_among_others_that_gather() {
    let limit = 10_000;
    let (push, pull) = pair_with("inproc", Options { message_size_max: limit, ..Options::default() });
    assert!(push.wait_for_peers(1, LONG));
    let (good, bad) = (Message::from(vec![1; limit]), Message::from(vec![1; limit + 1]));
    for _ in 0..5 {
        push.send(&good).unwrap();
        assert_eq!(push.send(&bad), Err(SendError::TooLarge { size: limit + 1, limit }));
    }
    let refused = push.send_all([&good, &good, &bad, &good]);
    let source = SendError::TooLarge { size: limit + 1, limit };
    assert_eq!(refused, Err(SendAllError { sent_count: 2, source }));
    push.flush();
    (0..7).for_each(|_| assert_eq!(pull.recv_timeout(LONG).unwrap(), good));
    assert_eq!(pull.try_recv(), Err(RecvError::WouldBlock));
}

#[test]
fn a_sender_that_is_full_says_so_whatever_its_marks() {
    let no_mark = Options { send_count_max: usize::MAX, send_bytes_max: usize::MAX, ..Options::default() };
    let low_is_high = Options { send_count_max: 40, send_count_low: Some(40), ..Options::default() };
    let bytes_alike = Options { send_bytes_max: 4000, send_bytes_low: Some(4000), ..Options::default() };
    for transport in TRANSPORTS {
        for options in [&no_mark, &low_is_high, &bytes_alike] {
            let (push, pull) = pair_with(transport, options.clone());
            assert!(push.wait_for_peers(1, LONG));
            let (told, tells) = mpsc::channel();
            let sender = push.clone();
            std::thread::spawn(move || {
                // More than a ring has places for; without a mark a stream takes all of it.
                let full = (0..100_000).find(|_| sender.try_send(&[7; 100]).is_err());
                told.send(full).unwrap();
            });
            let full =
                tells.recv_timeout(LONG).unwrap_or_else(|_| panic!("{transport}: it goes round in circles"));
            assert_eq!(
                full.is_some(),
                options != &no_mark || transport == "inproc",
                "{transport}, {options:?}"
            );
            // It goes on as soon as there is room.
            for _ in 0..full.unwrap_or(100_000) {
                assert_eq!(pull.recv_timeout(LONG).unwrap().size(), 100);
            }
            push.send_timeout("on", LONG).unwrap();
            assert_eq!(pull.recv_timeout(LONG).unwrap().body(), b"on");
        }
    }
}
