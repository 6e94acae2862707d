//! `print_list`: a list of the API as a table with a line below it, or as JSON with an object on each line.

use std::thread;

use hairstreak_amqp::escape;
use serde_json::Value;

use super::arguments::{Filter, ListArguments};
use super::cell::{cell, is_numeric};
use super::column::{Column, Form, picked, value_at};
use super::pages::for_each_page;
use super::table::Table;
use crate::failure::Failure;
use crate::line::one_line;
use crate::numbers::grouped;
use crate::operator::client::Client;
use crate::output::announce;

/// A field to add up, then the names of one and of many of the counted things.
pub type Sum = (&'static str, &'static str, &'static str);

/// A kind of objects that the API lists.
pub struct Kind {
    /// The objects' name, one and many.
    pub noun: (&'static str, &'static str),
    /// The API's name of the list.
    pub list: &'static str,
    /// The list of one virtual host has a path such as `vhosts/%2F/connections`, and not `connections/%2F`.
    pub is_below_vhost: bool,
    /// The API gives the list in pages.
    pub is_paged: bool,
    /// The API itself compares names with a regular expression. It does so for some lists that come in pages.
    pub is_filtered_there: bool,
    /// Fields that `--filter` is compared with.
    pub names: &'static [&'static str],
    pub columns: &'static [Column],
    /// The sums below the table.
    pub sums: &'static [Sum],
    /// The field with the name of an exchange. The default exchange has an empty name, and people see another one.
    pub default_exchange: Option<&'static str>,
}

impl Kind {
    /// A kind whose list comes as a whole, under the name of the objects.
    pub const fn new(
        noun: (&'static str, &'static str),
        names: &'static [&'static str],
        columns: &'static [Column],
    ) -> Kind {
        Kind {
            noun,
            list: noun.1,
            is_below_vhost: false,
            is_paged: false,
            is_filtered_there: false,
            names,
            columns,
            sums: &[],
            default_exchange: None,
        }
    }
}

/// The objects of a kind, in one virtual host or in all.
pub struct Listing<'a> {
    pub kind: &'static Kind,
    /// The virtual host that the list is limited to.
    pub vhost: Option<&'a str>,
    /// Changes an object before it is shown.
    pub amend: Option<&'a dyn Fn(&mut Value)>,
}

/// Prints a list, once or again and again.
pub fn print_list(
    client: &Client,
    arguments: &ListArguments,
    is_json: bool,
    listing: &Listing<'_>,
) -> Result<(), Failure> {
    let mut is_first = true;
    loop {
        if !is_first && !is_json {
            print("\n")?;
        }
        let done = List::new(arguments, is_json, listing).print(client);
        match (done, arguments.every) {
            // The reader has enough.
            (Err(failure), _) if failure.is_quiet() => return Ok(()),
            (Ok(()), Some(interval)) => thread::sleep(interval),
            (done, _) => return done,
        }
        is_first = false;
    }
}

/// Writes a part. A reader that has gone is a quiet failure, which ends a list of many parts.
fn print(text: &str) -> Result<(), Failure> {
    announce(text)
}

/// One list while it is printed.
struct List<'a> {
    listing: &'a Listing<'a>,
    arguments: &'a ListArguments,
    is_json: bool,
    columns: Vec<(String, Form)>,
    table: Table,
    count: u64,
    sums: Vec<Option<u64>>,
}

impl<'a> List<'a> {
    fn new(arguments: &'a ListArguments, is_json: bool, listing: &'a Listing<'a>) -> List<'a> {
        let known = |path: &str| listing.kind.columns.iter().find(|column| column.path == path);
        // A column with the same value in each row is useless.
        let is_shown = |column: &&Column| listing.vhost.is_none() || column.title != "vhost";
        let (columns, titles) = match arguments.columns.as_slice() {
            [] => {
                let shown = listing.kind.columns.iter().filter(is_shown);
                shown.map(|column| ((column.path.to_owned(), column.form), column.title.to_owned())).unzip()
            }
            paths => {
                let form = |path: &String| known(path).map_or(Form::Any, |column| column.form);
                paths.iter().map(|path| ((path.clone(), form(path)), path.clone())).unzip()
            }
        };
        let (table, sums) = (Table::new(titles), vec![None; listing.kind.sums.len()]);
        List { listing, arguments, is_json, columns, table, count: 0, sums }
    }

    fn print(mut self, client: &Client) -> Result<(), Failure> {
        let listing = self.listing;
        let missing = || match listing.vhost {
            Some(vhost) => format!("virtual host '{vhost}' for user '{}'", client.user()),
            None => format!("list of {} at {}", listing.kind.noun.1, client.url()),
        };
        let query = self.query();
        for_each_page(client, &query, listing.kind.is_paged, missing, &mut |objects| self.take(objects))?;
        if self.is_json { Ok(()) } else { print(&format!("{}\n", one_line(&self.end()))) }
    }

    /// The path with the work left to the API: it sorts, leaves fields out, and compares names.
    fn query(&self) -> String {
        let Kind { list, names, sums, .. } = self.listing.kind;
        let mut query = match self.listing.vhost.map(escape) {
            None => format!("{list}?"),
            Some(vhost) if self.listing.kind.is_below_vhost => format!("vhosts/{vhost}/{list}?"),
            Some(vhost) => format!("{list}/{vhost}?"),
        };
        let mut push = |option: String| query.push_str(&option);
        if !self.arguments.columns.is_empty() || !self.is_json {
            let wanted = self.columns.iter().map(|(path, _)| path.as_str());
            let mut fields: Vec<&str> = wanted.collect();
            if self.arguments.columns.is_empty() {
                fields.extend(sums.iter().map(|(path, ..)| *path));
            }
            if self.arguments.filter.is_some() {
                fields.extend(names.iter());
            }
            fields.sort_unstable();
            fields.dedup();
            push(format!(
                "columns={}",
                fields.iter().map(|field| escape_field(field)).collect::<Vec<_>>().join(",")
            ));
        }
        if let Some(column) = &self.arguments.sort {
            push(format!("&sort={}&sort_reverse={}", escape_field(column), self.arguments.reverse));
        }
        if let Some(filter) = self.there() {
            push(format!("&use_regex=true&name={}", escape(&filter.text)));
        }
        query
    }

    /// The filter that the API applies.
    fn there(&self) -> Option<&'a Filter> {
        self.arguments.filter.as_ref().filter(|_| self.listing.kind.is_filtered_there)
    }

