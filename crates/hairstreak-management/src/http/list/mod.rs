//! Lists: filtered by name, sorted, cut into pages, with the columns that the client asks for.
//!
//! Rows are read in slices. A row that is neither shown nor sorted by a value is not read at all. A list without pages is made while it is sent. Reading order:
//! [`ListQuery`], [`Rows`], `answer`.

mod answer;
mod query;
#[cfg(test)]
mod tests;

pub(crate) use answer::{Held, Named, Rows, answer};
pub(crate) use query::{Columns, ListQuery, Range, Ranges};
