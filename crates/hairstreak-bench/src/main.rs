//! The command line of the benchmarks: one subcommand for each study, and a hidden one for worker processes.

use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::{Parser, Subcommand};
use hairstreak_bench::frame::allocations::CountingAllocator;
use hairstreak_bench::{
    broker, connections, fabric, h3, pipeline, planner, sample, services, sockets, streams,
};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Benchmarks of Hairstreak against its rivals, in the same run.
#[derive(Debug, Parser)]
#[command(name = "hairstreak-bench", version, disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    study: Study,
}

#[derive(Debug, Subcommand)]
enum Study {
    /// Every pattern against libzmq and a bare limit program: one-way rates, round trips, echoes
    Sockets(sockets::Settings),
    /// Independent streams against libzmq: do they scale, and if not, what stops them? Tables and charts
    Streams(streams::Settings),
    /// Tasks, workers, results with few or many in flight, against libzmq's ways of doing it
    Pipeline(pipeline::Settings),
    /// Requests and replies, one by one and many at a time: through a proxy, and through a Majordomo broker
    Services(services::Settings),
    /// Ten thousand idle connections: how fast they come, what each costs in memory and processor time
    Connections(connections::Settings),
    /// The broker of AMQP against RabbitMQ and a bare limit program: rates, latencies, what messages and connections cost
    Broker(broker::Settings),
    /// The paper's H3 harness: messages of 8 B to 128 KiB across transports and into queues of two nodes, each verified
    H3(h3::Settings),
    /// An agent of H3: sends or receives on this host as a controller says, which names it by --host
    H3Agent(h3::AgentSettings),
    /// The Data Vortex, simulated, beside its equations, its published properties, an omega network and a fat tree
    ///
    /// Rates are packets a port and slot, times are slots. The same seed gives the same figures on any number of threads.
    Fabric(fabric::Settings),
    /// Ten topologies, predicted first and then run: is the planner right?
    Plan(planner::Settings),
    /// A worker process of a study (started by the benchmark itself)
    #[command(hide = true)]
    Worker {
        /// The study
        study: String,
        /// The task, as JSON
        task: String,
    },
}

fn main() -> ExitCode {
    match run(Arguments::parse().study) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hairstreak-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(study: Study) -> Result<()> {
    match study {
        Study::Sockets(settings) => sockets::run(&settings),
        Study::Streams(settings) => streams::run(&settings),
        Study::Pipeline(settings) => pipeline::run(&settings),
        Study::Services(settings) => services::run(&settings),
        Study::Connections(settings) => connections::run(&settings),
        Study::Broker(settings) => broker::run(&settings),
        Study::H3(settings) => h3::run(&settings),
        Study::H3Agent(settings) => h3::serve(&settings),
        Study::Fabric(settings) => fabric::run(&settings),
        Study::Plan(settings) => planner::run(&settings),
        Study::Worker { study, task } => match study.as_str() {
            "sockets" => sample::take_part(&task),
            "pipeline" => pipeline::take_part(&task),
            "services" => services::take_part(&task),
            "connections" => connections::take_part(&task),
            "broker-server" => broker::keep(&task),
            "broker-client" => broker::take_part(&task),
            _ => bail!("there is no study {study:?} with worker processes"),
        },
    }
}
