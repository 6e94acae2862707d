//! `receive_replies`: gathers the replies; when all of a run are in, tells `send_requests`.

use std::error::Error;
use std::process::ExitCode;

use butterfly::{Arguments, Usage, join, run, show};
use hairstreak::Scope;

const USAGE: Usage<1> = Usage {
    program: "receive_replies",
    interfaces: ["in-interface"],
    number: Some("transaction-count"),
    number_min: 1,
};

fn main() -> ExitCode {
    run(USAGE, receive_replies)
}

fn receive_replies(arguments: &Arguments<1>) -> Result<(), Box<dyn Error>> {
    let [in_interface] = &arguments.interfaces;
    let component = join(&arguments.host)?;
    let replies =
        component.queue("RECEIVE_REPLIES_IN").scope(Scope::Global).interface(in_interface).open()?;
    let sync = component.exchange("SYNC_OUT").open()?;
    component.bind("SYNC_OUT", "SYNC_IN")?;
    // Nobody may be looking.
    let _ = show("Ready.");

    let transaction_count = arguments.number;
    loop {
        for _ in 0..transaction_count {
            replies.recv()?;
        }
        sync.send(b"!")?;
    }
}
