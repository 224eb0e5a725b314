//! A page: head, sections, data, scripts, in one file.

use super::figure::{Figure, figures};
use super::markup::{escape, script_data};
use super::terms;
use flate2::read::GzDecoder;
use std::fmt::Write;
use std::io::Read;

/// A page that has not been written out.
pub struct Page {
    title: String,
    lead: String,
    sections: Vec<Section>,
    data: String,
}

struct Section {
    name: String,
    heading: String,
    html: String,
}

/// The scripts in the order in which they need each other.
pub(super) const SCRIPTS: [&str; 12] = [
    include_str!("script/format.js"),
    include_str!("script/table.js"),
    include_str!("script/chart.js"),
    include_str!("script/latency.js"),
    include_str!("script/waits.js"),
    include_str!("script/tail.js"),
    include_str!("script/slow.js"),
    include_str!("script/time.js"),
    include_str!("script/map.js"),
    include_str!("script/study.js"),
    include_str!("script/compare.js"),
    include_str!("script/history.js"),
];

pub(crate) const STYLE: &str = include_str!("style.css");

/// See `echarts/README.md`.
const ECHARTS: &[u8] = include_bytes!("echarts/echarts.min.js.gz");

/// The page may use what is in it and nothing else: no network, no forms, no frames.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src \
    data:; base-uri 'none'; form-action 'none'";

impl Page {
    /// A page with this title, a piece of HTML below it, and the data of its charts as JSON.
    pub fn new(title: &str, lead: String, data: String) -> Page {
        Page { title: title.into(), lead, sections: Vec::new(), data }
    }

    /// Adds a section with this heading, which the list of sections names.
    pub fn section(&mut self, heading: &str, html: String) {
        self.section_named(heading, heading, html);
    }

    /// Adds a section that has a shorter name in the list of sections.
    pub fn section_named(&mut self, name: &str, heading: &str, html: String) {
        self.sections.push(Section { name: name.into(), heading: heading.into(), html });
    }

    /// The data of its charts, JSON in one line.
    pub fn data(&self) -> &str {
        &self.data
    }

    /// The charts of the page, in their order.
    pub(crate) fn figures(&self) -> Vec<Figure> {
        figures(self.sections.iter().map(|section| section.html.as_str()))
    }

    /// The page as one HTML file, with its styles, scripts and data.
    pub fn render(&self) -> String {
        let title = escape(&self.title);
        let mut html = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
             <meta name=\"generator\" content=\"tailcut {}\">\n<meta name=\"color-scheme\" content=\"light \
                dark\">\n\
             <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<header>\n<h1>{title}</h1>\n{}",
            env!("CARGO_PKG_VERSION"),
            self.lead
        );
        html.push_str("<nav aria-label=\"Sections\">");
        for (number, section) in (1..).zip(&self.sections) {
            let _ = write!(html, "<a href=\"#s{number}\">{}</a> ", escape(&section.name));
        }
        html.push_str(
            "</nav>\n</header>\n<main>\n<noscript><p class=\"error\">Charts need scripts; the \
            tables do not.</p></noscript>\n",
        );
        for (number, section) in (1..).zip(&self.sections) {
            let heading = escape(&section.heading);
            let _ =
                write!(html, "<section id=\"s{number}\">\n<h2>{heading}</h2>\n{}</section>\n", section.html);
        }
        html.push_str("</main>\n<footer>");
        html.push_str(FOOTER);
        let _ = write!(
            html,
            "</footer>\n<script type=\"application/json\" \
                id=\"data\">{}</script>\n<script type=\"application/json\" id=\"terms\">{}</script>\n\
                <script>{}</script>\n<script>\"use strict\";\n",
            script_data(&self.data),
            script_data(&terms::json()),
            echarts()
        );
        SCRIPTS.iter().for_each(|script| html.push_str(script));
        html.push_str("start();\n</script>\n</body>\n</html>\n");
        html
    }
}

const FOOTER: &str = "Made by tailcut from the data in this file, which also stands in the JSON file beside \
    it. Charts: Apache ECharts 6.1.0, Apache-2.0 licence.";

pub(super) fn echarts() -> String {
    let mut script = String::new();
    GzDecoder::new(ECHARTS).read_to_string(&mut script).expect("it was compressed whole");
    script
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn echarts_is_what_was_published() {
        let script = echarts();
        assert_eq!(script.len(), 1_121_883);
        assert!(script.contains("6.1.0"));
        assert!(!script.contains("</script"), "it would end its own element");
    }

    #[test]
    fn nothing_in_a_page_comes_from_elsewhere() {
        let mut page = Page::new("a </script> b", "<p>lead</p>".into(), "{\"file\":\"</script>\"}".into());
        page.section("One & two", "<p>text</p>\n".into());
        let html = page.render();
        assert!(html.contains("<title>a &lt;/script&gt; b</title>"));
        assert!(html.contains("{\"file\":\"\\u003c/script>\"}"));
        assert!(html.contains("<h2>One &amp; two</h2>"));
        assert_eq!(html.matches("</script>").count(), 4, "data, terms, library, charts");
        let own = html.replace(&echarts(), "");
        for source in ["src=", "http://", "https://", "@import", "url("] {
            assert!(!own.contains(source), "{source}");
        }
    }
}
