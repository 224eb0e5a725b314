//! Traces and job files on the command line: errors name file, line and remedy.

use crate::support::{Place, json};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;

/// Ten requests in MSR's format, one every millisecond.
fn msr() -> String {
    let line =
        |i: u64| format!("{},host,0,{},{},4096,100\n", 128_166_372_003_061_629 + i * 10_000, op(i), i * 8192);
    (0..10).map(line).collect()
}

fn op(i: u64) -> &'static str {
    if i.is_multiple_of(3) { "Write" } else { "Read" }
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).expect("memory takes everything");
    encoder.finish().expect("memory takes everything")
}

fn replay<'a>(file: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = vec!["run", "small.toml", "--set", "run.ramp=0s", "--out", "out", "--trace", file];
    arguments.extend(more);
    arguments
}

#[test]
fn a_trace_is_replayed_and_explained_from_elsewhere() {
    let place = Place::new();
    place.put("t.csv.gz", &gzip(&msr()));
    place.text(&replay("t.csv.gz", &[]));
    assert_eq!(place.json("out/report.json")["completed"], 10);
    std::fs::create_dir(place.path("elsewhere")).expect("the folder is writable");
    let output =
        place.command(&["explain", "../out", "--request", "3"]).current_dir(place.path("elsewhere")).output();
    let output = output.expect("the binary starts");
    assert!(output.status.success(), "{}", crate::support::stderr(&output));
}

#[test]
fn a_trace_has_no_ramp_by_default_whatever_ends_its_run() {
    let place = Place::new();
    place.put("t.csv", msr().as_bytes());
    // The built-in load has a ramp of 2 s, which is none of a trace's.
    let short = ["run", "--set", "device.preset=g-1g", "--set", "run.duration=5ms", "--out", "out"];
    let of_trace = [&short[..], &["--trace", "t.csv"]].concat();
    place.text(&of_trace);
    assert_eq!(place.json("out/report.json")["from_ns"], 0);
    let own = place.refused(2, &[&of_trace[..], &["--set", "run.ramp=10ms"]].concat());
    let built_in = place.refused(2, &short);
    for (report, ramp) in [(own, "10.0 ms"), (built_in, "2.00 s")] {
        let why =
            format!("the ramp of {ramp} is no shorter than the run of 5.00 ms: nothing would be measured");
        assert!(report.contains(&why) && report.contains("lower run.ramp"), "{report}");
    }
}

#[test]
fn sizes_of_a_trace_are_shown_to_the_byte() {
    let place = Place::new();
    let odd = |size: &str| msr().replace(",4096,", &format!(",{size},"));
    place.put("t.csv", odd("4097").as_bytes());
    let info = place.text(&["trace", "info", "t.csv"]);
    assert!(info.contains("4097B") && !info.contains("4KiB  "), "{info}");
    assert!(info.contains(", 1 disk, addresses"), "{info}");
}

#[test]
fn a_truncated_gzip_is_refused() {
    let place = Place::new();
    let whole = gzip(&msr());
    place.put("t.csv.gz", &whole[..whole.len() - 20]);
    let report = place.refused(2, &replay("t.csv.gz", &[]));
    assert!(report.contains("t.csv.gz") && report.contains("damaged or cut off"), "{report}");
}

#[test]
fn a_bad_line_is_refused_or_skipped_with_a_count() {
    let place = Place::new();
    place.put("t.csv", (msr() + "128166372003061629,host,0,Read,many,4096,1\n").as_bytes());
    let report = place.refused(2, &replay("t.csv", &[]));
    assert!(
        report.contains("t.csv") && report.contains("11") && report.contains("--skip-bad-lines"),
        "{report}"
    );
    let text = place.text(&replay("t.csv", &["--skip-bad-lines"]));
    assert!(text.contains("1 bad lines were skipped"), "{text}");
    place.text(&["explain", "out", "--request", "3"]);
}

#[test]
fn a_request_of_no_bytes_is_refused() {
    let place = Place::new();
    place.put("t.csv", (msr() + "128166372003161629,host,0,Read,4096,0,1\n").as_bytes());
    let report = place.refused(2, &replay("t.csv", &[]));
    assert!(report.contains("0 bytes") && report.contains("11"), "{report}");
    let report = place.refused(2, &["run", "small.toml", "--set", "workload.read_size=0", "--out", "out"]);
    assert!(report.contains("--> --set workload.read_size=0"), "{report}");
}

