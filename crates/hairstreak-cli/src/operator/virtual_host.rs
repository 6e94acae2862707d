//! `VirtualHostArguments`: the virtual host that a list is limited to, or in which something is changed.

use clap::Args;
use hairstreak_amqp::escape;

/// The default virtual host of changes.
const DEFAULT: &str = "/";

/// The virtual host.
#[derive(Debug, Args)]
pub struct VirtualHostArguments {
    /// The virtual host. [default: all of them for a list, / for a change]
    #[arg(long, value_name = "NAME", global = true)]
    vhost: Option<String>,
}

impl VirtualHostArguments {
    /// The one that a list is limited to.
    pub fn of_list(&self) -> Option<&str> {
        self.vhost.as_deref()
    }

    /// The one in which something is changed.
    pub fn of_change(&self) -> &str {
        self.vhost.as_deref().unwrap_or(DEFAULT)
    }

    /// The path of a list such as `queues`, or of the part of it in the virtual host.
    pub fn list_path(&self, list: &str) -> String {
        self.vhost.as_ref().map_or_else(|| list.to_owned(), |vhost| format!("{list}/{}", escape(vhost)))
    }

    /// Returns the path of a list that is found below the virtual host, such as `vhosts/%2F/connections`.
    pub fn list_path_below(&self, list: &str) -> String {
        self.vhost
            .as_ref()
            .map_or_else(|| list.to_owned(), |vhost| format!("vhosts/{}/{list}", escape(vhost)))
    }

    /// The path of an object in the virtual host of changes.
    pub fn object_path(&self, list: &str, name: &str) -> String {
        format!("{list}/{}/{}", escape(self.of_change()), escape(name))
    }
}
