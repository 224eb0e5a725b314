//! `tailcut compare`, from its options to its files.

use crate::support::{Place, json, stderr};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;

/// Two factors and a technique with two keys: eight points.
const GRID: [&str; 6] = [
    "--vary",
    "workload.depth=8,2",
    "--vary",
    "device.gc.victim=greedy,fifo",
    "--on-off",
    "suspend=device.preempt.program=suspend,device.schedule.chip=reads-first",
];

fn compare<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = vec!["compare", "small.toml", "--quiet", "--set", "run.requests=3000"];
    arguments.extend(GRID);
    arguments.extend(more);
    arguments
}

fn results(place: &Place, folder: &str) -> Value {
    place.json(&format!("{folder}/compare.json"))
}

#[test]
fn every_point_is_what_a_run_of_its_own_shows() {
    let place = Place::new();
    let text = place.text(&compare(&["--out", "a", "--by", "p99.9(read)", "--pareto", "waf"]));
    for part in ["8 points, 2 x 2 x 2", "depth", "victim", "suspend", "base", "pareto", "in company"] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    let results = results(&place, "a");
    let points = results["points"].as_array().expect("points");
    assert_eq!(points.len(), 8);
    let records = fs::read_to_string(place.path("a/points.jsonl")).expect("records");
    for point in points {
        let mut run = vec!["run", "small.toml", "--quiet", "--out", "run", "--set", "run.requests=3000"];
        let settings: Vec<&str> = results["factors"]
            .as_array()
            .expect("factors")
            .iter()
            .zip(point["levels"].as_array().expect("levels"))
            .flat_map(|(factor, level)| {
                factor["levels"][level.as_u64().expect("a number") as usize]["settings"]
                    .as_array()
                    .expect("settings")
            })
            .map(|setting| setting.as_str().expect("a text"))
            .collect();
        run.extend(settings.iter().flat_map(|setting| ["--set", setting]));
        place.text(&run);
        let mut alone = place.json("run/report.json");
        let of_run = &point["runs"][0];
        assert_eq!(alone["digest"], of_run["history"]);
        let digest = of_run["digest"].as_str().expect("a text");
        let record = records.lines().map(json).find(|line| line["digest"] == digest).expect("its record");
        for key in ["detail", "slowest", "skip_bad_lines", "scenario"] {
            alone.as_object_mut().expect("a report").remove(key);
        }
        assert_eq!(alone, record["outcome"]["report"]);
        assert_eq!(of_run["quantities"]["iops"], alone["kinds"][0]["requests_per_s"]);
    }
    let ranks: BTreeSet<u64> = points.iter().filter_map(|point| point["rank"].as_u64()).collect();
    assert!(ranks.contains(&1) && ranks.iter().all(|rank| *rank <= 8));
    assert_eq!(results["effects"][0]["quantity"], "p99.9(read)");
    assert_eq!(results["effects"][0]["mains"].as_array().expect("effects").len(), 3);
    assert_eq!(results["effects"][0]["pairs"].as_array().expect("effects").len(), 3);
}

#[test]
fn a_comparison_goes_on_wherever_it_was_killed() {
    let place = Place::new();
    place.text(&compare(&["--out", "whole", "--jobs", "2"]));
    let whole = fs::read_to_string(place.path("whole/compare.json")).expect("results");
    let table = fs::read_to_string(place.path("whole/compare.csv")).expect("results");
    let records = fs::read(place.path("whole/points.jsonl")).expect("records");
    let ends: Vec<usize> =
        records.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect();
    assert_eq!(ends.len(), 8);
    fs::create_dir(place.path("torn")).expect("the folder is writable");
    for (finished, end) in [0].iter().chain(&ends).enumerate() {
        // In the middle of the next record.
        let torn = (end + 100).min(records.len());
        fs::write(place.path("torn/points.jsonl"), &records[..torn]).expect("the folder is writable");
        place.text(&compare(&["--out", "torn", "--jobs", "1"]));
        assert_eq!(fs::read_to_string(place.path("torn/compare.json")).expect("results"), whole);
        assert_eq!(fs::read_to_string(place.path("torn/compare.csv")).expect("results"), table);
        let now = fs::read(place.path("torn/points.jsonl")).expect("records");
        assert!(now.starts_with(&records[..torn]), "what was finished is not run again");
        let lines = now.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count();
        assert_eq!(lines, 8 + usize::from(finished < 8), "the torn line and eight records");
    }
}

