//! `tailcut trace info`.

use crate::failure::Failure;
use crate::format::{counted, per_cent, per_second, short_time};
use crate::interrupt::Interrupt;
use crate::run::trace_failure;
use crate::terminal::{Align, ColorMode, Progress, Table, TextRole, Waiting};
use std::io::Write;
use std::path::Path;
use tailcut_base::quantity::{exact_bytes, show_bytes, show_count, show_number_of, show_rate, show_time};
use tailcut_workload::trace::{self, Footprint, Info, Options, Sizes, Times};

/// Disks that are listed at most; `--json` has all.
const DISKS: usize = 12;

/// Characterises a trace.
pub(super) fn show(file: &Path, options: &Options, json: bool, out: &mut dyn Write) -> Result<(), Failure> {
    let interrupt = Interrupt::listen()
        .map_err(|error| Failure::Operation(format!("cannot listen for Ctrl-C: {error}")))?;
    let mut waiting = Some(Waiting::for_file(file, "looking through the trace", false));
    let mut progress = Progress::new("info", None, false);
    let info = trace::characterise(file, options, &mut |done, of| {
        waiting.take();
        progress.expect(Some(of));
        progress.count(done);
        !interrupt.asked()
    });
    drop(waiting);
    progress.finish();
    let info = info.map_err(|error| trace_failure(&error))?;
    let text = if json {
        serde_json::to_string_pretty(&info).expect("plain data") + "\n"
    } else {
        describe(&info, ColorMode::of_stdout())
    };
    out.write_all(text.as_bytes())?;
    out.flush()?;
    if interrupt.asked() { Err(Failure::Interrupted) } else { Ok(()) }
}

fn describe(info: &Info, tone: ColorMode) -> String {
    let mut text = format!(
        "{}\n{}, {}, {} in {}, {}, addresses up to {}\n",
        info.file,
        info.format,
        counted(info.requests, "request"),
        show_bytes(info.bytes as f64),
        show_time(info.duration_ns as f64),
        number_of_disks(info.disks.len()),
        show_bytes(info.span_bytes as f64)
    );
    let out_of_order = "out of order in time: each counts at the latest time before it, so that rates come \
                        out too bursty; sort the trace by time";
    let unmatched = "without a single request (merged, split, or issued before the trace): their response \
        times are left out";
    for (count, noun, what) in [
        (info.bad_lines, "bad line", "skipped"),
        (info.backwards, "request", out_of_order),
        (info.unmatched_completions, "completion", unmatched),
    ] {
        if count > 0 {
            text += &format!("{} {what}\n", show_number_of(count, noun));
        }
    }
    let mut part = |heading: &str, content: String| {
        text += &format!("\n{}\n{content}", tone.paint(TextRole::Heading, heading));
    };
    part("mix", mix(info, tone));
    part("sizes", sizes(info, tone));
    part("pace", pace(info, tone));
    part("places", places(info, tone));
    part("over time", windows(info, tone));
    if info.disks.len() > 1 {
        part("disks", disks(info, tone));
    }
    text
}

fn number_of_disks(disks: usize) -> String {
    show_number_of(disks as u64, "disk")
}

fn mix(info: &Info, tone: ColorMode) -> String {
    let right = |title| (title, Align::Right);
    let head = [("kind", Align::Left), right("requests"), right("share"), right("data"), right("fua")];
    let mut table = Table::new(&head, tone);
    for op in info.mix.iter().filter(|op| op.requests > 0) {
        table.row(&[
            op.op.to_string(),
            show_count(op.requests as f64),
            per_cent(op.requests as f64 / info.requests.max(1) as f64),
            show_bytes(op.bytes as f64),
            show_count(op.fua as f64),
        ]);
    }
    format!("{table}\n")
}

fn sizes(info: &Info, tone: ColorMode) -> String {
    let titles = ["mean", "min", "50", "90", "99", "max"].map(|title| (title, Align::Right));
    let mut head = vec![("kind", Align::Left)];
    head.extend(titles);
    head.push(("most frequent", Align::Left));
    let mut table = Table::new(&head, tone);
    for (kind, sizes) in [("read", &info.read_sizes), ("write", &info.write_sizes)] {
        if sizes.requests > 0 {
            table.row(&size_row(kind, sizes));
        }
    }
    let a = &info.alignment;
    let share = |count: u64| per_cent(count as f64 / a.requests.max(1) as f64);
    format!(
        "{table}\naligned to 4 KiB: offset {}, size {}, both {}; whole sectors {}\n",
        share(a.offset_4k),
        share(a.size_4k),
        share(a.both_4k),
        share(a.whole_sectors)
    )
}

fn size_row(kind: &str, s: &Sizes) -> Vec<String> {
    // To the byte: a request of 4097 bytes is another one than of 4 KiB.
    let size = |bytes: u32| exact_bytes(u64::from(bytes));
    let mean = match s.min == s.max {
        true => size(s.min),
        false => show_bytes(s.mean).replace(".00 ", " ").replace(".0 ", " ").replace(' ', ""),
    };
    let share = |count: u64| per_cent(count as f64 / s.requests.max(1) as f64);
    let top: Vec<String> =
        s.top.iter().take(2).map(|&(bytes, count)| format!("{} {}", size(bytes), share(count))).collect();
    let mut row = vec![kind.to_string(), mean];
    row.extend([s.min, s.p50, s.p90, s.p99, s.max].map(size));
    row.push(top.join(", "));
    row
}

