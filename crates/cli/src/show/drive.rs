//! The drive at work.

use super::Detail;
use crate::format::{counted, per_cent};
use crate::terminal::{Align, ColorMode, Table};
use tailcut_base::quantity::{show_bytes, show_count, show_time, show_years};
use tailcut_sim::Report;
use tailcut_sim::report::{DriveReport, HandleReport};

/// The statistics of the drive, each figure beside its value on an ideal drive.
pub(super) fn table(report: &Report, detail: Detail, tone: ColorMode) -> String {
    let head =
        [("figure", Align::Left), ("measured", Align::Right), ("ideal", Align::Right), ("", Align::Left)];
    let mut table = Table::new(&head, tone);
    for [figure, measured, limit, remark] in rows(report, detail) {
        table.row(&[figure, measured, limit, remark]);
    }
    format!("{table}\n")
}

type Row = [String; 4];

fn rows(report: &Report, detail: Detail) -> Vec<Row> {
    let d = &report.drive;
    let is_full = detail == Detail::Full;
    let mut rows = vec![write_amplification(d)];
    rows.extend(utilisations(d, detail));
    rows.push(queue_stall(report));
    if is_full {
        rows.extend(scheduling(d));
    }
    rows.push(erases(d));
    if is_full {
        rows.push(wear_spread(d));
    }
    if d.forced_collections > 0 {
        let remark = "could not wait for a window of collection".into();
        rows.push(row("forced collections", count(d.forced_collections), "0", remark));
    }
    if d.contended_reads > 0 {
        let remark = "failed rather than wait for the drive".into();
        rows.push(row("contended reads", count(d.contended_reads), "-", remark));
    }
    rows.extend(lifetime(d));
    rows.extend(preemptions(d));
    if is_full {
        rows.extend(spared_work(d));
    }
    rows.extend(d.handles.iter().map(placement));
    rows.push(buffer(d));
    rows.extend(cache(d, detail));
    if d.failures + d.bad_blocks > 0 {
        let remark = format!("{} went bad", counted(d.bad_blocks, "block"));
        rows.push(row("failures", count(d.failures), "0", remark));
    }
    rows
}

fn write_amplification(d: &DriveReport) -> Row {
    let measured = match d.write_amplification {
        Some(times) if d.programs.user + d.programs.gc > 0 => format!("{times:.3}"),
        _ => "-".into(),
    };
    let remark = format!("{} user, {} gc programs", count(d.programs.user), count(d.programs.gc));
    row("write amplification", measured, "1", remark)
}

/// Write amplification of the data of a reclaim unit handle.
fn placement(handle: &HandleReport) -> Row {
    let measured = handle.write_amplification.map_or_else(|| "-".into(), |times| format!("{times:.3}"));
    let remark = format!(
        "{} written, {} moved, {} emptied",
        show_bytes(handle.written_bytes as f64),
        show_bytes(handle.moved_bytes as f64),
        counted(handle.collected, "reclaim unit")
    );
    row(&format!("amplification, handle {}", handle.placement()), measured, "1", remark)
}

/// What the commit scheduler did with waiting requests.
fn scheduling(d: &DriveReport) -> Vec<Row> {
    let mut rows = Vec::new();
    if d.readdressed > 0 {
        rows.push(row("readdressed reads", count(d.readdressed), "-", String::new()));
    }
    let [most, bound] = d.passed_over;
    if bound > 0 {
        let remark = format!("transactions that went before a chip's oldest request; at most {bound}");
        rows.push(row("passed over", format!("{most}"), "0", remark));
    }
    rows
}

fn erases(d: &DriveReport) -> Row {
    let remark = format!(
        "{} emptied, {} for wear; ~{} in the long run",
        counted(d.collections, "victim"),
        count(d.levelled),
        show_count(d.erases_least)
    );
    row("erases", count(d.erases), "-", remark)
}

