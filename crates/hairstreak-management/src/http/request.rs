//! A request as it came.
//!
//! - `Request`: the method, the path, the parameters, the headers and the body
//! - `Path`: the segments of the path, decoded
//! - `Query`: the parameters after the question mark
//! - `Body`: the bytes, read when a route asks for them: nothing is kept of a client without credentials
//! - `Bounds`: the memory that all requests together may take
//!
//! A path is split at its slashes first, and then each segment is decoded, so that `%2F` is a slash within a segment: the virtual host `/`. A slash at the end
//! changes nothing. Segments are bytes, as the names of queues and exchanges are.

use std::fmt;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::Method;
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::header::{HeaderMap, HeaderName};
use hyper::http::request::Parts;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use super::error::ApiError;
use super::options::HttpOptions;

/// A request.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) method: Method,
    /// `None`: the path is malformed, or has not the prefix of the options.
    pub(crate) path: Option<Path>,
    pub(crate) query: Query,
    pub(crate) headers: HeaderMap,
    /// The address of the client.
    pub(crate) peer: SocketAddr,
    pub(crate) body: Body,
    /// The bounds of all requests together.
    pub(crate) bounds: Bounds,
}

impl Request {
    pub(crate) fn new(
        request: hyper::Request<Incoming>,
        peer: SocketAddr,
        options: &HttpOptions,
        bounds: &Bounds,
    ) -> Request {
        let (Parts { method, uri, headers, .. }, incoming) = request.into_parts();
        Request {
            method,
            path: Path::parse(uri.path(), &options.path_prefix),
            query: Query::parse(uri.query().unwrap_or_default()),
            headers,
            peer,
            body: Body::new(incoming, options.body_timeout, bounds.clone()),
            bounds: bounds.clone(),
        }
    }

    /// A header as text. `None`: the header is missing, or is no text.
    pub(crate) fn header(&self, name: HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// The name that stands for the default exchange in a path.
const DEFAULT_EXCHANGE: &[u8] = b"amq.default";

/// The decoded segments of a path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Path {
    segments: Vec<Vec<u8>>,
}

impl Path {
    /// The path behind `prefix`. `None`: the path does not begin with the prefix, or an escape is not `%` with two hexadecimal digits.
    pub(crate) fn parse(text: &str, prefix: &str) -> Option<Path> {
        let rest = text.strip_prefix(prefix.trim_end_matches('/'))?.strip_prefix('/')?;
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let segments = rest.split('/').map(decode).collect::<Option<Vec<_>>>()?;
        Some(Path { segments })
    }

    pub(crate) fn segments(&self) -> &[Vec<u8>] {
        &self.segments
    }
}

/// The path for people: a slash within a segment is `%2F`, as in the request.
impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.segments.iter().try_for_each(|segment| {
            let segment = String::from_utf8_lossy(segment);
            write!(f, "/{}", segment.replace('%', "%25").replace('/', "%2F"))
        })
    }
}

/// The name of an exchange that a segment means.
pub(crate) fn exchange_name(segment: &[u8]) -> &[u8] {
    if segment == DEFAULT_EXCHANGE { b"" } else { segment }
}

/// Decodes `%` and two hexadecimal digits.
fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = text.bytes();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'%' => (digit(bytes.next()?)? << 4) | digit(bytes.next()?)?,
            other => other,
        });
    }
    Some(decoded)
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}

/// The parameters of a query string. The first of several with the same name counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Query {
    parameters: Vec<(String, String)>,
}

impl Query {
    /// Reads `a=b&c=d`, where `+` is a space. An escape that is none stays as it is, and bytes that are no UTF-8 become the replacement character.
    pub(crate) fn parse(text: &str) -> Query {
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        let parameters = pairs.map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode_text(name), decode_text(value))
        });
        Query { parameters: parameters.collect() }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(other, _)| other == name).map(|(_, value)| &**value)
    }

    /// All values of a parameter.
    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.parameters.iter().filter(move |(other, _)| other == name).map(|(_, value)| &**value)
    }

    /// Returns `true` if the parameter is there and has the value `true`.
    pub(crate) fn is_true(&self, name: &str) -> bool {
        self.get(name) == Some("true")
    }
}

