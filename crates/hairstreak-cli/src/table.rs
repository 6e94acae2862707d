//! A table of text: the first column starts at the left, the others end at the right.

/// Lines with the columns below each other, each ended by a newline.
pub fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width =
        |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let cell = |(column, cell): (usize, &String)| match column {
            0 => format!("{cell:<width$}", width = widths[0]),
            _ => format!("  {cell:>width$}", width = widths[column]),
        };
        let line: String = row.iter().enumerate().map(cell).collect();
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// A row of these cells.
pub fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_below_each_other() {
        let rows = [row(["stage", "rate"]), row(["a", "62,500"]), row(["long name", "1"])];
        assert_eq!(table(&rows), "stage        rate\na          62,500\nlong name       1\n");
    }
}
