//! `Scratch`: a copy of the checkout that is changed at will. A file that is the same is not written again, so that a second
//! run builds next to nothing.

use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::tidy::{ReadError, Tree};

pub(super) struct Scratch {
    tree: Tree,
    /// The root of the copy.
    pub(super) root: PathBuf,
}

impl Scratch {
    /// Copies the text files of the checkout at `from` to `root`, and removes what else is there.
    pub(super) fn copy(from: &Path, root: PathBuf) -> Result<Scratch, String> {
        let tree = Tree::read(from).map_err(|error: ReadError| error.to_string())?;
        let scratch = Scratch { tree, root };
        for file in &scratch.tree.files {
            scratch.write(&file.path, &file.text)?;
        }
        scratch
            .remove_others(&scratch.root)
            .map_err(|error| format!("{}: {error}", scratch.root.display()))?;
        Ok(scratch)
    }

    /// The files of the checkout.
    pub(super) fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Writes a file of the copy.
    pub(super) fn write(&self, path: &str, text: &str) -> Result<(), String> {
        let target = self.root.join(path);
        if fs::read(&target).is_ok_and(|bytes| bytes == text.as_bytes()) {
            return Ok(());
        }
        let folder = target.parent().unwrap_or(&self.root);
        let written = fs::create_dir_all(folder).and_then(|()| fs::write(&target, text));
        written.map_err(|error| format!("{}: {error}", target.display()))
    }

    fn remove_others(&self, folder: &Path) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                self.remove_others(&path)?;
            } else if !self.has(&path) {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }

    fn has(&self, path: &Path) -> bool {
        let path = path.strip_prefix(&self.root).ok().and_then(Path::to_str);
        path.is_some_and(|path| self.tree.text_of(path).is_some())
    }
}
