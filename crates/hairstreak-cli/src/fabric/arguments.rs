//! The command line of `hairstreak fabric`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use hairstreak_fabric::parameters::{ANGLE_COUNT, HEIGHT_COUNT, NETWORK_COUNT};

/// Simulate a Data Vortex, and the networks that it competes with
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub struct FabricArguments {
    #[command(subcommand)]
    pub command: FabricCommand,
}

#[derive(Debug, Subcommand)]
pub enum FabricCommand {
    Serve(ServeArguments),
    Study(StudyArguments),
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
pub struct ServeArguments {
    /// The name in the endpoints of the fabric.
    #[arg(value_name = "NAME", default_value = "fabric")]
    pub name: String,
    /// Heights of a switch, a power of two.
    #[arg(long, value_name = "H", default_value_t = HEIGHT_COUNT)]
    pub heights: u32,
    /// Angles of a switch. There are H times A ranks.
    #[arg(long, value_name = "A", default_value_t = ANGLE_COUNT)]
    pub angles: u32,
    /// Switches side by side: a card sends a cell a slot into each.
    #[arg(long, value_name = "N", default_value_t = NETWORK_COUNT)]
    pub networks: u32,
}

/// Measure the Data Vortex against its equations, its published properties, an omega network and a fat tree
///
/// Prints a table for each question, and draws charts (SVG). All rates are packets a port and slot; all times are slots. The same seed
/// gives the same figures on any number of threads.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
    hairstreak fabric study
    hairstreak fabric study --charts charts --seed 7
    hairstreak fabric study --json | jq '.scaling'")]
pub struct StudyArguments {
    /// The folder of the charts, which is made if there is none. [default: no charts]
    #[arg(long, value_name = "FOLDER")]
    pub charts: Option<PathBuf>,
    /// Where all random numbers begin.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Threads. [default: one for each core]
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
    /// Simulate this part of the slots: quicker, and less exact.
    #[arg(long, value_name = "PART", default_value_t = 1.0, value_parser = scale)]
    pub scale: f64,
    /// Print JSON in place of the tables.
    #[arg(long)]
    pub json: bool,
}

fn scale(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(scale) if (0.001..=1000.0).contains(&scale) => Ok(scale),
        _ => Err("a number from 0.001 to 1000 is needed".into()),
    }
}
