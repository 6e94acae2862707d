//! `Client`: requests to the management HTTP API, one at a time, and its answers as JSON.

use std::io::{self, ErrorKind, Read};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hairstreak_amqp::ClientError;
use hairstreak_transport::tls::{TlsClient, TlsError};
use serde_json::Value;
use ureq::http::{Method, Request, Response};
use ureq::{Agent, Body, Error, Timeout};

use super::address::HttpAddress;
use super::connector::{ApiConnector, Unresolved};
use super::error::HttpError;
use super::reason::reason;
use crate::line::one_line;

/// The longest answer, in bytes. A page of a list has a few hundred kilobytes, the definitions of a node some megabytes.
const ANSWER_SIZE_MAX: u64 = 256 << 20;
/// The time limit for connecting. An answer may take longer.
const CONNECT_TIMEOUT_MAX: Duration = Duration::from_secs(10);
/// The characters that an error shows of an answer that is no JSON.
const START_LENGTH: usize = 60;

/// The API of one server, as one user.
pub struct Client {
    agent: Agent,
    address: HttpAddress,
    user: String,
    authorization: String,
    timeout: Duration,
}

/// The beginning of an answer, and its body.
struct Answer {
    status: u16,
    location: String,
    body: Vec<u8>,
}

impl Client {
    /// `timeout` is the most for one answer, connecting and reading included. Nothing is sent yet.
    pub fn new(
        address: HttpAddress,
        user: &str,
        password: &str,
        timeout: Duration,
        tls: Option<TlsClient>,
    ) -> Client {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            // A proxy of the environment is for the Internet.
            .proxy(None)
            .user_agent(concat!("hairstreak/", env!("CARGO_PKG_VERSION")))
            .timeout_connect(Some(timeout.min(CONNECT_TIMEOUT_MAX)))
            .timeout_per_call(Some(timeout));
        let authorization = format!("Basic {}", STANDARD.encode(format!("{user}:{password}")));
        let connector = ApiConnector { place: address.place.clone(), tls };
        let agent = Agent::with_parts(config.build(), connector, Unresolved);
        Client { agent, address, user: user.to_owned(), authorization, timeout }
    }

    /// The URL, without user and password.
    pub fn url(&self) -> String {
        self.address.to_string()
    }

    /// The name of the logged-in user.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// The JSON of a path such as `queues/%2F?page=1`.
    pub fn get(&self, path: &str) -> Result<Value, HttpError> {
        let body = self.get_bytes(path)?;
        serde_json::from_slice(&body).map_err(|_| self.no_json(Method::GET, path, 200, &body))
    }

    /// Returns the body undecoded, as [`Self::get`] would read it. The body begins as JSON.
    pub fn get_bytes(&self, path: &str) -> Result<Vec<u8>, HttpError> {
        let answer = self.ask(Method::GET, path, None, None)?;
        match answer.body.trim_ascii_start().first() {
            Some(b'{' | b'[') => Ok(answer.body),
            _ => Err(self.no_json(Method::GET, path, answer.status, &answer.body)),
        }
    }

    /// Same as `get`; None is an object that does not exist.
    pub fn find(&self, path: &str) -> Result<Option<Value>, HttpError> {
        match self.get(path) {
            Err(HttpError::Missing(_)) => Ok(None),
            found => found.map(Some),
        }
    }

    /// Creates or changes an object.
    pub fn put(&self, path: &str, body: &Value) -> Result<(), HttpError> {
        self.ask(Method::PUT, path, Some(body.to_string().into_bytes()), None).map(drop)
    }

    /// Sends a body of JSON. The answer's JSON; null where there is none.
    pub fn post(&self, path: &str, body: Vec<u8>) -> Result<Value, HttpError> {
        let answer = self.ask(Method::POST, path, Some(body), None)?;
        match answer.body.trim_ascii() {
            [] => Ok(Value::Null),
            body => serde_json::from_slice(body)
                .map_err(|_| self.no_json(Method::POST, path, answer.status, body)),
        }
    }

    pub fn delete(&self, path: &str) -> Result<(), HttpError> {
        self.ask(Method::DELETE, path, None, None).map(drop)
    }

    /// Deletes with a reason, which the broker passes on to affected clients.
    pub fn delete_because(&self, path: &str, reason: &str) -> Result<(), HttpError> {
        self.ask(Method::DELETE, path, None, Some(reason)).map(drop)
    }

