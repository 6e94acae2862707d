//! `component2`: the second step of every transaction. Start as many as the load needs.

use std::process::ExitCode;

use butterfly::{Component, Usage, run, work};

const USAGE: Usage<0> =
    Usage { program: "component2", interfaces: [], number: Some("processing-time-ms"), number_min: 0 };

const COMPONENT: Component = Component {
    requests: "INTERMEDIATE_OUT",
    queue: "COMPONENT2_IN",
    exchange: "COMPONENT2_OUT",
    replies: "RECEIVE_REPLIES_IN",
};

fn main() -> ExitCode {
    run(USAGE, |arguments| work(COMPONENT, arguments))
}