#[test]
fn a_killed_process_loses_no_finished_run() {
    let place = Place::new();
    let finished = || {
        let records = fs::read(place.path("killed/points.jsonl")).unwrap_or_default();
        records.iter().filter(|byte| **byte == b'\n').count()
    };
    let mut child = place.command(&compare(&["--out", "killed", "--jobs", "1"])).spawn().expect("it starts");
    while finished() < 2 && child.try_wait().expect("it is ours").is_none() {
        std::thread::yield_now();
    }
    child.kill().expect("it is ours");
    child.wait().expect("it is ours");
    let before = finished();
    assert!(before >= 2);
    place.text(&compare(&["--out", "killed"]));
    place.text(&compare(&["--out", "whole"]));
    let of =
        |folder: &str| fs::read_to_string(place.path(&format!("{folder}/compare.json"))).expect("results");
    assert_eq!(of("killed"), of("whole"));
    let lines = fs::read(place.path("killed/points.jsonl")).expect("records");
    let whole = lines.split(|byte| *byte == b'\n').filter(|line| line.ends_with(b"}"));
    assert_eq!(whole.count(), 8, "none was run twice");
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_comparison_shows_what_it_knows() {
    use std::process::{Command, Stdio};
    let place = Place::new();
    // The second point never ends.
    let endless = [
        "compare",
        "small.toml",
        "--jobs",
        "1",
        "--vary",
        "run.requests=3000,1000000000000",
        "--by",
        "mean(read)",
    ];
    let mut child =
        place.command(&endless).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let records = place.path("tailcut-compare/points.jsonl");
    while !fs::read(&records).unwrap_or_default().ends_with(b"\n") {
        assert!(child.try_wait().expect("it can be asked").is_none(), "it ended by itself");
        std::thread::yield_now();
    }
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().expect("there is a kill").success());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(stderr(&output).contains("1 point is missing; the same command goes on"), "{}", stderr(&output));
    let text = crate::support::stdout(&output);
    assert!(text.contains("base") && text.contains("not run"), "{text}");
    let results = results(&place, "tailcut-compare");
    assert_eq!(results["design"]["missing"], 1);
    assert_eq!(results["points"][0]["rank"], 1);
}

#[test]
fn a_trace_is_a_workload_and_its_bad_lines_are_told_before_anything_runs() {
    let place = Place::new();
    let line = |number: u64| format!("{} 0 {} 8 {}\n", number * 100_000, number * 64 % 8192, number % 2);
    let trace: String = (1..2000).map(line).collect();
    place.put("good.trace", trace.as_bytes());
    let base = ["compare", "small.toml", "--quiet", "--vary", "device.gc.victim=greedy,fifo"];
    place.text(&[&base[..], &["--trace", "good.trace"]].concat());
    let before = fs::read_to_string(place.path("tailcut-compare/points.jsonl")).expect("records");
    // A copy is the same trace.
    place.put("copy.trace", trace.as_bytes());
    place.text(&[&base[..], &["--trace", "copy.trace"]].concat());
    assert_eq!(fs::read_to_string(place.path("tailcut-compare/points.jsonl")).expect("records"), before);
    place.put("bad.trace", (trace + "what is this\n").as_bytes());
    let complaint = place.refused(2, &[&base[..], &["--trace", "bad.trace"]].concat());
    assert!(complaint.contains("trace convert"), "{complaint}");
}

#[test]
fn incidents_are_varied_in_an_array_of_the_scenario() {
    let place = Place::new();
    let array =
        ["--set", "array.drives=4", "--set", "array.layout=raid5", "--set", "array.raid.journal=1MiB"];
    let vary = ["--vary", "array.incidents=1ms remove 1,1ms stall 1 5ms"];
    let base = ["compare", "small.toml", "--quiet", "--set", "run.requests=3000"];
    place.text(&[&base[..], &array, &vary].concat());
    assert_eq!(results(&place, "tailcut-compare")["points"].as_array().expect("points").len(), 2);
    let wrong = ["--vary", "array.incidents=1ms remove 1,1ms remove 9"];
    let wrong = place.refused(2, &[&base[..], &array, &wrong].concat());
    assert!(wrong.contains("no drive 9"), "{wrong}");
}

