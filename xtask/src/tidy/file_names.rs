//! Rule `file_names`: a file is named after the noun it holds, never after its being handy.

use super::Finding;
use super::tree::Tree;

const BANNED: &[&str] = &["util", "utils", "common", "helper", "helpers", "misc", "shared", "stuff"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let is_banned = |part: &str| BANNED.contains(&part.split('.').next().unwrap_or(part));
    tree.files
        .iter()
        .filter(|file| file.path.ends_with(".rs") || file.path.ends_with(".py"))
        .filter(|file| file.path.split('/').any(is_banned))
        .map(|file| Finding::new(&file.path, 1, "file_names", "name the file after the noun it is about"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_named_for_being_handy_is_found() {
        let tree = Tree::of(&[
            ("crates/a/src/util.rs", ""),
            ("crates/a/tests/common/mod.rs", ""),
            ("scripts/helpers.py", ""),
            ("crates/a/src/common_prefix.rs", ""),
        ]);
        assert_eq!(check(&tree).len(), 3);
    }
}
