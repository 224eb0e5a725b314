//! Charts of pages: saved by buttons, requests over time, cases over what they sweep, points beside what
//! varies.

use crate::support::Place;
use crate::support::browser::{Browser, PROGRAMS, View};
use crate::support::has;
use serde_json::Value;

/// Takes what buttons would save: names and addresses, without a download.
const CATCH: &str = "window.saved = []; document.addEventListener('click', (event) => { \
     if (!event.target.download) return; \
     saved.push([event.target.download, event.target.href]); event.preventDefault(); }, true)";

fn saved(browser: &mut Browser) -> Vec<(String, String)> {
    let all = browser.evaluate("saved");
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    all.as_array().expect("a list").iter().map(|one| (text(&one[0]), text(&one[1]))).collect()
}

#[test]
fn every_chart_is_saved_as_svg_and_png_by_a_button() {
    if !has(&PROGRAMS) {
        return;
    }
    let place = Place::new();
    place.text(&["run", "small.toml", "--quiet", "--out", "out", "--html", "page.html"]);
    place.text(&["report", "out", "--svg", "all"]);
    let mut browser = Browser::start();
    browser.open(&place.path("page.html"), View { width: 800, dark: true });
    browser.evaluate(CATCH);
    let charts = browser.evaluate("document.querySelectorAll('figure[data-chart]').length").as_u64();
    browser.evaluate(
        "new Promise((done) => { const buttons = [...document.querySelectorAll('.save button')]; \
         buttons.forEach((button) => button.click()); \
         const wait = () => (saved.length < buttons.length ? requestAnimationFrame(wait) : done(true)); wait(); })",
    );
    let all = saved(&mut browser);
    assert_eq!(Some(all.len() as u64), charts.map(|charts| 2 * charts), "two for each chart");
    for (name, address) in &all {
        let (stem, kind) = name.rsplit_once('.').expect("an extension");
        assert!(place.path(&format!("out/{stem}.svg")).exists(), "{name}: as 'report --svg' names it");
        if kind == "png" {
            let size = browser.evaluate(&format!(
                "new Promise((done) => {{ const image = new Image(); image.onload = () => done([image.width, \
                 image.height]); image.src = '{address}'; }})"
            ));
            let width = size[0].as_u64().expect("a width");
            assert!((1400..=1600).contains(&width) && size[1].as_u64() > Some(100), "{name}: {size}");
        } else {
            let text = browser.evaluate(&format!("decodeURIComponent('{}')", address.replace('\'', "%27")));
            let svg = text.as_str().and_then(|text| text.split_once(',')).expect("an address with data").1;
            let tree = roxmltree::Document::parse(svg).unwrap_or_else(|error| panic!("{name}: {error}"));
            let title = tree.descendants().find(|node| node.has_tag_name("title"));
            assert!(title.and_then(|title| title.text()).is_some_and(|title| !title.is_empty()), "{name}");
            assert!(svg.matches("<path").count() > 3, "{name}: axes, and what is drawn");
        }
    }
    browser.assert_content("after all were saved");
}

#[test]
fn a_slow_request_stands_on_an_axis_of_time_with_its_chips() {
    if !has(&PROGRAMS) {
        return;
    }
    let place = Place::new();
    place.text(&["run", "small.toml", "--quiet", "--out", "out", "--html", "page.html"]);
    let report = place.json("out/report.json");
    let request = &report["slowest"][0];
    let number = request["number"].as_u64().expect("a number");
    let explained = place.text(&["explain", "out", "--request", &number.to_string(), "--json", "--quiet"]);
    let explained: Value = serde_json::from_str(&explained).expect("JSON");
    let due = explained["due_ns"].as_i64().expect("a moment");
    // The work of each chip is what 'explain' shows, and its own work is marked.
    let own = |of: &Value| -> Vec<(u64, i64, i64)> {
        let work = |one: &Value| {
            let at = |key: &str| one[key].as_i64().expect("ns") - due;
            (one["unit"].as_u64().expect("a chip"), at("start_ns"), at("end_ns"))
        };
        of.as_array().expect("a list").iter().map(work).collect()
    };
    let (mut mine, meanwhile) = (Vec::new(), own(&explained["meanwhile"]));
    for lane in request["lanes"].as_array().expect("chips") {
        let chip = lane["chip"].as_u64().expect("a chip");
        for work in lane["work"].as_array().expect("a list") {
            let ends = |at: usize| work["at_ns"][at].as_i64().expect("ns");
            let seen = (chip, ends(0), ends(4));
            assert!(meanwhile.contains(&seen), "{seen:?}");
            if work["own"] == true {
                mine.push(seen);
            }
        }
    }
    mine.sort_unstable_by_key(|&(unit, start, _)| (start, unit));
    assert_eq!(mine, own(&explained["own"]), "request {number}");
    assert!(!mine.is_empty());
    // Its spans follow each other without a gap from the moment it was due until it was completed, and what
    // it waited for on the chip that was ready last is that of the report.
    let mut browser = Browser::start();
    browser.open(&place.path("page.html"), View { width: 800, dark: false });
    let spans = browser.evaluate("momentsOf(page.slowest[0]).map((one) => [one.cause, one.from, one.to])");
    let spans = spans.as_array().expect("spans");
    let mut at = Some(0);
    for span in spans {
        assert_eq!(span[1].as_u64(), at, "{spans:?}");
        at = span[2].as_u64();
    }
    assert_eq!(at, request["latency_ns"].as_u64());
    let erase = |of: &[Value]| -> u64 {
        let of_erases = of.iter().filter(|one| one[0] == "chip: erase");
        of_erases.map(|one| one[2].as_u64().unwrap_or(0) - one[1].as_u64().unwrap_or(0)).sum()
    };
    let waited = request["waits"].as_array().expect("causes").iter().find(|wait| wait[0] == "chip: erase");
    assert_eq!(Some(erase(spans)), waited.map(|wait| wait[1].as_u64().expect("ns")), "{spans:?}");
}

