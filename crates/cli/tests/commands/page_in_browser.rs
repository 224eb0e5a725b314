//! The page that `web/build` makes, in headless Chromium. `TAILCUT_PAGE` names its file.

use crate::support::browser::{Browser, PROGRAMS, View};
use crate::support::has;
use std::path::PathBuf;

/// The page, if it was built and there is a browser.
fn page() -> Option<PathBuf> {
    let page = std::env::var_os("TAILCUT_PAGE").map(PathBuf::from);
    if page.is_none() {
        println!("skipped: the page was not built (web/build), or TAILCUT_PAGE does not name it");
    }
    page.filter(|_| has(&PROGRAMS))
}

/// Opens it with knobs turned as an address has them, and waits for the answer.
fn open(browser: &mut Browser, page: &std::path::Path, address: &str, view: View) {
    // Another address of the same page would not load it again.
    browser.open_address("about:blank", view);
    browser.open_address(&format!("file://{}#{address}", page.display()), view);
    browser.evaluate(
        "new Promise((done) => { const look = () => document.documentElement?.dataset.answered \
         || document.documentElement?.dataset.errors ? done(true) : setTimeout(look, 20); look(); })",
    );
    browser.assert_content(address);
}

/// A figure of the page in ns.
fn percentile(browser: &mut Browser, percentile: &str) -> f64 {
    let points = "page.kinds.find((kind) => kind.kind === 'read').latency.points";
    let found = browser.evaluate(&format!("{points}.find((point) => point.percentile === {percentile}).ns"));
    found.as_f64().expect("a figure")
}

#[test]
fn knobs_turn_the_curve_and_the_address_and_command_say_so() {
    let Some(page) = page() else { return };
    let (mut browser, wide) = (Browser::start(), View { width: 1100, dark: false });
    open(&mut browser, &page, "", wide);
    let before = percentile(&mut browser, "99.9");
    for chart in ["tail", "latency", "chips"] {
        let drawn =
            browser.evaluate(&format!("document.querySelector('figure[data-chart={chart}]').dataset.drawn"));
        assert!(drawn.as_str().is_some_and(|series| !series.is_empty()), "{chart}");
    }
    browser.evaluate(
        "new Promise((done) => { const knob = document.querySelector('input[name=erase]'); knob.value = 6; \
         knob.dispatchEvent(new Event('input')); const look = () => \
         document.documentElement.dataset.answered === '2' ? done(true) : setTimeout(look, 20); look(); })",
    );
    assert!(percentile(&mut browser, "99.9") > 1.5 * before, "erases of 10 ms instead of 3.8");
    assert_eq!(browser.evaluate("location.hash"), "#erase=10");
    let command = browser.evaluate("document.getElementById('command').textContent");
    assert!(
        command.as_str().is_some_and(|text| text.contains("--set device.timing.erase=10ms")),
        "{command}"
    );
    browser.assert_content("after a turn");
    let tokens = "tokens=for+writes+and+collection";
    open(&mut browser, &page, tokens, wide);
    assert!(5.0 * percentile(&mut browser, "99.9") < before, "no read meets an erase of its copy");
    assert_eq!(browser.evaluate("location.hash"), format!("#{tokens}"));
    let command = browser.evaluate("document.getElementById('command').textContent");
    let copies = ["array.layout=epochs", "array.epoch.mode=gc-control"];
    assert!(
        command.as_str().is_some_and(|text| copies.iter().all(|key| text.contains(&format!("--set {key}")))),
        "{command}"
    );
}

#[test]
fn every_drive_answers_and_fits_a_phone() {
    let Some(page) = page() else { return };
    let (mut browser, phone) = (Browser::start(), View { width: 390, dark: true });
    open(&mut browser, &page, "", phone);
    let drives =
        browser.evaluate("[...document.querySelector('select[name=drive]').options].map((o) => o.value)");
    for drive in drives.as_array().expect("a list") {
        let address =
            format!("drive={}", drive.as_str().expect("a name").replace(' ', "+").replace(',', "%2C"));
        open(&mut browser, &page, &address, phone);
        let error = browser.evaluate("document.getElementById('error').textContent");
        assert_eq!(error, "", "{drive}");
        let widest = browser.evaluate("document.documentElement.scrollWidth");
        assert!(widest.as_u64().is_some_and(|pixels| pixels <= 390), "{drive}: {widest}");
    }
}

#[test]
fn the_experiments_of_the_guide_show_what_it_tells() {
    let Some(page) = page() else { return };
    let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/8-twelve-experiments.md");
    let guide = std::fs::read_to_string(guide).expect("the chapter");
    let mut browser = Browser::start();
    let rows = guide.lines().filter(|line| line.starts_with("| `#"));
    let mut count = 0;
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let address = cells[0].trim_matches('`').trim_start_matches('#');
        open(&mut browser, &page, address, View { width: 1100, dark: false });
        let tiles =
            browser.evaluate("[...document.querySelectorAll('#tiles b')].map((tile) => tile.textContent)");
        let shown: Vec<&str> =
            tiles.as_array().expect("a list").iter().filter_map(|tile| tile.as_str()).collect();
        assert_eq!(cells[2..5], shown[..3], "{row}: p50, p99 and p99.9 of the page");
        count += 1;
    }
    assert_eq!(count, 13, "twelve experiments and where they start");
}