#[test]
fn a_grid_that_grew_runs_what_is_new() {
    let place = Place::new();
    let small = ["compare", "small.toml", "--quiet", "--set", "run.requests=3000", "--vary"];
    let with = |values| [&small[..], &[values]].concat();
    place.text(&with("workload.depth=8,2"));
    let before = fs::read_to_string(place.path("tailcut-compare/points.jsonl")).expect("records");
    place.text(&with("workload.depth=8,4,2"));
    let after = fs::read_to_string(place.path("tailcut-compare/points.jsonl")).expect("records");
    assert!(after.starts_with(&before));
    assert_eq!((before.lines().count(), after.lines().count()), (2, 3));
    assert_eq!(results(&place, "tailcut-compare")["points"].as_array().expect("points").len(), 3);
}

#[test]
fn settings_that_come_to_the_same_scenario_are_one_run() {
    let place = Place::new();
    let same = "same=seed=5,device.gc.victim=greedy";
    let text = place.text(&["compare", "small.toml", "--quiet", "--on-off", same, "--by", "mean(read)"]);
    let records = fs::read_to_string(place.path("tailcut-compare/points.jsonl")).expect("records");
    assert_eq!(records.lines().count(), 1, "{text}");
    let points = &results(&place, "tailcut-compare")["points"];
    assert_eq!((&points[0]["rank"], &points[1]["rank"]), (&Value::from(1), &Value::from(1)));
}

#[test]
fn seeds_are_runs_of_their_own_and_give_the_noise() {
    let place = Place::new();
    place.text(&compare(&["--seeds", "3", "--by", "mean(read)", "--show", "p50(read),waf"]));
    let results = results(&place, "tailcut-compare");
    assert_eq!(results["seeds"], serde_json::json!([5, 6, 7]));
    let heads: Vec<&str> = results["quantities"]
        .as_array()
        .expect("heads")
        .iter()
        .filter_map(|head| head["name"].as_str())
        .collect();
    assert_eq!(heads, ["mean(read)", "p50(read)", "waf"]);
    let point = &results["points"][0];
    let values: Vec<f64> = point["runs"]
        .as_array()
        .expect("runs")
        .iter()
        .map(|run| run["quantities"]["mean(read)"].as_f64().expect("a figure"))
        .collect();
    let mean = (values.iter().map(|value| value.ln()).sum::<f64>() / 3.0).exp();
    assert!((point["quantities"]["mean(read)"].as_f64().expect("a figure") / mean - 1.0).abs() < 1e-12);
    assert!(results["effects"][0]["noise"].as_f64().expect("several seeds") > 0.0);
    let csv = fs::read_to_string(place.path("tailcut-compare/compare.csv")).expect("a table");
    assert_eq!(csv.lines().count(), 1 + 8 * 3);
    let head = "workload.depth,device.gc.victim,suspend,seed,rank,pareto,digest,history,mean(read) \
        [ns],p50(read) [ns],waf [x],error";
    assert_eq!(csv.lines().next(), Some(head));
    assert!(csv.lines().nth(1).expect("a row").starts_with("8,greedy,off,5,"));
}

#[test]
fn combinations_that_contradict_each_other_are_refused_before_anything_runs() {
    let place = Place::new();
    let grid = [
        "--vary",
        "device.preempt.program=none,suspend",
        "--vary",
        "device.schedule.chip=reads-first,fifo",
        "--vary",
        "workload.depth=8,2",
    ];
    let arguments = |more: &[&'static str]| {
        [&["compare", "small.toml", "--quiet", "--set", "run.requests=2000"], &grid[..], more].concat()
    };
    let complaint = place.refused(2, &arguments(&[]));
    for part in [
        "2 of 8 points",
        "nothing was run",
        "device.preempt.program=suspend and device.schedule.chip=fifo: contradict each other",
        "workload.depth=8",
        "--skip-impossible",
    ] {
        assert!(complaint.contains(part), "{part}:\n{complaint}");
    }
    assert!(!place.path("tailcut-compare").exists());
    let text = place.text(&arguments(&["--skip-impossible"]));
    assert!(text.contains("6 points") && text.contains("left out 2 points"), "{text}");
    let results = results(&place, "tailcut-compare");
    assert_eq!(results["points"].as_array().expect("points").len(), 6);
    assert_eq!(results["design"]["impossible"][0]["points"], 2);
}

