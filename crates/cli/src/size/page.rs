//! The reasoning of a sizing, step by step.

use super::arguments::SizeArguments;
use crate::format::{per_cent, short_time};
use crate::terminal::wrapped;
use crate::terminal::{Align, ColorMode, Table, TextRole};
use tailcut_base::config::Choice;
use tailcut_base::quantity::{show_bytes, show_number_of, show_rate};
use tailcut_sim::sizing::{BLOCK, Sizing};

/// The whole page, at most `width` columns wide below the table.
pub(super) fn page(sizing: &Sizing, arguments: &SizeArguments, width: usize, tone: ColorMode) -> String {
    let title = format!(
        "{}: {} of {}, for {} at {} full, RAID {}",
        show_number_of(sizing.drives, "drive"),
        show_number_of(sizing.groups.groups, "group"),
        sizing.group_drives(),
        show_rate(sizing.network_bytes_per_s),
        per_cent(sizing.fill),
        sizing.raid
    );
    let parts = [
        ("a segment on one drive", segment(sizing, arguments)),
        ("drives of a group", drives(sizing, arguments)),
        ("groups", groups(sizing)),
        ("what collection does behind the front end", collection(sizing)),
    ];
    let mut text = format!("{}\n", tone.paint(TextRole::Heading, &title));
    if sizing.fill_is_cut {
        text += &wrapped("", TOO_FULL, width.min(PAGE));
    }
    for (heading, rows) in parts {
        text += &format!("\n{}\n{}", tone.paint(TextRole::Heading, heading), table(&rows, tone));
    }
    text.push('\n');
    for note in NOTES {
        text += &wrapped("- ", note, width.min(PAGE));
    }
    text
}

/// Columns of a note at most.
const PAGE: usize = 100;

const TOO_FULL: &str = "No number of groups is enough: beside the 5 % that a log keeps erased ahead of \
     writes, this fill leaves no space for data that is out of date. The figures are those of a log that is \
     99.9 % full; use a --fill below 94.9 %.";

const NOTES: [&str; 3] = [
    "Equation 1 of SWAN (Kim et al., ATC 2019, section 3.5) takes the front end to write as fast as its \
     drives can. The network's line is for one that writes no faster than the network.",
    "For its own example (4 ms, 15.6 µs, 19.5 µs, 256 blocks, u = 0.33) the paper prints N = 1.89. Equation \
     1 gives 3.08; 1.89 is what remains without its erase term. Both are shown; the groups are those of \
     equation 1.",
    "Reads of the hosts, and what a drive collects by itself, are not in it: segments are written in order \
        and trimmed.",
];

type Row = [String; 3];

fn row(what: &str, figure: String, why: impl Into<String>) -> Row {
    [what.into(), figure, why.into()]
}

fn table(rows: &[Row], tone: ColorMode) -> String {
    let head = [("step", Align::Left), ("figure", Align::Right), ("because", Align::Left)];
    let mut table = Table::new(&head, tone);
    for row in rows {
        table.row(row);
    }
    format!("{table}\n")
}

fn segment(sizing: &Sizing, arguments: &SizeArguments) -> Vec<Row> {
    let costs = &sizing.costs;
    let source = |measured: bool| match arguments.drive {
        Some(drive) if !measured => format!("from the parts of {}", drive.name()),
        _ => String::from("as measured"),
    };
    let whole = |block_ns: f64, from: String| {
        format!("{} x {}, {from}", show_number_of(costs.blocks, "block"), short_time(block_ns))
    };
    vec![
        row(
            "segment",
            show_bytes((costs.blocks * BLOCK) as f64),
            format!("{} of {}", show_number_of(costs.blocks, "block"), show_bytes(BLOCK as f64)),
        ),
        row("T_e", short_time(costs.erase_ns), format!("its erase, {}", source(arguments.erase.is_some()))),
        row(
            "T_r",
            short_time(costs.segment_read_ns()),
            whole(costs.read_ns, source(arguments.read.is_some())),
        ),
        row(
            "T_w",
            short_time(costs.segment_write_ns()),
            whole(costs.write_ns, source(arguments.write.is_some())),
        ),
    ]
}

fn drives(sizing: &Sizing, arguments: &SizeArguments) -> Vec<Row> {
    let (network, drive) = (show_rate(sizing.network_bytes_per_s), show_rate(sizing.drive_bytes_per_s));
    let erases = if arguments.write.is_some() { "as measured" } else { "with a share of erases" };
    let block =
        format!("{} in {}, {erases}", show_bytes(BLOCK as f64), short_time(sizing.costs.sustained_ns));
    vec![
        row("a drive writes", drive.clone(), block),
        row("data drives", sizing.data_drives.to_string(), format!("{network} / {drive}, rounded up")),
        row("parity", sizing.parity_drives.to_string(), format!("RAID {}", sizing.raid)),
        row("group", sizing.group_drives().to_string(), "the sum"),
    ]
}

fn groups(sizing: &Sizing) -> Vec<Row> {
    let groups = &sizing.groups;
    let figure = |value: f64| format!("{value:.3}");
    vec![
        row("full", figure(sizing.fill), "share of the array that holds data"),
        row("u_d", figure(sizing.fill_beside), "the same of what is not kept erased ahead of writes"),
        row("u", figure(groups.utilisation), "valid blocks of a segment: u_d = (u - 1) / ln u"),
        row("erases", figure(groups.erase_term), "(T_e / T_w) / (1 - u)"),
        row("copies", figure(groups.copy_term), "(T_r / T_w + 1) u / (1 - u)"),
        row("N", figure(groups.equation), "equation 1: erases + copies + 1"),
        row("N without erases", figure(groups.without_erase), "copies + 1"),
        row(
            "N at the network",
            figure(sizing.equation_at_network),
            "when the front end waits for the network",
        ),
        row("collect at a time", figure(groups.collecting), at_a_time(groups.collecting)),
        row("groups", groups.groups.to_string(), "equation 1 rounded up, 2 at least"),
    ]
}

/// The consequence of collecting one group at a time where `collecting` are needed.
fn at_a_time(collecting: f64) -> String {
    if collecting <= 1.0 {
        return String::from("erases + copies: as many groups, and one does");
    }
    format!("erases + copies; one does: down to {} of the bound", per_cent(1.0 / collecting))
}

fn collection(sizing: &Sizing) -> Vec<Row> {
    let moved = show_rate(sizing.network_bytes_per_s * sizing.copied_per_byte);
    vec![
        row("reads", moved.clone(), "u / (1 - u) of what the network brings"),
        row("writes", moved, "the same, to other segments of the group"),
        row("write amplification", format!("{:.3}", sizing.write_amplification), "1 / (1 - u)"),
    ]
}
