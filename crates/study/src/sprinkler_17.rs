//! Sprinkler, figure 17: garbage collection, and what the readdressing callback is worth.

use super::many_chip::{CHIPS, drive};
use super::{Options, Row, Study};
use tailcut_base::quantity::exact_bytes;
use tailcut_sim::Scenario;
use tailcut_sim::measured::{Measured, Run, find};
use tailcut_sim::world::Limits;
use tailcut_ssd::Precondition;
use tailcut_ssd::config::CommitPolicy::{self, Pas, Sprinkler, Vas};
use tailcut_ssd::precondition::PreparedState;
use tailcut_workload::SyntheticConfig;
use tailcut_workload::address::WHOLE;
use tailcut_workload::config::PaceKind;

/// Pristine drives, and drives that are 95 % full and fragmented.
pub(crate) struct Migration;

/// The drives of figure 17.
const DRIVES: [u32; 2] = [CHIPS[0], CHIPS[1]];

/// A case under comparison: a scheduler on a drive in some state.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Case {
    policy: CommitPolicy,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Half full, written once in order: nothing is collected.
    Pristine,
    /// Written in random requests of 1 MiB until 95 % is used up and collection is about to begin.
    Fragmented,
    /// As [`State::Fragmented`], and waiting requests do not follow pages that move.
    NotReaddressed,
}

const CASES: [Case; 7] = [
    Case { policy: Vas, state: State::Pristine },
    Case { policy: Pas, state: State::Pristine },
    Case { policy: Sprinkler, state: State::Pristine },
    Case { policy: Vas, state: State::Fragmented },
    Case { policy: Pas, state: State::Fragmented },
    Case { policy: Sprinkler, state: State::Fragmented },
    Case { policy: Sprinkler, state: State::NotReaddressed },
];

impl Study for Migration {
    fn id(&self) -> &'static str {
        "sprinkler-17"
    }

    fn title(&self) -> &'static str {
        "Bandwidth under garbage collection, with and without readdressing, 64 and 256 chips"
    }

    fn source(&self) -> &'static str {
        "Jung and Kandemir, Sprinkler, HPCA 2014, sections 4.3 and 5.9, figure 17"
    }

    fn next(&self, options: &Options, done: &[Measured]) -> Vec<Run> {
        if !done.is_empty() {
            return Vec::new();
        }
        let mut runs = Vec::new();
        for chips in DRIVES {
            for size in sizes(options) {
                runs.extend(CASES.map(|case| case.run(options, chips, size)));
            }
        }
        runs
    }

    fn rows(&self, options: &Options, done: &[Measured]) -> Vec<Row> {
        let sizes = sizes(options);
        let mut rows = Vec::new();
        for chips in DRIVES {
            for &size in &sizes {
                rows.extend(CASES.map(|case| case.row(done, chips, size)));
            }
        }
        rows.extend(claims(done, &sizes, &DRIVES));
        for chips in DRIVES {
            rows.extend(
                claims(done, &sizes, &[chips]).into_iter().map(|row| row.of_reading("one drive alone")),
            );
        }
        rows
    }
}

/// Half reads, half writes of 4 KiB to 1 MiB; in the quick form two sizes.
fn sizes(options: &Options) -> Vec<u64> {
    if options.quick { vec![16 << 10, 256 << 10] } else { (12..=20).step_by(2).map(|log| 1 << log).collect() }
}

impl Case {
    fn label(&self, chips: u32, size: u64) -> String {
        let state = match self.state {
            State::Pristine => "pristine",
            State::Fragmented => "fragmented",
            State::NotReaddressed => "not-readdressed",
        };
        format!("{chips}-chips/{}/{state}/{}", self.policy, exact_bytes(size))
    }

    fn run(&self, options: &Options, chips: u32, size: u64) -> Run {
        let mut device = drive(chips);
        device.schedule.commit = self.policy;
        device.schedule.readdressing = self.state != State::NotReaddressed;
        // Fewer blocks than the paper's: a drive that is full of data behaves the same at any size,
        // as long as its spare share, 14 %, is.
        device.geometry.blocks = BLOCKS;
        device.ftl.spare = 140_000;
        // "Filled by 95 %": 61 blocks of 64.
        device.gc.low = 3;
        let (state, fill) = match self.state {
            State::Pristine => (PreparedState::Sequential, WHOLE / 2),
            _ => (PreparedState::Random, WHOLE),
        };
        // Half of the bytes are written: the open blocks fill once (quick form) or eight times, so that
        // nearly all of the run is collection.
        let row = u64::from(chips) * 4 * u64::from(device.geometry.pages) * device.geometry.page_bytes;
        let bytes = if options.quick { 5 * row } else { 16 * row };
        let workload = SyntheticConfig {
            read: WHOLE / 2,
            read_size: exact_bytes(size),
            write_size: exact_bytes(size),
            align: 4 << 10,
            region_share: fill,
            pace: PaceKind::Closed,
            depth: 2 * device.queue.depth,
            ..SyntheticConfig::default()
        };
        let least = 16 * u64::from(device.queue.depth);
        let scenario = Scenario {
            seed: options.seed,
            device,
            precondition: Precondition { state, fill },
            run: Limits { requests: least.max(bytes / size), ..Limits::NONE },
            workload,
            ..Scenario::default()
        };
        Run { label: self.label(chips, size), scenario }
    }

