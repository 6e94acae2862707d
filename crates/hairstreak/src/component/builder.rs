//! `ComponentBuilder`: describes a component.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hairstreak_services::Credentials;
use hairstreak_services::names::client::{BuildError, Client, OnDelay, host_port};
use hairstreak_socket::{Context, ResolveError};

use super::component::{Component, Inner};

/// The port of the directory unless another is given.
const DIRECTORY_PORT: &str = "5682";
/// Nobody waits longer than a year, and later than that there may be no [`std::time::Instant`].
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
    /// Uses the directory at `host[:port]` (port 5682 unless given) or at an endpoint. Without one,
    /// only names of this process exist.
    pub fn directory(mut self, host: &str) -> ComponentBuilder {
        self.directory = Some(host_port::endpoint(host, DIRECTORY_PORT));
        self
    }

    /// Shows the directory these, such as [`Credentials::from_environment`]. Without any the directory has to be on this host,
    /// unless it lets in everybody.
    pub fn credentials(mut self, credentials: Credentials) -> ComponentBuilder {
        self.credentials = credentials;
        self
    }

    /// How long opening and binding wait for the directory, and for a name to appear. 30 s unless
    /// given.
    pub fn patience(mut self, patience: Duration) -> ComponentBuilder {
        self.patience = patience.min(LONGEST);
        self
    }

    /// Called with the reason when opening or binding has to wait longer because the directory's host cannot be
    /// resolved just now; once for each reason, in the thread that waits. A host that is unknown is not waited for.
    pub fn on_delay(mut self, tell: impl Fn(&ResolveError) + Send + Sync + 'static) -> ComponentBuilder {
        self.on_delay = Arc::new(tell);
        self
    }

    /// Makes the component. Does not wait for the directory.
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
