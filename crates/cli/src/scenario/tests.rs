//! The walk in both directions, and the error messages for an invalid scenario.

use super::keys;
use super::test_configuration::{Device, Flash, Load, TestConfiguration, Victim};
use super::*;
use tailcut_base::Nanos;
use tailcut_base::config::Choice;
use tailcut_base::random::Stream;

fn read_both(text: &str, sets: &[&str]) -> Result<TestConfiguration, Problems> {
    let mut part = TestConfiguration::default();
    let sets: Vec<String> = sets.iter().map(|set| set.to_string()).collect();
    read(&mut part, Some(Source::file("drive.toml", text)), &sets).map(|()| part)
}

fn wrong(text: &str, sets: &[&str]) -> String {
    read_both(text, sets).expect_err("this is wrong").to_string()
}

/// Compares a report with a golden text.
fn same(report: &str, golden: &str) {
    assert_eq!(report, golden.trim(), "\nthe report is:\n{report}");
}

#[test]
fn every_kind_of_key_is_read() {
    let text = r#"
        seed = 0x10
        title = "mine"
        [device]
        page = 8192
        buffer = false
        victim = "d-choices"
        flash = { read = ["60us", "1ms"], program = "0.9ms", bus = "1GB/s", planes = 4 }
        [load]
        reads = 0.25
        skew = 1
        depth = "64k"
    "#;
    let read = read_both(text, &[]).expect("all is well");
    assert_eq!((read.seed, read.title.as_str()), (16, "mine"));
    assert_eq!((read.device.page, read.device.buffer), (8192, false));
    assert_eq!(read.device.buffer_size, 64 << 20, "what is not written keeps its value");
    assert_eq!(read.device.victim, Victim::DChoices);
    assert_eq!(read.device.flash.read, [Nanos::micros(60), Nanos::millis(1)]);
    assert_eq!(read.device.flash.program, Nanos::micros(900));
    assert_eq!((read.device.flash.bus, read.device.flash.planes), (1_000_000_000, 4));
    assert_eq!((read.load.reads, read.load.skew, read.load.depth), (250_000, 1.0, 64_000));
}

#[test]
fn settings_win_over_the_file() {
    let text = "[device.flash]\nread = \"60us\"\n";
    let sets = ["device.flash.read=80us", "load.reads=30%", "device.victim=fifo", "title=7", "seed=4"];
    let read = read_both(text, &sets).expect("all is well");
    assert_eq!(read.device.flash.read, [Nanos::micros(80)]);
    assert_eq!((read.load.reads, read.device.victim), (300_000, Victim::Fifo));
    assert_eq!((read.title.as_str(), read.seed), ("7", 4));
    let read = read_both(text, &["device.flash.read=[80us, 90us]"]).expect("all is well");
    assert_eq!(read.device.flash.read, [Nanos::micros(80), Nanos::micros(90)]);
}

