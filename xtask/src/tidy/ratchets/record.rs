//! `Record`: the values of the ratchets, measured in the checkout or read from `ratchets.toml`.

use std::collections::BTreeMap;
use std::fmt::Write;

/// The values of the ratchets, by crate.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Record {
    /// The files of each circle, in the order of their names; the largest circle first.
    pub(super) circles: BTreeMap<String, Vec<Vec<String>>>,
    /// The methods of each type with too many.
    pub(super) methods: Sizes,
    /// The fields of each struct with too many.
    pub(super) fields: Sizes,
    pub(super) impls: Sizes,
}

/// A size for each type, by crate.
pub(super) type Sizes = BTreeMap<String, BTreeMap<String, usize>>;

const HEAD: &str = "\
# The ratchets of `xtask tidy`: sizes that are larger than the house wants. They may only go down.
# `cargo run -p xtask -- ratchets` writes this file when something shrank, and refuses when something grew.
# Rename a file or a type here when you rename it there.
";

impl Record {
    /// Reads a record; an error is in the words of the TOML reader.
    pub(super) fn read(text: &str) -> Result<Record, toml::de::Error> {
        let mut table: toml::Table = text.parse()?;
        let mut part = |name| table.remove(name).unwrap_or_else(|| toml::Table::new().into());
        Ok(Record {
            circles: part("circles").try_into()?,
            methods: part("methods").try_into()?,
            fields: part("fields").try_into()?,
            impls: part("impls").try_into()?,
        })
    }

    /// The text of the file.
    pub(super) fn text(&self) -> String {
        let mut text = String::from(HEAD);
        text.push_str(
            "\n# Circles of imports: the files of a crate that import each other, over however many steps.\n",
        );
        text.push_str("[circles]\n");
        for (krate, circles) in &self.circles {
            let _ = writeln!(text, "{krate} = [");
            for circle in circles {
                let _ = writeln!(text, "    [ # {} files", circle.len());
                circle.iter().for_each(|file| text.push_str(&format!("        \"{file}\",\n")));
                text.push_str("    ],\n");
            }
            text.push_str("]\n");
        }
        write_sizes(
            &mut text,
            "methods",
            "Types with more than 40 methods, those of shells that only borrow the type included.",
            &self.methods,
        );
        write_sizes(&mut text, "fields", "Structs with more than 20 fields.", &self.fields);
        let comment = "Inherent impls outside of the file of their type, by type.";
        write_sizes(&mut text, "impls", comment, &self.impls);
        text
    }
}

fn write_sizes(text: &mut String, part: &str, comment: &str, sizes: &Sizes) {
    let _ = write!(text, "\n# {comment}\n");
    for (krate, sizes) in sizes {
        let _ = writeln!(text, "[{part}.{krate}]");
        sizes.iter().for_each(|(name, size)| text.push_str(&format!("{name} = {size}\n")));
    }
}

/// The line, counted from 1, of `name` in the part that begins with the line `head`; 1 if there is none.
pub(super) fn line_of(text: &str, head: &str, name: &str) -> usize {
    let mut lines = text.lines().enumerate().skip_while(|(_, line)| *line != head);
    let begins = |line: &str| line.strip_prefix(name).is_some_and(|rest| rest.starts_with([' ', '=']));
    lines.find(|(_, line)| begins(line)).map_or(1, |(index, _)| index + 1)
}
