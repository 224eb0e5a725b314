//! The page of a server's history: each of its metrics over time.

use crate::failure::Failure;
use crate::html::Page;
use crate::html::markup::{chart, escape};
use crate::serve::history::{Head, Moment};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use tailcut_base::quantity::show_time;

/// The data of the page.
#[derive(Debug, PartialEq, Serialize)]
struct History {
    /// The first line of the file.
    #[serde(flatten)]
    head: Head,
    /// Moments, in seconds since 1970.
    at: Vec<f64>,
    /// The values at these moments by metric, and of each by labels.
    series: BTreeMap<String, BTreeMap<String, Vec<f64>>>,
}

/// True when a text begins as a history does.
pub fn is_history(text: &str) -> bool {
    text.lines()
        .next()
        .is_some_and(|line| serde_json::from_str::<Head>(line).is_ok_and(|head| head.tailcut == Head::KIND))
}

/// The page of the history with this text.
///
/// # Errors
/// Which line is not one of a history.
#[expect(clippy::missing_panics_doc, reason = "plain data becomes JSON")]
pub fn page(text: &str, source: &Path) -> Result<Page, Failure> {
    let history = read(text, source)?;
    let data = serde_json::to_string(&history).expect("plain data");
    let mut page = Page::new("tailcut serve: history", lead(&history), data);
    for (heading, families) in sections(&history) {
        page.section(heading, families);
    }
    Ok(page)
}

fn read(text: &str, source: &Path) -> Result<History, Failure> {
    let wrong = |line: usize, why: String| {
        Failure::Input(format!("{}:{line}: not a line of a history: {why}", source.display()))
    };
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    let head: Head = serde_json::from_str(first).map_err(|error| wrong(1, error.to_string()))?;
    let mut moments: Vec<Moment> = Vec::new();
    for (number, line) in (2..).zip(lines) {
        moments.push(serde_json::from_str(line).map_err(|error| wrong(number, error.to_string()))?);
    }
    let names: BTreeSet<&String> = moments.iter().flat_map(|moment| moment.values.keys()).collect();
    let mut series: BTreeMap<String, BTreeMap<String, Vec<f64>>> = BTreeMap::new();
    for name in names {
        let (metric, labels) = name.split_once('{').unwrap_or((name, ""));
        let values = moments.iter().map(|moment| moment.values.get(name).copied().unwrap_or(0.0)).collect();
        series.entry(metric.into()).or_default().insert(labels.trim_end_matches('}').into(), values);
    }
    Ok(History { head, at: moments.iter().map(|moment| moment.at).collect(), series })
}

fn lead(history: &History) -> String {
    let span = history.at.last().zip(history.at.first()).map_or(0.0, |(last, first)| last - first);
    format!(
        "<p class=\"soft\">{}<br>tailcut {}; {} moments over {}, at first a second and now {} apart.</p>\n",
        escape(&history.head.what),
        escape(&history.head.version),
        history.at.len(),
        escape(&show_time(span * 1e9)),
        show_time(history.head.every_s as f64 * 1e9)
    )
}

/// Latencies first, then what grows, then what is as it is.
fn sections(history: &History) -> Vec<(&'static str, String)> {
    let of_kind = |kinds: [&str; 2]| -> String {
        let metrics = history.head.metrics.iter().filter(|(_, (kind, _))| kinds.contains(&kind.as_str()));
        let known = metrics.filter(|(name, _)| has_values(history, name));
        known.map(|(name, (kind, help))| figure(name, kind, help)).collect()
    };
    let sections = [
        ("Latencies and sizes", of_kind(["histogram", "summary"])),
        ("What was done", of_kind(["counter", ""])),
        ("How it is", of_kind(["gauge", "untyped"])),
    ];
    let shown = sections.into_iter().filter(|(_, html)| !html.is_empty());
    shown.map(|(heading, html)| (heading, format!("<div class=\"charts\">\n{html}</div>\n"))).collect()
}

fn has_values(history: &History, metric: &str) -> bool {
    ["", "_count", "_bucket"].iter().any(|suffix| history.series.contains_key(&format!("{metric}{suffix}")))
}

/// The charts of a metric: of a histogram how much it takes, and how often that was.
fn figure(name: &str, kind: &str, help: &str) -> String {
    let title = name.trim_start_matches("tailcut_").trim_end_matches("_total").replace('_', " ");
    let (help, one) = (escape(help), |title: &str, kind: &str, help: &str| {
        chart("history", title, help, &[("metric", name), ("kind", kind)], "")
    });
    match title.strip_suffix(" seconds") {
        Some(what) if kind == "histogram" => {
            let bounds = format!("{help} Shown is the bound of the bucket that holds the percentile.");
            one(&format!("{what}: latency"), kind, &bounds)
                + &one(&format!("{what}: how many"), "count", &help)
        }
        _ => one(&title, kind, &help),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{"tailcut":"history","version":"0","what":"a </script> drive","every_s":1,"metrics":{"reads_total":["counter","Reads."],"idle":["gauge","Never there."]}}
{"at":5.0,"values":{"reads_total{export=\"a\"}":3.0}}
{"at":6.0,"values":{"reads_total{export=\"a\"}":9.0,"reads_total{export=\"b\"}":1.0}}
"#;

    #[test]
    fn lines_become_columns_and_charts() {
        assert!(is_history(TEXT) && !is_history("{}") && !is_history(""));
        let history = read(TEXT, Path::new("h")).expect("it is a history");
        assert_eq!(history.at, [5.0, 6.0]);
        assert_eq!(history.series["reads_total"]["export=\"b\""], [0.0, 1.0]);
        let html = page(TEXT, Path::new("h")).expect("it is a history").render();
        assert!(html.contains("a &lt;/script&gt; drive"));
        assert!(html.contains("data-metric=\"reads_total\" data-kind=\"counter\""));
        assert!(!html.contains("data-metric=\"idle\""), "what was never there has no chart");
    }

    #[test]
    fn a_bad_line_is_named() {
        let Err(Failure::Input(message)) = page(&format!("{TEXT}[]\n"), Path::new("h.jsonl")) else {
            panic!()
        };
        assert!(message.starts_with("h.jsonl:4: "), "{message}");
    }
}
