//! The page of a comparison: which point is best, and what each technique does alone and in company.

use crate::compare::cells::counted;
use crate::compare::page::{
    in_order, mark, ratio, short_names, shown, step, tied, unjudged, unmeasured, varies, volatile,
};
use crate::compare::results::{Effects, Head, Ineffective, Pair, Point, Results, Verdict};
use crate::html::Page;
use crate::html::markup::{Column, Table, chart, escape, folded};
use crate::sweep::Unit;

/// Rows of the ranking on the page; the JSON beside it has all.
const ROWS: usize = 500;
/// Quantities whose effects are drawn.
const DRAWN: usize = 4;

/// The page of a comparison.
#[expect(clippy::missing_panics_doc, reason = "plain data becomes JSON")]
pub fn page(results: &Results) -> Page {
    let data = serde_json::to_string(results).expect("plain data");
    let names = short_names(results);
    let title = format!("tailcut compare: {} by {}", names.join(" x "), results.by);
    let mut page = Page::new(&title, lead(results), data);
    let is_ranked = results.points.iter().any(|point| point.rank.is_some());
    let charts = if is_ranked { scatter(results) + &curves(results) } else { String::new() };
    page.section("Ranking", charts + &ranking(results));
    if !results.effects.is_empty() {
        page.section("Alone and in company", effects(results));
    }
    let pairs: String = results.effects.iter().take(DRAWN).map(|of| pairs(results, of)).collect();
    if !pairs.is_empty() {
        page.section("Which get along", pairs);
    }
    let failures = failures(results);
    if !failures.is_empty() {
        page.section("Left out, or without effect", failures);
    }
    let scenario = format!("<pre tabindex=\"0\">{}</pre>\n", escape(&results.scenario));
    page.section("Base scenario", folded("The complete scenario at the base point", &scenario));
    page
}

fn lead(results: &Results) -> String {
    let levels: Vec<String> = results.factors.iter().map(|factor| factor.levels.len().to_string()).collect();
    let seeds = match results.seeds.len() {
        1 => format!("seed {}", results.seeds[0]),
        several => format!("{several} seeds each"),
    };
    let design = &results.design;
    let part = if results.points.len() as u64 == design.grid { "" } else { " of the grid" };
    let head = results.quantities.iter().find(|head| head.name == results.by);
    let value = |point: &Point| head.map_or(String::from("–"), |head| of(point, head));
    let best = in_order(results).into_iter().find(|point| point.rank == Some(1));
    let base = results.points.iter().find(|point| point.levels.iter().all(|&level| level == 0));
    let mut tiles = vec![(results.points.len().to_string(), format!("points{part}, {}", levels.join(" x ")))];
    tiles.extend(best.map(|point| (value(point), format!("{} of the best", results.by))));
    tiles.extend(base.map(|point| (value(point), String::from("at the base point"))));
    tiles.extend(gain(results, best, base));
    let tiles: String = tiles
        .iter()
        .map(|(value, what)| format!("<li><b>{}</b><span>{}</span></li>", escape(value), escape(what)))
        .collect();
    let best = match (tied(results), best) {
        (Some(note), _) => format!("<p>No point is best: {}.</p>\n", escape(&note)),
        (None, Some(point)) => format!("<p>Best: <b>{}</b></p>\n", escape(&settings(results, point))),
        (None, None) => String::new(),
    };
    let version = escape(&results.version);
    format!(
        "<p class=\"soft\">tailcut {version}, {seeds}; ranked by {}.</p>\n{best}<ul \
            class=\"tiles\">{tiles}</ul>\n",
        escape(&results.by)
    )
}

/// How much better the best point is than the base point.
fn gain(results: &Results, best: Option<&Point>, base: Option<&Point>) -> Option<(String, String)> {
    let value = |point: &Point| point.quantities.get(&results.by).copied().flatten();
    let ratio = value(best?)? / value(base?)?;
    ratio.is_finite().then(|| (format!("{ratio:.2} x"), String::from("best over base")))
}

