//! HTML pages, as a browser renders them.

use crate::support::browser::{Browser, PROGRAMS, View};
use crate::support::{Place, has, json};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

const DESK: View = View { width: 1200, dark: false };
const PHONE: View = View { width: 360, dark: true };

/// The charts with their series and the number of elements in each: `chips` -> [(`all`, 64)].
fn charts(browser: &mut Browser) -> Vec<(String, Vec<(String, usize)>)> {
    let drawn = browser.evaluate(
        "[...document.querySelectorAll('figure[data-chart]')].map((f) => f.dataset.chart + '=' + \
            f.dataset.drawn)",
    );
    let chart = |text: &Value| {
        let (name, series) =
            text.as_str().expect("text").split_once('=').expect("a chart with what is drawn");
        let series = series.split(';').map(|one| {
            let (name, length) = one.rsplit_once(':').unwrap_or_else(|| panic!("nothing is drawn in {text}"));
            (name.to_owned(), length.parse().expect("a length"))
        });
        (name.to_owned(), series.collect())
    };
    drawn.as_array().expect("a list").iter().map(chart).collect()
}

fn chart<'a>(charts: &'a [(String, Vec<(String, usize)>)], name: &str) -> &'a [(String, usize)] {
    &charts.iter().find(|(other, _)| other == name).unwrap_or_else(|| panic!("no chart {name}: {charts:?}")).1
}

/// The invariants of every page, in every view: no errors, every chart drawn and not empty, nothing wider
/// than the window, legible tables of data.
fn assert_page(browser: &mut Browser, file: &Path) {
    for view in [DESK, PHONE, View { width: 390, dark: false }, View { dark: true, ..DESK }] {
        browser.open(file, view);
        browser.assert_content(&file.display().to_string());
        for (name, series) in charts(browser) {
            assert!(series.iter().any(|(_, length)| *length > 0), "{name}: {series:?}");
        }
        let excess = browser
            .evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            .as_i64();
        assert_eq!(excess, Some(0), "{} at {} pixels", file.display(), view.width);
        let paper = browser.evaluate("getComputedStyle(document.body).backgroundColor");
        assert_eq!(paper, if view.dark { "rgb(20, 23, 27)" } else { "rgb(255, 255, 255)" });
    }
    assert_keyboard(browser, file);
    assert_print(browser, file);
    let elsewhere = browser.evaluate("performance.getEntriesByType('resource').length");
    assert_eq!(elsewhere, 0, "nothing is loaded");
}

/// Everything that can be opened or selected is reachable with Tab, opens with Enter, and shows that it has
/// the focus.
fn assert_keyboard(browser: &mut Browser, file: &Path) {
    browser.open(file, DESK);
    let wanted = browser.evaluate(
        "[...document.querySelectorAll('summary, button, nav a')].filter((e) => e.checkVisibility()).length",
    );
    let wanted = wanted.as_u64();
    let mut reached = 0;
    for _ in 0..1000 {
        browser.press("Tab", 9);
        let on = browser.evaluate(
            "document.activeElement.matches('body') ? '' : \
             getComputedStyle(document.activeElement).outlineStyle + ' ' + \
             document.activeElement.matches('summary, button, nav a')",
        );
        match on.as_str() {
            Some("") => break,
            Some(on) => {
                assert!(!on.starts_with("none"), "the focus is seen");
                reached += u64::from(on.ends_with("true"));
            }
            None => unreachable!("it is text"),
        }
        if Some(reached) == wanted {
            break;
        }
    }
    assert_eq!(Some(reached), wanted, "all are reached by keys");
    browser.evaluate("document.querySelector('details.data summary').focus()");
    browser.press("Enter", 13);
    let rows = "new Promise((done) => setTimeout(() => done(document.querySelectorAll('details.data[open] \
        tr').length), 200))";
    assert!(browser.evaluate(rows).as_u64() > Some(1), "the table of the chart is there");
}

