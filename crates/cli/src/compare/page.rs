//! A comparison as a person reads it.

use super::cells::counted;
use super::results::{Effects, Head, Ineffective, Main, Pair, Point, Results, Verdict};
use crate::show::latency::VOLATILE;
use crate::sweep::{Quantity, Unit};
use crate::terminal::wrapped;
use crate::terminal::{Align, ColorMode, Table, TextRole};
use std::collections::BTreeMap;
use tailcut_base::quantity::plural;

/// The whole page: the ranking, what each factor does, how factors get along, and what could not be run.
/// `top` is the most rows of the ranking.
pub fn page(results: &Results, top: usize, width: usize, tone: ColorMode) -> String {
    let mut text = heading(results, tone);
    text += &format!("\n{}\n", ranking(results, top, tone));
    text += &notes(results, top, width);
    if let Some(effects) = results.effects.iter().find(|effects| effects.quantity == results.by) {
        text += &format!(
            "\n{}\n{}\n",
            tone.paint(TextRole::Heading, &title(effects)),
            mains(results, effects, tone)
        );
        text += &wrapped("", MAINS, width);
        text += &pairs(results, effects, width, tone);
    }
    text += &failures(results, width, tone);
    text
}

fn heading(results: &Results, tone: ColorMode) -> String {
    let grid: Vec<String> = results.factors.iter().map(|factor| factor.levels.len().to_string()).collect();
    let of = match (results.design.kind.as_str(), results.design.resolution) {
        ("full", _) => String::new(),
        ("regular", resolution) => {
            format!(" of {} (an orthogonal part, resolution {resolution})", results.design.grid)
        }
        _ => format!(" of {} (a balanced part)", results.design.grid),
    };
    let seeds = match results.seeds.len() {
        1 => String::new(),
        several => format!(", {several} seeds each"),
    };
    let line = format!("{}{of}, {}{seeds}", counted(results.points.len() as u64), grid.join(" x "));
    format!("{}\nranked by {}\n", tone.paint(TextRole::Heading, &line), results.by)
}

/// The name of a factor in a column head: the last part of its key, where that is unique.
pub fn short_names(results: &Results) -> Vec<String> {
    let last = |name: &str| name.rsplit('.').next().unwrap_or(name).to_owned();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for factor in &results.factors {
        *counts.entry(last(&factor.name)).or_default() += 1;
    }
    let short = |name: &String| if counts[&last(name)] == 1 { last(name) } else { name.clone() };
    results.factors.iter().map(|factor| short(&factor.name)).collect()
}

/// The quantities that some point has, and that of the ranking if it only takes longer runs.
pub fn shown(results: &Results) -> Vec<&Head> {
    let is_known = |point: &Point, head: &Head| {
        let is_short = head.name == results.by && point.requests_missing.contains_key(&head.name);
        is_short || point.quantities.get(&head.name).is_some_and(Option::is_some)
    };
    let all = results.quantities.iter();
    all.filter(|head| results.points.iter().any(|point| is_known(point, head))).collect()
}

fn ranking(results: &Results, top: usize, tone: ColorMode) -> String {
    let (names, heads) = (short_names(results), shown(results));
    let mut head = vec![("", Align::Right)];
    head.extend(names.iter().map(|name| (name.as_str(), Align::Left)));
    head.extend(heads.iter().map(|head| (head.name.as_str(), Align::Right)));
    head.push(("", Align::Left));
    let mut table = Table::new(&head, tone);
    for point in in_order(results).into_iter().take(top) {
        table.row(&row(results, point, &heads));
    }
    table.to_string()
}

/// The points by rank; those without one at the end.
pub fn in_order(results: &Results) -> Vec<&Point> {
    let mut points: Vec<&Point> = results.points.iter().collect();
    points.sort_by_key(|point| (point.rank.is_none(), point.rank));
    points
}

fn row(results: &Results, point: &Point, heads: &[&Head]) -> Vec<String> {
    let mut row = vec![point.rank.map_or(String::from("-"), |rank| rank.to_string())];
    let names = results.factors.iter().zip(&point.levels);
    row.extend(names.map(|(factor, &level)| factor.levels[level].name.clone()));
    row.extend(heads.iter().map(|head| figure(point, head)));
    row.push(mark(results, point));
    row
}

/// What is special about a point, in words.
pub fn mark(results: &Results, point: &Point) -> String {
    let mut marks = Vec::new();
    if point.levels.iter().all(|&level| level == 0) {
        marks.push("base");
    }
    if point.pareto {
        marks.push("pareto");
    }
    // Where all points are alike, one note replaces the marks.
    if point.volatile_cache && results.points.iter().any(|other| !other.volatile_cache) {
        marks.push("volatile");
    }
    if point.overloaded {
        marks.push("overloaded");
    }
    if point.error.is_some() {
        marks.push("failed");
    } else if point.runs.len() < results.seeds.len() {
        marks.push("not run");
    }
    marks.join(", ")
}

