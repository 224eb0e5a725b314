//! Shin, chapter 4: predictions of a drive, and what a host makes of them.

use super::shin_host::{beside, direct, emulated_apart, run};
use super::{Basis, NO_CAUSE, Options, Row, Study};
use tailcut_base::Nanos;
use tailcut_sim::measured::{Measured, Run, find};
use tailcut_sim::path::Background;
use tailcut_ssd::Preset;

/// Table 4.1, and buffer hits.
pub(crate) struct Prediction;

/// Figure 4.4: one thread beside others.
pub(crate) struct Precompletion;

/// Figures 4.5 and 4.6: many threads.
pub(crate) struct Multidepth;

impl Study for Prediction {
    fn id(&self) -> &'static str {
        "shin-4.1"
    }

    fn title(&self) -> &'static str {
        "how well a drive knows the end of a read, and what a predicted buffer hit saves"
    }

    fn source(&self) -> &'static str {
        "Shin 2017, section 4.4.2, table 4.1"
    }

    fn next(&self, options: &Options, done: &[Measured]) -> Vec<Run> {
        if !done.is_empty() {
            return Vec::new();
        }
        let writes = |strategy: &str| {
            let mut scenario = direct(options, Preset::Cosmos.config(), strategy, 1);
            scenario.workload.read = 0;
            scenario.workload.write_size = "4KiB".into();
            // Slower than the flash programs, so that the buffer has room.
            scenario.workload.think = Nanos::millis(2);
            scenario.run.duration = scenario.run.duration * 10;
            run(format!("writes/{strategy}"), scenario)
        };
        let mut reads = direct(options, Preset::Cosmos.config(), "precomplete", 1);
        reads.run.duration = reads.run.duration * 10;
        vec![run("reads", reads), writes("nonblocking"), writes("nonblocking+buffer-spin")]
    }

    fn rows(&self, _: &Options, done: &[Measured]) -> Vec<Row> {
        let host = find(done, "reads").host.as_ref().expect("there is a host");
        let parts = host.predictions.expect("ends are announced");
        let mut rows = Vec::new();
        for (part, (name, printed)) in parts.iter().zip(TABLE) {
            let figures = [part.mean, part.deviation, part.predicted, part.error];
            let quantities = ["measured", "standard deviation", "predicted", "error"];
            for ((quantity, ns), paper) in quantities.into_iter().zip(figures).zip(printed) {
                let row = Row::new(name, quantity, "s", ns / 1e9).paper(paper * 1e-6);
                let is_input = ["measured", "predicted"].contains(&quantity) || (name, quantity) == SPREAD;
                let row = if is_input { row.basis(Basis::Input, GIVEN) } else { row };
                rows.push(row.explain(NO_JITTER));
            }
        }
        let mean = |strategy: &str| find(done, &format!("writes/{strategy}")).mean_latency_ns() / 1e9;
        let (sleeping, spinning) = (mean("nonblocking"), mean("nonblocking+buffer-spin"));
        rows.push(Row::new("writes that sleep", "mean latency", "s", sleeping));
        rows.push(Row::new("writes that spin", "mean latency", "s", spinning));
        let saved = Row::new("saved by spinning", "mean latency", "s", sleeping - spinning);
        rows.push(saved.paper(5.8e-6).explain(BUFFER_HIT));
        rows
    }
}

/// The one spread that the drive is given.
const SPREAD: (&str, &str) = ("flash", "standard deviation");

const GIVEN: &str =
    "what the drive was made from: its times, the spread of its flash, and the mean of what it does";

/// Mean, deviation, prediction and error in µs.
const TABLE: [(&str, [f64; 4]); 2] = [("flash", [352.0, 0.66, 352.0, 0.94]), ("DMA", [9.0, 0.26, 9.0, 0.56])];

impl Study for Precompletion {
    fn id(&self) -> &'static str {
        "shin-4.4"
    }

    fn title(&self) -> &'static str {
        "one reader beside I/O threads or CPU threads: its latency and their throughput"
    }

    fn source(&self) -> &'static str {
        "Shin 2017, section 4.4.2, figure 4.4"
    }

    fn next(&self, options: &Options, done: &[Measured]) -> Vec<Run> {
        if !done.is_empty() {
            return Vec::new();
        }
        BACKGROUNDS.iter().flat_map(|beside| runs(options, beside)).collect()
    }

    fn rows(&self, options: &Options, done: &[Measured]) -> Vec<Row> {
        BACKGROUNDS.iter().flat_map(|beside| rows_beside(options, done, beside)).collect()
    }
}

/// What runs beside, and what the dissertation prints of it.
struct Beside {
    background: Background,
    name: &'static str,
    /// Latency beyond the flash of POLL.
    poll: Option<f64>,
    /// Interrupts over polling.
    delay: Option<f64>,
    /// Of the background's throughput, what POLL_PRIO leaves.
    left: f64,
    /// The best window in µs.
    best: f64,
    /// The case with that window.
    chosen: &'static str,
    /// The case that, by the text, costs the background nothing.
    unharmed: &'static str,
    why_window: &'static str,
}

