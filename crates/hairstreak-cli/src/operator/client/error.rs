//! `HttpError`: the reason for which a request to the API failed.

use std::io;

use hairstreak_transport::ResolveError;
use thiserror::Error;

use crate::failure::Failure;

/// The reason for which a request to the API failed. `place` is the host and the port.
#[derive(Debug, Error)]
pub enum HttpError {
    #[error(transparent)]
    Resolve(ResolveError),
    #[error(
        "cannot connect to {0}: {1}; is a management API there? RabbitMQ has one with its plugin rabbitmq_management; --url or HAIRSTREAK_HTTP_URL names another place"
    )]
    Connect(String, io::Error),
    #[error("no connection to {place} for {seconds} s")]
    ConnectTimeout { place: String, seconds: u64 },
    #[error("no answer from {place} for {seconds} s to {request}")]
    Silence { place: String, seconds: u64, request: String },
    /// 401: the login failed, or the user lacks a right.
    #[error("{place} refuses user '{user}': {reason}")]
    Refused { place: String, user: String, reason: String },
    /// 404. The caller names the missing object, because the caller knows the meaning of the path.
    #[error("not found: {0}")]
    Missing(String),
    /// In the API's words.
    #[error("{reason} (status {status})")]
    Rejected { status: u16, reason: String },
    #[error("{url} answered {request} with status {status} and no JSON{start}; is a management API there?")]
    NoJson { url: String, request: String, status: u16, start: String },
    #[error("{url} answered {request} with status {status}, which leads elsewhere: {location}")]
    Moved { url: String, request: String, status: u16, location: String },
    #[error("the answer to {request} is longer than {size_max} bytes")]
    TooLarge { request: String, size_max: u64 },
    #[error("{place} does not speak HTTP: {reason}")]
    Protocol { place: String, reason: String },
    #[error("TLS with {place} failed: {reason}")]
    Tls { place: String, reason: String },
    #[error("the connection to {place} broke: {reason}")]
    Broken { place: String, reason: String },
}

impl HttpError {
    /// Names the object that a path stands for, where it is missing.
    pub fn named(self, what: impl FnOnce() -> String) -> Failure {
        match self {
            HttpError::Missing(_) => Failure::failed(format!("there is no {}", what())),
            error => error.into(),
        }
    }
}

impl From<HttpError> for Failure {
    fn from(error: HttpError) -> Failure {
        Failure::failed(error)
    }
}
