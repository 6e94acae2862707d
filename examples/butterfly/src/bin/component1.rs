//! `component1`: the first step of every transaction. Start as many as the load needs.

use std::process::ExitCode;

use butterfly::{Component, Usage, run, work};

const USAGE: Usage<0> =
    Usage { program: "component1", interfaces: [], number: Some("processing-time-ms"), number_min: 0 };

const COMPONENT: Component = Component {
    requests: "SEND_REQUESTS_OUT",
    queue: "COMPONENT1_IN",
    exchange: "COMPONENT1_OUT",
    replies: "INTERMEDIATE_IN",
};

fn main() -> ExitCode {
    run(USAGE, |arguments| work(COMPONENT, arguments))
}
