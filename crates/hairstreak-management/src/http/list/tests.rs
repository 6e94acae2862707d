//! Lists as RabbitMQ 3.10.8 gives them: pages, filters, orders, columns, errors.

use std::cell::Cell;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use serde_json::{Value, json};

use super::{Held, ListQuery, Rows, answer};
use crate::http::error::ApiError;
use crate::http::options::HttpOptions;
use crate::http::request::{Bounds, Query};
use crate::http::response::{Response, ResponseBody};

fn bytes_of(response: Response) -> Vec<u8> {
    match response.body {
        ResponseBody::Whole(bytes) => bytes.to_vec(),
        ResponseBody::Chunks(mut chunks) => std::iter::from_fn(|| chunks.next()).flatten().collect(),
    }
}

fn list<R: Rows + 'static>(rows: R, query: &str) -> Result<Response, ApiError> {
    counting_turns(rows, query).0
}

/// The answer, and the number of times that others had a turn before it came.
fn counting_turns<R: Rows + 'static>(rows: R, query: &str) -> (Result<Response, ApiError>, usize) {
    let query = match ListQuery::parse(&Query::parse(query)) {
        Ok(query) => query,
        Err(error) => return (Err(error), 0),
    };
    let bounds = Bounds::new(&HttpOptions::default());
    let mut answering = pin!(answer(rows, &query, &bounds));
    let mut turn_count = 0;
    loop {
        match answering.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(result) => return (result, turn_count),
            Poll::Pending => turn_count += 1,
        }
    }
}

/// Six queues in two virtual hosts, in no order.
fn queues() -> Held<Value> {
    let queue = |vhost: &str, name: &str, messages: u64| json!({"vhost": vhost, "name": name, "messages": messages, "arguments": {"x-max-length": messages}});
    Held::values(vec![
        queue("/", "orders", 5),
        queue("/", "Orders.dead", 0),
        queue("b", "a", 7),
        queue("/", "events", 12),
        queue("b", "orders", 5),
        json!({"vhost": "/", "name": "zero"}),
    ])
}

/// The names in the answer.
#[track_caller]
fn check(query: &str, names: &[&str]) {
    let answer: Value = serde_json::from_slice(&bytes_of(list(queues(), query).unwrap())).unwrap();
    let items = answer.get("items").unwrap_or(&answer).as_array().unwrap();
    let found: Vec<String> =
        items.iter().map(|item| format!("{}:{}", text(item, "vhost"), text(item, "name"))).collect();
    assert_eq!(found, names, "{query}");
}

fn text<'a>(item: &'a Value, key: &str) -> &'a str {
    item[key].as_str().unwrap()
}

#[test]
fn a_list_is_sorted_by_virtual_host_and_name() {
    let default = ["/:Orders.dead", "/:events", "/:orders", "/:zero", "b:a", "b:orders"];
    check("", &default);
    check("sort=", &default);
    check("sort=nope.x", &default);
    let mut reversed = default;
    reversed.reverse();
    check("sort_reverse=true", &reversed);
    check("sort_reverse=1", &default);
    check("page_size=2&name=a", &default);
}

#[test]
fn a_list_is_sorted_by_a_column() {
    check("sort=messages", &["/:Orders.dead", "/:zero", "/:orders", "b:orders", "b:a", "/:events"]);
    check(
        "sort=arguments.x-max-length&sort_reverse=true",
        &["/:events", "b:a", "b:orders", "/:orders", "/:zero", "/:Orders.dead"],
    );
    check("sort=name", &["/:Orders.dead", "b:a", "/:events", "/:orders", "b:orders", "/:zero"]);
}

#[test]
fn a_page_is_filtered_by_name() {
    check("page=1&page_size=2", &["/:Orders.dead", "/:events"]);
    check("page=3&page_size=2", &["b:a", "b:orders"]);
    check("page=1&name=orders", &["/:Orders.dead", "/:orders", "b:orders"]);
    check("page=1&name=ORDERS.", &["/:Orders.dead"]);
    check("page=1&name=^orders$&use_regex=true", &["/:orders", "b:orders"]);
    check("page=1&name=^(?!orders).*s$&use_regex=true", &["/:events"]);
    check("page=1&name=^orders$", &[]);
    check("page=2&page_size=3&name=orders", &[]);
}