#[test]
fn a_trace_without_requests_is_refused() {
    let place = Place::new();
    let header = b"Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n";
    for content in [b"".as_slice(), b"\n\n", header] {
        place.put("t.csv", content);
        for arguments in [replay("t.csv", &[]), vec!["trace", "info", "t.csv"]] {
            let report = place.refused(2, &arguments);
            assert!(report.contains("t.csv: this trace holds no requests; "), "{report}");
            assert!(report.contains("at least one record") && !report.contains("0 bad"), "{report}");
        }
    }
    assert!(place.refused(2, &replay("missing.csv", &[])).contains("missing.csv"));
}

#[test]
fn a_device_of_no_size_is_refused() {
    let place = Place::new();
    let report = place.refused(2, &["run", "small.toml", "--set", "device.geometry.blocks=0"]);
    assert!(report.contains("device.geometry.blocks: 0 is out of range"), "{report}");
    let tiny = ["device.geometry.blocks=4", "device.geometry.pages=1", "device.ftl.spare=90%"];
    let mut arguments = vec!["run", "small.toml"];
    tiny.iter().for_each(|set| arguments.extend(["--set", set]));
    assert!(place.refused(2, &arguments).contains("no page"));
}

#[test]
fn a_workload_that_does_not_fit_is_shown_where_it_is_written() {
    let place = Place::new();
    place.put(
        "large.toml",
        format!("{}\n", crate::support::SMALL.replace("depth = 8", "region_size = \"1TiB\"")).as_bytes(),
    );
    let report = place.refused(2, &["run", "large.toml", "--out", "out"]);
    assert!(report.contains("large.toml:15:") && report.contains("ends beyond the device"), "{report}");
}

#[test]
fn times_beyond_the_clock_are_refused() {
    let place = Place::new();
    let years = "138166372003061629,host,0,Read,4096,4096,1\n";
    place.put("t.csv", (msr() + years).as_bytes());
    let report = place.refused(2, &replay("t.csv", &["--set", "trace.stretch_ppm=1000000000"]));
    assert!(
        report.contains("t.csv: its last request is due after") && report.contains("stretch"),
        "{report}"
    );
}

#[test]
fn a_job_file_is_run_with_its_notes_or_refused_with_its_lines() {
    let place = Place::new();
    let job = "[global]\nioengine=libaio\nsize=4m\n[r]\nrw=randread\nbs=4k\niodepth=4\nnumber_ios=1000\n";
    place.put("good.fio", job.as_bytes());
    let run = |file| place.run(&["run", "small.toml", "--set", "run.ramp=0s", "--out", "out", "--fio", file]);
    let output = run("good.fio");
    assert!(output.status.success(), "{}", crate::support::stderr(&output));
    assert_eq!(place.json("out/report.json")["completed"], 1000);
    place.put("bad.fio", job.replace("rw=randread", "rw=sideways\nverify=md5").as_bytes());
    let output = run("bad.fio");
    let report = crate::support::stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{report}");
    assert!(report.contains("bad.fio:5") && report.contains("sideways"), "{report}");
}

#[test]
fn traces_are_characterised_and_converted() {
    let place = Place::new();
    place.put("t.csv", msr().as_bytes());
    let text = place.text(&["trace", "info", "t.csv"]);
    assert!(text.contains("10 requests") && text.contains("working set"), "{text}");
    assert!(text.contains("reads that jump") && text.contains("transactional locality"), "{text}");
    let info = json(&place.text(&["trace", "info", "t.csv", "--json"]));
    assert_eq!((&info["requests"], &info["format"]), (&10.into(), &"msr".into()));
    place.text(&["trace", "convert", "t.csv", "t.blkparse.gz", "--to", "blkparse"]);
    let info = json(&place.text(&["trace", "info", "t.blkparse.gz", "--json"]));
    assert_eq!((&info["requests"], &info["format"]), (&10.into(), &"blkparse".into()));
    assert!(place.refused(2, &["trace", "convert", "t.csv", "u", "--to", "msrr"]).contains("'msr'"));
    assert!(place.refused(2, &["trace", "info", "nowhere.csv"]).contains("nowhere.csv"));
}

