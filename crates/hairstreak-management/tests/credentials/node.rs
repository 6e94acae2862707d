//! A node with users, and what they show it.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use hairstreak::service::{Client, ClientOptions, MemoryStore, Worker, WorkerOptions};
use hairstreak::{Component, Credentials, KeyPair};
use hairstreak_management::{Management, ManagementListeners};
use hairstreak_node::access::PasswordHash;
use hairstreak_node::{AmqpConfig, CurveConfig, HttpConfig, MetricsConfig, NodeConfig, Server};
use hairstreak_socket::security::generate_key_pair;

use crate::PATIENCE;

/// The names of the users, and their configure, write and read permissions. The password is the name, twice.
pub const USERS: [(&str, Option<[&str; 3]>); 6] = [
    ("everything", Some([".*", ".*", ".*"])),
    ("configures", Some(["^echo", "^$", "^$"])),
    ("writes", Some(["^$", "^echo", "^$"])),
    ("reads", Some(["^$", "^$", "^echo"])),
    ("elsewhere", Some(["^other", "^other", "^other"])),
    ("nothing", None),
];

/// A node on this host, with services, a directory, AMQP and HTTP, and [`USERS`] with keys.
pub struct Served {
    management: Management,
    server: Server,
    keys: Vec<KeyPair>,
    pub node_keys: KeyPair,
    definitions: PathBuf,
}

/// How a program logs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    Plain,
    Curve,
}

impl Served {
    /// With `require_login` nobody does anything without credentials, from this host either.
    pub fn start(require_login: bool) -> Served {
        // A hash that takes no time.
        let hash = |password: &str| PasswordHash::of_salted([1, 2, 3, 4], password.as_bytes()).to_text();
        Served::with_passwords(require_login, |password| {
            let algorithm = "rabbit_password_hashing_sha256";
            format!(r#""password_hash": "{}", "hashing_algorithm": "{algorithm}""#, hash(password))
        })
    }

    /// The same, with the hashes that new passwords have, which take long.
    pub fn with_slow_passwords(require_login: bool) -> Served {
        Served::with_passwords(require_login, |password| format!(r#""password": "{password}""#))
    }

    fn with_passwords(require_login: bool, password: impl Fn(&str) -> String) -> Served {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let keys: Vec<KeyPair> = USERS.iter().map(|_| generate_key_pair().unwrap()).collect();
        let node_keys = generate_key_pair().unwrap();
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let definitions = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("credentials-{}-{number}.json", std::process::id()));
        let local = format!("/tmp/hairstreak-credentials-{}-{number}", std::process::id());
        fs::write(&definitions, text_of(&keys, password)).unwrap();
        let anywhere = vec!["tcp://127.0.0.1:*".to_owned()];
        let bind = Some(anywhere.clone());
        let config = NodeConfig {
            load_definitions: Some(definitions.clone()),
            require_login,
            curve: CurveConfig { keys: Some(node_keys.clone()), ..CurveConfig::default() },
            amqp: AmqpConfig { bind: bind.clone(), ..AmqpConfig::default() },
            http: HttpConfig { bind: bind.clone(), ..HttpConfig::default() },
            metrics: MetricsConfig { bind, ..MetricsConfig::default() },
            directory_bind: anywhere,
            services_bind: ["tcp://127.0.0.1:*", &format!("ipc://{local}"), &format!("shm://{local}.shm")]
                .map(str::to_owned)
                .into(),
            ..NodeConfig::default()
        };
        let listeners = ManagementListeners::bind(&config).unwrap();
        let server = Server::start(config).unwrap();
        let management = listeners.serve(&server).unwrap();
        Served { management, server, keys, node_keys, definitions }
    }

    pub fn services(&self) -> String {
        self.server.service_endpoints()[0].to_string()
    }

    /// Where services are besides: ipc, and shared memory.
    pub fn local_services(&self) -> Vec<String> {
        self.server.service_endpoints()[1..].iter().map(ToString::to_string).collect()
    }

    pub fn directory(&self) -> String {
        self.server.endpoints()[0].to_string()
    }

    pub fn http(&self) -> SocketAddr {
        self.management.http_addresses()[0]
    }

    pub fn metrics(&self) -> SocketAddr {
        self.management.metrics_addresses()[0]
    }

    pub fn keys_of(&self, user: &str) -> &KeyPair {
        &self.keys[USERS.iter().position(|(name, _)| *name == user).unwrap()]
    }

    pub fn credentials(&self, user: &str, mechanism: Mechanism) -> Credentials {
        match mechanism {
            Mechanism::Plain => Credentials::password(user, &password_of(user)).unwrap(),
            Mechanism::Curve => Credentials::curve(self.keys_of(user).clone(), *self.node_keys.public()),
        }
    }

    pub fn client(&self, credentials: Credentials) -> Client {
        self.client_at(&self.services(), credentials)
    }

    pub fn client_at(&self, place: &str, credentials: Credentials) -> Client {
        let options = ClientOptions { credentials, timeout: Some(PATIENCE), ..ClientOptions::default() };
        Client::with_options(&[place], options).unwrap()
    }

    pub fn worker(&self, credentials: Credentials, service: &str) -> Worker {
        let options = WorkerOptions { credentials, ..WorkerOptions::default() };
        Worker::with_options(&[&self.services()], service, options, MemoryStore::new()).unwrap()
    }

    pub fn node(&self, credentials: Credentials) -> Component {
        let builder = Component::builder().directory(&self.directory()).credentials(credentials);
        builder.patience(PATIENCE).build().unwrap()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.definitions);
    }
}

pub fn password_of(user: &str) -> String {
    format!("{user}{user}")
}

/// The definitions, as RabbitMQ has them.
fn text_of(keys: &[KeyPair], password: impl Fn(&str) -> String) -> String {
    let users = USERS.iter().zip(keys).map(|((name, _), keys)| {
        let (password, key) = (password(&password_of(name)), keys.public());
        let tags = if *name == "everything" { r#""monitoring""# } else { "" };
        format!(r#"{{"name": "{name}", {password}, "tags": [{tags}], "curve": "{key}"}}"#)
    });
    let permissions = USERS.iter().filter_map(|(name, patterns)| {
        let [configure, write, read] = (*patterns)?;
        Some(format!(
            r#"{{"user": "{name}", "vhost": "/", "configure": "{configure}", "write": "{write}", "read": "{read}"}}"#
        ))
    });
    format!(
        r#"{{"vhosts": [{{"name": "/"}}], "users": [{}], "permissions": [{}]}}"#,
        users.collect::<Vec<_>>().join(", "),
        permissions.collect::<Vec<_>>().join(", ")
    )
}