const BACKGROUNDS: [Beside; 2] = [
    Beside {
        background: Background::Io,
        name: "io",
        poll: None,
        delay: Some(11e-6),
        left: 1.0 - 0.1775,
        best: 16.0,
        chosen: "PRE16",
        unharmed: "pre16",
        why_window: IO_WINDOW,
    },
    Beside {
        background: Background::Cpu,
        name: "cpu",
        poll: Some(1488e-6),
        delay: None,
        left: 0.8,
        best: 8.0,
        chosen: "PRE8",
        unharmed: "poll",
        why_window: CPU_WINDOW,
    },
];

const WINDOWS: [u64; 5] = [2, 4, 8, 16, 32];

/// Cell time and bus: what the figure leaves out.
const FLASH: f64 = 352e-6;

fn runs(options: &Options, with: &Beside) -> Vec<Run> {
    let label = |what: &str| format!("{}/{what}", with.name);
    let one = |strategy: &str| {
        let mut scenario = beside(direct(options, Preset::Cosmos.config(), strategy, 1), with.background);
        scenario.run.duration = if options.quick { Nanos::millis(520) } else { Nanos::secs(4) };
        scenario
    };
    let mut alone = one("nonblocking");
    alone.workload.think = Nanos::millis(200);
    let mut first = one("spin");
    first.host.priority = 0;
    let mut runs = vec![
        run(label("alone"), alone),
        run(label("irq"), one("nonblocking")),
        run(label("poll"), one("spin")),
        run(label("poll-prio"), first),
    ];
    for window in WINDOWS {
        let mut scenario = one("precomplete");
        scenario.host.window = Nanos::micros(window);
        runs.push(run(label(&format!("pre{window}")), scenario));
    }
    runs
}

fn background_rate(measured: &Measured) -> f64 {
    let host = measured.host.as_ref().expect("there is a host");
    host.background_requests as f64 / host.elapsed.as_secs_f64()
}

fn rows_beside(_: &Options, done: &[Measured], with: &Beside) -> Vec<Row> {
    let of = |what: &str| find(done, &format!("{}/{what}", with.name));
    let beyond = |what: &str| of(what).mean_latency_ns() / 1e9 - FLASH;
    let left = |what: &str| background_rate(of(what)) / background_rate(of("alone"));
    let mut cases: Vec<String> = ["irq", "poll", "poll-prio"].map(String::from).to_vec();
    cases.extend(WINDOWS.map(|window| format!("pre{window}")));
    let mut rows = Vec::new();
    for case in &cases {
        let paper = with.poll.filter(|_| case == "poll");
        let name = format!("{}, beside {} threads", case.to_uppercase(), with.name);
        let row = Row::new(&name, BEYOND_FLASH, "s", beyond(case));
        let row = row.paper(paper).basis(Basis::Input, "what the number of background threads was made from");
        rows.push(row.explain(POLL_BESIDE_CPU));
        let paper = (case == "poll-prio").then_some(1.0 - with.left);
        let lost = Row::new(&name, LOST, "share", 1.0 - left(case)).effect();
        rows.push(match paper {
            // "Doing no harm to background threads"; "no significant drop".
            None if with.unharmed == case => lost.paper(0.0).explain(NO_CAUSE),
            paper => lost.paper(paper).explain(COST_OF_POLLING),
        });
    }
    let named = |case: &str| format!("{case}, beside {} threads", with.name);
    let hidden = [named("IRQ"), named(with.chosen)];
    let spared = [named("POLL-PRIO"), named(with.chosen)];
    let orders = [(BEYOND_FLASH, hidden), (LOST, spared)]
        .map(|(what, [more, less])| Row::order(&rows, what, &[&more, &less]).explain(NO_CAUSE));
    rows.extend(orders);
    let beside = format!("beside {} threads", with.name);
    let delay = beyond("irq") - beyond("poll-prio");
    rows.push(Row::new(&beside, "IRQ over POLL_PRIO", "s", delay).paper(with.delay).explain(DELAY));
    // The smallest window within 1 % of the latency beyond the flash of the best.
    let least = WINDOWS.iter().map(|w| beyond(&format!("pre{w}"))).fold(f64::INFINITY, f64::min);
    let best = WINDOWS.iter().find(|w| beyond(&format!("pre{w}")) <= least * 1.01).expect("one is the best");
    let row = Row::new(&beside, "best window", "s", *best as f64 * 1e-6);
    rows.push(row.paper(with.best * 1e-6).explain(with.why_window));
    rows
}

