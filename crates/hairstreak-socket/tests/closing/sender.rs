//! The sender: joins, sends, closes at once, and says what it sent.

use hairstreak_socket::{Context, Message, Push, SendError};

use crate::run::{Behind, Run};
use crate::stream::{Stream, Tally};
use crate::{LONG, PAUSE};

/// The [`Run`] of a process that is to be a sender.
pub const RUN: &str = "HAIRSTREAK_TEST_RUN";
/// How a line begins that is for the test and not of the test harness.
pub const MARK: &str = "@ ";

/// Says "bound PLACE" if it binds, and "closed COUNT TALLY" in the end.
pub fn send(run: &Run, say: impl Fn(String)) {
    let push = Push::with_options(&Context::new(), run.options()).unwrap();
    if run.sender_binds {
        say(format!("bound {}", push.bind(&run.place).unwrap()));
    } else {
        push.connect(&run.place).unwrap();
    }
    assert!(push.wait_for_peers(1, LONG));
    let patience = if run.behind == Behind::Marks { LONG } else { PAUSE };
    let (mut stream, mut tally) = (Stream::new(run.seed), Tally::default());
    for number in 0..run.count {
        let frames = stream.draw();
        let sent = match (number % 2, &frames[..]) {
            (0, [body]) => push.send_timeout(*body, patience),
            (0, frames) => push.send_timeout(frames, patience),
            _ => push.send_timeout(&Message::from_frames(&frames), patience),
        };
        match sent {
            Ok(()) => tally.add(frames.iter().copied()),
            Err(SendError::TimedOut) if run.behind != Behind::Marks => break,
            Err(error) => panic!("{run:?}: message {number}: {error}"),
        }
    }
    push.close();
    say(format!("closed {} {}", tally.messages(), tally.text()));
}

/// The process that sends, closes and ends. Run with the others it has nobody to send to.
#[test]
fn the_sender() {
    let Ok(words) = std::env::var(RUN) else { return };
    send(&Run::from_words(&words), |line| println!("\n{MARK}{line}"));
}
