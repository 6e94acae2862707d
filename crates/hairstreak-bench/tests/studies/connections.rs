//! The benchmark of many connections as its users see it: a short run of the real binary.
//!
//! What a connection costs in memory does not depend on how fast the machine is, and so is checked here.

use std::process::Command;

use hairstreak_testkit::BoundedCommand;
use serde_json::Value;

use crate::BINARY;

#[test]
fn an_idle_connection_costs_no_more_than_it_may() {
    let mut command = Command::new(BINARY);
    let output = command.args(["connections", "--quick", "--json", "--connections", "1000"]).run_to_end();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = report["rows"].as_array().unwrap();
    let servers: Vec<_> = rows.iter().map(|row| row["server"].as_str().unwrap()).collect();
    assert_eq!(servers, ["relay", "node, ZMTP 3.1 peers", "node, ZMTP 3.0 peers"]);
    for row in rows {
        let number = |field: &str| row[field].as_f64().unwrap();
        assert!(number("connects_per_s") > 0.0 && number("bytes_per_connection") > 0.0, "{row}");
        assert!(number("bytes_per_connection") <= number("bytes_target"), "{row}");
        assert!(number("connection_count") >= 1000.0, "{row}");
    }
    assert!(rows[0]["beside_per_s"]["median"].as_f64().unwrap() > 0.0);
    assert_eq!(rows[2]["pings_per_s"], 0.0);
}
