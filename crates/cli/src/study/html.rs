//! The page of studies: everything that papers reported, and ours beside it.

use super::Entry;
use super::page::{claimed, verdict};
use crate::format::figure as shown;
use crate::html::Page;
use crate::html::markup::{Column, Table, chart, escape, figure, folded};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tailcut_sim::study::claims::{Claims, Paper, Summary};
use tailcut_sim::study::{Basis, MAIN, Sense};

/// A finished study as `study run --json` writes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finished {
    /// Its name.
    pub study: String,
    /// Version of the program.
    pub version: String,
    /// Seed of all runs.
    pub seed: u64,
    /// Whether this is the short form.
    pub quick: bool,
    /// Notes on all rows, each as a sentence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The rows.
    pub rows: Vec<Row>,
}

/// One figure, in the paper and here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The case that was run, in words.
    pub case: String,
    /// The measured quantity.
    pub quantity: String,
    /// Its unit.
    pub unit: String,
    /// The figure of the paper.
    pub paper: Option<f64>,
    /// How it is to be compared.
    sense: Option<Sense>,
    /// Whether it is a change.
    effect: bool,
    /// Which reading of the paper it belongs to.
    reading: String,
    /// Whether the claim counts.
    counted: bool,
    /// Where that comes from, if the paper does not print it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basis: Option<Basis>,
    /// Our figure.
    pub measured: Option<f64>,
    /// Ours over the paper's; of an effect, our change over the paper's.
    ratio: Option<f64>,
    /// Whether the claim holds.
    holds: Option<bool>,
    /// What physics allows.
    limit: Option<f64>,
    /// Why the figures differ, or what a reader should know.
    pub note: Option<String>,
}

/// Up to this relative difference a figure counts as equal to the paper's.
const NEAR: f64 = 0.1;
/// Up to this number, figures that a paper does not give are shown unfolded.
const FOLDED: usize = 24;
/// Charts of one study at most: the largest groups of rows.
const CHARTS: usize = 8;

/// The page of these studies.
pub fn page(studies: &[Finished]) -> Page {
    let data = serde_json::to_string(studies).expect("plain data");
    let title = match studies {
        [one] => format!("tailcut study {}", one.study),
        _ if has_ratios(studies) => format!("tailcut: {} studies beside their papers", studies.len()),
        _ => format!("tailcut: {} studies", studies.len()),
    };
    let mut page = Page::new(&title, lead(studies), data);
    let claims = summary(studies);
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
fn has_ratios(studies: &[Finished]) -> bool {
    studies.iter().any(|study| study.rows.iter().any(|row| row.ratio.is_some()))
}

fn lead(studies: &[Finished]) -> String {
    let rows = || studies.iter().flat_map(|study| &study.rows);
    let ratios: Vec<f64> = rows().filter_map(compared).collect();
    let within = |share: f64| ratios.iter().filter(|ratio| (*ratio - 1.0).abs() <= share).count();
    let claims = Claims::count(rows().filter(|row| row.counted).map(|row| row.holds));
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
        escape(first.map_or("", |study| study.version.as_str())),
        first.map_or(0, |study| study.seed)
    )
}

/// Ours over the paper's, where agreement would show something.
fn compared(row: &Row) -> Option<f64> {
    row.ratio.filter(|_| row.basis != Some(Basis::Input))
}

/// What the claims of each paper come to.
pub fn summary(studies: &[Finished]) -> Summary {
    Summary::new(|paper| {
        let of = studies.iter().filter(|study| Paper::of(&study.study) == Some(paper));
        of.fold(Claims::default(), |all, study| all.and(claims(study)))
    })
}

/// Those of one study.
pub fn claims(study: &Finished) -> Claims {
    Claims::count(study.rows.iter().filter(|row| row.counted).map(|row| row.holds))
}

/// The claims that do not hold, of all papers, below how many do.
fn claims_of(studies: &[Finished], summary: &Summary) -> String {
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
        for row in study.rows.iter().filter(|row| row.counted && row.holds != Some(true)) {
            failing.row(&[
                study.study.clone(),
                row.case.clone(),
                row.quantity.clone(),
                row.paper(),
                row.measured(),
                row.note.clone().unwrap_or_default(),
            ]);
        }
    }
    format!("{}<h3>Claims that do not hold</h3>\n{}", shares.html(), failing.html())
}

impl Row {
    /// Whether the paper has a figure to be compared with.
    pub fn is_claim(&self) -> bool {
        self.sense.is_some()
    }

    /// Whether the claim counts: it is no input, and of the main reading.
    pub fn is_counted(&self) -> bool {
        self.counted
    }

    /// Whether the claim holds; `None` if nothing could be measured.
    pub fn holds(&self) -> Option<bool> {
        self.holds
    }

    /// The paper's figure in its unit, as [`claimed`] marks it; a dash without one.
    pub fn paper(&self) -> String {
        let figure = |value| claimed(shown(value, &self.unit), self.sense, self.basis);
        self.paper.map_or(String::from("–"), figure)
    }

    /// Our figure in its unit; a dash without one.
    pub fn measured(&self) -> String {
        self.measured.map_or(String::from("–"), |value| shown(value, &self.unit))
    }

    /// Whether the claim holds, in a word; which reading it is, where that is not the main one.
    pub fn verdict(&self) -> String {
        match verdict(self.counted, self.holds).as_str() {
            "-" => "–".into(),
            word if self.reading == MAIN => word.into(),
            word => format!("{word} {}", self.reading),
        }
    }
}

