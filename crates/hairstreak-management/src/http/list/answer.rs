//! `answer`: from the rows and the parameters to the response.
//!
//! - `Rows`: the rows of a list; `Held`: rows that are in memory as a whole
//!
//! Other clients are served between slices: of rows that are read, of names that are matched, and of keys that are sorted.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::{Value, json};

use super::query::{Columns, Filter, ListQuery, Page, SortKey};
use crate::http::error::ApiError;
use crate::http::request::{Bounds, Share};
use crate::http::response::{Chunks, Response};

/// The rows of a list. Keys are small, and give the order of a list that is not sorted otherwise; rows are read when
/// they are shown.
pub(crate) trait Rows {
    type Key: Ord;
    type Row: Serialize;

    /// The keys of all rows, in any order.
    fn keys(&self) -> Vec<Self::Key>;

    /// The name that `name=` filters by.
    fn name<'a>(&'a self, key: &'a Self::Key) -> &'a [u8];

    /// The rows of these keys; `None`: the row is gone since the keys were read. Called for a slice at a time, so that a lock is held for a short time only.
    fn rows(&self, keys: &[Self::Key]) -> Vec<Option<Self::Row>>;
}

/// Rows that are there as a whole, in their order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Held<R> {
    rows: Vec<R>,
}

/// A row that has a name to be filtered by.
pub(crate) trait Named {
    fn name(&self) -> &[u8];
}

impl<R> Held<R> {
    pub(crate) fn new(rows: Vec<R>) -> Held<R> {
        Held { rows }
    }

    /// Rows in the order of their keys.
    pub(crate) fn sorted_by_key<K: Ord>(mut rows: Vec<R>, key: impl Fn(&R) -> K) -> Held<R> {
        rows.sort_by_cached_key(key);
        Held { rows }
    }
}

impl Held<Value> {
    /// Objects by their virtual hosts and names.
    pub(crate) fn values(rows: Vec<Value>) -> Held<Value> {
        Held::sorted_by_key(rows, |row| [text(row, "vhost").to_owned(), text(row, "name").to_owned()])
    }
}

impl Named for Value {
    fn name(&self) -> &[u8] {
        text(self, "name").as_bytes()
    }
}

fn text<'a>(row: &'a Value, key: &str) -> &'a str {
    row.get(key).and_then(Value::as_str).unwrap_or_default()
}

impl<R: Named + Serialize + Clone> Rows for Held<R> {
    type Key = usize;
    type Row = R;

    fn keys(&self) -> Vec<usize> {
        (0..self.rows.len()).collect()
    }

    fn name<'a>(&'a self, key: &'a usize) -> &'a [u8] {
        self.rows.get(*key).map_or(b"", Named::name)
    }

    fn rows(&self, keys: &[usize]) -> Vec<Option<R>> {
        keys.iter().map(|key| self.rows.get(*key).cloned()).collect()
    }
}

/// The rows that are read at once.
const SLICE_SIZE: usize = 128;
/// The keys that are sorted at once.
const SORTED_SLICE_SIZE: usize = 1024;
/// The steps of matches after which other clients are served.
const FILTER_SLICE_STEPS: usize = 100_000;
/// The steps that a filter may take: this number, and `ROW_STEPS_MAX` more for each row.
const FILTER_STEPS_MAX: usize = 1_000_000;
const ROW_STEPS_MAX: usize = 1_000;
/// The rows of a chunk, of which the client may see few bytes.
const CHUNK_ROWS_MAX: usize = 8 * SLICE_SIZE;
/// Bytes of a list that are made before the client takes the first.
const CHUNK_SIZE: usize = 64 * 1024;

/// Answers with a list. Without `page=` the answer is an array, and with it an object that has the page. A list for which there is no room is refused at once:
/// while it waited, its rows would take the room all the same.
///
/// # Errors
///
/// 400: there is no such page, or the filter takes too many steps. 503: too many lists are being sent.
pub(crate) async fn answer<R: Rows + 'static>(
    rows: R,
    query: &ListQuery,
    bounds: &Bounds,
) -> Result<Response, ApiError>
where
    R::Key: 'static,
{
    let mut keys = rows.keys();
    let total_count = keys.len();
    let share = bounds.try_reserve_rows(total_count);
    let share = share.ok_or_else(|| ApiError::unavailable("too many lists are being sent"))?;
    if let Some(filter) = query.page.as_ref().and_then(|page| page.filter.as_ref()) {
        keys = filtered(&rows, keys, filter).await?;
    }
    let keys = sorted(&rows, keys, query).await;
    if let Some(page) = &query.page {
        return paged(&rows, keys, page, total_count, query.columns.as_ref());
    }
    let columns = query.columns.clone();
    let mut chunks =
        RowChunks { rows, keys: keys.into_iter(), columns, is_begun: false, is_done: false, _share: share };
    // A list that fits into one chunk has a length.
    let first = chunks.next().unwrap_or_default();
    Ok(if chunks.is_done {
        Response::whole(first)
    } else {
        Response::stream(Box::new(Begun { first: Some(first), chunks }))
    })
}

