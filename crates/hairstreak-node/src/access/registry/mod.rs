//! `Registry`: users, their permissions, and the virtual hosts they are for. Plain data: no lock, no hashing, no patterns.
//!
//! Reading order: `record`, [`Registry`].

mod record;
#[expect(clippy::module_inception, reason = "the type is what the folder is about")]
mod registry;

pub(super) use record::Record;
pub(super) use registry::Registry;
