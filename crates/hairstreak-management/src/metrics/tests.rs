//! The endpoint from a request to its text.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use hairstreak_broker::queue::{Durability, QueueDeclaration};
use hairstreak_node::access::Peer;
use hairstreak_node::definitions::VirtualHostDefinition;
use hairstreak_node::node::{HostState, Node, OPERATORS, Reason};
use hairstreak_node::operator::{self, queues, virtual_hosts};
use hairstreak_node::{NodeConfig, OneMessage, process, publish_once};

use super::{Readers, start};
use crate::http::{About, HttpServer};

const PATIENCE: Duration = Duration::from_secs(60);
/// The variable that a test has in a process of its own.
const ALONE: &str = "HAIRSTREAK_TEST_ALONE";

struct World {
    node: Arc<Node>,
    server: HttpServer,
}

/// The samples of a page: their values by names and labels as they are written.
#[derive(Debug)]
struct Page {
    types: BTreeMap<String, String>,
    samples: BTreeMap<String, f64>,
}

impl World {
    fn start(readers: Readers) -> World {
        let node = Arc::new(operator::open(&NodeConfig::default()).unwrap());
        let about = About {
            node_name: "hairstreak@localhost".into(),
            listeners: Vec::new(),
            disk_free_limit: 50_000_000,
            data_directory: None,
            config_files: Vec::new(),
            amqp_certificates: None,
            http_certificates: None,
        };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = start(vec![listener.into()], Arc::clone(&node), about, readers).unwrap();
        World { node, server }
    }

    /// The status and the body of an answer. `lines` are more headers, with their ends.
    fn ask(&self, method: &str, target: &str, lines: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(self.server.addresses()[0]).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        // A client of 1.0 gets no chunks.
        write!(stream, "{method} {target} HTTP/1.0\r\nHost: a\r\n{lines}\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    /// A client takes a message, and does not settle it.
    fn take(&self, host: &str, queue: &str) {
        let host = self.node.hosts.find(host).unwrap();
        let mut state = host.lock();
        let HostState { host, outlets, .. } = &mut *state;
        let channel = host.open_channel(OPERATORS, 1).unwrap();
        let outcome = host.get(channel, queue.as_bytes(), false, 0, outlets, |_, _, _| {});
        assert_eq!(outcome, Ok(hairstreak_broker::vhost::GetOutcome::Taken));
    }

    fn page(&self, target: &str) -> Page {
        let (status, text) = self.ask("GET", target, "");
        assert_eq!(status, 200, "{target}: {text}");
        Page::read(&text)
    }

    fn declare(&self, host: &str, name: &str) {
        let declaration = QueueDeclaration { name: name.as_bytes().into(), ..QueueDeclaration::default() };
        assert!(queues::declare(&self.node, host, &declaration).unwrap().is_new);
    }

    fn publish(&self, host: &str, queue: &str, body: &str) {
        let host = self.node.hosts.find(host).unwrap();
        let guest = self.node.access.log_in_without_password(b"guest", Peer::local()).unwrap();
        let (routing_key, body) = (queue.as_bytes(), body.as_bytes());
        let message = OneMessage { exchange: b"", routing_key, properties: &[0, 0], body };
        assert_eq!(publish_once(&self.node, &host, &guest, &message), Ok(Some(Durability::Memory)));
    }

    fn add_host(&self, name: &str) {
        let host = VirtualHostDefinition { name: name.into(), ..VirtualHostDefinition::default() };
        assert!(virtual_hosts::put(&self.node, host, Some("guest")).unwrap().is_new);
    }
}

impl Page {
    /// Reads strictly: a family's samples follow its type, and nothing comes twice.
    fn read(text: &str) -> Page {
        let mut page = Page { types: BTreeMap::new(), samples: BTreeMap::new() };
        let mut family = String::new();
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').unwrap();
                assert_eq!(page.types.insert(name.into(), kind.into()), None, "{name} has two types");
                family = name.into();
            } else if !line.starts_with('#') {
                let (series, value) = line.rsplit_once(' ').unwrap();
                let name = series.split('{').next().unwrap();
                let is_of_family = ["", "_bucket", "_sum", "_count"]
                    .iter()
                    .any(|suffix| name.strip_suffix(suffix) == Some(&*family));
                assert!(is_of_family, "{line} among the samples of {family}");
                let before = page.samples.insert(series.into(), value.parse().unwrap());
                assert_eq!(before, None, "{series} comes twice");
            }
        }
        page
    }