/// The keys of the rows whose names pass a filter.
async fn filtered<R: Rows>(rows: &R, keys: Vec<R::Key>, filter: &Filter) -> Result<Vec<R::Key>, ApiError> {
    let mut left = FILTER_STEPS_MAX.saturating_add(keys.len().saturating_mul(ROW_STEPS_MAX));
    let mut slice_end = left.saturating_sub(FILTER_SLICE_STEPS);
    let mut passing = Vec::new();
    for key in keys {
        if filter.passes(rows.name(&key), &mut left)? {
            passing.push(key);
        }
        if left < slice_end {
            tokio::task::yield_now().await;
            slice_end = left.saturating_sub(FILTER_SLICE_STEPS);
        }
    }
    Ok(passing)
}

/// Sorts by the column that the client asks for, and then by the order of the keys.
async fn sorted<R: Rows>(rows: &R, keys: Vec<R::Key>, query: &ListQuery) -> Vec<R::Key> {
    let mut sorted = match &query.sort {
        None if keys.is_sorted() => keys,
        None => {
            let mut sorted = BTreeSet::new();
            for (index, key) in keys.into_iter().enumerate() {
                if index % SORTED_SLICE_SIZE == 0 {
                    tokio::task::yield_now().await;
                }
                sorted.insert(key);
            }
            sorted.into_iter().collect()
        }
        Some(path) => {
            let mut sorted: BTreeSet<(SortKey, R::Key)> = BTreeSet::new();
            let mut rest = keys.into_iter();
            loop {
                let slice: Vec<R::Key> = rest.by_ref().take(SLICE_SIZE).collect();
                if slice.is_empty() {
                    break;
                }
                let values = rows.rows(&slice);
                let present = slice.into_iter().zip(values).filter_map(|(key, row)| Some((row?, key)));
                sorted.extend(present.map(|(row, key)| (SortKey::of(&value(&row), path), key)));
                tokio::task::yield_now().await;
            }
            sorted.into_iter().map(|(_, key)| key).collect()
        }
    };
    if query.is_reversed {
        sorted.reverse();
    }
    sorted
}

fn paged<R: Rows>(
    rows: &R,
    keys: Vec<R::Key>,
    page: &Page,
    total_count: usize,
    columns: Option<&Columns>,
) -> Result<Response, ApiError> {
    let (filtered_count, size) = (keys.len(), page.size as usize);
    let start = usize::try_from(page.number - 1).ok().and_then(|before| before.checked_mul(size));
    // The page behind the last one is a page without rows, if the last one is full.
    let Some(start) = start.filter(|start| *start <= filtered_count) else {
        let reason =
            format!("Page out of range, page: {} page size: {size}, len: {filtered_count}", page.number);
        return Err(ApiError::bad_parameters("page_out_of_range", reason));
    };
    let shown = &keys[start..filtered_count.min(start + size)];
    let items: Vec<Value> = shown
        .chunks(SLICE_SIZE)
        .flat_map(|slice| rows.rows(slice))
        .flatten()
        .map(|row| cut(&row, columns))
        .collect();
    Ok(Response::json(&json!({
        "total_count": total_count,
        "item_count": items.len(),
        "filtered_count": filtered_count,
        "page": page.number,
        "page_size": size,
        "page_count": filtered_count.div_ceil(size),
        "items": items,
    })))
}

fn value(row: &impl Serialize) -> Value {
    // A map whose keys are no strings has no form in JSON; rows have none.
    serde_json::to_value(row).unwrap_or_default()
}

fn cut(row: &impl Serialize, columns: Option<&Columns>) -> Value {
    match columns {
        None => value(row),
        Some(columns) => columns.cut(value(row)),
    }
}

/// An array of rows that are read while it is sent.
struct RowChunks<R: Rows> {
    rows: R,
    keys: std::vec::IntoIter<R::Key>,
    columns: Option<Columns>,
    is_begun: bool,
    is_done: bool,
    _share: Share,
}

impl<R: Rows> RowChunks<R> {
    fn push(&mut self, row: &R::Row, chunk: &mut Vec<u8>) {
        chunk.push(if std::mem::replace(&mut self.is_begun, true) { b',' } else { b'[' });
        // A vector takes any number of bytes, and rows have a form in JSON.
        let _ = match &self.columns {
            None => serde_json::to_writer(chunk, row),
            Some(columns) => serde_json::to_writer(chunk, &columns.cut(value(row))),
        };
    }
}

impl<R: Rows> Chunks for RowChunks<R> {
    fn next(&mut self) -> Option<Vec<u8>> {
        if self.is_done {
            return None;
        }
        let mut chunk = Vec::with_capacity(CHUNK_SIZE + CHUNK_SIZE / 4);
        let mut row_count = 0;
        while chunk.len() < CHUNK_SIZE && (row_count < CHUNK_ROWS_MAX || chunk.is_empty()) {
            let slice: Vec<R::Key> = self.keys.by_ref().take(SLICE_SIZE).collect();
            if slice.is_empty() {
                self.is_done = true;
                chunk.extend_from_slice(if self.is_begun { b"]" } else { b"[]" });
                break;
            }
            row_count += slice.len();
            for row in self.rows.rows(&slice).into_iter().flatten() {
                self.push(&row, &mut chunk);
            }
        }
        Some(chunk)
    }
}

/// Chunks whose first one is made already.
struct Begun<C> {
    first: Option<Vec<u8>>,
    chunks: C,
}

impl<C: Chunks> Chunks for Begun<C> {
    fn next(&mut self) -> Option<Vec<u8>> {
        self.first.take().or_else(|| self.chunks.next())
    }
}