fn figure(point: &Point, head: &Head) -> String {
    let unit = Unit::by_symbol(&head.unit).unwrap_or(Unit::Plain);
    let chance = if point.unresolved.contains(&head.name) { " ?" } else { "" };
    let value = point.quantities.get(&head.name).copied().flatten();
    value.map_or(String::from("-"), |value| format!("{}{chance}", unit.show(value)))
}

fn notes(results: &Results, top: usize, width: usize) -> String {
    let mut notes = Vec::new();
    let more = results.points.len().saturating_sub(top);
    if more > 0 {
        notes.push(format!("{more} more; --top shows them, and compare.csv has all"));
    }
    if results.points.iter().any(|point| !point.unresolved.is_empty()) {
        notes.push(
            "? little more than chance: fewer than ten requests are slower, or drives still use up \
            erased blocks; run longer"
                .to_owned(),
        );
    }
    if results.points.iter().any(|point| point.overloaded) {
        notes.push(
            "overloaded: slower than requests fall due; latencies grow with the length of the run".to_owned(),
        );
    }
    notes.extend(tied(results));
    notes.extend(unmeasured(results));
    notes.extend(volatile(results));
    let is_done = |point: &Point| {
        let is_whole = point.error.is_none() && point.runs.len() == results.seeds.len();
        is_whole && !point.requests_missing.contains_key(&results.by)
    };
    if results.points.iter().any(is_done) && results.points.iter().all(|point| point.rank.is_none()) {
        notes.push(format!("no run has {}: rank by something else, with --by", results.by));
    }
    notes.iter().map(|note| wrapped("", note, width)).collect()
}

/// The note of several points that share the first rank: by that quantity none of them is the best.
pub fn tied(results: &Results) -> Option<String> {
    let first = results.points.iter().filter(|point| point.rank == Some(1)).count();
    let ranked = results.points.iter().filter(|point| point.rank.is_some()).count();
    let which = if first == ranked { "all".to_owned() } else { first.to_string() };
    let other = shown(results).into_iter().find(|head| head.name != results.by && varies(results, head));
    let advice =
        other.map_or(String::new(), |head| format!(": rank by another, such as --by '{}'", head.name));
    (first > 1).then(|| format!("{which} points are as good as each other in {}{advice}", results.by))
}

/// Whether a quantity differs between points by more than a hundredth.
pub fn varies(results: &Results, head: &Head) -> bool {
    let values = || results.points.iter().filter_map(|point| *point.quantities.get(&head.name)?);
    let (least, most) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    most - least > 0.01 * most.abs().max(least.abs())
}

/// The note of points without a rank, because no request of them is beyond the percentile of the ranking.
pub fn unmeasured(results: &Results) -> Option<String> {
    let missing = results.points.iter().filter_map(|point| point.requests_missing.get(&results.by));
    let (points, most) = (missing.clone().count() as u64, missing.max()?);
    let kind = Quantity::parse(&results.by).map_or(String::from("all"), |by| by.kind().to_owned());
    let requests = if kind == "all" { String::new() } else { format!(" of kind '{kind}'") };
    Some(format!(
        "{} without a rank: {} is not measured there, because no request is beyond it; it takes {most} more \
         {}{requests} in a run, at least: raise run.requests or run.duration",
        counted(points),
        results.by,
        plural(*most, "request"),
    ))
}

/// The footnote of latencies of writes that a volatile cache acknowledges; none if there are no such
/// latencies in the table.
pub fn volatile(results: &Results) -> Option<String> {
    let is_on_writes = |head: &Head| head.name.ends_with("(write)") || head.name.ends_with("(all)");
    let volatile = results.points.iter().filter(|point| point.volatile_cache).count();
    if volatile == 0 || !shown(results).into_iter().any(is_on_writes) {
        return None;
    }
    let all = volatile == results.points.len();
    Some(format!("{}{VOLATILE}", if all { "" } else { "volatile: " }))
}

fn title(effects: &Effects) -> String {
    let noise = match effects.noise {
        Some(noise) => format!(", noise of a seed {:.1} %", noise * 100.0),
        None => String::new(),
    };
    format!(
        "effects on {}, as ratios; up to {:.1} % is none{noise}",
        effects.quantity,
        effects.tolerance * 100.0
    )
}

/// A ratio in at most four digits.
pub fn ratio(ratio: Option<f64>) -> String {
    ratio.map_or(String::from("-"), |ratio| match ratio {
        ratio if ratio >= 100.0 => format!("{ratio:.0}"),
        ratio if ratio >= 10.0 => format!("{ratio:.1}"),
        ratio => format!("{ratio:.2}"),
    })
}

fn mains(results: &Results, effects: &Effects, tone: ColorMode) -> String {
    let right = |title| (title, Align::Right);
    let head = [
        ("factor", Align::Left),
        right("alone"),
        right("in company"),
        right("average"),
        right("min"),
        right("max"),
    ];
    let mut table = Table::new(&head, tone);
    for main in &effects.mains {
        let Main { alone, in_company, average, least, most, .. } = main;
        let mut row = vec![step(results, main.factor, main.level)];
        row.extend([alone, in_company, average, least, most].map(|value| ratio(*value)));
        table.row(&row);
    }
    table.to_string()
}

