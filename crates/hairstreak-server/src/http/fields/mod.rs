//! The fields of a request's body: a JSON object whose values may be strings, as older tools send them.

mod multipart;
mod object;

pub(crate) use multipart::{boundary, part};
pub(crate) use object::Object;
