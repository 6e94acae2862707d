//! Listing: the names in the directory.

use std::time::Instant;

use hairstreak_services::names::client::{AskError, Client, because};
use hairstreak_socket::ResolveError;
use hairstreak_wire::directory::{Reply, Request};
use thiserror::Error;

use super::component::Component;

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
    /// The directory's host is unknown.
    #[error("the directory at {directory} cannot be reached: {trouble}")]
    Unreachable {
        /// The directory.
        directory: String,
        /// The error of the resolver.
        trouble: ResolveError,
    },
    /// The directory did not answer in time.
    #[error("no answer from the directory at {directory}{}", because(trouble))]
    NoAnswer {
        /// The directory.
        directory: String,
        /// The resolver's error, if the directory's host could not be resolved.
        trouble: Option<ResolveError>,
    },
    /// The directory refused to answer.
    #[error("the directory at {directory} refuses: {text}")]
    Refused {
        /// The directory.
        directory: String,
        /// The answer.
        text: String,
    },
    /// A fork: the connection to the directory belongs to the parent process, which built the component.
    #[error(
        "the connection to the directory at {directory} belongs to the process that this one was forked from"
    )]
    Forked {
        /// The directory.
        directory: String,
    },
}

impl From<AskError> for ListError {
    fn from(error: AskError) -> ListError {
        match error {
            AskError::NoAnswer { directory, trouble } => ListError::NoAnswer { directory, trouble },
            AskError::Unreachable { directory, trouble } => ListError::Unreachable { directory, trouble },
            AskError::Refused { directory, text } => ListError::Refused { directory, text },
            AskError::Forked { directory } => ListError::Forked { directory },
        }
    }
}

impl Component {
    /// Returns the names in the directory that begin with `prefix`, in the order of their bytes. A user sees the names
    /// for which the user has any permission.
    ///
    /// # Errors
    ///
    /// There is no directory, it does not answer within the component's patience, or it refuses.
    pub fn list(&self, prefix: &str) -> Result<Vec<DirectoryEntry>, ListError> {
        let client = self.inner.directory.as_ref().ok_or(ListError::NoDirectory)?;
        let deadline = Instant::now() + self.inner.patience;
        let mut entries: Vec<DirectoryEntry> = Vec::new();
        loop {
            let after = entries.last().map(|entry| entry.name.clone()).unwrap_or_default();
            let more = add_page(client, prefix, after, deadline, &mut entries)?;
            if !more {
                return Ok(entries);
            }
        }
    }
}

/// Adds the page behind the name `after`. Returns whether another page follows.
fn add_page(
    client: &Client,
    prefix: &str,
    after: String,
    deadline: Instant,
    entries: &mut Vec<DirectoryEntry>,
) -> Result<bool, ListError> {
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
        other => Err(AskError::refused(client, other).into()),
    }
}