#[test]
fn a_page_has_counts() {
    let query = "page=2&page_size=2&name=o&columns=name,arguments.nope";
    let expected = json!({
        "total_count": 6, "item_count": 2, "filtered_count": 4, "page": 2, "page_size": 2, "page_count": 2,
        "items": [{"name": "zero"}, {"name": "orders", "arguments": {}}],
    });
    let answer: Value = serde_json::from_slice(&bytes_of(list(queues(), query).unwrap())).unwrap();
    assert_eq!(answer, expected);
    let empty: Value =
        serde_json::from_slice(&bytes_of(list(Held::<Value>::default(), "page=1").unwrap())).unwrap();
    assert_eq!(
        empty,
        json!({"total_count": 0, "item_count": 0, "filtered_count": 0, "page": 1, "page_size": 100,
        "page_count": 0, "items": []})
    );
    assert_eq!(bytes_of(list(Held::<Value>::default(), "").unwrap()), b"[]");
}

#[test]
fn wrong_parameters_are_refused_in_rabbitmqs_words() {
    let invalid = |reason: &str| ApiError::bad_parameters("invalid_pagination_parameters", reason);
    let long = format!("page=1&use_regex=true&name={}", "a".repeat(1025));
    for (query, error) in [
        ("page=0", invalid("Invalid pagination parameters: page number 0, page size undefined")),
        ("page=-1", invalid("Invalid pagination parameters: page number -1, page size undefined")),
        ("page=1&page_size=501", invalid("Invalid pagination parameters: page number 1, page size 501")),
        ("page=1&page_size=0", invalid("Invalid pagination parameters: page number 1, page size 0")),
        ("page=x", ApiError::bad_request("Pagination parameters are invalid")),
        ("page=", ApiError::bad_request("Pagination parameters are invalid")),
        ("page=1&page_size=x", ApiError::bad_request("Pagination parameters are invalid")),
        ("page=1&name=(%3F(1))&use_regex=true", ApiError::bad_request("Pagination parameters are invalid")),
        ("page=1&name=(&use_regex=true", ApiError::bad_request("Pagination parameters are invalid")),
        (&long, ApiError::bad_request("Pagination parameters are invalid")),
        (
            "page=99",
            ApiError::bad_parameters(
                "page_out_of_range",
                "Page out of range, page: 99 page size: 100, len: 6",
            ),
        ),
        ("page=18446744073709551615", ApiError::bad_request("Pagination parameters are invalid")),
    ] {
        assert_eq!(list(queues(), query).err(), Some(error), "{query}");
    }
    assert!(list(queues(), &format!("page=1&use_regex=true&name={}", "a".repeat(1024))).is_ok());
}

#[test]
fn a_regular_expression_that_takes_too_long_is_refused() {
    let row = json!({"vhost": "/", "name": "a".repeat(200)});
    let query = "page=1&use_regex=true&name=^(a|aa)%2B(?=x)$";
    let error = list(Held::values(vec![row]), query).err();
    assert_eq!(error, Some(ApiError::bad_request("the regular expression takes too many steps")));
}

/// A filter has steps for all names together, and others have their turns between them.
#[test]
fn others_are_served_while_a_list_is_filtered_and_sorted() {
    let rows = |count: usize| {
        let row = |number: usize| json!({"vhost": "/", "name": format!("{number:05}{}", "a".repeat(200)), "n": number * 7919 % count});
        Held::values((0..count).map(row).collect())
    };
    let (answer, turn_count) = counting_turns(rows(2000), "page=1&use_regex=true&name=^(a|b){1,9}$");
    assert!(answer.is_ok() && turn_count >= 2, "{turn_count}");
    // Tens of thousands of steps for each name.
    let dear = "page=1&use_regex=true&name=(?:[ab]{0,10}){0,10}c";
    let (answer, turn_count) = counting_turns(rows(2000), dear);
    let expected = ApiError::bad_request("the regular expression takes too many steps");
    assert_eq!(answer.err(), Some(expected));
    assert!((10..=30).contains(&turn_count), "{turn_count}");
    assert!(list(rows(5), dear).is_ok());
    let (answer, turn_count) = counting_turns(rows(2000), "sort=n&columns=n");
    assert!(turn_count >= 2000 / 128, "{turn_count}");
    let found: Vec<Value> = serde_json::from_slice(&bytes_of(answer.unwrap())).unwrap();
    assert!(found.iter().enumerate().all(|(index, row)| row["n"] == index), "{found:?}");
    let (answer, turn_count) = counting_turns(counted(5000).0, "");
    assert!(answer.is_ok() && turn_count >= 5000 / 1024, "{turn_count}");
}

