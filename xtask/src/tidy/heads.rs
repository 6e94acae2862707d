//! Rule `heads`: every Rust file opens with `//!`: what it is, what it is not, its invariants.

use super::Finding;
use super::tree::Tree;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    tree.ending_in(".rs")
        .filter(|file| !file.text.starts_with("//! "))
        .map(|file| Finding::new(&file.path, 1, "heads", "open the file with `//! ` and what it is"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_head_is_found() {
        let tree =
            Tree::of(&[("a.rs", "//! A.\n"), ("b.rs", "use a;\n"), ("c.rs", "//!\n"), ("d.py", "a\n")]);
        assert_eq!(check(&tree).iter().map(|finding| &*finding.path).collect::<Vec<_>>(), ["b.rs", "c.rs"]);
    }
}
