//! `NodeConfig`: the settings of a node. The configuration file fills it in, then the environment and the command line.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hairstreak_services::broker::Options as ServiceOptions;
use hairstreak_services::names::Options as DirectoryOptions;
use serde::{Deserialize, Deserializer};

use super::amqp::{AmqpConfig, FirstUser};
use super::error::ConfigError;
use super::logging::LogConfig;
use super::tls::{CurveConfig, TlsConfig, http_tls};
use super::values;
use crate::access::LoginRules;
use crate::curve_keys::read_keys;

/// The least watermark for each virtual host, in bytes. A host that has had a message keeps up to 2 MiB for the next message.
const MEMORY_MIN: usize = 4 << 20;

/// The free bytes below which a disk counts as full. Two files of 64 MiB may still come when publishers are told to wait: the next one
/// for messages on their way, and one for copies, which free space. The rest is for definitions. RabbitMQ has 50 MB and no such files.
const DISK_FREE_LIMIT: u64 = 200_000_000;

/// The settings of a node. By default nothing is kept, and there is no endpoint.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NodeConfig {
    /// The file. `None`: there is none, and users from an earlier configuration stay.
    #[serde(skip)]
    pub file: Option<PathBuf>,
    /// The name of the node. A data directory belongs to the node that made it.
    #[serde(deserialize_with = "values::name")]
    pub node_name: String,
    /// The data directory. `None`: definitions are in memory only. The program that reads a file takes its word `none` for that.
    pub data_dir: Option<PathBuf>,
    /// Milliseconds that each sync of messages takes longer. Only for measurements, and in no document for operators.
    pub store_sync_delay_ms: u64,
    /// Free bytes below which the disk of the data directory counts as full.
    pub disk_free_limit: u64,
    /// A file of definitions that each start imports, in RabbitMQ's format. With it the default user and the default virtual host
    /// are not made.
    pub load_definitions: Option<PathBuf>,
    /// True if clients of this host need credentials for the directory, services, health checks and metrics, as other clients do.
    pub require_login: bool,
    /// The node's keys for CURVE, for the directory and services.
    pub curve: CurveConfig,
    /// The part for AMQP.
    pub amqp: AmqpConfig,
    /// The part for operators' HTTP.
    pub http: HttpConfig,
    /// The part for metrics.
    pub metrics: MetricsConfig,
    /// The part for the log.
    pub log: LogConfig,
    /// Users that exist after each start, each once. They may do everything in the virtual hosts of that time, unless their
    /// permissions were changed.
    #[serde(deserialize_with = "users")]
    pub users: Vec<FirstUser>,
    /// The first user of a node without definitions, unless there are `users`.
    #[serde(skip)]
    pub default_user: FirstUser,
    /// The first virtual host of a node without definitions.
    #[serde(skip)]
    pub default_virtual_host: String,
    /// Endpoints of the directory.
    #[serde(skip)]
    pub directory_bind: Vec<String>,
    /// Limits of the directory.
    #[serde(skip)]
    pub directory: DirectoryOptions,
    /// Endpoints of the broker of services.
    #[serde(skip)]
    pub services_bind: Vec<String>,
    /// Limits of services.
    #[serde(skip)]
    pub services: ServiceOptions,
}

impl Default for NodeConfig {
    fn default() -> NodeConfig {
        NodeConfig {
            file: None,
            // Containers get a new host name with each start, so that no host name is in it.
            node_name: "hairstreak@localhost".into(),
            data_dir: None,
            store_sync_delay_ms: 0,
            disk_free_limit: DISK_FREE_LIMIT,
            load_definitions: None,
            require_login: false,
            curve: CurveConfig::default(),
            amqp: AmqpConfig::default(),
            http: HttpConfig::default(),
            metrics: MetricsConfig::default(),
            log: LogConfig::default(),
            users: Vec::new(),
            default_user: FirstUser::guest(),
            default_virtual_host: "/".into(),
            directory_bind: Vec::new(),
            directory: DirectoryOptions::default(),
            services_bind: Vec::new(),
            services: ServiceOptions::default(),
        }
    }
}

/// The part for operators' HTTP.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HttpConfig {
    /// Endpoints of tcp without TLS. `None` and an empty list: HTTP without TLS is off.
    #[serde(deserialize_with = "values::tcp_endpoints")]
    pub bind: Option<Vec<String>>,
    /// The beginning of every path, such as `/rabbit`.
    pub path_prefix: String,
    /// Origins whose pages may call from a browser; `*`: all.
    pub cors_origins: Vec<String>,
    /// HTTP with TLS. `None`: HTTP with TLS is off.
    #[serde(deserialize_with = "http_tls")]
    pub tls: Option<TlsConfig>,
}