fn pace(info: &Info, tone: ColorMode) -> String {
    let r = &info.rates;
    let right = |title| (title, Align::Right);
    let mut table = Table::new(&[("rate", Align::Left), right("requests/s"), right("bandwidth")], tone);
    let mut row = |what: &str, requests: f64, bytes: f64| {
        table.row(&[what.to_string(), per_second(requests), show_rate(bytes)]);
    };
    // One request, or several at one moment, have no rate.
    if info.duration_ns > 0 {
        row("mean", r.mean_requests_per_s, r.mean_bytes_per_s);
    }
    // A trace that is shorter than a second has no second to compare with its mean.
    if info.duration_ns >= 1_000_000_000 {
        row("busiest second", r.peak_1s_requests_per_s, r.peak_1s_bytes_per_s);
    }
    if info.duration_ns >= 100_000_000 {
        row("busiest 100 ms", r.peak_100ms_requests_per_s, r.peak_100ms_bytes_per_s);
    }
    let mut text = format!("{table}\n\n");
    let titles = ["mean", "50", "90", "99", "99.9", "max"].map(|title| (title, Align::Right));
    let mut head = vec![("time", Align::Left)];
    head.extend(titles);
    let mut table = Table::new(&head, tone);
    if info.requests > 1 {
        table.row(&time_row("between requests", &r.between));
    }
    if let Some(response) = &info.response {
        table.row(&time_row("response, as recorded", response));
    }
    text += &format!("{table}\n");
    text
}

fn time_row(what: &str, t: &Times) -> Vec<String> {
    let mut row = vec![what.to_string(), short_time(t.mean_ns)];
    row.extend([t.p50_ns, t.p90_ns, t.p99_ns, t.p999_ns, t.max_ns].map(|ns| short_time(ns as f64)));
    row
}

fn places(info: &Info, tone: ColorMode) -> String {
    let (f, s) = (&info.footprint, &info.sequence);
    let share = |part: u64, whole: u64| per_cent(part as f64 / whole.max(1) as f64);
    let bytes = |pages: u64| show_bytes(pages as f64 * Footprint::PAGE_BYTES as f64);
    let mut table = Table::new(&[("figure", Align::Left), ("value", Align::Right), ("", Align::Left)], tone);
    let mut row = |figure: &str, value: String, remark: String| {
        table.row(&[figure.to_string(), value, remark]);
    };
    row(
        "random requests",
        share(s.random, s.requests),
        format!(
            "{} random reads, {} random writes",
            show_count(s.random_reads as f64),
            show_count(s.random_writes as f64)
        ),
    );
    let characterization = &info.characterization;
    for (figure, kind) in
        [("reads that jump", &characterization.reads), ("writes that jump", &characterization.writes)]
    {
        if kind.requests == 0 {
            continue;
        }
        let remark = "away from where the last one of their kind ended".to_string();
        row(figure, per_cent(kind.random_share()), remark);
    }
    let locality = &characterization.locality;
    row(
        "transactional locality",
        per_cent(locality.share()),
        format!("{}: pages that could share planes on 64 chips", locality.class()),
    );
    row("longest run", show_count(s.longest_run_requests as f64), String::from("consecutive requests"));
    row(
        "working set",
        bytes(f.pages),
        format!("{} read, {} written", bytes(f.read_pages), bytes(f.written_pages)),
    );
    row("touched again", per_cent(f.reuse_share()), String::from("of all page touches"));
    row(
        "overwrites",
        per_cent(f.overwrite_share()),
        format!("of page writes; each written page {:.2} times", f.writes_per_written_page()),
    );
    row("reads of written", share(f.reads_of_written, f.page_reads), String::from("of page reads"));
    let estimate = format!("working set and reuse are estimates from one page in {}\n", f.sampling);
    format!("{table}\n{}", if f.sampling > 1 { estimate.as_str() } else { "" })
}

fn windows(info: &Info, tone: ColorMode) -> String {
    let right = |title| (title, Align::Right);
    let mut table =
        Table::new(&[right("from"), right("requests"), right("data"), right("working set")], tone);
    for window in &info.windows {
        table.row(&[
            show_time(window.start_ns as f64),
            show_count(window.requests as f64),
            show_bytes(window.bytes as f64),
            show_bytes(window.pages as f64 * Footprint::PAGE_BYTES as f64),
        ]);
    }
    format!("{table}\n")
}

fn disks(info: &Info, tone: ColorMode) -> String {
    let right = |title| (title, Align::Right);
    let head =
        [("disk", Align::Left), right("reads"), right("writes"), right("random"), right("addresses up to")];
    let mut table = Table::new(&head, tone);
    for disk in info.disks.iter().take(DISKS) {
        table.row(&[
            disk.label.clone(),
            show_count(disk.reads as f64),
            show_count(disk.writes as f64),
            per_cent(disk.sequence.random as f64 / disk.sequence.requests.max(1) as f64),
            show_bytes(disk.span_bytes as f64),
        ]);
    }
    let more = info.disks.len().saturating_sub(DISKS);
    format!(
        "{table}\n{}",
        if more > 0 { format!("and {more} more; --json has all\n") } else { String::new() }
    )
}
