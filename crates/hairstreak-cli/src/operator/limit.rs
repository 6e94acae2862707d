//! `set_limit`: limits of users and of virtual hosts.

use std::fmt;
use std::str::FromStr;

use hairstreak_amqp::escape;
use serde_json::json;

use super::client::Client;
use crate::failure::Failure;
use crate::numbers::grouped;
use crate::output::tell;

/// A limit as it is typed: a count, or `none`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitValue(Option<u32>);

impl FromStr for LimitValue {
    type Err = String;

    fn from_str(text: &str) -> Result<LimitValue, String> {
        match text {
            "none" => Ok(LimitValue(None)),
            text => text
                .parse()
                .map(|count| LimitValue(Some(count)))
                .map_err(|_| "it is neither a count nor none".into()),
        }
    }
}

impl fmt::Display for LimitValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(count) => f.write_str(&grouped(count.into())),
            None => f.write_str("no limit"),
        }
    }
}

/// Sets or removes a limit. `of` is the kind of the object, the API's list of its limits, and its name.
pub fn set_limit(
    client: &Client,
    is_json: bool,
    (kind, list, name): (&str, &str, &str),
    limit: &str,
    value: LimitValue,
) -> Result<(), Failure> {
    let path = format!("{list}/{}/{}", escape(name), escape(limit));
    match value.0 {
        Some(count) => client.put(&path, &json!({"value": count}))?,
        None => {
            client.delete(&path).map_err(|error| error.named(|| format!("{limit} of {kind} '{name}'")))?
        }
    }
    tell(is_json, &format!("{limit} of {kind} '{name}': {value}"), &json!({kind: name, limit: value.0}))
}
