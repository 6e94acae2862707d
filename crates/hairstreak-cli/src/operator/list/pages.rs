//! `for_each_page`: a list of the API, some hundred objects at a time, however long the list is.
//!
//! Some lists come in pages, as an object with `items`; others are one array, which is decoded in parts.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use serde_json::Value;

use crate::failure::Failure;
use crate::operator::client::{Client, HttpError};

/// Objects that are asked for, and handled, at a time: the most that the API allows.
const PAGE_SIZE: usize = 500;
/// The API's word for a page behind the last.
const OUT_OF_RANGE: &str = "Page out of range";

#[derive(Deserialize)]
struct Page {
    items: Vec<Value>,
    #[serde(default)]
    page_count: u64,
}

/// Hands over the objects of a list in their order. `query` has the path and `&`-separated options behind a `?`.
/// Objects that come or go meanwhile may be missed or met twice.
pub fn for_each_page(
    client: &Client,
    query: &str,
    is_paged: bool,
    missing: impl Fn() -> String,
    take: &mut dyn FnMut(Vec<Value>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut page = 1;
    loop {
        let path =
            if is_paged { format!("{query}&page={page}&page_size={PAGE_SIZE}") } else { query.to_owned() };
        let body = match client.get_bytes(&path) {
            // The list has become shorter meanwhile.
            Err(HttpError::Rejected { reason, .. }) if page > 1 && reason.starts_with(OUT_OF_RANGE) => {
                return Ok(());
            }
            answer => answer.map_err(|error| error.named(&missing))?,
        };
        if body.trim_ascii_start().starts_with(b"[") {
            return take_array(&body, take);
        }
        let answer: Page = serde_json::from_slice(&body).map_err(|error| malformed(&error))?;
        take(answer.items)?;
        if page >= answer.page_count {
            return Ok(());
        }
        page += 1;
    }
}

fn malformed(error: &serde_json::Error) -> Failure {
    Failure::failed(format!("the API's list is malformed: {error}"))
}

/// Decodes an array in parts.
fn take_array(body: &[u8], take: &mut dyn FnMut(Vec<Value>) -> Result<(), Failure>) -> Result<(), Failure> {
    let mut failure = None;
    let parts = Parts { take, failure: &mut failure };
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    let done = deserializer.deserialize_seq(parts).and_then(|()| deserializer.end());
    match failure {
        Some(failure) => Err(failure),
        None => done.map_err(|error| malformed(&error)),
    }
}

struct Parts<'a> {
    take: &'a mut dyn FnMut(Vec<Value>) -> Result<(), Failure>,
    /// The reason for which the taker wants no more rows.
    failure: &'a mut Option<Failure>,
}

impl<'de> Visitor<'de> for Parts<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of objects")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        let Parts { take, failure } = self;
        let mut part = Vec::new();
        loop {
            let element = elements.next_element()?;
            let is_end = element.is_none();
            part.extend(element);
            if (part.len() == PAGE_SIZE || is_end)
                && let Err(reason) = take(std::mem::take(&mut part))
            {
                *failure = Some(reason);
                return Err(A::Error::custom("the list is not wanted"));
            }
            if is_end {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(text: &str) -> Result<Vec<usize>, String> {
        let mut sizes = Vec::new();
        let done = take_array(text.as_bytes(), &mut |part| {
            sizes.push(part.len());
            if sizes.len() > 2 { Err(Failure::failed("enough")) } else { Ok(()) }
        });
        done.map(|()| sizes).map_err(|failure| failure.line().unwrap())
    }

    #[test]
    fn an_array_is_taken_in_parts() {
        let array = |count: usize| format!("[{}]", vec!["{}"; count].join(","));
        assert_eq!(sizes(&array(0)), Ok(vec![0]));
        assert_eq!(sizes(&array(3)), Ok(vec![3]));
        assert_eq!(sizes(&array(PAGE_SIZE + 1)), Ok(vec![PAGE_SIZE, 1]));
        assert_eq!(sizes(&array(PAGE_SIZE * 3)).unwrap_err(), "hairstreak: enough\n");
        for wrong in ["[1", "[1]]", "{}", "[1,]"] {
            assert!(sizes(wrong).unwrap_err().contains("malformed"), "{wrong}");
        }
    }
}
