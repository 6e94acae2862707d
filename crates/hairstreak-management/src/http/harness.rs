//! `HttpHarness`: all decoders of requests, without a socket, for the fuzz target.

use hairstreak_node::definitions::read_document;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

use super::fields::{boundary, parse_object, part, require};
use super::list::{self, Columns, Held, ListQuery, Ranges};
use super::options::HttpOptions;
use super::request::{Bounds, Path, Query};
use super::response::ResponseBody;
use super::routes;

/// The most rows of a page.
const PAGE_SIZE: usize = 500;
/// The names that routes read from bodies.
const FIELDS: [&str; 4] = ["a", "arguments", "count", "durable"];

/// The decoders of the API.
#[derive(Debug)]
pub struct HttpHarness {
    rows: Vec<Value>,
    bounds: Bounds,
    runtime: Runtime,
}

impl Default for HttpHarness {
    fn default() -> HttpHarness {
        HttpHarness::new()
    }
}

impl HttpHarness {
    /// Decoders, and a list of some rows.
    pub fn new() -> HttpHarness {
        let row = |number: u32| {
            json!({"vhost": "/", "name": format!("q{}", number % 7), "messages": number,
                "arguments": {"x": [number, null, "y"], "long": "z".repeat(number as usize)}})
        };
        let rows = (0..600).map(row).collect();
        // INVARIANT: a runtime without a driver needs nothing of the system.
        let runtime = Builder::new_current_thread().build().expect("a runtime");
        HttpHarness { rows, bounds: Bounds::new(&HttpOptions::default()), runtime }
    }

    /// Finds the route of a path. Returns whether there is one.
    pub fn find(&self, path: &str) -> bool {
        Path::parse(path, "").is_some_and(|path| routes::find(path.segments()).is_some())
    }

    /// Lists the rows by a query. Returns the answer, if the query is one.
    ///
    /// # Panics
    ///
    /// The answer is no JSON, or has more rows than it may.
    pub fn list(&self, query: &str) -> Option<Value> {
        let query = Query::parse(query);
        // Ranges that make no sense are refused, and that is all.
        let _ = Ranges::parse(&query);
        let query = ListQuery::parse(&query).ok()?;
        let rows = Held::values(self.rows.clone());
        let response = self.runtime.block_on(list::answer(rows, &query, &self.bounds)).ok()?;
        let bytes = match response.body {
            ResponseBody::Whole(bytes) => bytes.to_vec(),
            ResponseBody::Chunks(mut chunks) => std::iter::from_fn(|| chunks.next()).flatten().collect(),
        };
        // INVARIANT: answers are JSON.
        let answer: Value = serde_json::from_slice(&bytes).expect("an answer is JSON");
        let items = answer.get("items").and_then(Value::as_array);
        let count = items.or(answer.as_array()).map_or(0, Vec::len);
        assert!(items.is_none_or(|items| items.len() <= PAGE_SIZE) && count <= self.rows.len());
        Some(answer)
    }

    /// Reads a body and its fields as each type. Returns the object, if the body is one.
    ///
    /// # Panics
    ///
    /// Columns make more of the object than there is.
    pub fn read(&self, body: &[u8]) -> Option<Value> {
        let object = parse_object(body).ok()?;
        // Values of other types are refused, and that is all.
        let _ = require(&object, &FIELDS);
        for name in FIELDS {
            let _ = (object.boolean(name), object.integer(name), object.text(name));
            let _ = (object.words(name), object.table(name));
            if let Ok(table) = object.table(name) {
                routes::read_properties(&table);
            }
        }
        let value: Value = serde_json::from_slice(body).ok()?;
        let cut = Columns::parse("a,arguments.x").cut(value.clone());
        assert!(cut.as_object().is_none_or(|cut| cut.len() <= 2));
        Some(value)
    }

    /// Reads a file of definitions, as that of the whole node and as that of one virtual host. Returns whether it is the second.
    ///
    /// # Panics
    ///
    /// It is the first and not the second.
    pub fn read_definitions(&self, text: &[u8]) -> bool {
        // A file of one virtual host may be none of the whole node, but not the other way around.
        let is_whole = read_document(text, None).is_ok();
        let is_of_host = read_document(text, Some("/")).is_ok();
        assert!(is_of_host || !is_whole);
        is_of_host
    }

    /// Takes the file out of a form. Returns its bytes.
    pub fn part<'a>(&self, content_type: &str, body: &'a [u8]) -> Option<&'a [u8]> {
        part(body, boundary(content_type)?, "file")
    }
}
