//! Peers that do not read, do not answer or are absent: waiting messages are bounded, the errors are clear, other peers are not affected.

use std::time::Duration;

use hairstreak::service::{Client, ClientOptions, Refusal, RequestError};
use hairstreak_socket::{Context, Dealer, Options};
use hairstreak_testkit::until;

use crate::script::Script;
use crate::{LONG, broker};

/// More requests than the queue of a service holds.
const FLOOD: usize = 1_000_000;

fn client(at: &str, options: ClientOptions) -> Client {
    Client::with_options(&[at], options).unwrap()
}

/// The resident memory of the process, in KiB.
pub fn memory(process: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Checks that another service of the broker answers at once.
fn assert_unaffected(at: &str) {
    let others = client(at, ClientOptions::default());
    assert_eq!(others.call("shout", "hello").unwrap().body(), b"HELLO");
}

#[test]
fn a_million_requests_for_a_service_without_workers_are_bounded_and_refused_clearly() {
    // On a busy machine the flood takes longer than requests wait by default. A request that expires would leave room for another request.
    let (broker, at) = broker(&["tcp://127.0.0.1:*", "--limit", "queue-age=3600s"]);
    let _worker =
        Script::hairstreak(&["worker", "--broker", &at, "--service", "shout", "--", "tr", "a-z", "A-Z"]);
    assert_unaffected(&at);
    let (mut refused, mut sent, mut clients) = (0, 0, Vec::new());
    while sent < FLOOD {
        // The window of a client is smaller than the number of requests that the broker follows for each client.
        let flooder =
            client(&at, ClientOptions { window: 100_001, timeout: None, ..ClientOptions::default() });
        for _ in 0..100_000 {
            flooder.send("nobody", "x").unwrap();
        }
        sent += 100_000;
        // The broker has read the whole flood when it answers the request after it.
        let report = flooder.call("mmi.service", "nobody").unwrap();
        assert_eq!(report.body(), b"404");
        while let Some(reply) = flooder.try_recv() {
            let Err(RequestError::Refused { refusal: Refusal::Full, text }) = reply.result else {
                panic!("{reply:?}")
            };
            assert_eq!(text, "as much waits for the service as may");
            refused += 1;
        }
        clients.push(flooder);
    }
    assert_eq!(sent - refused, 262_144, "so many may wait");
    let used = memory(broker.id());
    assert!(used < 512 << 10, "{used} KiB");
    assert_unaffected(&at);
}

#[test]
fn small_requests_that_wait_do_not_keep_the_large_ones_that_came_with_them() {
    let (broker, at) = broker(&[]);
    let client = client(&at, ClientOptions { window: 20_000, timeout: None, ..ClientOptions::default() });
    let (small, large) = ([b's'; 300], vec![b'l'; 60_000]);
    // Each lies in a read of 64 KiB with those: 400 MB and more in all, of which those of a tenth of a second may be there.
    for _ in 0..12_000 {
        client.send("nobody", small.as_slice()).unwrap();
        assert_eq!(client.call("mmi.service", large.as_slice()).unwrap().body(), b"404");
    }
    let used = memory(broker.id());
    assert!(used < 200 << 10, "{used} KiB");
}

#[test]
fn a_client_that_never_reads_costs_a_bounded_amount_and_nobody_else_notices() {
    let (broker, at) = broker(&[]);
    let _worker =
        Script::hairstreak(&["worker", "--broker", &at, "--service", "shout", "--", "tr", "a-z", "A-Z"]);
    assert_unaffected(&at);
    let _large = Script::majordomo(&["worker", &at, "0.1", "large"]);
    let options = Options { receive_bytes_max: 1, receive_count_max: 1, ..Options::default() };
    let deaf = Dealer::with_options(&Context::new(), options).unwrap();
    deaf.connect(&at).unwrap();
    // Replies of 1 MiB each, of which it reads none: 1 GiB in all.
    for _ in 0..1_000 {
        let request: [&[u8]; 4] = [b"", b"MDPC01", b"large", b"x"];
        deaf.send_timeout(request.as_slice(), LONG).unwrap();
    }
    let others = client(&at, ClientOptions::default());
    let settled = || {
        let report: serde_json::Value =
            serde_json::from_slice(others.call("hairstreak.services", "").unwrap().body()).unwrap();
        let large = report["services"].as_array().unwrap().iter().find(|s| s["name"] == "large").cloned();
        let outstanding = large.and_then(|large| large["outstanding"].as_u64());
        if outstanding == Some(0) { Ok(()) } else { Err(outstanding) }
    };
    until("no outstanding request", settled);
    let used = memory(broker.id());
    assert!(used < 256 << 10, "{used} KiB");
    assert_unaffected(&at);
}

#[test]
fn a_worker_that_never_answers_keeps_its_own_requests_only() {
    let (_broker, at) = broker(&[]);
    let _worker =
        Script::hairstreak(&["worker", "--broker", &at, "--service", "shout", "--", "tr", "a-z", "A-Z"]);
    let _mute = Script::hairstreak(&["worker", "--broker", &at, "--service", "mute", "--", "sleep", "1000"]);
    let impatient = ClientOptions { timeout: Some(Duration::from_millis(300)), ..ClientOptions::default() };
    let asking = client(&at, impatient);
    for _ in 0..5 {
        assert_eq!(asking.call("mute", "x"), Err(RequestError::TimedOut(Duration::from_millis(300))));
    }
    assert_unaffected(&at);
}
