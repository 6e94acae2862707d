//! `hairstreak fabric study`.

use std::fs;
use std::thread::available_parallelism;
use std::time::Instant;

use super::arguments::StudyArguments;
use super::experiments::{Effort, Study};
use super::{charts, tables};
use crate::failure::Failure;
use crate::output;

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
        return output::print(&format!("{text}\n"));
    }
    let end = format!("\nseed {}, {:.1} s on {threads} threads\n", study.seed, took.as_secs_f64());
    let drawn: String = drawn.iter().map(|file| format!("drawn: {file}\n")).collect();
    output::print(&(tables::describe(&study) + &end + &drawn))
}