fn wear_spread(d: &DriveReport) -> Row {
    let remark = format!("{} to {} erases a block, mean {:.2}", d.wear.least, d.wear.most, d.wear.mean);
    row("wear spread", format!("{}", d.wear.most - d.wear.least), "0", remark)
}

/// Reads that needed no chip; in full also what was read ahead for that.
fn cache(d: &DriveReport, detail: Detail) -> Vec<Row> {
    let Some(cache) = d.cache else { return Vec::new() };
    let share = per_cent(cache.hit_rate);
    let mut rows = vec![row(
        "read cache hits",
        count(cache.hits),
        "-",
        format!("{share} of pages read from flash or here"),
    )];
    if cache.read_ahead > 0 && detail == Detail::Full {
        let remark = format!(
            "{} used, {} met under way, {} in vain",
            count(cache.used),
            count(cache.met),
            count(cache.in_vain)
        );
        rows.push(row("pages read ahead", count(cache.read_ahead), "-", remark));
    }
    rows
}

/// The bytes that the host can write before the blocks are worn out, beside the most that they could take.
fn lifetime(d: &DriveReport) -> Option<Row> {
    let life = &d.lifetime;
    let (bytes, years) = (life.bytes_written?, life.years?);
    let per_day = life.drive_writes_per_day.unwrap_or(0.0);
    Some(row(
        "writes of a lifetime",
        show_bytes(bytes),
        &show_bytes(life.bytes_written_most),
        format!(
            "{} at this rate; {per_day:.2} drive writes a day over 5 years{}",
            show_years(years),
            match life.passes {
                passes if passes < 1.0 =>
                    format!("; measured over {} of the drive's pages", per_cent(passes)),
                _ => String::new(),
            }
        ),
    ))
}

/// What made way for reads, and what that cost.
fn preemptions(d: &DriveReport) -> Vec<Row> {
    let p = &d.preemptions;
    let mut rows = Vec::new();
    if p.program_suspends + p.erase_suspends > 0 {
        let remark =
            format!("{}, {}", counted(p.program_suspends, "program"), counted(p.erase_suspends, "erase"));
        rows.push(row("suspends", count(p.program_suspends + p.erase_suspends), "-", remark));
    }
    if p.program_resets + p.erase_resets > 0 {
        let remark = format!(
            "{} ({} spoiled, {} restored), {}",
            counted(p.program_resets, "program"),
            counted(p.pages_spoiled, "page"),
            count(p.pages_restored),
            counted(p.erase_resets, "erase")
        );
        rows.push(row("resets", count(p.program_resets + p.erase_resets), "-", remark));
    }
    rows
}

/// Work that the queue size leveler moved, and reads of collection that a read of the host made unnecessary.
fn spared_work(d: &DriveReport) -> Vec<Row> {
    let mut rows = Vec::new();
    if d.levelled_queues > 0 {
        rows.push(row(
            "programs moved",
            count(d.levelled_queues),
            "-",
            "from a busy chip to an idle one".into(),
        ));
    }
    if d.merged_reads > 0 {
        rows.push(row("gc reads spared", count(d.merged_reads), "-", "by a read of the host".into()));
    }
    rows
}

/// Utilisations beside what the work needs at least: the difference is lost to waiting. In full also what
/// happened inside of the chips that were held.
fn utilisations(d: &DriveReport, detail: Detail) -> Vec<Row> {
    let needed = |name: &str| {
        let resource = d.resources.iter().find(|resource| resource.name == name);
        resource.map_or(String::from("0 %"), |resource| per_cent(resource.busy))
    };
    let mut rows = vec![row("chips held", per_cent(d.chip_utilisation), &needed("chips"), holders(d))];
    if detail == Detail::Full {
        rows.extend(inside_chips(d));
    }
    rows.push(row("buses in use", per_cent(d.bus_utilisation), &needed("buses"), String::new()));
    let [to_host, to_drive] = d.link_utilisation;
    let half_duplex = d.resources.iter().any(|resource| resource.name == "link");
    if half_duplex {
        rows.push(row("link in use", per_cent(to_host + to_drive), &needed("link"), String::new()));
    } else {
        rows.push(row("link to host", per_cent(to_host), &needed("link to host"), String::new()));
        rows.push(row("link to drive", per_cent(to_drive), &needed("link to drive"), String::new()));
    }
    rows
}