#[test]
fn cases_that_differ_in_one_figure_are_lines_over_it() {
    if !has(&PROGRAMS) {
        return;
    }
    let place = Place::new();
    let row = |case: &str, paper: Option<f64>, measured: f64| {
        serde_json::json!({"case": case, "quantity": "reads", "unit": "1/s", "paper": paper, "sense": "equal",
            "effect": false, "reading": "main", "counted": true, "measured": measured, "ratio": null,
            "holds": null, "limit": null, "note": null})
    };
    let sweep = [
        ("SPK3, 64 chips", 1.0),
        ("SPK3, 1024 chips", 3.0),
        ("SPK3, 256 chips", 2.0),
        ("VAS, 64 chips", 1.0),
        ("VAS, 256 chips", 1.5),
        ("VAS, 1024 chips", 1.6),
    ];
    let apart = [("cfs0", 1.0), ("cfs1", 2.0), ("64 chips", 3.0)];
    let rows = |cases: &[(&str, f64)]| -> Vec<Value> {
        cases.iter().map(|&(case, measured)| row(case, Some(1e5), measured * 1e5)).collect()
    };
    for (name, cases, wanted) in [("sweep", &sweep[..], true), ("apart", &apart[..], false)] {
        let study = serde_json::json!({"study": name, "version": "0", "seed": 1, "quick": true,
            "notes": [], "rows": rows(cases)});
        place.put(&format!("{name}.json"), study.to_string().as_bytes());
        place.text(&["report", &format!("{name}.json"), "--html", &format!("{name}.html")]);
        let mut browser = Browser::start();
        browser.open(&place.path(&format!("{name}.html")), View { width: 390, dark: false });
        let lines = browser.evaluate(
            "drawn.get(document.querySelector('figure[data-chart=figures]')).getOption().series\
             .filter((one) => one.type === 'line').map((one) => one.name + ' ' + \
             one.data.map(({ row }) => row.case).join('; '))",
        );
        let lines: Vec<&str> = lines.as_array().expect("a list").iter().filter_map(Value::as_str).collect();
        if wanted {
            let spk = "SPK3, … chips SPK3, 64 chips; SPK3, 256 chips; SPK3, 1024 chips";
            let vas = "VAS, … chips VAS, 64 chips; VAS, 256 chips; VAS, 1024 chips";
            assert_eq!(lines, [spk, spk, vas, vas], "ours and the paper's, in the order of the figure");
        } else {
            assert!(lines.is_empty(), "{lines:?}");
        }
        browser.assert_content(name);
    }
}

#[test]
fn points_that_are_equal_in_what_ranks_them_have_no_best() {
    let place = Place::new();
    // An open loop serves what it is asked for, whichever block is collected next.
    let small =
        ["compare", "small.toml", "--quiet", "--set", "run.requests=3000", "--show", "errors,p99(read)"];
    let grid = ["--vary", "device.gc.victim=greedy,fifo", "--by", "errors", "--html", "page.html"];
    let text = place.text(&[&small[..], &grid].concat());
    assert!(text.contains("all points are as good as each other in errors"), "{text}");
    let html = std::fs::read_to_string(place.path("page.html")).expect("a page");
    assert!(html.contains("No point is best:") && !html.contains("<p>Best:"));
    assert!(html.contains("data-second=\"p99(read)\""), "the chart stands beside what varies");
}
