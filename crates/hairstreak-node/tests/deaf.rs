//! Many clients that never read: what waits for them all is bounded, not only what waits for each.

use std::time::{Duration, Instant};

use hairstreak_node::{NodeConfig, Server, ServiceOptions};
use hairstreak_socket::{Context, Dealer, Message, Options};

const CLIENTS: usize = 50;
const REPLIES: usize = 12;
static REPLY: [u8; 1 << 20] = [b'x'; 1 << 20];
const PATIENCE: Duration = Duration::from_secs(60);

/// What this process has in memory, in MiB.
fn memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() / 1024
}

#[test]
fn clients_that_never_read_share_what_there_is_for_replies() {
    let services = ServiceOptions { bytes_max: 64 << 20, ..ServiceOptions::default() };
    let services_bind = vec!["tcp://127.0.0.1:*".to_owned()];
    let server = Server::start(NodeConfig { services_bind, services, ..NodeConfig::default() }).unwrap();
    let at = server.service_endpoints()[0].to_string();
    let context = Context::new();
    let worker = Dealer::new(&context).unwrap();
    worker.connect(&at).unwrap();
    worker.send(&Message::from_frames([&b""[..], b"MDPW01", b"\x01", b"large"])).unwrap();
    let before = memory();
    let options = Options { receive_bytes_max: 1, receive_count_max: 1, ..Options::default() };
    let deaf: Vec<Dealer> = (0..CLIENTS)
        .map(|_| {
            let deaf = Dealer::with_options(&context, options.clone()).unwrap();
            deaf.connect(&at).unwrap();
            for _ in 0..REPLIES {
                deaf.send(&Message::from_frames([&b""[..], b"MDPC01", b"large", b"x"])).unwrap();
            }
            deaf
        })
        .collect();
    let (mut answered, mut most, end) = (0, 0, Instant::now() + PATIENCE);
    // Those of clients that have too much already are not asked for.
    while answered < CLIENTS * REPLIES
        && let Ok(request) = worker.recv_timeout(Duration::from_secs(3))
    {
        if let Some(address) = request.frame(3) {
            let head = [&b""[..], b"MDPW01", b"\x03", address, b"", &REPLY];
            worker.send(&Message::from_frames(head)).unwrap();
            answered += 1;
            most = most.max(memory());
            assert!(Instant::now() < end, "{answered}");
        }
    }
    // 16 MiB wait in all, what came before that was seen, and 64 MiB.
    assert!(most < before + 250, "{before} MiB before, {most} MiB when {answered} were answered");
    assert!(answered >= CLIENTS, "{answered}");
    drop(deaf);
    server.stop();
}
