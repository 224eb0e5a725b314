//! Studies: their rows, their runs on several cores, and error messages.

use crate::support::{Place, golden, json, stderr, stdout};
use std::sync::atomic::Ordering;
use tailcut::failure::Failure;
use tailcut::interrupt::Interrupt;
use tailcut::pts::Watcher;
use tailcut::study::runner::Runner;
use tailcut::study::{Entry, page};
use tailcut::terminal::ColorMode;
use tailcut_pts::Procedure;
use tailcut_sim::Scenario;
use tailcut_sim::measured::{self, Measured, Run, find};
use tailcut_sim::world::Limits;
use tailcut_ssd::Preset;
use tailcut_study::{Options, Row, Study};

/// Reads from a small drive at several depths, then at the fastest depth.
struct Tiny {
    /// Requests of each run.
    requests: u64,
}

const DEPTHS: [u32; 3] = [1, 4, 16];

impl Tiny {
    fn run(&self, options: &Options, label: String, depth: u32) -> Run {
        let mut scenario = Scenario { seed: options.seed, device: Preset::G.config(), ..Scenario::default() };
        scenario.device.geometry.blocks = 32;
        scenario.run = Limits { requests: self.requests, ..Limits::NONE };
        scenario.workload.pace = tailcut_workload::config::PaceKind::Closed;
        scenario.workload.depth = depth;
        Run { label, scenario }
    }
}

impl Study for Tiny {
    fn id(&self) -> &'static str {
        "tiny-1"
    }
    fn title(&self) -> &'static str {
        "Throughput of a small drive at several depths"
    }
    fn source(&self) -> &'static str {
        "Nobody, table 1"
    }
    fn next(&self, options: &Options, done: &[Measured]) -> Vec<Run> {
        match done.len() {
            0 => DEPTHS.map(|depth| self.run(options, format!("depth-{depth}"), depth)).into(),
            3 => {
                let best = (0..3).max_by(|&a, &b| done[a].iops().total_cmp(&done[b].iops()));
                vec![self.run(options, "best".into(), DEPTHS[best.expect("three runs")])]
            }
            _ => Vec::new(),
        }
    }
    fn rows(&self, _: &Options, done: &[Measured]) -> Vec<Row> {
        let row = |depth| {
            let run = find(done, &format!("depth-{depth}"));
            let row = Row::new(format!("depth {depth}"), "requests per second", "1/s", run.iops());
            row.limit(run.iops_limit()).paper((depth == 16).then_some(1_000.0))
        };
        let mut rows: Vec<Row> = DEPTHS.map(row).into();
        rows[2] = rows[2].clone().explain("the paper's drive is made up");
        let best = find(done, "best");
        rows.push(Row::new("best depth", "mean latency", "s", best.mean_latency_ns() / 1e9));
        rows.push(Row::new("best depth", "99 % of reads within", "s", best.percentile_ns(99.0) as f64 / 1e9));
        rows
    }
}

fn runner(jobs: usize, interrupt: &Interrupt) -> Runner<'_> {
    Runner::new(Some(jobs), true, interrupt)
}

