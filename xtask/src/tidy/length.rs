//! Rule `length`: a source file has at most a thousand lines.

use super::Finding;
use super::tree::Tree;

const LINES_MAX: usize = 1000;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    tree.files
        .iter()
        .filter(|file| file.path.ends_with(".rs") || file.path.ends_with(".py"))
        .filter(|file| file.text.lines().count() > LINES_MAX)
        .map(|file| {
            let advice = format!("over {LINES_MAX} lines: split the file along its ideas");
            Finding::new(&file.path, LINES_MAX + 1, "length", advice)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_one_line_too_long_is_found() {
        let (longest, longer) = ("\n".repeat(LINES_MAX), "\n".repeat(LINES_MAX + 1));
        assert_eq!(check(&Tree::of(&[("a.rs", &longest), ("a.toml", &longer)])), []);
        assert_eq!(check(&Tree::of(&[("a.rs", &longer)])).len(), 1);
    }
}
