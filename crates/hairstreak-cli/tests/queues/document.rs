//! The tour of docs/queues.md: each block of commands prints the block of text after it.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::harness::{Broker, HAIRSTREAK, end, folder};

#[test]
fn the_tour_prints_what_it_says() {
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/queues.md");
    let document = std::fs::read_to_string(document).unwrap();
    let broker = Broker::start();
    let folder = folder("tour");
    let programs = Path::new(HAIRSTREAK).parent().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let mut count = 0;
    for block in document.split("```sh\n").skip(1) {
        let (commands, rest) = block.split_once("```").unwrap();
        let (_, text) = rest.split_once("```text\n").unwrap();
        let (expected, _) = text.split_once("```").unwrap();
        let mut shell = Command::new("sh");
        shell.args(["-e", "-c", &format!("exec 2>&1\n{commands}")]).current_dir(&folder);
        shell.env("PATH", &path).env("AMQP_URL", &broker.url);
        shell.stdin(Stdio::piped()).stdout(Stdio::piped());
        let outcome = end(shell.spawn().unwrap(), b"");
        assert_eq!(String::from_utf8_lossy(&outcome.stdout), expected, "{commands}");
        count += 1;
    }
    assert_eq!(count, 5);
}
