//! Tables of figures: no borders, a rule under the head, numbers to the right.

use super::tone::ColorMode;
use comfy_table::{Attribute, Cell, CellAlignment, ContentArrangement, LineStyle, TableStyle};
use std::fmt;
use std::io::IsTerminal;

/// Where the content of a column stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// To the left, for words.
    Left,
    /// To the right, for numbers.
    Right,
}

/// A table. Shown with [`fmt::Display`], without a line end after the last row.
pub struct Table {
    inner: comfy_table::Table,
    columns: Vec<Align>,
}

impl Table {
    /// An empty table with a head. On a terminal it fits the width of the window, wrapping words;
    /// in a file or pipe it is as wide as its content.
    pub fn new(head: &[(&str, Align)], tone: ColorMode) -> Table {
        let width = std::io::stdout().is_terminal().then(window);
        Table::with_width(head, tone, width)
    }

    /// Like [`Table::new`] for a window of `width` columns; `None` for no limit.
    pub fn with_width(head: &[(&str, Align)], tone: ColorMode, width: Option<u16>) -> Table {
        let columns: Vec<Align> = head.iter().map(|&(_, align)| align).collect();
        let mut inner = comfy_table::Table::new();
        inner.load_style(STYLE);
        match width {
            Some(width) => inner.set_content_arrangement(ContentArrangement::Dynamic).set_width(width),
            None => inner.set_content_arrangement(ContentArrangement::Disabled),
        };
        match tone {
            ColorMode::Coloured => inner.enforce_styling(),
            ColorMode::Plain => inner.force_no_tty(),
        };
        let bold = |cell: Cell| match tone {
            ColorMode::Coloured => cell.add_attribute(Attribute::Bold),
            ColorMode::Plain => cell,
        };
        inner.set_header(head.iter().map(|&(title, align)| bold(cell(title, align))).collect::<Vec<Cell>>());
        let last = columns.len().saturating_sub(1);
        for (index, column) in inner.column_iter_mut().enumerate() {
            column.set_padding((0, if index == last { 0 } else { GAP }));
        }
        Table { inner, columns }
    }

    /// Adds a row, one cell per column.
    ///
    /// # Panics
    /// If there are more or fewer cells than columns in the head: figures would be under wrong titles.
    pub fn row<S: AsRef<str>>(&mut self, cells: &[S]) -> &mut Table {
        assert_eq!(cells.len(), self.columns.len(), "a row has as many cells as the head");
        let cells = cells.iter().zip(&self.columns).map(|(text, &align)| cell(text.as_ref(), align));
        self.inner.add_row(cells.collect::<Vec<Cell>>());
        self
    }

    /// True if the table has no rows yet.
    pub fn is_empty(&self) -> bool {
        self.inner.is_empty()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.inner.trim_fmt())
    }
}

fn cell(text: &str, align: Align) -> Cell {
    let align = match align {
        Align::Left => CellAlignment::Left,
        Align::Right => CellAlignment::Right,
    };
    Cell::new(text).set_alignment(align)
}

/// Columns of the window of standard output; 80 where there is none.
pub fn window() -> u16 {
    // Narrower windows exist, but no table of figures fits them.
    comfy_table::Table::new().width().unwrap_or(80).max(40)
}

/// Nothing but a rule under the head.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─'));

/// Blanks between two columns.
const GAP: u16 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(width: Option<u16>, tone: ColorMode) -> String {
        let mut table = Table::with_width(
            &[("percentile", Align::Left), ("latency", Align::Right), ("waited most for", Align::Left)],
            tone,
            width,
        );
        table.row(&["mean", "98.1 µs", "cell"]);
        table.row(&["99.99 %", "4.02 ms", "a page program of garbage collection"]);
        table.to_string()
    }

    #[test]
    fn numbers_stand_to_the_right() {
        let want = "\
percentile  latency  waited most for
─────────────────────────────────────────────────────────
mean        98.1 µs  cell
99.99 %     4.02 ms  a page program of garbage collection";
        assert_eq!(figures(None, ColorMode::Plain), want, "\n{}", figures(None, ColorMode::Plain));
    }

    #[test]
    fn a_table_fits_its_window() {
        let table = figures(Some(44), ColorMode::Plain);
        assert!(table.lines().all(|line| line.chars().count() <= 44), "\n{table}");
        assert!(table.contains("4.02 ms"), "\n{table}");
    }

    #[test]
    fn colours_appear_only_where_they_may() {
        assert!(!figures(None, ColorMode::Plain).contains('\x1b'));
        assert!(figures(None, ColorMode::Coloured).contains('\x1b'));
    }

    #[test]
    #[should_panic(expected = "as many cells as the head")]
    fn a_row_with_a_gap_is_a_bug() {
        Table::with_width(&[("a", Align::Left)], ColorMode::Plain, None).row(&["1", "2"]);
    }
}
