//! `Path`: the segments of a request's path, decoded.
//!
//! A path is split at its slashes first, and then each segment is decoded, so that `%2F` is a slash within a segment: the virtual host `/`. A slash at the end
//! changes nothing. Segments are bytes, as the names of queues and exchanges are.

use std::fmt;

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
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
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
}
