//! The type `topic`: routing keys are words with dots between them, and a binding's key is a pattern: `*` stands for one
//! word, `#` for any number of words.
//!
//! - `trie`: all patterns of an exchange as one tree of words, so that the cost of a message depends on its words and not on the
//!   number of bindings
//! - `active`: the match of a key
//! - `nodes`, `word`, `ends`: the nodes of the tree, their words and destinations, in few bytes

mod active;
mod ends;
mod nodes;
mod trie;
mod word;

pub(super) use active::KeyWay;
pub(super) use trie::Trie;