fn settings(results: &Results, point: &Point) -> String {
    let names = short_names(results);
    let named = names.iter().zip(&results.factors).zip(&point.levels);
    named
        .map(|((name, factor), &level)| format!("{name} {}", factor.levels[level].name))
        .collect::<Vec<_>>()
        .join(", ")
}

/// A figure of a point.
fn of(point: &Point, head: &Head) -> String {
    let unit = Unit::by_symbol(&head.unit).unwrap_or(Unit::Plain);
    let chance = if point.unresolved.contains(&head.name) { "~" } else { "" };
    let value = point.quantities.get(&head.name).copied().flatten();
    value.map_or(String::from("–"), |value| format!("{chance}{}", unit.show(value)))
}

fn ranking(results: &Results) -> String {
    let (names, heads) = (short_names(results), shown(results));
    let mut head = vec![("rank", Column::Number)];
    head.extend(names.iter().map(|name| (name.as_str(), Column::Text)));
    head.extend(heads.iter().map(|head| (head.name.as_str(), Column::Number)));
    head.push(("remarks", Column::Text));
    let mut table = Table::new("Ranking", &head);
    for point in in_order(results).into_iter().take(ROWS) {
        let mut row = vec![point.rank.map_or(String::from("–"), |rank| rank.to_string())];
        let levels = results.factors.iter().zip(&point.levels);
        row.extend(levels.map(|(factor, &level)| factor.levels[level].name.clone()));
        row.extend(heads.iter().map(|head| of(point, head)));
        row.push(mark(results, point));
        table.row(&row);
    }
    let more = match results.points.len().saturating_sub(ROWS) {
        0 => String::new(),
        more => format!("<p class=\"soft\">{more} more in the JSON beside this page.</p>\n"),
    };
    let note =
        |note: Option<String>| note.map_or(String::new(), |note| format!("<p class=\"soft\">{note}.</p>\n"));
    table.html() + &note(unmeasured(results)) + &note(volatile(results)) + &more
}

/// Two quantities of all points; the second one is chosen by buttons.
fn scatter(results: &Results) -> String {
    let others: Vec<&Head> = shown(results).into_iter().filter(|head| head.name != results.by).collect();
    let asked_for = results.pareto.as_ref().map(|[_, second]| second.as_str());
    // A quantity with one value for all points spans no axis.
    let varied = others.iter().find(|head| varies(results, head)).or(others.first());
    let others: Vec<&str> = others.iter().map(|head| head.name.as_str()).collect();
    let Some(second) = asked_for.or(varied.map(|head| head.name.as_str())) else {
        return String::new();
    };
    let button = |name: &&str| {
        let (name, pressed) = (escape(name), *name == second);
        format!("<button type=\"button\" value=\"{name}\" aria-pressed=\"{pressed}\">{name}</button>")
    };
    let buttons: String = others.iter().map(button).collect();
    let inside = format!(
        "<div class=\"choice\" data-sets=\"second\" role=\"group\" aria-label=\"Second \
            quantity\">{buttons}</div>\n"
    );
    let caption = "Each point of the grid; filled: no other point is better in both.";
    let title = format!("{} against another quantity", results.by);
    chart("scatter", &title, caption, &[("second", second)], &inside)
}

fn curves(results: &Results) -> String {
    let percentiles = |head: &&Head| head.name.starts_with('p') && head.name.contains('(');
    if results.quantities.iter().filter(percentiles).count() < 3 {
        return String::new();
    }
    let caption = "The base point and the best ones, at the percentiles that were asked for.";
    chart("compared", "Latency by percentile", caption, &[], "")
}

fn effects(results: &Results) -> String {
    let mut html = String::from(
        "<p class=\"soft\">A ratio is that of the quantity with the technique over without it. Alone: at the \
         base point. In company: with all others at their last level. The bar spans all of the grid. Between \
         the dashed lines there is no difference that means something.</p>\n<div class=\"charts\">\n",
    );
    for of in results.effects.iter().take(DRAWN) {
        html += &chart("effects", &of.quantity, "", &[("quantity", &of.quantity)], "");
    }
    html += "</div>\n";
    for of in &results.effects {
        html += &folded(&format!("Effects on {} in figures", of.quantity), &mains(results, of));
    }
    html
}

