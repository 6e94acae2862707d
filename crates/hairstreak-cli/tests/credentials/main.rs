//! Credentials on the command line: a node that other hosts reach, which are network namespaces here, and what each may do there.

mod far;
mod key_file;
#[path = "../workbench/network.rs"]
mod network;
mod node;
mod options;