/// `rate 20000 -> 40000`; of a technique that is off or on its name.
pub fn step(results: &Results, factor: usize, level: usize) -> String {
    let (factor, name) = (&results.factors[factor], &short_names(results)[factor]);
    let [from, to] = [0, level].map(|level| factor.levels[level].name.as_str());
    if (from, to) == ("off", "on") { name.clone() } else { format!("{name} {from} -> {to}") }
}

/// The pairs that do not just add, the strongest interaction first, and how many there are of the others.
fn pairs(results: &Results, effects: &Effects, width: usize, tone: ColorMode) -> String {
    let judged: Vec<&Pair> = effects.pairs.iter().filter(|pair| pair.verdict.is_some()).collect();
    let strength = |pair: &Pair| pair.interaction.or(pair.average).map_or(0.0, |ratio| ratio.ln().abs());
    let mut special: Vec<&Pair> =
        judged.iter().copied().filter(|pair| pair.verdict != Some(Verdict::Add)).collect();
    special.sort_by(|a, b| strength(b).total_cmp(&strength(a)));
    let right = |title| (title, Align::Right);
    let left = |title| (title, Align::Left);
    let head = [left("pair"), left(""), right("alone"), right("alone"), right("together"), left("")];
    let mut table = Table::new(&head, tone);
    for pair in special.iter().take(PAIRS) {
        let [a, b] = [0, 1].map(|side| step(results, pair.factors[side], pair.levels[side]));
        let verdict = pair.verdict.map_or("", Verdict::word);
        table.row(&[a, b, ratio(pair.alone[0]), ratio(pair.alone[1]), ratio(pair.together), verdict.into()]);
    }
    let mut text = String::new();
    if !table.is_empty() {
        text += &format!("\n{table}\n");
        let met = |verdict: &Verdict| special.iter().take(PAIRS).any(|pair| pair.verdict == Some(*verdict));
        let all = [Verdict::Overlap, Verdict::Fight, Verdict::Help];
        let legend: Vec<&str> = all.into_iter().filter(met).map(Verdict::meaning).collect();
        text += &wrapped("", &legend.join("; "), width);
    }
    let (added, hidden) = (judged.len() - special.len(), special.len().saturating_sub(PAIRS));
    let mut rest = Vec::new();
    if hidden > 0 {
        rest.push(format!("{hidden} more pairs do not add: see compare.json"));
    }
    if added > 0 {
        let other = if special.is_empty() { "" } else { "other " };
        let pairs = if added == 1 { "pair adds" } else { "pairs add" };
        rest.push(format!("{added} {other}{pairs}: together they do what both do alone"));
    }
    rest.extend(unjudged(results, effects));
    for line in rest {
        text += &wrapped("", &line, width);
    }
    text
}

/// The line that counts pairs without a verdict and gives the reason; none if every pair has one.
pub fn unjudged(results: &Results, effects: &Effects) -> Option<String> {
    let pairs = match effects.pairs.iter().filter(|pair| pair.verdict.is_none()).count() {
        0 => return None,
        1 => String::from("1 pair is"),
        several => format!("{several} pairs are"),
    };
    let is_run = results.points.iter().all(|point| point.error.is_none());
    let why = match &results.design {
        design if !design.impossible.is_empty() => {
            "the base point, both techniques alone and both together are not all possible"
        }
        design if design.kind != "full" => "this part of the grid is too small for them",
        design if design.missing > 0 || !is_run => "points are missing",
        _ => "not all points have the figure",
    };
    Some(format!("{pairs} not judged: {why}"))
}

fn failures(results: &Results, width: usize, tone: ColorMode) -> String {
    let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
    for error in results.points.iter().filter_map(|point| point.error.as_deref()) {
        *reasons.entry(error).or_default() += 1;
    }
    let mut text = String::new();
    for (why, points) in reasons {
        text += &wrapped(
            &format!("{} at {}: ", tone.paint(TextRole::Warning, "failed"), counted(points)),
            why,
            width,
        );
    }
    for left_out in &results.design.impossible {
        let lead = format!("{} {}: ", tone.paint(TextRole::Warning, "left out"), counted(left_out.points));
        let why = left_out.why.replace('\n', "; ");
        text += &wrapped(&lead, &format!("{}: {why}", left_out.settings.join(" and ")), width);
    }
    for Ineffective { what, points } in &results.design.ineffective {
        let lead = format!("{} at {}: ", tone.paint(TextRole::Warning, "without effect"), counted(*points));
        text += &wrapped(&lead, what, width);
    }
    if text.is_empty() { text } else { format!("\n{text}") }
}

/// The columns of the effects of factors.
const MAINS: &str = "alone: at the base point; in company: with every other factor at its last level; \
    average, min, max: over all points";

/// Pairs that a page lists.
const PAIRS: usize = 20;
