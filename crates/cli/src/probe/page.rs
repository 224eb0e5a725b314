//! The results of a probe on the terminal.

use super::ProbeOutcome;
use super::arguments::ProbeArguments;
use super::form::how;
use crate::scenario::keys;
use crate::terminal::wrapped;
use crate::terminal::{Align, Bars, ColorMode, Table, TextRole, window};
use tailcut_base::config::Choice;
use tailcut_base::histogram::LatencyHistogram;
use tailcut_base::quantity::{show_bytes, show_count, show_rate, show_time};
use tailcut_rt::probe::check::Unit;
use tailcut_rt::probe::profile::Profile;
use tailcut_rt::probe::stalls::Signature;
use tailcut_rt::probe::{Comparison, End, Estimate, Measured, Tally};

/// The whole page.
pub(super) fn page(found: &ProbeOutcome, arguments: &ProbeArguments, tone: ColorMode) -> String {
    let width = usize::from(window());
    let measured = &found.measured;
    let mut text = head(found, width, tone);
    let mut part = |title: &str, body: String| {
        if !body.is_empty() {
            text += &format!("\n{}\n{body}", tone.paint(TextRole::Heading, title));
        }
    };
    part("reads", reads(measured, tone));
    part("writes", writes(measured, width, tone));
    part("bandwidth of random writes, by what was written", cliff(measured, width, tone));
    part("reads beside writes", beside(measured, width, tone));
    if let Some(estimate) = &found.estimate {
        part(
            &format!("the estimated drive, on the base of preset {}", estimate.preset.name()),
            keys(estimate, tone),
        );
        part("the same probe on the estimated drive", comparison(&found.comparison, tone));
        text += &wrapped("", TRUST, width.min(PAGE));
    }
    if let (Some(file), Some(_)) = (&arguments.preset, &found.estimate) {
        text += &format!("\nthe estimated drive is in {0}: tailcut run {0}\n", file.display());
    }
    text
}

/// Columns of running text.
const PAGE: usize = 100;

const TRUST: &str = "A ratio far from 1 is a trait of the drive that the simulated one does not have: do not \
                     trust a simulation where it matters.";

fn head(found: &ProbeOutcome, width: usize, tone: ColorMode) -> String {
    let identity = &found.measured.identity;
    let mut text = format!("{}\n", tone.paint(TextRole::Heading, &identity.model));
    let cache = if identity.volatile_cache { "volatile cache" } else { "no volatile cache" };
    text += &format!(
        "{}, {} requests at a time, at most {} each, {cache}\n",
        show_bytes(identity.bytes() as f64),
        identity.depth,
        show_bytes(f64::from(identity.most_blocks) * 4096.0),
    );
    let mut notes = found.notes.clone();
    if identity.holes > 0.05 && !found.measured.has_writes() {
        notes.push(format!(
            "{:.0} % of it are holes, which are read without the drive: write it full before, or give \
                --destroy-data",
            100.0 * identity.holes
        ));
    }
    match found.measured.end {
        End::Complete => {}
        End::Stopped => notes.push("stopped: what was measured until then is shown".into()),
        End::Failed(why) => notes.push(format!("it ended before its time: {why}")),
    }
    notes.iter().for_each(|note| text += &wrapped("- ", note, width.min(PAGE)));
    text
}

const CURVE: [(&str, Align); 8] = [
    ("", Align::Left),
    ("depth", Align::Right),
    ("per second", Align::Right),
    ("bandwidth", Align::Right),
    ("p50", Align::Right),
    ("p99", Align::Right),
    ("p99.9", Align::Right),
    ("max", Align::Right),
];

fn row(what: &str, tally: &Tally) -> [String; 8] {
    let latency = &tally.latency;
    if latency.count() == 0 {
        // It was too short.
        let none = || String::from("-");
        return [
            what.to_owned(),
            tally.load.depth.to_string(),
            none(),
            none(),
            none(),
            none(),
            none(),
            none(),
        ];
    }
    let at = |percent: f64| time(latency.percentile(percent).0 as f64);
    [
        what.to_owned(),
        tally.load.depth.to_string(),
        show_count(tally.rate),
        show_rate(tally.bandwidth()),
        at(50.0),
        at(99.0),
        at(99.9),
        time(latency.max().0 as f64),
    ]
}

