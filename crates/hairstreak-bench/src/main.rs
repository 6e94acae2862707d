//! The binary `hairstreak-bench`: hands the command line to a benchmark, or runs as one of its workers.
//!
//! It holds no logic but the exit code: 0 when every sample was measured and verified, 1 otherwise.

use std::process::ExitCode;

use clap::Parser;
use hairstreak_bench::allocations::CountingAllocator;
use hairstreak_bench::arguments::{Arguments, Benchmark};
use hairstreak_bench::{broker, connections, h3, pipeline, planner, sample, services, sockets, streams};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn main() -> ExitCode {
    let outcome = match Arguments::parse().benchmark {
        Benchmark::Sockets(settings) => sockets::run(&settings).map_err(|error| error.to_string()),
        Benchmark::Streams(settings) => streams::run(&settings).map_err(|error| error.to_string()),
        Benchmark::Pipeline(settings) => pipeline::run(&settings).map_err(|error| error.to_string()),
        Benchmark::Services(settings) => services::run(&settings).map_err(|error| error.to_string()),
        Benchmark::Connections(settings) => connections::run(&settings).map_err(|error| error.to_string()),
        Benchmark::Broker(settings) => broker::run(&settings).map_err(|error| error.to_string()),
        Benchmark::H3(settings) => h3::run(&settings).map_err(|error| error.to_string()),
        Benchmark::H3Agent(settings) => {
            h3::serve(settings.bind, &settings.rabbitmq).map_err(|error| error.to_string())
        }
        Benchmark::Plan(settings) => planner::run(&settings).map_err(|error| error.to_string()),
        Benchmark::BrokerServer { task } => broker::keep(&task).map_err(|error| error.to_string()),
        Benchmark::BrokerClient { task } => broker::take_part(&task).map_err(|error| error.to_string()),
        Benchmark::ConnectionServer { kind, onward } => {
            connections::serve(kind, onward).map_err(|error| error.to_string())
        }
        Benchmark::ServicePart { task } => services::take_part(&task).map_err(|error| error.to_string()),
        Benchmark::Part { task } => pipeline::take_part(&task).map_err(|error| error.to_string()),
        Benchmark::Worker { task } => sample::work(&task).map_err(|error| error.to_string()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("hairstreak-bench: {message}");
            ExitCode::FAILURE
        }
    }
}