fn decode_text(text: &str) -> String {
    let text = text.replace('+', " ");
    match decode(&text) {
        Some(bytes) => String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
        None => text,
    }
}

/// Bytes of the longest unread body that is read to its end before the connection is used again or closed. A client that is still sending
/// would lose the answer.
const DISCARDED_SIZE_MAX: u64 = 64 * 1024;
/// The time for such a body to come.
const DISCARD_TIME_MAX: Duration = Duration::from_secs(1);
/// For as many bytes a body has a second more.
const BYTES_PER_SECOND: usize = 64 * 1024;

/// The answer to a body with more bytes than it may have.
const TOO_LARGE: &str = "Exceeded HTTP request body size limit";
/// The answer where the connection broke, or a chunk is malformed.
const BROKEN: &str = "The request body did not come whole";

/// The body of a request.
#[derive(Debug)]
pub(crate) struct Body {
    incoming: Incoming,
    timeout: Duration,
    bounds: Bounds,
    /// The room for the bytes, until the request is answered.
    share: Share,
}

impl Body {
    fn new(incoming: Incoming, timeout: Duration, bounds: Bounds) -> Body {
        Body { incoming, timeout, bounds, share: Share::default() }
    }

    /// Reads the body to its end. The bytes of a second call are none.
    ///
    /// # Errors
    ///
    /// 400: the body is too long, or the connection broke. 408: the body came too slowly, or other bodies took all the room.
    pub(crate) async fn read(&mut self, size_max: usize) -> Result<Vec<u8>, ApiError> {
        if self.incoming.size_hint().lower() > size_max as u64 {
            return Err(ApiError::bad_request(TOO_LARGE));
        }
        let start = Instant::now() + self.timeout;
        let mut bytes = Vec::new();
        loop {
            let deadline = start + Duration::from_secs((bytes.len() / BYTES_PER_SECOND) as u64);
            let next = timeout_at(deadline, next_data(&mut self.incoming)).await;
            let Some(data) = next.map_err(|_| ApiError::too_slow())? else { return Ok(bytes) };
            let data = data.map_err(|_| ApiError::bad_request(BROKEN))?;
            if bytes.len() + data.len() > size_max {
                return Err(ApiError::bad_request(TOO_LARGE));
            }
            let room = self.bounds.reserve_body(&mut self.share, bytes.len() + data.len());
            timeout_at(deadline, room).await.map_err(|_| ApiError::too_slow())?;
            bytes.extend_from_slice(&data);
        }
    }

    /// Reads and drops a small body that no route has read.
    pub(crate) async fn discard(&mut self) {
        let size = self.incoming.size_hint();
        if self.incoming.is_end_stream() || size.upper().is_none_or(|size| size > DISCARDED_SIZE_MAX) {
            return;
        }
        let deadline = Instant::now() + DISCARD_TIME_MAX;
        // The end, an error and the deadline are the same here: nothing more is read.
        while let Ok(Some(Ok(_))) = timeout_at(deadline, next_data(&mut self.incoming)).await {}
    }
}

/// The next bytes; `None`: the end.
async fn next_data(incoming: &mut Incoming) -> Option<Result<Bytes, hyper::Error>> {
    loop {
        match poll_fn(|cx| Pin::new(&mut *incoming).poll_frame(cx)).await? {
            // Trailers have no meaning.
            Ok(frame) => {
                if let Ok(data) = frame.into_data() {
                    return Some(Ok(data));
                }
            }
            Err(error) => return Some(Err(error)),
        }
    }
}

/// Bytes of one unit of the bound of bodies.
const UNIT: usize = 1024;

/// The bounds that all connections share.
#[derive(Clone, Debug)]
pub(crate) struct Bounds {
    bodies: Arc<Semaphore>,
    rows: Arc<Semaphore>,
    row_count: usize,
}

/// A part of a bound, given back when it is dropped.
#[derive(Debug, Default)]
pub(crate) struct Share(Option<OwnedSemaphorePermit>);

