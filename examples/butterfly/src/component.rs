//! `work`: what component1 and component2 do. They differ in names only.

use std::error::Error;
use std::thread::sleep;
use std::time::Duration;

use crate::arguments::Arguments;
use crate::program::join;
use crate::window::show;

/// How long the programs before and behind may take to answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// Where a component stands.
#[derive(Clone, Copy, Debug)]
pub struct Component {
    /// The global exchange that its requests come from.
    pub requests: &'static str,
    /// Its own queue.
    pub queue: &'static str,
    /// Its own exchange.
    pub exchange: &'static str,
    /// The global queue that its replies go to.
    pub replies: &'static str,
}

/// Waits for every request as long as it is told to, in the place of real work, and passes it on.
pub fn work(component: Component, arguments: &Arguments<0>) -> Result<(), Box<dyn Error>> {
    let this = join(&arguments.host)?;
    let queue = this.queue(component.queue).open()?;
    let exchange = this.exchange(component.exchange).open()?;
    this.bind(component.requests, component.queue)?;
    this.bind(component.exchange, component.replies)?;

    // Requests are handed out to who is there: say when that is so.
    if !queue.wait_for_exchanges(1, PATIENCE) || !exchange.wait_for_queues(1, PATIENCE) {
        return Err(format!("{} or {} cannot be reached", component.requests, component.replies).into());
    }
    // Nobody may be looking.
    let _ = show("Ready.");

    let processing_time = Duration::from_millis(arguments.number);
    loop {
        let request = queue.recv()?;
        sleep(processing_time);
        exchange.send(&request)?;
    }
}
