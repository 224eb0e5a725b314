//! A report as a person reads it: at most 80 columns where the figures allow it, limits beside
//! figures.

mod answer;
mod array;
mod drive;
mod host;
mod kv;
pub mod latency;
mod store;
mod throughput;
pub mod waits;

use crate::format::{counted, per_cent};
use crate::terminal::{ColorMode, TextRole, wrapped};
use tailcut_base::quantity::{show_bytes, show_count, show_time};
use tailcut_sim::report::{HeldUpShare, SteadyReport, Tail};
use tailcut_sim::world::Overload;
use tailcut_sim::{Report, Scenario};
use tailcut_ssd::precondition::PreparedState;
use tailcut_workload::SyntheticConfig;
use tailcut_workload::config::PaceKind;

/// How many figures of the drive a report shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Those that most readers want.
    Brief,
    /// All of them: also what papers measure inside of the drive.
    Full,
}

/// The whole report, `width` columns wide.
pub fn report(report: &Report, scenario: &Scenario, detail: Detail, width: usize, tone: ColorMode) -> String {
    let mut page = Page { text: String::new(), tone };
    page.text += &answer::sentence(report, width);
    page.text += &what_ran(report, scenario, tone);
    // They may be about how all figures are to be read.
    if !report.notes.is_empty() {
        let notes: Vec<String> = report.notes.iter().map(|note| wrapped("- ", note, width)).collect();
        page.part("notes", &notes.concat());
    }
    page.part("throughput", &throughput::kinds(report, tone));
    page.text += &throughput::resources(report, tone);
    page.part("latency", &latency::table(report, detail, tone));
    let slow = slow_ones(report, width, tone);
    // Of fewer than 100 requests there is no slowest 1 %.
    if !slow.is_empty() {
        page.part("what the slow ones waited for", &slow);
    }
    for (heading, content) in machinery(report, detail, tone) {
        page.part(heading, &content);
    }
    page.text
}

/// The machines behind the requests: a section with its heading for each that took part.
pub fn machinery(report: &Report, detail: Detail, tone: ColorMode) -> Vec<(&'static str, String)> {
    let drive = if report.array.is_some() { "drive 0" } else { "drive" };
    let parts = [
        report.store.as_ref().map(|store| ("store", store::table(store, tone))),
        report.kv.as_ref().map(|server| ("key-value server", kv::part(server, tone))),
        report.array.as_ref().map(|array| ("array", array::tables(array, tone))),
        report.host.as_ref().filter(|_| report.all().requests > 0).map(|host| ("host", host::lines(host))),
        Some((drive, drive::table(report, detail, tone))),
    ];
    parts.into_iter().flatten().collect()
}

/// Sections under headings.
struct Page {
    text: String,
    tone: ColorMode,
}

impl Page {
    fn part(&mut self, heading: &str, content: &str) {
        self.text += &format!("\n{}\n{content}", self.tone.paint(TextRole::Heading, heading));
    }
}

/// What ran, and for how long.
pub fn what_ran(report: &Report, scenario: &Scenario, tone: ColorMode) -> String {
    let drive =
        format!("{}, {}, {}", drives(report), show_bytes(report.capacity_bytes as f64), prepared(scenario));
    let measured = format!(
        "{} in {}{}{}",
        counted(report.all().requests, "request"),
        show_time(report.seconds() * 1e9),
        if report.from_ns == 0 {
            String::new()
        } else {
            let before =
                if sources(report).len() < report.sources.len() { "preparation and ramp" } else { "ramp" };
            format!(" after a {before} of {}", show_time(report.from_ns as f64))
        },
        steady(report.steady.as_ref())
    );
    let warning = match (report.unmeasured(), report.overload) {
        (Some(why), _) => format!("Nothing was measured, and all figures are zero: {why}.\n"),
        (None, Some(overload)) => overloaded(report, overload),
        (None, None) => String::new(),
    };
    format!("{warning}{drive}\n{}\n{}\n", workload(report, scenario), tone.paint(TextRole::Faint, &measured))
}

/// What stands on top of the report of a drive that could not keep up: its latencies grow with the length of
/// the run.
fn overloaded(report: &Report, overload: Overload) -> String {
    let (issued, rate) = (show_count(overload.issued as f64), show_count(overload.sustained_per_s));
    let backlog = match overload.due > overload.issued {
        true => format!("of about {} requests due {issued} were issued", show_count(overload.due as f64)),
        false => {
            format!("the last of {issued} requests was issued {} late", show_time(overload.late_ns as f64))
        }
    };
    format!(
        "Overload: {backlog}; the drive completed {rate}/s. Latencies are those of the {} requests that fell \
         due in the measurement and were answered: they count from the moment a request was due and grow \
         with the length of the run.\n",
        show_count(report.all().requests as f64),
    )
}