/// Sprinkler's figures of idle chips and of the parallelism of transactions.
fn inside_chips(d: &DriveReport) -> Vec<Row> {
    let planes = per_cent(d.plane_utilisation);
    vec![
        row(
            "inter-chip idleness",
            per_cent(d.inter_chip_idleness),
            &per_cent(d.inter_chip_idleness_least),
            "idle chips, while commands are in the drive".into(),
        ),
        row(
            "intra-chip idleness",
            per_cent(d.intra_chip_idleness),
            &per_cent(d.intra_chip_idleness_least),
            "idle planes of chips held".into(),
        ),
        bus_contention(d),
        transactions(d),
        row("dies at work", per_cent(d.die_utilisation), &per_cent(d.die_least), parallelism(d)),
        row("planes at work", planes.clone(), &planes, String::new()),
    ]
}

/// The largest holders of the chips.
fn holders(d: &DriveReport) -> String {
    let mut times = d.chip_time.clone();
    times.retain(|(_, share)| *share >= 0.0005);
    times.sort_by(|a, b| b.1.total_cmp(&a.1));
    let parts: Vec<String> =
        times.iter().take(2).map(|(name, share)| format!("{name} {}", per_cent(*share))).collect();
    parts.join(", ")
}

/// The execution-time breakdown, in the row of the part that no work needs.
fn bus_contention(d: &DriveReport) -> Row {
    let b = &d.breakdown;
    row(
        "bus contention",
        per_cent(b.bus_contention),
        "0 %",
        format!(
            "active: bus {}, cell {}; idle {}",
            per_cent(b.bus_active),
            per_cent(b.cell_active),
            per_cent(b.idle)
        ),
    )
}

fn transactions(d: &DriveReport) -> Row {
    let all: u64 = d.transactions.iter().map(|kind| kind.transactions).sum();
    let served: u64 = d.transactions.iter().map(|kind| kind.served).sum();
    let most = 1.0 - d.transactions_least as f64 / served.max(1) as f64;
    let remark = match served {
        0 => String::new(),
        _ => format!("reduction {}, at most {}", per_cent(d.transaction_reduction), per_cent(most)),
    };
    row("transactions", count(all), &count(d.transactions_least), remark)
}

/// Shares of memory requests, by the parallelism of the transactions that served them, with Sprinkler's
/// names.
fn parallelism(d: &DriveReport) -> String {
    let names = ["one page (NON-PAL)", "planes (PAL1)", "dies (PAL2)", "both (PAL3)"];
    let named = names.into_iter().zip(d.parallelism_shares);
    let parts: Vec<String> = named
        .filter(|(_, share)| *share > 0.0)
        .map(|(name, share)| format!("{name} {}", per_cent(share)))
        .collect();
    parts.join(", ")
}

fn queue_stall(report: &Report) -> Row {
    let remark = match report.queue_stall_ns {
        0 => String::new(),
        ns => format!("{} with a request but no tag", show_time(ns as f64)),
    };
    row("queue stall", per_cent(report.queue_stall()), "0 %", remark)
}

fn buffer(d: &DriveReport) -> Row {
    let b = &d.buffer;
    row(
        "buffer hits",
        count(b.read_hits + b.write_hits),
        "-",
        format!(
            "pages: {} read, {} of {} written",
            count(b.read_hits),
            count(b.write_hits),
            count(b.pages_written)
        ),
    )
}

fn row(figure: &str, measured: String, limit: &str, remark: String) -> Row {
    [figure.to_string(), measured, limit.to_string(), remark]
}

fn count(count: u64) -> String {
    show_count(count as f64)
}