#[test]
fn all_problems_are_reported_at_once() {
    let text = "\
seed = -1
titel = \"x\"

[device]
page = 5000.5
colour = 3
victim = \"greed\"

[device.flash]
read = [\"75us\", \"2h\"]
program = 80
bus = \"200MB\"
planes = 9
";
    same(
        &wrong(text, &["load.reads=120%"]),
        "
error: seed: '-1' is not a whole number
 --> drive.toml:1:8
  |
1 | seed = -1
  |        ^^
  = help: write it like 64, 10_000, \"64k\" or \"10M\"

error: unknown key 'titel' at the top level
 --> drive.toml:2:1
  |
2 | titel = \"x\"
  | ^^^^^
  = help: did you mean 'title'?

error: device.page: 5000.5 is not a whole number of bytes
 --> drive.toml:5:8
  |
5 | page = 5000.5
  |        ^^^^^^
  = help: write it like \"1.5KiB\"

error: unknown key 'colour' in [device]
 --> drive.toml:6:1
  |
6 | colour = 3
  | ^^^^^^
  = help: the keys here are 'page', 'flash', 'buffer', 'buffer_size', 'victim'

error: device.victim: there is no 'greed'
 --> drive.toml:7:10
  |
7 | victim = \"greed\"
  |          ^^^^^^^
  = help: did you mean 'greedy'? The names are 'greedy', 'fifo', 'd-choices'

error: device.flash.read: 7200s is out of range
  --> drive.toml:10:17
   |
10 | read = [\"75us\", \"2h\"]
   |                 ^^^^
   = help: it can be 1us to 50ms

error: device.flash.program: '80' is not a length of time
  --> drive.toml:11:11
   |
11 | program = 80
   |           ^^
   = help: write it like \"80us\", \"1.5ms\" or \"10s\"

error: device.flash.bus: '200MB' is not a rate
  --> drive.toml:12:7
   |
12 | bus = \"200MB\"
   |       ^^^^^^^
   = help: write it like \"200MB/s\", \"1GiB/s\" or \"333MT/s\"

error: device.flash.planes: 9 is out of range
  --> drive.toml:13:10
   |
13 | planes = 9
   |          ^
   = help: it can be 1 to 8

error: load.reads: '120%' is not a share
 --> --set load.reads=120%
                      ^^^^
 = help: write it like \"70%\" or 0.7
",
    );
}

#[test]
fn settings_are_blamed_by_themselves() {
    let sets = ["device.flash.read=80", "device.flash.raed=80us", "reads=0.5", "device=3", "seed"];
    let report = wrong("", &sets);
    for part in [
        "error: device: this is a whole number, not a section\n --> --set device=3\n                  ^\n",
        "error: unknown key 'reads' at the top level\n --> --set reads=0.5\n           ^^^^^\n = help: did \
            you mean 'load.reads'?\n",
        "error: a setting needs a '=' between key and value\n --> --set seed\n           ^^^^\n",
    ] {
        assert!(report.contains(part), "{report}");
    }
    let report = wrong("", &sets[..2]);
    for part in [
        "error: device.flash.read: '80' is not a length of time\n --> --set device.flash.read=80\n                             ^^\n",
        "unknown key 'raed' in [device.flash]",
        "did you mean 'read'?",
    ] {
        assert!(report.contains(part), "{report}");
    }
}

#[test]
fn a_key_in_the_wrong_section_is_found_at_the_top_level_although_it_is_misspelt() {
    let report = wrong("[device]\nsed = 1\n", &[]);
    assert!(report.contains("did you mean 'seed' at the top level?"), "{report}");
    let report = wrong("[device]\npag = 1\n", &[]);
    assert!(report.contains("did you mean 'page'?"), "{report}");
}

#[test]
fn the_part_blames_the_line_of_its_key() {
    let text = "[device]\npage = 5000\n";
    same(
        &wrong(text, &[]),
        "
error: device.page: 5000 is not a power of two
 --> drive.toml:2:8
  |
2 | page = 5000
  |        ^^^^
",
    );
    let report = wrong("[device]\npage = \"64KiB\"\nbuffer_size = 512", &[]);
    assert!(report.contains("buffer holds no page") && report.contains("drive.toml:3:15"), "{report}");
    let report = wrong("[device]\nbuffer = true\n", &["device.buffer_size=0"]);
    assert!(report.contains("--> --set device.buffer_size=0"), "{report}");
}

#[test]
fn a_relation_is_not_judged_over_a_value_that_was_not_read() {
    let report = read_both("[device]\npage = 5000\nbuffer_size = \"x\"\n", &[]).expect_err("a bad size");
    assert_eq!(report.list().len(), 1, "{report}");
}

#[test]
fn a_syntax_error_comes_alone() {
    let problems = read_both("seed = 1\n[device\npage = 3\n", &[]).expect_err("no TOML");
    assert_eq!(problems.list().len(), 1);
    let report = problems.to_string();
    assert!(report.starts_with("error: not TOML: ") && report.contains("drive.toml:2:"), "{report}");
    let report = wrong("[device.flash]\nprogram = 80us\n", &[]);
    assert!(report.contains("drive.toml:2:11") && report.contains("write it like \"80us\""), "{report}");
    assert!(wrong("seed =\n", &[]).contains("there is no value here"));
    let report = wrong("seed = 1\nseed = 2\n", &[]);
    assert!(report.contains("drive.toml:2:1"), "{report}");
}

#[test]
fn values_of_a_wrong_kind_are_named() {
    let text = "\
seed = \"many\"
title = [1]
load = 7
[device]
buffer = \"yes\"
victim = true
flash.read = []
flash.planes = { a = 1 }
flash.program = 2020-01-01
";
    let report = wrong(text, &[]);
    for part in [
        "seed: 'many' is not a whole number",
        "title: this is a list, not a text",
        "load: this is a whole number, not a section",
        "help: set its keys, such as load.reads; in a file, write [load] on a line of its own and the keys \
            below it",
        "device.buffer: 'yes' is neither true nor false",
        "help: write true, without quotes",
        "device.victim: there is no 'true'",
        "device.flash.read: the list is empty",
        "device.flash.planes: this is a section of keys, not a whole number",
        "device.flash.program: this is a date, not a length of time",
    ] {
        assert!(report.contains(part), "{part}\n{report}");
    }
}

#[test]
fn numbers_that_are_none_are_out_of_range() {
    for value in ["nan", "inf", "-0.1", "4.1"] {
        let report = wrong(&format!("load.skew = {value}\n"), &[]);
        assert!(report.contains("out of range") && report.contains("0.0 to 4.0"), "{report}");
    }
    assert_eq!(read_both("load.reads = 1e-3\n", &[]).expect("a share").load.reads, 1_000);
    assert_eq!(read_both("device.flash.bus = 0\n", &[]).expect("no unit").device.flash.bus, 0);
}

/// A scenario with values from the whole of their ranges.
fn random(stream: &mut Stream) -> TestConfiguration {
    let mut draw = |range: std::ops::RangeInclusive<u64>| {
        let width = range.end() - range.start() + 1;
        range.start() + stream.bits() % width
    };
    let alphabet: Vec<char> = "az\"\\\n\t\u{1}µ🦀#='".chars().collect();
    TestConfiguration {
        seed: draw(0..=u64::MAX - 1) << draw(0..=8),
        title: (0..draw(0..=9)).map(|_| alphabet[draw(0..=alphabet.len() as u64 - 1) as usize]).collect(),
        device: Device {
            page: 1 << draw(9..=16),
            buffer_size: draw(1 << 16..=1 << 40),
            buffer: draw(0..=1) == 1,
            victim: Victim::all()[draw(0..=2) as usize],
            flash: Flash {
                read: (0..draw(1..=4)).map(|_| Nanos(draw(1_000..=50_000_000))).collect(),
                program: Nanos::micros(draw(1..=50_000)),
                bus: draw(0..=10_000_000) * 10u64.pow(draw(0..=3) as u32),
                planes: draw(1..=8) as u32,
            },
        },
        load: Load {
            reads: draw(0..=1_000_000) as u32,
            skew: draw(0..=1 << 53) as f64 / (1u64 << 51) as f64 / 10f64.powi(draw(0..=12) as i32),
            depth: 1 + draw(0..=u64::MAX - 2) / (1 + draw(0..=1 << 40)),
        },
    }
}

#[test]
fn what_is_written_reads_back_to_the_same_values() {
    let mut stream = Stream::new(1, "round trip");
    for round in 0..2_000 {
        let mut part = random(&mut stream);
        for comments in [Comments::Shown, Comments::Left] {
            let text = write(&mut part, comments);
            let back = read_both(&text, &[]).unwrap_or_else(|problems| panic!("{problems}\n{text}"));
            assert_eq!(back, part, "round {round}:\n{text}");
        }
    }
}

#[test]
fn a_printed_scenario_is_pleasant_to_read() {
    let want = r#"
# Seed of every random stream.
seed = 1
# Name of this scenario in reports.
title = "built-in"

# The SSD.
[device]
# Bytes of a page, a power of two.
page = "4KiB"
# Whether writes are answered from a buffer.
buffer = true
# Bytes of the buffer.
buffer_size = "64MiB"
# Which block is cleaned next.
victim = "greedy"

# The medium.
[device.flash]
# Sensing time of each page type.
read = "75us"
# Program time of a page.
program = "750us"
# Rate of a channel; 0 is infinitely fast.
bus = "333MB/s"
# Planes of a die.
planes = 2

# What is asked of the device.
[load]
# Share of reads.
reads = "70%"
# Exponent of the Zipf distribution.
skew = 0.0
# Requests in flight.
depth = 16
"#;
    same(write(&mut TestConfiguration::default(), Comments::Shown).trim_end(), want);
}

#[test]
fn every_key_is_listed_with_its_default_and_can_be_set_to_it() {
    let mut part = TestConfiguration::default();
    let listed = keys::list(&mut part);
    assert_eq!(listed.iter().filter(|key| !key.is_section()).count(), 13);
    let sets: Vec<String> = listed
        .iter()
        .filter(|key| !key.is_section())
        .map(|key| format!("{}={}", key.path, key.default))
        .collect();
    let mut other = random(&mut Stream::new(2, "other"));
    read(&mut other, None, &sets).expect("defaults are good values");
    assert_eq!(other, TestConfiguration::default());
    let text = keys::show(&listed);
    assert!(text.contains("device.flash.program = 750us\n    time (1us to 50ms). Program time of a page."));
    let markdown = keys::markdown(&listed);
    assert!(markdown.contains("### `[device.flash]`\n\nThe medium.\n\n| key |"), "{markdown}");
    assert!(
        markdown.contains("| `victim` | name | `greedy` | greedy, fifo, d-choices | Which"),
        "{markdown}"
    );
    assert_eq!(keys::to_json(&listed)[0]["key"], "seed");
    let place = |path| listed.iter().position(|key| key.path == path);
    assert!(place("device.victim") < place("device.flash"), "keys come before the sections below");
}

#[test]
fn a_scenario_file_that_cannot_be_read_is_a_problem() {
    let mut part = TestConfiguration::default();
    let problems = load(&mut part, Some(Path::new("/no/such/drive.toml")), &[]).unwrap_err();
    assert!(problems.to_string().contains("cannot read the scenario '/no/such/drive.toml'"), "{problems}");
}
