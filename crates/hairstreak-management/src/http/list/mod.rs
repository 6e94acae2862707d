//! Lists: filtered by name, sorted, cut into pages, with the columns that the client asks for.
//!
//! Rows are read in slices, and only those that are shown or sorted by a value are read at all. A list without pages is made while it is sent. Reading order:
//! [`Rows`], [`ListQuery`], `answer`.

mod answer;
mod columns;
mod list_query;
mod rows;
mod sorting;
#[cfg(test)]
mod tests;

pub(crate) use answer::answer;
pub(crate) use columns::Columns;
pub(crate) use list_query::ListQuery;
pub(crate) use rows::{Held, Named, Rows};
