//! The topology file: what may be typed (`typed`), what it means (`stage`, `ends`), and reading one
//! (`load`).

mod ends;
mod load;
mod stage;
mod typed;

pub use load::{FILE_SIZE_MAX, LoadError};