#[test]
fn rows_do_not_depend_on_the_number_of_jobs() {
    let (interrupt, options) = (Interrupt::default(), Options { seed: 3, quick: true, traces: None });
    let table = |jobs| {
        let study = Tiny { requests: 5_000 };
        let done = runner(jobs, &interrupt).measure(&study, &options).expect("it runs");
        let labels: Vec<&str> = done.iter().map(|measured| measured.label.as_str()).collect();
        assert_eq!(labels, ["depth-1", "depth-4", "depth-16", "best"]);
        assert!(done.iter().all(|measured| measured.errors() == 0 && measured.requests() == 5_000));
        tailcut_study::table(&study, &options, &done)
    };
    let one = table(1);
    let text = format!("{:#}\n", serde_json::to_value(&one).expect("plain data"));
    for jobs in [2, 7] {
        assert_eq!(text, format!("{:#}\n", serde_json::to_value(table(jobs)).expect("plain data")));
    }
    let version = format!("\"version\": \"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(text.contains(&version), "{text}");
    golden("study.json", &text.replace(&version, "\"version\": \"…\""));
    golden("study.txt", &page::table(Entry::Paper(&Tiny { requests: 0 }), &one, 100, ColorMode::Plain));
}

#[test]
fn a_run_that_cannot_start_is_named() {
    /// One run reads a trace that does not exist.
    struct Missing;
    impl Study for Missing {
        fn id(&self) -> &'static str {
            "missing-1"
        }
        fn title(&self) -> &'static str {
            ""
        }
        fn source(&self) -> &'static str {
            ""
        }
        fn next(&self, options: &Options, _: &[Measured]) -> Vec<Run> {
            let mut run = Tiny { requests: 10 }.run(options, "the-trace".into(), 1);
            run.scenario.trace.file = String::from("no-such-trace.csv");
            vec![Tiny { requests: 10 }.run(options, "good".into(), 1), run]
        }
        fn rows(&self, _: &Options, _: &[Measured]) -> Vec<Row> {
            Vec::new()
        }
    }
    let failure = runner(2, &Interrupt::default()).measure(&Missing, &Options::default());
    let Err(Failure::Input(message)) = failure else { panic!("input that is wrong") };
    assert!(message.contains("'the-trace'") && message.contains("no-such-trace.csv"), "{message}");
}

#[test]
fn an_interrupted_study_ends() {
    let interrupt = Interrupt::default();
    interrupt.flag().store(true, Ordering::Relaxed);
    let measured = runner(2, &interrupt).measure(&Tiny { requests: u64::MAX }, &Options::default());
    assert!(matches!(measured, Err(Failure::Interrupted)));
}

#[test]
fn an_interrupted_measurement_is_given_up() {
    let run = Tiny { requests: u64::MAX }.run(&Options::default(), "endless".into(), 4);
    let asked = std::cell::Cell::new(0);
    let is_over = || asked.replace(asked.get() + 1) > 2;
    assert!(matches!(measured::measure(&run, &is_over), Err(measured::NotMeasured::Interrupted)));
}

#[test]
fn studies_are_listed_for_people_and_programs() {
    let place = Place::new();
    let text = place.text(&["study", "list"]);
    let all = json(&place.text(&["study", "list", "--json"]));
    let all = all.as_array().expect("a list");
    assert_eq!(
        all.len(),
        tailcut_study::all().len() + 9,
        "real drives and drive tests stand behind the papers"
    );
    let drive: Vec<&str> =
        all[tailcut_study::all().len()..].iter().filter_map(|entry| entry["study"].as_str()).collect();
    let names = [
        "real-drives",
        "pts-iops",
        "pts-tp",
        "pts-lat",
        "pts-wsat",
        "pts-hir",
        "pts-xsr",
        "pts-cbw",
        "pts-dirth",
    ];
    assert_eq!(drive, names);
    assert_eq!(all[all.len() - 1]["source"], "SNIA SSS PTS 2.0, section 14");
    for entry in all {
        for key in ["study", "title", "source"] {
            let value = entry[key].as_str().expect("a text");
            assert!(!value.is_empty() && text.contains(value), "{value}:\n{text}");
        }
    }
}

#[test]
fn an_unknown_study_gets_suggestions_and_the_command_that_lists_all() {
    let place = Place::new();
    let report = place.refused(2, &["study", "run", "sprinkler-51", "nonsense"]);
    assert!(report.contains("there is no study 'sprinkler-51'; did you mean 'sprinkler-1"), "{report}");
    assert!(report.contains("there is no study 'nonsense'\n"), "all at once: {report}");
    assert!(report.contains("tailcut study list") && report.lines().count() < 6, "{report}");
    let report = place.refused(2, &["study", "run", "pts-iop"]);
    assert!(report.contains("there is no study 'pts-iop'; did you mean 'pts-iops'?"), "{report}");
    let report = place.refused(2, &["study", "run"]);
    assert!(report.contains("--all") && report.contains("tailcut study list"), "{report}");
    let report = place.refused(2, &["study", "run", "sprinkler-1", "--traces", "nowhere"]);
    assert!(report.contains("--traces nowhere: there is no such folder"), "{report}");
    place.refused(2, &["study", "run", "--all", "sprinkler-1"]);
    place.refused(2, &["study", "run", "sprinkler-1", "--jobs", "0"]);
}

