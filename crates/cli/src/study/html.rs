//! The page of studies: everything that papers reported, and ours beside it.

use super::Entry;
use super::page::{claimed, verdict};
use crate::format::figure as shown;
use crate::html::Page;
use crate::html::markup::{Column, Table, chart, escape, folded};
use std::collections::BTreeMap;
use tailcut_base::quantity::show_number_of;
use tailcut_study::claims::{Claims, Paper, Summary};
use tailcut_study::{Basis, MAIN, Row};

/// Up to this relative difference a figure counts as equal to the paper's.
const NEAR: f64 = 0.1;
/// Up to this number, figures that a paper does not give are shown unfolded.
const FOLDED: usize = 24;
/// Charts of one study at most: the largest groups of rows.
const CHARTS: usize = 8;

/// The page of these studies.
#[expect(clippy::missing_panics_doc, reason = "plain data becomes JSON")]
pub fn page(studies: &[tailcut_study::Table]) -> Page {
    let data = serde_json::to_string(studies).expect("plain data");
    let title = match studies {
        [one] => format!("tailcut study {}", one.study),
        _ if has_ratios(studies) => format!("tailcut: {} studies beside their papers", studies.len()),
        _ => format!("tailcut: {} studies", studies.len()),
    };
    let mut page = Page::new(&title, lead(studies), data);
    let claims = Summary::of(studies);
    if claims.all().counted() > 0 {
        page.section("Claims of the papers", claims_of(studies, &claims));
    }
    if has_ratios(studies) {
        page.section("All figures", overview(studies));
    }
    for (number, study) in studies.iter().enumerate() {
        page.section_named(&study.study, &heading(study), section(number, study));
    }
    page
}

/// Whether there is a paper to be compared with.
fn has_ratios(studies: &[tailcut_study::Table]) -> bool {
    studies.iter().any(|study| study.rows.iter().any(|row| row.ratio.is_some()))
}

fn lead(studies: &[tailcut_study::Table]) -> String {
    let rows = || studies.iter().flat_map(|study| &study.rows);
    let ratios: Vec<f64> = rows().filter_map(compared).collect();
    let within = |share: f64| ratios.iter().filter(|ratio| (*ratio - 1.0).abs() <= share).count();
    let claims = Claims::count(rows().filter(|row| row.is_counted()).map(|row| row.holds()));
    let tiles = [
        (rows().count(), "figures measured"),
        (ratios.len(), "of which a paper gives"),
        (within(NEAR), "within 10 % of the paper"),
        (claims.counted(), "claims that count"),
        (claims.hold(), "of these hold"),
    ];
    let shown = if ratios.is_empty() { 1 } else { tiles.len() };
    let tiles: String = tiles[..shown]
        .iter()
        .map(|(count, what)| format!("<li><b>{count}</b><span>{what}</span></li>"))
        .collect();
    let forms = match (studies.iter().all(|study| study.quick), studies.iter().any(|study| study.quick)) {
        (true, true) => "quick forms: fewer cases and shorter runs",
        (false, true) => "some in their quick form",
        _ => "full forms",
    };
    let first = studies.first();
    format!(
        "<p class=\"soft\">tailcut {}, seed {}; {forms}.</p>\n<ul class=\"tiles\">{tiles}</ul>\n",
        escape(first.map_or("", |study| &*study.version)),
        first.map_or(0, |study| study.seed)
    )
}

/// Ours over the paper's, where agreement would show something.
fn compared(row: &Row) -> Option<f64> {
    row.ratio.filter(|_| row.basis != Some(Basis::Input))
}

/// The claims that do not hold, of all papers, below how many do.
fn claims_of(studies: &[tailcut_study::Table], summary: &Summary) -> String {
    let head = [("paper", Column::Text), ("claims", Column::Number), ("hold", Column::Number)];
    let mut shares = Table::new("Claims that hold", &head);
    let mut line = |name: &str, claims: Claims| {
        let share = claims.share().map_or(String::new(), |share| format!(" ({:.0} %)", share * 100.0));
        shares.row(&[name.into(), claims.counted().to_string(), format!("{}{share}", claims.hold())]);
    };
    summary.papers().iter().for_each(|of| line(of.paper().name(), of.claims()));
    line("all", summary.all());
    let head = [
        ("study", Column::Text),
        ("case", Column::Text),
        ("quantity", Column::Text),
        ("paper", Column::Number),
        ("measured", Column::Number),
        ("cause", Column::Words),
    ];
    let mut failing = Table::new("Claims that do not hold", &head);
    for study in studies.iter().filter(|study| Paper::of(&study.study).is_some()) {
        for row in study.rows.iter().filter(|row| row.is_counted() && row.holds() != Some(true)) {
            failing.row(&[
                study.study.clone(),
                row.case.clone(),
                row.quantity.clone(),
                paper_cell(row),
                measured_cell(row),
                row.note.clone().unwrap_or_default(),
            ]);
        }
    }
    format!("{}<h3>Claims that do not hold</h3>\n{}", shares.html(), failing.html())
}