/// In print, the page is light, folded parts are open, and charts are no wider than the paper.
fn assert_print(browser: &mut Browser, file: &Path) {
    browser.open(file, View { dark: true, ..DESK });
    browser.print();
    assert_eq!(browser.evaluate("getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)");
    assert_eq!(browser.evaluate("document.querySelectorAll('details.more:not([open])').length"), 0);
    let wide = "[...document.querySelectorAll('.plot svg')].filter((svg) => \
        svg.getBoundingClientRect().width > 681).length";
    assert_eq!(browser.evaluate(wide), 0);
    assert!(browser.pdf().len() > 20_000);
    browser.assert_content("in print");
}

/// The data embedded in a page.
fn data(browser: &mut Browser) -> Value {
    json(browser.evaluate("document.getElementById('data').textContent").as_str().expect("text"))
}

/// The text of all table cells of a page.
fn cells(browser: &mut Browser) -> Vec<String> {
    let cells = browser.evaluate("[...document.querySelectorAll('td')].map((cell) => cell.textContent)");
    cells.as_array().expect("a list").iter().map(|cell| cell.as_str().expect("text").to_owned()).collect()
}

fn sum(list: &Value) -> u64 {
    list.as_array().expect("a list").iter().map(|value| value.as_u64().expect("a count")).sum()
}

#[test]
fn the_page_of_a_run_shows_what_its_json_says() {
    if !has(&PROGRAMS) {
        return;
    }
    let place = Place::new();
    place.text(&["run", "small.toml", "--quiet", "--out", "out", "--html", "page.html"]);
    let (beside, report) = (place.json("page.json"), place.json("out/report.json"));
    assert_eq!(beside, report, "the data of the page is the report of the folder");
    let mut browser = Browser::start();
    assert_page(&mut browser, &place.path("page.html"));
    browser.open(&place.path("page.html"), DESK);
    assert_eq!(data(&mut browser), report, "and is in the page");
    let charts = charts(&mut browser);
    let names: Vec<&str> = charts.iter().map(|(name, _)| name.as_str()).collect();
    let waits = ["waits"; 4];
    let kinds = [
        &["tail", "latency"][..],
        &waits,
        &["request", "throughput", "latencies", "latencies", "latencies"],
        &["chips"],
    ]
    .concat();
    assert_eq!(names, kinds, "all, reads, writes and flushes");
    let latency: Vec<&str> = chart(&charts, "latency").iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        latency,
        ["read", "read", "write", "write", "flush", "flush"],
        "what is sure, and what is chance"
    );
    // The areas of the causes fill all below the curve: the greatest gap, relative to the curve.
    let gap = browser.evaluate(
        "(() => { const series = \
            drawn.get(document.querySelector('figure[data-chart=tail]')).getOption().series;\
         const \
            curve = new Map(series.pop().data), areas = series.map((one) => one.data);\
         const sum = \
            (at) => areas.reduce((total, area) => total + area[at][1], 0);\
         return \
            Math.max(...areas[0].map(([x], at) => Math.abs(sum(at) / curve.get(x) - 1))); })()",
    );
    assert!(gap.as_f64().expect("a number") < 1e-6, "{gap}");
    let timeline = &report["detail"]["timeline"];
    let slots = timeline["slots"].as_u64().expect("a count") as usize;
    let through = chart(&charts, "throughput");
    assert!(through.iter().any(|(name, _)| name == "pages moved by collection"));
    assert!(through.iter().all(|(_, length)| (slots - 1..=slots).contains(length)), "{through:?}");
    let map = &timeline["chips"];
    let columns = map["held"][0]["rows"][0].as_array().expect("columns").len();
    assert_eq!(chart(&charts, "chips"), [("all".to_owned(), 4 * columns)]);
    for kind in timeline["kinds"].as_array().expect("kinds") {
        let whole =
            report["kinds"].as_array().expect("kinds").iter().find(|other| other["kind"] == kind["kind"]);
        assert_eq!(
            sum(&kind["requests"]),
            whole.expect("it is there")["requests"].as_u64().expect("a count")
        );
    }
    assert_eq!(sum(&timeline["drives"][0]["erases"]), report["drive"]["erases"].as_u64().expect("a count"));
    let cells = cells(&mut browser);
    let p99 = report["kinds"][1]["latency"]["points"][2]["ns"].as_f64().expect("a latency");
    let shown = tailcut_base::quantity::show_time(p99);
    assert!(cells.contains(&shown), "{shown}");
    let words = browser.evaluate("document.querySelector('#s2').textContent");
    assert!(words.as_str().expect("text").contains("Slowest 0.1 %"), "{words}");
}

