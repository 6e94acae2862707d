//! What a proxy costs: the processor time of its thread for each message that it passes on.
//!
//! `cargo run --release -p hairstreak-socket --example passing`: a streamer between a PUSH and a PULL in threads of
//! their own, whose ends share an engine or have one each. The rate is that of all three threads, on as many cores as
//! there are; the processor time is the proxy's own.

use std::error::Error;
use std::time::Instant;

use hairstreak_socket::{Context, Proxy, Pull, Push};
use rustix::time::{ClockId, clock_gettime};

const TRANSPORTS: [&str; 3] = ["tcp://127.0.0.1:*", "shm://passing-*", "inproc://passing-*"];
const MESSAGE_COUNT: usize = 1_000_000;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// The processor time that this thread has used, in nanoseconds.
fn thread_time_ns() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// Passes messages on, and tells the rate (M/s) and the proxy's time for each (ns).
fn pass(transport: &str, body_size: usize, number: usize, shares: bool) -> Outcome<(f64, f64)> {
    let context = Context::new();
    let other = if shares { context.clone() } else { Context::new() };
    let (frontend, backend) = (Pull::new(&context)?, Push::new(&other)?);
    let place = |side: &str| transport.replace("passing-*", &format!("passing-{side}-{number}"));
    let (entrance, exit) = (frontend.bind(&place("in"))?, backend.bind(&place("out"))?);
    let mut proxy = Proxy::new(&frontend, &backend)?;
    let control = proxy.control();
    let running = std::thread::spawn(move || {
        let outcome = proxy.run();
        outcome.map(|_| thread_time_ns())
    });
    let pull = Pull::new(&Context::new())?;
    pull.connect(&exit.to_string())?;
    let since = Instant::now();
    let sender = std::thread::spawn(move || -> Outcome<()> {
        let push = Push::new(&Context::new())?;
        push.connect(&entrance.to_string())?;
        let body = vec![7; body_size];
        for _ in 0..MESSAGE_COUNT {
            push.send(&body)?;
        }
        Ok(())
    });
    for _ in 0..MESSAGE_COUNT {
        pull.recv()?;
    }
    let rate = MESSAGE_COUNT as f64 / since.elapsed().as_secs_f64() / 1e6;
    sender.join().map_err(|_| "the sender failed")??;
    control.terminate();
    let time = running.join().map_err(|_| "the proxy failed")??;
    Ok((rate, time / MESSAGE_COUNT as f64))
}

fn main() -> Outcome<()> {
    let mut number = 0;
    for transport in TRANSPORTS {
        for body_size in [8, 1024] {
            for shares in [true, false] {
                number += 1;
                let (rate, time_ns) = pass(transport, body_size, number, shares)?;
                let (scheme, engines) =
                    (transport.split(':').next().unwrap_or_default(), if shares { 1 } else { 2 });
                println!("{scheme}, {body_size} B, engines: {engines}: {rate:.2} M/s, {time_ns:.0} ns each");
            }
        }
    }
    Ok(())
}
