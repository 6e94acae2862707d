//! Lists: pages, order, columns, filters, and repeated lists.

use std::fmt::Write;
use std::io::{BufRead, BufReader};

use hairstreak_testkit::BoundedChild;
use serde_json::{Value, json};

use crate::broker::{Broker, tests_of_each_broker};

tests_of_each_broker! {
    a_list_of_several_pages_is_whole,
    the_api_sorts,
    columns_and_filters_choose,
    exchanges_and_bindings_are_what_was_declared,
    a_list_comes_again_and_again,
    a_reader_that_has_enough_is_no_failure,
    options_of_a_list_belong_to_a_list,
}

fn names(objects: &[Value], field: &str) -> Vec<String> {
    objects.iter().map(|object| object[field].as_str().unwrap().to_owned()).collect()
}

/// More objects than a page of the API has.
fn many(broker: &Broker, count: usize) -> String {
    let vhost = broker.vhost();
    let mut queues = String::new();
    for number in 0..count {
        let comma = if number == 0 { "" } else { "," };
        let more = "\"durable\": true, \"auto_delete\": false, \"arguments\": {}";
        write!(queues, "{comma}{{\"name\": \"q{number:04}\", {more}}}").unwrap();
    }
    let definitions = format!("{{\"queues\": [{queues}], \"exchanges\": [], \"bindings\": []}}");
    broker.run(&["definitions", "import", "-", "--vhost", &vhost], definitions).good();
    vhost
}

fn a_list_of_several_pages_is_whole(broker: &Broker) {
    let vhost = many(broker, 1201);
    let queues = broker.json(&["queues", "--vhost", &vhost, "--columns", "name"]);
    let expected: Vec<String> = (0..1201).map(|number| format!("q{number:04}")).collect();
    assert_eq!(names(&queues, "name"), expected);
    let table = broker.good(&["queues", "--vhost", &vhost, "--columns", "name"]);
    assert_eq!(table.lines().count(), 1203);
    assert!(table.ends_with(&format!("q1200\n1,201 queues in virtual host '{vhost}'\n")), "{table}");
    // Bindings come as one array.
    let bindings = broker.json(&["bindings", "--vhost", &vhost]);
    assert_eq!(bindings.len(), 1201);
    broker.good(&["vhosts", "delete", &vhost]);
}

fn the_api_sorts(broker: &Broker) {
    let vhost = broker.vhost();
    let url = broker.url("guest", &vhost);
    for (queue, count) in [("a", 2), ("b", 12), ("c", 1)] {
        broker.good(&["declare", "queue", queue, &url]);
        broker.good(&["publish", &url, "--key", queue, "--count", &count.to_string(), "m"]);
    }
    let sorted = |words: &[&str]| {
        let words = [&["queues", "--vhost", &vhost, "--sort", "messages"], words].concat();
        let mut order = Vec::new();
        broker.await_list(&words, |queues| {
            queues.iter().filter_map(|queue| queue["messages"].as_u64()).sum::<u64>() == 15
        });
        order.extend(names(&broker.json(&words), "name"));
        order
    };
    assert_eq!(sorted(&[]), ["c", "a", "b"]);
    assert_eq!(sorted(&["--reverse"]), ["b", "a", "c"]);
}

fn columns_and_filters_choose(broker: &Broker) {
    let vhost = broker.vhost();
    let url = broker.url("guest", &vhost);
    for queue in ["orders.eu", "orders.us", "bills"] {
        broker.good(&["declare", "queue", queue, &url]);
    }
    let list = |words: &[&str]| broker.json(&[&["queues", "--vhost", &vhost][..], words].concat());
    assert_eq!(names(&list(&["--filter", "^ORDERS"]), "name"), ["orders.eu", "orders.us"]);
    assert_eq!(names(&list(&["--filter", "^(?!orders)"]), "name"), ["bills"]);
    assert_eq!(list(&["--filter", "nothing"]), [] as [Value; 0]);
    assert_eq!(
        list(&["--columns", "name,durable", "--filter", "bills"]),
        [json!({"name": "bills", "durable": false})]
    );
    let none = broker.good(&["queues", "--vhost", &vhost, "--filter", "nothing"]);
    assert_eq!(none, format!("no queues in virtual host '{vhost}' matching 'nothing'\n"));
    // Lists that the API does not filter.
    let bindings =
        broker.good(&["bindings", "--vhost", &vhost, "--filter", "us$", "--columns", "source,destination"]);
    let expected = format!(
        "source     destination\n(default)  orders.us\n1 binding in virtual host '{vhost}' matching 'us$'\n"
    );
    assert_eq!(bindings, expected);
    let reason = broker.bad(&["queues", "--filter", "("], 2);
    assert!(reason.contains("it is no regular expression"), "{reason}");
}

