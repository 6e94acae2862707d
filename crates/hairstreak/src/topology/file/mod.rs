//! The topology file: its keys as typed (`typed`), their meaning (`stage`, `ends`), and reading a file (`load`).

mod ends;
mod load;
mod stage;
mod typed;

pub use load::{FILE_SIZE_MAX, LoadError};
