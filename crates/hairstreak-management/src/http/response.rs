//! `Response`: a status, headers, and a body that is there or that is made while it is sent.
//!
//! - `Zipped`: a body in gzip (RFC 1952), for clients that ask for it
//! - `timestamp`: a time as answers have it, such as `2026-11-25T16:06:09.387+00:00`

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::StatusCode;
use hyper::body::Bytes;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use jiff::Timestamp;
use serde::Serialize;

/// Bytes of the shortest body that is compressed.
const SIZE_MIN: usize = 300;

/// The type of all bodies.
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// The parts of a body that is made while it is sent.
pub(crate) trait Chunks {
    /// The next bytes; `None`: the end. Called when the client has taken most of those before.
    fn next(&mut self) -> Option<Vec<u8>>;
}

/// A response.
pub(crate) struct Response {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: ResponseBody,
}

/// The body of a response.
pub(crate) enum ResponseBody {
    Whole(Bytes),
    Chunks(Box<dyn Chunks>),
}

impl Response {
    /// A response without a body.
    pub(crate) fn empty(status: StatusCode) -> Response {
        Response { status, headers: HeaderMap::new(), body: ResponseBody::Whole(Bytes::new()) }
    }

    /// 200 with a value.
    pub(crate) fn json(value: &impl Serialize) -> Response {
        Response::json_with(StatusCode::OK, value)
    }

    /// A value with another status.
    pub(crate) fn json_with(status: StatusCode, value: &impl Serialize) -> Response {
        // Only a map whose keys are no strings has no form in JSON; the answers have none.
        let bytes = serde_json::to_vec(value).unwrap_or_default();
        Response::of_body(status, ResponseBody::Whole(bytes.into()))
    }

    /// 200 with JSON that is there.
    pub(crate) fn whole(json: Vec<u8>) -> Response {
        Response::of_body(StatusCode::OK, ResponseBody::Whole(json.into()))
    }

    /// 200 with JSON that is made while it is sent.
    pub(crate) fn stream(chunks: Box<dyn Chunks>) -> Response {
        Response::of_body(StatusCode::OK, ResponseBody::Chunks(chunks))
    }

    fn of_body(status: StatusCode, body: ResponseBody) -> Response {
        let mut response = Response { status, headers: HeaderMap::new(), body };
        response.headers.insert(header::CONTENT_TYPE, JSON);
        response
    }

    /// Adds a header. A value that no header can have is left out.
    pub(crate) fn with_header(mut self, name: HeaderName, value: &str) -> Response {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.insert(name, value);
        }
        self
    }

    /// The response with a compressed body, if the client takes gzip. `accepted`: the header `Accept-Encoding`.
    pub(crate) fn compressed(self, accepted: Option<&str>) -> Response {
        let wanted = accepted.is_some_and(takes_gzip);
        let body = match self.body {
            ResponseBody::Whole(bytes) if wanted && bytes.len() >= SIZE_MIN => {
                let mut source = Zipped::new(None);
                source.push(&bytes);
                ResponseBody::Whole(source.finish().into())
            }
            ResponseBody::Chunks(chunks) if wanted => {
                ResponseBody::Chunks(Box::new(Zipped::new(Some(chunks))))
            }
            body => return Response { body, ..self },
        };
        Response { body, ..self }.with_header(header::CONTENT_ENCODING, "gzip")
    }
}

/// Returns `true` if the header `Accept-Encoding` names gzip, or any encoding, and does not refuse it.
fn takes_gzip(header: &str) -> bool {
    header.split(',').any(|item| {
        let (name, parameters) = item.split_once(';').unwrap_or((item, ""));
        let weight = parameters.trim().strip_prefix("q=").map_or(Ok(1.0), str::parse::<f64>);
        ["gzip", "*"].contains(&name.trim()) && weight.is_ok_and(|weight| weight > 0.0)
    })
}

/// A body that is compressed while it is sent.
struct Zipped {
    /// `None`: all bytes are in the encoder.
    source: Option<Box<dyn Chunks>>,
    encoder: GzEncoder<Vec<u8>>,
    is_done: bool,
}

impl Zipped {
    fn new(source: Option<Box<dyn Chunks>>) -> Zipped {
        Zipped { source, encoder: GzEncoder::new(Vec::new(), Compression::fast()), is_done: false }
    }

    fn push(&mut self, bytes: &[u8]) {
        // A vector takes any number of bytes, so that an error cannot come.
        let _ = self.encoder.write_all(bytes);
    }

    /// The rest of the compressed bytes.
    fn finish(&mut self) -> Vec<u8> {
        self.is_done = true;
        let _ = self.encoder.try_finish();
        std::mem::take(self.encoder.get_mut())
    }
}

impl Chunks for Zipped {
    fn next(&mut self) -> Option<Vec<u8>> {
        while !self.is_done {
            let Some(bytes) = self.source.as_mut().and_then(|source| source.next()) else {
                return Some(self.finish());
            };
            self.push(&bytes);
            let zipped = std::mem::take(self.encoder.get_mut());
            if !zipped.is_empty() {
                return Some(zipped);
            }
        }
        None
    }
}

/// The text of a time in milliseconds since 1970, in UTC.
pub(crate) fn timestamp(ms: u64) -> String {
    let at = i64::try_from(ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    at.unwrap_or(Timestamp::MAX).strftime("%Y-%m-%dT%H:%M:%S%.3f+00:00").to_string()
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;

    use super::*;

    #[test]
    fn gzip_is_given_to_clients_that_take_it() {
        for (header, takes) in [
            ("gzip", true),
            ("deflate, gzip;q=0.5", true),
            ("*", true),
            ("gzip;q=0", false),
            ("gzip; q=0.0", false),
            ("identity", false),
            ("", false),
            ("gzip;q=x", false),
        ] {
            assert_eq!(takes_gzip(header), takes, "{header}");
        }
    }

    #[test]
    fn chunks_come_back_as_they_were() {
        struct Counting(u32);
        impl Chunks for Counting {
            fn next(&mut self) -> Option<Vec<u8>> {
                self.0 += 1;
                (self.0 <= 1000).then(|| self.0.to_string().repeat(50).into_bytes())
            }
        }
        let mut zipped = Zipped::new(Some(Box::new(Counting(0))));
        let bytes: Vec<u8> = std::iter::from_fn(|| zipped.next()).flatten().collect();
        let mut text = String::new();
        GzDecoder::new(&*bytes).read_to_string(&mut text).unwrap();
        let expected: String = (1..=1000_u32).map(|number| number.to_string().repeat(50)).collect();
        assert_eq!(text, expected);
        assert!(bytes.len() < text.len() / 10, "{}", bytes.len());
    }

    #[test]
    fn times_are_dates_of_the_calendar() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000+00:00"),
            (951_782_399_999, "2000-02-28T23:59:59.999+00:00"),
            (951_782_400_000, "2000-02-29T00:00:00.000+00:00"),
            (951_868_800_000, "2000-03-01T00:00:00.000+00:00"),
            (1_795_622_769_387, "2026-11-25T16:06:09.387+00:00"),
            (4_107_542_399_000, "2100-02-28T23:59:59.000+00:00"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000+00:00"),
        ] {
            assert_eq!(timestamp(ms), text);
        }
    }
}
