//! The fields of a request's body: a JSON object, whose readers are those of `definitions`, or a form.

mod multipart;
mod object;

pub(crate) use multipart::{boundary, part};
pub(crate) use object::{parse_object, require};
