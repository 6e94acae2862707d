//! Long lists, pages, methods, CORS and gzip over HTTP.

use std::io::Read;
use std::time::Instant;

use flate2::read::GzDecoder;
use hairstreak_broker::queue::QueueDeclaration;
use hairstreak_node::operator::queues;
use serde_json::Value;

use super::node::TestNode;
use crate::http::HttpOptions;

/// A node with that many queues.
fn node_with_queues(count: usize) -> TestNode {
    let node = TestNode::start();
    for number in 0..count {
        let declaration = QueueDeclaration {
            log_id: 0,
            name: format!("q{number:06}").into_bytes().into(),
            ..QueueDeclaration::default()
        };
        queues::declare(&node.node, "/", &declaration).unwrap();
    }
    node
}

#[test]
fn ten_thousand_queues_are_listed_and_paged() {
    let node = node_with_queues(10_000);
    let client = node.client();
    let since = Instant::now();
    let all = client.get("/api/queues");
    let whole_time = since.elapsed();
    assert_eq!(all.as_array().unwrap().len(), 10_000);
    let since = Instant::now();
    let page = client.get("/api/queues?page=7&page_size=500&name=q00&sort=name&sort_reverse=true");
    println!("10,000 queues: {whole_time:?}, a page: {:?}", since.elapsed());
    assert_eq!((page["filtered_count"].as_u64(), page["total_count"].as_u64()), (Some(10_000), Some(10_000)));
    assert_eq!(page["items"][0]["name"], "q006999");
    let columns = client.get("/api/queues/%2F?columns=name,messages&page=1&page_size=2");
    assert_eq!(
        columns["items"],
        serde_json::json!([{"messages": 0, "name": "q000000"}, {"messages": 0, "name": "q000001"}])
    );
    let fast = client.get("/api/queues?disable_stats=true&enable_queue_totals=true&page=1&page_size=1");
    let mut keys: Vec<&String> = fast["items"][0].as_object().unwrap().keys().collect();
    keys.sort();
    assert_eq!(
        keys,
        [
            "arguments",
            "auto_delete",
            "durable",
            "exclusive",
            "messages",
            "messages_ready",
            "messages_unacknowledged",
            "name",
            "node",
            "state",
            "type",
            "vhost"
        ]
    );
}

#[test]
fn gzip_is_given_to_whom_takes_it() {
    let node = node_with_queues(300);
    let client = node.client();
    for target in ["/api/queues", "/api/queues?page=1&page_size=5"] {
        let answered = client.send("GET", target, "Accept-Encoding: gzip\r\n", b"");
        assert_eq!(answered.header("content-encoding"), Some("gzip"));
        let mut text = Vec::new();
        GzDecoder::new(&*answered.body).read_to_end(&mut text).unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&text).unwrap(), client.get(target));
    }
    assert_eq!(
        client.send("GET", "/api/whoami", "Accept-Encoding: gzip\r\n", b"").header("content-encoding"),
        None
    );
}

#[test]
fn methods_that_a_resource_lacks_are_refused() {
    let node = TestNode::start();
    let client = node.client();
    let answered = client.ask("PATCH", "/api/queues", "");
    assert_eq!((answered.status, answered.header("allow")), (405, Some("head, get, options")));
    assert_eq!(answered.json()["error"], "method_not_allowed");
    let answered = client.ask("OPTIONS", "/api/queues/%2F/x", "");
    assert_eq!((answered.status, answered.header("allow")), (200, Some("head, get, put, delete, options")));
    let answered = client.ask("HEAD", "/api/overview", "");
    assert_eq!((answered.status, answered.body.len()), (200, 0));
    assert_eq!(answered.header("cache-control"), Some("no-cache"));
    assert_eq!(answered.header("content-type"), Some("application/json"));
    for target in ["/api/nope", "/api", "/", "/api/queues/%zz", "/api//queues"] {
        client.absent("GET", target);
    }
}

#[test]
fn pages_of_allowed_origins_may_call() {
    let options = HttpOptions { allowed_origins: vec!["http://a".into()], ..HttpOptions::default() };
    let node = TestNode::with_options(options);
    let client = node.client();
    let answered = client.send("GET", "/api/whoami", "Origin: http://a\r\n", b"");
    assert_eq!(answered.header("access-control-allow-origin"), Some("http://a"));
    assert_eq!(answered.header("access-control-allow-credentials"), Some("true"));
    let headers = "Origin: http://a\r\nAccess-Control-Request-Headers: authorization, x-y\r\n";
    let answered = client.send("OPTIONS", "/api/queues/%2F/a", headers, b"");
    assert_eq!(answered.header("access-control-allow-headers"), Some("authorization, x-y"));
    assert_eq!(answered.header("access-control-allow-methods"), Some("head, get, put, delete, options"));
    let answered = client.send("GET", "/api/whoami", "Origin: http://x\r\n", b"");
    assert_eq!(answered.header("access-control-allow-origin"), None);
}

#[test]
fn paths_may_have_a_prefix() {
    let node =
        TestNode::with_options(HttpOptions { path_prefix: "/rabbit".into(), ..HttpOptions::default() });
    let client = node.client();
    assert_eq!(client.get("/rabbit/api/whoami")["name"], "guest");
    client.absent("GET", "/api/whoami");
}
