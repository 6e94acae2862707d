//! Rule `mutations`: each text that a mutation replaces stands once in its file, so that the list does not rot.

use super::Finding;
use super::tree::{File, Tree};
use crate::mutations::{FILE_NAME, read};

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    tree.ending_in(FILE_NAME).flat_map(|list| check_list(tree, list)).collect()
}

fn check_list(tree: &Tree, list: &File) -> Vec<Finding> {
    let mutations = match read(&list.path, &list.text) {
        Ok(mutations) => mutations,
        Err(error) => return vec![Finding::new(&list.path, 1, "mutations", error)],
    };
    let wrong = mutations.iter().filter_map(|mutation| {
        let applied = match tree.text_of(&mutation.file) {
            Some(text) => mutation.apply(text),
            None => Err(format!("{}: there is no {}", mutation.name, mutation.file)),
        };
        let line = list.text.lines().position(|line| line.contains(&format!("\"{}\"", mutation.name)));
        Some(Finding::new(&list.path, line.unwrap_or(0) + 1, "mutations", applied.err()?))
    });
    wrong.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "[[mutation]]\nname = \"late\"\nfile = \"a.rs\"\nfind = '<='\nreplace = '<'\n";

    #[test]
    fn a_text_that_is_not_there_once_is_found() {
        let check = |text| check(&Tree::of(&[("x/mutations.toml", LIST), ("x/a.rs", text)]));
        assert_eq!(check("a <= b"), []);
        assert_eq!(check("a <= b <= c").len(), 1);
        assert_eq!(check("a < b")[0].line, 2);
    }

    #[test]
    fn a_list_of_files_that_are_not_there_is_found() {
        assert_eq!(check(&Tree::of(&[("x/mutations.toml", LIST)])).len(), 1);
        assert_eq!(check(&Tree::of(&[("x/mutations.toml", "a = 1")])).len(), 1);
    }
}
