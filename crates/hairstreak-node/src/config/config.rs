//! `Config`: the contents of a node's configuration file.

use std::fs;
use std::path::{Path, PathBuf};

use hairstreak_socket::security::KeyPair;
use serde::{Deserialize, Deserializer};

use super::environment::Environment;
use super::error::ConfigError;
use super::logging::LogConfig;
use super::tls::{CurveConfig, HttpTlsConfig, TlsConfig};
use super::values;
use crate::node::{AmqpOptions, FirstUser};
use crate::tls::{AmqpTlsOptions, HttpTlsOptions};

/// The least watermark for each virtual host, in bytes. A host that has had a message keeps up to 2 MiB for the next message.
const MEMORY_MIN: usize = 4 << 20;

/// A node's configuration, as the file has it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The file, for error messages and for relative paths in the file. Empty: there is no file.
    #[serde(skip)]
    path: PathBuf,
    /// The name of the node. A data directory belongs to the node that made it.
    #[serde(default, deserialize_with = "values::some_name")]
    pub node_name: Option<String>,
    /// The data directory; `none`: no data is kept.
    #[serde(default)]
    pub data_dir: Option<PathBuf>,
    /// Free bytes below which the disk of the data directory counts as full.
    #[serde(default)]
    pub disk_free_limit: Option<u64>,
    /// A file of definitions that each start imports, in RabbitMQ's format.
    #[serde(default)]
    pub load_definitions: Option<PathBuf>,
    /// True if clients of this host need credentials for services and the directory, as other clients do.
    #[serde(default)]
    pub require_login: bool,
    /// The node's key for CURVE.
    #[serde(default)]
    pub curve: CurveConfig,
    /// The part for AMQP.
    #[serde(default)]
    pub amqp: AmqpConfig,
    /// The part for operators' HTTP.
    #[serde(default)]
    pub http: HttpConfig,
    /// The part for metrics.
    #[serde(default)]
    pub metrics: MetricsConfig,
    /// The part for the log.
    #[serde(default)]
    pub log: LogConfig,
    /// The users that may log in, each once.
    #[serde(default, deserialize_with = "users")]
    pub users: Vec<FirstUser>,
}

/// The part for AMQP.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AmqpConfig {
    /// Endpoints to listen on; an empty list: no AMQP without TLS.
    #[serde(default, deserialize_with = "values::endpoints")]
    pub bind: Option<Vec<String>>,
    /// AMQP with TLS. Without this part, or with an empty list of endpoints, no endpoint has TLS.
    pub tls: Option<TlsConfig>,
    /// Names of virtual hosts, at least one, each once.
    #[serde(default, deserialize_with = "values::virtual_hosts")]
    pub virtual_hosts: Option<Vec<String>>,
    /// Bytes of messages at which publishers wait.
    pub memory_watermark: Option<usize>,
    /// The most bytes of a body: at most 512 MiB, as in RabbitMQ.
    #[serde(default, deserialize_with = "values::between::<_, _, 1, 536_870_912>")]
    pub message_size_max: Option<u64>,
    /// The most clients at a time.
    #[serde(default, deserialize_with = "values::between::<_, _, 1, 16_777_216>")]
    pub connections_max: Option<usize>,
    /// Threads for connections.
    #[serde(default, deserialize_with = "values::between::<_, _, 1, 256>")]
    pub loops: Option<usize>,
    /// Users that may log in from this host only; without this key `guest`.
    #[serde(default)]
    pub loopback_users: Option<Vec<String>>,
    /// The user that clients without credentials are (ANONYMOUS). Without this key such clients may not come.
    #[serde(default, deserialize_with = "values::some_name")]
    pub anonymous_user: Option<String>,
}

/// The part for operators' HTTP.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpConfig {
    /// Endpoints of tcp to listen on; an empty list: none.
    #[serde(default, deserialize_with = "values::tcp_endpoints")]
    pub bind: Option<Vec<String>>,
    /// The beginning of every path, such as `/rabbit`.
    #[serde(default)]
    pub path_prefix: String,
    /// Origins whose pages may call from a browser; `*`: all.
    #[serde(default)]
    pub cors_origins: Vec<String>,
    /// HTTP with TLS; absent: no HTTP with TLS.
    pub tls: Option<HttpTlsConfig>,
}

/// The part for metrics.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MetricsConfig {
    /// Endpoints of tcp to listen on; an empty list: none.
    #[serde(default, deserialize_with = "values::tcp_endpoints")]
    pub bind: Option<Vec<String>>,
    /// True if clients of other hosts see metrics without credentials.
    #[serde(default)]
    pub anonymous: bool,
}

