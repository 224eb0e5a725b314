//! Pages for everybody: no violations that axe-core finds, at three widths, light and dark. `TAILCUT_AXE`
//! names its script, which `.ci/page` installs.

use crate::support::browser::{Browser, PROGRAMS, View};
use crate::support::{Place, has};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A phone, a tablet and a desk.
const WIDTHS: [u32; 3] = [390, 768, 1200];

/// What axe-core is asked: the rules and the elements that break them.
const ASK: &str = "(async () => { \
    const found = await axe.run(document, { resultTypes: ['violations'] }); return \
    found.violations.map((one) => one.id + ': ' + one.nodes.map((node) => node.html.slice(0, 160) + ' ' + \
    node.any.map((why) => why.message).join('; ')).slice(0, 4).join(' | ')); })()";

/// The script of axe-core, if it was installed and there is a browser.
fn axe() -> Option<String> {
    let file = std::env::var_os("TAILCUT_AXE").map(PathBuf::from);
    if file.is_none() {
        println!("skipped: TAILCUT_AXE does not name axe-core's script (.ci/page installs it)");
    }
    file.filter(|_| has(&PROGRAMS))
        .map(|file| std::fs::read_to_string(file).expect("TAILCUT_AXE is a script"))
}

fn assert_usable(browser: &mut Browser, axe: &str, file: &Path) {
    for width in WIDTHS {
        for dark in [false, true] {
            browser.open(file, View { width, dark });
            browser.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })");
            assert_none(browser, axe, &format!("{} at {width}, dark: {dark}", file.display()));
        }
    }
}

fn assert_none(browser: &mut Browser, axe: &str, what: &str) {
    browser.evaluate(&format!("{axe}; undefined"));
    let found = browser.evaluate(ASK);
    assert_eq!(found, serde_json::json!([]), "{what}");
    browser.assert_content(what);
}

#[test]
fn pages_of_runs_arrays_comparisons_and_studies_have_no_violations() {
    let Some(axe) = axe() else { return };
    let place = Place::new();
    place.text(&["run", "small.toml", "--quiet", "--out", "out", "--html", "run.html"]);
    let array = ["--set", "array.layout=epochs", "--set", "array.drives=4", "--set", "array.groups=2"];
    let arguments = ["run", "small.toml", "--quiet", "--out", "array", "--html", "array.html"];
    place.text(&[&arguments[..], &array].concat());
    let vary = ["--vary", "workload.depth=8,2", "--vary", "device.gc.victim=greedy,fifo"];
    let arguments =
        ["compare", "small.toml", "--quiet", "--out", "grid", "--html", "grid.html", "--by", "p99(read)"];
    place.text(&[&arguments[..], &vary].concat());
    place.text(&["study", "run", "shin-3.10", "shin-4.4", "--quick", "--quiet", "--html", "study.html"]);
    let mut browser = Browser::start();
    for file in ["run.html", "array.html", "grid.html", "study.html"] {
        assert_usable(&mut browser, &axe, &place.path(file));
    }
}

#[test]
fn the_page_of_a_history_has_no_violations() {
    let Some(axe) = axe() else { return };
    let place = Place::new();
    let arguments =
        ["serve", "kv", "--unix-socket", "s.sock", "--memory-only", "--quiet", "--history", "history.jsonl"];
    let mut server = place.command(&arguments).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut greeting = BufReader::new(server.stdout.take().expect("it is piped")).lines();
    assert!(greeting.next().is_some(), "it serves");
    place.text(&["bench", "kv", "--unix", "s.sock", "--load", "--items", "1000", "--time", "100ms"]);
    let interrupted = Command::new("kill").args(["-INT", &server.id().to_string()]).status();
    assert!(interrupted.expect("kill starts").success());
    assert!(greeting.count() > 0 && server.wait().expect("it ends").success());
    place.text(&["report", "history.jsonl"]);
    let html = std::fs::read_to_string(place.path("history.html")).expect("a page");
    let at = |text: &str| html.find(text).unwrap_or_else(|| panic!("{text} is not on the page"));
    assert!(at(">What was found</h2>") < at(">How long it took</h2>"));
    let mut browser = Browser::start();
    assert_usable(&mut browser, &axe, &place.path("history.html"));
}

#[test]
fn the_page_with_the_simulator_has_no_violations() {
    let (Some(axe), Some(page)) = (axe(), std::env::var_os("TAILCUT_PAGE")) else { return };
    let mut browser = Browser::start();
    for width in WIDTHS {
        for dark in [false, true] {
            browser.open_address("about:blank", View { width, dark });
            browser.open_address(&format!("file://{}", Path::new(&page).display()), View { width, dark });
            browser.evaluate(
                "new Promise((done) => { const look = () => document.documentElement?.dataset.answered \
                 ? done(true) : setTimeout(look, 20); look(); })",
            );
            assert_none(&mut browser, &axe, &format!("the page at {width}, dark: {dark}"));
        }
    }
}
