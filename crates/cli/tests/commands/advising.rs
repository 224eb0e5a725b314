//! `tailcut advise`, from its options to its files.

use crate::support::Place;
use serde_json::Value;
use std::fs;

/// A drive of 64 MiB, three fifths full, kept busy by one open loop.
const LOADED: &str = "\
seed = 5

[run]
ramp = \"100ms\"

[workload]
read = \"60%\"
region_share = \"60%\"
pace = \"open\"
rate = 6000

[precondition]
state = \"steady\"
fill = \"60%\"

[device]
preset = \"g-1g\"

[device.geometry]
channels = 2
chips = 2
blocks = 64
pages = 32
";

fn place() -> Place {
    let place = Place::new();
    place.put("loaded.toml", LOADED.as_bytes());
    place
}

fn advise<'a>(promise: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["advise", "loaded.toml", "--quiet", "--promise", promise], more].concat()
}

fn advice(place: &Place) -> Value {
    place.json("tailcut-advise/advise.json")
}

fn advised(advice: &Value) -> &Value {
    &advice["tried"][advice["advised"].as_u64().expect("something is advised") as usize]
}

#[test]
fn a_modest_promise_takes_the_drive_that_there_is() {
    let place = place();
    let text = place.text(&advise("p99(read) < 50ms", &[]));
    for part in [
        "buy: g-1g, drives as they are",
        "1 drive of 64.0 MiB raw",
        "to spare",
        "nothing in the catalogue is cheaper",
    ] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    let advice = advice(&place);
    assert_eq!(advised(&advice)["drives"], 1);
    assert!(advice["next_cheaper"].is_null() && advice["complete"] == true);
    let all = advice["tried"].as_array().expect("a list");
    assert!(all.iter().all(|tried| tried["cost"] == all[0]["cost"]), "what costs more is not tried");
    assert!(advice["not_tried"].as_u64().expect("a count") > 0);
}

#[test]
fn a_bolder_promise_takes_more_and_what_is_cheaper_fails() {
    let place = place();
    let text = place.text(&advise("p99.9(read) < 1ms, iops >= 5k", &[]));
    assert!(text.contains("the next cheaper one fails: ") && text.contains("broken by"), "{text}");
    let advice = advice(&place);
    let (best, next) =
        (advised(&advice), &advice["tried"][advice["next_cheaper"].as_u64().expect("one") as usize]);
    assert!(best["drives"].as_u64() > Some(1));
    assert!(next["cost"].as_f64() < best["cost"].as_f64());
    assert!(
        best["terms"]
            .as_array()
            .expect("terms")
            .iter()
            .all(|term| term["kept"] == true && term["resolved"] == true)
    );
    assert!(next["terms"].as_array().expect("terms").iter().any(|term| term["kept"] == false));
    let bound = 1e6;
    let value = best["terms"][0]["value"].as_f64().expect("a latency");
    assert!((best["terms"][0]["margin"].as_f64().expect("a share") - (1.0 - value / bound)).abs() < 1e-9);
}

/// Techniques for the tail cost writes, and the promise names none.
#[test]
fn the_wear_of_every_arrangement_is_shown() {
    let place = place();
    let text = place.text(&advise("p99.9(read) < 1ms", &[]));
    let advice = advice(&place);
    let wear = &advised(&advice)["wear"];
    let waf = wear["write_amplification"].as_f64().expect("it wrote");
    assert!(
        waf >= 1.0 && text.contains(&format!("write amplification {waf:.2}; life at this load ")),
        "{text}"
    );
    let table = text.lines().find(|line| line.starts_with("tried ")).expect("a table");
    assert!(table.contains(" waf ") && table.contains(" life "), "{text}");
    assert!(text.contains("waf: pages programmed per page written"), "{text}");
}

#[test]
fn what_is_advised_can_be_run() {
    let place = place();
    place.text(&advise("p99.9(read) < 1ms", &[]));
    let advice = advice(&place);
    place.text(&["run", "tailcut-advise/advise.toml", "--quiet", "--out", "again"]);
    let report = place.json("again/report.json");
    let best = advised(&advice);
    assert_eq!(report["kinds"][0]["requests"], best["requests"]);
    let read =
        report["kinds"].as_array().expect("kinds").iter().find(|kind| kind["kind"] == "read").expect("reads");
    let points = read["latency"]["points"].as_array().expect("a curve");
    let point = points.iter().find(|point| point["percentile"] == 99.9).expect("a percentile");
    assert_eq!(point["ns"].as_f64(), best["terms"][0]["value"].as_f64());
}

