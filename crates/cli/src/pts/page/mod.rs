//! The report for people: for each test the pages that the specification wants.

mod results;
mod steady;

use super::{Report, Tested};
use crate::terminal::wrapped;
use crate::terminal::{Align, ColorMode, Table, TextRole, window};
use tailcut_base::quantity::{exact_time, show_bytes, show_count, show_rate, show_time};
use tailcut_pts::Work;
use tailcut_study::Row;

/// The whole report.
pub(super) fn page(report: &Report, tone: ColorMode) -> String {
    let pages: Vec<String> = report.tests.iter().map(|tested| test(report, tested, tone)).collect();
    pages.join("\n")
}

/// Columns of running text.
const WIDTH: usize = 100;

fn width() -> usize {
    usize::from(window()).min(WIDTH)
}

fn test(report: &Report, tested: &Tested, tone: ColorMode) -> String {
    let procedure = &tested.procedure;
    let mut text = head(report, tested, tone);
    let mut part = |title: &str, body: String| {
        if !body.is_empty() {
            text += &format!("\n{}\n{body}", tone.paint(TextRole::Heading, title));
        }
    };
    for convergence in procedure.convergences() {
        let stage = &procedure.stages()[convergence.stage].name;
        let tracks = steady::convergence(convergence, tone);
        part(&format!("{stage}: steady state convergence"), tracks);
        part(&format!("{stage}: steady state measurement window"), steady::window(convergence, tone));
    }
    for (title, body) in results::results(procedure, tone) {
        part(&title, body);
    }
    if let Some(other) = &report.other {
        part(&format!("beside {}", other.name), beside(&report.rows(tested), tone));
    }
    text
}

fn head(report: &Report, tested: &Tested, tone: ColorMode) -> String {
    let (platform, settings, test) = (&report.platform, &report.settings, &tested.procedure);
    let title = format!("SNIA SSS PTS 2.0, {}: {}", settings.form.name(), test.test);
    let mut text = format!("{}\n", tone.paint(TextRole::Heading, &title));
    if let Some(departure) = report.departure() {
        text += &wrapped("", &tone.paint(TextRole::Warning, &departure), width());
    }
    let mut line = |name: &str, value: &str| text += &wrapped(&format!("{name:<18}"), value, width());
    line(
        "device",
        &format!("{}, {}, {}", platform.model, show_bytes(platform.capacity as f64), platform.kind),
    );
    line("active range", &format!("{} from the first byte on", show_bytes(platform.active as f64)));
    line("write cache", platform.write_cache);
    line("purge", &purge(report, tested));
    line("precondition", &precondition(tested));
    line("demand", &demand(tested, platform.depth));
    line("data pattern", &format!("random, seed {}", report.seed));
    line("minute", &exact_time(settings.minute));
    line("test platform", &format!("tailcut {}", env!("CARGO_PKG_VERSION")));
    for note in platform.notes.iter().chain(&tested.notes()) {
        text += &wrapped("- ", note, width());
    }
    text
}

fn purge(report: &Report, tested: &Tested) -> String {
    match tested.purged {
        Some(share) if share < 1.0 => {
            format!("{}; {:.1} % of the device took it", report.platform.purge, 100.0 * share)
        }
        _ => report.platform.purge.to_owned(),
    }
}

fn precondition(tested: &Tested) -> String {
    let what = |work: &Work| match work {
        Work::Write { cell, bytes } => {
            Some(format!("{} of {cell} at {}", show_bytes(*bytes as f64), cell.demand()))
        }
        _ => None,
    };
    let writes: Vec<String> =
        tested.procedure.stages().iter().filter_map(|stage| what(&stage.work)).collect();
    if writes.is_empty() { String::from("that of the test's own workload") } else { writes.join("; ") }
}

/// Threads and queues that the test asks for.
fn demand(tested: &Tested, depth: u32) -> String {
    let all = tested.cells();
    let Some(most) = all.iter().max_by_key(|cell| cell.load().depth) else { return String::new() };
    let least = all.iter().min_by_key(|cell| cell.load().depth).expect("there is one");
    let range = if most.demand() == least.demand() {
        most.demand()
    } else {
        format!("{} to {}", least.demand(), most.demand())
    };
    match most.load().depth > depth {
        true => format!("{range}; the way to the drive takes {depth} requests at a time, others wait"),
        false => range,
    }
}

/// A figure of a row, as a person reads it.
fn figure(value: Option<f64>, unit: &str) -> String {
    let Some(value) = value else { return String::from("-") };
    match unit {
        "1/s" => show_count(value),
        "B/s" => show_rate(value),
        "B" => show_bytes(value),
        "s" => show_time(value * 1e9),
        _ => format!("{value:.2}"),
    }
}

/// Rows that both have; the others are counted.
fn beside(rows: &[Row], tone: ColorMode) -> String {
    let right = |title| (title, Align::Right);
    let head = [("", Align::Left), ("", Align::Left), right("here"), right("there"), right("ratio")];
    let mut table = Table::new(&head, tone);
    let known: Vec<&Row> = rows.iter().filter(|row| row.paper.is_some()).collect();
    for row in &known {
        let ratio = row.ratio.map_or(String::from("-"), |ratio| format!("{ratio:.2}"));
        let (here, there) = (figure(row.measured, &row.unit), figure(row.paper, &row.unit));
        table.row(&[row.case.clone(), row.quantity.clone(), here, there, ratio]);
    }
    let missing = rows.len() - known.len();
    let rest = if missing > 0 {
        format!("{missing} of {} results have none there\n", rows.len())
    } else {
        String::new()
    };
    if known.is_empty() { rest } else { format!("{table}\n{rest}") }
}
