//! Status text and Prometheus metrics of a drive.

use crate::drive::Drive;
use crate::emulated::{Account, EmulatedSsd};
use crate::{AnyDrive, ServedArray};
use std::fmt::Write;
use tailcut_base::histogram::LatencyHistogram;
use tailcut_base::quantity::show_bytes;
use tailcut_host::array::Condition;
use tailcut_host::array::drives::Presence;
use tailcut_host::wire::metrics::{Kind, Metrics};
use tailcut_ssd::{HandleFigures, Service};

/// Status of a drive and, for an array, of its members, as one `key value` line each.
pub(super) fn status(drive: &AnyDrive) -> String {
    let mut text = name_and_size(drive);
    tell_failure(drive, &mut text);
    match drive {
        AnyDrive::Memory(_) | AnyDrive::File(_) => {}
        AnyDrive::Emulated(ssd) => text += &emulated(ssd),
        AnyDrive::Array(array, _) => {
            let status = array.status();
            let ready = if status.is_ready { "yes" } else { "no" };
            let erasing = array.erasing().map(|(member, _)| member).collect::<Vec<_>>();
            let after = match erasing.is_empty() {
                true => String::new(),
                false => format!(", erasing {erasing:?} before the rebuild"),
            };
            writeln!(text, "ready {ready}\ncondition {}{after}", status.condition).expect(GROWS);
            if let Some(full) = array.full() {
                writeln!(text, "warning: no room to write on {full}: {RETRIED}").expect(GROWS);
            }
            for (member, ppm) in array.erasing() {
                writeln!(text, "erased {:.1} % of the drive for place {member}", f64::from(ppm) / 1e4)
                    .expect(GROWS);
            }
            let scrubbed = status.scrub.and_then(|(_, scrub)| scrub.progress());
            for (what, progress) in [("rebuilt", status.rebuilt), ("scrubbed", scrubbed)] {
                if let Some(ppm) = progress {
                    writeln!(text, "{what} {:.1} %", f64::from(ppm) / 1e4).expect(GROWS);
                }
            }
            if let Some((number, scrub)) = status.scrub {
                let state = if scrub.is_running() { "scrub running" } else { "last scrub" };
                writeln!(text, "scrubs {number}\n{state}: {scrub}").expect(GROWS);
            }
            let core = array.array().core();
            for member in core.drives.ids() {
                let faults = core.reads.faults(member);
                if faults.corrupt + faults.errors > 0 {
                    let counts = [(faults.corrupt, "wrong data"), (faults.errors, "an error")];
                    let counts = counts.iter().filter(|(count, _)| *count > 0);
                    let counts: Vec<String> =
                        counts.map(|(count, what)| format!("{what} in {count} reads")).collect();
                    let counts = counts.join(", and ");
                    writeln!(text, "warning: member {member} returned {counts}").expect(GROWS);
                }
            }
            for (member, drive) in members(drive) {
                let Some(drive) = drive else {
                    let state = if array.is_joining(member) { "being erased" } else { "missing" };
                    writeln!(text, "member {member} {state}").expect(GROWS);
                    continue;
                };
                writeln!(text, "member {member} {}", drive.identify().model).expect(GROWS);
                tell_failure(drive, &mut text);
                if let AnyDrive::Emulated(ssd) = drive {
                    text += &emulated(ssd);
                }
            }
            if let Some((member, status)) = array.not_erased() {
                writeln!(text, "warning: the drive for place {member} cannot be erased: {status}")
                    .expect(GROWS);
            }
            for sentence in drive.left_out() {
                writeln!(text, "warning: {sentence}").expect(GROWS);
            }
        }
    }
    text
}

/// Model and size of a drive, one per line.
pub(super) fn name_and_size(drive: &impl Drive) -> String {
    format!("drive {}\nsize {}\n", drive.identify().model, show_bytes(drive.bytes() as f64))
}

/// Appends the reason why a drive accepts no more writes, if it has failed.
pub(super) fn tell_failure(drive: &impl Drive, text: &mut String) {
    if let Some(why) = drive.failure() {
        writeln!(text, "failed: {why}").expect(GROWS);
    }
}

