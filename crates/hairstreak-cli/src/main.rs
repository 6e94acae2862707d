//! The command line of Hairstreak. Each subcommand is a file; the libraries do the work.
//!
//! Exit status: 0 success, 1 failure, 2 invalid arguments or topology, 129, 130 and 143 stopped by
//! SIGHUP, SIGINT and SIGTERM, 141 the reader of the results of `run` or `map` has gone. `map` also has the statuses of
//! GNU parallel. Each error is one line on standard error. If the line cannot be written, only the status reports the
//! error.

mod amqp;
mod arguments;
mod bench_command;
mod calibrate_command;
mod credentials;
mod directory_command;
mod fabric_command;
mod failure;
mod keygen_command;
mod line;
mod live;
mod logging;
mod map;
mod map_command;
mod map_worker_command;
mod numbers;
mod operator;
mod output;
mod place;
mod plan_command;
mod proxy_command;
mod run_command;
mod serve;
mod service;
mod signals;
mod silence;
mod simulate_command;
mod store;
mod systemd;

use std::ffi::OsString;
use std::io::{IsTerminal, stdout};
use std::process::ExitCode;

use arguments::{Arguments, Command};
use clap::{Error, Parser};
use failure::Failure;

// A failed write must be an error, even if the parent process has closed standard output.
hairstreak_process::keep_standard_output_closed!();

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|word| word == "stage") {
        return hairstreak::topology::stage::main(words.collect::<Vec<OsString>>());
    }
    let done = match Arguments::try_parse() {
        Ok(arguments) => obey(&arguments.command),
        Err(error) => answer(&error),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if let Some(line) = failure.line() {
                output::note(&line);
            }
            ExitCode::from(failure.status)
        }
    }
}

fn obey(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Plan(arguments) => plan_command::plan(arguments),
        Command::Simulate(arguments) => simulate_command::simulate(arguments),
        Command::Calibrate(arguments) => calibrate_command::calibrate(arguments),
        Command::Run(arguments) => run_command::run(arguments),
        Command::Serve(arguments) => serve::serve(arguments),
        Command::Proxy(arguments) => proxy_command::proxy(arguments),
        Command::Publish(arguments) => amqp::publish(arguments),
        Command::Consume(arguments) => amqp::consume(arguments),
        Command::Declare(arguments) => amqp::declare(arguments),
        Command::Delete(arguments) => amqp::delete(arguments),
        Command::Bind(arguments) => amqp::bind(arguments),
        Command::Unbind(arguments) => amqp::unbind(arguments),
        Command::Purge(arguments) => amqp::purge(arguments),
        Command::Keygen(arguments) => keygen_command::keygen(arguments),
        Command::Map(arguments) => map_command::map(arguments),
        Command::MapWorker(arguments) => map_worker_command::map_worker(arguments),
        Command::Call(arguments) => service::call(arguments),
        Command::Worker(arguments) => service::worker(arguments),
        Command::Services(arguments) => service::services(arguments),
        Command::Directory(arguments) => directory_command::directory(arguments),
        Command::Store(arguments) => store::store(arguments),
        Command::Fabric(arguments) => fabric_command::fabric(arguments),
        Command::Bench(arguments) => bench_command::bench(arguments),
        Command::Operator(command) => operator::operate(command),
    }
}

/// Prints the help or the version; any other error of the arguments is a failure.
fn answer(error: &Error) -> Result<(), Failure> {
    match (error.kind(), error.use_stderr()) {
        // Without arguments the help is printed.
        (clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand, _) => {
            output::note(&error.render().to_string());
            Err(Failure::quiet(2))
        }
        (_, false) => {
            let is_plain =
                !stdout().is_terminal() || std::env::var_os("NO_COLOR").is_some_and(|set| !set.is_empty());
            let help = error.render();
            output::print(&if is_plain { help.to_string() } else { help.ansi().to_string() })
        }
        _ => Err(Failure::usage(reason(&error.render().to_string()))),
    }
}

/// The paragraphs before the usage, joined.
fn reason(text: &str) -> String {
    let text = text.strip_prefix("error: ").unwrap_or(text);
    let said = text.split("\n\n").take_while(|paragraph| {
        !paragraph.starts_with("Usage:") && !paragraph.starts_with("For more information")
    });
    let joined = |paragraph: &str| paragraph.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    said.map(joined).collect::<Vec<_>>().join("; ")
}