    /// Asks, and takes errors of the API out of the answers.
    fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<Vec<u8>>,
        why: Option<&str>,
    ) -> Result<Answer, HttpError> {
        let answer = self.send(&method, path, body, why)?;
        let status = answer.status;
        if (200..300).contains(&status) {
            return Ok(answer);
        }
        if (300..400).contains(&status) {
            let (url, location) = (self.address.to_string(), one_line(&answer.location));
            return Err(HttpError::Moved { url, request: request(&method, path), status, location });
        }
        let said = match (answer.body.trim_ascii(), status) {
            (b"", 404) | (b"", 500..) => None,
            (b"", _) => Some(format!("the API refuses {}", request(&method, path))),
            (body, _) => serde_json::from_slice(body).ok().filter(Value::is_object).map(|body| reason(&body)),
        };
        let Some(reason) = said else { return Err(self.no_json(method, path, status, &answer.body)) };
        Err(match status {
            401 => {
                HttpError::Refused { place: self.address.place.to_string(), user: self.user.clone(), reason }
            }
            404 => HttpError::Missing(request(&method, path)),
            status => HttpError::Rejected { status, reason },
        })
    }

    fn send(
        &self,
        method: &Method,
        path: &str,
        body: Option<Vec<u8>>,
        why: Option<&str>,
    ) -> Result<Answer, HttpError> {
        let failed = |error: Error| self.explain(error, || request(method, path));
        let mut builder = Request::builder()
            .method(method.clone())
            .uri(format!("{}/api/{path}", self.address.request_url()))
            .header("authorization", &self.authorization);
        if let Some(why) = why {
            builder = builder.header("x-reason", one_line(why));
        }
        let response = match body {
            Some(body) => {
                let request = builder.header("content-type", "application/json").body(body);
                self.agent.run(request.map_err(|error| failed(error.into()))?)
            }
            None => self.agent.run(builder.body(()).map_err(|error| failed(error.into()))?),
        };
        read(response.map_err(failed)?).map_err(failed)
    }

    fn no_json(&self, method: Method, path: &str, status: u16, body: &[u8]) -> HttpError {
        let text = String::from_utf8_lossy(&body[..body.len().min(START_LENGTH * 4)]).into_owned();
        let start: String = one_line(text.trim()).chars().take(START_LENGTH).collect();
        let start = if start.is_empty() { start } else { format!(": {start}") };
        HttpError::NoJson { url: self.address.to_string(), request: request(&method, path), status, start }
    }

    fn connect_timeout(&self) -> HttpError {
        let seconds = self.timeout.min(CONNECT_TIMEOUT_MAX).as_secs();
        HttpError::ConnectTimeout { place: self.address.place.to_string(), seconds }
    }

    /// An error below the API.
    fn explain(&self, error: Error, request: impl FnOnce() -> String) -> HttpError {
        let place = self.address.place.to_string();
        match error {
            Error::Other(error) => match error.downcast().map(|error| *error) {
                Ok(ClientError::Resolve(error)) => HttpError::Resolve(error),
                Ok(ClientError::Connect(_, error)) if error.kind() == ErrorKind::TimedOut => {
                    self.connect_timeout()
                }
                Ok(ClientError::Connect(_, error)) => HttpError::Connect(place, error),
                Ok(ClientError::Tls { error, .. }) => HttpError::Tls { place, reason: tls_reason(&error) },
                Ok(error) => HttpError::Broken { place, reason: error.to_string() },
                Err(error) => HttpError::Broken { place, reason: error.to_string() },
            },
            Error::Timeout(Timeout::Connect | Timeout::Resolve) => self.connect_timeout(),
            Error::Timeout(_) => {
                HttpError::Silence { place, seconds: self.timeout.as_secs(), request: request() }
            }
            Error::Io(error) if is_tls_error(&error) => HttpError::Tls { place, reason: error.to_string() },
            Error::Io(error) => HttpError::Broken { place, reason: error.to_string() },
            Error::BodyExceedsLimit(size_max) => HttpError::TooLarge { request: request(), size_max },
            Error::Protocol(error) => HttpError::Protocol { place, reason: error.to_string() },
            error @ Error::LargeResponseHeader(..) => {
                HttpError::Protocol { place, reason: error.to_string() }
            }
            error => HttpError::Broken { place, reason: error.to_string() },
        }
    }
}

fn read(response: Response<Body>) -> Result<Answer, Error> {
    let (head, body) = response.into_parts();
    let location =
        head.headers.get("location").map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    let mut bytes = Vec::new();
    body.into_with_config().limit(ANSWER_SIZE_MAX).reader().read_to_end(&mut bytes).map_err(Error::from)?;
    Ok(Answer { status: head.status.as_u16(), location: location.unwrap_or_default(), body: bytes })
}

/// A request as it stands in errors, without its query.
fn request(method: &Method, path: &str) -> String {
    format!("{method} /api/{}", path.split('?').next().unwrap_or(path))
}

/// Returns `true` if the error is a wrapped error of TLS.
fn is_tls_error(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<TlsError>())
}

/// The reason, and a hint.
fn tls_reason(error: &io::Error) -> String {
    let reason = error.to_string();
    let help = [
        ("none of the CA roots", "give the roots of this server's certificate by --ca FILE"),
        ("is that of a CA", "give that certificate itself by --ca FILE"),
        ("does not speak TLS", "this may be the port of http://"),
    ];
    let help = help.into_iter().find(|(part, _)| reason.contains(part));
    help.map_or(reason.clone(), |(_, help)| format!("{reason}; {help}"))
}
