//! Beyond Shin: the precompletion window set by feedback, against every fixed one, in the cases of figure
//! 4.4.

use super::shin_host::{BACKGROUND_THREADS, THREADS, beside, direct, run};
use super::{Options, Row, Study};
use tailcut_base::Nanos;
use tailcut_sim::measured::{Measured, Run, find};
use tailcut_sim::path::Background;
use tailcut_ssd::Preset;

/// Feedback against fixed windows.
pub(crate) struct FeedbackWindow;

const WINDOWS: [u64; 5] = [2, 4, 8, 16, 32];

/// The last saturates the cores, which figure 4.4 does not: POLL would have starved there.
const CASES: [(&str, Background, u32); 4] = [
    ("none", Background::None, 1),
    ("io", Background::Io, BACKGROUND_THREADS),
    ("cpu", Background::Cpu, BACKGROUND_THREADS),
    ("io-saturated", Background::Io, THREADS),
];

impl Study for FeedbackWindow {
    fn id(&self) -> &'static str {
        "beyond-window"
    }

    fn title(&self) -> &'static str {
        "a precompletion window that follows the scheduler, against fixed ones"
    }

    fn source(&self) -> &'static str {
        "beyond Shin 2017, section 4.3.2, whose window is fixed"
    }

    fn next(&self, options: &Options, done: &[Measured]) -> Vec<Run> {
        if !done.is_empty() {
            return Vec::new();
        }
        CASES
            .iter()
            .flat_map(|(name, background, threads)| runs(options, name, *background, *threads))
            .collect()
    }

    fn rows(&self, _: &Options, done: &[Measured]) -> Vec<Row> {
        let mut rows = Vec::new();
        for (name, ..) in CASES {
            let of = |what: &str| find(done, &format!("{name}/{what}"));
            let latency = |what: &str| of(what).mean_latency_ns() / 1e9;
            let fixed = WINDOWS.map(|window| (latency(&format!("pre{window}")), window));
            let (least, best) = fixed.into_iter().min_by(|a, b| a.0.total_cmp(&b.0)).expect("there are some");
            let case = |what: &str| format!("{what}, beside {name}");
            for (latency, window) in fixed {
                rows.push(Row::new(case(&format!("{window} µs")), "mean latency", "s", latency));
            }
            rows.push(Row::new(case("feedback"), "mean latency", "s", latency("feedback")).limit(least));
            let ratio = latency("feedback") / least;
            rows.push(Row::new(case("feedback / best"), "mean latency", "x", ratio).limit(1.0));
            let spun = |what: &str| {
                let host = of(what).host.as_ref().expect("there is a host");
                host.time.of(tailcut_sim::cpu::Spent::Spin).0 as f64 / of(what).requests() as f64 / 1e9
            };
            rows.push(Row::new(case("feedback"), "spinning per read", "s", spun("feedback")));
            let of_best = spun(&format!("pre{best}"));
            rows.push(Row::new(case(&format!("{best} µs, the best")), "spinning per read", "s", of_best));
        }
        rows
    }
}

fn runs(options: &Options, name: &str, background: Background, threads: u32) -> Vec<Run> {
    let with = |window: u64, has_feedback: bool| {
        let mut scenario = beside(direct(options, Preset::Cosmos.config(), "precomplete", 1), background);
        scenario.run.duration = if options.quick { Nanos::millis(520) } else { Nanos::secs(4) };
        scenario.host.background_threads = threads;
        scenario.host.window = Nanos::micros(window);
        scenario.host.window_feedback = has_feedback;
        scenario
    };
    let mut runs: Vec<Run> =
        WINDOWS.iter().map(|&window| run(format!("{name}/pre{window}"), with(window, false))).collect();
    runs.push(run(format!("{name}/feedback"), with(2, true)));
    runs
}