fn drives(report: &Report) -> String {
    match &report.array {
        Some(array) if array.over_sets => {
            format!("{} over {} sets of {}", array.layout, array.drives, report.drive_name)
        }
        Some(array) => format!("{} over {} x {}", array.layout, array.drives, report.drive_name),
        None => report.drive_name.clone(),
    }
}

fn prepared(scenario: &Scenario) -> String {
    let how = &scenario.precondition;
    match how.state {
        PreparedState::Empty => String::from("empty"),
        state => format!("prepared {state}, {} full", per_cent(f64::from(how.fill) / 1e6)),
    }
}

fn workload(report: &Report, scenario: &Scenario) -> String {
    let w = &scenario.workload;
    let pace = match w.pace {
        PaceKind::Closed => format!("closed loop of {}", w.depth),
        PaceKind::Open => format!("open loop, {} arrivals at {}/s", w.arrivals, show_count(w.rate as f64)),
    };
    match sources(report).as_slice() {
        [_] if scenario.is_synthetic() && !scenario.beside.enabled => {
            let reads = per_cent(f64::from(w.read) / 1e6);
            match scenario.kv.enabled {
                true => format!(
                    "{reads} gets of {} items, and sets; {pace}",
                    show_count(scenario.kv.items as f64)
                ),
                false => format!("{}; {pace}", mix(w)),
            }
        }
        [one] => (*one).to_owned(),
        several if several.len() <= 3 => several.join("; "),
        several => format!("{} sources, {} and others", several.len(), several[0]),
    }
}

/// The sources of the workload: all but that which prepares an array.
fn sources(report: &Report) -> Vec<&str> {
    let all = report.sources.iter().map(String::as_str);
    all.filter(|source| !source.starts_with("preparation: ")).collect()
}

/// The kinds of requests that a synthetic workload has, with their sizes.
fn mix(w: &SyntheticConfig) -> String {
    let share = |ppm: u32| per_cent(f64::from(ppm) / 1e6);
    let mut parts = Vec::new();
    if w.read > 0 {
        parts.push(format!("{} reads of {}", share(w.read), w.read_size));
    }
    if w.read + w.trim < 1_000_000 {
        parts.push(format!("writes of {}", w.write_size));
    }
    if w.trim > 0 {
        parts.push(format!("{} trims of {}", share(w.trim), w.trim_size));
    }
    parts.join(", ")
}

fn steady(steady: Option<&SteadyReport>) -> String {
    match steady {
        None => String::new(),
        Some(SteadyReport { first: Some(first), .. }) => format!("; steady from round {}", first + 1),
        Some(rounds) if rounds.requests.len() < 5 => String::from("; too short to judge steady state"),
        Some(rounds) => format!("; not steady within {} rounds", rounds.requests.len()),
    }
}

fn slow_ones(report: &Report, width: usize, tone: ColorMode) -> String {
    let tails: Vec<String> = report.all().slowest.iter().map(|tail| slow(tail, width, tone)).collect();
    tails.concat()
}

fn slow(tail: &Tail, width: usize, tone: ColorMode) -> String {
    let mean: f64 = tail.waits.iter().map(|wait| wait.mean_ns).sum();
    let title = format!(
        "slowest {} %: {} from {} on, mean {}",
        tail.share * 100.0,
        counted(tail.requests, "request"),
        show_time(tail.from_ns as f64),
        show_time(mean)
    );
    let bars = waits::bars(&tail.waits, width, tone);
    let held_up = held_up(tail).map_or_else(String::new, |line| format!("  {line}\n"));
    format!("{}\n{bars}{held_up}", tone.paint(TextRole::Faint, &title))
}

/// What held most requests of a tail up, by reclaim unit handle; `None` without handles.
pub(crate) fn held_up(tail: &Tail) -> Option<String> {
    let part = |by: &HeldUpShare| format!("{} of handle {} {}", by.work, by.placement(), per_cent(by.share));
    let (shown, others) = tail.held_up.split_at(tail.held_up.len().min(4));
    let others: f64 = others.iter().map(|by| by.share).sum();
    let others = (others >= 0.0005).then(|| format!("others {}", per_cent(others)));
    let parts: Vec<String> = shown.iter().map(part).chain(others).collect();
    (!parts.is_empty()).then(|| format!("held up longest by {}", parts.join(", ")))
}
