//! The parameters of lists and of objects.
//!
//! - `ListQuery`: the page and the order of a list; `Filter`: the names that a page shows
//! - `Columns`: the parts of an object that a client asks for, such as `name,message_stats.publish`
//! - `SortKey`: the value that a row is sorted by, in Erlang's order of types, as RabbitMQ sorts
//! - `Range`: the samples that a client asks for, such as `lengths_age=60&lengths_incr=5`

use std::cmp::Ordering;
use std::sync::Arc;

use hairstreak_broker::pattern::{Pattern, STEPS_MAX};
use serde_json::{Map, Number, Value};

use crate::http::error::ApiError;
use crate::http::request::Query;

/// The default number of rows of a page.
const PAGE_SIZE_DEFAULT: u64 = 100;
/// The most rows of a page.
const PAGE_SIZE_MAX: u64 = 500;
/// Characters of a regular expression.
const REGEX_SIZE_MAX: usize = 1024;

/// The refusal of a regular expression that takes too long.
const TOO_MANY_STEPS: &str = "the regular expression takes too many steps";

/// The parameters of a list.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListQuery {
    /// `None`: the whole list, as an array.
    pub(super) page: Option<Page>,
    /// The path of a column.
    pub(super) sort: Option<String>,
    pub(super) is_reversed: bool,
    /// `None`: all columns.
    pub(super) columns: Option<Columns>,
}

/// A page of a list.
#[derive(Clone, Debug)]
pub(super) struct Page {
    /// Counted from 1.
    pub(super) number: u64,
    pub(super) size: u64,
    pub(super) filter: Option<Filter>,
}

/// A filter by name, without regard to case.
#[derive(Clone, Debug)]
pub(super) enum Filter {
    /// The name contains the text, which is in lower case.
    Contains(String),
    Matches(Arc<Pattern>),
}

impl ListQuery {
    /// Reads the parameters.
    ///
    /// # Errors
    ///
    /// 400 with RabbitMQ's words: a page is no number or out of bounds, or the filter is no regular expression.
    pub(crate) fn parse(query: &Query) -> Result<ListQuery, ApiError> {
        Ok(ListQuery {
            page: page(query)?,
            sort: query.get("sort").filter(|path| !path.is_empty()).map(str::to_owned),
            is_reversed: query.is_true("sort_reverse"),
            columns: query.get("columns").map(Columns::parse),
        })
    }
}

fn page(query: &Query) -> Result<Option<Page>, ApiError> {
    let number = number(query, "page")?;
    let size = self::number(query, "page_size")?;
    let Some(number) = number else { return Ok(None) };
    let used_size = size.unwrap_or(PAGE_SIZE_DEFAULT as i64);
    match (u64::try_from(number), u64::try_from(used_size)) {
        (Ok(number @ 1..), Ok(size @ 1..=PAGE_SIZE_MAX)) => {
            Ok(Some(Page { number, size, filter: filter(query)? }))
        }
        _ => {
            let size = size.map_or("undefined".into(), |size| size.to_string());
            let reason = format!("Invalid pagination parameters: page number {number}, page size {size}");
            Err(ApiError::bad_parameters("invalid_pagination_parameters", reason))
        }
    }
}

fn number(query: &Query, name: &str) -> Result<Option<i64>, ApiError> {
    query.get(name).map(|text| text.parse().map_err(|_| invalid())).transpose()
}

fn filter(query: &Query) -> Result<Option<Filter>, ApiError> {
    let Some(name) = query.get("name").filter(|name| !name.is_empty()) else { return Ok(None) };
    if !query.is_true("use_regex") {
        return Ok(Some(Filter::Contains(name.to_lowercase())));
    }
    if name.chars().count() > REGEX_SIZE_MAX {
        return Err(invalid());
    }
    let pattern = Pattern::compile_caseless(name).map_err(|_| invalid())?;
    Ok(Some(Filter::Matches(Arc::new(pattern))))
}

/// RabbitMQ's words for every error in the parameters of a page.
fn invalid() -> ApiError {
    ApiError::bad_request("Pagination parameters are invalid")
}

impl Filter {
    /// Returns `true` if a name passes. Subtracts its steps from the steps that are left for the list.
    ///
    /// # Errors
    ///
    /// 400: the regular expression takes too many steps for one name, or for all names of the list.
    pub(super) fn passes(&self, name: &[u8], left: &mut usize) -> Result<bool, ApiError> {
        match self {
            Filter::Contains(text) => {
                *left = left.saturating_sub(1 + name.len());
                Ok(String::from_utf8_lossy(name).to_lowercase().contains(text))
            }
            Filter::Matches(pattern) => {
                let given = STEPS_MAX.min(*left);
                let mut steps = given;
                let found = pattern.find_within(name, &mut steps);
                *left -= given - steps;
                found.ok_or_else(|| ApiError::bad_request(TOO_MANY_STEPS))
            }
        }
    }
}

