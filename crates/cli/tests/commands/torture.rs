//! `tailcut torture`: what it finds, how it reports it, and that it is reproducible.

use crate::support::{Place, listens_to_interrupts, stderr, stdout};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

/// The rest of the last line with this prefix.
fn after<'t>(text: &'t str, begin: &str) -> &'t str {
    let line = text.lines().rfind(|line| line.trim_start().starts_with(begin)).expect("there is such a line");
    line.trim_start()[begin.len()..].trim()
}

#[test]
fn a_search_says_what_it_has_reached_and_is_the_same_every_time() {
    let place = Place::new();
    let run = |jobs| {
        let text = place.text(&["torture", "--subject", "raid0", "--seeds", "40", "--jobs", jobs]);
        let steady = |line: &&str| !line.starts_with("runs per second");
        text.lines().filter(steady).collect::<Vec<&str>>().join("\n")
    };
    let text = run("1");
    assert!(text.contains("violations                                    0"), "{text}");
    assert_eq!(text, run("3"), "it does not depend on the number of threads");
}

#[test]
fn a_violation_ends_with_1_and_can_be_seen_again_in_full_and_small() {
    let place = Place::new();
    let mutant = ["torture", "--mutant", "forgets-fua", "--subject", "raid0"];
    let found = place.run(&[&mutant[..], &["--seeds", "200"]].concat());
    assert_eq!(found.status.code(), Some(1), "{}", stderr(&found));
    let (text, complaint) = (stdout(&found), stderr(&found));
    assert!(complaint.starts_with("error: durable data lost: block "), "{complaint}");
    let seed =
        after(&complaint, "see it again with: tailcut torture --mutant forgets-fua --subject raid0 --seed ");
    let again = place.run(&[&mutant[..], &["--seed", seed]].concat());
    assert_eq!(again.status.code(), Some(1));
    let plan = after(&text, "tailcut torture --mutant forgets-fua --plan ").trim_matches('\'');
    let small = place.run(&["torture", "--mutant", "forgets-fua", "--plan", plan]);
    assert_eq!(small.status.code(), Some(1));
    place.put("plan.txt", plan.replace("; ", "\n").as_bytes());
    let from_file = place.run(&["torture", "--mutant", "forgets-fua", "--plan", "plan.txt"]);
    assert_eq!(from_file.status.code(), Some(1));
    let again = after(&stderr(&from_file), "see it again with: ").to_string();
    assert_eq!(again, "tailcut torture --mutant forgets-fua --plan plan.txt", "not its whole text");
    assert!(place.run(&["torture", "--plan", "plan.txt"]).status.success(), "without the bug all is well");
}

#[test]
fn a_plan_is_cut_at_every_one_of_its_events() {
    let place = Place::new();
    let plan = "layout=raid5 drives=3 blocks=48 journal=12; write 0+6; flush; write 1+1";
    let text = place.text(&["torture", "--plan", plan, "--every-step"]);
    let line = text.lines().find(|line| line.starts_with("runs ")).expect("there is such a line");
    let runs: u64 = line["runs ".len()..].trim().parse().expect("a number");
    assert!(runs > 20, "{text}");
    let plan = "layout=raid0 drives=1 blocks=48; write 0+6 fua; wait; write 7+1; wait";
    let mutant = ["torture", "--mutant", "forgets-fua", "--plan", plan];
    assert!(place.run(&mutant).status.success(), "nothing is lost without a power cut");
    let found = place.run(&[&mutant[..], &["--every-step"]].concat());
    assert_eq!(found.status.code(), Some(1));
    let complaint = stderr(&found);
    let cut = after(&complaint, "see it again with: tailcut torture --mutant forgets-fua --plan ");
    let again = place.run(&["torture", "--mutant", "forgets-fua", "--plan", cut.trim_matches('\'')]);
    assert_eq!(again.status.code(), Some(1));
    assert!(place.refused(2, &["torture", "--every-step"]).contains("--plan"));
}

#[test]
fn json_has_everything() {
    let place = Place::new();
    let plan = "layout=raid0 drives=1; write 0+1; wait; trim 0+1; wait; read 0+1";
    let text = place.run(&["torture", "--mutant", "forgets-trims", "--plan", plan, "--json", "-"]);
    let value: serde_json::Value = serde_json::from_str(&stdout(&text)).expect("JSON");
    assert_eq!(value["violation"]["kind"], "trimmed data came back");
    assert!(value["faults"]["kill"].is_u64() && value["reached"]["recovery"].is_u64());
}

#[test]
fn bad_input_is_told_with_its_remedy() {
    let place = Place::new();
    assert!(place.refused(2, &["torture", "--subject", "raid50"]).contains("raid5"));
    assert!(place.refused(2, &["torture", "--mutant", "forget-fua"]).contains("forgets-fua"));
    assert!(place.refused(2, &["torture", "--plan", "drives=2; rite 4+1"]).contains("statement 2"));
    assert!(place.refused(2, &["torture", "--plan", "nowhere.txt"]).contains("nowhere.txt"));
}

fn terminate(child: &Child) {
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().expect("there is a kill").success());
}

/// As timeout(1) does: one signal to the process, and one to its group.
#[test]
fn a_search_that_is_terminated_prints_its_summary() {
    let place = Place::new();
    let mut command = place.command(&["torture", "--subject", "raid0", "--seeds", "1000000000", "--quiet"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts");
    while !listens_to_interrupts(&child.id().to_string()) {
        std::thread::yield_now();
    }
    terminate(&child);
    terminate(&child);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(stdout(&output).lines().any(|line| line.starts_with("violations ")), "{}", stdout(&output));
}

/// The summary precedes the search for a smaller plan, which ends with the smallest found so far.
#[test]
fn a_search_for_a_smaller_plan_can_be_terminated() {
    let place = Place::new();
    let search =
        ["torture", "--mutant", "never-answers", "--subject", "log-raid5", "--seeds", "50", "--quiet"];
    let mut command = place.command(&search);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the binary starts");
    let mut reader = BufReader::new(child.stdout.take().expect("it is piped"));
    let mut line = String::new();
    while !line.starts_with("violations ") {
        line.clear();
        assert!(reader.read_line(&mut line).expect("it is text") > 0, "no summary");
    }
    terminate(&child);
    let mut rest = String::new();
    reader.read_to_string(&mut rest).expect("it is text");
    assert_eq!(child.wait().expect("it ends").code(), Some(1));
    assert!(rest.contains("tailcut torture --mutant never-answers --plan "), "{rest}");
}
