//! Beyond Shin, section 5.6: his scheme inside one SSD, over NVM sets instead of drives.
//!
//! Two drives, each with as many chips on a channel as four sets need: the one of the studies of the
//! multi-SSD engine (`swan-sata`, 8 chips per channel instead of 7, behind NVMe, as drives with AHCI have no
//! sets) and `femu-16g` with a quarter of its blocks. For the comparison both serve reads first, and have no
//! capacitor, so that an epoch ends with a flush. Load and preparation are those of `shin-5.4`. Nothing was
//! chosen for the results.

use super::interval::Interval;
use super::shin::{Mode, bandwidth};
use super::{Options, Row, swan};
use tailcut_base::{Nanos, Op};
use tailcut_host::array::epoch::EpochMode;
use tailcut_host::array::{ArrayConfig, LayoutKind, Members};
use tailcut_sim::Scenario;
use tailcut_sim::measured::{Measured, Run, find};
use tailcut_ssd::config::{ChipPolicy, CommitPolicy, Protocol};
use tailcut_ssd::{Preset, SetsBy, SetsConfig, SsdConfig};

/// Readers of 4 KiB.
const READERS: u32 = 8;

/// Percentiles of the reads.
const PERCENTILES: [f64; 5] = [50.0, 99.0, 99.9, 99.99, LAST];

const LAST: f64 = 99.9999;

/// Token groups: one is written, the other read.
const GROUPS: u32 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Drive {
    Swan,
    Femu,
}

const DRIVES: [Drive; 2] = [Drive::Swan, Drive::Femu];

impl Drive {
    fn name(self) -> &'static str {
        match self {
            Drive::Swan => "swan-sata, 4 x 8 chips, NVMe",
            Drive::Femu => "femu-16g, 64 blocks a plane",
        }
    }

    fn id(self) -> &'static str {
        match self {
            Drive::Swan => "swan",
            Drive::Femu => "femu",
        }
    }

    fn config(self) -> SsdConfig {
        let mut device = match self {
            Drive::Swan => {
                let mut device = swan::drive();
                device.geometry.chips = 8;
                (device.queue.protocol, device.queue.trim) = (Protocol::Nvme, Nanos::ZERO);
                device
            }
            Drive::Femu => {
                let mut device = Preset::Femu.config();
                device.geometry.blocks = 64;
                device
            }
        };
        (device.schedule.commit, device.schedule.chip) = (CommitPolicy::Sos, ChipPolicy::ReadsFirst);
        device.buffer.capacitor = false;
        // Garbage is collected on the host's command, or when it must be.
        device.gc.background = false;
        device
    }
}

/// How reads and writes share the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sharing {
    /// The whole drive, readers only.
    Alone,
    /// The whole drive, readers and writers mixed.
    Mixed,
    /// In epochs over `sets` sets, with or without control of collection.
    Epochs { mode: EpochMode, sets: u32, by: SetsBy },
}

/// All ways.
fn ways() -> Vec<Sharing> {
    let mut ways = vec![Sharing::Alone, Sharing::Mixed];
    for sets in [2, 4] {
        for by in [SetsBy::Channels, SetsBy::Chips] {
            let modes = [EpochMode::Epoch, EpochMode::GcControl];
            ways.extend(modes.map(|mode| Sharing::Epochs { mode, sets, by }));
        }
    }
    ways
}

impl Sharing {
    fn name(self) -> String {
        match self {
            Sharing::Alone => "readers only".into(),
            Sharing::Mixed => "MIX".into(),
            Sharing::Epochs { mode, sets, by } => format!("{} over {sets} sets by {by}", word(mode)),
        }
    }

    fn id(self) -> String {
        match self {
            Sharing::Alone => "alone".into(),
            Sharing::Mixed => "mix".into(),
            Sharing::Epochs { mode, sets, by } => format!("{}/{sets}-{by}", word(mode)),
        }
    }

    fn array(self) -> ArrayConfig {
        let Sharing::Epochs { mode, sets, .. } = self else { return ArrayConfig::default() };
        let (layout, members) = (LayoutKind::Epochs, Members::Sets);
        let mut array =
            ArrayConfig { drives: sets, members, layout, groups: GROUPS, ..ArrayConfig::default() };
        array.epoch.mode = mode;
        array
    }

    fn scenario(self, options: &Options, drive: Drive) -> Scenario {
        let seconds = if options.quick { 2 } else { 100 };
        let load = match self {
            Sharing::Alone => Mode::Mix.readers(options, READERS, seconds),
            _ => Mode::Mix.mixed(options, READERS, seconds),
        };
        let mut device = drive.config();
        if let Sharing::Epochs { sets: count, by, .. } = self {
            device.sets = SetsConfig { count, by };
        }
        Scenario { device, array: self.array(), ..load }
    }