#[test]
fn a_value_that_a_key_cannot_have_is_no_impossible_point() {
    let place = Place::new();
    let wrong = |factor: &[&str]| {
        let skip = ["--skip-impossible", "--vary", "workload.depth=8,2"];
        place.refused(2, &[&["compare", "small.toml", "--quiet"], factor, &skip].concat())
    };
    for (factor, complaint) in [
        (["--vary", "device.schedule.chip=fifo,red-first"], "device.schedule.chip: there is no 'red-first'"),
        (["--vary", "workload.read=70%,120%"], "workload.read: "),
        (["--vary", "workload.write_size=4KiB,4KB8"], "workload.write_size: "),
        (
            ["--on-off", "x=device.preempt.program=suspned"],
            "'x': device.preempt.program: there is no 'suspned'",
        ),
    ] {
        let text = wrong(&factor);
        assert!(text.contains(complaint) && !text.contains("points"), "{factor:?}:\n{text}");
    }
}

#[test]
fn a_technique_without_effect_is_told() {
    let place = Place::new();
    let base = ["compare", "small.toml", "--quiet", "--set", "device.schedule.chip=reads-first"];
    let suspend = "suspend=device.preempt.program=suspend";
    let text = place.text(&[&base[..], &["--on-off", suspend, "--by", "mean(read)"]].concat());
    assert!(text.contains("without effect at 1 point: device.preempt.program has no effect"), "{text}");
    let noted = &results(&place, "tailcut-compare")["design"]["ineffective"];
    assert_eq!(noted[0]["points"], 1);
}

/// The example of the README: suspension requires a technique that the base point does not use.
#[test]
fn a_technique_that_needs_another_is_tried_with_it() {
    let place = Place::new();
    let suspend = "suspend=device.preempt.program=suspend,device.preempt.erase=suspend,workload.read_class=2";
    let grid = ["--vary", "workload.read=70%,90%", "--on-off", READS_FIRST, "--on-off", suspend];
    let readme = include_str!("../../../../README.md").replace("\\\n        ", "");
    let line = grid.join(" ");
    assert!(readme.contains(&format!("compare {line} --seeds 3 --skip-impossible")));

    let dry = [&["compare"], &grid[..], &["--seeds", "3"]].concat();
    let text = place.text(&[&dry[..], &["--skip-impossible", "--dry-run"]].concat());
    assert!(text.ends_with("6 points, 18 runs\n"), "{text}");
    assert_eq!(text.matches("reads-first=on  suspend=on").count(), 2, "{text}");
    assert!(!text.contains("reads-first=off  suspend=on"), "{text}");
    let complaint = place.refused(2, &dry);
    for part in
        ["2 of 8 points", "\n  reads-first=off and device.preempt.program=suspend", ": contradict each other"]
    {
        assert!(complaint.contains(part), "{part}:\n{complaint}");
    }

    let small = ["compare", "small.toml", "--quiet", "--set", "run.requests=6000"];
    let text = place.text(&[&small[..], &grid, &["--skip-impossible", "--by", "mean(read)"]].concat());
    let squeezed = text.split_whitespace().collect::<Vec<&str>>().join(" ");
    assert!(squeezed.contains("2 pairs are not judged"), "{text}");
    assert!(squeezed.contains("left out 2 points: reads-first=off and device.preempt"), "{text}");
    let results = results(&place, "tailcut-compare");
    let suspended = &results["effects"][0]["mains"][2];
    assert!(suspended["average"].as_f64().is_some() && suspended["alone"].is_null(), "{suspended}");
}

const READS_FIRST: &str = "reads-first=device.schedule.chip=reads-first";

#[test]
fn a_point_whose_requests_all_fell_into_the_ramp_has_no_figures() {
    let place = Place::new();
    let varied = ["--vary", "run.requests=6000,300", "--by", "iops"];
    let text = place.text(&[&["compare", "small.toml", "--quiet"], &varied[..]].concat());
    assert!(text.contains("failed at 1 point: no request fell into the measurement"), "{text}");
    let complaint = place.refused(1, &["run", "small.toml", "--quiet", "--set", "run.requests=300"]);
    assert!(complaint.contains("(run.requests), within the ramp of"), "{complaint}");
}

