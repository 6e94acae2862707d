//! `Table`: aligned rows, printed as they come. The first part of a list decides the widths. Wider values in later
//! parts widen the rest.

/// Characters between two columns.
const GAP: usize = 2;

/// A table whose rows come in parts.
pub struct Table {
    titles: Vec<String>,
    widths: Vec<usize>,
    /// Columns that end at the right.
    right: Vec<bool>,
    has_head: bool,
}

impl Table {
    pub fn new(titles: Vec<String>) -> Table {
        let widths = titles.iter().map(|title| title.chars().count()).collect();
        Table { right: vec![false; titles.len()], titles, widths, has_head: false }
    }

    /// Has this column end at the right.
    pub fn align_right(&mut self, column: usize) {
        self.right[column] = true;
    }

    /// The lines of some rows, below the head if they are the first.
    pub fn lines(&mut self, rows: &[Vec<String>]) -> String {
        for row in rows {
            for (width, cell) in self.widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let mut text = String::new();
        if !self.has_head {
            self.has_head = true;
            self.line(&self.titles, &mut text);
        }
        rows.iter().for_each(|row| self.line(row, &mut text));
        text
    }

    fn line(&self, row: &[String], text: &mut String) {
        let mut line = String::new();
        for ((cell, &width), &is_right) in row.iter().zip(&self.widths).zip(&self.right) {
            if !line.is_empty() {
                line.extend(std::iter::repeat_n(' ', GAP));
            }
            match is_right {
                true => line.push_str(&format!("{cell:>width$}")),
                false => line.push_str(&format!("{cell:<width$}")),
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::row;

    #[test]
    fn columns_stand_below_each_other() {
        let mut table = Table::new(row(["name", "ready", "x"]));
        table.align_right(1);
        let rows = [row(["a", "1", ""]), row(["longer", "12", "y"])];
        assert_eq!(table.lines(&rows), "name    ready  x\na           1\nlonger     12  y\n");
        assert_eq!(table.lines(&[row(["longest name", "3", "z"])]), "longest name      3  z\n");
    }
}
