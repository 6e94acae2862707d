//! The type `topic`: routing keys are words with dots between them, and a binding's key is a pattern: `*` stands for one
//! word, `#` for any number of words.
//!
//! - `topic`: the type
//! - `trie`: all patterns of an exchange as one tree of words, so that the cost of a message depends on its words and not on the
//!   number of bindings
//! - `nodes`, `word`, `ends`: the nodes of the tree, their words and destinations, in few bytes

mod ends;
mod nodes;
#[expect(clippy::module_inception, reason = "the type is what the folder is about")]
mod topic;
mod trie;
mod word;

pub(super) use topic::Topic;
pub(super) use trie::KeyWay;
