//! `answer`: from the rows and the parameters to the response.

use serde::Serialize;
use serde_json::{Value, json};

use super::columns::Columns;
use super::list_query::{ListQuery, Page};
use super::rows::Rows;
use super::sorting::SortKey;
use crate::http::bounds::{Bounds, Share};
use crate::http::error::ApiError;
use crate::http::response::{Chunks, Response};

/// The rows that are read at once.
const SLICE_SIZE: usize = 128;
/// Bytes of a list that are made before the client takes the first.
const CHUNK_SIZE: usize = 64 * 1024;

/// Answers with a list. Without `page=` the answer is an array, and with it an object that has the page. A list for which there is no room is refused at once:
/// while it waited, its rows would take the room all the same.
///
/// # Errors
///
/// 400: there is no such page. 503: too many lists are being sent.
pub(crate) fn answer<R: Rows + 'static>(
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
        let mut passing = Vec::new();
        for key in keys {
            if filter.passes(rows.name(&key))? {
                passing.push(key);
            }
        }
        keys = passing;
    }
    sort(&rows, &mut keys, query);
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

/// Sorts by the column that the client asks for, and then by the order of the keys.
fn sort<R: Rows>(rows: &R, keys: &mut Vec<R::Key>, query: &ListQuery) {
    match &query.sort {
        None => keys.sort_unstable(),
        Some(path) => {
            let mut sorted: Vec<(SortKey, R::Key)> = Vec::with_capacity(keys.len());
            let mut rest = std::mem::take(keys).into_iter();
            loop {
                let slice: Vec<R::Key> = rest.by_ref().take(SLICE_SIZE).collect();
                if slice.is_empty() {
                    break;
                }
                let values = rows.rows(&slice);
                let present = slice.into_iter().zip(values).filter_map(|(key, row)| Some((row?, key)));
                sorted.extend(present.map(|(row, key)| (SortKey::of(&value(&row), path), key)));
            }
            sorted.sort_unstable();
            keys.extend(sorted.into_iter().map(|(_, key)| key));
        }
    }
    if query.is_reversed {
        keys.reverse();
    }
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
        while chunk.len() < CHUNK_SIZE {
            let slice: Vec<R::Key> = self.keys.by_ref().take(SLICE_SIZE).collect();
            if slice.is_empty() {
                self.is_done = true;
                chunk.extend_from_slice(if self.is_begun { b"]" } else { b"[]" });
                break;
            }
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
