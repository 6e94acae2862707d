//! `hairstreak fabric serve`: a simulated Data Vortex that processes talk through.

use std::thread;
use std::time::Duration;

use clap::{Args, Subcommand};
use hairstreak_fabric::parameters::{ANGLE_COUNT, HEIGHT_COUNT, NETWORK_COUNT};
use hairstreak_transport::vortex::{Fabric, FabricError, FabricOptions};
use signal_hook::iterator::Signals;

use crate::failure::Failure;
use crate::output::{announce, note};
use crate::signals;

/// Simulate a Data Vortex
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub struct FabricArguments {
    #[command(subcommand)]
    command: FabricCommand,
}

#[derive(Debug, Subcommand)]
enum FabricCommand {
    Serve(ServeArguments),
}

/// Run a simulated Data Vortex that the processes of this host talk through
///
/// Every command and library call that takes an endpoint takes `vortex://NAME/RANK:PORT`. Each byte goes through the simulated switch, in
/// cells of 64 bits. Only processes of this user reach the fabric. A signal ends it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
    hairstreak fabric serve lab
    hairstreak fabric serve lab --heights 16 --angles 4
    hairstreak serve --services vortex://lab/0:5555     # then, elsewhere:
    hairstreak worker --broker vortex://lab/0:5555 --service upper -- tr a-z A-Z
    echo hello | hairstreak call --broker vortex://lab/0:5555 upper")]
struct ServeArguments {
    /// The name in the endpoints of the fabric.
    #[arg(value_name = "NAME", default_value = "fabric")]
    name: String,
    /// Heights of a switch, a power of two.
    #[arg(long, value_name = "H", default_value_t = HEIGHT_COUNT)]
    heights: u32,
    /// Angles of a switch. There are H times A ranks.
    #[arg(long, value_name = "A", default_value_t = ANGLE_COUNT)]
    angles: u32,
    /// Switches side by side: a card sends a cell a slot into each.
    #[arg(long, value_name = "N", default_value_t = NETWORK_COUNT)]
    networks: u32,
}

/// Runs a fabric until a signal ends it.
pub fn fabric(arguments: &FabricArguments) -> Result<(), Failure> {
    let FabricCommand::Serve(ServeArguments { name, heights, angles, networks }) = &arguments.command;
    let (heights, angles, networks) = (*heights, *angles, *networks);
    // Before the announcement: its reader may send a signal at once.
    let mut signals = Signals::new(signals::ending()).map_err(Failure::failed)?;
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
