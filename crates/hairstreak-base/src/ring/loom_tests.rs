//! The ring under loom: every interleaving of a producer and a consumer.

use super::*;

fn pop(consumer: &mut Consumer) -> Option<Message> {
    let mut message = Message::new();
    consumer.pop(&mut message).then_some(message)
}

#[test]
fn loom_messages_cross_in_order_and_none_is_lost() {
    loom::model(|| {
        let (mut producer, mut consumer) = ring(1);
        let thread = loom::thread::spawn(move || {
            for value in 0..3u8 {
                let mut next = Message::from(vec![value; 70]);
                while let Err(back) = producer.push(next) {
                    producer.publish();
                    loom::thread::yield_now();
                    next = back;
                }
                producer.publish();
            }
        });
        for expected in 0..3u8 {
            let message = loop {
                match pop(&mut consumer) {
                    Some(message) => break message,
                    None => {
                        consumer.release();
                        loom::thread::yield_now();
                    }
                }
            };
            assert_eq!(message.body()[0], expected);
        }
        thread.join().unwrap();
    });
}

/// The producer waits for room at the end of the ring, and the records wrap.
#[test]
fn loom_room_is_written_again_after_what_lay_there_was_taken() {
    loom::model(|| {
        let wide = |value: u8| Message::from_frames([[value], [value]]);
        let (mut producer, mut consumer) = ring(1);
        let mut count = 0;
        while producer.push(wide(count)).is_ok() {
            count += 1;
        }
        producer.publish();
        let thread = loom::thread::spawn(move || {
            let mut next = wide(count);
            while let Err(back) = producer.push(next) {
                loom::thread::yield_now();
                next = back;
            }
            producer.publish();
            producer
        });
        for expected in 0..count {
            assert_eq!(pop(&mut consumer).unwrap(), wide(expected));
            consumer.release();
        }
        let _producer = thread.join().unwrap();
        assert_eq!(pop(&mut consumer).unwrap(), wide(count));
    });
}

/// The sleep protocol of an engine. One side publishes, fences, and looks for a sleeper. The other announces its
/// sleep, fences, and looks for messages. At least one side must notice the other.
#[test]
fn loom_a_sleeper_is_seen_or_sees_the_message() {
    use loom::sync::atomic::{AtomicBool, fence};
    loom::model(|| {
        let (mut producer, mut consumer) = ring(2);
        let sleeping = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&sleeping);
        let thread = loom::thread::spawn(move || {
            assert!(producer.push_short(b"x"));
            producer.publish();
            fence(Ordering::SeqCst);
            (flag.load(Ordering::Relaxed), producer)
        });
        sleeping.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let seen = pop(&mut consumer).is_some();
        let (woken, _producer) = thread.join().unwrap();
        assert!(seen || woken);
    });
}