#[test]
fn a_real_trace_is_replayed() {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/traces");
    let folder = std::env::var("TAILCUT_TRACES").unwrap_or_else(|_| beside.to_string());
    let file = format!("{folder}/msr_cut10k_rw_40_60.1370.trace.gz");
    if !std::path::Path::new(&file).exists() {
        eprintln!("skipped: no {file}; set TAILCUT_TRACES to the folder of the traces");
        return;
    }
    let place = Place::new();
    place.text(&[
        "run",
        "--set",
        "run.ramp=0s",
        "--set",
        "run.duration=0s",
        "--trace",
        &file,
        "--out",
        "out",
    ]);
    let report = place.json("out/report.json");
    assert!(report["completed"].as_u64() > Some(1000), "{}", report["completed"]);
}

#[test]
fn a_datacenter_workload_is_generated_and_explained() {
    let place = Place::new();
    let run =
        ["run", "small.toml", "--set", "datacenter.workload=cfs0", "--set", "run.ramp=0s", "--out", "out"];
    let text = place.text(&[&run[..], &["--set", "datacenter.requests=3000"]].concat());
    assert!(text.contains("cfs0: closed loop of 64") && text.contains("generated from its row"), "{text}");
    let report = place.json("out/report.json");
    assert_eq!(report["completed"], 3000);
    place.text(&["explain", "out", "--request", "3"]);
    // A trace on the command line replaces it.
    place.put("t.csv", msr().as_bytes());
    place.text(&[&run[..], &["--trace", "t.csv"]].concat());
    assert_eq!(place.json("out/report.json")["completed"], 10);
}

#[test]
fn a_datacenter_workload_excludes_others_and_fits_the_drive() {
    let place = Place::new();
    let run = |more: &[&'static str]| {
        place.refused(2, &[&["run", "small.toml", "--out", "out", "--set"], more].concat())
    };
    for file in ["trace.file=t.csv", "fio.file=t.fio"] {
        let report = run(&["datacenter.workload=hm1", "--set", file]);
        assert!(report.contains("one workload") && report.contains("datacenter.workload: "), "{report}");
    }
    let report = run(&["datacenter.workload=hm2"]);
    assert!(report.contains("there is no 'hm2'") && report.contains("'hm1'"), "{report}");
    let report = run(&["datacenter.workload=msnfs3", "--set", "datacenter.region_share=1%"]);
    assert!(
        report.contains("--set datacenter.region_share=1%") && report.contains("smaller than"),
        "{report}"
    );
}

const STORE: [&str; 10] = [
    "run",
    "small.toml",
    "--set",
    "lsm.enabled=true",
    "--set",
    "run.ramp=0s",
    "--set",
    "run.requests=0",
    "--out",
    "out",
];

