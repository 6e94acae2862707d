//! A process that ends right after it has sent: what was accepted still arrives.
//!
//! The process is this test binary, started again to run `the_sender` alone.

use std::process::Command;

use hairstreak_socket::{Context, Pull, Push};
use hairstreak_testkit::BoundedChild;

use crate::LONG;
use crate::endpoints::endpoint;
use crate::soak::amount;

const PLACE: &str = "HAIRSTREAK_TEST_SENDS_TO";
const COUNT: u64 = 20_000;

fn body(number: u64) -> Vec<u8> {
    let mut body = number.to_le_bytes().to_vec();
    body.resize(8 + (number % 200) as usize, 7);
    body
}

#[test]
fn a_process_that_ends_has_sent_everything() {
    for transport in ["tcp", "ipc"] {
        for run in 0..amount(5, 100) {
            let pull = Pull::new(&Context::new()).unwrap();
            let place = pull.bind(&endpoint(transport)).unwrap().to_string();
            let mut sender = Command::new(std::env::current_exe().unwrap());
            let sender = sender.args(["exit::the_sender", "--exact"]).env(PLACE, &place);
            let mut sender = sender.stdout(std::process::Stdio::null()).spawn().unwrap();
            for number in 0..COUNT {
                let message = pull.recv_timeout(LONG);
                let message = message.unwrap_or_else(|e| panic!("{place}, run {run}: message {number}: {e}"));
                assert_eq!(message.body(), body(number));
            }
            assert!(sender.end().success());
        }
    }
}

/// The process that ends: sends, drops its socket and returns. Run with the others it has nobody to
/// send to.
#[test]
fn the_sender() {
    let Ok(place) = std::env::var(PLACE) else { return };
    let push = Push::new(&Context::new()).unwrap();
    push.connect(&place).unwrap();
    (0..COUNT).for_each(|number| push.send_timeout(&body(number), LONG).unwrap());
}