fn overview(studies: &[Finished]) -> String {
    let caption = "A dot for each figure that a paper gives: ours over the paper's. Between the dashed lines they differ by less than a quarter; \
        a bound may hold outside of them.";
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
            claims(study).counted().to_string(),
            claims(study).hold().to_string(),
        ]);
    }
    html += &table.html();
    html
}

fn heading(study: &Finished) -> String {
    Entry::by_id(&study.study)
        .map_or_else(|| study.study.clone(), |known| format!("{}: {}", study.study, known.title()))
}

fn section(number: usize, study: &Finished) -> String {
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
fn groups(study: &Finished) -> Vec<(&str, &str)> {
    let mut known: BTreeMap<(&str, &str), (bool, usize)> = BTreeMap::new();
    let mut order: Vec<(&str, &str)> = Vec::new();
    for row in study.rows.iter().filter(|row| row.measured.is_some()) {
        let group = (row.quantity.as_str(), row.unit.as_str());
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
fn table(study: &Finished) -> String {
    let mut notes: Vec<&str> = Vec::new();
    for note in study.rows.iter().filter_map(|row| row.note.as_deref()) {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    let (given, others): (Vec<&Row>, Vec<&Row>) = study.rows.iter().partition(|row| row.paper.is_some());
    let html = if others.len() <= FOLDED || given.is_empty() && others.len() <= 2 * FOLDED {
        rows(study, &study.rows.iter().collect::<Vec<_>>(), &notes)
    } else {
        let shown = if given.is_empty() { String::new() } else { rows(study, &given, &notes) };
        let which = if given.is_empty() { "" } else { " that the paper does not give" };
        let title = format!("{} figures{which}", others.len());
        shown + &folded(&title, &rows(study, &others, &notes))
    };
    let items: String = notes.iter().map(|note| format!("<li>{}</li>\n", escape(note))).collect();
    let list = if items.is_empty() { items } else { format!("<ol class=\"notes\">\n{items}</ol>\n") };
    html + &list
}

fn rows(study: &Finished, rows: &[&Row], notes: &[&str]) -> String {
    let number = |title| (title, Column::Number);
    let head = [
        ("case", Column::Text),
        ("quantity", Column::Text),
        number("paper"),
        number("measured"),
        number("ratio"),
        ("holds", Column::Text),
        number("limit"),
        number("note"),
    ];
    let mut table = Table::new(&format!("Figures of {}", study.study), &head);
    for row in rows {
        let show =
            |value: Option<f64>| value.map_or(String::from("–"), |value| figure(&shown(value, &row.unit)));
        let ratio = row.ratio.map_or(String::from("–"), |ratio| format!("{ratio:.2}"));
        let note = row.note.as_deref().and_then(|note| notes.iter().position(|other| *other == note));
        table.row_of(&[
            (escape(&row.case), ""),
            (escape(&row.quantity), ""),
            (figure(&row.paper()), ""),
            (figure(&row.measured()), ""),
            (ratio, if row.holds == Some(false) { "off" } else { "" }),
            (escape(&row.verdict()), ""),
            (show(row.limit), ""),
            (note.map_or(String::new(), |place| format!("[{}]", place + 1)), ""),
        ]);
    }
    table.html()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(case: &str, quantity: &str, ratio: Option<f64>) -> Row {
        Row {
            case: case.into(),
            quantity: quantity.into(),
            unit: "B/s".into(),
            paper: ratio.map(|_| 1e9),
            sense: ratio.map(|_| Sense::Equal),
            effect: false,
            reading: MAIN.into(),
            counted: ratio.is_some(),
            basis: None,
            measured: Some(1e9 * ratio.unwrap_or(1.0)),
            ratio,
            holds: ratio.map(|ratio| ratio < 1.25),
            limit: None,
            note: ratio.filter(|ratio| *ratio > 2.0).map(|_| "a <wider> bus".into()),
        }
    }

    fn study() -> Finished {
        let rows = vec![
            row("8 chips", "bandwidth", Some(1.05)),
            row("16 chips", "bandwidth", Some(3.0)),
            row("all", "gain", None),
        ];
        Finished {
            study: "none-1".into(),
            version: "0".into(),
            seed: 1,
            quick: true,
            notes: vec!["short & quick".into()],
            rows,
        }
    }

    #[test]
    fn figures_stand_beside_the_papers_with_their_notes() {
        let html = page(&[study()]).render();
        assert!(html.contains(
            "<td class=\"r\">1.00 GB/s</td><td class=\"r\">3.00 GB/s</td><td class=\"r off\">3.00</td><td>no</td>"
        ));
        assert!(html.contains("<p class=\"soft\">short &amp; quick</p>"));
        assert!(html.contains("<li>a &lt;wider&gt; bus</li>"));
        assert!(html.contains("<b>1</b><span>within 10 % of the paper</span>"));
    }

    #[test]
    fn claims_that_do_not_hold_come_first() {
        let html = page(&[Finished { study: "swan-0".into(), ..study() }]).render();
        let cause = "<td>16 chips</td><td>bandwidth</td><td class=\"r\">1.00 GB/s</td><td class=\"r\">3.00 GB/s</td>\
                     <td class=\"words\">a &lt;wider&gt; bus</td>";
        assert!(html.contains(cause) && html.contains("<td class=\"r\">1 (50 %)</td>"), "{html}");
        let beyond = page(&[Finished { study: "beyond-0".into(), ..study() }]).render();
        assert!(!beyond.contains("Claims that do not hold"), "other studies hold no paper to its claims");
    }

    #[test]
    fn quantities_with_several_rows_have_a_chart() {
        assert_eq!(groups(&study()), [("bandwidth", "B/s")]);
    }
}
