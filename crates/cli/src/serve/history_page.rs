//! The page of a server's history: each of its metrics over time, by what operators ask.

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

/// What operators ask, in the order of the page, with the metrics that answer it: their names begin so.
const QUESTIONS: [(&str, &[&str]); 6] = [
    ("What was found", &["kv_hits", "kv_misses"]),
    ("How long it took", &["kv_command_seconds", "request_seconds", "late_seconds"]),
    (
        "What was evicted",
        &[
            "kv_evictions",
            "kv_expired",
            "kv_refused",
            "kv_not_admitted",
            "kv_moved",
            "kv_segments",
            "kv_flash_",
        ],
    ),
    (
        "What went wrong",
        &[
            "panics",
            "errors",
            "kv_damaged",
            "kv_failed",
            "kv_drive_full",
            "array_reads_lost",
            "array_member_faults",
            "logins_failed",
            "connections_refused",
            "connections_hoarding",
        ],
    ),
    (
        "What was asked for",
        &["kv_commands", "requests", "reads", "writes", "received", "sent", "connections", "datagrams"],
    ),
    ("Room", &["kv_items", "kv_memory", "kv_index", "kv_client", "size", "buffer", "erased_blocks"]),
];

/// The place of a metric's question in [`QUESTIONS`], and of the metric in its list; `None` for one that
/// answers another question.
fn question(metric: &str) -> Option<(usize, usize)> {
    let name = metric.trim_start_matches("tailcut_");
    QUESTIONS.iter().enumerate().find_map(|(section, (_, names))| {
        names.iter().position(|start| name.starts_with(start)).map(|place| (section, place))
    })
}

/// The charts by what operators ask, then those of all other metrics. The share of keys that were found
/// comes before all.
fn sections(history: &History) -> Vec<(&'static str, String)> {
    let mut metrics: Vec<_> =
        history.head.metrics.iter().filter(|(name, _)| has_values(history, name)).collect();
    metrics.sort_by_key(|(name, _)| question(name));
    let figures = |section: Option<usize>| -> String {
        let of_section = |name: &str| question(name).map(|(section, _)| section) == section;
        let here = metrics.iter().filter(|(name, _)| of_section(name));
        here.map(|(name, (kind, help))| figure(name, kind, help)).collect()
    };
    let mut sections: Vec<(&str, String)> =
        (0..).zip(QUESTIONS).map(|(place, (heading, _))| (heading, figures(Some(place)))).collect();
    if has_values(history, HITS) {
        sections[0].1.insert_str(0, &found());
    }
    sections.push(("Everything else", figures(None)));
    let shown = sections.into_iter().filter(|(_, html)| !html.is_empty());
    shown.map(|(heading, html)| (heading, format!("<div class=\"charts\">\n{html}</div>\n"))).collect()
}

const HITS: &str = "tailcut_kv_hits_total";
const MISSES: &str = "tailcut_kv_misses_total";

/// The share of keys asked for that were there.
fn found() -> String {
    let attributes = [("metric", HITS), ("kind", "share"), ("against", MISSES)];
    chart("history", "Keys found", "Of the keys asked for, the share that was there.", &attributes, "")
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
    fn metrics_stand_under_the_question_that_they_answer() {
        let metric = |name: &str, kind: &str| format!(r#""tailcut_{name}":["{kind}","Its help."]"#);
        let metrics = [
            metric("kv_evictions_total", "counter"),
            metric("kv_hits_total", "counter"),
            metric("zeal", "gauge"),
            metric("kv_command_seconds", "histogram"),
            metric("kv_misses_total", "counter"),
        ];
        let names =
            ["zeal", "kv_hits_total", "kv_evictions_total", "kv_command_seconds_count", "kv_misses_total"];
        let values = names.map(|name| format!(r#""tailcut_{name}":1.0"#)).join(",");
        let text = format!(
            r#"{{"tailcut":"history","version":"0","what":"a store","every_s":1,"metrics":{{{}}}}}
{{"at":5.0,"values":{{{values}}}}}
"#,
            metrics.join(",")
        );
        let history = read(&text, Path::new("h")).expect("it is a history");
        let sections = sections(&history);
        let headings: Vec<&str> = sections.iter().map(|(heading, _)| *heading).collect();
        let wanted = ["What was found", "How long it took", "What was evicted", "Everything else"];
        assert_eq!(headings, wanted);
        let found = &sections[0].1;
        let at = |text: &str| found.find(text).unwrap_or_else(|| panic!("{text}: {found}"));
        assert!(at("data-kind=\"share\"") < at("data-kind=\"counter\""), "the share comes first");
        assert!(sections[2].1.contains("kv_evictions_total") && sections[3].1.contains("tailcut_zeal"));
    }

    #[test]
    fn a_bad_line_is_named() {
        let Err(Failure::Input(message)) = page(&format!("{TEXT}[]\n"), Path::new("h.jsonl")) else {
            panic!()
        };
        assert!(message.starts_with("h.jsonl:4: "), "{message}");
    }
}