#[test]
fn a_search_finds_its_runs_again() {
    let place = place();
    let first = place.text(&advise("p99.9(read) < 1ms", &["--jobs", "1"]));
    let records = fs::read(place.path("tailcut-advise/points.jsonl")).expect("records");
    assert_eq!(place.text(&advise("p99.9(read) < 1ms", &[])), first);
    assert_eq!(fs::read(place.path("tailcut-advise/points.jsonl")).expect("records"), records);
    // The same runs also answer another promise, as far as they are long enough.
    place.text(&advise("p99.9(read) < 2ms", &[]));
    assert!(fs::read(place.path("tailcut-advise/points.jsonl")).expect("records").starts_with(&records));
}

#[test]
fn redundancy_prices_and_other_drives_are_respected() {
    let place = place();
    let more = ["--survive", "--price", "mlc=3,drive=10", "--most-drives", "4"];
    place.text(&advise("p99(read) < 50ms", &more));
    let advice = advice(&place);
    let best = advised(&advice);
    assert_eq!(best["survives_a_drive"], true);
    let raw = best["raw_bytes"].as_f64().expect("bytes") / 1e9;
    let drives = best["drives"].as_f64().expect("a number");
    assert!((best["cost"].as_f64().expect("a cost") - drives * (3.0 * raw + 10.0)).abs() < 1e-9);
    assert!(advice["cost_unit"].as_str().expect("a unit").contains("prices"));
}

#[test]
fn a_promise_that_nothing_keeps_is_a_failure_with_the_closest() {
    let place = place();
    let output = place.run(&advise("p50(read) < 1us", &["--most-drives", "2"]));
    assert_eq!(output.status.code(), Some(1));
    let text = crate::support::stdout(&output);
    assert!(text.contains("nothing that was tried keeps it") && text.contains("the closest: "), "{text}");
    assert!(advice(&place)["advised"].is_null());
    assert!(!place.path("tailcut-advise/advise.toml").exists());
}

#[test]
fn a_sample_that_is_too_small_is_told() {
    let place = place();
    let text = place.text(&advise("p99.9999(read) < 100ms", &["--most-requests", "200k"]));
    assert!(text.contains("the sample is too small"), "{text}");
    assert_eq!(advised(&advice(&place))["verdict"], "kept_too_few");
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let place = place();
    let wrong = |promise: &str, more: &[&str]| place.refused(2, &advise(promise, more));
    let complaint = wrong("iops >= 5k, p99(raed) < 1ms", &[]);
    assert!(complaint.contains("no kind of request"), "{complaint}");
    assert!(complaint.contains("\n    iops >= 5k, p99(raed) < 1ms\n                    ^^^^"), "{complaint}");
    assert!(wrong("life <= 3y", &[]).contains("write life >= 3y"));
    assert!(wrong("p99 < 1ms", &["--price", "plc=1"]).contains("name slc, mlc, tlc, qlc or drive"));
    assert!(wrong("p99 < 1ms", &["--data", "9TB"]).contains("--most-drives"));
    assert!(wrong("p99 < 1ms", &["--drive", "m-32"]).contains("did you mean 'm-32g'?"));
    assert!(wrong("p99 < 1ms", &["--set", "kv.enabled=true"]).contains("kv.enabled"));
}

#[test]
fn a_rate_above_what_is_offered_is_refused_before_anything_is_run() {
    let place = place();
    for (promise, offered) in [
        ("p99(read) < 50ms, iops >= 7k", "only 6000:"),
        ("iops(read) > 4k", "only 3600:"),
        ("write >= 10MB/s", "only 9.83 MB/s:"),
    ] {
        let error = place.refused(2, &advise(promise, &[]));
        assert!(error.contains(offered) && error.contains("raise workload.rate"), "{promise}: {error}");
    }
    assert!(!place.path("tailcut-advise").exists());
}

#[test]
fn data_that_are_too_little_for_a_request_are_refused_with_the_least_that_works() {
    let place = place();
    let sizes = ["--set", "workload.read_size=16KiB", "--most-drives", "2"];
    let error = place.refused(2, &advise("p99(read) < 50ms", &[&sizes[..], &["--data", "3KiB"]].concat()));
    let least = error.trim_end().rsplit_once("the least that works is ").expect("it is named").1.to_owned();
    assert!(error.contains("--data: 3.00 KiB are too little"), "{error}");
    let sectors = ["--set", "workload.read_size=512", "--set", "workload.write_size=512", "--data", "1KiB"];
    let error = place.refused(2, &advise("p99(read) < 50ms", &sectors));
    assert!(error.contains("the least that works is 5KiB"), "less than a page is stored: {error}");
    assert!(!place.path("tailcut-advise").exists());
    place.text(&advise("p99(read) < 500ms", &[&sizes[..], &["--data", &least]].concat()));
}

