//! Advice as a person reads it.

use super::results::{Advice, Candidate, TermResult, Verdict};
use super::search::is_kept;
use crate::format::counted;
use crate::terminal::wrapped;
use crate::terminal::{Align, ColorMode, Table, TextRole};
use tailcut_base::quantity::{show_bytes, show_number_of};

/// The advice as text for a terminal: what to buy, and the arrangements that were tried.
pub fn page(advice: &Advice, width: usize, tone: ColorMode) -> String {
    let data = show_bytes(advice.data_bytes as f64);
    let heading = format!("{} with {data} of data", advice.promise);
    let mut text = format!("{}\n\n", tone.paint(TextRole::Heading, &heading));
    match advice.advised.map(|index| &advice.tried[index]) {
        Some(tried) => {
            text += &one(advice, tried, "buy", tone);
            if tried.verdict == Verdict::KeptTooFew {
                text += &too_few(tried, width);
            }
        }
        None if advice.complete => text += "nothing that was tried keeps it\n",
        None => text += "nothing that was tried so far keeps it\n",
    }
    let next = advice.next_cheaper.map(|index| &advice.tried[index]);
    let label = if advice.advised.is_some() { "the next cheaper one fails" } else { "the closest" };
    match next {
        Some(tried) => text += &format!("\n{}", one(advice, tried, label, tone)),
        None if advice.advised.is_some() => text += "\nnothing in the catalogue is cheaper\n",
        None => {}
    }
    text += &against(advice, tone);
    text += &others(advice, width, tone);
    text += &format!("\n{}", wrapped("", &footer(advice), width));
    text
}

/// What the advice was set against, and how their costs compare.
fn against(advice: &Advice, tone: ColorMode) -> String {
    let Some(against) = &advice.against else { return String::new() };
    let group = against.group();
    let Some(best) = against.best().map(|index| &advice.tried[index]) else {
        return format!("\nagainst {group}: nothing with such a layout could be tried\n");
    };
    if !is_kept(best) {
        return format!(
            "\n{}",
            one(advice, best, &format!("against {group}: nothing keeps it, the closest"), tone)
        );
    }
    let advised = advice.advised.map(|index| advice.tried[index].cost).filter(|cost| *cost > 0.0);
    let times = match advised.map(|cost| best.cost / cost) {
        Some(times) if (times - 1.0).abs() < 0.005 => String::from(", for the same cost"),
        Some(times) => format!(", for {times:.2} times the cost"),
        None => String::new(),
    };
    format!("\n{}", one(advice, best, &format!("against {group}{times}"), tone))
}

fn one(advice: &Advice, tried: &Candidate, label: &str, tone: ColorMode) -> String {
    let name = format!("{label}: {}", tried.name);
    let raw = show_bytes(tried.raw_bytes as f64);
    let each = if tried.drives == 1 { "1 drive" } else { &format!("{} drives", tried.drives) };
    let survives = if tried.survives_a_drive { "; survives the loss of a drive" } else { "" };
    let mut text = format!(
        "{}\n  {each} of {raw} raw, {:.0} % spare, {} usable; cost {} {}{survives}\n",
        tone.paint(TextRole::Heading, &name),
        tried.spare * 100.0,
        show_bytes(tried.capacity_bytes as f64),
        money(tried.cost),
        advice.cost_unit,
    );
    if tried.verdict == Verdict::BrokenSoon {
        text += &format!("  after {} already:\n", counted(tried.requests, "request"));
    }
    for term in &tried.terms {
        text += &format!("  {:<28} {:>10}  {}\n", term.term, term.shown, stands(term));
    }
    if tried.wear.is_known() {
        let (waf, life) = (tried.wear.amplification(), tried.wear.life());
        text += &format!("  write amplification {waf}; life at this load {life}\n");
    }
    if tried.caveats.has_volatile_cache() {
        text += "  writes complete in a volatile cache: a power cut loses them until they are flushed\n";
    }
    if !tried.settings.is_empty() {
        text += &format!("  {}\n", tone.paint(TextRole::Faint, &tried.settings.join(" ")));
    }
    text
}

/// A cost with three digits at least.
fn money(cost: f64) -> String {
    match cost {
        cost if cost >= 100.0 => format!("{cost:.0}"),
        cost if cost >= 1.0 => format!("{cost:.1}"),
        cost => format!("{cost:.3}"),
    }
}