/// The paper's figure in its unit, as [`claimed`] marks it; a dash without one.
pub fn paper_cell(row: &Row) -> String {
    let figure = |value| claimed(shown(value, &row.unit), row.sense(), row.basis);
    row.paper.map_or(String::from("–"), figure)
}

/// Our figure in its unit; a dash without one.
pub fn measured_cell(row: &Row) -> String {
    row.measured.map_or(String::from("–"), |value| shown(value, &row.unit))
}

/// Whether the claim holds, in a word; which reading it is, where that is not the main one.
pub fn verdict_cell(row: &Row) -> String {
    match verdict(row).as_str() {
        "-" => "–".into(),
        word if row.reading() == MAIN => word.into(),
        word => format!("{word} {}", row.reading()),
    }
}

fn overview(studies: &[tailcut_study::Table]) -> String {
    let caption = "A dot for each figure that a paper gives: ours over the paper's. Between the dashed lines \
        they differ by no more than a quarter (±25 %); a bound may hold outside of them.";
    let mut html = chart("ratios", "Ours over the papers'", caption, &[], "");
    let head = [
        ("study", Column::Text),
        ("what it shows", Column::Words),
        ("figures", Column::Number),
        ("of a paper", Column::Number),
        ("within 10 %", Column::Number),
        ("claims", Column::Number),
        ("hold", Column::Number),
    ];
    let mut table = Table::new("Studies", &head);
    for study in studies {
        let ratios: Vec<f64> = study.rows.iter().filter_map(compared).collect();
        let within = |share: f64| ratios.iter().filter(|ratio| (*ratio - 1.0).abs() <= share).count();
        table.row(&[
            study.study.clone(),
            Entry::by_id(&study.study).map_or(String::new(), |known| known.title().into()),
            study.rows.len().to_string(),
            ratios.len().to_string(),
            within(NEAR).to_string(),
            Claims::of([study]).counted().to_string(),
            Claims::of([study]).hold().to_string(),
        ]);
    }
    html += &table.html();
    html
}

fn heading(study: &tailcut_study::Table) -> String {
    Entry::by_id(&study.study)
        .map_or_else(|| study.study.clone(), |known| format!("{}: {}", study.study, known.title()))
}

fn section(number: usize, study: &tailcut_study::Table) -> String {
    let source = Entry::by_id(&study.study).map_or("", |known| known.source());
    let form = if study.quick { "; quick form" } else { "" };
    let mut html = format!("<p class=\"soft\">{}; seed {}{form}</p>\n", escape(source), study.seed);
    html += &study
        .notes
        .iter()
        .map(|note| format!("<p class=\"soft\">{}</p>\n", escape(note)))
        .collect::<String>();
    html += "<div class=\"charts\">\n";
    for (quantity, unit) in groups(study) {
        let attributes =
            [("study", number.to_string()), ("quantity", quantity.into()), ("unit", unit.into())];
        let attributes: Vec<(&str, &str)> =
            attributes.iter().map(|(key, value)| (*key, value.as_str())).collect();
        html += &chart("figures", quantity, "", &attributes, "");
    }
    html += "</div>\n";
    html + &table(study)
}

/// The quantities of which there are several rows with a figure, in the order of the rows; of many those that
/// a paper gives, then the largest.
fn groups(study: &tailcut_study::Table) -> Vec<(&str, &str)> {
    let mut known: BTreeMap<(&str, &str), (bool, usize)> = BTreeMap::new();
    let mut order: Vec<(&str, &str)> = Vec::new();
    for row in study.rows.iter().filter(|row| row.measured.is_some()) {
        let group = (row.quantity.as_str(), &*row.unit);
        let (is_given, count) = known.entry(group).or_default();
        (*is_given, *count) = (*is_given || row.paper.is_some(), *count + 1);
        if !order.contains(&group) {
            order.push(group);
        }
    }
    order.retain(|group| known[group].1 > 1);
    let mut first = order.clone();
    first.sort_by_key(|group| std::cmp::Reverse(known[group]));
    first.truncate(CHARTS);
    order.retain(|group| first.contains(group));
    order
}