/// The part for metrics.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MetricsConfig {
    /// Endpoints of tcp. `None` and an empty list: metrics are off.
    #[serde(deserialize_with = "values::tcp_endpoints")]
    pub bind: Option<Vec<String>>,
    /// True if clients of other hosts see metrics without credentials.
    pub anonymous: bool,
}

impl NodeConfig {
    /// Reads a file.
    ///
    /// Errors: the file cannot be read, or is no valid configuration.
    pub fn load(path: &Path) -> Result<NodeConfig, ConfigError> {
        let text =
            fs::read_to_string(path).map_err(|source| ConfigError::Read { path: path.into(), source })?;
        NodeConfig::parse(&text, path)
    }

    fn parse(text: &str, path: &Path) -> Result<NodeConfig, ConfigError> {
        let mut config: NodeConfig = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            let line =
                1 + text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count();
            let reason = error.message().lines().collect::<Vec<_>>().join(" ");
            ConfigError::Parse { path: path.into(), line, reason }
        })?;
        let folder = path.parent().unwrap_or(Path::new(""));
        config.complete(folder).map_err(|reason| ConfigError::Value { path: path.into(), reason })?;
        Ok(NodeConfig { file: Some(path.into()), ..config })
    }

    /// Checks keys that depend on each other, and has relative paths begin at `folder`.
    fn complete(&mut self, folder: &Path) -> Result<(), String> {
        for (part, tls) in [("amqp.tls", &mut self.amqp.tls), ("http.tls", &mut self.http.tls)] {
            if let Some(tls) = tls {
                tls.complete(part, folder)?;
            }
            *tls = tls.take().filter(|tls| !tls.bind.is_empty());
        }
        for file in self.load_definitions.iter_mut().chain(&mut self.curve.secret_key_file) {
            *file = folder.join(&*file);
        }
        let AmqpConfig { virtual_hosts, memory_watermark, .. } = &self.amqp;
        let least = virtual_hosts.len().max(1).saturating_mul(MEMORY_MIN);
        if *memory_watermark < least {
            return Err(format!(
                "amqp.memory_watermark: {memory_watermark} bytes; at least {least}, which is 4 MiB for each virtual host"
            ));
        }
        Ok(())
    }

    /// Reads the node's keys for CURVE, if they are not here and a file is named.
    ///
    /// Errors: the key cannot be read.
    pub(crate) fn read_curve_keys(&mut self) -> Result<(), ConfigError> {
        let (None, Some(path)) = (&self.curve.keys, &self.curve.secret_key_file) else { return Ok(()) };
        let keys = read_keys(path).map_err(|error| ConfigError::Value {
            path: self.file.clone().unwrap_or_default(),
            reason: format!("curve.secret_key_file: {}: {error}", path.display()),
        })?;
        self.curve.keys = Some(keys);
        Ok(())
    }

    /// Time that each sync of messages takes longer.
    pub fn store_sync_delay(&self) -> Duration {
        Duration::from_millis(self.store_sync_delay_ms)
    }

    /// Rules about users and the hosts that they come from.
    pub fn login_rules(&self) -> LoginRules {
        let local = self.users.iter().filter(|user| user.loopback_only).map(|user| &user.name);
        LoginRules {
            loopback_users: local.chain(&self.amqp.loopback_users).cloned().collect(),
            anonymous_user: self.amqp.anonymous_user.clone(),
        }
    }

    /// Returns `true` if AMQP has an endpoint.
    pub fn has_amqp(&self) -> bool {
        has_endpoints(&self.amqp.bind, &self.amqp.tls)
    }

    /// Returns `true` if operators' HTTP has an endpoint.
    pub fn has_http(&self) -> bool {
        has_endpoints(&self.http.bind, &self.http.tls)
    }

    /// Returns `true` if virtual hosts are served: AMQP, operators' HTTP or metrics have an endpoint.
    pub fn has_virtual_hosts(&self) -> bool {
        self.has_amqp() || self.has_http() || has_endpoints(&self.metrics.bind, &None)
    }
}

fn has_endpoints(bind: &Option<Vec<String>>, tls: &Option<TlsConfig>) -> bool {
    bind.iter().chain(tls.iter().map(|tls| &tls.bind)).any(|endpoints| !endpoints.is_empty())
}

