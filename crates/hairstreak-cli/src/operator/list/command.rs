//! `ListCommand`: the arguments of a command that lists objects of virtual hosts, and does nothing else.

use clap::{Args, Subcommand};

use super::arguments::ListArguments;
use super::print::{Listing, print_list};
use crate::failure::Failure;
use crate::operator::target::TargetArguments;
use crate::operator::virtual_host::VirtualHostArguments;

/// A command that lists.
#[derive(Debug, Args)]
pub struct ListCommand {
    #[command(subcommand)]
    action: Option<ListAction>,
    #[command(flatten)]
    list: ListArguments,
    #[command(flatten)]
    pub vhost: VirtualHostArguments,
    #[command(flatten)]
    target: TargetArguments,
}

#[derive(Debug, Subcommand)]
enum ListAction {
    /// List them, as without an action
    List(ListArguments),
}

impl ListCommand {
    /// Prints the list. Fails if options of the list stand before the word `list`.
    pub fn print(&self, listing: &Listing<'_>) -> Result<(), Failure> {
        self.list.before(self.action.is_some())?;
        let list = self.action.as_ref().map_or(&self.list, |ListAction::List(behind)| behind);
        print_list(&self.target.open()?, list, self.target.json, listing)
    }

    /// The list is for people, not for programs.
    pub fn is_for_people(&self) -> bool {
        !self.target.json
    }
}
