//! `Table`: the samples of some families, one row for each object. All samples of a family come one after the other, as the format wants them, so that
//! the rows are kept until the last family is written.

use std::collections::VecDeque;

use super::exposition::{Column, Group, push_head, push_sample};
use crate::http::{Chunks, Share};

/// A part of a page that is written piece by piece.
pub(super) trait Block {
    /// Appends samples until the text has `size` bytes or more. Returns whether some are left.
    fn write(&mut self, text: &mut Vec<u8>, size: usize) -> bool;
}

/// Samples of objects of the type `T`.
#[derive(Debug)]
pub(super) struct Table<T: 'static> {
    prefix: &'static str,
    columns: Vec<&'static Column<T>>,
    /// The labels of all rows, one behind the other.
    labels: String,
    /// The ends of the rows' labels.
    label_ends: Vec<usize>,
    /// The values row by row, each row in the order of the columns.
    values: Vec<f64>,
    /// The column and the row of the next sample.
    next: (usize, usize),
}

impl<T> Table<T> {
    pub(super) fn new(prefix: &'static str, groups: impl IntoIterator<Item = &'static Group<T>>) -> Table<T> {
        Table {
            prefix,
            columns: groups.into_iter().flat_map(|group| group.columns).collect(),
            labels: String::new(),
            label_ends: Vec::new(),
            values: Vec::new(),
            next: (0, 0),
        }
    }

    /// A table of one row without labels.
    pub(super) fn of_one(
        prefix: &'static str,
        groups: impl IntoIterator<Item = &'static Group<T>>,
        object: &T,
    ) -> Table<T> {
        let mut table = Table::new(prefix, groups);
        table.push("", object);
        table
    }

    /// Returns `true` if there are no families.
    pub(super) fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// Adds a row. The labels are without braces, and escaped.
    pub(super) fn push(&mut self, labels: &str, object: &T) {
        self.labels.push_str(labels);
        self.label_ends.push(self.labels.len());
        self.values.extend(self.columns.iter().map(|column| (column.value)(object)));
    }

    fn labels_of(&self, row: usize) -> &str {
        let start = row.checked_sub(1).map_or(0, |before| self.label_ends[before]);
        &self.labels[start..self.label_ends[row]]
    }
}

impl<T> Block for Table<T> {
    fn write(&mut self, text: &mut Vec<u8>, size: usize) -> bool {
        let (width, row_count) = (self.columns.len(), self.label_ends.len());
        let (mut column, mut row) = self.next;
        while column < width && text.len() < size {
            let family = &self.columns[column].family;
            if row == 0 {
                push_head(text, self.prefix, family);
            }
            // At least one sample follows the head in the same piece: the number of the row shows that the head is
            // written.
            while row < row_count {
                let value = self.values[row * width + column];
                push_sample(text, self.prefix, family.name, self.labels_of(row), value);
                row += 1;
                if text.len() >= size {
                    break;
                }
            }
            if row == row_count {
                (column, row) = (column + 1, 0);
            }
        }
        self.next = (column, row);
        column < width
    }
}

/// The size of the pieces of a page.
const PIECE_SIZE: usize = 64 * 1024;

/// A page as it is sent.
pub(super) struct Page {
    blocks: VecDeque<Box<dyn Block>>,
    /// The room of the page's rows.
    _share: Share,
}

impl Page {
    pub(super) fn new(blocks: Vec<Box<dyn Block>>, share: Share) -> Page {
        Page { blocks: blocks.into(), _share: share }
    }
}

impl Chunks for Page {
    fn next(&mut self) -> Option<Vec<u8>> {
        // A sample passes the size of a piece by at most two names and a virtual host's.
        let mut text = Vec::with_capacity(PIECE_SIZE + 1024);
        while let Some(block) = self.blocks.front_mut() {
            if block.write(&mut text, PIECE_SIZE) {
                break;
            }
            self.blocks.pop_front();
        }
        (!text.is_empty()).then_some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::exposition::group;

    static ONE: Group<f64> = group!("one", |value| {
        Gauge "a" "A." = *value;
        Counter "b_total" "B." = 10.0 + value;
    });
    static OTHER: Group<f64> = group!("other", |value| { Gauge "c" "C." = 20.0 + value; });

    fn table(row_count: usize) -> Table<f64> {
        let mut table = Table::new("x_", [&ONE, &OTHER]);
        (0..row_count).for_each(|row| table.push(&format!("row=\"{row}\""), &(row as f64)));
        table
    }

    /// The text in pieces of about that size.
    fn pieces(mut table: Table<f64>, size: usize) -> Vec<String> {
        let mut pieces = Vec::new();
        loop {
            let mut text = Vec::new();
            let is_more = table.write(&mut text, size);
            pieces.push(String::from_utf8(text).unwrap());
            if !is_more {
                return pieces;
            }
        }
    }

    #[test]
    fn the_samples_of_a_family_follow_each_other() {
        let expected = "# HELP x_a A.\n# TYPE x_a gauge\nx_a{row=\"0\"} 0\nx_a{row=\"1\"} 1\n\
            # HELP x_b_total B.\n# TYPE x_b_total counter\nx_b_total{row=\"0\"} 10\nx_b_total{row=\"1\"} 11\n\
            # HELP x_c C.\n# TYPE x_c gauge\nx_c{row=\"0\"} 20\nx_c{row=\"1\"} 21\n";
        assert_eq!(pieces(table(2), usize::MAX), [expected]);
    }

    #[test]
    fn pieces_of_any_size_are_the_same_text() {
        for row_count in [0, 1, 7] {
            let whole = pieces(table(row_count), usize::MAX).concat();
            for size in 1..200 {
                let pieces = pieces(table(row_count), size);
                assert_eq!(pieces.concat(), whole, "{row_count} rows, {size} bytes");
                assert!(pieces.iter().all(|piece| piece.len() < size + 100), "{size} bytes");
            }
        }
    }

    #[test]
    fn a_table_without_rows_says_which_families_there_are() {
        let text = pieces(table(0), usize::MAX).concat();
        assert_eq!(text.lines().filter(|line| line.starts_with("# TYPE")).count(), 3);
        assert!(text.lines().all(|line| line.starts_with('#')), "{text}");
    }
}
