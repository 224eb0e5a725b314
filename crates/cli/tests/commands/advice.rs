//! Applying the advice of an error removes the error, and its caret is under a key that the user gave.

use proptest::prelude::*;
use tailcut::run::Scenario;
use tailcut::scenario::{self, Problem, keys};
use tailcut_sim::scenario::InputError;

/// Settings that can conflict, each with values that are valid alone.
const SETTINGS: &[(&str, &[&str])] = &[
    ("device.preset", &["m-32g", "g-1g", "cosmos", "swan-sata", "tlc-sata"]),
    ("device.geometry.channels", &["1", "3", "8"]),
    ("device.geometry.chips", &["1", "2", "5"]),
    ("device.geometry.dies", &["1", "3", "16"]),
    ("device.geometry.planes", &["1", "2", "7"]),
    ("device.geometry.blocks", &["4", "5", "8", "11", "40", "1000"]),
    ("device.geometry.pages", &["1", "3", "64", "1000"]),
    ("device.geometry.page", &["512", "4KiB", "32KiB"]),
    ("device.geometry.ready_busy", &["die", "chip"]),
    ("device.ftl.spare", &["0%", "0.1%", "2.7%", "28%", "60%"]),
    ("device.ftl.streams", &["1", "4", "8"]),
    ("device.ftl.mapping", &["page", "block"]),
    ("device.ftl.stripe", &["1", "2", "3"]),
    ("device.gc.low", &["2", "3", "9"]),
    ("device.gc.high", &["2", "3", "20"]),
    ("device.gc.ideal", &["true"]),
    ("device.gc.preemptible", &["false"]),
    ("device.preempt.erase", &["suspend", "reset"]),
    ("device.preempt.program", &["suspend", "reset"]),
    ("device.schedule.chip", &["fifo", "reads-first"]),
    ("device.faults.program_fail", &["0.0", "0.001"]),
    ("device.sets.count", &["1", "2", "3", "16"]),
    ("device.cache.size", &["0", "512", "5000", "64KiB", "1MiB"]),
    ("device.cache.ahead", &["0", "8"]),
    ("device.buffer.size", &["0", "512", "5000", "64KiB", "1MiB"]),
    ("device.queue.depth", &["1", "2", "64"]),
    ("device.queue.protocol", &["nvme", "ahci"]),
    ("device.queue.trim", &["0s", "10us"]),
    ("device.control_api", &["true", "false"]),
    ("array.drives", &["0", "2", "3", "5", "60", "70"]),
    ("array.layout", &["raid0", "raid4", "raid5", "log-raid0", "log-raid5", "swan0", "swan5", "epochs"]),
    ("array.groups", &["1", "2", "3"]),
    ("array.members", &["drives", "sets"]),
    ("array.turns", &["0s", "10ms"]),
    ("array.turn_pause", &["0s", "10ms"]),
    ("array.raid.journal", &["64KiB", "100KiB", "1MiB"]),
    ("array.epoch.deadline", &["1ms", "1234567ns", "100ms"]),
    ("array.epoch.poll", &["12345ns", "1ms"]),
    ("array.epoch.delay", &["0s", "1001us", "7777777ns"]),
    ("array.epoch.mode", &["epoch", "gc-control"]),
    ("array.epoch.copies", &["2", "3"]),
    ("array.log.tokens", &["true"]),
    ("host.strategy", &["", "coop", "poll"]),
    ("host.controller", &["nvme", "ahci"]),
    ("host.drives", &["1", "2"]),
    ("kv.enabled", &["true"]),
    ("run.ramp", &["0s", "5s", "200s"]),
    ("run.duration", &["1s", "162s"]),
    ("run.until_steady", &["true"]),
    ("run.round", &["0s", "1s"]),
    ("lsm.enabled", &["true"]),
    ("datacenter.workload", &["none", "cfs0"]),
    ("beside.enabled", &["true"]),
    ("workload.read_size", &["4KiB", "8KiB"]),
    ("workload.region_size", &["0", "512", "4KiB", "1TiB"]),
];

/// The path of the key in error, and the message.
type Complaint = (String, String);

fn problems(settings: &[String]) -> (Vec<Problem>, Vec<Complaint>) {
    let mut part = Scenario::default();
    let problems = match scenario::read(&mut part, None, settings) {
        Ok(()) => Vec::new(),
        Err(problems) => problems.list().to_vec(),
    };
    let mut complaints: Vec<Complaint> = problems.iter().filter_map(|p| split(&p.message)).collect();
    // Errors that only the drives themselves report; small ones, to save time.
    let pages = part.device.geometry.page_count().max(1) * u64::from(part.array.drives.max(1));
    if problems.is_empty()
        && pages < 1 << 24
        && let Err(InputError::Array(found)) = part.check()
    {
        complaints.extend(found.into_iter().map(|p| (format!("array.{}", p.key), p.message)));
    }
    (problems, complaints)
}

fn split(message: &str) -> Option<Complaint> {
    message.split_once(": ").map(|(key, message)| (key.to_owned(), message.to_owned()))
}

