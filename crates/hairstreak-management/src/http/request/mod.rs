//! A request as it came: the path in segments, the parameters, the headers, the body.

mod body;
mod path;
mod query;
#[expect(clippy::module_inception, reason = "the type is what the folder is about")]
mod request;

pub(crate) use body::BodyError;
pub(crate) use path::{Path, exchange_name};
pub(crate) use query::Query;
pub(crate) use request::Request;
