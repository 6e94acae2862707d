//! The interop matrix: every compatible pair of socket types x the other implementation x transport x mechanism x
//! who serves x who binds, 1,000 messages a cell, and 100,000 in the long form. Another implementation is another program
//! that does what cells.py and Cells.java do.
//!
//! JeroMQ is there over tcp only: what it calls ipc is tcp to a port that it makes of the name.

mod cell;
mod implementation;
mod ours;
mod rows;
mod talk;
