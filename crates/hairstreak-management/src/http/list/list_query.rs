//! `ListQuery`: the parameters of a list.

use std::sync::Arc;

use hairstreak_broker::pattern::{Pattern, STEPS_MAX};

use super::columns::Columns;
use crate::http::error::ApiError;
use crate::http::request::Query;

/// The rows of a page, unless the client says another number.
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

/// RabbitMQ's words for whatever is wrong with a page.
fn invalid() -> ApiError {
    ApiError::bad_request("Pagination parameters are invalid")
}

impl Filter {
    /// Whether a name passes. Takes the steps from those that are left for the list.
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
