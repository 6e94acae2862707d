//! Credentials on the command line: a node, other hosts (network namespaces here) that reach it, and the rights of each.

mod far;
mod key_file;
#[path = "../workbench/network.rs"]
mod network;
mod node;
mod options;
