//! The charts of a page by name.

use std::collections::BTreeMap;

/// A chart of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Figure {
    name: String,
    title: String,
    /// What its script reads: `chart`, and what is to be shown of it.
    attributes: BTreeMap<String, String>,
}

impl Figure {
    /// The name of the chart, and what is shown of it if there may be several: `tail-read`. Unique in a page.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The name of its script: `tail`.
    pub(crate) fn chart(&self) -> &str {
        &self.attributes["chart"]
    }

    /// The heading above the chart.
    #[cfg_attr(not(feature = "svg"), expect(dead_code, reason = "only pictures have one"))]
    pub(crate) fn title(&self) -> &str {
        &self.title
    }

    /// The attributes of its element without `data-`, among them `chart`.
    #[cfg_attr(not(feature = "svg"), expect(dead_code, reason = "only pictures need them"))]
    pub(crate) fn attributes(&self) -> &BTreeMap<String, String> {
        &self.attributes
    }
}

/// The charts in pieces of HTML as [`super::markup::chart`] makes them.
pub(super) fn figures<'h>(pieces: impl Iterator<Item = &'h str>) -> Vec<Figure> {
    let mut all: Vec<Figure> = Vec::new();
    for piece in pieces.flat_map(|html| html.split("<figure ").skip(1)) {
        let Some((head, rest)) = piece.split_once('>') else { continue };
        let attributes = attributes(head);
        let Some(chart) = attributes.get("chart") else { continue };
        let values = attributes
            .iter()
            .filter(|&(key, value)| key != "chart" && (key.as_str(), value.as_str()) != EVERYTHING);
        let name = values.fold(slug(chart), |name, (_, value)| name + "-" + &slug(value));
        let title = between(rest, "<h3>", "</h3>").map(unescape).unwrap_or_default();
        // Two of them may be the same but for signs.
        let is_taken = all.iter().any(|figure| figure.name == name);
        let name = if is_taken { format!("{name}-{}", all.len() + 1) } else { name };
        all.push(Figure { name, title, attributes });
    }
    all
}

/// A choice of the page that leaves nothing out.
const EVERYTHING: (&str, &str) = ("holder", "all");

fn attributes(head: &str) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let mut rest = head;
    while let Some((_, attribute)) = rest.split_once("data-") {
        let Some((key, value)) = attribute.split_once("=\"") else { break };
        let Some((value, after)) = value.split_once('"') else { break };
        all.insert(key.to_owned(), unescape(value));
        rest = after;
    }
    all
}

fn between<'t>(text: &'t str, start: &str, end: &str) -> Option<&'t str> {
    text.split_once(start).and_then(|(_, rest)| rest.split_once(end)).map(|(inside, _)| inside)
}

/// The text that [`super::markup::escape`] made this of.
fn unescape(html: &str) -> String {
    let signs = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
    signs.iter().fold(html.to_owned(), |text, (escaped, sign)| text.replace(escaped, sign))
}

/// Lower-case letters and digits, with `-` for everything between them: part of a file's name.
fn slug(text: &str) -> String {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_lowercase).collect::<Vec<String>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::markup::chart;

    #[test]
    fn charts_are_named_by_what_they_show() {
        let html = chart("tail", "Reads", "", &[("kind", "read class 2")], "")
            + "<p>text</p>"
            + &chart("chips", "What <chips> did", "", &[("holder", "all")], "<div></div>")
            + &chart("effects", "a & b", "", &[("quantity", "p99.9(read) [ns]")], "")
            + &chart("effects", "the same", "", &[("quantity", "p99.9(read), [ns]")], "");
        let found = figures([html.as_str()].into_iter());
        let names: Vec<&str> = found.iter().map(Figure::name).collect();
        assert_eq!(names, ["tail-read-class-2", "chips", "effects-p99-9-read-ns", "effects-p99-9-read-ns-4"]);
        assert_eq!(found[1].title, "What <chips> did");
        assert_eq!(found[2].attributes["quantity"], "p99.9(read) [ns]");
        assert_eq!(found[2].attributes["chart"], "effects");
    }
}
