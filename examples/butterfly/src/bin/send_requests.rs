//! `send_requests`: hands out the requests, waits for the word that all replies are in, and says how
//! many transactions that made a second. Again and again, until its input ends.

use std::error::Error;
use std::io::{self, BufRead};
use std::process::ExitCode;
use std::time::Instant;

use butterfly::{Arguments, Usage, join, run, show};
use hairstreak::{Scope, Style};

const USAGE: Usage<2> = Usage {
    program: "send_requests",
    interfaces: ["out-interface", "sync-interface"],
    number: Some("transaction-count"),
    number_min: 1,
};

fn main() -> ExitCode {
    run(USAGE, send_requests)
}

fn send_requests(arguments: &Arguments<2>) -> Result<(), Box<dyn Error>> {
    let [out_interface, sync_interface] = &arguments.interfaces;
    let component = join(&arguments.host)?;
    let requests = component
        .exchange("SEND_REQUESTS_OUT")
        .scope(Scope::Global)
        .style(Style::LoadBalancing)
        .interface(out_interface)
        .open()?;
    let sync = component.queue("SYNC_IN").scope(Scope::Global).interface(sync_interface).open()?;

    let transaction_count = arguments.number;
    loop {
        show("Hit ENTER to start!")?;
        // Any line will do, whatever it says.
        if io::stdin().lock().skip_until(b'\n')? == 0 {
            return Ok(());
        }
        show("Running...")?;
        let start = Instant::now();
        for _ in 0..transaction_count {
            requests.send(&[0; 100])?;
        }
        sync.recv()?;
        let throughput = transaction_count as f64 / start.elapsed().as_secs_f64();
        show(&format!("Throughput: {throughput:.3} transactions/second."))?;
    }
}
