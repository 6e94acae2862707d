//! A flood of wrong logins beside clients who work.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hairstreak_socket::security::{Login, Security};
use hairstreak_socket::{Context, Dealer, Options};
use hairstreak_testkit::PATIENCE;

use crate::node::{Mechanism, Served};

/// Connections that try one wrong password after the other.
const FLOOD_COUNT: usize = 32;
/// The least time that the flood lasts.
const FLOOD_TIME: Duration = Duration::from_secs(4);
/// The least number of wrong logins, however long they take on a busy machine.
const FAILURES_MIN: u64 = FLOOD_COUNT as u64 + 1;
/// The longest that a call of a client that is in may take meanwhile, on a busy machine.
const CALL_TIME_MAX: Duration = Duration::from_secs(2);

#[test]
fn clients_that_are_in_do_not_notice_a_flood_of_wrong_logins_and_others_get_in() {
    let served = Served::with_slow_passwords(true);
    let boss = served.credentials("everything", Mechanism::Plain);
    let worker = served.worker(boss.clone(), "echo");
    let control = worker.control();
    let run = thread::spawn(move || worker.run(|request| Ok(request.body().into())));
    let client = served.client(boss.clone());
    client.call("echo", "before").unwrap();
    let (is_over, failures) = (AtomicBool::new(false), AtomicU64::new(0));
    let (calls, longest) = thread::scope(|scope| {
        for number in 0..FLOOD_COUNT {
            let (place, is_over, failures) = (served.services(), &is_over, &failures);
            scope.spawn(move || flood(&place, number, is_over, failures));
        }
        let _end = FloodEnd(&is_over);
        let start = Instant::now();
        let (mut calls, mut longest) = (0, Duration::ZERO);
        while start.elapsed() < FLOOD_TIME || failures.load(Ordering::Relaxed) < FAILURES_MIN {
            assert!(start.elapsed() < PATIENCE, "{failures:?} wrong logins within {PATIENCE:?}");
            let begin = Instant::now();
            client.call("echo", "meanwhile").unwrap();
            longest = longest.max(begin.elapsed());
            calls += 1;
            // A remembered login needs no hash, and a key never needs one.
            if calls % 100 == 1 {
                served.client(boss.clone()).call("echo", "again").unwrap();
                served.client(served.credentials("writes", Mechanism::Curve)).call("echo", "key").unwrap();
            }
        }
        // A password that was not seen before waits for its turn, which it has.
        served.client(served.credentials("writes", Mechanism::Plain)).call("echo", "new").unwrap();
        (calls, longest)
    });
    println!("{calls} calls, the longest took {longest:?}; {failures:?} wrong logins");
    assert!(longest < CALL_TIME_MAX, "{longest:?}");
    control.leave();
    run.join().unwrap().unwrap();
}

/// Ends the flood when it is dropped, also by a failure, behind which the scope waits for the flood's threads.
struct FloodEnd<'a>(&'a AtomicBool);

impl Drop for FloodEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Tries one wrong password after the other, and counts the handshakes that failed.
fn flood(place: &str, number: usize, is_over: &AtomicBool, failures: &AtomicU64) {
    let mut attempt = 0;
    while !is_over.load(Ordering::Relaxed) {
        attempt += 1;
        let login = Login::new(b"everything", format!("wrong {number} {attempt}").as_bytes()).unwrap();
        let options = Options { security: Security::Plain(login), ..Options::default() };
        let dealer = Dealer::with_options(&Context::new(), options).unwrap();
        dealer.connect(place).unwrap();
        while dealer.stats().failed_connections == 0 && !is_over.load(Ordering::Relaxed) {
            // Drives the handshake; nobody comes.
            assert!(!dealer.wait_for_peers(1, Duration::from_millis(10)));
        }
        failures.fetch_add(dealer.stats().failed_connections, Ordering::Relaxed);
    }
}