/// `80.0us`: with its unit in one word, for tables.
fn time(nanos: f64) -> String {
    show_time(nanos).replace(' ', "")
}

fn reads(measured: &Measured, tone: ColorMode) -> String {
    let mut table = Table::new(&CURVE, tone);
    for tally in &measured.reads {
        table.row(&row("4 KiB, random", tally));
    }
    for tally in &measured.large_reads {
        table.row(&row(&format!("{} KiB, random", tally.blocks() * 4), tally));
    }
    let others = [
        ("1024 KiB, in order", &measured.sequential_read),
        ("4 KiB, in order", &measured.stream),
        ("4 KiB, the same again", &measured.again),
    ];
    for (what, tally) in others {
        tally.iter().for_each(|tally| {
            table.row(&row(what, tally));
        });
    }
    if table.is_empty() { String::new() } else { format!("{table}\n") }
}

fn writes(measured: &Measured, width: usize, tone: ColorMode) -> String {
    let writes = &measured.writes;
    let mut table = Table::new(&CURVE, tone);
    for tally in &writes.latency {
        table.row(&row("4 KiB, random", tally));
    }
    let mut text = if table.is_empty() { String::new() } else { format!("{table}\n") };
    let mut line =
        |what: &str, figure: String| text += &wrapped(&format!("{what:<22}"), &figure, width.min(PAGE));
    if measured.has_writes() {
        let peak = show_rate(writes.peak().unwrap_or(0.0));
        let buffer = match writes.buffered() {
            Some((_, bytes)) => format!("{peak}, up to {}", show_bytes(bytes as f64)),
            None => format!(
                "{peak}, and no fall within {}",
                show_bytes(writes.burst.as_ref().map_or(0.0, |b| b.total() as f64))
            ),
        };
        line("a burst after a rest", buffer);
        line("in order", in_order(measured));
    }
    for (what, latency) in [
        ("flush of nothing", &writes.idle_flush),
        ("flush behind a write", &writes.flush),
        ("trim of 1 MiB", &writes.trim),
    ] {
        latency.iter().for_each(|latency| line(what, percentiles(latency)));
    }
    text
}

fn in_order(measured: &Measured) -> String {
    let writes = &measured.writes;
    let Some(fill) = &writes.fill else { return String::new() };
    let all = show_bytes(fill.total() as f64);
    match fill.cliff() {
        Some(cliff) => format!(
            "{} up to {}, {} from there to {all}",
            show_rate(cliff.before),
            show_bytes(cliff.at as f64),
            show_rate(cliff.after)
        ),
        None => format!("{} over {all}", show_rate(fill.settled_rate())),
    }
}

fn percentiles(latency: &LatencyHistogram) -> String {
    let at = |percent: f64| time(latency.percentile(percent).0 as f64);
    format!("p50 {}, p99 {}, max {}", at(50.0), at(99.0), time(latency.max().0 as f64))
}

/// Lines of the picture of a cliff.
const LINES: usize = 12;

fn cliff(measured: &Measured, width: usize, tone: ColorMode) -> String {
    let Some(profile) = &measured.writes.overwrite else { return String::new() };
    let rates = profile.rates();
    if rates.is_empty() {
        return String::from("too few writes to tell\n");
    }
    let each = rates.len().div_ceil(LINES);
    let parts: Vec<f64> =
        (0..rates.len()).step_by(each).map(|at| profile.rate(at..(at + each).min(rates.len()))).collect();
    let most = parts.iter().copied().fold(0.0, f64::max);
    let mut bars = Bars::new();
    for (index, &rate) in parts.iter().enumerate() {
        let until = profile.size() * (each * (index + 1)).min(rates.len()) as u64;
        bars.add(format!("to {}", show_bytes(until as f64)), rate / most, show_rate(rate));
    }
    bars.render(width.min(PAGE), tone) + &wrapped("", &verdict(measured, profile), width.min(PAGE))
}

