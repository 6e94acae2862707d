//! The input: text files that a Debian machine has, one after another, cut into chunks of one size.
//!
//! Invariants: the same files give the same chunks in the same order; a chunk is its number, four bytes big-endian,
//! and [`CHUNK_SIZE`] bytes of text.

use std::fs;
use std::path::{Path, PathBuf};

/// Bytes of text in a chunk: large enough that its work takes milliseconds and sending it microseconds.
pub const CHUNK_SIZE: usize = 64 * 1024;

/// Where a Debian machine with a C compiler and Python has text.
const FOLDERS: &[&str] = &[
    "/usr/share/common-licenses",
    "/usr/share/doc",
    "/usr/include",
    "/usr/share/perl",
    "/usr/share/perl5",
    "/usr/lib/python3",
    "/usr/lib/python3.11",
    "/usr/lib/python3.13",
];
/// Larger files are tables rather than text.
const FILE_SIZE_MAX: u64 = 1 << 20;
/// Folders inside folders, so that no loop of mounts is followed for ever.
const DEPTH_MAX: u32 = 32;

/// Reads text files until there are `size_max` bytes of them or no more files. What cannot be read is passed over.
pub fn read_chunks(size_max: usize) -> Vec<Vec<u8>> {
    let mut text = Vec::with_capacity(size_max);
    for folder in FOLDERS {
        append_folder(Path::new(folder), DEPTH_MAX, size_max, &mut text);
    }
    text.truncate(size_max);
    text.chunks_exact(CHUNK_SIZE)
        .zip(0u32..)
        .map(|(part, number)| [&number.to_be_bytes(), part].concat())
        .collect()
}

fn append_folder(folder: &Path, depth: u32, size_max: usize, text: &mut Vec<u8>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
        if text.len() >= size_max {
            return;
        } else if metadata.is_dir() && depth > 0 {
            append_folder(&path, depth - 1, size_max, text);
        } else if metadata.is_file() && metadata.len() <= FILE_SIZE_MAX {
            text.extend(fs::read(&path).ok().filter(|bytes| is_text(bytes)).unwrap_or_default());
        }
    }
}

fn is_text(bytes: &[u8]) -> bool {
    !bytes.contains(&0) && std::str::from_utf8(bytes).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_told_from_other_files() {
        assert!(is_text("Grüße\n".as_bytes()));
        assert!(!is_text(b"\x1f\x8b\x08"));
        assert!(!is_text(b"ELF\0"));
    }

    #[test]
    fn chunks_are_numbered_and_all_of_one_size() {
        let chunks = read_chunks(3 * CHUNK_SIZE + 1);
        assert_eq!(chunks.len(), 3);
        for (chunk, number) in chunks.iter().zip(0u32..) {
            assert_eq!((chunk.len(), &chunk[..4]), (4 + CHUNK_SIZE, &number.to_be_bytes()[..]));
        }
        assert_eq!(chunks, read_chunks(3 * CHUNK_SIZE + 1));
    }
}
