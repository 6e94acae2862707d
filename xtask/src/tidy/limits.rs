//! Rule `limits`: docs/limits.md lists every limit with the value or default that the source gives it.
//!
//! A limit is a constant `const SOMETHING_MAX: T = VALUE;`, public or not, or a number among the defaults of an
//! `options.rs`. A row of the table is `` | `name` | `value` | what happens there | `file` | ``.

use super::Finding;
use super::code::Code;
use super::tree::{File, Tree};

const TABLE: &str = "docs/limits.md";

/// A limit, as the source has it or as the table does.
#[derive(Debug, PartialEq)]
struct Limit {
    name: String,
    value: String,
    path: String,
}

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let rows = rows(tree.text_of(TABLE).unwrap_or_default());
    let sources: Vec<(usize, Limit)> =
        tree.ending_in(".rs").filter(|file| is_product(file)).flat_map(limits_in).collect();
    let mut findings = Vec::new();
    for (number, limit) in &sources {
        if !rows.iter().any(|(_, row)| row == limit) {
            let advice = format!("list `{}` with `{}` and this file in {TABLE}", limit.name, limit.value);
            findings.push(Finding::new(&limit.path, *number, "limits", advice));
        }
    }
    for (number, row) in &rows {
        if !sources.iter().any(|(_, limit)| limit.name == row.name && limit.path == row.path) {
            let advice = format!("there is no limit `{}` in {}: remove the row", row.name, row.path);
            findings.push(Finding::new(TABLE, *number, "limits", advice));
        }
    }
    findings
}

fn is_product(file: &File) -> bool {
    file.path.starts_with("crates/") && file.crate_name() != "hairstreak-bench" && !file.is_test()
}

/// The limits that a file sets, with their lines counted from 1.
fn limits_in(file: &File) -> Vec<(usize, Limit)> {
    let code = Code::of(&file.text, false);
    code.product_lines()
        .filter_map(|(number, line)| {
            let (name, value) = constant(line.code.trim()).or_else(|| {
                (file.name() == "options.rs").then(|| default_value(line.code.trim())).flatten()
            })?;
            Some((number, Limit { name: name.to_owned(), value: value.to_owned(), path: file.path.clone() }))
        })
        .collect()
}

/// `const NAME_MAX: T = VALUE;`, with or without `pub` or `pub(...)` before it.
fn constant(code: &str) -> Option<(&str, &str)> {
    let (visibility, rest) = code.split_once("const ")?;
    if !visibility.is_empty() && !visibility.starts_with("pub") {
        return None;
    }
    let (name, rest) = rest.split_once(": ")?;
    let value = rest.split_once(" = ")?.1.strip_suffix(';')?;
    name.ends_with("_MAX").then_some((name, value))
}

/// `name: 4096,`
fn default_value(code: &str) -> Option<(&str, &str)> {
    let (name, value) = code.split_once(": ")?;
    let value = value.strip_suffix(',')?;
    value.starts_with(|c: char| c.is_ascii_digit()).then_some((name, value))
}

/// The rows of the table with their lines, counted from 1.
fn rows(table: &str) -> Vec<(usize, Limit)> {
    table.lines().enumerate().filter_map(|(index, line)| Some((index + 1, row(line)?))).collect()
}

fn row(line: &str) -> Option<Limit> {
    let cells: Vec<&str> = line.split('|').map(str::trim).collect();
    let [_, name, value, _, path, _] = cells[..] else { return None };
    Some(Limit { name: unquoted(name)?, value: unquoted(value)?, path: unquoted(path)? })
}

fn unquoted(cell: &str) -> Option<String> {
    Some(cell.strip_prefix('`')?.strip_suffix('`')?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: &str = "crates/a/src/options.rs";
    const SOURCE: &str =
        "pub struct Options {\n    pub count_max: usize,\n}\nOptions { count_max: 8 << 20, id: None }\n";

    fn check_table(table: &str) -> Vec<(String, usize)> {
        let source = SOURCE.replace("{ count", "{\n    count").replace(", id", ",\n    id");
        let files = [
            (OPTIONS, &*source),
            (
                "crates/a/src/b.rs",
                "pub const B_SIZE_MAX: usize = 7;\nconst READS_MAX: u32 = 4;\npub(super) const C_MAX: u8 = 1;\n",
            ),
            (TABLE, table),
        ];
        check(&Tree::of(&files)).into_iter().map(|finding| (finding.path, finding.line)).collect()
    }

    #[test]
    fn a_table_that_says_what_the_source_says_is_well() {
        let table = "| limit | default | then | where |\n|---|---|---|---|\n\
                     | `count_max` | `8 << 20` | wait | `crates/a/src/options.rs` |\n\
                     | `B_SIZE_MAX` | `7` | refuse | `crates/a/src/b.rs` |\n\
                     | `READS_MAX` | `4` | then others | `crates/a/src/b.rs` |\n\
                     | `C_MAX` | `1` | wait | `crates/a/src/b.rs` |\n";
        assert_eq!(check_table(table), []);
    }

    #[test]
    fn limits_missing_changed_or_gone_are_found() {
        let table = "| `count_max` | `9` | wait | `crates/a/src/options.rs` |\n| `D_MAX` | `7` | refuse | `crates/a/src/b.rs` |\n";
        let b = |line| ("crates/a/src/b.rs".to_owned(), line);
        let found = [(OPTIONS.to_owned(), 5), b(1), b(2), b(3), (TABLE.to_owned(), 2)];
        assert_eq!(check_table(table), found);
    }
}
