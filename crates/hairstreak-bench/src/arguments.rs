//! The command line: one subcommand per benchmark, and a hidden one per kind of worker process.

use clap::{Args, Parser, Subcommand};

use crate::sockets::{Calls, CaseName, Transport};

/// Benchmarks of Hairstreak against its rivals, in the same run.
#[derive(Debug, Parser)]
#[command(name = "hairstreak-bench", version, disable_help_subcommand = true)]
pub struct Arguments {
    /// Which benchmark.
    #[command(subcommand)]
    pub benchmark: Benchmark,
}

/// The benchmarks there are.
#[derive(Debug, Subcommand)]
pub enum Benchmark {
    /// PUSH/PULL against libzmq and a bare limit program: one-way rates and round trips
    Sockets(SocketsSettings),
    /// One process of a sample (started by the benchmark itself)
    #[command(hide = true)]
    SocketsWorker {
        /// What to do, as JSON.
        task: String,
    },
}

/// What `hairstreak-bench sockets` takes.
#[derive(Clone, Debug, Args)]
pub struct SocketsSettings {
    /// Fewer sizes, 3 repeats of about 0.15 s: under a minute in all
    #[arg(long)]
    pub quick: bool,
    /// Print the report as JSON instead of a table
    #[arg(long)]
    pub json: bool,
    /// Only these cases [default: all]
    #[arg(long = "case", value_enum, value_delimiter = ',')]
    pub cases: Vec<CaseName>,
    /// Only these transports [default: all; with --quick tcp and inproc]
    #[arg(long = "transport", value_enum, value_delimiter = ',')]
    pub transports: Vec<Transport>,
    /// Only these message sizes in bytes [default: 8,64,256,1024,8192,131072; with --quick 8,64,1024,131072]
    #[arg(long = "size", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=16_777_216))]
    pub sizes: Vec<u32>,
    /// Only this way of calling: one message per call, or batch calls [default: both]
    #[arg(long, value_enum)]
    pub calls: Option<Calls>,
    /// Measurements per row and contender [default: 5; with --quick 3]
    #[arg(long = "repeat", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeats: Option<u32>,
    /// Leave the rival out
    #[arg(long)]
    pub no_rival: bool,
    /// The libzmq to load at run time
    #[arg(long, default_value = "libzmq.so.5", value_name = "LIBRARY")]
    pub libzmq: String,
}
