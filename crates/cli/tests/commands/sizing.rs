//! `tailcut size`: output and errors.

use crate::support::{Place, golden, json};

const PAPER: [&str; 6] = ["--erase", "4ms", "--read", "15.6us", "--write", "19.5us"];

#[test]
fn a_sizing_shows_its_reasoning() {
    let place = Place::new();
    let line = ["size", "--network", "10GB/s", "--drive", "swan-sata", "--fill", "60%", "--raid", "4"];
    golden("size.txt", &place.text(&line));
}

#[test]
fn a_fill_that_leaves_a_log_no_space_is_marked() {
    let place = Place::new();
    let line = |fill| ["size", "--network", "10GB/s", "--drive", "swan-sata", "--fill", fill];
    assert!(place.text(&line("95%")).contains("No number of groups is enough: "));
    assert!(!place.text(&line("94%")).contains("No number of groups"));
}

#[test]
fn the_example_of_the_paper_has_both_figures() {
    let place = Place::new();
    // 57 % of all space is 60 % of the space that is not kept erased ahead of writes.
    let line = [&["size", "--network", "10GB/s", "--fill", "57%", "--json"][..], &PAPER].concat();
    let sizing = json(&place.text(&line));
    let figure = |name: &str| sizing["groups"][name].as_f64().expect("a number");
    assert!((figure("utilisation") - 0.324).abs() < 0.001, "{sizing}");
    assert!(
        (figure("equation") - 3.05).abs() < 0.01 && (figure("without_erase") - 1.86).abs() < 0.01,
        "{sizing}"
    );
    assert_eq!((&sizing["groups"]["groups"], &sizing["data_drives"]), (&4.into(), &48.into()));
}

#[test]
fn what_was_measured_wins_over_the_parts_of_a_drive() {
    let place = Place::new();
    let base = ["size", "--network", "10GB/s", "--fill", "60%", "--drive", "swan-sata", "--json"];
    let derived = json(&place.text(&base));
    let measured = json(&place.text(&[&base[..], &["--write", "20us", "--blocks", "512"]].concat()));
    assert_eq!(measured["costs"]["write_ns"], 20_000.0);
    assert_eq!(measured["costs"]["blocks"], 512);
    assert_eq!(measured["costs"]["read_ns"], derived["costs"]["read_ns"]);
}

#[test]
fn wrong_input_names_its_place_and_what_would_be_right() {
    let place = Place::new();
    let good = ["--network", "10GB/s", "--fill", "60%", "--drive", "swan-sata"];
    let refused = |option: &str, value: &str, remedy: &str| {
        let mut line = vec!["size"];
        for pair in good.chunks(2) {
            line.extend([pair[0], if pair[0] == option { value } else { pair[1] }]);
        }
        if !good.contains(&option) {
            line.extend([option, value]);
        }
        let report = place.refused(2, &line);
        assert!(report.contains(option) && report.contains(remedy), "{report}");
    };
    refused("--network", "10", "MB/s");
    refused("--network", "0B/s", "10GB/s");
    refused("--fill", "100%", "1% to 99%");
    refused("--fill", "much", "70%");
    refused("--drive", "swan-stata", "did you mean 'swan-sata'");
    refused("--raid", "6", "0 (none), 4 or 5");
    refused("--write", "0us", "19.5us");
    refused("--blocks", "0", "256");
    let report = place.refused(2, &["size", "--network", "10GB/s", "--fill", "60%", "--read", "10us"]);
    assert!(report.contains("--erase, --write") && report.contains("--drive swan-sata"), "{report}");
}