/// Adds a gauge that is 1 if a drive accepts no more writes.
pub(super) fn count_failure(member: &str, drive: &impl Drive, metrics: &mut Metrics) {
    let help = "1 for a drive that takes no writes any more because a flush has failed.";
    let has_failed = f64::from(u8::from(drive.failure().is_some()));
    metrics.add(Kind::Gauge, "drive_failed", help, &[("drive", member)], has_failed);
}

/// The handles of a drive with data placement; none of any other.
fn handles<'a>(ssd: &EmulatedSsd, account: &'a Account) -> impl Iterator<Item = (usize, &'a HandleFigures)> {
    let handles = ssd.identify().handles as usize;
    account.figures.handles.iter().take(if handles > 1 { handles } else { 0 }).enumerate()
}

fn emulated(ssd: &EmulatedSsd) -> String {
    let lateness = ssd.lateness();
    let mut text = format!("data {}\n", show_bytes((ssd.allocated() * tailcut_host::BLOCK_BYTES) as f64));
    if let Some(account) = ssd.account() {
        let collects = if account.collects { ", collecting" } else { "" };
        let amplification = account.figures.write_amplification();
        writeln!(text, "erased blocks {}{collects}", account.erased_blocks).expect(GROWS);
        writeln!(text, "write amplification {amplification:.2}").expect(GROWS);
        for (handle, figures) in handles(ssd, &account) {
            let [written, moved] = [figures.written, figures.moved].map(|bytes| show_bytes(bytes as f64));
            writeln!(
                text,
                "handle {handle}: {written} written, {moved} moved, {} reclaim units emptied",
                figures.collected
            )
            .expect(GROWS);
        }
    }
    if lateness.histogram().count() > 0 {
        writeln!(text, "{lateness}").expect(GROWS);
    }
    if let Some(warning) = lateness.warning() {
        writeln!(text, "warning: {warning}").expect(GROWS);
    }
    text
}

/// The members of an array with their numbers; any other drive is its own single member 0.
fn members(drive: &AnyDrive) -> Vec<(usize, Option<&AnyDrive>)> {
    match drive {
        AnyDrive::Array(array, _) => {
            let count = array.array().core().drives.len();
            (0..count).map(|member| (member, array.member(member))).collect()
        }
        single => vec![(0, Some(single))],
    }
}

/// A metric of an emulated drive: kind, name, help text and value.
type Figure = (Kind, &'static str, &'static str, fn(&Account) -> f64);

const FIGURES: [Figure; 11] = [
    (Kind::Counter, "host_reads_total", "Read commands completed.", |a| a.figures.counts.host_reads as f64),
    (Kind::Counter, "host_writes_total", "Write commands completed.", |a| {
        a.figures.counts.host_writes as f64
    }),
    (Kind::Counter, "pages_written_total", "Pages that the host has written.", |a| {
        a.figures.counts.host_pages_written as f64
    }),
    (Kind::Counter, "pages_programmed_total", "Pages programmed with data of the host.", |a| {
        a.figures.counts.programmed_user as f64
    }),
    (Kind::Counter, "pages_moved_total", "Pages programmed by collection and levelling.", |a| {
        a.figures.counts.programmed_gc as f64
    }),
    (Kind::Counter, "erases_total", "Blocks erased.", |a| a.figures.counts.erases as f64),
    (Kind::Counter, "collections_total", "Blocks emptied.", |a| a.figures.counts.collections as f64),
    (Kind::Gauge, "write_amplification", "Pages programmed per page written by the host.", |a| {
        a.figures.write_amplification()
    }),
    (Kind::Gauge, "erased_blocks", "Blocks that are erased and not in use.", |a| a.erased_blocks as f64),
    (Kind::Gauge, "collecting", "1 while the drive collects.", |a| f64::from(u8::from(a.collects))),
    (Kind::Gauge, "buffer_room_bytes", "Free space of the write buffer.", |a| a.buffer_room as f64),
];

