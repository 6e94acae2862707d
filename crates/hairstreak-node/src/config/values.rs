//! The values in the configuration file. An error names the place of its value.

use std::collections::HashSet;
use std::fmt::Display;

use hairstreak_socket::security::PublicKey;
use hairstreak_transport::Endpoint;
use serde::Deserialize;
use serde::de::{Deserializer, Error};

use crate::access::{HashingAlgorithm, PasswordHash, Tags};

/// A number from `MIN` to `MAX`.
pub(super) fn between<'de, D, T, const MIN: u64, const MAX: u64>(value: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<u64, Error: Display>,
{
    let number = u64::deserialize(value)?;
    if (MIN..=MAX).contains(&number) {
        T::try_from(number).map_err(D::Error::custom)
    } else {
        Err(D::Error::custom(format!("{number} is not between {MIN} and {MAX}")))
    }
}

/// As [`between`], where there may be no number.
pub(super) fn some_between<'de, D, T, const MIN: u64, const MAX: u64>(value: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<u64, Error: Display>,
{
    between::<D, T, MIN, MAX>(value).map(Some)
}

/// Endpoints for AMQP. An empty list: AMQP without TLS is off.
pub(super) fn endpoints<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Vec<String>>, D::Error> {
    let is_served = |endpoint: &Endpoint| !matches!(endpoint, Endpoint::Inproc(_));
    served(value, is_served, SCHEMES)
}

/// Endpoints for AMQP with TLS. An empty list: AMQP with TLS is off.
pub(super) fn tls_endpoints<'de, D: Deserializer<'de>>(value: D) -> Result<Vec<String>, D::Error> {
    let is_served = |endpoint: &Endpoint| matches!(endpoint, Endpoint::Tcp(_) | Endpoint::Ipc(_));
    served(value, is_served, "AMQP with TLS is served on tcp:// and ipc://")
}

/// Endpoints of tcp. An empty list: the listener is off.
pub(super) fn tcp_endpoints<'de, D: Deserializer<'de>, T: From<Vec<String>>>(
    value: D,
) -> Result<T, D::Error> {
    served(value, |endpoint| matches!(endpoint, Endpoint::Tcp(_)), "HTTP is served on tcp:// only")
}

/// Endpoints that `is_served` accepts; `schemes` names them in errors.
fn served<'de, D: Deserializer<'de>, T: From<Vec<String>>>(
    value: D,
    is_served: impl Fn(&Endpoint) -> bool,
    schemes: &str,
) -> Result<T, D::Error> {
    let endpoints = Vec::<String>::deserialize(value)?;
    for endpoint in &endpoints {
        if !is_served(&endpoint.parse().map_err(D::Error::custom)?) {
            return Err(D::Error::custom(format!("{endpoint}: {schemes}")));
        }
    }
    Ok(endpoints.into())
}

/// The schemes of endpoints for AMQP.
pub(crate) const SCHEMES: &str = "AMQP is served on tcp://, ipc://, shm:// and vortex://";

/// Names of virtual hosts, at least one, each once.
pub(super) fn virtual_hosts<'de, D: Deserializer<'de>>(value: D) -> Result<Vec<String>, D::Error> {
    let names = Vec::<String>::deserialize(value)?;
    if names.is_empty() {
        return Err(D::Error::custom("no virtual host; without this key there is \"/\""));
    }
    names.iter().try_for_each(|name| check_name(name))?;
    check_differ(names.iter())?;
    Ok(names)
}

/// A name, where there may be none.
pub(super) fn some_name<'de, D: Deserializer<'de>>(value: D) -> Result<Option<String>, D::Error> {
    name(value).map(Some)
}

/// The name of a user.
pub(super) fn name<'de, D: Deserializer<'de>>(value: D) -> Result<String, D::Error> {
    let name = String::deserialize(value)?;
    check_name(&name)?;
    Ok(name)
}

/// A password hash as text.
pub(super) fn password_hash<'de, D: Deserializer<'de>>(value: D) -> Result<PasswordHash, D::Error> {
    let text = String::deserialize(value)?;
    // The text of Argon2id names its algorithm.
    let algorithm = if text.starts_with('$') { HashingAlgorithm::Argon2id } else { HashingAlgorithm::Sha256 };
    PasswordHash::from_text(&text, algorithm).map_err(D::Error::custom)
}

/// Tags of a user.
pub(super) fn tags<'de, D: Deserializer<'de>>(value: D) -> Result<Tags, D::Error> {
    let names = Vec::<String>::deserialize(value)?;
    Tags::from_names(names.iter().map(String::as_str)).map_err(D::Error::custom)
}

/// A public key for CURVE.
pub(super) fn public_key<'de, D: Deserializer<'de>>(value: D) -> Result<Option<PublicKey>, D::Error> {
    String::deserialize(value)?.parse().map(Some).map_err(D::Error::custom)
}

/// A text that fits a short string of AMQP.
fn check_name<E: Error>(name: &str) -> Result<(), E> {
    if (1..=255).contains(&name.len()) { Ok(()) } else { Err(E::custom("a name has 1 to 255 bytes")) }
}

pub(super) fn check_differ<'a, E: Error>(mut names: impl Iterator<Item = &'a String>) -> Result<(), E> {
    let mut seen = HashSet::new();
    match names.find(|name| !seen.insert(*name)) {
        Some(name) => Err(E::custom(format!("{name} is there twice"))),
        None => Ok(()),
    }
}
