//! Patterns of permissions: those of [`hairstreak_broker::pattern`], which policies have, too.
//!
//! `template` fills in `{username}`, and [`PatternTable`] shares equal patterns.

mod table;
mod template;

pub(super) use table::PatternTable;
pub(super) use template::{Variables, expand};