/// A metric of a reclaim unit handle: name, help text and value.
type HandleFigure = (&'static str, &'static str, fn(&HandleFigures) -> u64);

const OF_HANDLES: [HandleFigure; 3] = [
    ("drive_handle_written_bytes_total", "Bytes of the host programmed by reclaim unit handle.", |h| {
        h.written
    }),
    ("drive_handle_moved_bytes_total", "Bytes of the data of a handle that collection has moved.", |h| {
        h.moved
    }),
    ("drive_handle_collections_total", "Reclaim units emptied whose data was mostly of a handle.", |h| {
        h.collected
    }),
];

/// Adds the size of a drive, in bytes.
pub(super) fn count_size(bytes: u64, metrics: &mut Metrics) {
    metrics.add(Kind::Gauge, "size_bytes", "Size of what is served.", &[], bytes as f64);
}

/// Adds all metrics of a drive.
pub(super) fn count(drive: &AnyDrive, metrics: &mut Metrics) {
    count_size(drive.bytes(), metrics);
    if let AnyDrive::Array(array, _) = drive {
        count_array(array, metrics);
    }
    for (member, drive) in members(drive) {
        let number = member.to_string();
        match drive {
            Some(AnyDrive::Emulated(ssd)) => count_emulated(&number, ssd, metrics),
            Some(AnyDrive::File(file)) => count_failure(&number, &**file, metrics),
            _ => {}
        }
    }
}

fn count_array(array: &ServedArray<AnyDrive>, metrics: &mut Metrics) {
    let flag = |is_so: bool| if is_so { 1.0 } else { 0.0 };
    let status = array.status();
    let condition = "1 for the condition that the array is in.";
    for (name, is_so) in [
        ("optimal", status.condition == Condition::Optimal),
        ("degraded", matches!(status.condition, Condition::Degraded { .. })),
        ("failed", matches!(status.condition, Condition::Failed { .. })),
    ] {
        metrics.add(Kind::Gauge, "array_condition", condition, &[("condition", name)], flag(is_so));
    }
    count_reads(array, metrics);
    let drives = &array.array().core().drives;
    for member in drives.ids() {
        let is_in_sync = drives.presence(member) == Presence::InSync;
        let labels = [("member", &*member.to_string())];
        let help = "1 for a drive that serves all.";
        metrics.add(Kind::Gauge, "array_member_in_sync", help, &labels, flag(is_in_sync));
        let (help, is_full) =
            ("1 for a drive without room for writes.", drives.full().any(|full| full == member));
        metrics.add(Kind::Gauge, "array_member_full", help, &labels, flag(is_full));
        let faults = array.array().core().reads.faults(member);
        for (what, count) in [("error", faults.errors), ("corrupt", faults.corrupt), ("slow", faults.slow)] {
            let labels = [labels[0], ("fault", what)];
            metrics.add(Kind::Counter, "array_member_faults_total", FAULTS, &labels, count as f64);
        }
    }
    for (name, help, progress) in [
        ("array_rebuilt_ratio", "What a drive that is rebuilt has by now.", status.rebuilt),
        (
            "array_scrubbed_ratio",
            "What has been scrubbed.",
            status.scrub.and_then(|(_, scrub)| scrub.progress()),
        ),
    ] {
        if let Some(ppm) = progress {
            metrics.add(Kind::Gauge, name, help, &[], f64::from(ppm) / 1e6);
        }
    }
}