fn exchanges_and_bindings_are_what_was_declared(broker: &Broker) {
    let vhost = broker.vhost();
    let url = broker.url("guest", &vhost);
    broker.good(&[
        "declare",
        "exchange",
        "events",
        "--type",
        "topic",
        "--durable",
        "--argument",
        "alternate-exchange=lost",
        &url,
    ]);
    broker.good(&["declare", "exchange", "archive", "--type", "fanout", "--internal", &url]);
    broker.good(&["declare", "queue", "orders", &url]);
    broker.good(&[
        "bind",
        "queue",
        "orders",
        "--exchange",
        "events",
        "--key",
        "order.#",
        "--argument",
        "n=1",
        &url,
    ]);
    broker.good(&["bind", "exchange", "archive", "--exchange", "events", "--key", "#", &url]);
    let exchanges = broker.good(&["exchanges", "--vhost", &vhost, "--filter", "^(?!amq)"]);
    let rows: Vec<Vec<&str>> = exchanges.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[1][..5], ["(default)", "direct", "yes", "no", "no"]);
    assert_eq!(rows[2][..5], ["archive", "fanout", "no", "no", "yes"]);
    assert_eq!(rows[3][..6], ["events", "topic", "yes", "no", "no", "{\"alternate-exchange\":\"lost\"}"]);
    // Programs see the exchange without a name under its empty name.
    assert_eq!(broker.json(&["exchanges", "--vhost", &vhost])[0]["name"], "");
    let mut bindings = broker.json(&["bindings", "--vhost", &vhost, "--filter", "^events$"]);
    bindings.sort_by_key(|binding| binding["destination"].to_string());
    assert_eq!(bindings.len(), 2);
    assert_eq!(bindings[0]["destination_type"], "exchange");
    assert_eq!(
        (&bindings[1]["routing_key"], &bindings[1]["arguments"]),
        (&json!("order.#"), &json!({"n": 1}))
    );
}

fn a_list_comes_again_and_again(broker: &Broker) {
    let vhost = broker.vhost();
    let url = broker.url("guest", &vhost);
    broker.good(&["declare", "queue", "growing", &url]);
    let mut watching =
        broker.spawn(&["queues", "--vhost", &vhost, "--columns", "messages", "--json", "--every", "20ms"]);
    let mut lines = BufReader::new(watching.stdout.take().unwrap()).lines();
    for count in 1..=2 {
        broker.good(&["publish", &url, "--key", "growing", "m"]);
        let seen = json!({"messages": count}).to_string();
        assert!(lines.by_ref().any(|line| line.unwrap() == seen));
    }
    watching.kill().unwrap();
    watching.end();
}

fn a_reader_that_has_enough_is_no_failure(broker: &Broker) {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let child = broker.command(&["exchanges", "--every", "1ms"]).stdout(writer).spawn().unwrap();
    let outcome = crate::process::end(child, b"");
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""));
}

fn options_of_a_list_belong_to_a_list(broker: &Broker) {
    for words in [
        &["queues", "--sort", "name", "delete", "x"][..],
        &["users", "--filter", "x", "add", "y"],
        &["vhosts", "--columns", "name", "list"],
    ] {
        let reason = broker.bad(words, 2);
        assert!(reason.contains("belong behind the word list, or without an action"), "{reason}");
    }
    assert!(broker.bad(&["queues", "--reverse"], 2).contains("--sort"));
    assert!(broker.bad(&["queues", "--columns", "a,,b"], 2).contains("a column has no name"));
    let (bare, explicit) = (
        broker.good(&["users", "--filter", "^guest$"]),
        broker.good(&["users", "list", "--filter", "^guest$"]),
    );
    assert_eq!(bare, explicit);
}