#[test]
fn a_percentile_that_no_request_is_beyond_gives_no_rank() {
    let place = Place::new();
    let varied = ["--vary", "run.requests=19000,3000", "--set", "workload.read=100%"];
    let text = place.text(&[&["compare", "small.toml", "--quiet"], &varied[..]].concat());
    let note: Vec<&str> = text.split_whitespace().collect();
    let note = note.join(" ");
    assert!(note.contains("1 point without a rank: p99.99(read) is not measured there"), "{text}");
    let results = results(&place, "tailcut-compare");
    let (long, short) = (&results["points"][0], &results["points"][1]);
    assert!(long["rank"] == 1 && long["requests_missing"].is_null(), "{long}");
    assert!(short["rank"].is_null() && short["quantities"]["p99.99(read)"].is_null(), "{short}");
    let missing = short["requests_missing"]["p99.99(read)"].as_u64().expect("a number");
    assert!((7_000..10_000).contains(&missing), "{short}");
    assert!(note.contains(&format!("it takes {missing} more requests of kind 'read' in a run")), "{text}");
    assert!(!note.contains("rank by something else"), "{text}");
}

#[test]
fn points_that_are_overloaded_are_marked() {
    let place = Place::new();
    let open = ["compare", "small.toml", "--quiet", "--set", "workload.pace=open", "--by", "iops"];
    let text = place.text(&[&open[..], &["--vary", "workload.rate=500,60000"]].concat());
    let marked = text.lines().filter(|line| line.ends_with("overloaded")).count();
    assert!(marked == 1 && text.contains("overloaded: slower than requests fall due"), "{text}");
}

#[test]
fn latencies_that_promise_no_durability_are_marked() {
    let place = Place::new();
    let epochs = "epochs=array.layout=epochs,array.drives=2,array.groups=2";
    let base = ["compare", "small.toml", "--quiet", "--set", "device.buffer.capacitor=true"];
    let text = place.text(&[&base[..], &["--on-off", epochs, "--by", "mean(write)"]].concat());
    let marked = text.lines().filter(|line| line.ends_with("volatile")).count();
    assert!(marked == 1 && text.contains("volatile: writes complete in a volatile cache and"), "{text}");
    let text = place.text(&["run", "small.toml", "--quiet", "--set", "device.buffer.capacitor=false"]);
    assert!(text.contains("write*") && text.contains("* writes complete in a volatile cache"), "{text}");
}

#[test]
fn a_run_that_fails_is_a_result_that_says_so() {
    let place = Place::new();
    let faults = "--vary=device.faults.program_fail=0.0,0.1";
    let text = place.text(&["compare", "small.toml", "--quiet", faults]);
    assert!(text.contains("failed at 1 point: the drive became read-only"), "{text}");
    let results = results(&place, "tailcut-compare");
    assert!(results["points"][1]["rank"].is_null() && results["points"][0]["rank"] == 1);
    assert!(results["points"][1]["error"].as_str().expect("an error").contains("read-only"));
    let again = place.text(&["compare", "small.toml", "--quiet", faults]);
    assert_eq!(text, again);
    assert_eq!(
        fs::read_to_string(place.path("tailcut-compare/points.jsonl")).expect("records").lines().count(),
        2
    );
}

#[test]
fn a_file_can_hold_the_grid_and_a_part_of_it_is_enough() {
    let place = Place::new();
    place.put(
        "grid.toml",
        b"[vary]\n\"workload.depth\" = [8, 4, 2]\n[levels.policy]\ngreedy = []\nfifo = \
        [\"device.gc.victim=fifo\"]\nrandom = [\"device.gc.victim=random\"]\n[on-off]\nclasses = \
        [\"workload.read_class=2\"]\n",
    );
    let base = ["compare", "small.toml", "--quiet", "--grid", "grid.toml"];
    let text = place.text(&[&base[..], &["--dry-run"]].concat());
    assert!(text.ends_with("18 points, 18 runs\n"), "{text}");
    let text = place.text(&[&base[..], &["--points", "9", "--seeds", "2", "--dry-run"]].concat());
    assert!(text.contains("workload.depth=8  policy=greedy  classes=off\n"), "{text}");
    assert!(text.ends_with("9 points, 18 runs\n"), "{text}");
    assert!(!place.path("tailcut-compare").exists(), "nothing was run");
    let two =
        ["compare", "--vary", "workload.depth=8,2", "--vary", "seed=1,2", "--vary", "content=true,false"];
    let text = place.text(&[&two[..], &["--fraction", "2", "--dry-run"]].concat());
    assert_eq!(text.lines().count(), 5, "{text}");
}