/// The columns of `columns=`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Columns {
    paths: Vec<Vec<String>>,
}

impl Columns {
    /// Reads paths with commas between them. Empty ones are passed over.
    pub(crate) fn parse(text: &str) -> Columns {
        let words = |path: &str| path.split('.').filter(|word| !word.is_empty()).map(str::to_owned).collect();
        let paths = text.split(',').map(words).filter(|path: &Vec<String>| !path.is_empty()).collect();
        Columns { paths }
    }

    /// The value with these columns only. Each item of a list is cut down.
    pub(crate) fn cut(&self, value: Value) -> Value {
        let paths: Vec<&[String]> = self.paths.iter().map(Vec::as_slice).collect();
        cut_value(value, &paths)
    }
}

fn cut_value(value: Value, paths: &[&[String]]) -> Value {
    match value {
        Value::Object(fields) => Value::Object(cut_fields(fields, paths)),
        Value::Array(items) => items.into_iter().map(|item| cut_value(item, paths)).collect(),
        other => other,
    }
}

fn cut_fields(fields: Map<String, Value>, paths: &[&[String]]) -> Map<String, Value> {
    let wanted = fields.into_iter().filter_map(|(name, value)| {
        let below: Vec<&[String]> =
            paths.iter().filter(|path| path[0] == name).map(|path| &path[1..]).collect();
        if below.is_empty() {
            return None;
        }
        let is_whole = below.iter().any(|path| path.is_empty());
        let value = if is_whole { value } else { cut_value(value, &below) };
        Some((name, value))
    });
    wanted.collect()
}

/// A value of a row. Numbers come first, then `false`, `null` and `true`, objects, lists, and strings.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SortKey(Value);

impl SortKey {
    /// The value at a path such as `message_stats.publish`. A row without it is sorted as if it were 0.
    pub(super) fn of(row: &Value, path: &str) -> SortKey {
        let mut words = path.split('.').filter(|word| !word.is_empty());
        let value = words.try_fold(row, |value, word| value.get(word));
        SortKey(value.cloned().unwrap_or_else(|| 0.into()))
    }
}

impl Eq for SortKey {}

impl PartialOrd for SortKey {
    fn partial_cmp(&self, other: &SortKey) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for SortKey {
    fn cmp(&self, other: &SortKey) -> Ordering {
        compare(&self.0, &other.0)
    }
}

fn compare(one: &Value, other: &Value) -> Ordering {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => compare_numbers(one, other),
        (Value::String(one), Value::String(other)) => one.cmp(other),
        (Value::Array(one), Value::Array(other)) => {
            let first =
                one.iter().zip(other).map(|(one, other)| compare(one, other)).find(|order| order.is_ne());
            first.unwrap_or_else(|| one.len().cmp(&other.len()))
        }
        (Value::Object(one), Value::Object(other)) => one.len().cmp(&other.len()),
        _ => rank(one).cmp(&rank(other)),
    }
}

fn compare_numbers(one: &Number, other: &Number) -> Ordering {
    match (one.as_i64(), other.as_i64()) {
        (Some(one), Some(other)) => one.cmp(&other),
        _ => {
            let double = |number: &Number| number.as_f64().unwrap_or_default();
            double(one).total_cmp(&double(other))
        }
    }
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::Bool(false) => 1,
        Value::Null => 2,
        Value::Bool(true) => 3,
        Value::Object(_) => 4,
        Value::Array(_) => 5,
        Value::String(_) => 6,
    }
}

/// The most samples of a range, less one.
const SAMPLE_COUNT_MAX: i64 = 500;

/// A range of samples that ends now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    age_ms: u64,
    step_ms: u64,
}

/// The ranges of a request, for each kind of counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ranges {
    /// Messages in queues.
    pub(crate) lengths: Option<Range>,
    /// Messages that were published, delivered and so on.
    pub(crate) messages: Option<Range>,
    /// Bytes of connections.
    pub(crate) data: Option<Range>,
    /// Figures of the node.
    pub(crate) node: Option<Range>,
}

impl Ranges {
    /// Reads the parameters. One that is no number counts as missing, as in RabbitMQ.
    ///
    /// # Errors
    ///
    /// 400: an age or a step is not above 0, or the range has more than 501 samples.
    pub(crate) fn parse(query: &Query) -> Result<Ranges, ApiError> {
        Ok(Ranges {
            lengths: range(query, "lengths")?,
            messages: range(query, "msg_rates")?,
            data: range(query, "data_rates")?,
            node: range(query, "node_stats")?,
        })
    }
}

