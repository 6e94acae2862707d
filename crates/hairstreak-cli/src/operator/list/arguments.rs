//! `ListArguments`: the selection, the order and the columns of a list.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use hairstreak_broker::pattern::Pattern;

use crate::failure::Failure;
use crate::numbers::bounded;

/// The longest time between two lists.
const INTERVAL_MAX: Duration = Duration::from_secs(24 * 3600);

/// A list.
#[derive(Debug, Args)]
pub struct ListArguments {
    /// Show these columns: fields as the API names them, such as name,messages,message_stats.publish_details.rate.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = column)]
    pub columns: Vec<String>,
    /// Sort by this column.
    #[arg(long, value_name = "NAME", value_parser = column)]
    pub sort: Option<String>,
    /// From the largest to the smallest.
    #[arg(long, requires = "sort")]
    pub reverse: bool,
    /// Only those whose name matches this regular expression, anywhere and in any case.
    #[arg(long, value_name = "REGEX")]
    pub filter: Option<Filter>,
    /// List them again every so often, until a signal.
    #[arg(long, value_name = "TIME", value_parser = interval)]
    pub every: Option<Duration>,
}

impl ListArguments {
    /// Refuses options of the list that stand before another action, which would have no use for them.
    pub fn before(&self, has_action: bool) -> Result<(), Failure> {
        let is_given =
            !self.columns.is_empty() || self.sort.is_some() || self.filter.is_some() || self.every.is_some();
        match has_action && is_given {
            true => Err(Failure::usage(
                "--columns, --sort, --filter and --every belong behind the word list, or without an action",
            )),
            false => Ok(()),
        }
    }
}

/// A regular expression that names are matched with.
#[derive(Clone, Debug)]
pub struct Filter {
    pub text: String,
    pattern: Arc<Pattern>,
}

impl FromStr for Filter {
    type Err = String;

    fn from_str(text: &str) -> Result<Filter, String> {
        let pattern = Pattern::compile_caseless(text);
        let pattern = pattern.map_err(|error| format!("it is no regular expression: {}", error.reason))?;
        Ok(Filter { text: text.to_owned(), pattern: Arc::new(pattern) })
    }
}

impl Filter {
    pub fn matches(&self, name: &str) -> Result<bool, Failure> {
        let matched = self.pattern.find(name.as_bytes());
        matched
            .ok_or_else(|| Failure::failed(format!("--filter '{}' on '{name}': too many steps", self.text)))
    }
}

fn column(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("a column has no name".into()),
        name => Ok(name.to_owned()),
    }
}

fn interval(text: &str) -> Result<Duration, String> {
    bounded(text, "a time", INTERVAL_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_anywhere_in_any_case_with_look_ahead() {
        for (filter, name, expected) in [
            ("ord", "Orders", true),
            ("^order", "my orders", false),
            ("^(?!amq\\.)", "amq.gen-1", false),
            ("^(?!amq\\.)", "orders", true),
            ("b.+ck", "B\u{fc}ck", true),
            ("[a-c]\\d", "xB7", true),
        ] {
            assert_eq!(filter.parse::<Filter>().unwrap().matches(name).unwrap(), expected, "{filter}");
        }
        for text in ["(", "(?(1))"] {
            assert!(text.parse::<Filter>().is_err(), "{text}");
        }
    }
}