/// What the paper gives, and all else folded away where it is long; then the notes.
fn table(study: &tailcut_study::Table) -> String {
    let mut notes: Vec<&str> = Vec::new();
    for note in study.rows.iter().filter_map(|row| row.note.as_deref()) {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    let (given, others): (Vec<&Row>, Vec<&Row>) = study.rows.iter().partition(|row| row.paper.is_some());
    let html = if others.len() <= FOLDED || given.is_empty() && others.len() <= 2 * FOLDED {
        rows("Figures", study, &study.rows.iter().collect::<Vec<_>>(), &notes)
    } else {
        let shown = if given.is_empty() { String::new() } else { rows("Figures", study, &given, &notes) };
        let which = match Entry::heads(&study.study) {
            _ if given.is_empty() => "",
            ["paper", _] => " that the paper does not give",
            _ => " that were not measured",
        };
        let title = format!("{}{which}", show_number_of(others.len() as u64, "figure"));
        shown + &folded(&title, &rows("Further figures", study, &others, &notes))
    };
    let items: String = notes.iter().map(|note| format!("<li>{}</li>\n", escape(note))).collect();
    let list = if items.is_empty() { items } else { format!("<ol class=\"notes\">\n{items}</ol>\n") };
    html + &list
}

/// A table of rows; screen readers name it `what` of the study.
fn rows(what: &str, study: &tailcut_study::Table, rows: &[&Row], notes: &[&str]) -> String {
    let number = |title| (title, Column::Number);
    let [given, ours] = Entry::heads(&study.study);
    let head = [
        ("case", Column::Text),
        ("quantity", Column::Text),
        number(given),
        number(ours),
        number("ratio"),
        ("holds", Column::Text),
        number("limit"),
        number("note"),
    ];
    let mut table = Table::new(&format!("{what} of {}", study.study), &head);
    for row in rows {
        let show =
            |value: Option<f64>| value.map_or(String::from("–"), |value| escape(&shown(value, &row.unit)));
        let ratio = row.ratio.map_or(String::from("–"), |ratio| format!("{ratio:.2}"));
        let note = row.note.as_deref().and_then(|note| notes.iter().position(|other| *other == note));
        table.row_of(&[
            (escape(&row.case), ""),
            (escape(&row.quantity), ""),
            (escape(&paper_cell(row)), ""),
            (escape(&measured_cell(row)), ""),
            (ratio, if row.holds() == Some(false) { "off" } else { "" }),
            (escape(&verdict_cell(row)), ""),
            (show(row.limit), ""),
            (note.map_or(String::new(), |place| format!("[{}]", place + 1)), ""),
        ]);
    }
    table.html()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn study(id: &str) -> tailcut_study::Table {
        let row = |case: &str, gigabytes: f64| Row::new(case, "bandwidth", "B/s", gigabytes * 1e9);
        let rows = vec![
            row("8 chips", 1.05).paper(1e9),
            row("16 chips", 3.0).paper(1e9).note("a <wider> bus"),
            Row::new("all", "gain", "B/s", 1e9),
        ];
        tailcut_study::Table::new(id, 1, true, rows).notes(vec!["short & quick".into()])
    }

    #[test]
    fn figures_stand_beside_the_papers_with_their_notes() {
        let html = page(&[study("none-1")]).render();
        assert!(html.contains(
            "<td class=\"r\">1.00 GB/s</td><td class=\"r\">3.00 GB/s</td><td class=\"r \
                off\">3.00</td><td>no</td>"
        ));
        assert!(html.contains("<p class=\"soft\">short &amp; quick</p>"));
        assert!(html.contains("<li>a &lt;wider&gt; bus</li>"));
        assert!(html.contains("<b>1</b><span>within 10 % of the paper</span>"));
    }

    #[test]
    fn claims_that_do_not_hold_come_first() {
        let html = page(&[study("swan-0")]).render();
        let cause = "<td>16 chips</td><td>bandwidth</td><td class=\"r\">1.00 GB/s</td><td class=\"r\">3.00 \
            GB/s</td>\
                     <td class=\"words\">a &lt;wider&gt; bus</td>";
        assert!(html.contains(cause) && html.contains("<td class=\"r\">1 (50 %)</td>"), "{html}");
        let beyond = page(&[study("beyond-0")]).render();
        assert!(!beyond.contains("Claims that do not hold"), "other studies hold no paper to its claims");
    }

    #[test]
    fn quantities_with_several_rows_have_a_chart() {
        assert_eq!(groups(&study("none-1")), [("bandwidth", "B/s")]);
    }
}