#[test]
fn a_chart_of_a_run_is_made_of_its_numbers() {
    if !has(&PROGRAMS) {
        return;
    }
    let place = Place::new();
    place.text(&["run", "small.toml", "--quiet", "--out", "out", "--html", "page.html"]);
    let report = place.json("page.json");
    let mut browser = Browser::start();
    browser.open(&place.path("page.html"), DESK);
    let chosen = browser.evaluate(
        "[...document.querySelectorAll('figure')].map((f) => drawn.get(f)).flatMap((c) => \
            c.getOption().series)\
         .filter((s) => s.name === 'read' && s.data.length && \
            s.data[0].length === 4)[0].data.map((p) => [p[2], p[3]])",
    );
    let curve = report["detail"]["kinds"][1]["curve"].as_array().expect("a curve").iter();
    let curve = curve.skip_while(|point| point[0].as_f64() < Some(1.0));
    let drawn = chosen.as_array().expect("points");
    let is_same =
        |(a, b): (&Value, &Value)| [0, 1].iter().all(|&place| a[place].as_f64() == b[place].as_f64());
    assert!(drawn.len() > 20 && drawn.iter().zip(curve).all(is_same));
    // A selection by a button is drawn.
    browser.evaluate("document.querySelector('.choice button[value=erase]').click()");
    let most = browser.evaluate(
        "Math.max(...drawn.get(document.querySelector('figure[data-chart=chips]')).getOption().series[0].data.map((d) \
            => d[2]))",
    );
    let held = report["detail"]["timeline"]["chips"]["held"].as_array().expect("kinds of work");
    let erase = held.iter().find(|one| one["holder"] == "erase").expect("it is there");
    let rows =
        erase["rows"].as_array().expect("rows").iter().flat_map(|row| row.as_array().expect("columns"));
    assert_eq!(most.as_u64(), rows.map(|parts| parts.as_u64().expect("parts")).max());
    browser.assert_content("after a click");
}