    #[track_caller]
    fn check(&self, series: &str, value: f64) {
        assert_eq!(self.samples.get(series), Some(&value), "{series}");
    }

    fn names(&self) -> BTreeSet<&str> {
        self.types.keys().map(String::as_str).collect()
    }
}

#[test]
fn the_sums_are_there_without_any_object() {
    let world = World::start(Readers::Loopback);
    let page = world.page("/metrics");
    for (name, kind) in [
        ("rabbitmq_queue_messages_ready", "gauge"),
        ("rabbitmq_connections_opened_total", "counter"),
        ("rabbitmq_alarms_memory_used_watermark", "untyped"),
        ("rabbitmq_message_size_bytes", "histogram"),
    ] {
        assert_eq!(page.types.get(name).map(String::as_str), Some(kind), "{name}");
    }
    page.check("rabbitmq_alarms_slow_disk", 0.0);
    page.check("rabbitmq_message_log_operation_seconds", 0.0);
    world.node.account.set_alarm(Reason::SlowDisk, true);
    let alarmed = world.page("/metrics");
    alarmed.check("rabbitmq_alarms_slow_disk", 1.0);
    alarmed.check("rabbitmq_alarms_messages_unwritten", 0.0);
    alarmed.check("rabbitmq_alarms_memory_used_watermark", 0.0);
    page.check("rabbitmq_queues", 0.0);
    page.check("rabbitmq_queue_messages", 0.0);
    page.check("rabbitmq_global_messages_received_total{protocol=\"amqp091\"}", 0.0);
    page.check("rabbitmq_auth_attempts_failed_total{protocol=\"http\"}", 0.0);
    let classic = "protocol=\"amqp091\",queue_type=\"rabbit_classic_queue\"";
    page.check(&format!("rabbitmq_global_messages_delivered_total{{{classic}}}"), 0.0);
    assert!(page.samples["rabbitmq_process_resident_memory_bytes"] > 1e6);
    assert!(page.samples["rabbitmq_resident_memory_limit_bytes"] > 1e6);
}

#[test]
fn a_page_names_the_node_and_the_versions() {
    let world = World::start(Readers::Loopback);
    for (target, endpoint) in [
        ("/metrics", "aggregated"),
        ("/metrics/per-object", "per-object"),
        ("/metrics/detailed", "detailed"),
        ("/metrics/memory-breakdown", "memory-breakdown"),
    ] {
        let page = world.page(target);
        let of = |name: &str| page.samples.keys().find(|series| series.starts_with(name)).unwrap().clone();
        let identity = of("rabbitmq_identity_info{");
        for label in [
            "rabbitmq_node=\"hairstreak@localhost\"",
            "rabbitmq_cluster=\"hairstreak@localhost\"",
            &format!("rabbitmq_endpoint=\"{endpoint}\""),
            &format!("rabbitmq_cluster_permanent_id=\"rabbitmq-cluster-id-{}\"", world.node.id),
        ] {
            assert!(identity.contains(label), "{label} in {identity}");
        }
        assert!(of("rabbitmq_build_info{").contains("product_name=\"Hairstreak\""));
    }
    let nothing = world.page("/metrics/detailed");
    assert_eq!(nothing.names(), BTreeSet::from(["rabbitmq_build_info", "rabbitmq_identity_info"]));
}