#[test]
fn a_store_is_run_and_its_classes_are_explained() {
    let place = Place::new();
    let text = place.text(&[&STORE[..], &["--set", "lsm.gets=2000", "--set", "lsm.puts=20000"]].concat());
    for part in ["log-structured merge store", "read class 1", "read class 3", "get latency", "write stalls"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let report = place.json("out/report.json");
    assert_eq!((&report["store"]["gets"], &report["store"]["puts"]), (&2000.into(), &20000.into()));
    let kinds = report["kinds"].as_array().expect("kinds");
    let requests = |name: &str| {
        let kind = kinds.iter().find(|kind| kind["kind"] == name).expect("the kind occurred");
        kind["requests"].as_u64().expect("a count")
    };
    assert_eq!(requests("read"), requests("read class 1") + requests("read class 3"));
    assert_eq!(requests("all"), requests("read") + requests("write"));
    // The rows of attribution.csv have no requests in common, and explain covers all of them or one class.
    let count =
        |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("JSON")["requests"].clone();
    let all = place.text(&["explain", "out", "--json"]);
    assert_eq!(count(&all), requests("all"));
    let of_class = place.text(&["explain", "out", "--class", "3", "--json"]);
    assert_eq!(count(&of_class), requests("read class 3"));
    place.text(&["explain", "out", "--request", "17"]);
    assert!(place.refused(2, &["explain", "out", "--class", "2"]).contains("--class"));
}

#[test]
fn a_store_excludes_other_workloads_and_fits_the_drive() {
    let place = Place::new();
    let refused = |more: &[&'static str]| place.refused(2, &[&STORE[..], &["--set"], more].concat());
    let report = refused(&["datacenter.workload=cfs0"]);
    assert!(report.contains("one workload") && report.contains("lsm.enabled"), "{report}");
    let report = refused(&["lsm.keys=1000000000"]);
    assert!(report.contains("--set lsm.keys=1000000000") && report.contains("set lsm.keys = "), "{report}");
    let report = refused(&["lsm.l0_stop=3"]);
    assert!(report.contains("before they slow down"), "{report}");
}

/// Alternating reads of one page and writes of sixteen, ten times faster than the small drive programs them.
fn busy() -> String {
    let line = |i: u64| {
        let (op, bytes) = if i.is_multiple_of(2) { ("Read", 4096) } else { ("Write", 65_536) };
        let place = i * 7919 % 150 * 65_536;
        format!("{},host,0,{op},{place},{bytes},100\n", 128_166_372_003_061_629 + i * 500)
    };
    (0..4000).map(line).collect()
}

#[test]
fn the_classes_of_a_workload_are_those_of_its_trace() {
    let place = Place::new();
    place.put("t.csv", busy().as_bytes());
    let suspends = |class: &str| {
        let class = format!("workload.read_class={class}");
        let mut arguments = replay("t.csv", &["--json", "-", "--set", &class]);
        for set in [
            "device.schedule.chip=reads-first",
            "device.preempt.program=suspend",
            "device.preempt.erase=suspend",
        ] {
            arguments.extend(["--set", set]);
        }
        let output = place.run(&arguments);
        assert!(output.status.success(), "{}", crate::support::stderr(&output));
        let warned = crate::support::stderr(&output)
            .contains("device.preempt.program have no effect: reads are of class 3");
        let report = json(&crate::support::stdout(&output));
        let drive = if report["drive"].is_null() { &report["report"]["drive"] } else { &report["drive"] };
        (drive["preemptions"]["program_suspends"].as_u64().expect("a number"), warned)
    };
    assert!(matches!(suspends("2"), (1.., false)), "reads of class 2 suspend programs");
    assert_eq!(suspends("3"), (0, true), "nothing is suspended, and it is said");
}

#[test]
fn a_fio_job_within_its_ramp_is_told_by_the_option_of_fio() {
    let place = Place::new();
    place.put("short.fio", b"[db]\nrw=randread\nbs=4k\nsize=1m\nramp_time=10\n");
    let fio = ["run", "small.toml", "--set", "run.ramp=0s", "--fio", "short.fio", "--quiet", "--out", "out"];
    let report = place.refused(1, &fio);
    let why = "the fio job 'db' ended within its ramp_time of 10.0 s; shorten ramp_time";
    assert!(report.contains(why) && !report.contains("run.ramp"), "{report}");
}

#[test]
fn a_report_without_a_measurement_says_so_at_its_top() {
    let place = Place::new();
    let none =
        ["run", "small.toml", "--quiet", "--set", "run.requests=300", "--html", "out.html", "--out", "out"];
    place.refused(1, &none);
    let saved = place.json("out/report.json");
    let why = saved["unmeasured"].as_str().expect("nothing was measured");
    let named = "no request fell into the measurement: the run ended after 300 requests (run.requests), \
        within the ramp of ";
    assert!(why.starts_with(named) && why.contains("(run.ramp); raise the one or lower the other"), "{why}");
    let page = std::fs::read_to_string(place.path("out.html")).expect("it is written");
    let (before, _) = page.split_once("Nothing was measured, and all figures are zero").expect("it is said");
    assert!(!before.contains("<h2"), "above all sections");
    place.text(&["run", "small.toml", "--quiet", "--out", "out"]);
    assert!(place.json("out/report.json")["unmeasured"].is_null());
}

#[test]
fn reads_of_pages_without_data_are_told() {
    let place = Place::new();
    let run = ["run", "small.toml", "--quiet", "--out", "out"];
    let filled = place.text(&[&run[..], &["--set", "precondition.fill=100%"]].concat());
    assert!(!filled.contains("hold no data"), "{filled}");
    let half = place.text(&[&run[..], &["--set", "precondition.fill=50%"]].concat());
    let half = half.split_whitespace().collect::<Vec<&str>>().join(" ");
    let (note, figures) = (half.find("hold no data"), half.find("kind bare"));
    assert!(note.is_some() && note < figures && half.contains("raise precondition.fill"), "{half}");
    // The data of an array begin behind its metadata, and reach as much further.
    let array = [
        "array.drives=4",
        "array.layout=raid5",
        "array.raid.journal=2MiB",
        "precondition.fill=50%",
        "workload.region_share=50%",
    ];
    let sets = array.iter().flat_map(|set| ["--set", set]);
    let array = place.text(&run.iter().copied().chain(sets).collect::<Vec<&str>>());
    assert!(!array.contains("hold no data"), "{array}");
}

#[test]
fn a_trace_out_of_order_in_time_is_told_with_its_effect_and_the_remedy() {
    let place = Place::new();
    let line = |time: u64, block: u64| format!("{time},db1,0,Read,{},4096,0\n", block * 4096);
    let trace: String =
        [10_000u64, 50_000, 30_000, 40_000, 60_000].iter().zip(0..).map(|(&t, b)| line(t, b)).collect();
    place.put("t.csv", trace.as_bytes());
    let text = place.text(&["trace", "info", "t.csv"]);
    let told = "2 requests out of order in time: each counts at the latest time before it";
    assert!(text.contains(told) && text.contains("sort the trace by time"), "{text}");
    let sorted = json(&place.text(&["trace", "info", "t.csv", "--json"]));
    assert_eq!(sorted["rates"]["between"]["max_ns"], 4_000_000, "from 1 ms to 5 ms, and the others at 5 ms");
}

#[test]
fn what_was_made_of_a_trace_stands_above_the_figures() {
    let place = Place::new();
    let line = |time: u64, block: u64| format!("{time},db1,0,Write,{},4096,0\n", block * 4096);
    let trace: String =
        [10_000u64, 50_000, 30_000, 40_000, 60_000].iter().zip(0..).map(|(&t, b)| line(t, b)).collect();
    place.put("t.csv", trace.as_bytes());
    let text = place.text(&replay("t.csv", &["--set", "device.geometry.page=16KiB"]));
    let throughput = text.find("\nthroughput\n").expect("figures");
    let note = "2 requests were recorded before their predecessors";
    assert!(text.find(note).is_some_and(|at| at < throughput), "{text}");
    let words: Vec<&str> = text.split_whitespace().collect();
    let part = "within a page of the drive (16.0 KiB) are 100 % of the writes: the drive reads the rest of \
        such a page";
    assert!(words.join(" ").contains(part), "{text}");
    let text = place.text(&replay("t.csv", &["--set", "device.geometry.page=4KiB"]));
    assert!(!text.contains("within a page"), "{text}");
}

#[test]
fn what_has_no_effect_with_a_trace_is_said() {
    let place = Place::new();
    place.put("t.csv", msr().as_bytes());
    let output = place.run(&replay("t.csv", &["--set", "workload.rate=5000"]));
    assert!(output.status.success());
    let said = crate::support::stderr(&output);
    assert!(
        said.contains("warning: workload.rate has no effect: a trace is replayed (trace.file)"),
        "{said}"
    );
    assert!(said.contains(" --> --set workload.rate=5000\n                    ^^^^\n"), "{said}");
    // A scenario may be run with a trace in place of its own load.
    let output = place.run(&replay("t.csv", &[]));
    assert!(output.status.success());
    let said = crate::support::stderr(&output);
    assert!(said.contains("warning: workload.") && said.contains("workload.pace"), "{said}");
    assert!(said.contains("have no effect: a trace is replayed (trace.file)"), "{said}");
    assert_eq!(said.matches("warning").count(), 1, "{said}");
    // A saved run can be repeated.
    let output = place.run(&["run", "out/scenario.toml", "--out", "again"]);
    assert!(output.status.success(), "{}", crate::support::stderr(&output));
    let output = place.run(&["run", "small.toml", "--set", "trace.depth=7", "--resolved"]);
    let said = crate::support::stderr(&output);
    assert!(said.contains("warning: trace.depth has no effect: there is no trace"), "{said}");
    let report = place.refused(2, &replay("t.csv", &["--set", "trace.read_class=2"]));
    assert!(report.contains("set workload.read_class instead"), "{report}");
}

#[test]
fn drives_for_which_there_is_no_memory_are_refused_before_any_is_taken() {
    let place = Place::new();
    let mut arguments = vec!["run", "small.toml", "--out", "out"];
    for set in [
        "device.geometry.channels=16",
        "device.geometry.chips=16",
        "device.geometry.blocks=4000",
        "device.geometry.pages=1000",
        "array.drives=60",
    ] {
        arguments.extend(["--set", set]);
    }
    let report = place.refused(2, &arguments);
    assert!(
        report.contains("error: array.drives: 60 drives of 2048000000 pages each need at least"),
        "{report}"
    );
    assert!(
        report.contains("bytes) of memory, and") && report.contains("bytes) are available: "),
        "{report}"
    );
    assert!(report.contains(" --> --set array.drives=60"), "{report}");
}