#[test]
fn tables_are_sorted_by_a_click_and_terms_are_explained() {
    if !has(&PROGRAMS) {
        return;
    }
    let place = Place::new();
    place.text(&["run", "small.toml", "--quiet", "--out", "out", "--html", "page.html"]);
    let mut browser = Browser::start();
    browser.open(&place.path("page.html"), DESK);
    let column = |browser: &mut Browser, number: usize| -> Vec<String> {
        let cells = browser.evaluate(&format!(
            "[...document.querySelectorAll('[aria-label=\"Latency by kind and percentile\"] tbody tr')]\
             .map((row) => row.cells[{number}].textContent)"
        ));
        cells.as_array().expect("a list").iter().map(|cell| cell.as_str().expect("text").to_owned()).collect()
    };
    let click =
        "document.querySelectorAll('[aria-label=\"Latency by kind and percentile\"] .sort')[3].click()";
    let before = column(&mut browser, 0);
    let mut orders = Vec::new();
    for _ in 0..3 {
        browser.evaluate(click);
        let means = column(&mut browser, 3);
        let ns = |text: &String| {
            let (number, _) = text.split_once(|c: char| c.is_alphabetic()).expect("a time");
            let number: f64 = number.trim().parse().expect("a number");
            number
                * if text.ends_with("ms") {
                    1e6
                } else if text.ends_with("ns") {
                    1.0
                } else {
                    1e3
                }
        };
        orders.push((
            means.is_sorted_by_key(ns),
            means.iter().rev().is_sorted_by_key(ns),
            column(&mut browser, 0),
        ));
    }
    assert!(orders[0].0 && orders[1].1, "{orders:?}");
    assert_eq!(orders[2].2, before, "a third click puts the rows back");
    let bare = browser
        .evaluate("[...document.querySelectorAll('th')].find((th) => th.textContent === 'bare').title");
    assert!(bare.as_str().is_some_and(|text| text.starts_with("idle latency: the least")), "{bare}");
    let tile = browser.evaluate(
        "[...document.querySelectorAll('.tiles span')].find((s) => s.textContent === 'reads: 99 %').title",
    );
    assert!(tile.as_str().is_some_and(|text| text.starts_with("percentiles: ")), "{tile}");
    let cause = browser.evaluate(
        "drawn.get(document.querySelector('figure[data-chart=tail]')).getOption().legend[0]\
         .tooltip.formatter({ name: 'chip: erase' })",
    );
    assert_eq!(cause, "the chip executed an erase");
}

#[test]
fn a_slow_request_that_is_clicked_shows_where_its_time_went() {
    if !has(&PROGRAMS) {
        return;
    }
    let place = Place::new();
    place.text(&["run", "small.toml", "--quiet", "--out", "out", "--html", "page.html"]);
    let report = place.json("out/report.json");
    let slowest = report["slowest"].as_array().expect("a list");
    assert!(slowest.len() > 3);
    let mut browser = Browser::start();
    browser.open(&place.path("page.html"), DESK);
    for row in [0, 3] {
        let request = &slowest[row];
        browser.evaluate(&format!("document.querySelectorAll('button.pick')[{row}].click()"));
        let number = request["number"].as_u64().expect("a number");
        let command =
            browser.evaluate("document.querySelector('figure[data-chart=request] figcaption').textContent");
        assert!(
            command.as_str().is_some_and(|text| text.contains(&format!("explain DIR --request {number}"))),
            "{command}"
        );
        let drawn = browser.evaluate(
            "Math.max(...drawn.get(document.querySelector('figure[data-chart=request]')).getOption().series\
             .flatMap((one) => one.data.map((box) => box.value[1])))",
        );
        assert_eq!(drawn, request["latency_ns"], "request {number}");
        let sum: u64 = request["waits"]
            .as_array()
            .expect("causes")
            .iter()
            .map(|wait| wait[1].as_u64().expect("ns"))
            .sum();
        assert_eq!(Some(sum), request["latency_ns"].as_u64());
        // The command shows the same request.
        let explained = place.text(&["explain", "out", "--request", &number.to_string()]);
        let latency = tailcut_base::quantity::show_time(sum as f64);
        assert!(explained.replace(' ', "").contains(&latency.replace(' ', "")), "{latency}: {explained}");
    }
    browser.assert_content("after clicks");
}

#[test]
fn arrays_show_drives_tokens_and_roles() {
    if !has(&PROGRAMS) {
        return;
    }
    let place = Place::new();
    let mut browser = Browser::start();
    for (layout, more) in [("swan5", "roles"), ("epochs", "tokens")] {
        let (layout_set, page) = (format!("array.layout={layout}"), format!("{layout}.html"));
        let sets = [
            "array.drives=6",
            "array.groups=2",
            layout_set.as_str(),
            "array.log.segment=256KiB",
            "array.epoch.cache=4MiB",
        ];
        let mut arguments = vec!["run", "small.toml", "--quiet", "--out", "out", "--html", &page];
        sets.iter().for_each(|set| arguments.extend(["--set", set]));
        place.text(&arguments);
        assert_page(&mut browser, &place.path(&page));
        let charts = charts(&mut browser);
        let drives = chart(&charts, "drives");
        assert_eq!(drives.iter().filter(|(name, _)| name == "reads/s").count(), 6, "{drives:?}");
        assert!(chart(&charts, more).iter().map(|(_, length)| length).sum::<usize>() > 10);
    }
}

