//! Beyond SWAN and Shin: what a lost drive, its rebuild and a scrub cost the reads of an array.
//!
//! Six drives (`femu-16g`) under 70 % reads of 4 KiB, at two fifths of what the sound array carries. Each
//! state is measured from its first moment on and for as long as it lasts: two runs of a rebuild or a scrub
//! are the same up to its end, and the first one tells when that is.

use super::{Options, Row, Study};
use std::fmt;
use tailcut_base::Nanos;
use tailcut_base::config::Choice;
use tailcut_base::quantity::show_rate;
use tailcut_host::array::raid::WriteHole;
use tailcut_host::array::{ArrayConfig, LayoutKind};
use tailcut_sim::Scenario;
use tailcut_sim::measured::{Measured, Run, find};
use tailcut_sim::report::IncidentReport;
use tailcut_sim::world::Limits;
use tailcut_ssd::precondition::PreparedState;
use tailcut_ssd::{Precondition, Preset};
use tailcut_workload::SyntheticConfig;
use tailcut_workload::config::PaceKind;

/// Reads of arrays in trouble, against those of the same array when sound.
pub(crate) struct Degraded;

/// An array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// RAID5 as Linux md creates it by default: chunks of 512 KiB, a write-intent bitmap.
    Md,
    /// This layout, with its own defaults.
    Layout(LayoutKind),
}

const KINDS: [Kind; 4] = [
    Kind::Md,
    Kind::Layout(LayoutKind::LogRaid5),
    Kind::Layout(LayoutKind::Swan5),
    Kind::Layout(LayoutKind::Epochs),
];

/// Drives of an array: SWAN's two R-groups need three each.
const DRIVES: u32 = 6;

/// The drive that is lost.
const LOST: u32 = 1;

/// What rebuilding and scrubbing may read from each drive in a second; 0 for no limit. The second is md's
/// default maximum (`sync_speed_max`, md(4)).
const RATES: [u64; 3] = [0, 200_000_000, 50_000_000];

/// The share of what the sound array sustains that is asked of it.
const CARRIED: f64 = 0.4;

/// What state an array is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Sound,
    /// A drive is missing.
    Degraded,
    /// It is being rebuilt at this rate.
    Rebuilding(u64),
    /// All data is read and compared at this rate.
    Scrubbing(u64),
}

fn states(options: &Options) -> Vec<State> {
    let rates = if options.quick { &RATES[..2] } else { &RATES };
    let mut states = vec![State::Sound, State::Degraded];
    states.extend(rates.iter().map(|&rate| State::Rebuilding(rate)));
    states.extend(rates.iter().map(|&rate| State::Scrubbing(rate)));
    states
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = |rate: u64| match rate {
            0 => String::from("as fast as it goes"),
            rate => format!("at {}", show_rate(rate as f64)),
        };
        match *self {
            State::Sound => f.write_str("sound"),
            State::Degraded => f.write_str("degraded"),
            State::Rebuilding(rate) => write!(f, "rebuilding {}", at(rate)),
            State::Scrubbing(rate) => write!(f, "scrubbing {}", at(rate)),
        }
    }
}

impl State {
    /// As part of a label.
    fn id(self) -> String {
        match self {
            State::Sound => "sound".into(),
            State::Degraded => "degraded".into(),
            State::Rebuilding(rate) => format!("rebuilding-{}", rate / 1_000_000),
            State::Scrubbing(rate) => format!("scrubbing-{}", rate / 1_000_000),
        }
    }

    /// The incidents that lead to it.
    fn incidents(self) -> String {
        match self {
            State::Sound => String::new(),
            State::Degraded => format!("0s remove {LOST}"),
            State::Rebuilding(_) => format!("0s remove {LOST}; {BEFORE_RETURN} return {LOST}"),
            State::Scrubbing(_) => format!("{BEFORE_RETURN} scrub"),
        }
    }

    fn rate(self) -> u64 {
        match self {
            State::Rebuilding(rate) | State::Scrubbing(rate) => rate,
            _ => 0,
        }
    }

    fn has_end(self) -> bool {
        matches!(self, State::Rebuilding(_) | State::Scrubbing(_))
    }
}

/// The least that a rebuild or a scrub without a limit is expected to read from each drive in a second.
const SLOWEST: u64 = 100_000_000;

/// How long a drive is gone before it comes back.
const BEFORE_RETURN: &str = "100ms";