fn verdict(measured: &Measured, profile: &Profile) -> String {
    let settled = if measured.writes.is_settled {
        "steady at the end (SNIA PTS: five rounds)"
    } else {
        "not steady within its time: more time (--time) would show where it ends"
    };
    let filled = (measured.writes.filled * 4096) as f64;
    let part = match measured.filled() {
        part if part < 0.95 => format!(
            " Only {:.0} % of the drive was filled in its time: a full drive has less to spare, and its \
             cliff comes earlier (--time).",
            100.0 * part
        ),
        _ => String::new(),
    };
    let verdict = match profile.cliff() {
        Some(cliff) => format!(
            "The write cliff: it falls after {}, {:.0} % of what is filled, from {} to {}; {settled}.",
            show_bytes(cliff.at as f64),
            100.0 * cliff.at as f64 / filled,
            show_rate(cliff.before),
            show_rate(cliff.after)
        ),
        None => format!("No write cliff within {}; {settled}.", show_bytes(profile.total() as f64)),
    };
    verdict + &part
}

fn beside(measured: &Measured, width: usize, tone: ColorMode) -> String {
    let writes = &measured.writes;
    let mut table = Table::new(&CURVE, tone);
    let rows = [
        ("alone", measured.reads.first()),
        ("few writes, fresh", writes.beside_few.as_ref()),
        ("few writes, steady", writes.beside_worn.as_ref()),
        ("all writes, steady", writes.beside_all.as_ref()),
    ];
    if rows.iter().skip(1).all(|(_, tally)| tally.is_none()) {
        return String::new();
    }
    for (what, tally) in rows {
        tally.iter().for_each(|tally| {
            table.row(&row(what, tally));
        });
    }
    let signature = measured.signature().map_or(String::new(), |signature| self::signature(&signature));
    format!("{table}\n{}", wrapped("", &signature, width.min(PAGE)))
}

fn signature(signature: &Signature) -> String {
    if signature.bursts < 2 {
        return String::from("No bursts of slow reads: collection does not show.");
    }
    let rhythm = match signature.irregularity {
        irregular if irregular < 0.5 => "regularly",
        irregular if irregular < 1.5 => "as if by chance",
        _ => "in clusters",
    };
    format!(
        "Collection beside few writes: {:.1} % of the reads take longer than {}; they come in {} bursts of \
         {}, one every {}, {rhythm} (deviation {:.2}).",
        100.0 * signature.slow,
        show_time(signature.slow_from.0 as f64),
        signature.bursts,
        show_time(signature.burst.0 as f64),
        show_time(signature.period.0 as f64),
        signature.irregularity
    )
}

fn keys(estimate: &Estimate, tone: ColorMode) -> String {
    let head = [("key", Align::Left), ("value", Align::Right), ("", Align::Left), ("why", Align::Left)];
    let mut table = Table::new(&head, tone);
    for key in keys::list(&mut estimate.config.clone()) {
        if let Some(origin) = estimate.origins.iter().find(|origin| origin.key == key.path) {
            table.row(&[key.path.as_str(), key.default.as_str(), how(origin.how), origin.why.as_str()]);
        }
    }
    format!("{table}\n")
}

fn comparison(rows: &[Comparison], tone: ColorMode) -> String {
    let right = |title| (title, Align::Right);
    let head = [("", Align::Left), right("measured"), right("simulated"), right("ratio")];
    let mut table = Table::new(&head, tone);
    for row in rows {
        let show = |figure: f64| match row.unit {
            Unit::Time => time(figure),
            Unit::Rate => show_rate(figure),
            Unit::Ios => format!("{}/s", show_count(figure)),
        };
        table.row(&[
            row.what.clone(),
            show(row.measured),
            show(row.simulated),
            format!("{:.2}", row.ratio()),
        ]);
    }
    format!("{table}\n")
}