impl Config {
    /// Reads a file.
    ///
    /// Errors: the file cannot be read, or is no valid configuration.
    pub fn load(path: &Path) -> Result<Config, ConfigError> {
        let text =
            fs::read_to_string(path).map_err(|source| ConfigError::Read { path: path.into(), source })?;
        Config::parse(&text, path)
    }

    fn parse(text: &str, path: &Path) -> Result<Config, ConfigError> {
        let config = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            let line =
                1 + text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count();
            let reason = error.message().lines().collect::<Vec<_>>().join(" ");
            ConfigError::Parse { path: path.into(), line, reason }
        })?;
        Ok(Config { path: path.into(), ..config })
    }

    /// The folder at which relative paths begin.
    fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }

    fn wrong(&self, reason: String) -> ConfigError {
        ConfigError::Value { path: self.path.clone(), reason }
    }

    /// The AMQP options of the file and the environment.
    ///
    /// Errors: the memory is too small for the virtual hosts, or a password cannot be hashed.
    pub fn amqp_options(&self, environment: &Environment) -> Result<AmqpOptions, ConfigError> {
        let defaults = AmqpOptions::default();
        let amqp = self.amqp.clone();
        let local = self.users.iter().filter(|user| user.loopback_only).map(|user| user.name.clone());
        let options = AmqpOptions {
            is_configured: !self.path.as_os_str().is_empty(),
            users: self.users.clone(),
            virtual_hosts: amqp.virtual_hosts.unwrap_or_default(),
            default_user: environment.first_user()?.unwrap_or(defaults.default_user),
            default_virtual_host: environment
                .default_virtual_host
                .clone()
                .unwrap_or(defaults.default_virtual_host),
            load_definitions: self.load_definitions.as_ref().map(|file| self.folder().join(file)),
            loopback_users: local.chain(amqp.loopback_users.unwrap_or(defaults.loopback_users)).collect(),
            anonymous_user: amqp.anonymous_user,
            loop_count: amqp.loops,
            connections_max: amqp.connections_max.unwrap_or(defaults.connections_max),
            memory_watermark: amqp.memory_watermark.unwrap_or(defaults.memory_watermark),
            message_size_max: amqp.message_size_max.unwrap_or(defaults.message_size_max),
            ..AmqpOptions::default()
        };
        let least = options.virtual_hosts.len().max(1).saturating_mul(MEMORY_MIN);
        if options.memory_watermark < least {
            return Err(self.wrong(format!(
                "amqp.memory_watermark: {} bytes; at least {least}, which is 4 MiB for each virtual host",
                options.memory_watermark
            )));
        }
        Ok(options)
    }

    /// The node's keys for CURVE, if the file names them.
    ///
    /// Errors: the key cannot be read.
    pub fn curve_keys(&self) -> Result<Option<KeyPair>, ConfigError> {
        self.curve.keys(self.folder()).map_err(|reason| self.wrong(reason))
    }

    /// The options of AMQP with TLS. None: there is no TLS.
    ///
    /// Errors: keys that do not go together.
    pub fn amqp_tls_options(&self) -> Result<Option<AmqpTlsOptions>, ConfigError> {
        let options = self.amqp.tls.as_ref().map(|tls| tls.options(self.folder())).transpose();
        Ok(options.map_err(|reason| self.wrong(reason))?.filter(|tls| !tls.bind.is_empty()))
    }

    /// Returns the TLS options of operators' HTTP, like [`Config::amqp_tls_options`] for AMQP.
    ///
    /// Errors: keys that do not go together.
    pub fn http_tls_options(&self) -> Result<Option<HttpTlsOptions>, ConfigError> {
        let options = self.http.tls.as_ref().map(|tls| tls.options(self.folder())).transpose();
        Ok(options.map_err(|reason| self.wrong(reason))?.filter(|tls| !tls.bind.is_empty()))
    }
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
    use crate::config::{LogFormat, LogLevel};
    use crate::tls::{AlternativeNameKind, AsksClients, LoginFrom};

    fn check(text: &str) -> Result<AmqpOptions, String> {
        let path = Path::new("node.toml");
        let options =
            Config::parse(text, path).and_then(|config| config.amqp_options(&Environment::default()));
        options.map_err(|error| error.to_string())
    }

    #[test]
    fn an_empty_file_is_the_defaults_and_guest_comes_from_this_host_only() {
        let options = check("").unwrap();
        assert_eq!((&*options.default_virtual_host, &*options.default_user.name), ("/", "guest"));
        assert_eq!(options.loopback_users, ["guest"]);
    }

    #[test]
    fn users_replace_guest() {
        let text =
            "[[users]]\nname = \"a\"\npassword_hash = \"kI3GCqW5JLMJa4iX1lo7X4D6XbYqlLgxIs30+P6tENUV2POR\"\n";
        let options = check(text).unwrap();
        assert_eq!((options.users.len(), &*options.users[0].name), (1, "a"));
        assert!(!options.loopback_users.contains(&"a".into()));
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
    fn check_tls(text: &str) -> Result<Option<AmqpTlsOptions>, String> {
        let path = Path::new("/etc/hairstreak/node.toml");
        let options = Config::parse(text, path).and_then(|config| config.amqp_tls_options());
        options.map_err(|error| error.to_string())
    }

    #[test]
    fn tls_needs_a_certificate_and_a_key_and_has_the_usual_port() {
        assert_eq!(check_tls("[amqp]"), Ok(None));
        let text = "[amqp.tls]\ncertificate = \"cert.pem\"\nkey = \"/keys/key.pem\"";
        let expected = AmqpTlsOptions {
            bind: vec!["tcp://127.0.0.1:5671".into()],
            certificate: "/etc/hairstreak/cert.pem".into(),
            key: "/keys/key.pem".into(),
            client_certificates: AsksClients::None,
            login_from: LoginFrom::CommonName,
        };
        assert_eq!(check_tls(text), Ok(Some(expected.clone())));
        let text = format!(
            "{text}\nbind = [\"tcp://*:5671\"]\nca = \"ca.pem\"\nclient_certificates = \"required\"\nlogin_from = \"distinguished_name\""
        );
        let expected = AmqpTlsOptions {
            bind: vec!["tcp://*:5671".into()],
            client_certificates: AsksClients::Required("/etc/hairstreak/ca.pem".into()),
            login_from: LoginFrom::DistinguishedName,
            ..expected
        };
        assert_eq!(check_tls(&text), Ok(Some(expected)));
    }

    #[test]
    fn an_empty_list_of_endpoints_switches_its_listener_off() {
        let path = Path::new("node.toml");
        let files = "certificate = \"c\"\nkey = \"k\"\nbind = []";
        let text = format!(
            "[amqp]\nbind = []\n[amqp.tls]\n{files}\n[http]\nbind = []\n[http.tls]\n{files}\n[metrics]\nbind = []"
        );
        let config = Config::parse(&text, path).unwrap();
        for bind in [config.amqp.bind.clone(), config.http.bind.clone(), config.metrics.bind.clone()] {
            assert_eq!(bind, Some(Vec::new()));
        }
        assert_eq!(config.amqp_tls_options().unwrap(), None);
        assert_eq!(config.http_tls_options().unwrap(), None);
    }

    #[test]
    fn an_alternative_name_is_chosen_by_kind_and_place() {
        let text = "[amqp.tls]\ncertificate = \"c\"\nkey = \"k\"\nlogin_from = \"subject_alternative_name\"";
        let login_from = |text: &str| check_tls(text).unwrap().unwrap().login_from;
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
            let options = Config::parse(text, path).and_then(|config| config.http_tls_options());
            options.map_err(|error| error.to_string())
        };
        assert_eq!(check("[http]"), Ok(None));
        let text = "[http.tls]\ncertificate = \"cert.pem\"\nkey = \"/keys/key.pem\"";
        let expected = HttpTlsOptions {
            bind: vec!["tcp://127.0.0.1:15671".into()],
            certificate: "/etc/hairstreak/cert.pem".into(),
            key: "/keys/key.pem".into(),
            client_certificates: AsksClients::None,
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
        let log = |text: &str| Config::parse(text, Path::new("node.toml")).map(|config| config.log);
        assert_eq!(log("").unwrap(), LogConfig::default());
        let expected = LogConfig { level: Some(LogLevel::Warning), format: Some(LogFormat::Json) };
        assert_eq!(log("[log]\nlevel = \"warning\"\nformat = \"json\"").unwrap(), expected);
        for (text, wrong) in [
            ("[log]\nlevel = \"warn\"", ":2: warn is none of debug, info, warning, error, none"),
            ("[log]\nformat = \"xml\"", ":2: xml is none of text, json"),
            ("[log]\nfile = \"x\"", ":2: unknown field `file`"),
        ] {
            let said = log(text).unwrap_err().to_string();
            assert!(said.starts_with(&format!("node.toml{wrong}")), "{text}: {said}");
        }
    }
}
