//! Where the time of a simulated request goes, found by leaving parts away.

use super::case::{Case, Part};
use super::measure::Measured;
use tailcut::terminal::{Align, ColorMode, Table};

/// The parts of the time of a request, in ns of wall clock.
#[derive(Debug)]
pub(super) struct Breakdown {
    case: Case,
    whole: f64,
    draw: f64,
    /// With drawing.
    world: f64,
    without_content: f64,
    commands: f64,
    transactions: f64,
}

impl Breakdown {
    /// From the runs of the whole and of each part, the fastest first. The fastest are compared: other
    /// activity of the machine only adds time.
    pub(super) fn new(case: Case, runs: &[Measured], parts: &[(Part, Vec<Measured>)]) -> Breakdown {
        let fastest = &runs[0];
        let part = |wanted: Part| {
            let found = parts.iter().find(|(part, _)| *part == wanted);
            found.map_or(0.0, |(_, runs)| runs[0].ns_per_request())
        };
        let per_request = |count: u64| count as f64 / fastest.requests.max(1) as f64;
        Breakdown {
            case,
            whole: fastest.ns_per_request(),
            draw: part(Part::Draw),
            world: part(Part::World),
            without_content: part(Part::WithoutContent),
            commands: per_request(fastest.flash_commands),
            transactions: per_request(fastest.transactions),
        }
    }

    fn content(&self) -> f64 {
        self.whole - self.without_content
    }

    fn drive(&self) -> f64 {
        self.without_content - self.world
    }
}

/// All breakdowns as a table, and how to read it.
pub(super) fn show(breakdowns: &[Breakdown], tone: ColorMode) -> String {
    let right = |title| (title, Align::Right);
    let head = [
        ("case", Align::Left),
        right("whole"),
        right("draw"),
        right("world"),
        right("content"),
        right("drive"),
        right("transactions"),
        right("commands"),
    ];
    let mut table = Table::new(&head, tone);
    for b in breakdowns {
        let nanos = |ns: f64| format!("{ns:.0} ns");
        table.row(&[
            b.case.to_string(),
            nanos(b.whole),
            nanos(b.draw),
            nanos(b.world - b.draw),
            nanos(b.content()),
            nanos(b.drive()),
            format!("{:.2}", b.transactions),
            format!("{:.2}", b.commands),
        ]);
    }
    format!("{table}\n{READING}")
}

const READING: &str = "\
Of the fastest runs. draw: the source alone. world: issuing, attribution,
histogram and digest, measured with a device that answers at once. content:
fingerprints and their checks, the difference of two runs. drive: the rest. The
last two columns count flash transactions and the page reads, programs and
erases in them.
";
