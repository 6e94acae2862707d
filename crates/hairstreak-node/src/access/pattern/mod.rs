//! Patterns of permissions: the same patterns that policies use, from [`hairstreak_broker::pattern`].
//!
//! `template` fills in `{username}`, and [`PatternTable`] shares equal patterns.

mod table;
mod template;

pub(super) use table::PatternTable;
pub(super) use template::{Variables, expand};
