//! The H3 harness as its users see it: tiny runs of the real binary, on this host and across network namespaces.
//!
//! Not about figures: this machine may be busy and the build is not optimised. Each run verifies its messages itself.

mod hosts;

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use self::hosts::{Agent, Network};
use hairstreak_testkit::{BoundedChild, BoundedCommand};
use serde_json::Value;

use crate::{BINARY, alone_with_rabbitmq};

/// Few messages in little memory.
const TINY: &str = "--scale 0.0001 --memory 256";

/// A folder for the files of one benchmark. Dropping it removes it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("hairstreak-h3-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn run_by(mut command: Command, options: &str, folder: &Folder) -> Output {
    command.arg("h3").args(options.split_whitespace()).arg("--out").arg(&folder.0).run_to_end()
}

fn run(options: &str, folder: &Folder) -> Output {
    run_by(Command::new(BINARY), options, folder)
}

fn succeed(output: Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The one line of an error, without the progress before it.
fn error_of(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let errors = String::from_utf8(output.stderr.clone()).unwrap();
    let lines: Vec<&str> = errors.lines().filter(|line| !line.starts_with("h3 ")).collect();
    assert_eq!(lines.len(), 1, "{errors}");
    lines[0].strip_prefix("hairstreak-bench: ").unwrap().to_owned()
}

/// Checks a run, and returns its transport and target.
fn check_record(record: &Value) -> (String, String) {
    let number = |field: &str| record[field].as_f64().unwrap();
    assert!(number("count") >= 2.0 && number("bytes") == number("count") * number("size"), "{record}");
    let samples: Vec<f64> =
        record["samples"].as_array().unwrap().iter().map(|sample| sample.as_f64().unwrap()).collect();
    let mean = samples.iter().sum::<f64>() / samples.len() as f64;
    let statistics = |field: &str| record["statistics"][field].as_f64().unwrap();
    assert_eq!(statistics("count"), samples.len() as f64);
    assert!((statistics("mean") - mean).abs() < 1e-6 * mean, "{record}");
    assert!(statistics("min") <= statistics("p50") && statistics("p99") <= statistics("max") && mean > 0.0);
    let has_few = record["marks"].as_array().unwrap().iter().any(|mark| mark == "few_windows");
    assert_eq!(has_few, samples.len() < 100, "{record}");
    let text = |field: &str| record[field].as_str().unwrap().to_owned();
    (text("transport"), text("target"))
}

#[test]
fn every_message_arrives_across_each_transport_and_in_each_queue_and_all_files_say_the_same() {
    let _alone = alone_with_rabbitmq();
    let folder = Folder::new("all");
    let options = format!("{TINY} --size 8,131072 --transport tcp,shm --json");
    let report: Value = serde_json::from_str(&succeed(run(&options, &folder))).unwrap();
    let records = report["records"].as_array().unwrap();
    let contenders: Vec<_> = records.iter().map(check_record).collect();
    let expected = [
        ("tcp", "across"),
        ("shm", "across"),
        ("tcp", "hairstreak"),
        ("shm", "hairstreak"),
        ("tcp", "rabbitmq"),
        ("tcp", "rabbitmq_loopback"),
        ("shm", "rabbitmq_loopback"),
    ];
    let expected: Vec<_> =
        expected.map(|(transport, target)| (transport.to_owned(), target.to_owned())).into();
    assert_eq!(contenders, [&expected[..], &expected[..]].concat());
    let gains = report["gains"].as_array().unwrap();
    let gains: Vec<_> = gains.iter().map(|gain| (gain["size"].as_u64(), gain["paper"].as_f64())).collect();
    assert_eq!(gains, [(Some(8), Some(5.0)), (Some(131_072), Some(10.0))]);
    assert_eq!(serde_json::from_str::<Value>(&folder.read("h3.json")).unwrap(), report);
    check_csv(&folder.read("h3.csv"), records);
    check_html(&folder.read("h3.html"));
}

/// The acceptance of the harness. Its short form is the test before: figures of a debug build on a busy machine mean nothing.
#[test]
fn in_the_soak_the_whole_of_table_1_is_verified_and_shared_memory_is_ahead_of_tcp_at_every_size() {
    if std::env::var_os("HAIRSTREAK_SOAK").is_none() {
        return;
    }
    let folder = Folder::new("soak");
    let report: Value = serde_json::from_str(&succeed(run("--scale 0.001 --json", &folder))).unwrap();
    let records = report["records"].as_array().unwrap();
    records.iter().for_each(|record| drop(check_record(record)));
    // Three transports across and into our queues, and tcp straight into RabbitMQ's, and all by its loopback.
    assert_eq!(records.len(), 15 * 10);
    let gains = report["gains"].as_array().unwrap();
    let shm: Vec<&Value> = gains.iter().filter(|gain| gain["transport"] == "shm").collect();
    assert_eq!(shm.len(), 15);
    for gain in shm {
        assert!(gain["median_ratio"].as_f64().unwrap() > 1.0, "{gain}");
    }
}

/// Each run has its windows in the CSV, and their rates add up to those of the report.
fn check_csv(csv: &str, records: &[Value]) {
    let mut lines = csv.lines();
    assert_eq!(
        lines.next(),
        Some("transport,target,size,run,time,window,start_s,node_a,node_b,messages_per_s")
    );
    let mut rates: HashMap<String, Vec<f64>> = HashMap::new();
    for line in lines {
        let fields: Vec<&str> = line.split(',').collect();
        assert_eq!(fields.len(), 10, "{line}");
        rates.entry(fields[..4].join(" ")).or_default().push(fields[9].parse().unwrap());
    }
    assert_eq!(rates.len(), records.len());
    for record in records {
        let (transport, target) = check_record(record);
        let name = format!("{transport} {} {} {}", target.replace('_', "-"), record["size"], record["run"]);
        let mean = rates[&name].iter().sum::<f64>() / rates[&name].len() as f64;
        assert!((mean - record["statistics"]["mean"].as_f64().unwrap()).abs() < 0.1, "{name}");
    }
}

/// The page has all sections and charts and asks nobody for anything.
fn check_html(html: &str) {
    for heading in [
        "Table 1 as it was run",
        "8 B, messages/s",
        "131,072 B, messages/s",
        "paper DV r2",
        "Table 2",
        "Gains",
        "Reference lines",
        "Known flaws",
        "Rate over size",
        "Rate over time",
    ] {
        assert!(html.contains(heading), "{heading}");
    }
    assert_eq!(html.matches("<svg").count(), 6);
    let links = html.replace("http://www.w3.org/2000/svg", "");
    for outside in ["http:", "https:", "src=", "<script", "@import", "url("] {
        assert!(!links.contains(outside), "{outside}");
    }
}

#[test]
fn a_data_vortex_carries_every_message_and_its_rates_are_in_its_own_time() {
    let _alone = alone_with_rabbitmq();
    let folder = Folder::new("vortex");
    let options = "--scale 0.001 --memory 16 --size 256 --transport vortex --json";
    let report: Value = serde_json::from_str(&succeed(run(options, &folder))).unwrap();
    let records = report["records"].as_array().unwrap();
    let found = records.iter().map(|record| (check_record(record).1, record["time"].as_str().unwrap()));
    let found: Vec<_> = found.collect();
    let expected = [("across", "fabric"), ("hairstreak", "fabric"), ("rabbitmq_loopback", "wall")];
    assert_eq!(found, expected.map(|(target, time)| (target.to_owned(), time)));
    assert_eq!((&records[0]["window_ms"], &records[2]["window_ms"]), (&0.05.into(), &2.0.into()));
    // Two cards carry at most 16 cells of 8 bytes in each slot of 30 ns. Messages in the rings at the begin of
    // the first window come on top.
    let (own, wall) = (records[0]["statistics"]["mean"].as_f64(), records[0]["wall_messages_per_s"].as_f64());
    assert!(own.unwrap() * 256.0 < 1.1 * 2.0 * 16.0 * 8.0 / 30e-9, "{own:?}");
    assert!(wall.unwrap() > 0.0 && wall != own);
    assert_eq!(report["fabric"]["slot_ns"], 30.0);
    assert!(folder.read("h3.html").contains("The Data Vortex in both times"));
}

#[test]
fn the_tables_name_the_scale_and_the_paper() {
    let folder = Folder::new("text");
    let text = succeed(run(&format!("{TINY} --size 8192 --transport tcp --broker hairstreak"), &folder));
    for part in [
        "Scale 0.0001 of the paper's counts, less where 268,435,456 bytes",
        "paper IB r1",
        "tcp > hairstreak",
        "in times of 43,404",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn agents_on_other_hosts_send_and_receive_across_the_network() {
    let _alone = alone_with_rabbitmq();
    let network = Network::new();
    let agents = ["one", "two"].map(|host| {
        let address = format!("{}:7700", Network::address(host));
        Agent::start(network.command(host, BINARY), &address)
    });
    let folder = Folder::new("hosts");
    let hosts = format!("--host sender={} --host receiver={}", agents[0].address, agents[1].address);
    let options = format!("{TINY} --size 256 --json {hosts}");
    let output = run_by(network.command("hub", BINARY), &options, &folder);
    let report: Value = serde_json::from_str(&succeed(output)).unwrap();
    let records = report["records"].as_array().unwrap();
    let contenders: Vec<_> = records.iter().map(check_record).collect();
    let targets = ["across", "hairstreak", "rabbitmq", "rabbitmq_loopback"];
    assert_eq!(contenders, targets.map(|target| ("tcp".to_owned(), target.to_owned())));
    let names: Vec<_> =
        report["agents"].as_array().unwrap().iter().map(|agent| agent["name"].as_str().unwrap()).collect();
    let expected = [
        "sender A at 10.83.0.2",
        "sender B at 10.83.0.2",
        "receiver A at 10.83.0.3",
        "receiver B at 10.83.0.3",
    ];
    assert_eq!(names, expected.map(|name| format!("{name}:7700")));
    let notes = report["notes"].as_array().unwrap();
    assert!(
        notes.iter().any(|note| note == "shm was left out: only tcp goes from host to host"),
        "{notes:?}"
    );
}

#[test]
fn an_agent_that_dies_or_is_not_there_is_one_line_that_names_it() {
    let folder = Folder::new("dead");
    let mut agent = Agent::start(Command::new(BINARY), "127.0.0.1:0");
    let hosts = format!("--host receiver={}", agent.address);
    let mut command = Command::new(BINARY);
    command.args(["h3", "--scale", "0.02", "--memory", "64", "--size", "8", "--broker", "hairstreak"]);
    command.args(hosts.split(' ')).arg("--out").arg(&folder.0).stderr(Stdio::piped());
    let mut controller = command.spawn().unwrap();
    let mut errors = BufReader::new(controller.stderr.take().unwrap());
    let mut line = String::new();
    errors.read_line(&mut line).unwrap();
    assert!(line.starts_with("h3 1/"), "{line}");
    agent.kill();
    let mut rest = String::new();
    errors.read_to_string(&mut rest).unwrap();
    assert_eq!(controller.end().code(), Some(1));
    let told = rest.lines().last().unwrap();
    let receiver = |node: &str| format!("hairstreak-bench: receiver {node} at {} is gone", agent.address);
    assert!(told == receiver("A") || told == receiver("B"), "{rest}");
    let error = error_of(&run(&format!("{TINY} {hosts}"), &folder));
    assert!(error.starts_with(&format!("receiver A at {}: Connection refused", agent.address)), "{error}");
}

#[test]
fn what_cannot_be_done_is_one_line_that_names_it() {
    let folder = Folder::new("refused");
    let nowhere = "--rabbitmq /nowhere/rabbitmq-server";
    let error = error_of(&run(&format!("{TINY} --broker rabbitmq {nowhere}"), &folder));
    assert!(error.starts_with("--broker rabbitmq: /nowhere/rabbitmq-server is not there"), "{error}");
    let error = error_of(&run("--scale 10 --memory 16777216 --size 131072 --transport tcp", &folder));
    let expected =
        "receiver A: across the transport: room for 393228000000 bytes was asked for; this host has ";
    assert!(error.starts_with(expected), "{error}");
    let error = error_of(&run(TINY, &Folder("/dev/null/here".into())));
    assert!(error.starts_with("cannot write /dev/null/here: "), "{error}");
    for (options, culprit) in [
        ("--scale 0", "invalid value '0' for '--scale <SCALE>': a number from"),
        ("--size 100", "invalid value '100' for '--size <SIZES>': a power of two from"),
        ("--host somewhere", "invalid value 'somewhere' for '--host <ROLE=ADDRESS>': a host is"),
    ] {
        let output = run(options, &folder);
        assert_eq!(output.status.code(), Some(2));
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(errors.contains(culprit), "{errors}");
    }
}