    fn row(&self, done: &[Measured], chips: u32, size: u64) -> Row {
        let state = match self.state {
            State::Pristine => "pristine",
            State::Fragmented if self.policy == Sprinkler => "95 % full, readdressing",
            State::Fragmented => "95 % full",
            State::NotReaddressed => "95 % full, no readdressing",
        };
        let case = format!("{chips} chips, {}, {}, {state}", exact_bytes(size), name(self.policy));
        let measured = find(done, &self.label(chips, size));
        Row::new(case, "bandwidth", "B/s", measured.bandwidth()).limit(measured.bandwidth_limit())
    }
}

const BLOCKS: u32 = 64;

fn name(policy: CommitPolicy) -> &'static str {
    match policy {
        Vas => "VAS",
        Pas => "PAS",
        _ => "SPK3",
    }
}

/// The claims of section 5.9, over the drives and the transfer sizes: the paper gives ranges over its figure.
fn claims(done: &[Measured], sizes: &[u64], drives: &[u32]) -> Vec<Row> {
    let points: Vec<(u32, u64)> =
        drives.iter().flat_map(|&chips| sizes.iter().map(move |&size| (chips, size))).collect();
    let run = |policy, state, (chips, size)| find(done, &Case { policy, state }.label(chips, size));
    let bandwidth = |policy, state, point| run(policy, state, point).bandwidth();
    let lost = |policy| {
        let lost = move |point: &(u32, u64)| {
            1.0 - bandwidth(policy, State::Fragmented, *point) / bandwidth(policy, State::Pristine, *point)
        };
        points.iter().map(lost)
    };
    let gain = |state, than, than_state| {
        let logs = points
            .iter()
            .map(|&point| (bandwidth(Sprinkler, state, point) / bandwidth(than, than_state, point)).ln());
        (logs.sum::<f64>() / points.len() as f64).exp()
    };
    let chips: Vec<String> = drives.iter().map(u32::to_string).collect();
    let case = format!("{} chips, all sizes", chips.join(" and "));
    let row = |quantity: &str, unit, measured: f64| Row::new(case.clone(), quantity, unit, measured);
    let least = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::INFINITY, f64::min);
    let most = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::NEG_INFINITY, f64::max);
    let readdressed: u64 =
        points.iter().map(|&point| run(Sprinkler, State::Fragmented, point).figures.counts.readdressed).sum();
    let amplification =
        run(Sprinkler, State::Fragmented, points[points.len() / 2]).figures.write_amplification();
    let harsher = format!(
        "Collection begins with the run, at {amplification:.1} programs for each page of the host; the \
         paper gives neither its spare space nor the mix and length of its load. Small requests under VAS \
         leave most chips idle, which collect meanwhile. An I/O request waits for each of its chips that \
         collects, and holds up everything behind it."
    );
    let (full, stale) = (State::Fragmented, State::NotReaddressed);
    let readdressed_gain =
        row("bandwidth, readdressing / none, geometric mean", "x", gain(full, Sprinkler, stale));
    let lost_of = |name: &str, which: &str, measured: f64| {
        row(&format!("bandwidth lost to collection, {name}, {which}"), "share", measured).effect().saving()
    };
    let gained = |name: &str, than: CommitPolicy| {
        let quantity = format!("bandwidth under collection, SPK3 / {name}, geometric mean");
        row(&quantity, "x", gain(full, than, full)).paper(2.0).explain(MORE)
    };
    vec![
        lost_of("VAS", "min", least(&mut lost(Vas))).paper(0.11).explain(&harsher),
        lost_of("VAS", "max", most(&mut lost(Vas))).paper(0.28).explain(&harsher),
        lost_of("PAS", "min", least(&mut lost(Pas))).at_least(0.0).explain(&harsher),
        lost_of("SPK3", "min", least(&mut lost(Sprinkler))).paper(0.33).explain(&harsher),
        lost_of("SPK3", "max", most(&mut lost(Sprinkler))).paper(0.78).explain(&harsher),
        gained("VAS", Vas),
        gained("PAS", Pas),
        readdressed_gain.at_least(1.0).note(format!(
            "{readdressed} waiting reads followed their page. Collection moves pages within their plane, so \
             a stale layout names the right chip, die and plane; the callback corrects page offsets and lets \
             the erase go ahead."
        )),
    ]
}

const MORE: &str = "\
SPK3 is ahead on pristine drives as well, though by less (see the bandwidths). The paper's gain there is \
between 1.8 and 2.2 times at the least.";