#[test]
fn studies_stand_on_one_page() {
    if !has(&PROGRAMS) {
        return;
    }
    let place = Place::new();
    let arguments = [
        "study",
        "run",
        "shin-3.10",
        "shin-4.4",
        "--quick",
        "--quiet",
        "--html",
        "page.html",
        "--json",
        "rows.json",
    ];
    place.text(&arguments);
    let rows = place.json("rows.json");
    assert_eq!(place.json("page.json"), rows["studies"]);
    let mut browser = Browser::start();
    assert_page(&mut browser, &place.path("page.html"));
    let charts = charts(&mut browser);
    let all = || {
        rows["studies"]
            .as_array()
            .expect("studies")
            .iter()
            .flat_map(|study| study["rows"].as_array().expect("rows"))
    };
    let with_ratio = all().filter(|row| row["ratio"].as_f64() > Some(0.0)).count();
    assert_eq!(chart(&charts, "ratios"), [("ratio".to_owned(), with_ratio)]);
    browser.open(&place.path("page.html"), DESK);
    let cells = cells(&mut browser);
    for row in all().filter_map(|row| row["ratio"].as_f64()) {
        assert!(cells.contains(&format!("{row:.2}")), "{row}");
    }
}

#[test]
fn a_comparison_shows_ranking_and_effects() {
    if !has(&PROGRAMS) {
        return;
    }
    let place = Place::new();
    let vary = ["--vary", "workload.depth=8,2", "--vary", "device.gc.victim=greedy,fifo"];
    let show = "p50(read),p99(read),p99.9(read),iops";
    let mut arguments =
        vec!["compare", "small.toml", "--quiet", "--set", "run.requests=3000", "--show", show];
    arguments.extend(vary);
    arguments.extend(["--out", "out", "--html", "page.html"]);
    // So few requests have no p99.99(read) to rank by.
    place.text(&arguments);
    let unranked = std::fs::read_to_string(place.path("page.html")).expect("a page");
    assert!(unranked.contains("4 points without a rank") && !unranked.contains("data-chart=\"scatter\""));
    place.text(&[&arguments[..], &["--by", "p99.9(read)"]].concat());
    assert_eq!(place.json("page.json"), place.json("out/compare.json"));
    let mut browser = Browser::start();
    assert_page(&mut browser, &place.path("page.html"));
    let charts = charts(&mut browser);
    assert_eq!(
        chart(&charts, "scatter").iter().map(|(_, length)| length).sum::<usize>(),
        4,
        "each point once"
    );
    let effects = chart(&charts, "effects");
    assert!(effects.iter().any(|(name, length)| name == "alone" && *length == 2), "{effects:?}");
    assert_eq!(chart(&charts, "compared").iter().filter(|(_, length)| *length > 0).count(), 4);
}

