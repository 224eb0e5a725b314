//! Pieces of HTML.

use std::fmt::Write;

/// Text as HTML: special characters are escaped.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// JSON for a script element: nothing in it can end the element.
pub fn script_data(json: &str) -> String {
    json.replace('<', "\\u003c")
}

/// What stands in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// A few words.
    Text,
    /// Sentences, which may be broken.
    Words,
    /// Figures.
    Number,
}

/// A table that scrolls by itself where the page is too narrow for it.
pub struct Table {
    columns: Vec<Column>,
    html: String,
}

impl Table {
    /// A table with a head, and a name for screen readers.
    pub fn new(name: &str, head: &[(&str, Column)]) -> Table {
        let mut html = format!(
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table><thead><tr>",
            escape(name)
        );
        for (title, column) in head {
            let _ = write!(html, "<th{}>{}</th>", class(*column, ""), escape(title));
        }
        html.push_str("</tr></thead><tbody>\n");
        Table { columns: head.iter().map(|&(_, column)| column).collect(), html }
    }

    /// Adds a row of pieces of HTML; each with a class, or an empty one.
    ///
    /// # Panics
    /// If there are more or fewer cells than columns in the head.
    pub fn row_of(&mut self, cells: &[(String, &str)]) {
        assert_eq!(cells.len(), self.columns.len(), "a row has as many cells as the head");
        self.html.push_str("<tr>");
        for ((cell, mark), &column) in cells.iter().zip(&self.columns) {
            let _ = write!(self.html, "<td{}>{cell}</td>", class(column, mark));
        }
        self.html.push_str("</tr>\n");
    }

    /// Adds a row of text.
    pub fn row(&mut self, cells: &[String]) {
        let cells: Vec<(String, &str)> = cells.iter().map(|cell| (escape(cell), "")).collect();
        self.row_of(&cells);
    }

    /// The table as HTML, with all rows that were added.
    pub fn html(self) -> String {
        self.html + "</tbody></table></div>\n"
    }
}

fn class(column: Column, mark: &str) -> String {
    let column = match column {
        Column::Text => "",
        Column::Words => "words",
        Column::Number => "r",
    };
    match format!("{column} {mark}").trim() {
        "" => String::new(),
        class => format!(" class=\"{class}\""),
    }
}

/// A chart by its name in the scripts, with what it is to show as attributes.
pub fn chart(name: &str, title: &str, caption: &str, attributes: &[(&str, &str)], inside: &str) -> String {
    let attributes: String =
        attributes.iter().map(|(key, value)| format!(" data-{key}=\"{}\"", escape(value))).collect();
    format!(
        "<figure data-chart=\"{name}\"{attributes}>\n<h3>{}</h3>\n{inside}<div class=\"plot\"></div>\n\
         <figcaption>{caption}</figcaption>\n<details class=\"data\"><summary>Data of this chart</summary>\
         <div class=\"scroll\" tabindex=\"0\"></div></details>\n</figure>\n",
        escape(title)
    )
}

/// Something that is folded away on the screen, and open on paper.
pub fn folded(title: &str, html: &str) -> String {
    format!("<details class=\"more\"><summary>{}</summary>\n{html}</details>\n", escape(title))
}

/// A bar of a share, 0 to 1, for a table.
pub fn bar(share: f64) -> String {
    format!("<div class=\"bar\"><i style=\"width:{:.1}%\"></i></div>", (share * 100.0).clamp(0.0, 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        assert_eq!(escape("a</script><b a='\"&"), "a&lt;/script&gt;&lt;b a=&#39;&quot;&amp;");
        let json = serde_json::to_string("</script><!--").expect("a string");
        assert!(!script_data(&json).contains('<'));
        let back: String = serde_json::from_str(&script_data(&json)).expect("it is JSON still");
        assert_eq!(back, "</script><!--");
    }

    #[test]
    fn a_table_has_classes_by_column() {
        let mut table = Table::new("speeds", &[("kind", Column::Text), ("mean", Column::Number)]);
        table.row(&["<read>".into(), "75.0 µs".into()]);
        let html = table.html();
        assert!(html.contains("<td>&lt;read&gt;</td><td class=\"r\">75.0 µs</td>"), "{html}");
    }
}