impl Study for Multidepth {
    fn id(&self) -> &'static str {
        "shin-4.5"
    }

    fn title(&self) -> &'static str {
        "precompletion with many threads on a drive of 80 µs"
    }

    fn source(&self) -> &'static str {
        "Shin 2017, section 4.4.2, figures 4.5 and 4.6"
    }

    fn next(&self, options: &Options, done: &[Measured]) -> Vec<Run> {
        if !done.is_empty() {
            return Vec::new();
        }
        let one = |&threads: &u32| {
            let with = |window: u64| {
                let mut scenario = direct(options, Preset::ShinEmulated.config(), "precomplete", threads);
                scenario.host.window = Nanos::micros(window);
                run(format!("pre{window}/{threads}"), scenario)
            };
            let irq = run(
                format!("irq/{threads}"),
                direct(options, Preset::ShinEmulated.config(), "nonblocking", threads),
            );
            let apart = |name: &str, strategy: &str| {
                run(format!("{name}-apart/{threads}"), direct(options, emulated_apart(), strategy, threads))
            };
            let apart = [apart("irq", "nonblocking"), apart("pre8", "precomplete")];
            [irq, with(4), with(8), with(16)].into_iter().chain(apart)
        };
        depths(options).iter().flat_map(one).collect()
    }

    fn rows(&self, options: &Options, done: &[Measured]) -> Vec<Row> {
        let mut rows = Vec::new();
        let mut gains: [Vec<f64>; 3] = Default::default();
        let mut apart: [Vec<f64>; 3] = Default::default();
        for &threads in depths(options) {
            let of = |what: &str| find(done, &format!("{what}/{threads}"));
            for case in ["irq", "pre4", "pre8", "pre16"] {
                let name = format!("{}, {threads} threads", case.to_uppercase());
                rows.push(Row::new(&name, "reads", "1/s", of(case).iops()));
                rows.push(Row::new(&name, "mean latency", "s", of(case).mean_latency_ns() / 1e9));
            }
            for (pre, irq, what) in [("pre8", "irq", ""), ("pre8-apart", "irq-apart", APART)] {
                let (pre, irq) = (of(pre), of(irq));
                let name = format!("PRE8 over IRQ, {threads} threads{what}");
                let more = pre.iops() / irq.iops() - 1.0;
                rows.push(Row::new(&name, "more reads", "share", more));
                let less = 1.0 - pre.mean_latency_ns() / irq.mean_latency_ns();
                rows.push(Row::new(&name, "less latency", "share", less));
                let saved = (irq.mean_latency_ns() - pre.mean_latency_ns()) / 1e9;
                let all = if what.is_empty() { &mut gains } else { &mut apart };
                all.iter_mut().zip([more, less, saved]).for_each(|(all, gain)| all.push(gain));
            }
        }
        rows.extend(over_all("", &gains));
        let apart = over_all(APART, &apart);
        rows.extend(apart.map(|row| row.of_reading("reads that do not meet on chips")));
        rows
    }
}

/// The claims, in the mean over the numbers of threads: more reads, less latency, and by how much.
fn over_all(what: &str, gains: &[Vec<f64>; 3]) -> [Row; 3] {
    let name = format!("PRE8 over IRQ, all numbers of threads{what}");
    let [more, less, saved] =
        gains.each_ref().map(|gains| gains.iter().sum::<f64>() / gains.len().max(1) as f64);
    [
        Row::new(&name, "more reads, mean", "share", more).paper(0.08).effect().explain(DEPTH),
        Row::new(&name, "less latency, mean", "share", less).paper(0.08).effect().explain(DEPTH),
        Row::new(&name, "latency saved, mean", "s", saved).paper(7e-6).explain(DEPTH),
    ]
}

const APART: &str = ", reads that do not meet on chips";

const BEYOND_FLASH: &str = "mean latency beyond flash";

const LOST: &str = "background throughput lost";

fn depths(options: &Options) -> &'static [u32] {
    if options.quick { &[1, 8, 32] } else { &[1, 2, 4, 8, 16, 32, 64] }
}

const NO_JITTER: &str = "The link of the model has no spread: a transfer of 4 KiB always takes the same.";
const BUFFER_HIT: &str = "What is saved is an interrupt, the exit from an idle state, a wake-up and a \
    switch, each at its constant.";
const IO_WINDOW: &str = "The best window is the next larger one of those tried than the time to the thread.";
const CPU_WINDOW: &str = "\
From the notice to the thread it takes 9 µs where the sibling of the core computes (interrupt, wake-up, \
switch, cold caches: 5.6 µs of work at 0.625 of the speed). A window of 8 µs leaves 1 µs of that to be seen, \
the next one tried hides all of it; the dissertation's figure prefers the smaller.";
const POLL_BESIDE_CPU: &str = "The poller has an equal share of its core: how many others share it decides.";
const COST_OF_POLLING: &str = "\
Polling takes one of eight hardware threads: 12.5 % of what CPU threads had. 32 I/O threads leave the cores \
idle half of the time and only feel a busy sibling. The dissertation's 17.75 % needs I/O threads that fill \
the cores; with 128 we lose 10 %, but then POLL without priority starves (6.5 ms), where its figure has it \
at the best latency. How many threads there were is not said.";
const DELAY: &str =
    "Interrupt, wake-up, switch and cold caches, each at its constant, on cores with busy siblings.";
const DEPTH: &str = "\
What is hidden is 5 to 9 µs, by how busy the cores' siblings are. Random reads of 32 threads meet on chips, \
which makes their latency 140 µs, of which that is less. The dissertation's emulator delays each read by 80 \
µs; whether its reads meet is not said. Where they do not, 32 threads gain what it prints.";
