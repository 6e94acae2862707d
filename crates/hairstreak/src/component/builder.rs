//! `ComponentBuilder`: describes a component.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hairstreak_services::Credentials;
use hairstreak_services::names::client::{BuildError, Client, OnDelay, host_port};
use hairstreak_socket::{Context, ResolveError};

use super::component::{Component, Inner};

/// The default port of the directory.
const DIRECTORY_PORT: &str = "5682";
/// The longest patience, a year. A later [`std::time::Instant`] may not exist.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

/// Describes a component.
#[derive(Clone)]
pub struct ComponentBuilder {
    directory: Option<String>,
    patience: Duration,
    on_delay: OnDelay,
    credentials: Credentials,
}

impl Default for ComponentBuilder {
    fn default() -> ComponentBuilder {
        ComponentBuilder {
            directory: None,
            patience: Duration::from_secs(30),
            on_delay: Arc::new(|_| {}),
            credentials: Credentials::default(),
        }
    }
}

impl fmt::Debug for ComponentBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ComponentBuilder")
            .field("directory", &self.directory)
            .field("patience", &self.patience)
            .finish_non_exhaustive()
    }
}

impl ComponentBuilder {
    /// Uses the directory at `host[:port]` (port 5682 by default) or at an endpoint. Without a directory, only names of
    /// this process exist.
    pub fn directory(mut self, host: &str) -> ComponentBuilder {
        self.directory = Some(host_port::endpoint(host, DIRECTORY_PORT));
        self
    }

    /// Sets the credentials for the directory, such as [`Credentials::from_environment`]. Without credentials the
    /// directory has to be on this host, or has to admit everybody.
    pub fn credentials(mut self, credentials: Credentials) -> ComponentBuilder {
        self.credentials = credentials;
        self
    }

    /// Sets the longest wait of opening and binding for the directory, and for a name to appear. 30 s by default.
    pub fn patience(mut self, patience: Duration) -> ComponentBuilder {
        self.patience = patience.min(LONGEST);
        self
    }

    /// Sets the function that is called when opening or binding waits longer because the directory's host cannot be
    /// resolved at the moment. It gets the reason, once for each reason, in the thread that waits. An unknown host is
    /// not waited for.
    pub fn on_delay(mut self, tell: impl Fn(&ResolveError) + Send + Sync + 'static) -> ComponentBuilder {
        self.on_delay = Arc::new(tell);
        self
    }

    /// Builds the component. Does not wait for the directory.
    pub fn build(self) -> Result<Component, BuildError> {
        static LAST_ID: AtomicU64 = AtomicU64::new(0);
        let directory = match self.directory {
            Some(endpoint) => Some(Client::start(endpoint, &self.credentials, self.on_delay)?),
            None => None,
        };
        let inner = Inner {
            id: LAST_ID.fetch_add(1, Ordering::Relaxed) + 1,
            context: Context::new(),
            directory,
            patience: self.patience,
        };
        Ok(Component { inner: Arc::new(inner) })
    }
}
