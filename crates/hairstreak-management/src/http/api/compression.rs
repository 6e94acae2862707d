//! gzip (RFC 1952) for clients that ask for it.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::header::{ACCEPT_ENCODING, CONTENT_ENCODING};

use crate::http::request::Request;
use crate::http::response::{Chunks, Response, ResponseBody};

/// A shorter body gains nothing.
const SIZE_MIN: usize = 300;

/// Compresses the body if the client takes gzip.
pub(crate) fn compress(request: &Request, response: Response) -> Response {
    let wanted = request.header(ACCEPT_ENCODING).is_some_and(takes_gzip);
    let body = match response.body {
        ResponseBody::Whole(bytes) if wanted && bytes.len() >= SIZE_MIN => {
            let mut source = Zipped::new(None);
            source.push(&bytes);
            ResponseBody::Whole(source.finish().into())
        }
        ResponseBody::Chunks(chunks) if wanted => ResponseBody::Chunks(Box::new(Zipped::new(Some(chunks)))),
        body => return Response { body, ..response },
    };
    Response { body, ..response }.with_header(CONTENT_ENCODING, "gzip")
}

/// Whether the header `Accept-Encoding` names gzip, or any encoding, and does not refuse it.
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
}
