//! The page of a run.

mod findings;
mod latency;
mod limits;
mod slowest;
mod summary;
mod time;

use crate::html::Page;
use crate::html::markup::{escape, folded};
use crate::run::{Saved, Scenario};
use crate::show;
use crate::terminal::ColorMode;

/// The page of a run that was kept.
#[expect(clippy::missing_panics_doc, reason = "plain data becomes JSON")]
pub fn page(saved: &Saved, scenario: &Scenario) -> Page {
    let report = &saved.report;
    let data = serde_json::to_string(saved).expect("plain data");
    let mut page = Page::new(&summary::title(report), summary::lead(report, scenario), data);
    if let Some(tail) = latency::tail(saved) {
        page.section("Tail", tail);
    }
    page.section("In short", findings::list(saved));
    if !report.notes.is_empty() {
        let notes: String = report.notes.iter().map(|note| format!("<li>{}</li>", escape(note))).collect();
        page.section("Notes", format!("<ul class=\"findings\">{notes}</ul>\n"));
    }
    page.section("Latency", latency::section(saved));
    page.section("What requests waited for", latency::waits(saved));
    if let Some(slowest) = slowest::section(saved.slowest()) {
        page.section("Slowest requests", slowest);
    }
    match &saved.detail.timeline {
        Some(timeline) => time::sections(&mut page, timeline),
        None => page.section("Over time", String::from(WITHOUT_TIMELINE)),
    }
    page.section("Limits", limits::section(report));
    for (heading, text) in show::machinery(report, show::Detail::Full, ColorMode::Plain) {
        page.section(&capital(heading), preformatted(heading, &text));
    }
    page.section("How to repeat it", repeat(saved));
    page
}

const WITHOUT_TIMELINE: &str = "<p>This run was not recorded over time: run it with <code>--html</code> or \
    <code>--timeline</code>. The same scenario and seed give the same run.</p>\n";

fn repeat(saved: &Saved) -> String {
    let report = &saved.report;
    format!(
        "<p>tailcut {}, seed {}, digest {}. Save the scenario below and give it to <code>tailcut run</code>: \
         the digest will be the same.</p>\n{}",
        escape(&report.version),
        report.seed,
        escape(&report.digest),
        folded("The complete scenario", &format!("<pre tabindex=\"0\">{}</pre>\n", escape(&saved.scenario)))
    )
}

fn preformatted(name: &str, text: &str) -> String {
    format!(
        "<pre tabindex=\"0\" role=\"region\" aria-label=\"{}\">{}</pre>\n",
        escape(name),
        escape(text.trim_end())
    )
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}
