//! A request from its path to its answer: routes, credentials, tags, and what all answers have in common.

mod compression;
mod credentials;
mod service;

pub(crate) use compression::compress;
pub(crate) use credentials::Credentials;
pub(crate) use service::start;
