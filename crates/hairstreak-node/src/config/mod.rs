//! `NodeConfig`: the settings of a node, and its configuration file.
//!
//! ```toml
//! node_name = "hairstreak@localhost"
//! data_dir = "/var/lib/hairstreak"    # "none" keeps nothing; --data-dir says otherwise
//! disk_free_limit = 200_000_000       # free bytes on the disk of the data directory below which publishers wait
//! load_definitions = "definitions.json"   # imported at each start; paths begin at the folder of this file
//! require_login = false               # true: nothing is open without credentials, from this host either
//!
//! [curve]
//! secret_key_file = "node.key"        # for CURVE at services and the directory; without it a key of the node's own in its data directory
//!
//! [amqp]
//! bind = ["tcp://127.0.0.1:5672"]     # where AMQP clients connect; "tcp://*:5672" is every interface
//! virtual_hosts = ["/", "tests"]
//! memory_watermark = 4_000_000_000    # bytes of messages at which publishers wait, at least 4 MiB for each virtual host
//! message_size_max = 134_217_728      # bytes of a body, at most 536_870_912
//! connections_max = 65_536            # clients at a time
//! loops = 2                           # threads, at most 256; by default one for each core
//! loopback_users = ["guest"]          # users that may log in from this host only
//! anonymous_user = "guest"            # clients without credentials are this user; without this key they may not come
//!
//! [amqp.tls]                          # AMQP with TLS as well
//! bind = ["tcp://127.0.0.1:5671"]
//! certificate = "cert.pem"            # the node's, then those between it and a CA root
//! key = "key.pem"
//! ca = "ca.pem"                       # who signs client certificates
//! client_certificates = "optional"    # or "required"; without this key none are asked for
//! login_from = "common_name"          # of EXTERNAL; or "distinguished_name", "subject_alternative_name"
//!
//! [http]
//! bind = ["tcp://127.0.0.1:15672"]    # [] for none
//! path_prefix = ""                    # such as "/rabbit"
//! cors_origins = []                   # origins whose pages may call from a browser
//!
//! [http.tls]                          # HTTP with TLS as well
//! bind = ["tcp://127.0.0.1:15671"]
//! certificate = "cert.pem"            # this and the rest as in [amqp.tls]
//! key = "key.pem"
//!
//! [metrics]
//! bind = ["tcp://127.0.0.1:15692"]    # [] for none
//!
//! [log]                               # lines on standard error
//! level = "info"                      # or "debug", "warning", "error", "none"
//! format = "text"                     # or "json"
//!
//! [[users]]                           # users that may log in; without this table only guest may, from this host
//! name = "shop"
//! password_hash = "kI3GCqW5JLMJa4iX1lo7X4D6XbYqlLgxIs30+P6tENUV2POR"
//! tags = ["monitoring"]               # rights over HTTP
//! loopback_only = false
//! curve = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"   # the user's public key, for CURVE
//! ```
//!
//! Every key may be left out. A key that does not exist is an error.

mod amqp;
#[expect(clippy::module_inception, reason = "the type is what the folder is about")]
mod config;
mod environment;
mod error;
mod logging;
mod tls;
pub(crate) mod values;

pub use amqp::{AmqpConfig, FirstUser};
pub use config::{HttpConfig, MetricsConfig, NodeConfig};
pub use environment::Environment;
pub use error::ConfigError;
pub use logging::{LogConfig, LogFormat, LogLevel};
pub use tls::{ClientCertificatesConfig, CurveConfig, LoginFromConfig, TlsConfig};