fn range(query: &Query, prefix: &str) -> Result<Option<Range>, ApiError> {
    let number = |suffix| query.get(&format!("{prefix}_{suffix}"))?.parse::<i64>().ok();
    let (Some(age), Some(step)) = (number("age"), number("incr")) else { return Ok(None) };
    if age <= 0 || step <= 0 || age / step > SAMPLE_COUNT_MAX {
        let reason = format!("Invalid range parameters: age {age}, incr {step}");
        return Err(ApiError::bad_parameters("invalid_range_parameters", reason));
    }
    Ok(Some(Range { age_ms: (age as u64).saturating_mul(1000), step_ms: (step as u64).saturating_mul(1000) }))
}

impl Range {
    /// The times of the samples, the latest first: multiples of the step up to `now_ms`.
    pub(crate) fn times(self, now_ms: u64) -> impl Iterator<Item = u64> {
        let last = now_ms - now_ms % self.step_ms;
        (0..=self.age_ms / self.step_ms).map(move |index| last.saturating_sub(index * self.step_ms))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(columns: &str, expected: Value) {
        let value = json!({"name": "q", "messages": 1, "stats": {"a": {"rate": 2, "avg": 3}, "b": 4},
            "list": [{"x": 1, "y": 2}, 5], "none": null});
        assert_eq!(Columns::parse(columns).cut(value), expected, "{columns}");
    }

    #[test]
    fn columns_are_paths() {
        check("name", json!({"name": "q"}));
        check("name,none,nothing", json!({"name": "q", "none": null}));
        check("stats.a.rate,messages", json!({"messages": 1, "stats": {"a": {"rate": 2}}}));
        check("stats.a.rate,stats.a.avg,stats.b", json!({"stats": {"a": {"rate": 2, "avg": 3}, "b": 4}}));
        check("stats.a.rate,stats", json!({"stats": {"a": {"rate": 2, "avg": 3}, "b": 4}}));
        check("list.x", json!({"list": [{"x": 1}, 5]}));
        check("name.x", json!({"name": "q"}));
        check("", json!({}));
        check("..,,", json!({}));
    }

    #[test]
    fn values_have_erlangs_order() {
        let ordered = [
            json!(-1.5),
            json!(0),
            json!(0.5),
            json!(10),
            json!(u64::MAX),
            json!(false),
            json!(null),
            json!(true),
            json!({}),
            json!({"a": 1}),
            json!([]),
            json!([1]),
            json!([1, 2]),
            json!([2]),
            json!(""),
            json!("a"),
            json!("b"),
        ];
        for (index, one) in ordered.iter().enumerate() {
            for (other_index, other) in ordered.iter().enumerate() {
                let keys = (SortKey(one.clone()), SortKey(other.clone()));
                assert_eq!(keys.0.cmp(&keys.1), index.cmp(&other_index), "{one} {other}");
            }
        }
    }

    #[test]
    fn a_row_without_the_value_counts_as_zero() {
        let row = json!({"a": {"b": 3}, "c": "x"});
        assert_eq!(SortKey::of(&row, "a.b"), SortKey(json!(3)));
        assert_eq!(SortKey::of(&row, "a.x"), SortKey(json!(0)));
        assert_eq!(SortKey::of(&row, "c.b"), SortKey(json!(0)));
    }

    #[test]
    fn a_range_has_a_sample_at_each_multiple_of_its_step() {
        let ranges =
            Ranges::parse(&Query::parse("lengths_age=20&lengths_incr=5&msg_rates_age=x&msg_rates_incr=5"));
        let ranges = ranges.unwrap();
        let times: Vec<u64> = ranges.lengths.unwrap().times(1_000_003_999).collect();
        assert_eq!(times, [1_000_000_000, 999_995_000, 999_990_000, 999_985_000, 999_980_000]);
        assert_eq!((ranges.messages, ranges.data, ranges.node), (None, None, None));
    }

    #[test]
    fn a_range_out_of_bounds_is_refused() {
        for (age, step) in [(60, 0), (0, 5), (-1, 5), (5, -1), (5010, 10)] {
            let query = Query::parse(&format!("lengths_age={age}&lengths_incr={step}"));
            let expected = format!("Invalid range parameters: age {age}, incr {step}");
            let expected = ApiError::bad_parameters("invalid_range_parameters", expected);
            assert_eq!(Ranges::parse(&query), Err(expected));
        }
        assert!(Ranges::parse(&Query::parse("lengths_age=5000&lengths_incr=10")).unwrap().lengths.is_some());
    }
}