/// The advice: alternatives, each a list of settings.
fn advice(complaint: &Complaint, all: &[keys::Key]) -> Vec<Vec<String>> {
    let (blamed, message) = complaint;
    // A key is named in full, or relative to a section around the blamed key.
    let resolve = |name: &str| {
        let mut section = blamed.as_str();
        loop {
            section = section.rsplit_once('.').map_or("", |(above, _)| above);
            let path = if section.is_empty() { name.to_owned() } else { format!("{section}.{name}") };
            match all.iter().any(|key| !key.is_section() && key.path == path) {
                true => return Some(path),
                false if section.is_empty() => return None,
                false => {}
            }
        }
    };
    let words: Vec<&str> = message.split_whitespace().collect();
    let value = |word: &str| word.trim_end_matches([',', ';', ':', ')']).trim_matches('"').to_owned();
    let mut found: Vec<Vec<String>> = Vec::new();
    let mut last = String::new();
    for at in 0..words.len() {
        let name = words[at].trim_start_matches('(');
        let is_and = at > 0 && words[at - 1] == "and";
        let set = match &words[at + 1..] {
            ["=", of, ..] => resolve(name).map(|key| (key, value(of))),
            ["to" | "be" | "must", "at" | "be", "least" | "at", rest @ ..] => {
                let of = if rest.first() == Some(&"least") { rest.get(1) } else { rest.first() };
                resolve(name).zip(of.map(|of| value(of)))
            }
            ["to", of, ..] if name == "or" && !last.is_empty() => Some((last.clone(), value(of))),
            ["at", "least", of, "drives", ..] if name == "needs" => Some(("array.drives".into(), value(of))),
            _ => None,
        };
        let Some((key, of)) = set.filter(|(_, of)| !of.is_empty()) else { continue };
        last.clone_from(&key);
        // A statement of the present state: "high = 2 is below low = 3".
        if words.get(at + 3) == Some(&"is") || message.contains(&format!("and array.drives = {of}:")) {
            continue;
        }
        let setting = format!("{key}={of}");
        match found.last_mut().filter(|_| is_and) {
            Some(last) => last.push(setting),
            None => found.push(vec![setting]),
        }
    }
    found
}

/// True if two messages differ only in their numbers.
fn is_same(one: &Complaint, other: &Complaint) -> bool {
    let plain = |text: &str| text.chars().filter(|c| !c.is_ascii_digit()).take(40).collect::<String>();
    one.0 == other.0 && plain(&one.1) == plain(&other.1)
}

#[test]
fn advice_is_found_in_messages() {
    let all = keys::list(&mut Scenario::default());
    let of = |key: &str, message: &str| advice(&(key.into(), message.into()), &all);
    assert_eq!(
        of("device.cache.size", "a read cache of 5 bytes: set cache.size to at least 4096, or to 0"),
        [["device.cache.size=4096"], ["device.cache.size=0"]]
    );
    assert_eq!(
        of("device.ftl.spare", "each plane: set spare to at least 2.7%, or use more blocks"),
        [["device.ftl.spare=2.7%"]]
    );
    assert_eq!(
        of(
            "device.sets.count",
            "set array.members = \"sets\" and array.drives = 3, or device.sets.count = 1"
        ),
        [vec!["array.members=sets", "array.drives=3"], vec!["device.sets.count=1"]]
    );
    assert_eq!(
        of("array.epoch", "epoch.deadline must be at least 3ms: epoch.delay"),
        [["array.epoch.deadline=3ms"]]
    );
}

fn settings() -> impl Strategy<Value = Vec<String>> {
    let one = prop::sample::select(SETTINGS).prop_flat_map(|(key, values)| {
        prop::sample::select(values).prop_map(move |value| format!("{key}={value}"))
    });
    prop::collection::vec(one, 1..7)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_advised_is_accepted(settings in settings()) {
        let all = keys::list(&mut Scenario::default());
        for complaint in problems(&settings).1 {
            for advised in advice(&complaint, &all) {
                let with: Vec<String> = settings.iter().chain(&advised).cloned().collect();
                let (refused, left) = problems(&with);
                let is_refused = refused.iter().any(|problem| problem.message.contains("out of range")
                    || problem.message.contains(" is not "));
                prop_assert!(!is_refused, "{complaint:?}\n{advised:?}\n{refused:?}");
                prop_assert!(!left.iter().any(|left| is_same(left, &complaint)), "{complaint:?}\n{advised:?}\n{left:?}");
            }
        }
    }

    #[test]
    fn the_caret_stands_under_a_key_that_was_given_or_its_value(settings in settings()) {
        for problem in problems(&settings).0 {
            let place = problem.place.clone();
            prop_assert!(place.is_some(), "{problem:?}");
            let place = place.unwrap();
            let setting = &settings[place.source];
            let shown = &format!("--set {setting}")[place.span.clone()];
            let (key, value) = setting.split_once('=').expect("a setting");
            let name = key.rsplit('.').next().expect("a name");
            prop_assert!(shown == name || shown == value, "'{shown}' of {setting}: {problem:?}");
        }
    }
}

fn report(settings: &[&str]) -> String {
    let settings: Vec<String> = settings.iter().map(|setting| setting.to_string()).collect();
    scenario::read(&mut Scenario::default(), None, &settings).expect_err("it is wrong").to_string()
}

#[test]
fn a_check_of_two_keys_shows_the_one_that_was_given() {
    let text = report(&["run.duration=1s"]);
    assert!(text.contains(" --> --set run.duration=1s\n               ^^^^^^^^"), "{text}");
    let text = report(&["device.geometry.blocks=8"]);
    assert!(text.starts_with("error: device.ftl.spare: each plane holds 8 blocks"), "{text}");
    assert!(
        text.contains(" --> --set device.geometry.blocks=8\n                           ^^^^^^"),
        "{text}"
    );
    let text = report(&["device.ftl.spare=0.1%"]);
    assert!(text.contains(" --> --set device.ftl.spare=0.1%\n                            ^^^^"), "{text}");
}

#[test]
fn a_key_that_was_replaced_names_its_successor() {
    let text = report(&["trace.read_class=2"]);
    assert_eq!(
        text,
        "error: trace.read_class: this key is gone\n --> --set trace.read_class=2\n                 ^^^^^^^^^^\n \
         = help: set workload.read_class instead"
    );
}
