//! `Environment`: the variables by which container images and test suites configure RabbitMQ.
//!
//! | variable | here |
//! |---|---|
//! | `RABBITMQ_DEFAULT_USER`, `_PASS`, `_VHOST` | user, password and virtual host of a new data directory; may log in from any host |
//! | `RABBITMQ_NODE_IP_ADDRESS` | the address that AMQP, HTTP and metrics listen on, such as 0.0.0.0 |
//! | `RABBITMQ_NODE_PORT` | the port of AMQP |
//! | `RABBITMQ_NODENAME` | the name of the node |
//!
//! Variables that RabbitMQ's own image refuses are refused here, too: a password that is silently not used would leave the
//! default one. A value that is not UTF-8 is refused for the same reason.

use std::ffi::OsString;
use std::net::IpAddr;

use super::amqp::FirstUser;
use super::config::NodeConfig;
use super::error::ConfigError;
use crate::access::{Argon2idParameters, HashingAlgorithm, PasswordHash};

/// Variables that RabbitMQ's image refuses, without the prefix.
const REFUSED: [&str; 5] =
    ["DEFAULT_PASS_FILE", "DEFAULT_USER_FILE", "VM_MEMORY_HIGH_WATERMARK", "SSL_", "MANAGEMENT_SSL_"];
const PREFIX: &str = "RABBITMQ_";

/// The variables that are set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// The first user.
    pub default_user: Option<String>,
    /// The first user's password.
    pub default_password: Option<String>,
    /// The first virtual host.
    pub default_virtual_host: Option<String>,
    /// The address of all listeners except services and the directory.
    pub address: Option<String>,
    /// The port of AMQP.
    pub port: Option<u16>,
    /// The name of the node.
    pub node_name: Option<String>,
}