    fn note(self) -> &'static str {
        match self {
            Sharing::Alone => ALONE,
            Sharing::Mixed => MIXED,
            Sharing::Epochs { mode: EpochMode::Epoch, .. } => EPOCH,
            Sharing::Epochs { by: SetsBy::Channels, .. } => CHANNELS,
            Sharing::Epochs { by: SetsBy::Chips, .. } => CHIPS,
        }
    }
}

fn word(mode: EpochMode) -> &'static str {
    match mode {
        EpochMode::Epoch => "EPCH",
        EpochMode::GcControl => "GCCTRL",
    }
}

fn label(drive: Drive, way: Sharing) -> String {
    format!("{}/{}", drive.id(), way.id())
}

/// The runs of each drive, as a whole and in sets.
pub(crate) fn runs(options: &Options) -> Vec<Run> {
    let run =
        |drive: Drive, way: Sharing| Run { label: label(drive, way), scenario: way.scenario(options, drive) };
    DRIVES.into_iter().flat_map(|drive| ways().into_iter().map(move |way| run(drive, way))).collect()
}

/// Their rows.
pub(crate) fn rows(done: &[Measured]) -> Vec<Row> {
    let rows = |drive: Drive| {
        let alone = find(done, &label(drive, Sharing::Alone));
        ways().into_iter().flat_map(move |way| {
            let case = format!("{}: {}", drive.name(), way.name());
            rows_of(&case, way, find(done, &label(drive, way)), alone)
        })
    };
    DRIVES.into_iter().flat_map(rows).collect()
}

fn rows_of(case: &str, way: Sharing, measured: &Measured, alone: &Measured) -> Vec<Row> {
    let row = |quantity: &str, unit, value: f64| Row::new(case, quantity, unit, value);
    let latency = |percentile: f64| {
        let (quantity, ours) =
            (format!("read latency, {percentile} %"), measured.read_percentile(percentile));
        let row = Row::new(case, quantity, "s", ours).limit(alone.read_percentile(percentile));
        if percentile == LAST { row.note(count(measured)) } else { row }
    };
    let mut rows: Vec<Row> = PERCENTILES.map(latency).to_vec();
    rows.push(row("read latency, highest", "s", measured.reads.max().as_secs_f64()).note(way.note()));
    let total = row("bandwidth, reads and writes", "B/s", measured.bandwidth());
    rows.push(if measured.epochs.is_some() { total.note(TWICE) } else { total });
    if way != Sharing::Alone {
        rows.push(row("write bandwidth", "B/s", bandwidth(measured, Op::Write)));
        rows.push(row("write latency, highest", "s", measured.writes.max().as_secs_f64()));
    }
    rows.push(row("usable space", "B", measured.report.capacity_bytes as f64));
    if let Some(epochs) = &measured.epochs {
        rows.push(row("reads that met the token", "1", epochs.met as f64).note(SINCE));
        rows.push(row("copies later than the deadline", "1", epochs.late as f64).note(SINCE));
        rows.push(row("times a set did not come to rest", "1", epochs.restless as f64).note(SINCE));
    }
    rows
}

/// How many reads the last percentile comes from, and in what interval it lies.
fn count(measured: &Measured) -> String {
    let Interval { from, to } = Interval::of(&measured.reads, LAST);
    let bound = |at: Option<Nanos>| at.map_or("no bound".into(), |at| at.to_string());
    format!(
        "Of {} reads; taken as independent, 95 % from {} to {}.",
        measured.reads.count(),
        bound(from),
        bound(to)
    )
}

const ALONE: &str = "\
What separation can reach at the best: all chips serve nothing but reads.";

const MIXED: &str = "\
Chips serve reads first: the slowest reads wait for an erase, and for the link where writes fill it.";

const EPOCH: &str = "\
Half of the chips serve the reads, and the link is shared with the writes. The slowest reads wait for an \
erase: a set collects when it must, also without the token.";

const CHANNELS: &str = "\
Half of the chips serve the reads. What they still meet of the writes is the link, over which up to 1 MiB \
goes before a read (1.8 ms over the 600 MB/s in one direction at a time of swan-sata).";

const CHIPS: &str = "\
As by channels, and all buses are shared: a read meets page transfers of the other set's programs, but has \
all channels for its own.";

const TWICE: &str = "Every write goes to two sets, whose bandwidth counts once here.";

const SINCE: &str = "Since the beginning, before the measurement.";
