//! `TestNode`: a node with only its API.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;

use hairstreak_node::NodeConfig;
use hairstreak_node::node::{HostState, Node, OPERATORS};
use hairstreak_node::operator;

use super::client::Client;
use crate::http::{About, HttpOptions, HttpServer, ListenerInfo, start};

/// A node and its API. Dropped, it is gone.
pub(super) struct TestNode {
    pub(super) node: Arc<Node>,
    pub(super) http: HttpServer,
}

impl TestNode {
    /// A node with the user `guest`, an administrator.
    pub(super) fn start() -> TestNode {
        TestNode::with_options(HttpOptions::default())
    }

    pub(super) fn with_options(options: HttpOptions) -> TestNode {
        TestNode::described(options, |_| {})
    }

    /// A node whose description is changed.
    pub(super) fn described(options: HttpOptions, change: impl FnOnce(&mut About)) -> TestNode {
        TestNode::open(options, &NodeConfig::default(), change)
    }

    /// A node with the definitions of a data directory.
    pub(super) fn with_data(data: &Path) -> TestNode {
        let config = NodeConfig { data_dir: Some(data.into()), ..NodeConfig::default() };
        TestNode::open(HttpOptions::default(), &config, |_| {})
    }

    /// A node that keeps messages in a data directory.
    pub(super) fn with_messages(data: &Path) -> TestNode {
        let config = NodeConfig { data_dir: Some(data.into()), ..NodeConfig::default() };
        TestNode::open(HttpOptions::default(), &config, |_| {})
    }

    fn open(options: HttpOptions, config: &NodeConfig, change: impl FnOnce(&mut About)) -> TestNode {
        let node = Arc::new(operator::open(config).unwrap());
        operator::take_back_what_fails(&node);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let amqp: SocketAddr = "127.0.0.1:5672".parse().unwrap();
        let mut about = about(vec![
            ListenerInfo { protocol: "amqp", address: amqp },
            ListenerInfo { protocol: "http", address },
        ]);
        change(&mut about);
        let http = start(vec![listener.into()], options, Arc::clone(&node), about).unwrap();
        TestNode { node, http }
    }

    /// A client of AMQP takes a message of a queue in the virtual host `/`, and does not settle it.
    pub(super) fn take(&self, queue: &str) {
        let host = self.node.hosts.find("/").unwrap();
        let mut state = host.lock();
        let HostState { host, outlets, .. } = &mut *state;
        let channel = host.open_channel(OPERATORS, 1).unwrap();
        let outcome = host.get(channel, queue.as_bytes(), false, 0, outlets, |_, _, _| {});
        assert_eq!(outcome, Ok(hairstreak_broker::vhost::GetOutcome::Taken));
    }

    /// A client of the administrator.
    pub(super) fn client(&self) -> Client {
        Client::new(self.http.addresses()[0], Some(("guest", "guest")))
    }

    /// A client of a user that has these tags, and permissions of its own things in the virtual host `/`.
    pub(super) fn client_of(&self, name: &str, tags: &str) -> Client {
        let administrator = self.client();
        let body = format!("{{\"password\":\"p\",\"tags\":\"{tags}\"}}");
        administrator.check("PUT", &format!("/api/users/{name}"), &body, 201, "");
        let body = r#"{"configure":"^mine","write":"^mine","read":"^mine"}"#;
        administrator.check("PUT", &format!("/api/permissions/%2F/{name}"), body, 201, "");
        Client::new(self.http.addresses()[0], Some((name, "p")))
    }
}

/// The description of a node of the tests.
pub(super) fn about(listeners: Vec<ListenerInfo>) -> About {
    About {
        node_name: "hairstreak@localhost".into(),
        listeners,
        disk_free_limit: 50_000_000,
        data_directory: None,
        config_files: Vec::new(),
        amqp_certificates: None,
        http_certificates: None,
    }
}