#[test]
fn a_promise_about_requests_that_there_are_not_is_refused_before_anything_is_run() {
    let place = place();
    for (promise, setting, part) in [
        ("p99(write) < 1ms", "workload.read=100%", "has no writes: lower workload.read"),
        ("iops(read) > 1", "workload.read=0%", "has no reads: raise workload.read"),
        ("mean(trim) < 1ms", "seed=1", "has no trims: raise workload.trim"),
        ("max(flush) < 1ms", "seed=1", "has no flushes: set workload.flush_every"),
        ("p99(class 3) < 1ms", "seed=1", "has no reads of another class: write (read)"),
        ("p99(class 2) < 1ms", "beside.enabled=true", "has no reads of class 2"),
        ("p99(class 1) < 1ms", "beside.read_class=2", "has no reads of class 1"),
    ] {
        let beside = ["--set", "beside.enabled=true", "--set", setting];
        let more: &[&str] = if setting == "beside.read_class=2" { &beside } else { &beside[2..] };
        let error = place.refused(2, &advise(promise, more));
        assert!(error.contains(part) && error.contains("the promise is "), "{promise}: {error}");
    }
    assert!(!place.path("tailcut-advise").exists());
}

#[test]
fn an_arrangement_that_is_overloaded_is_marked() {
    let place = place();
    let text = place.text(&advise("iops >= 500", &["--set", "workload.rate=60000", "--most-drives", "1"]));
    assert!(text.contains("; overloaded"), "{text}");
    assert_eq!(advised(&advice(&place))["overloaded"], true);
}

#[test]
fn only_the_layouts_that_are_named_are_considered() {
    let place = place();
    let text = place.text(&advise("p99(read) < 50ms", &["--only", "md", "--survive", "--most-drives", "4"]));
    let advice = advice(&place);
    let layouts: Vec<&str> = advice["tried"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|tried| tried["layout"].as_str().expect("a name"))
        .collect();
    assert!(!layouts.is_empty() && layouts.iter().all(|layout| *layout == "raid5"), "{layouts:?}");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("3 arrangements that cost no less were not tried, because the search"), "{text}");
    assert!(advice["against"].is_null());
    let wrong = place.refused(2, &advise("p99(read) < 50ms", &["--only", "raid6"]));
    assert!(wrong.contains("the layouts are 'one', 'md', 'raid0', 'raid5', 'mirror', 'swan'"), "{wrong}");
}

#[test]
fn an_advice_is_set_against_what_md_would_do() {
    let place = place();
    let more = ["--only", "mirror", "--against", "md", "--most-drives", "4"];
    let text = place.text(&advise("p99(read) < 50ms", &more));
    let advice = advice(&place);
    let best = advised(&advice);
    assert!(best["layout"].as_str().expect("a name").starts_with("epochs"), "{best}");
    let rival = &advice["tried"][advice["against"]["best"].as_u64().expect("md can do it") as usize];
    assert_eq!((advice["against"]["group"].as_str(), rival["verdict"].as_str()), (Some("md"), Some("kept")));
    assert!(["raid0", "raid5"].contains(&rival["layout"].as_str().expect("a name")), "{rival}");
    assert!(rival["terms"].as_array().is_some_and(|terms| !terms.is_empty()));
    assert!(text.contains("against md, for "), "{text}");
    let alone = ["--only", "one", "--against", "swan", "--most-drives", "2"];
    let text = place.text(&advise("p99(read) < 50ms", &alone));
    assert!(text.contains("against swan: nothing with such a layout could be tried"), "{text}");
}

/// What cannot be chosen is shown with all that it breaks.
#[test]
fn every_term_that_an_arrangement_breaks_is_listed() {
    let place = place();
    let promise = "p50(read) < 1us, max(read) < 1us, iops >= 1k";
    let output = place.run(&advise(promise, &["--most-drives", "1"]));
    let text = crate::support::stdout(&output);
    let (closest, table) = text.split_once("\ntried ").expect("a table");
    for part in [closest, table.lines().nth(2).expect("a row")] {
        assert!(
            part.contains("p50(read) < 1.00 µs") && part.contains("max(read) < 1.00 µs"),
            "{part}\n{text}"
        );
    }
    assert!(!table.contains("iops"), "that one is kept: {text}");
}

#[test]
fn prices_are_read_from_a_file() {
    let place = place();
    place.put("prices.toml", b"unit = \"EUR\"\ndrive = 10\n[drives]\ng-1g = 40\n");
    let more = ["--price-file", "prices.toml", "--only", "raid0", "--most-drives", "2"];
    let text = place.text(&advise("p99(read) < 50ms", &more));
    assert!(text.contains("cost 80.0 EUR"), "{text}");
    assert_eq!(advised(&advice(&place))["cost"], 80.0);
    place.put("wrong.toml", b"[drives]\ng-2g = 40\n");
    let wrong = place.refused(2, &advise("p99 < 1ms", &["--price-file", "wrong.toml"]));
    assert!(wrong.contains("wrong.toml: [drives]: g-2g: "), "{wrong}");
}
