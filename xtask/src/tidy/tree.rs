//! `Tree`: the text files of a checkout, as git knows them (tracked, or new and not ignored).

use std::fmt;
use std::path::Path;
use std::process::Command;

/// The text files of a checkout.
pub(crate) struct Tree {
    pub(crate) files: Vec<File>,
}

/// One text file.
pub(crate) struct File {
    /// Relative to the checkout, with `/` between its parts.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// Why a checkout cannot be read.
#[derive(Debug)]
pub enum ReadError {
    /// git could not be started.
    GitMissing(std::io::Error),
    /// git refused to list the files; its own words.
    GitFailed(String),
    /// A listed file cannot be read.
    File(String, std::io::Error),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::GitMissing(error) => write!(f, "git cannot be run: {error}"),
            ReadError::GitFailed(words) => write!(f, "git ls-files: {}", words.trim()),
            ReadError::File(path, error) => write!(f, "{path}: {error}"),
        }
    }
}

impl std::error::Error for ReadError {}

impl Tree {
    /// Reads the checkout at `root`. Files that are not UTF-8 are left out: no rule reads them.
    pub(crate) fn read(root: &Path) -> Result<Tree, ReadError> {
        let listing = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(root)
            .output()
            .map_err(ReadError::GitMissing)?;
        if !listing.status.success() {
            return Err(ReadError::GitFailed(String::from_utf8_lossy(&listing.stderr).into_owned()));
        }
        let paths = String::from_utf8_lossy(&listing.stdout);
        let mut files = Vec::new();
        for path in paths.split_terminator('\0') {
            match std::fs::read(root.join(path)) {
                Ok(bytes) => {
                    if let Ok(text) = String::from_utf8(bytes) {
                        files.push(File { path: path.to_owned(), text });
                    }
                }
                // Listed by git, but deleted in the working tree, or a link to a directory.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) if error.kind() == std::io::ErrorKind::IsADirectory => {}
                Err(error) => return Err(ReadError::File(path.to_owned(), error)),
            }
        }
        Ok(Tree { files })
    }

    /// The files whose names end in `suffix`.
    pub(crate) fn ending_in(&self, suffix: &str) -> impl Iterator<Item = &File> {
        self.files.iter().filter(move |file| file.path.ends_with(suffix))
    }

    /// The text of the file at `path`.
    pub(crate) fn text_of(&self, path: &str) -> Option<&str> {
        self.files.iter().find(|file| file.path == path).map(|file| file.text.as_str())
    }

    /// Whether line `line` (counted from 1) of `path` or the line above it exempts the line from `rule`, with
    /// a reason.
    pub(crate) fn permits(&self, path: &str, line: usize, rule: &str) -> bool {
        let Some(text) = self.text_of(path) else { return false };
        let permit = format!("tidy: allow({rule})");
        text.lines()
            .skip(line.saturating_sub(2))
            .take(2)
            .filter_map(|line| line.split_once(&permit))
            .any(|(_, reason)| reason.trim().len() >= 3)
    }

    /// A tree of the given `(path, text)` files.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Tree {
        let file = |&(path, text): &(&str, &str)| File { path: path.to_owned(), text: text.to_owned() };
        Tree { files: files.iter().map(file).collect() }
    }
}

impl File {
    /// The last part of the path.
    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// Whether the whole file is test code: a `tests` folder or file, a bench, a fuzz target, another client, the test kit.
    pub(crate) fn is_test(&self) -> bool {
        self.path.starts_with("crates/hairstreak-testkit/")
            || self.name().ends_with("tests.rs")
            || self.path.split('/').any(|part| matches!(part, "tests" | "benches" | "fuzz" | "interop"))
    }

    /// The crate folder (`crates/NAME`, `examples/NAME`, `xtask`) that the file belongs to.
    pub(crate) fn crate_name(&self) -> &str {
        let mut parts = self.path.split('/');
        match (parts.next(), parts.next()) {
            (Some("crates" | "examples"), Some(name)) => name,
            (first, _) => first.unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_files_are_told_from_their_paths() {
        let tree = Tree::of(&[
            ("crates/a/tests/interop.rs", ""),
            ("crates/a/src/engine/loom_tests.rs", ""),
            ("crates/a/fuzz/fuzz_targets/decoder.rs", ""),
            ("crates/a/src/engine/turn.rs", ""),
            ("crates/a/src/contests.txt", ""),
        ]);
        assert_eq!(
            tree.files.iter().map(File::is_test).collect::<Vec<_>>(),
            [true, true, true, false, false]
        );
        assert_eq!(tree.files[0].crate_name(), "a");
    }
}
