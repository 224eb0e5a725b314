//! An array of drives at work.

use crate::format::{counted, per_cent, per_second};
use crate::terminal::{Align, ColorMode, Table};
use tailcut_base::quantity::{show_number_of, show_rate, show_time};
use tailcut_sim::report::{
    ArrayReport, EpochReport, GroupReport, IncidentReport, LogReport, MemberReport, StageReport,
};

/// The reads of an array by how they were served, and the work of each drive.
pub(super) fn tables(array: &ArrayReport, tone: ColorMode) -> String {
    let log = array.log.as_ref().map_or(String::new(), |log| log_lines(log, array.groups));
    let of_all = reads(array) + &log;
    let since_prepared = array.epochs.as_ref().map_or(String::new(), epoch_lines);
    [
        layout(array),
        in_part("the whole run, with preparation and ramp", &of_all),
        in_part("the run since the array was prepared, with its ramp", &since_prepared),
        incidents(&array.incidents),
        format!("\ndrives in the measurement{}\n{}", amplification(array), members(array, tone)),
    ]
    .concat()
}

/// What happened to the drives; nothing where nothing did.
fn incidents(incidents: &[IncidentReport]) -> String {
    let line = |incident: &IncidentReport| {
        let work = if incident.incident().starts_with("return") { "rebuilt" } else { "complete" };
        let end = match incident.took_ns() {
            Some(took) => format!(": {work} in {}", show_time(took as f64)),
            None if incident.has_work() => format!(": not {work} by the end of the run"),
            None if incident.incident() == "scrub" => {
                ": not begun, a drive is missing or being rebuilt".into()
            }
            None => String::new(),
        };
        format!("    at {:>7}  {}{end}\n", show_time(incident.at_ns() as f64), incident.incident())
    };
    let lines: String = incidents.iter().map(line).collect();
    if lines.is_empty() { lines } else { format!("  incidents (array.incidents):\n{lines}") }
}

/// What all drives together programmed for the writes of the host.
fn amplification(array: &ArrayReport) -> String {
    match array.write_amplification {
        Some(times) => format!(": together they programmed {times:.2} bytes for each that the host wrote"),
        None => String::new(),
    }
}

/// Lines under the part of the run that they count; nothing where there are none.
fn in_part(part: &str, lines: &str) -> String {
    if lines.is_empty() { String::new() } else { format!("  counts of {part}:\n{lines}") }
}

/// How the token went round, and what writes waited for.
fn epoch_lines(epochs: &EpochReport) -> String {
    let mut text = format!(
        "  {}, the longest {}; {} written, {} superseded, {}\n",
        show_number_of(epochs.epochs, "epoch"),
        show_time(epochs.longest_ns as f64),
        show_number_of(epochs.written, "block"),
        epochs.superseded,
        show_number_of(epochs.descriptors, "descriptor")
    );
    text += &format!(
        "  reads: {} from the cache, {} diverted from the token, {} met it\n",
        show_number_of(epochs.from_cache, "block"),
        epochs.diverted,
        epochs.met
    );
    text += &format!(
        "  {} held back; a copy waited for the token for {} at most, {} for longer than the deadline\n",
        were(epochs.throttled, "write"),
        show_time(epochs.longest_wait_ns as f64),
        epochs.late
    );
    if epochs.collections > 0 || epochs.restless > 0 {
        text += &format!(
            "  drives were told to collect {}; {} one did not quiesce\n",
            show_number_of(epochs.collections, "time"),
            show_number_of(epochs.restless, "time")
        );
    }
    text += &stage_line(&epochs.stages);
    if epochs.without_control > 0 {
        text += &format!(
            "  {} without the control interface: epochs alone kept their reads apart\n",
            show_number_of(epochs.without_control.into(), "drive")
        );
    }
    text
}

/// What drives spent the time on in which they had the token.
fn stage_line(stages: &StageReport) -> String {
    let parts = [
        ("reads from before", stages.draining_ns),
        ("writing", stages.writing_ns),
        ("flushing", stages.flushing_ns),
        ("collecting", stages.collecting_ns),
        ("coming to rest", stages.settling_ns),
        ("waiting for others", stages.waiting_ns),
    ];
    let all: u64 = parts.iter().map(|&(_, time)| time).sum();
    if all == 0 {
        return String::new();
    }
    let part = |(what, time): &(&str, u64)| format!("{what} {}", per_cent(*time as f64 / all as f64));
    format!("  drives with the token: {}\n", parts.iter().map(part).collect::<Vec<_>>().join(", "))
}

