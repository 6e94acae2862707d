//! `ListCommand`: the arguments of a command that lists objects, and does something else with them if it gets an action.

use clap::{Args, Subcommand};
use hairstreak_amqp::escape;
use serde_json::Value;

use super::arguments::ListArguments;
use super::print::{Kind, Listing, print_list};
use crate::failure::Failure;
use crate::operator::client::Client;
use crate::operator::target::TargetArguments;

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
    /// The one in which something is changed.
    pub fn of_change(&self) -> &str {
        self.vhost.as_deref().unwrap_or(DEFAULT)
    }

    /// The path of an object in the virtual host of changes.
    pub fn object_path(&self, list: &str, name: &str) -> String {
        format!("{list}/{}/{}", escape(self.of_change()), escape(name))
    }
}

/// The part of a command's arguments that says in which virtual host the objects are.
pub trait Scope: Args {
    /// The virtual host that a list is limited to.
    fn of_list(&self) -> Option<&str>;
}

impl Scope for () {
    fn of_list(&self) -> Option<&str> {
        None
    }
}

impl Scope for VirtualHostArguments {
    fn of_list(&self) -> Option<&str> {
        self.vhost.as_deref()
    }
}

/// A command that lists, with its actions.
#[derive(Debug, Args)]
pub struct ListCommand<S: Scope, A: Subcommand> {
    #[command(subcommand)]
    action: Option<A>,
    #[command(flatten)]
    list: ListArguments,
    #[command(flatten)]
    pub scope: S,
    #[command(flatten)]
    pub target: TargetArguments,
}

impl<S: Scope, A: Subcommand> ListCommand<S, A> {
    /// The action, if one is given. Fails if options of the list stand before the action.
    pub fn action(&self) -> Result<Option<&A>, Failure> {
        self.list.before(self.action.is_some())?;
        Ok(self.action.as_ref())
    }

    /// Prints the list. `behind`: the options behind the word `list`, if the word is given.
    pub fn print(&self, behind: Option<&ListArguments>, kind: &'static Kind) -> Result<(), Failure> {
        self.print_with(&self.target.open()?, behind, kind, None)
    }

    /// As [`ListCommand::print`], by this client. `amend` changes an object before it is shown.
    pub fn print_with(
        &self,
        client: &Client,
        behind: Option<&ListArguments>,
        kind: &'static Kind,
        amend: Option<&dyn Fn(&mut Value)>,
    ) -> Result<(), Failure> {
        let listing = Listing { kind, vhost: self.scope.of_list(), amend };
        print_list(client, behind.unwrap_or(&self.list), self.target.json, &listing)
    }
}
