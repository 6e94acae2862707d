//! What one PUSH refuses is sent by another, which keeps it.

use std::pin::pin;

use hairstreak_socket::settlement::{LetterNote, RefusalCause};
use hairstreak_socket::{Context, SendError};
use hairstreak_testkit::until_eq;

use crate::executor::{Alarm, poll_with};
use crate::{LONG, by_hand, check, take, window};

#[test]
fn what_is_refused_is_sent_on_and_sends_wait_until_it_is_settled() {
    check(|cell| {
        let context = Context::new();
        let (push, letters, [place, end]) = cell.two_pushes(&context, window(10), window(2));
        assert!(push.pass_refusals_to(&letters) && !push.pass_refusals_to(&push));
        let (pull, reader) = (cell.pull(&place, by_hand(1000)), cell.pull(&end, by_hand(1000)));
        for number in 0..5u8 {
            push.send_timeout(&[number], LONG).unwrap();
        }
        let taken = take(&pull, 5, 0);
        taken[..4].iter().for_each(|delivery| assert!(pull.reject(delivery, "no such thing")));
        until_eq("unsettled tasks", 1, || push.unsettled().count);
        // Those that were under way are on top of two.
        assert_eq!((letters.unsettled().count, push.unsettled().refused_count), (4, 4));
        assert!(push.take_refusals().is_empty());
        assert_eq!(push.try_send("x"), Err(SendError::WouldBlock));
        let read = take(&reader, 4, 0);
        for (letter, task) in read.iter().zip(&taken) {
            assert_eq!((letter.task, letter.message.frame(0)), (task.task, task.message.frame(0)));
            let note = LetterNote::decode(letter.message.frame(1).unwrap()).unwrap();
            let cause = RefusalCause::Rejected(b"no such thing".to_vec());
            assert_eq!(note, LetterNote { task: task.task.unwrap(), deliveries: 1, cause });
        }
        let (alarm, mut sending) = (Alarm::new(), pin!(push.send_async("x")));
        assert!(poll_with(&alarm, sending.as_mut()).is_pending());
        read.iter().for_each(|letter| assert!(reader.accept(letter)));
        // A task that waits for room hears of it, though it is another socket's.
        while poll_with(&alarm, sending.as_mut()).is_pending() {
            alarm.wait();
        }
        assert_eq!(letters.unsettled().count, 0);
    });
}