/// What collection did, and which groups were read.
fn log_lines(log: &LogReport, groups: u32) -> String {
    let free: Vec<String> = log.free_rows.iter().map(u32::to_string).collect();
    let mut text = format!(
        "  collection moved {:.2} blocks for each block written; it emptied {} (a segment of each drive), {} \
         valid on average\n",
        log.moved,
        counted(log.rows_collected, "row"),
        per_cent(log.victim_utilisation),
    );
    text +=
        &format!("  free rows{}: {}\n", if groups > 1 { " of each R-group" } else { "" }, free.join(", "));
    text += &format!(
        "  descriptors, padding and checkpoints add {} to the writes; {} held back\n",
        per_cent(log.overhead),
        were(log.throttled, "request")
    );
    if groups > 1 {
        text += &format!(
            "  the R-group that takes the writes (front end) changed {}\n  reads by the state of their \
             R-group, with their mean latency: {}\n",
            counted(log.rotations, "time"),
            by_group(log)
        );
    }
    text
}

/// `1 request was`, `2 requests were`.
fn were(number: u64, noun: &str) -> String {
    format!("{} {}", show_number_of(number, noun), if number == 1 { "was" } else { "were" })
}

fn by_group(log: &LogReport) -> String {
    let all: u64 = log.reads.iter().map(|group| group.reads).sum();
    let group = |group: &GroupReport| {
        format!("{} {} ({})", group.state, share(group.reads, all), show_time(group.mean_ns))
    };
    log.reads.iter().map(group).collect::<Vec<_>>().join(", ")
}

fn layout(array: &ArrayReport) -> String {
    let members = if array.over_sets { "sets of a drive" } else { "drives" };
    let name = match array.groups {
        1 => format!("{} over {} {members}", array.layout, array.drives),
        groups if array.epochs.is_some() && array.log.is_none() => {
            format!("{} over {} {members} in {groups} token groups", array.layout, array.drives)
        }
        groups => format!("{} over {groups} R-groups of {} {members}", array.layout, array.drives / groups),
    };
    format!("{name}\n")
}

/// How reads were served that their drive did not.
fn reads(array: &ArrayReport) -> String {
    let steered = match array.epochs {
        Some(_) => "because their drive had the token",
        None => "because their drive was being collected",
    };
    let around: Vec<String> = [
        (array.steered, steered),
        (array.contended, "because their drive would not serve at once"),
        (array.hedged, "because their drive was slow"),
        (array.degraded, "because their drive was missing or failed"),
    ]
    .into_iter()
    .filter(|&(count, _)| count > 0)
    .map(|(count, why)| format!("  {} reads were reconstructed {why}\n", share(count, array.reads)))
    .collect();
    let refused = match array.without_turns {
        0 => String::new(),
        drives => format!(
            "  {drives} of them collect whenever they like: they do not know turns (device.control_api, \
                array.turns)\n"
        ),
    };
    format!("{}{refused}", around.concat())
}

fn share(count: u64, of: u64) -> String {
    per_cent(count as f64 / of.max(1) as f64)
}

fn members(array: &ArrayReport, tone: ColorMode) -> String {
    let head = [
        ("drive", Align::Right),
        ("written/s", Align::Right),
        ("reads/s", Align::Right),
        ("amplification", Align::Right),
        ("chips busy", Align::Right),
        ("erases", Align::Right),
    ];
    let mut table = Table::new(&head, tone);
    for (number, member) in array.members.iter().enumerate() {
        table.row(&row(number, member));
    }
    format!("{table}\n")
}

fn row(number: usize, member: &MemberReport) -> [String; 6] {
    [
        number.to_string(),
        show_rate(member.written_per_s),
        per_second(member.reads_per_s),
        match member.write_amplification {
            Some(times) if member.written_per_s > 0.0 => format!("{times:.2}"),
            _ => "-".into(),
        },
        per_cent(member.chip_utilisation),
        member.erases.to_string(),
    ]
}