impl Bounds {
    pub(crate) fn new(options: &HttpOptions) -> Bounds {
        let row_count = options.rows_max.clamp(1, u32::MAX as usize).min(Semaphore::MAX_PERMITS);
        Bounds {
            bodies: Arc::new(Semaphore::new((options.bodies_bytes_max / UNIT).max(1))),
            rows: Arc::new(Semaphore::new(row_count)),
            row_count,
        }
    }

    /// Waits until a body, whose room is `share`, has room for `size` bytes in all.
    pub(crate) async fn reserve_body(&self, share: &mut Share, size: usize) {
        share.reach(&self.bodies, size.div_ceil(UNIT)).await;
    }

    /// Waits for room for `count` rows. A list of more rows than may ever be there takes all the room.
    pub(crate) async fn reserve_rows(&self, count: usize) -> Share {
        let mut share = Share::default();
        share.reach(&self.rows, count.min(self.row_count)).await;
        share
    }

    /// Room for `count` rows, if there is any now. A list of more rows than may ever be there takes all the room.
    pub(crate) fn try_reserve_rows(&self, count: usize) -> Option<Share> {
        let count = u32::try_from(count.min(self.row_count)).unwrap_or(u32::MAX);
        Arc::clone(&self.rows).try_acquire_many_owned(count).ok().map(|permit| Share(Some(permit)))
    }
}

impl Share {
    async fn reach(&mut self, semaphore: &Arc<Semaphore>, count: usize) {
        let has = self.0.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let missing = u32::try_from(count.saturating_sub(has)).unwrap_or(u32::MAX);
        if missing == 0 {
            return;
        }
        // The semaphores are never closed, so that an error cannot come.
        let Ok(more) = Arc::clone(semaphore).acquire_many_owned(missing).await else { return };
        match &mut self.0 {
            Some(permit) => permit.merge(more),
            None => self.0 = Some(more),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, prefix: &str, segments: &[&str]) {
        let path = Path::parse(text, prefix).unwrap();
        let segments: Vec<Vec<u8>> = segments.iter().map(|segment| segment.as_bytes().to_vec()).collect();
        assert_eq!(path.segments(), segments, "{text}");
    }

    #[test]
    fn a_path_is_split_before_it_is_decoded() {
        check("/api/queues/%2F/a%2fb", "", &["api", "queues", "/", "a/b"]);
        check("/api/queues/%252F", "", &["api", "queues", "%2F"]);
        check("/api/connections/", "", &["api", "connections"]);
        check("/api//queues", "", &["api", "", "queues"]);
        check("/api/queues/a+b%2b", "", &["api", "queues", "a+b+"]);
        check("/rabbit/api/queues", "/rabbit", &["api", "queues"]);
        check("/rabbit/api/queues", "/rabbit/", &["api", "queues"]);
        assert_eq!(Path::parse("/%FF", "").unwrap().segments(), [vec![0xff]]);
    }

    #[test]
    fn a_broken_escape_or_another_prefix_is_no_path() {
        for (text, prefix) in [
            ("/api/%", ""),
            ("/api/%2", ""),
            ("/api/%zz", ""),
            ("*", ""),
            ("/api", "/rabbit"),
            ("/rabbitapi", "/rabbit"),
        ] {
            assert_eq!(Path::parse(text, prefix), None, "{text}");
        }
    }

    #[test]
    fn the_default_exchange_has_a_name_in_paths() {
        assert_eq!(exchange_name(b"amq.default"), b"");
        assert_eq!(exchange_name(b"amq.topic"), b"amq.topic");
    }

    #[test]
    fn parameters_are_decoded_and_the_first_counts() {
        let query = Query::parse("a=b+c%20d&&x=&flag&a=2&p=%zz&%61b=1&u=%ff");
        let expected =
            [("a", "b c d"), ("x", ""), ("flag", ""), ("p", "%zz"), ("ab", "1"), ("u", "\u{fffd}")];
        for (name, value) in expected {
            assert_eq!(query.get(name), Some(value), "{name}");
        }
        assert_eq!(query.get("b"), None);
        assert_eq!(query.all("a").collect::<Vec<_>>(), ["b c d", "2"]);
        assert!(Query::parse("a=true").is_true("a"));
        assert!(!Query::parse("a=True").is_true("a"));
    }
}
