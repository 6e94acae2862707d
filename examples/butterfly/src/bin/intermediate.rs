//! `intermediate`: gathers what the component1's send and hands it out to the component2's.

use std::error::Error;
use std::process::ExitCode;

use butterfly::{Arguments, Usage, join, run, show};
use hairstreak::{Scope, Style};

const USAGE: Usage<2> = Usage {
    program: "intermediate",
    interfaces: ["in-interface", "out-interface"],
    number: None,
    number_min: 0,
};

fn main() -> ExitCode {
    run(USAGE, intermediate)
}

fn intermediate(arguments: &Arguments<2>) -> Result<(), Box<dyn Error>> {
    let [in_interface, out_interface] = &arguments.interfaces;
    let component = join(&arguments.host)?;
    let gathered = component.queue("INTERMEDIATE_IN").scope(Scope::Global).interface(in_interface).open()?;
    let handed_out = component
        .exchange("INTERMEDIATE_OUT")
        .scope(Scope::Global)
        .style(Style::LoadBalancing)
        .interface(out_interface)
        .open()?;
    // Nobody may be looking.
    let _ = show("Ready.");
    loop {
        handed_out.send(&gathered.recv()?)?;
    }
}
