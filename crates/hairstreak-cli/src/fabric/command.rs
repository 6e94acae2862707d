//! `hairstreak fabric serve` and `hairstreak fabric study`.

use std::fs;
use std::thread::{self, available_parallelism};
use std::time::{Duration, Instant};

use hairstreak_transport::vortex::{Fabric, FabricError, FabricOptions};
use signal_hook::iterator::Signals;

use super::arguments::{ServeArguments, StudyArguments};
use super::experiments::{Effort, Study};
use super::{charts, tables};
use crate::failure::Failure;
use crate::output::{announce, note, print};
use crate::signals;

/// Runs a fabric until a signal ends it.
pub fn serve(arguments: &ServeArguments) -> Result<(), Failure> {
    // Before the announcement: its reader may send a signal at once.
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

/// Runs the study and prints it.
pub fn study(arguments: &StudyArguments) -> Result<(), Failure> {
    if let Some(folder) = &arguments.charts {
        // An error here comes before the long work.
        let made = fs::create_dir_all(folder);
        made.map_err(|error| Failure::failed(format!("cannot make {}: {error}", folder.display())))?;
    }
    let began = Instant::now();
    let threads = arguments.threads.or_else(|| available_parallelism().ok()).map_or(1, Into::into);
    let study = Study::run(Effort { seed: arguments.seed, threads, scale: arguments.scale });
    let took = began.elapsed();
    let drawn = match &arguments.charts {
        Some(folder) => charts::draw(&study, folder).map_err(Failure::failed)?,
        None => Vec::new(),
    };
    if arguments.json {
        let text = serde_json::to_string_pretty(&study).map_err(Failure::failed)?;
        return print(&format!("{text}\n"));
    }
    let end = format!("\nseed {}, {:.1} s on {threads} threads\n", study.seed, took.as_secs_f64());
    let drawn: String = drawn.iter().map(|file| format!("drawn: {file}\n")).collect();
    print(&(tables::describe(&study) + &end + &drawn))
}