/// Adds counters of an array's reads and of its epochs.
fn count_reads(array: &ServedArray<AnyDrive>, metrics: &mut Metrics) {
    let reads = array.array().core().reads.counts();
    for (way, count) in [
        ("degraded", reads.degraded),
        ("steered", reads.steered),
        ("contended", reads.contended),
        ("slow", reads.hedged),
        ("corrupt", reads.corrupt),
    ] {
        metrics.add(Kind::Counter, "array_reads_around_total", AROUND, &[("because", way)], count as f64);
    }
    let mut rows = vec![
        ("array_reads_total", "Reads of stored blocks that were begun.", reads.begun),
        ("array_blocks_repaired_total", "Blocks written again, as a drive returned others.", reads.repaired),
        ("array_reads_lost_total", "Reads whose data could not be had at all.", reads.lost),
    ];
    if let Some(epochs) = array.array().epoch_figures() {
        rows.extend([
            ("array_epochs_total", "Epochs.", epochs.epochs),
            ("array_reads_diverted_total", "Reads that went to the copy without the token.", epochs.diverted),
            ("array_reads_met_total", "Reads that had to go to the drive with the token.", epochs.met),
            (
                "array_reads_cached_total",
                "Blocks of reads answered from the cache of writes.",
                epochs.from_cache,
            ),
            ("array_throttled_total", "Requests that waited for room in the cache.", epochs.throttled),
        ]);
    }
    for (name, help, count) in rows {
        metrics.add(Kind::Counter, name, help, &[], count as f64);
    }
}

fn count_emulated(member: &str, ssd: &EmulatedSsd, metrics: &mut Metrics) {
    if let Some(account) = ssd.account() {
        for (kind, name, help, of) in FIGURES {
            metrics.add(kind, name, help, &[("member", member)], of(&account));
        }
        for (handle, figures) in handles(ssd, &account) {
            let labels = [("member", member), ("handle", &*handle.to_string())];
            for (name, help, of) in OF_HANDLES {
                metrics.add(Kind::Counter, name, help, &labels, of(figures) as f64);
            }
        }
        for (service, accuracy) in Service::ALL.iter().zip(&account.predictions) {
            let labels = [("member", member), ("service", service.label())];
            metrics.add(Kind::Counter, "predicted_total", PREDICTED, &labels, accuracy.predicted as f64);
            let error = accuracy.error() / 1e9;
            metrics.add(Kind::Gauge, "prediction_error_seconds", PREDICTION_ERROR, &labels, error);
        }
    }
    let lateness = ssd.lateness();
    summary("late_seconds", LATE, &[("member", member)], lateness.histogram(), metrics);
}

/// A summary of times, in seconds.
pub(crate) fn summary(
    name: &'static str,
    help: &'static str,
    labels: &[(&str, &str)],
    times: &LatencyHistogram,
    metrics: &mut Metrics,
) {
    for quantile in [0.5, 0.99, 0.999, 1.0] {
        let text = quantile.to_string();
        let labels: Vec<(&str, &str)> = labels.iter().copied().chain([("quantile", text.as_str())]).collect();
        let time = times.percentile(quantile * 100.0).0 as f64 / 1e9;
        metrics.add(Kind::Summary, name, help, &labels, time);
    }
    let count = times.count() as f64;
    metrics.add_part(Kind::Summary, (name, "_sum"), help, labels, times.sum() as f64 / 1e9);
    metrics.add_part(Kind::Summary, (name, "_count"), help, labels, count);
}

/// A histogram of times, in seconds.
pub fn histogram(
    name: &'static str,
    help: &'static str,
    labels: &[(&str, &str)],
    times: &LatencyHistogram,
    metrics: &mut Metrics,
) {
    let (mut buckets, mut counted) = (times.buckets().peekable(), 0);
    for bound in BOUNDS_US {
        while let Some((_, count)) = buckets.next_if(|(time, _)| time.0 <= bound * 1000) {
            counted += count;
        }
        let le = (bound as f64 / 1e6).to_string();
        let labels: Vec<(&str, &str)> = labels.iter().copied().chain([("le", le.as_str())]).collect();
        metrics.add_part(Kind::Histogram, (name, "_bucket"), help, &labels, counted as f64);
    }
    let endless: Vec<(&str, &str)> = labels.iter().copied().chain([("le", "+Inf")]).collect();
    let count = times.count() as f64;
    metrics.add_part(Kind::Histogram, (name, "_bucket"), help, &endless, count);
    metrics.add_part(Kind::Histogram, (name, "_sum"), help, labels, times.sum() as f64 / 1e9);
    metrics.add_part(Kind::Histogram, (name, "_count"), help, labels, count);
}