#[test]
fn the_scenario_behind_a_row_can_be_run_alone() {
    let place = Place::new();
    let labels = place.text(&["study", "show", "sprinkler-15"]);
    let label = "64-chips/vas/4KiB";
    assert!(labels.lines().any(|line| line == label), "{labels}");
    let show = ["study", "show", "sprinkler-15", "--quick", "--seed", "7", "--case", label];
    place.put("case.toml", place.text(&show).as_bytes());
    let alone = json(&place.text(&["run", "case.toml", "--json", "-", "--out", "out"]));
    let options = Options { quick: true, seed: 7, traces: None };
    let study = tailcut_study::by_id("sprinkler-15").expect("it is there");
    let run = study.next(&options, &[]).into_iter().find(|run| run.label == label).expect("it is there");
    let measured = measured::measure(&run, &|| false).expect("it runs");
    assert_eq!(alone["digest"], *measured.report.digest);
    // Decimal numbers of JSON may differ in the last bit.
    let utilisation = alone["drive"]["chip_utilisation"].as_f64().expect("a share");
    assert!((utilisation - measured.figures.lun_utilisation()).abs() < 1e-15, "{utilisation}");
    let report = place.refused(2, &["study", "show", "sprinkler-15", "--case", "64-chips/vas/4kib"]);
    assert!(report.contains("did you mean '64-chips/vas/4KiB'?"), "{report}");
}

#[test]
fn drive_tests_are_studies_with_the_rows_of_their_own_command() {
    let place = Place::new();
    let form = ["--quick", "--seed", "5", "--json"];
    let tests = ["tp", "lat", "wsat", "hir", "xsr"];
    let ids = tests.map(|test| format!("pts-{test}"));
    let line: Vec<&str> = ["study", "run"].into_iter().chain(ids.iter().map(String::as_str)).collect();
    place.text(&[&line[..], &form, &["studies.json"]].concat());
    let studies = place.json("studies.json");
    for (number, (test, id)) in tests.into_iter().zip(&ids).enumerate() {
        place.text(&[&["pts", test], &form[..], &["pts.json"]].concat());
        let (theirs, study) = (place.json("pts.json"), &studies["studies"][number]);
        assert_eq!((&study["study"], &study["seed"]), (&id.as_str().into(), &5.into()));
        assert_eq!(study["rows"], theirs["tests"][0]["rows"], "{id}");
        let rows = study["rows"].as_array().expect("a list");
        assert!(!rows.is_empty() && rows.iter().all(|row| row["paper"].is_null()), "{id}");
        assert_eq!(study["notes"][0], theirs["departure"], "a short form says that it does not conform");
    }
}

#[test]
fn drive_tests_stand_in_one_list_with_papers() {
    let place = Place::new();
    let line =
        ["study", "run", "shin-4.1", "pts-xsr", "--quick", "--json", "rows.json", "--html", "both.html"];
    let text = place.text(&line);
    let both = &place.json("rows.json")["studies"];
    assert_eq!((&both[0]["study"], &both[1]["study"]), (&"shin-4.1".into(), &"pts-xsr".into()));
    assert!(both[0].get("notes").is_none() && both[1]["rows"][0]["measured"].as_f64() > Some(0.0), "{both}");
    for words in
        ["pts-xsr: Cross stimulus", "NOT A CONFORMING RUN", "tailcut pts xsr", "--real-time", "--device PATH"]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
    let page = std::fs::read_to_string(place.path("both.html")).expect("it was written");
    assert!(
        page.contains("pts-xsr: Cross stimulus") && page.contains("<p class=\"soft\">NOT A CONFORMING RUN")
    );
}