#[test]
fn each_object_has_its_series_and_the_sums_are_those_of_all() {
    let world = World::start(Readers::Loopback);
    world.add_host("other");
    for (host, queue) in [("/", "a \"b\" \\"), ("/", "c"), ("other", "c")] {
        world.declare(host, queue);
        world.publish(host, queue, "12345");
    }
    world.publish("other", "c", "1");
    world.take("/", "c");
    let page = world.page("/metrics/per-object");
    page.check(r#"rabbitmq_queue_messages{vhost="/",queue="a \"b\" \\"}"#, 1.0);
    page.check(r#"rabbitmq_queue_messages_ready_bytes{vhost="/",queue="c"}"#, 0.0);
    page.check(r#"rabbitmq_queue_messages_unacked_bytes{vhost="/",queue="c"}"#, 5.0);
    page.check(r#"rabbitmq_queue_messages_bytes{vhost="/",queue="c"}"#, 5.0);
    page.check(r#"rabbitmq_queue_messages{vhost="other",queue="c"}"#, 2.0);
    page.check(r#"rabbitmq_queue_messages_ready_bytes{vhost="other",queue="c"}"#, 6.0);
    page.check(r#"rabbitmq_queue_messages_published_total{queue_vhost="/",queue="c"}"#, 1.0);
    page.check(
        r#"rabbitmq_queue_info{vhost="/",queue="c",queue_type="rabbit_classic_queue",membership="leader",durability="memory"}"#,
        1.0,
    );
    page.check(r#"rabbitmq_exchange_messages_published_total{vhost="other",exchange=""}"#, 2.0);
    page.check("rabbitmq_queues", 3.0);
    let sums = world.page("/metrics");
    sums.check("rabbitmq_queue_messages", 4.0);
    sums.check("rabbitmq_queue_messages_ready_bytes", 11.0);
    sums.check("rabbitmq_queue_messages_unacked_bytes", 5.0);
    sums.check("rabbitmq_queue_messages_bytes", 16.0);
    sums.check("rabbitmq_queue_messages_ram_bytes", 16.0);
    sums.check("rabbitmq_queues_declared_total", 3.0);
    sums.check("rabbitmq_global_messages_routed_total{protocol=\"amqp091\"}", 4.0);
    sums.check("rabbitmq_global_messages_received_total{protocol=\"amqp091\"}", 4.0);
    sums.check("rabbitmq_message_size_bytes_bucket{protocol=\"amqp091\",le=\"100.0\"}", 4.0);
    sums.check("rabbitmq_message_size_bytes_bucket{protocol=\"amqp091\",le=\"+Inf\"}", 4.0);
    sums.check("rabbitmq_message_size_bytes_sum{protocol=\"amqp091\"}", 16.0);
}

#[test]
fn the_detailed_page_has_what_is_asked_for() {
    let world = World::start(Readers::Loopback);
    world.add_host("other");
    for (host, queue) in [("/", "a"), ("/", "b"), ("other", "a")] {
        world.declare(host, queue);
    }
    let page = world.page("/metrics/detailed?family=queue_coarse_metrics&vhost=%2F&queue=a");
    let expected = [
        "rabbitmq_build_info",
        "rabbitmq_detailed_queue_info",
        "rabbitmq_detailed_queue_messages",
        "rabbitmq_detailed_queue_messages_ready",
        "rabbitmq_detailed_queue_messages_unacked",
        "rabbitmq_identity_info",
    ];
    assert_eq!(page.names(), BTreeSet::from(expected));
    let queues: Vec<&String> =
        page.samples.keys().filter(|name| name.starts_with("rabbitmq_detailed_queue_messages{")).collect();
    assert_eq!(queues, [r#"rabbitmq_detailed_queue_messages{vhost="/",queue="a"}"#]);
    // The one group is a part of the other.
    let page = world.page("/metrics/detailed?family=queue_metrics&family=queue_consumer_count");
    page.check(r#"rabbitmq_detailed_queue_consumers{vhost="other",queue="a"}"#, 0.0);
    let page = world.page("/metrics/detailed?family=queue_consumer_count&vhost=other");
    assert_eq!(page.names().len(), 4, "{page:?}");
    let target = "/metrics/detailed?family=vhost_status&family=exchange_bindings&family=exchange_names";
    let page = world.page(target);
    page.check(r#"rabbitmq_cluster_vhost_status{vhost="other"}"#, 1.0);
    page.check(r#"rabbitmq_cluster_exchange_name{vhost="/",exchange="amq.topic",type="topic"}"#, 1.0);
    page.check(r#"rabbitmq_cluster_exchange_bindings{vhost="/",exchange="amq.topic",type="topic"}"#, 0.0);
    let page = world.page("/metrics/detailed?family=node_metrics&family=auth_attempt_metrics");
    assert!(page.samples["rabbitmq_detailed_process_max_fds"] > 0.0);
    page.check("rabbitmq_detailed_auth_attempts_total{protocol=\"zmtp\"}", 0.0);
}

#[test]
fn the_memory_by_its_use_is_the_memory_of_the_process() {
    // The memory is that of a process in which no other test runs.
    if std::env::var_os(ALONE).is_none() {
        let name = std::thread::current().name().map(str::to_owned).unwrap();
        let mut alone = Command::new(std::env::current_exe().unwrap());
        let output = alone.args(["--exact", &name]).env(ALONE, "1").output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
        return;
    }
    let world = World::start(Readers::Loopback);
    world.declare("/", "q");
    world.publish("/", "q", &"m".repeat(1 << 20));
    // Much memory, so that the memory of a request is little beside it.
    let held = vec![1_u8; 64 << 20];
    world.page("/metrics/memory-breakdown");
    let before = process::memory_bytes() as f64;
    let page = world.page("/metrics/memory-breakdown");
    let after = process::memory_bytes() as f64;
    let sum: f64 =
        page.samples.iter().filter(|(name, _)| name.contains("_memory_")).map(|(_, bytes)| bytes).sum();
    let slack = 2e6;
    assert!(sum > before.min(after) - slack && sum < before.max(after) + slack, "{sum}: {before}, {after}");
    assert!(sum > held.len() as f64);
    let messages = world.node.account.alarm.bytes() as f64;
    assert!(messages > 1e6, "{messages}");
    page.check("rabbitmq_memory_binary_heap_bytes", messages);
}

#[test]
fn other_pages_and_methods_are_refused() {
    let world = World::start(Readers::Loopback);
    for (method, target, status) in [
        ("GET", "/metrics/nothing", 404),
        ("GET", "/", 404),
        ("GET", "/metrics/per-object/x", 404),
        ("POST", "/metrics", 405),
        ("OPTIONS", "/metrics", 200),
        ("HEAD", "/metrics", 200),
    ] {
        let (answered, body) = world.ask(method, target, "");
        assert_eq!(answered, status, "{method} {target}");
        assert!(method == "GET" || method == "POST" || body.is_empty(), "{method} {target}: {body}");
    }
}

#[test]
fn a_node_that_is_closed_shows_metrics_to_users_that_may_monitor() {
    let world = World::start(Readers::Users);
    let guest = "Authorization: Basic Z3Vlc3Q6Z3Vlc3Q=\r\n";
    let wrong = "Authorization: Basic Z3Vlc3Q6d3Jvbmc=\r\n";
    for (lines, status) in [("", 401), (wrong, 401), (guest, 200)] {
        assert_eq!(world.ask("GET", "/metrics", lines).0, status, "{lines}");
    }
    let untagged = operator::users::UserChanges { tags: Some(Vec::new()), ..Default::default() };
    operator::users::put(&world.node, "guest", untagged, operator::users::By::Operator).unwrap();
    assert_eq!(world.ask("GET", "/metrics", guest).0, 401);
}

#[test]
fn counters_do_not_fall_when_a_virtual_host_is_deleted() {
    let world = World::start(Readers::Loopback);
    world.add_host("other");
    world.declare("other", "q");
    world.publish("other", "q", "m");
    let check = |when: &str, queue_count: f64| {
        let page = world.page("/metrics");
        for series in [
            "rabbitmq_queues_created_total",
            "rabbitmq_global_messages_received_total{protocol=\"amqp091\"}",
            "rabbitmq_global_messages_routed_total{protocol=\"amqp091\"}",
            "rabbitmq_queue_messages_published_total",
        ] {
            assert_eq!(page.samples[series], 1.0, "{series} {when}");
        }
        page.check("rabbitmq_queues", queue_count);
        page.check("rabbitmq_queue_messages", queue_count);
        page.check("rabbitmq_queues_deleted_total", 1.0 - queue_count);
    };
    check("at first", 1.0);
    let kept = world.node.hosts.find("other").unwrap();
    virtual_hosts::delete(&world.node, "other").unwrap();
    check("while a connection has not left", 0.0);
    drop(kept);
    check("after the last connection", 0.0);
}