fn mains(results: &Results, of: &Effects) -> String {
    let number = |title| (title, Column::Number);
    let head = [
        ("technique", Column::Text),
        number("alone"),
        number("in company"),
        number("average"),
        number("min"),
        number("max"),
    ];
    let mut table = Table::new(&format!("Effects on {}", of.quantity), &head);
    for main in &of.mains {
        let mut row = vec![step(results, main.factor, main.level)];
        let ratios = [main.alone, main.in_company, main.average, main.least, main.most];
        row.extend(ratios.map(ratio));
        table.row(&row);
    }
    table.html()
}

/// The pairs that do not just add.
fn pairs(results: &Results, of: &Effects) -> String {
    if of.pairs.is_empty() {
        return String::new();
    }
    let judged = || of.pairs.iter().filter(|pair| pair.verdict.is_some());
    let mut special: Vec<&Pair> = judged().filter(|pair| pair.verdict != Some(Verdict::Add)).collect();
    let strength = |pair: &Pair| pair.interaction.or(pair.average).map_or(0.0, |ratio| ratio.ln().abs());
    special.sort_by(|a, b| strength(b).total_cmp(&strength(a)));
    let soft = |line: &str| format!("<p class=\"soft\">{line}</p>\n");
    let unjudged = unjudged(results, of).map_or(String::new(), |line| soft(&line));
    let mut html = format!("<h3>{}</h3>\n", escape(&of.quantity));
    if special.is_empty() {
        let which = if unjudged.is_empty() { "All" } else { "All judged" };
        return match judged().count() {
            0 => html + &unjudged,
            _ => {
                html + &format!("<p>{which} pairs add: together they do what both do alone.</p>\n")
                    + &unjudged
            }
        };
    }
    let text = |title| (title, Column::Text);
    let number = |title| (title, Column::Number);
    let head = [
        text("one"),
        text("the other"),
        number("alone"),
        number("alone"),
        number("together"),
        number("interaction"),
        text("they"),
    ];
    let mut table = Table::new(&format!("Pairs by {}", of.quantity), &head);
    for pair in &special {
        let [a, b] = [0, 1].map(|side| step(results, pair.factors[side], pair.levels[side]));
        let verdict = pair.verdict.map_or("", Verdict::word);
        table.row(&[
            a,
            b,
            ratio(pair.alone[0]),
            ratio(pair.alone[1]),
            ratio(pair.together),
            ratio(pair.interaction.or(pair.average)),
            verdict.into(),
        ]);
    }
    html += &table.html();
    let others = judged().count() - special.len();
    if others > 0 {
        let pairs = if others == 1 { "other pair adds" } else { "other pairs add" };
        html += &soft(&format!("{others} {pairs}: together they do what both do alone."));
    }
    html + &unjudged
}

fn failures(results: &Results) -> String {
    let mut items = Vec::new();
    for point in results.points.iter().filter(|point| point.error.is_some()) {
        let why = point.error.as_deref().unwrap_or_default();
        items.push(format!("failed: {}: {}", settings(results, point), why));
    }
    for left_out in &results.design.impossible {
        items.push(format!(
            "{}: {}: {}",
            counted(left_out.points),
            left_out.settings.join(" and "),
            left_out.why
        ));
    }
    for Ineffective { what, points } in &results.design.ineffective {
        items.push(format!("without effect at {}: {what}", counted(*points)));
    }
    if results.design.missing > 0 {
        items.push(format!("{} not run: the comparison was interrupted", counted(results.design.missing)));
    }
    let items: String = items.iter().map(|item| format!("<li>{}</li>\n", escape(item))).collect();
    if items.is_empty() { items } else { format!("<ul class=\"findings\">\n{items}</ul>\n") }
}