/// Bounds of the buckets in microseconds: 1, 2, 5 and so on up to 10 s.
const BOUNDS_US: [u64; 22] = [
    1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000,
    500_000, 1_000_000, 2_000_000, 5_000_000, 10_000_000,
];

const AROUND: &str = "Reads that were reconstructed or answered by another copy, by why.";
const FAULTS: &str = "Reads of a drive that failed, returned something else than was written, or were late.";
const LATE: &str = "How late answers were, after the moment of the model.";
const PREDICTED: &str = "Services whose time the behaviour tracker had predicted.";
const PREDICTION_ERROR: &str = "Root mean square of what those predictions were off by.";
const RETRIED: &str =
    "make some on its file system; nothing is written until then, and it is tried again every second";
const GROWS: &str = "a text takes all";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::Answers;
    use tailcut_base::fdp::HandleId;
    use tailcut_base::{Class, Op, Time};
    use tailcut_host::{Bytes, Mirror, Request};
    use tailcut_ssd::{Preset, Ssd};

    /// A small drive with this number of handles that 16 MiB were written to, all by the last one.
    fn written(handles: u32) -> AnyDrive {
        let mut config = Preset::Pm9a3.config();
        (config.geometry.channels, config.geometry.chips) = (2, 1);
        (config.geometry.blocks, config.geometry.pages) = (64, 96);
        (config.superblock.erases, config.ftl.spare) = (1, 400_000);
        (config.buffer.size, config.fdp.handles) = (4 << 20, handles);
        let mut drive = EmulatedSsd::inline(Ssd::new(&config, 1, false));
        let (handle, mut now, mut answers) = (HandleId::new(handles - 1), Time::ZERO, Answers::default());
        for number in 0..256u64 {
            let (op, class, mirror) = (Op::Write, Class::DEFAULT, Mirror::Any);
            let (block, blocks, data) = (number * 16, 16, vec![Bytes::zeroed(); 16]);
            let (id, fua, fail_fast) = (number as u32, false, false);
            let write = Request { id, op, fua, class, fail_fast, mirror, handle, block, blocks, data };
            drive.submit(now, write);
            while answers.responses.len() <= number as usize {
                now = now.max(drive.next_event());
                assert_ne!(now, Time::NEVER, "a write is answered");
                drive.poll(now, &mut answers);
            }
        }
        AnyDrive::Emulated(Box::new(drive))
    }

    #[test]
    fn what_was_written_is_counted_by_handle() {
        let drive = written(3);
        let lines = |text: String| text.lines().map(String::from).collect::<Vec<_>>();
        let of_handles = lines(status(&drive)).into_iter().filter(|line| line.starts_with("handle "));
        let of_handles: Vec<String> = of_handles.collect();
        assert_eq!(of_handles[0], "handle 0: 0 B written, 0 B moved, 0 reclaim units emptied");
        assert!(of_handles.len() == 3 && !of_handles[2].contains(" 0 B written"), "{of_handles:?}");
        let mut metrics = Metrics::default();
        count(&drive, &mut metrics);
        let metrics = lines(metrics.to_string());
        let written = |handle: u32| {
            let start =
                format!("tailcut_drive_handle_written_bytes_total{{member=\"0\",handle=\"{handle}\"}} ");
            let value = metrics.iter().find_map(|line| line.strip_prefix(start.as_str()));
            value.and_then(|value| value.parse::<u64>().ok())
        };
        assert_eq!([0, 1, 3].map(written), [Some(0), Some(0), None]);
        assert!(written(2).is_some_and(|bytes| bytes > 0 && bytes <= 16 << 20), "{metrics:#?}");
    }

    #[test]
    fn a_drive_without_handles_counts_none() {
        let drive = written(1);
        let mut metrics = Metrics::default();
        count(&drive, &mut metrics);
        assert!(!status(&drive).contains("handle") && !metrics.to_string().contains("handle"));
    }
}