#[test]
fn the_stages_of_a_drive_test_are_shown() {
    let place = Place::new();
    let text = place.text(&["study", "show", "pts-lat"]);
    let names: Vec<&str> = text.lines().filter_map(|line| Some(line.split_once(": ")?.0)).collect();
    assert_eq!(names, ["purge", "precondition SEQ 128KiB", "rounds", "histogram"], "{text}");
    assert!(text.contains("20min of RND 4KiB 0/100 at T1Q1"), "{text}");
    assert!(place.text(&["study", "show", "pts-lat", "--quick"]).contains("50ms of RND 4KiB 0/100 at T1Q1"));
    let report = place.refused(2, &["study", "show", "pts-lat", "--case", "rounds"]);
    assert!(report.contains("pts-lat has no run") && report.contains("tailcut pts lat --json"), "{report}");
}

#[test]
fn a_drive_test_that_is_stopped_keeps_what_was_measured() {
    let interrupt = Interrupt::default();
    let watcher = Watcher::new(interrupt.clone(), true);
    let options = Options { quick: true, ..Options::default() };
    let Some(Entry::Drive(test)) = Entry::by_id("pts-hir") else { panic!("it is there") };
    let stopped_after = |loads: usize| {
        interrupt.flag().store(loads == 0, Ordering::Relaxed);
        let mut stop =
            |test: &Procedure| interrupt.flag().store(test.records().len() >= loads, Ordering::Relaxed);
        test.measure(&options, &watcher, &mut stop).expect("the drive is there")
    };
    let carried = stopped_after(3);
    assert!(matches!(carried.ended, Err(Failure::Interrupted)));
    let table = carried.table.expect("something was measured");
    assert!(
        !table.rows.is_empty() && table.notes.iter().any(|note| note.starts_with("stopped:")),
        "{table:?}"
    );
    assert!(stopped_after(0).table.is_none(), "nothing was measured");
}

#[cfg(target_os = "linux")]
#[test]
fn what_was_finished_before_a_drive_test_is_stopped_is_kept() {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};
    let place = Place::new();
    let line = ["study", "run", "shin-4.1", "pts-xsr", "--json", "rows.json"];
    let mut child =
        place.command(&line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut shown = BufReader::new(child.stdout.take().expect("it was asked for"));
    shown.read_line(&mut String::new()).expect("the first study is shown");
    assert!(
        Command::new("kill")
            .args(["-INT", &child.id().to_string()])
            .status()
            .expect("there is a kill")
            .success()
    );
    std::io::copy(&mut shown, &mut std::io::sink()).expect("it can be read");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    let rows = &place.json("rows.json")["studies"];
    assert_eq!(rows[0]["study"], "shin-4.1");
    assert!(rows[1]["notes"].as_array().is_none_or(|notes| {
        notes.iter().any(|note| note.as_str().is_some_and(|note| note.starts_with("stopped:")))
    }));
}

#[cfg(target_os = "linux")]
#[test]
fn a_study_can_be_interrupted() {
    use std::process::{Command, Stdio};
    let place = Place::new();
    let long = ["study", "run", "sprinkler-15", "--jobs", "1", "--json", "rows.json"];
    let mut child =
        place.command(&long).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let id = child.id().to_string();
    while !crate::support::listens_to_interrupts(&id) {
        assert!(
            child.try_wait().expect("it can be asked").is_none(),
            "it ended before it could be interrupted"
        );
        std::thread::yield_now();
    }
    assert!(Command::new("kill").args(["-INT", &id]).status().expect("there is a kill").success());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert_eq!(stdout(&output), "", "no study was finished");
    assert!(!place.path("rows.json").exists());
}

#[test]
fn a_file_for_two_results_is_refused() {
    let place = Place::new();
    let report = place.refused(2, &["study", "run", "swan-eq1", "--json", "a.json", "--html", "a.html"]);
    assert!(report.contains("--json a.json") && report.contains("another file"), "{report}");
}