impl Environment {
    /// Picks the variables out of all.
    ///
    /// # Errors
    ///
    /// A value is invalid, or the variable is one that RabbitMQ refuses.
    pub fn of(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Result<Environment, ConfigError> {
        let mut environment = Environment::default();
        for (name, value) in variables {
            let name = name.to_string_lossy();
            let Some(key) = name.strip_prefix(PREFIX) else { continue };
            let wrong =
                |reason: &str| ConfigError::Variable { name: name.to_string(), reason: reason.into() };
            if REFUSED
                .iter()
                .any(|refused| key == *refused || (refused.ends_with('_') && key.starts_with(refused)))
            {
                return Err(wrong("is not supported; use the configuration file"));
            }
            // Images set variables that are not meant to an empty text.
            if value.is_empty() {
                continue;
            }
            let value = value.into_string().map_err(|_| wrong("the value is not UTF-8"))?;
            match key {
                "DEFAULT_USER" => {
                    environment.default_user = Some(name_of(value).map_err(|reason| wrong(&reason))?)
                }
                "DEFAULT_PASS" => environment.default_password = Some(value),
                "DEFAULT_VHOST" => {
                    environment.default_virtual_host = Some(name_of(value).map_err(|reason| wrong(&reason))?);
                }
                "NODENAME" => environment.node_name = Some(value),
                "NODE_PORT" => environment.port = Some(value.parse().map_err(|_| wrong("is not a port"))?),
                "NODE_IP_ADDRESS" => {
                    let address = value.trim_start_matches('[').trim_end_matches(']');
                    // Behind % is the interface of a link-local address.
                    let is_address = address.split('%').next().is_some_and(|ip| ip.parse::<IpAddr>().is_ok());
                    environment.address = Some(address.to_owned()).filter(|_| is_address);
                    if environment.address.is_none() {
                        return Err(wrong("is not an IP address"));
                    }
                }
                _ => {}
            }
        }
        Ok(environment)
    }

    /// Sets the name of the node and its first definitions, where the environment has them.
    ///
    /// # Errors
    ///
    /// The password cannot be hashed.
    pub fn apply(&self, config: &mut NodeConfig) -> Result<(), ConfigError> {
        if let Some(name) = &self.node_name {
            config.node_name.clone_from(name);
        }
        if let Some(name) = &self.default_virtual_host {
            config.default_virtual_host.clone_from(name);
        }
        if let Some(user) = self.first_user()? {
            config.default_user = user;
        }
        Ok(())
    }

    /// The first user, if the environment names one or its password.
    fn first_user(&self) -> Result<Option<FirstUser>, ConfigError> {
        let guest = FirstUser::guest();
        if self.default_user.is_none() && self.default_password.is_none() {
            return Ok(None);
        }
        let name = self.default_user.clone().unwrap_or(guest.name);
        let Some(password) = &self.default_password else {
            return Ok(Some(FirstUser { name, ..FirstUser::guest() }));
        };
        let hash =
            PasswordHash::of(password.as_bytes(), HashingAlgorithm::default(), Argon2idParameters::default());
        let password_hash = hash.map_err(|error| ConfigError::Variable {
            name: format!("{PREFIX}DEFAULT_PASS"),
            reason: error.to_string(),
        })?;
        Ok(Some(FirstUser { name, password_hash, ..FirstUser::guest() }))
    }
}

/// A text that fits a short string of AMQP.
fn name_of(value: String) -> Result<String, String> {
    match value.len() {
        1..=255 => Ok(value),
        size => Err(format!("has {size} bytes; a name has 1 to 255")),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    fn check(variables: &[(&str, &str)]) -> Result<Environment, String> {
        let variables = variables.iter().map(|(name, value)| (name.into(), value.into()));
        Environment::of(variables).map_err(|error| error.to_string())
    }

    #[test]
    fn variables_of_an_image_are_read() {
        let environment = check(&[
            ("RABBITMQ_DEFAULT_USER", "shop"),
            ("RABBITMQ_DEFAULT_PASS", "secret"),
            ("RABBITMQ_DEFAULT_VHOST", "orders"),
            ("RABBITMQ_NODE_IP_ADDRESS", "[::]"),
            ("RABBITMQ_NODE_PORT", "5673"),
            ("RABBITMQ_PID_FILE", "/run/pid"),
            ("HOME", "/"),
        ]);
        let environment = environment.unwrap();
        assert_eq!((environment.address.as_deref(), environment.port), (Some("::"), Some(5673)));
        assert_eq!(environment.default_user.as_deref(), Some("shop"));
        assert_eq!(environment.default_password.as_deref(), Some("secret"));
        assert_eq!(environment.default_virtual_host.as_deref(), Some("orders"));
    }

    #[test]
    fn a_variable_that_cannot_be_used_is_named() {
        let long = "x".repeat(256);
        for (name, value, reason) in [
            ("RABBITMQ_NODE_PORT", "amqp", "is not a port"),
            ("RABBITMQ_NODE_IP_ADDRESS", "localhost", "is not an IP address"),
            ("RABBITMQ_DEFAULT_USER", &long, "has 256 bytes; a name has 1 to 255"),
            ("RABBITMQ_DEFAULT_PASS_FILE", "/run/secret", "is not supported; use the configuration file"),
            ("RABBITMQ_SSL_CERTFILE", "/cert", "is not supported; use the configuration file"),
        ] {
            assert_eq!(check(&[(name, value)]), Err(format!("{name}: {reason}")));
        }
    }

    #[test]
    fn a_value_that_is_not_utf_8_is_refused_and_not_passed_over() {
        let variable = |name: &str| (name.into(), OsString::from_vec(b"p\xe4ss".to_vec()));
        let error = Environment::of([variable("RABBITMQ_DEFAULT_PASS")]).unwrap_err();
        assert_eq!(error.to_string(), "RABBITMQ_DEFAULT_PASS: the value is not UTF-8");
        assert_eq!(Environment::of([variable("OTHER")]).unwrap(), Environment::default());
    }
}
