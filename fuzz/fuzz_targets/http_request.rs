//! Requests of the management HTTP API: any path, query, body, file of definitions and form is read or refused, whatever is answered is JSON, a page has no more
//! rows than it may, and reading a body costs memory in proportion to it.
#![no_main]

use std::sync::LazyLock;

use hairstreak_management::HttpHarness;
use hairstreak_testkit::MeasuredAllocator;
use libfuzzer_sys::fuzz_target;

#[global_allocator]
static ALLOCATOR: MeasuredAllocator = MeasuredAllocator;

/// Bytes that each byte of a body may cost.
const COST_PER_BYTE: usize = 256;
/// The cost of anything.
const COST: usize = 4 << 20;

static HARNESS: LazyLock<HttpHarness> = LazyLock::new(HttpHarness::new);

fuzz_target!(|input: (u8, &str, &str, &[u8])| {
    let (choice, path, query, body) = input;
    match choice % 5 {
        0 => {
            HARNESS.find(path);
            HARNESS.find(&format!("/api/{path}"));
        }
        1 => check_list(query),
        2 => measure(body, |body| drop(HARNESS.read(body))),
        3 => measure(body, |body| {
            HARNESS.read_definitions(body);
        }),
        _ => check_form(path, body),
    }
});

/// Reads a body, and measures what that costs.
fn measure(body: &[u8], read: impl FnOnce(&[u8])) {
    LazyLock::force(&HARNESS);
    let before = MeasuredAllocator::begin();
    read(body);
    let cost = MeasuredAllocator::peak().saturating_sub(before);
    assert!(cost <= COST + COST_PER_BYTE * body.len(), "{cost} bytes for {}", body.len());
}

/// A list by a query, and by the same one with a page.
fn check_list(query: &str) {
    HARNESS.list(query);
    if let Some(answer) = HARNESS.list(&format!("page=1&page_size=7&{query}")) {
        assert!(answer["items"].as_array().is_some_and(|items| items.len() <= 7));
    }
}

/// A file in a form comes out as it was put in.
fn check_form(boundary: &str, body: &[u8]) {
    HARNESS.part(&format!("multipart/form-data; boundary={boundary}"), body);
    let is_plain = !boundary.is_empty() && boundary.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if is_plain && !body.windows(2).any(|pair| pair == b"\r\n") {
        let head = format!("--{boundary}\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\n");
        let form = [head.as_bytes(), body, format!("\r\n--{boundary}--\r\n").as_bytes()].concat();
        assert_eq!(HARNESS.part(&format!("multipart/form-data; boundary={boundary}"), &form), Some(body));
    }
}
