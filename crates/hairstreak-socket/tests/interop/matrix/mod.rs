//! The interop matrix: every compatible pair of socket types x transport x who binds, 1,000 messages a
//! cell. Another implementation is another script that does what cells.py does; a mechanism is another
//! dimension of [`Cell`](cell::Cell).

mod cell;
mod ours;
mod rows;
mod talk;
