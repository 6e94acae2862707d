//! `NodeFile`: the file that makes a directory a data directory. Its text:
//!
//! ```text
//! hairstreak data directory
//! version 2
//! node rabbit@host
//! id 9f86d081884c7d659a2feaa0c55ad015
//! holds definitions
//! holds messages
//! ```
//!
//! An operator may edit the line `node`: the directory then belongs to the node of that name.
//!
//! Each line `holds` names a store in the directory. If the line exists and the store does not, data was lost. A
//! program rejects a directory that holds an unknown store. Files of version 1 have no such lines; they are read, and
//! rewritten when the first store is created.

use super::node_id::NodeId;

/// Name of the file in the data directory.
pub(super) const FILE_NAME: &str = "node";
/// Version of the whole directory.
pub(super) const FORMAT_VERSION: u32 = 2;
/// The version without lines `holds`. Such a file becomes version 2 when the definitions are opened.
const VERSION_WITHOUT_STORES: u32 = 1;
/// Name of the store of definitions in a line `holds`.
const DEFINITIONS: &str = "definitions";
/// Name of the message log in a line `holds`.
const MESSAGES: &str = "messages";
/// Longest name of a node, in bytes.
const NODE_NAME_SIZE_MAX: usize = 255;
/// Longest node file, in bytes.
pub(super) const NODE_FILE_SIZE_MAX: u64 = 4096;

const TITLE: &str = "hairstreak data directory";

/// Contents of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NodeFile {
    pub name: String,
    pub id: NodeId,
    /// True once the file of definitions was created.
    pub has_definitions: bool,
    /// True once the message log was created.
    pub has_messages: bool,
}

/// The text is not a node file of this version.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NodeFileError {
    Version(u32),
    /// The directory holds a store that this program does not know.
    Store(String),
    Damaged(String),
}

impl NodeFile {
    pub fn to_text(&self) -> String {
        let stores = [(self.has_definitions, DEFINITIONS), (self.has_messages, MESSAGES)];
        let stores = stores.into_iter().filter(|(is_there, _)| *is_there);
        let holds: String = stores.map(|(_, store)| format!("holds {store}\n")).collect();
        format!("{TITLE}\nversion {FORMAT_VERSION}\nnode {}\nid {}\n{holds}", self.name, self.id)
    }

    pub fn parse(bytes: &[u8]) -> Result<NodeFile, NodeFileError> {
        let damaged = |reason: &str| NodeFileError::Damaged(reason.to_owned());
        let text = str::from_utf8(bytes).map_err(|_| damaged("it is not a text in UTF-8"))?;
        let mut lines = text.lines();
        if lines.next() != Some(TITLE) {
            return Err(NodeFileError::Damaged(format!("its first line is not `{TITLE}`")));
        }
        let version = lines.next().and_then(|line| line.strip_prefix("version "));
        let version: u32 = version
            .and_then(|version| version.trim().parse().ok())
            .ok_or_else(|| damaged("its second line is not `version` and a number"))?;
        if ![VERSION_WITHOUT_STORES, FORMAT_VERSION].contains(&version) {
            return Err(NodeFileError::Version(version));
        }
        let name = lines.next().and_then(|line| line.strip_prefix("node "));
        let name = name.ok_or_else(|| damaged("its third line is not `node` and a name"))?.trim_end();
        check_name(name).map_err(|reason| NodeFileError::Damaged(format!("the node's name: {reason}")))?;
        let id = lines.next().and_then(|line| line.strip_prefix("id "));
        let id = id.and_then(|id| NodeId::parse(id.trim()));
        let id = id.ok_or_else(|| damaged("its fourth line is not `id` and 32 hexadecimal digits"))?;
        let (mut has_definitions, mut has_messages) = (false, false);
        for line in lines.filter(|line| version == FORMAT_VERSION && !line.trim().is_empty()) {
            match line.strip_prefix("holds ").map(str::trim) {
                Some(DEFINITIONS) => has_definitions = true,
                Some(MESSAGES) => has_messages = true,
                Some(store) => return Err(NodeFileError::Store(store.escape_debug().to_string())),
                None => return Err(damaged("a line behind the fourth is not `holds` and a store")),
            }
        }
        Ok(NodeFile { name: name.to_owned(), id, has_definitions, has_messages })
    }
}

/// Checks a node's name. The error gives the reason.
pub(super) fn check_name(name: &str) -> Result<(), &'static str> {
    if name.is_empty() {
        return Err("it is empty");
    }
    if name.len() > NODE_NAME_SIZE_MAX {
        return Err("it is longer than 255 bytes");
    }
    if name.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err("it has a space or a control character");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> NodeFile {
        let id = NodeId::random().unwrap();
        NodeFile { name: "rabbit@host".into(), id, has_definitions: true, has_messages: true }
    }

    #[test]
    fn a_file_is_read_as_it_is_written_and_as_an_editor_leaves_it() {
        let file = file();
        let text = file.to_text();
        assert_eq!(NodeFile::parse(text.as_bytes()), Ok(file.clone()));
        assert_eq!(
            NodeFile::parse(text.replace('\n', " \r\n").replacen(" \r", "\r", 1).as_bytes()),
            Ok(file)
        );
    }

    #[test]
    fn another_version_is_named() {
        let text = file().to_text().replace("version 2", "version 3");
        assert_eq!(NodeFile::parse(text.as_bytes()), Err(NodeFileError::Version(3)));
        // A later version may have any text below that line.
        assert_eq!(
            NodeFile::parse(b"hairstreak data directory\nversion 7\n\xc3\xa9"),
            Err(NodeFileError::Version(7))
        );
    }

    #[test]
    fn a_file_of_version_1_holds_no_store_that_is_known() {
        let file = NodeFile { has_definitions: false, has_messages: false, ..file() };
        let text = file.to_text().replace("version 2", "version 1");
        assert!(!NodeFile::parse(text.as_bytes()).unwrap().has_definitions);
    }

    #[test]
    fn a_store_of_a_later_program_is_named() {
        let text = file().to_text() + "holds streams\n";
        assert_eq!(NodeFile::parse(text.as_bytes()), Err(NodeFileError::Store("streams".into())));
        let text = file().to_text() + "definitions\n";
        assert!(matches!(NodeFile::parse(text.as_bytes()), Err(NodeFileError::Damaged(_))));
    }

    #[test]
    fn every_shortened_file_is_damaged() {
        let text = NodeFile { has_definitions: false, has_messages: false, ..file() }.to_text();
        for size in 0..text.len() - 1 {
            let error = NodeFile::parse(&text.as_bytes()[..size]).unwrap_err();
            assert!(matches!(error, NodeFileError::Damaged(_)), "{size}: {error:?}");
        }
    }

    #[test]
    fn a_name_has_a_character_and_no_spaces() {
        assert_eq!(check_name("rabbit@h\u{f6}st"), Ok(()));
        assert_eq!(check_name(&"a".repeat(255)), Ok(()));
        for name in ["", "a b", "a\nb", "a\0", &"a".repeat(256)] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}