#[test]
fn what_is_wrong_is_said_with_what_would_be_right() {
    let place = Place::new();
    let wrong = |more: &[&str]| place.refused(2, &[&["compare", "small.toml"], more].concat());
    assert!(wrong(&[]).contains("nothing is varied"));
    assert!(wrong(&["--vary", "workload.depth"]).contains("no '='"));
    assert!(wrong(&["--vary", "workload.dept=1,2"]).contains("did you mean 'depth'?"));
    assert!(
        wrong(&["--vary", "workload.depth=2,many"]).contains("workload.depth: 'many' is not a whole number")
    );
    assert!(wrong(&["--vary", "seed=1,2", "--by", "p99.99(raed)"]).contains("no kind of request"));
    for by in ["+p99", "+p99.99", "+p99.99(read)", "+iops"] {
        let report = wrong(&["--vary", "seed=1,2", "--by", by]);
        assert!(report.contains("path of a number in report.json") && report.contains(&by[1..]), "{report}");
    }
    let invalid = wrong(&["--vary", "workload.read=70%,101%"]);
    assert!(invalid.contains("--vary: workload.read: '101%' is not a share"), "{invalid}");
    for (levels, names) in [
        ("depth=4,4", "'4' twice"),
        ("read_size=4KiB,4096", "'4KiB' and '4096'"),
        ("read=70%,0.7", "'70%' and '0.7'"),
    ] {
        let equal = wrong(&["--vary", &format!("workload.{levels}")]);
        assert!(equal.contains(names), "{equal}");
    }
    let idle = wrong(&["--vary", "device.gc.choices=2,3", "--vary", "seed=1,2"]);
    assert!(idle.contains("'device.gc.choices' has no effect at any point: device.gc.victim is"), "{idle}");
    let late = wrong(&["--set", "run.duration=1s", "--vary", "workload.start=0s,1s"]);
    assert!(late.contains("workload.start: it starts after 1.00 s, and the run ends"), "{late}");
    assert!(wrong(&["--vary", "seed=1,2", "--on-off", "x=seed=3"]).contains("both set seed"));
    assert!(wrong(&["--vary", "seed=1,2", "--grid", "none.toml"]).contains("cannot read the grid"));
    assert!(wrong(&["--vary", "seed=1,2", "--trace", "none.csv"]).contains("none.csv"));
    if cfg!(not(feature = "parquet")) {
        assert!(wrong(&["--vary", "seed=1,2", "--parquet", "x"]).contains("--features parquet"));
    }
    let typo = wrong(&["--vary", "workload.raed=70%,90%"]);
    assert!(typo.contains("'workload.raed': unknown key 'raed'") && typo.contains("'read'"), "{typo}");
    let typo = wrong(&["--on-off", "x=device.shedule.chip=reads-first"]);
    assert!(typo.contains("'x': unknown key 'shedule'") && !typo.contains("--set"), "{typo}");
}

#[test]
fn json_takes_the_place_of_the_tables() {
    let place = Place::new();
    let output = place.run(&compare(&["--json", "-"]));
    assert!(output.status.success(), "{}", stderr(&output));
    let printed = json(&crate::support::stdout(&output));
    assert_eq!(printed, results(&place, "tailcut-compare"));
    let parsed: tailcut::compare::Results = serde_json::from_value(printed).expect("it is read again");
    assert_eq!(parsed.points.len(), 8);
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_holds_the_same_table() {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;
    let place = Place::new();
    place.text(&compare(&["--parquet", "runs.parquet", "--by", "mean(read)"]));
    let file = fs::File::open(place.path("runs.parquet")).expect("it is there");
    let reader = SerializedFileReader::new(file).expect("it is Parquet");
    let names: Vec<String> = reader
        .metadata()
        .file_metadata()
        .schema_descr()
        .columns()
        .iter()
        .map(|column| column.name().to_owned())
        .collect();
    let csv = fs::read_to_string(place.path("tailcut-compare/compare.csv")).expect("a table");
    let mut lines = csv.lines();
    assert_eq!(names.join(","), lines.next().expect("a head"));
    let mean = names.iter().position(|name| name == "mean(read) [ns]").expect("a column");
    let rows = reader.get_row_iter(None).expect("rows");
    let mut count = 0;
    for (row, line) in rows.zip(lines) {
        let (row, fields) = (row.expect("a row"), line.split(',').collect::<Vec<&str>>());
        assert_eq!(row.get_string(0).expect("a text"), fields[0]);
        assert_eq!(row.get_double(mean).expect("a number"), fields[mean].parse::<f64>().expect("a number"));
        count += 1;
    }
    assert_eq!(count, 8);
}
