//! Lists of the API's objects: tables for people, objects on lines for programs.
//!
//! - `arguments`: the selection of objects, their order, the columns
//! - `column`: a field of the objects, and its unit
//! - `cell`: a value as text
//! - `table`: rows below each other as they come
//! - `pages`: the API's pages
//! - `print`: all of them together
//! - `command`: the arguments of a command that lists

mod arguments;
mod cell;
mod column;
mod command;
mod pages;
mod print;
mod table;

pub use arguments::ListArguments;
pub use column::{Column, Form};
pub use command::{ListCommand, Scope, VirtualHostArguments};
pub use print::{Kind, Sum};