#[test]
fn pages_are_made_of_what_was_saved() {
    let place = Place::new();
    place.text(&["run", "small.toml", "--quiet", "--out", "plain"]);
    place.text(&["run", "small.toml", "--quiet", "--out", "recorded", "--timeline"]);
    assert!(place.json("plain/report.json")["detail"].get("timeline").is_none());
    assert_eq!(place.json("plain/report.json")["digest"], place.json("recorded/report.json")["digest"]);
    for folder in ["plain", "recorded"] {
        let before = std::fs::read(place.path(&format!("{folder}/report.json"))).expect("it is there");
        assert_eq!(place.text(&["report", folder]), format!("{folder}/report.html\n"));
        let after = std::fs::read(place.path(&format!("{folder}/report.json"))).expect("it is there");
        assert_eq!(before, after, "what the page is made of is left alone");
    }
    let text = std::fs::read_to_string(place.path("plain/report.html")).expect("a page");
    assert!(text.contains("This run was not recorded over time"));
    assert!(!text.contains("data-chart=\"throughput\""));
    let text = std::fs::read_to_string(place.path("recorded/report.html")).expect("a page");
    assert!(text.contains("data-chart=\"throughput\""));
    let complaint = place.refused(2, &["report", "small.toml"]);
    assert!(complaint.contains("small.toml: not JSON"), "{complaint}");
    let complaint = place.refused(2, &["report", "."]);
    assert!(complaint.contains("neither report.json"), "{complaint}");
    let complaint = place.refused(2, &["run", "small.toml", "--html", "page.json"]);
    assert!(complaint.contains("ends in .html"), "{complaint}");
}

#[test]
fn names_from_outside_stay_text() {
    let place = Place::new();
    let lines = "128166372003061629,hm,0,Read,0,4096,10\n128166372003071629,hm,0,Write,4096,4096,10\n";
    // Followed by the slash of a path, an end tag of the script element.
    std::fs::create_dir(place.path("<")).expect("the folder is writable");
    let name = place.put("</script><script>alert(1)<!--.csv", lines.as_bytes());
    let run = ["run", "small.toml", "--trace", &name, "--quiet", "--out", "out", "--html", "page.html"];
    place.text(&[&run[..], &["--set", "run.ramp=0s"]].concat());
    let text = std::fs::read_to_string(place.path("page.html")).expect("a page");
    assert!(!text.contains("<script>alert"), "nothing that a file is called is run");
    assert!(text.contains("\\u003c/script>\\u003cscript>alert(1)\\u003c!--.csv"), "it is in the data");
    if has(&PROGRAMS) {
        let mut browser = Browser::start();
        assert_page(&mut browser, &place.path("page.html"));
        assert!(
            data(&mut browser)["scenario"]
                .as_str()
                .expect("text")
                .contains("</script><script>alert(1)<!--.csv")
        );
    }
}

#[test]
fn a_server_keeps_a_history_that_becomes_a_page() {
    if !has(&PROGRAMS) {
        return;
    }
    let place = Place::new();
    let arguments =
        ["serve", "block", "--size", "64MiB", "--unix", "s.sock", "--quiet", "--history", "history.jsonl"];
    let mut server = place.command(&arguments).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut greeting = BufReader::new(server.stdout.take().expect("it is piped")).lines();
    assert!(greeting.next().is_some(), "it serves");
    place.text(&["bench", "block", "--unix", "s.sock", "--time", "100ms"]);
    let interrupted = Command::new("kill").args(["-INT", &server.id().to_string()]).status();
    assert!(interrupted.expect("kill starts").success());
    assert!(greeting.count() > 0, "it says what it served");
    assert!(server.wait().expect("it ends").success());
    assert_eq!(place.text(&["report", "history.jsonl"]), "history.html\n");
    let mut browser = Browser::start();
    assert_page(&mut browser, &place.path("history.html"));
    let size = &place.json("history.json")["series"]["tailcut_size_bytes"]["export=\"disk\""];
    assert_eq!(size[0].as_f64(), Some(f64::from(64 << 20)));
    let reads = &place.json("history.json")["series"]["tailcut_request_seconds_count"]["kind=\"read\",export=\"disk\""];
    let reads = reads.as_array().expect("moments");
    assert!(reads[0].as_f64() == Some(0.0) && reads[reads.len() - 1].as_f64() > Some(0.0), "{reads:?}");
    let mut is_known =
        |text: &str| charts(&mut browser).iter().any(|(_, series)| series.iter().any(|one| one.0 == text));
    assert!(is_known("kind read, disk 99 %"));
}