/// Rows that count their reads, and of which some are gone when they are read.
struct Counted {
    count: u32,
    read: Rc<Cell<usize>>,
    slice_max: Rc<Cell<usize>>,
}

impl Rows for Counted {
    type Key = u32;
    type Row = Value;

    fn keys(&self) -> Vec<u32> {
        (0..self.count).rev().collect()
    }

    fn name<'a>(&'a self, _: &'a u32) -> &'a [u8] {
        b"row"
    }

    fn rows(&self, keys: &[u32]) -> Vec<Option<Value>> {
        self.read.set(self.read.get() + keys.len());
        self.slice_max.set(self.slice_max.get().max(keys.len()));
        keys.iter()
            .map(|key| (key % 10 != 3).then(|| json!({"number": key, "text": "x".repeat(100)})))
            .collect()
    }
}

fn counted(count: u32) -> (Counted, Rc<Cell<usize>>, Rc<Cell<usize>>) {
    let counted = Counted { count, read: Rc::default(), slice_max: Rc::default() };
    let (read, slice_max) = (Rc::clone(&counted.read), Rc::clone(&counted.slice_max));
    (counted, read, slice_max)
}

#[test]
fn only_the_rows_of_a_page_are_read() {
    let (rows, read, _) = counted(10_000);
    let answer: Value =
        serde_json::from_slice(&bytes_of(list(rows, "page=3&page_size=50").unwrap())).unwrap();
    assert_eq!((answer["item_count"].as_u64(), answer["items"][0]["number"].as_u64()), (Some(45), Some(100)));
    assert_eq!(read.get(), 50);
}

#[test]
fn a_whole_list_is_read_while_it_is_sent() {
    let (rows, read, slice_max) = counted(10_000);
    let response = list(rows, "").unwrap();
    assert!(read.get() < 1000, "{}", read.get());
    let ResponseBody::Chunks(mut chunks) = response.body else { panic!("a long list is not streamed") };
    let mut bytes = Vec::new();
    while let Some(chunk) = chunks.next() {
        assert!(chunk.len() < 128 * 1024, "{}", chunk.len());
        bytes.extend(chunk);
    }
    let rows: Vec<Value> = serde_json::from_slice(&bytes).unwrap();
    let expected = (0..10_000_u64).filter(|number| number % 10 != 3);
    assert!(rows.iter().map(|row| row["number"].as_u64().unwrap()).eq(expected));
    assert_eq!((read.get(), slice_max.get() <= 128), (10_000, true));
    let (rows, ..) = counted(10);
    assert!(matches!(list(rows, "columns=number").unwrap().body, ResponseBody::Whole(_)));
}

/// A client that asks for few columns gets short chunks, so that each takes a bounded time.
#[test]
fn a_chunk_has_a_bounded_number_of_rows() {
    let (rows, read, _) = counted(10_000);
    let ResponseBody::Chunks(mut chunks) = list(rows, "columns=nope").unwrap().body else {
        panic!("no chunks")
    };
    let mut before = 0;
    while chunks.next().is_some() {
        assert!(read.get() - before <= 2048, "{}", read.get());
        before = read.get();
    }
    assert_eq!(read.get(), 10_000);
}

#[test]
fn lists_are_refused_while_others_take_the_room() {
    let bounds = Bounds::new(&HttpOptions { rows_max: 10_000, ..HttpOptions::default() });
    let query = ListQuery::default();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let ask = |count| runtime.block_on(answer(counted(count).0, &query, &bounds));
    let first = ask(9_000).unwrap();
    assert_eq!(ask(2_000).err(), Some(ApiError::unavailable("too many lists are being sent")));
    assert!(ask(1_000).is_ok());
    drop(first);
    assert!(ask(20_000).is_ok());
}