fn stands(term: &TermResult) -> String {
    let chance = if term.resolved { "" } else { " ?" };
    match term.margin {
        None => String::from("nothing was erased, or there were no such requests"),
        Some(margin) if term.kept => format!("{:.0} % to spare{chance}", margin * 100.0),
        Some(margin) if margin < -9.0 => format!("broken, {:.0} times as much{chance}", 1.0 - margin),
        Some(margin) => format!("broken by {:.0} %{chance}", -margin * 100.0),
    }
}

fn too_few(tried: &Candidate, width: usize) -> String {
    let note = format!(
        "? the sample is too small: of {} requests fewer than ten are slower than a percentile, or the \
         drives still use up erased blocks. Allow more with --most-requests, or replay the trace several \
         times (trace.times)",
        tried.requests
    );
    wrapped("  ", &note, width)
}

/// What else keeps the promise at the same cost, and how near the others came.
fn others(advice: &Advice, width: usize, tone: ColorMode) -> String {
    let left = |title| (title, Align::Left);
    let right = |title| (title, Align::Right);
    let head = [
        left("tried"),
        right("cost"),
        left(""),
        right("waf"),
        right("life"),
        left("what it breaks, or its narrowest term"),
    ];
    let has_wear = advice.tried.iter().any(|tried| tried.wear.is_known());
    let shown = [true, true, true, has_wear, has_wear, true];
    let columns: Vec<(&str, Align)> =
        head.into_iter().zip(shown).filter(|(_, shown)| *shown).map(|(column, _)| column).collect();
    let mut table = Table::new(&columns, tone);
    let mut rows: Vec<&Candidate> = advice.tried.iter().collect();
    // Of what costs the same the best comes first.
    rows.sort_by(|a, b| {
        let margin = |tried: &Candidate| super::search::worst_margin(tried);
        b.cost.total_cmp(&a.cost).then(margin(b).total_cmp(&margin(a)))
    });
    for tried in rows.iter().take(ROWS) {
        let word = match tried.verdict {
            Verdict::Kept => "kept",
            Verdict::KeptTooFew => "kept ?",
            Verdict::Broken | Verdict::BrokenSoon => "broken",
            Verdict::Unknown => "not run",
        };
        let mut worst = tried.error.clone().unwrap_or_else(|| broken_terms(tried));
        if tried.caveats.is_overloaded() {
            worst += "; overloaded";
        }
        let (waf, life) = (tried.wear.amplification(), tried.wear.life());
        let cells = [tried.name.clone(), money(tried.cost), word.to_owned(), waf, life, worst];
        let cells = cells.into_iter().zip(shown).filter(|(_, shown)| *shown).map(|(cell, _)| cell);
        table.row(&cells.collect::<Vec<String>>());
    }
    let more = advice.tried.len().saturating_sub(ROWS);
    let more = if more > 0 { format!("{more} more: see advise.json\n") } else { String::new() };
    let mut legend = Vec::new();
    if has_wear {
        legend.push("waf: pages programmed per page written; life: at this load, of the first drive to fail");
    }
    if table.to_string().contains(" ?") {
        legend.push(
            "?: little more than chance, because fewer than ten requests are slower, or drives still use up \
                erased blocks",
        );
    }
    let legend: String = legend.iter().map(|line| wrapped("", line, width)).collect();
    format!("\n{table}\n{legend}{more}")
}

/// Every term that a candidate breaks, the worst first; of one that breaks none the narrowest term.
fn broken_terms(tried: &Candidate) -> String {
    let margin = |term: &&TermResult| term.margin.unwrap_or(f64::NEG_INFINITY);
    let mut terms: Vec<&TermResult> = tried.terms.iter().collect();
    terms.sort_by(|a, b| margin(a).total_cmp(&margin(b)));
    let broken = terms.iter().filter(|term| !term.kept).count();
    terms.truncate(broken.max(1));
    let shown = terms.iter().map(|term| format!("{}: {}, {}", term.term, term.shown, stands(term)));
    shown.collect::<Vec<_>>().join("; ")
}

fn footer(advice: &Advice) -> String {
    let mut text = advice.assumption.clone();
    if advice.left_out > 0 {
        text += &format!(
            "; {} {} too small or cannot be",
            show_number_of(advice.left_out, "arrangement"),
            are(advice.left_out)
        );
    }
    if advice.not_tried > 0 {
        text += &format!(
            "; {} that {} no less {} not tried, because the search ends at the cheapest that keeps the promise",
            show_number_of(advice.not_tried, "arrangement"),
            if advice.not_tried == 1 { "costs" } else { "cost" },
            if advice.not_tried == 1 { "was" } else { "were" }
        );
    }
    text
}

fn are(number: u64) -> &'static str {
    if number == 1 { "is" } else { "are" }
}

/// Arrangements that a page lists.
const ROWS: usize = 24;
