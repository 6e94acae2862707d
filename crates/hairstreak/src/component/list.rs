//! Listing: the names in the directory.

use std::time::Instant;

use hairstreak_services::names::client::{AskError, Client};
use hairstreak_wire::directory::{Reply, Request};
use thiserror::Error;

/// A name in the directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// The name.
    pub name: String,
    /// The endpoint of its holder.
    pub endpoint: String,
}

/// An error of listing names.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ListError {
    /// The component was built without a directory.
    #[error("the component was built without a directory")]
    NoDirectory,
    /// The directory gave no good answer.
    #[error(transparent)]
    Directory(#[from] AskError),
}

/// Adds the page behind the name `after`. Returns whether another page follows.
pub(super) fn add_page(
    client: &Client,
    prefix: &str,
    after: String,
    deadline: Instant,
    entries: &mut Vec<DirectoryEntry>,
) -> Result<bool, AskError> {
    let request = || Some(Request::List { prefix: prefix.to_owned(), after: after.clone() });
    match client.ask_until(deadline, request)? {
        Reply::List { more, entries: page } => {
            // Without this check, a directory that repeats itself would never end.
            let more = more && page.last().is_some_and(|(name, _)| name.as_str() > &*after);
            entries.extend(page.iter().map(|(name, endpoint)| DirectoryEntry {
                name: name.as_str().to_owned(),
                endpoint: endpoint.as_str().to_owned(),
            }));
            Ok(more)
        }
        other => Err(AskError::refused(client, other)),
    }
}
