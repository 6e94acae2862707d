//! Tests of the ring, message by message, and between two threads.

use super::*;

fn pop(consumer: &mut Consumer) -> Option<Message> {
    let mut message = Message::new();
    consumer.pop(&mut message).then_some(message)
}

fn message(index: usize) -> Message {
    match index % 4 {
        0 => Message::from(vec![index as u8; index % 63]),
        1 => Message::from(vec![index as u8; 63 + index % 500]),
        2 => Message::from_frames([vec![1; index % 10], vec![index as u8; 3]]),
        _ => Message::from(&index.to_le_bytes()),
    }
}

#[test]
fn messages_of_every_kind_cross_threads_in_order() {
    const COUNT: usize = crate::sync::rounds(200_000);
    let (mut producer, mut consumer) = ring(50);
    let thread = std::thread::spawn(move || {
        for index in 0..COUNT {
            let mut next = message(index);
            while let Err(back) = producer.push(next) {
                producer.publish();
                std::thread::yield_now();
                next = back;
            }
            if index % 7 == 0 {
                producer.publish();
            }
        }
    });
    let mut expected = 0;
    while expected < COUNT {
        match pop(&mut consumer) {
            Some(got) => {
                assert!(got == message(expected), "message {expected}");
                expected += 1;
            }
            None => {
                consumer.release();
                std::thread::yield_now();
            }
        }
    }
    thread.join().unwrap();
    assert!(consumer.is_closed());
}

#[test]
fn a_ring_has_room_for_its_count_of_the_widest_messages_wherever_it_stands() {
    for start in 0..40 {
        let (mut producer, mut consumer) = ring(7);
        for _ in 0..start {
            assert!(producer.push_short(b"x"));
            producer.publish();
            pop(&mut consumer).unwrap();
            consumer.release();
        }
        for index in 0..7 {
            assert!(producer.push(Message::from(vec![7; 100])).is_ok(), "{start} {index}");
        }
    }
}

#[test]
fn a_full_ring_returns_the_message_and_room_comes_back() {
    let (mut producer, mut consumer) = ring(1);
    let wide = Message::from(vec![1; 100]);
    let mut count = 0;
    while producer.push(wide.clone()).is_ok() {
        count += 1;
    }
    producer.publish();
    assert_eq!(pop(&mut consumer).unwrap(), wide);
    assert_eq!(producer.look(), (count, 0));
    consumer.release();
    assert_eq!(producer.look(), (count - 1, 100));
    producer.push(wide).unwrap();
}

#[test]
fn unpublished_messages_are_invisible() {
    let (mut producer, mut consumer) = ring(4);
    assert!(producer.push_short(b"one"));
    assert_eq!((pop(&mut consumer), producer.unpublished()), (None, 1));
    producer.publish();
    assert_eq!(pop(&mut consumer).unwrap().body(), b"one");
}

#[test]
fn a_shared_body_is_referred_to_by_whoever_has_it_and_nobody_else() {
    let body = Message::from(vec![9; 1000]);
    let (mut producer, mut consumer) = ring(8);
    for _ in 0..6 {
        assert!(producer.share_frame(&body.as_frames()[0]));
    }
    producer.publish();
    assert_eq!(body.as_frames()[0].reference_count(), 7);
    (0..6).for_each(|_| assert_eq!(pop(&mut consumer).unwrap(), body));
    assert_eq!(body.as_frames()[0].reference_count(), 1);
}

#[test]
fn what_was_not_taken_is_dropped_once() {
    let body = Message::from(vec![9; 1000]);
    let (mut producer, mut consumer) = ring(8);
    (0..6).for_each(|_| producer.push(body.clone()).unwrap());
    producer.publish();
    pop(&mut consumer).unwrap();
    drop((producer, consumer));
    assert_eq!(body.as_frames()[0].reference_count(), 1);
}