    fn take(&mut self, objects: Vec<Value>) -> Result<(), Failure> {
        let is_first = self.count == 0;
        let mut text = String::new();
        let mut rows = Vec::new();
        for mut object in objects {
            if !self.matches(&object)? {
                continue;
            }
            if let Some(amend) = self.listing.amend {
                amend(&mut object);
            }
            if let Some(field) = self.listing.kind.default_exchange.filter(|_| !self.is_json)
                && let Some(name) = object.get_mut(field).filter(|name| name.as_str() == Some(""))
            {
                *name = "(default)".into();
            }
            self.count += 1;
            for (sum, (path, ..)) in self.sums.iter_mut().zip(self.listing.kind.sums) {
                let value = value_at(&object, path).and_then(Value::as_u64);
                *sum = value.map_or(*sum, |value| Some(sum.unwrap_or(0).saturating_add(value)));
            }
            match (self.is_json, self.arguments.columns.as_slice()) {
                (true, []) => text.push_str(&format!("{object}\n")),
                (true, paths) => text.push_str(&format!("{}\n", picked(&object, paths))),
                (false, _) => rows.push(object),
            }
        }
        if !rows.is_empty() {
            text = self.lines(&rows, is_first);
        }
        if text.is_empty() { Ok(()) } else { print(&text) }
    }

    fn matches(&self, object: &Value) -> Result<bool, Failure> {
        let Some(filter) = self.arguments.filter.as_ref().filter(|_| self.there().is_none()) else {
            return Ok(true);
        };
        for name in self.listing.kind.names {
            if let Some(Value::String(text)) = value_at(object, name)
                && filter.matches(text)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn lines(&mut self, objects: &[Value], is_first: bool) -> String {
        let is_numeric = |path: &str| objects.iter().any(|object| is_numeric(value_at(object, path)));
        for (index, (path, form)) in self.columns.iter().enumerate() {
            if is_first && (is_numeric(path) || matches!(form, Form::Bytes | Form::PerSecond)) {
                self.table.align_right(index);
            }
        }
        let row = |object: &Value| {
            self.columns.iter().map(|(path, form)| cell(value_at(object, path), *form)).collect()
        };
        let rows: Vec<Vec<String>> = objects.iter().map(row).collect();
        self.table.lines(&rows)
    }

    /// The line below the table.
    fn end(&self) -> String {
        let (one, many) = self.listing.kind.noun;
        let noun = if self.count == 1 { one } else { many };
        let count = if self.count == 0 { "no".to_owned() } else { grouped(self.count) };
        let place = self.listing.vhost.map(|vhost| format!(" in virtual host '{vhost}'")).unwrap_or_default();
        let filter = self.arguments.filter.as_ref();
        let filter = filter.map(|filter| format!(" matching '{}'", filter.text)).unwrap_or_default();
        let named = |(sum, &(_, one, many)): (&Option<u64>, &Sum)| {
            let noun = if *sum == Some(1) { one } else { many };
            sum.map(|sum| format!("{} {noun}", grouped(sum)))
        };
        let sums: Vec<String> = self.sums.iter().zip(self.listing.kind.sums).filter_map(named).collect();
        let sums = if sums.is_empty() { String::new() } else { format!(": {}", sums.join(", ")) };
        format!("{count} {noun}{place}{filter}{sums}")
    }
}

/// A path of a field in a query: points lead on.
fn escape_field(path: &str) -> String {
    path.split('.').map(escape).collect::<Vec<_>>().join(".")
}