/// Users, each once.
fn users<'de, D: Deserializer<'de>>(value: D) -> Result<Vec<FirstUser>, D::Error> {
    let users = Vec::<FirstUser>::deserialize(value)?;
    values::check_differ(users.iter().map(|user| &user.name))?;
    Ok(users)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{ClientCertificatesConfig, LogFormat, LogLevel, LoginFromConfig};
    use crate::tls::{AlternativeNameKind, LoginFrom};

    fn check(text: &str) -> Result<NodeConfig, String> {
        NodeConfig::parse(text, Path::new("node.toml")).map_err(|error| error.to_string())
    }

    #[test]
    fn an_empty_file_is_the_defaults_and_guest_comes_from_this_host_only() {
        let config = check("").unwrap();
        assert_eq!((&*config.default_virtual_host, &*config.default_user.name), ("/", "guest"));
        assert_eq!(config.login_rules().loopback_users, ["guest"]);
    }

    #[test]
    fn users_replace_guest() {
        let text =
            "[[users]]\nname = \"a\"\npassword_hash = \"kI3GCqW5JLMJa4iX1lo7X4D6XbYqlLgxIs30+P6tENUV2POR\"\n";
        let config = check(text).unwrap();
        assert_eq!((config.users.len(), &*config.users[0].name), (1, "a"));
        assert!(!config.login_rules().loopback_users.contains(&"a".into()));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let hash = "password_hash = \"kI3GCqW5JLMJa4iX1lo7X4D6XbYqlLgxIs30+P6tENUV2POR\"";
        let user = |name: &str| format!("[[users]]\nname = \"{name}\"\n{hash}\n");
        let twice = user("a") + &user("a");
        for (text, wrong) in [
            ("[amqp]\n\nbnd = 1", ":3: unknown field `bnd`"),
            ("[amqp]\nloops = 0", ":2: 0 is not between 1 and 256"),
            ("[amqp]\nloops = \"x\"", ":2: invalid type"),
            ("[amqp]\nconnections_max = 0", ":2: 0 is not between 1 and"),
            ("[amqp]\nmessage_size_max = 536_870_913", ":2: 536870913 is not between 1 and 536870912"),
            ("[amqp]\nvirtual_hosts = []", ":2: no virtual host"),
            ("[amqp]\nvirtual_hosts = [\"/\", \"/\"]", ":2: / is there twice"),
            ("[amqp]\nvirtual_hosts = [\"\"]", ":2: a name has 1 to 255 bytes"),
            ("\nnode_name = \"\"", ":2: a name has 1 to 255 bytes"),
            ("[amqp]\nanonymous_user = \"\"", ":2: a name has 1 to 255 bytes"),
            ("[amqp]\nbind = [\"tcp://127.0.0.1:amqp\"]", ":2: endpoint \"tcp://127.0.0.1:amqp\": tcp needs"),
            (
                "[amqp]\nbind = [\"inproc://x\"]",
                ":2: inproc://x: AMQP is served on tcp://, ipc://, shm:// and vortex://",
            ),
            ("[amqp]\nmemory_watermark = 0", ": amqp.memory_watermark: 0 bytes; at least 4194304"),
            (
                "[[users]]\nname = \"a\"\npassword_hash = \"b\"",
                ":3: a rabbit_password_hashing_sha256 hash is base64",
            ),
            (&user(""), ":2: a name has 1 to 255 bytes"),
            (&twice, ":1: a is there twice"),
        ] {
            let said = check(text).unwrap_err();
            assert!(said.starts_with(&format!("node.toml{wrong}")), "{text}: {said}");
        }
    }

    fn check_tls(text: &str) -> Result<Option<TlsConfig>, String> {
        let config = NodeConfig::parse(text, Path::new("/etc/hairstreak/node.toml"));
        config.map(|config| config.amqp.tls).map_err(|error| error.to_string())
    }

    #[test]
    fn tls_needs_a_certificate_and_a_key_and_has_the_usual_port() {
        assert_eq!(check_tls("[amqp]"), Ok(None));
        let text = "[amqp.tls]\ncertificate = \"cert.pem\"\nkey = \"/keys/key.pem\"";
        let expected = TlsConfig {
            bind: vec!["tcp://127.0.0.1:5671".into()],
            certificate: "/etc/hairstreak/cert.pem".into(),
            key: "/keys/key.pem".into(),
            client_certificates: ClientCertificatesConfig::None,
            login_from: LoginFromConfig::CommonName,
            ..TlsConfig::default()
        };
        assert_eq!(check_tls(text), Ok(Some(expected.clone())));
        let text = format!(
            "{text}\nbind = [\"tcp://*:5671\"]\nca = \"ca.pem\"\nclient_certificates = \"required\"\nlogin_from = \"distinguished_name\""
        );
        let expected = TlsConfig {
            bind: vec!["tcp://*:5671".into()],
            ca: Some("/etc/hairstreak/ca.pem".into()),
            client_certificates: ClientCertificatesConfig::Required,
            login_from: LoginFromConfig::DistinguishedName,
            ..expected
        };
        assert_eq!(check_tls(&text), Ok(Some(expected)));
    }

    #[test]
    fn an_empty_list_of_endpoints_switches_its_listener_off() {
        let files = "certificate = \"c\"\nkey = \"k\"\nbind = []";
        let text = format!(
            "[amqp]\nbind = []\n[amqp.tls]\n{files}\n[http]\nbind = []\n[http.tls]\n{files}\n[metrics]\nbind = []"
        );
        let config = check(&text).unwrap();
        for bind in [&config.amqp.bind, &config.http.bind, &config.metrics.bind] {
            assert_eq!(*bind, Some(Vec::new()));
        }
        assert_eq!((&config.amqp.tls, &config.http.tls), (&None, &None));
        assert!(!config.has_virtual_hosts());
    }

    #[test]
    fn an_alternative_name_is_chosen_by_kind_and_place() {
        let text = "[amqp.tls]\ncertificate = \"c\"\nkey = \"k\"\nlogin_from = \"subject_alternative_name\"";
        let login_from = |text: &str| check_tls(text).unwrap().unwrap().login_from();
        let of = |kind, index| LoginFrom::SubjectAlternativeName { kind, index };
        assert_eq!(login_from(text), of(AlternativeNameKind::Dns, 0));
        let text = format!("{text}\nlogin_san_type = \"email\"\nlogin_san_index = 2");
        assert_eq!(login_from(&text), of(AlternativeNameKind::Email, 2));
    }

    #[test]
    fn keys_of_tls_that_do_not_go_together_are_named() {
        let files = "[amqp.tls]\ncertificate = \"c\"\nkey = \"k\"\n";
        for (text, wrong) in [
            ("[amqp.tls]\nkey = \"k\"", ":1: missing field `certificate`"),
            ("[amqp.tls]\ncertificate = \"k\"", ":1: missing field `key`"),
            (&*format!("{files}cacert = \"c\""), ":4: unknown field `cacert`"),
            (&format!("{files}bind = [\"shm://x\"]"), ":4: shm://x: AMQP with TLS is served on tcp://"),
            (&format!("{files}client_certificates = \"maybe\""), ":4: unknown variant `maybe`"),
            (&format!("{files}client_certificates = \"required\""), ": amqp.tls.client_certificates: needs"),
            (&format!("{files}ca = \"ca.pem\""), ": amqp.tls.ca: is for client certificates"),
            (&format!("{files}login_san_index = 1"), ": amqp.tls.login_san_type and login_san_index are"),
            (&format!("{files}login_san_index = 256"), ":4: 256 is not between 0 and 255"),
        ] {
            let said = check_tls(text).unwrap_err();
            assert!(said.starts_with(&format!("/etc/hairstreak/node.toml{wrong}")), "{text}: {said}");
        }
    }

    #[test]
    fn http_with_tls_has_the_same_keys_and_its_usual_port() {
        let path = Path::new("/etc/hairstreak/node.toml");
        let check = |text: &str| {
            let config = NodeConfig::parse(text, path);
            config.map(|config| config.http.tls).map_err(|error| error.to_string())
        };
        assert_eq!(check("[http]"), Ok(None));
        let text = "[http.tls]\ncertificate = \"cert.pem\"\nkey = \"/keys/key.pem\"";
        let expected = TlsConfig {
            bind: vec!["tcp://127.0.0.1:15671".into()],
            certificate: "/etc/hairstreak/cert.pem".into(),
            key: "/keys/key.pem".into(),
            ..TlsConfig::default()
        };
        assert_eq!(check(text), Ok(Some(expected)));
        for (more, wrong) in [
            ("bind = [\"ipc://x\"]", ":4: ipc://x: HTTP is served on tcp:// only"),
            ("client_certificates = \"optional\"", ": http.tls.client_certificates: needs"),
            ("ca = \"ca.pem\"", ": http.tls.ca: is for client certificates"),
            ("login_from = \"common_name\"", ":4: unknown field `login_from`"),
        ] {
            let said = check(&format!("{text}\n{more}")).unwrap_err();
            assert!(said.starts_with(&format!("/etc/hairstreak/node.toml{wrong}")), "{more}: {said}");
        }
    }

    #[test]
    fn the_log_has_a_level_and_a_format_in_the_words_of_rabbitmq() {
        let log = |text: &str| check(text).map(|config| config.log);
        assert_eq!(log("").unwrap(), LogConfig::default());
        let expected = LogConfig { level: LogLevel::Warning, format: LogFormat::Json };
        assert_eq!(log("[log]\nlevel = \"warning\"\nformat = \"json\"").unwrap(), expected);
        for (text, wrong) in [
            ("[log]\nlevel = \"warn\"", ":2: warn is none of debug, info, warning, error, none"),
            ("[log]\nformat = \"xml\"", ":2: xml is none of text, json"),
            ("[log]\nfile = \"x\"", ":2: unknown field `file`"),
        ] {
            let said = log(text).unwrap_err();
            assert!(said.starts_with(&format!("node.toml{wrong}")), "{text}: {said}");
        }
    }
}