/// The ramp, in which the buffers fill and the incident begins.
const RAMP: Nanos = Nanos::millis(200);

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Md => "raid5 as md",
            Kind::Layout(layout) => layout.name(),
        }
    }

    fn id(self) -> &'static str {
        match self {
            Kind::Md => "md",
            Kind::Layout(layout) => layout.name(),
        }
    }

    /// The array with a load of this many requests a second, or a saturating one.
    fn scenario(self, options: &Options, state: State, rate: Option<f64>, length: Nanos) -> Scenario {
        let mut device = Preset::Femu.config();
        (device.geometry.blocks, device.geometry.chips) = (32, if options.quick { 2 } else { 8 });
        let layout = match self {
            Kind::Md => LayoutKind::Raid5,
            Kind::Layout(layout) => layout,
        };
        let groups = if layout.is_swan() || layout.is_mirrored() { 2 } else { 1 };
        let background_rate = state.rate();
        let mut array =
            ArrayConfig { drives: DRIVES, layout, groups, background_rate, ..ArrayConfig::default() };
        if self == Kind::Md {
            (array.raid.chunk, array.raid.write_hole) = (512 << 10, WriteHole::Resync);
        }
        let open = |rate: f64| (PaceKind::Open, (rate as u64).max(1), 1 << 16);
        let (pace, rate, depth) = rate.map_or((PaceKind::Closed, 1, 256), open);
        let (read, region_share) = (700_000, 800_000);
        Scenario {
            seed: options.seed,
            content: false,
            device,
            array,
            incidents: state.incidents(),
            precondition: Precondition { state: PreparedState::Steady, fill: region_share },
            workload: SyntheticConfig { read, region_share, pace, rate, depth, ..SyntheticConfig::default() },
            run: Limits { ramp: RAMP, duration: RAMP + length, ..Limits::NONE },
            ..Scenario::default()
        }
    }

    fn saturated(self, options: &Options) -> Run {
        let length = Nanos::secs(if options.quick { 1 } else { 4 });
        let scenario = self.scenario(options, State::Sound, None, length);
        Run { label: format!("saturated/{}", self.id()), scenario }
    }

    fn load(self, done: &[Measured]) -> f64 {
        CARRIED * find(done, &format!("saturated/{}", self.id())).iops()
    }

    /// A run that sees the end of the state, if it comes as soon as a rate allows, or a state that has none.
    fn first(self, options: &Options, done: &[Measured], state: State) -> Run {
        let mut scenario = self.scenario(options, state, Some(self.load(done)), Nanos::secs(2));
        if state.has_end() {
            let rate = if state.rate() > 0 { state.rate() } else { SLOWEST };
            let pages = scenario.device.ftl.logical_pages(&scenario.device.geometry);
            let least = Nanos::for_bytes(pages * scenario.device.geometry.page_bytes, rate);
            scenario.run.duration = RAMP + least + least / 4 + Nanos::secs(1);
        }
        let kind = if state.has_end() { "first" } else { "measured" };
        Run { label: format!("{kind}/{}/{}", self.id(), state.id()), scenario }
    }

    /// When the rebuild or the scrub of a run is complete, from the start of its work.
    fn took(self, done: &[Measured], state: State) -> Option<Nanos> {
        let first = find(done, &format!("first/{}/{}", self.id(), state.id()));
        let incidents = &first.report.array.as_ref()?.incidents;
        incidents.iter().find_map(IncidentReport::took_ns).map(Nanos)
    }

    /// The same run up to the end of the state.
    fn second(self, options: &Options, done: &[Measured], state: State) -> Run {
        let first = self.first(options, done, state).scenario;
        let whole = first.run.duration.saturating_sub(RAMP);
        // The state begins before the ramp ends.
        let length = self.took(done, state).map_or(whole, |took| took.saturating_sub(Nanos::millis(100)));
        let scenario = self.scenario(options, state, Some(self.load(done)), length.max(Nanos::millis(50)));
        Run { label: format!("measured/{}/{}", self.id(), state.id()), scenario }
    }

    fn measured(self, done: &[Measured], state: State) -> &Measured {
        find(done, &format!("measured/{}/{}", self.id(), state.id()))
    }
}

/// The percentiles of the reads.
const PERCENTILES: [(f64, &str); 4] =
    [(50.0, "read p50"), (99.0, "read p99"), (99.9, "read p99.9"), (99.99, "read p99.99")];

impl Study for Degraded {
    fn id(&self) -> &'static str {
        "beyond-degraded"
    }

    fn title(&self) -> &'static str {
        "Reads of an array without a drive, during its rebuild and during a scrub"
    }

    fn source(&self) -> &'static str {
        "md(4), for the defaults of raid5 as md: modelled, and not md itself"
    }

    fn later_runs(&self) -> Option<&'static str> {
        Some("the load is a share of what each array carries, and a rebuild is measured up to its end")
    }

    fn next(&self, options: &Options, done: &[Measured]) -> Vec<Run> {
        let states = states(options);
        let ending = states.iter().filter(|state| state.has_end()).count();
        let all = KINDS.len();
        if done.is_empty() {
            KINDS.map(|kind| kind.saturated(options)).to_vec()
        } else if done.len() == all {
            let of = |kind: Kind| states.iter().map(move |&state| kind.first(options, done, state));
            KINDS.into_iter().flat_map(of).collect()
        } else if done.len() == all + all * states.len() {
            let ends = || states.iter().filter(|state| state.has_end());
            let of = |kind: Kind| ends().map(move |&state| kind.second(options, done, state));
            KINDS.into_iter().flat_map(of).collect()
        } else {
            debug_assert_eq!(done.len(), all * (1 + states.len() + ending));
            Vec::new()
        }
    }

    fn rows(&self, options: &Options, done: &[Measured]) -> Vec<Row> {
        let mut rows = Vec::new();
        for kind in KINDS {
            let sound = kind.measured(done, State::Sound);
            for state in states(options) {
                let case = format!("{}, {state}", kind.name());
                let measured = kind.measured(done, state);
                for (percentile, quantity) in PERCENTILES {
                    let seconds = measured.read_percentile(percentile);
                    rows.push(Row::new(&*case, quantity, "s", seconds));
                    if state != State::Sound {
                        let ratio = measured.read_percentile_over(sound, percentile);
                        rows.push(Row::new(&*case, format!("{quantity} / sound"), "x", ratio));
                    }
                }
                if state.has_end() {
                    let took = kind.took(done, state).map(Nanos::as_secs_f64);
                    rows.push(Row::new(&*case, "time until complete", "s", took));
                }
                if measured.errors() > 0 {
                    rows.push(Row::new(&*case, "failed requests", "", measured.errors() as f64));
                }
            }
        }
        rows
    }
}
