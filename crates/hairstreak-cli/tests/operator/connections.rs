//! `connections`, `channels`, `consumers`: clients of AMQP are in the lists, and an operator closes their connections.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout};

use hairstreak_testkit::BoundedChild;
use serde_json::Value;

use crate::broker::{Broker, tests_of_each_broker};
use crate::process::{end, unique};

tests_of_each_broker! {
    a_consumer_is_in_all_three_lists,
    a_closed_connection_is_told_why,
    all_connections_of_a_user_are_closed,
    connections_that_do_not_exist_are_named,
}

/// A consumer that has had one message. Its process, and its output.
fn follow(broker: &Broker, url: &str, queue: &str) -> (Child, BufReader<ChildStdout>) {
    broker.good(&["declare", "queue", queue, url]);
    broker.good(&["publish", url, "--key", queue, "m"]);
    let mut child = broker.spawn(&["consume", queue, "--follow", "--prefetch", "7", url]);
    let mut output = BufReader::new(child.stdout.take().unwrap());
    assert_eq!(output.by_ref_line(), "m\n");
    (child, output)
}

trait Line {
    fn by_ref_line(&mut self) -> String;
}

impl Line for BufReader<ChildStdout> {
    fn by_ref_line(&mut self) -> String {
        let mut line = String::new();
        self.read_line(&mut line).unwrap();
        line
    }
}

/// The name of the only connection to a virtual host.
fn name_of(broker: &Broker, vhost: &str) -> String {
    let list = ["connections", "--vhost", vhost];
    broker.await_list(&list, |connections| connections.len() == 1 && connections[0]["state"] == "running");
    broker.json(&list)[0]["name"].as_str().unwrap().to_owned()
}

fn a_consumer_is_in_all_three_lists(broker: &Broker) {
    let vhost = broker.vhost();
    let url = broker.url("guest", &vhost);
    let (mut child, _output) = follow(broker, &url, "orders");
    let name = name_of(broker, &vhost);
    let client = format!("hairstreak {}", child.id());
    let connections =
        broker.good(&["connections", "--vhost", &vhost, "--columns", "user_provided_name,user,ssl"]);
    let expected =
        format!("user_provided_name{}  user   ssl\n{client}", " ".repeat(client.len().saturating_sub(18)));
    assert!(connections.starts_with(&expected), "{connections}");
    assert_eq!(broker.json(&["connections", "--filter", &format!("^{client}$")]).len(), 1);
    broker.await_list(&["channels", "--vhost", &vhost], |channels| {
        channels.len() == 1 && channels[0]["consumer_count"] == 1 && channels[0]["prefetch_count"] == 7
    });
    let channels = broker.json(&["channels", "--vhost", &vhost]);
    assert_eq!(channels[0]["name"], format!("{name} (1)"));
    let consumers = broker.json(&["consumers", "--vhost", &vhost]);
    assert_eq!((consumers.len(), &consumers[0]["queue"]["name"]), (1, &Value::from("orders")));
    let table = broker.good(&["consumers", "--vhost", &vhost, "--filter", "^orders$"]);
    let row: Vec<&str> = table.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!((row[0], row.contains(&"guest"), row.contains(&"7")), ("orders", true, true));
    child.kill().unwrap();
    child.end();
    broker.await_list(&["consumers", "--vhost", &vhost], <[Value]>::is_empty);
    assert_eq!(
        broker.good(&["channels", "--vhost", &vhost]),
        format!("no channels in virtual host '{vhost}'\n")
    );
}

fn a_closed_connection_is_told_why(broker: &Broker) {
    let vhost = broker.vhost();
    let (child, _output) = follow(broker, &broker.url("guest", &vhost), "q");
    let name = name_of(broker, &vhost);
    let closed = broker.good(&["connections", "close", &name, "--reason", "the host goes down\nsoon"]);
    assert_eq!(closed, format!("connection '{name}' closed\n"));
    let reason = end(child, b"").bad(1);
    assert!(reason.contains("CONNECTION_FORCED - the host goes down\\nsoon"), "{reason}");
    broker.await_list(&["connections", "--vhost", &vhost], <[Value]>::is_empty);
}

fn all_connections_of_a_user_are_closed(broker: &Broker) {
    let (vhost, user) = (broker.vhost(), unique("user"));
    broker.run(&["users", "add", &user], &user).good();
    let all = ["--configure", ".*", "--write", ".*", "--read", ".*"];
    broker.good(&[&["permissions", "set", &user, "--vhost", &vhost][..], &all].concat());
    let none = broker.bad(&["connections", "close", "--of-user", &user], 1);
    assert_eq!(none, format!("user '{user}' has no connections"));
    let url = broker.url(&user, &vhost);
    let children = ["a", "b"].map(|queue| follow(broker, &url, queue));
    broker.await_list(&["connections", "--vhost", &vhost], |connections| connections.len() == 2);
    let closed = broker.json(&["connections", "close", "--of-user", &user]);
    assert_eq!(closed.len(), 2);
    for (child, _output) in children {
        assert!(end(child, b"").bad(1).contains("CONNECTION_FORCED"));
    }
}

fn connections_that_do_not_exist_are_named(broker: &Broker) {
    let reason = broker.bad(&["connections", "close", "1.2.3.4:5 -> 6.7.8.9:10"], 1);
    assert_eq!(reason, "there is no connection '1.2.3.4:5 -> 6.7.8.9:10'");
    assert!(broker.bad(&["connections", "close"], 2).contains("NAME"));
}
