//! `hairstreak fabric serve`: runs a fabric until a signal ends it.

use std::thread;
use std::time::Duration;

use hairstreak_transport::vortex::{Fabric, FabricError, FabricOptions};
use signal_hook::iterator::Signals;

use super::arguments::ServeArguments;
use crate::failure::Failure;
use crate::output::{announce, note};
use crate::signals;

/// Returns when a signal has ended it, which is how it is meant to end.
pub fn serve(arguments: &ServeArguments) -> Result<(), Failure> {
    // Before it says that it is there: whoever reads that may send a signal at once.
    let mut signals = Signals::new(signals::ending()).map_err(Failure::failed)?;
    let &ServeArguments { ref name, heights, angles, networks } = arguments;
    let options = FabricOptions { name: name.clone(), heights, angles, networks };
    let mut fabric = Fabric::bind(&options).map_err(|error| match error {
        FabricError::InUse(_) | FabricError::Memory(_) | FabricError::System(..) => Failure::failed(error),
        FabricError::Name(_) | FabricError::Shape(_) | FabricError::Networks(_) | FabricError::Limits(_) => {
            Failure::usage(error)
        }
    })?;
    let facts = fabric.facts();
    let slot = facts.slot_picoseconds as f64 / 1e3;
    announce(format!(
        "fabric {name} at vortex://{name}/RANK:PORT with ranks 0 to {}\n{heights} heights, {angles} angles, {networks} networks, slots of {slot} ns\n",
        heights * angles - 1,
    ))?;
    let (stopper, handle) = (fabric.stopper(), signals.handle());
    let wait = move || {
        if signals.forever().next().is_some() {
            stopper.stop();
        }
    };
    let waiting = thread::Builder::new().name("signals".into()).spawn(wait).map_err(Failure::failed)?;
    let ended = fabric.run();
    handle.close();
    // The thread only waits for a signal or the end of them.
    let _ = waiting.join();
    ended.map_err(Failure::failed)?;
    let (slots, cells) = fabric.counts();
    let time = Duration::from_nanos((slots as f64 * slot) as u64);
    note(&format!("{} cells in {slots} slots, {time:?} of the fabric's time\n", cells.arrived));
    Ok(())
}
