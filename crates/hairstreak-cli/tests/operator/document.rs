//! The tour of docs/operating.md: each block of commands prints the block of text after it.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::broker::{Broker, tests_of_each_broker};
use crate::process::{HAIRSTREAK, end, folder};

tests_of_each_broker! {
    the_tour_prints_what_it_says,
}

fn the_tour_prints_what_it_says(broker: &Broker) {
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/operating.md");
    let document = std::fs::read_to_string(document).unwrap();
    let folder = folder("operating");
    let mut count = 0;
    for block in document.split("```sh\n").skip(1) {
        let (commands, rest) = block.split_once("```").unwrap();
        let (_, text) = rest.split_once("```text\n").unwrap();
        let (expected, _) = text.split_once("```").unwrap();
        let commands = commands.replace("127.0.0.1:5672", &broker.amqp);
        // Lists show older counters, and clients that are still connecting.
        let attempts = if commands.lines().all(is_list) { 300 } else { 1 };
        let mut printed = run(broker, &folder, &commands);
        for _ in 1..attempts {
            if masked(&printed) == masked(expected) {
                break;
            }
            // tidy: allow(sleeps) the broker's rates are those of its last seconds
            std::thread::sleep(std::time::Duration::from_millis(100));
            printed = run(broker, &folder, &commands);
        }
        let is_so = masked(&printed) == masked(expected);
        assert!(is_so, "{commands}printed\n{printed}and not\n{expected}");
        count += 1;
    }
    assert_eq!(count, 11);
}

fn is_list(command: &str) -> bool {
    let mut words = command.split_whitespace().skip(1);
    let lists = ["queues", "vhosts", "policies", "consumers", "connections"];
    words.next().is_some_and(|noun| lists.contains(&noun))
        && words.next().is_some_and(|word| word.starts_with("--"))
}

fn run(broker: &Broker, folder: &Path, commands: &str) -> String {
    let programs = Path::new(HAIRSTREAK).parent().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("timeout");
    shell
        .args(["--signal=KILL", "120", "sh", "-e", "-c", &format!("exec 2>&1\n{commands}")])
        .current_dir(folder)
        .env("PATH", &path);
    shell.env("AMQP_URL", format!("amqp://{}/shop", broker.amqp));
    shell.env("HAIRSTREAK_HTTP_URL", format!("http://{}", broker.http));
    shell.stdin(Stdio::piped()).stdout(Stdio::piped());
    let deletes = commands.contains(" delete ");
    let outcome = broker.in_company(deletes, || end(shell.spawn().unwrap(), b""));
    String::from_utf8(outcome.stdout).unwrap()
}

/// A text with the same number in place of each port. A text with ports loses the spaces of its tables as well.
fn masked(text: &str) -> String {
    let mut parts = text.split("127.0.0.1:");
    let mut masked = parts.next().unwrap_or_default().to_owned();
    let mut has_ports = false;
    for part in parts {
        has_ports = true;
        masked.push_str("127.0.0.1:PORT");
        masked.push_str(part.trim_start_matches(|character: char| character.is_ascii_digit()));
    }
    if !has_ports {
        return masked;
    }
    masked.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n").collect()
}
