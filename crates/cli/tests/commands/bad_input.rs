//! The binary as users see it: an error is reported at once, with its place, the remedy, and exit code 2.
//!
//! The keys come from the binary's own list, so that these tests hold for every scenario.

use crate::support::{Place, json};
use serde_json::Value;
use std::io::Read;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

const BINARY: &str = env!("CARGO_BIN_EXE_tailcut");

fn tailcut(arguments: &[&str]) -> Command {
    let mut command = Command::new(BINARY);
    command.args(arguments);
    command
}

fn output(arguments: &[&str]) -> Output {
    tailcut(arguments).output().expect("the binary starts")
}

fn stdout(arguments: &[&str]) -> String {
    let output = output(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("the output is text")
}

/// The message for input that must be refused.
fn refused(arguments: &[&str]) -> String {
    let output = output(arguments);
    let report = String::from_utf8(output.stderr).expect("the report is text");
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {report}");
    assert!(output.stdout.is_empty(), "nothing was run");
    assert!(!report.contains('\x1b'), "no colours in a pipe");
    report
}

/// The path of the first key of a kind; if `deep`, below the top level.
fn key(kind: &str, deep: bool) -> String {
    let keys: Value = serde_json::from_str(&stdout(&["run", "--keys", "--json", "-"])).expect("this is JSON");
    let keys = keys.as_array().expect("a list of keys");
    let path = |key: &Value| key["key"].as_str().expect("a path").to_owned();
    let fits = |key: &&Value| key["kind"] == kind && (!deep || path(key).contains('.'));
    keys.iter().find(fits).map(path).expect("a scenario has such a key")
}

#[test]
fn incidents_that_cannot_happen_to_an_array_are_refused() {
    let refusal = |settings: &[&str]| {
        let sets = settings.iter().flat_map(|setting| ["--set", setting]);
        let array = ["run", "--set", "array.drives=4", "--set", "array.incidents=1s remove 1"];
        refused(&array.into_iter().chain(sets).collect::<Vec<_>>())
    };
    let beyond = refusal(&["array.incidents=1s remove 4"]);
    assert!(beyond.contains("'1s remove 4': there is no drive 4: they are 0 to 3"), "{beyond}");
    assert!(refusal(&["array.layout=raid0"]).contains("raid0 cannot do without a drive"));
    assert!(refusal(&["host.strategy=coop"]).contains("uses directly"));
}

/// A scenario file of one test; removed on drop.
struct Scenario(PathBuf);

impl Scenario {
    fn new(name: &str, text: &str) -> Scenario {
        let path = std::env::temp_dir().join(format!("tailcut-{}-{name}.toml", std::process::id()));
        std::fs::write(&path, text).expect("the temporary folder is writable");
        Scenario(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("the path is text")
    }
}

impl Drop for Scenario {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn a_misspelt_key_gets_its_place_and_a_suggestion() {
    let path = key("time", true);
    let name = path.rsplit('.').next().expect("a name");
    let file = Scenario::new("misspelt", &format!("# a comment\n{path}x = \"80us\"\n"));
    let report = refused(&["run", file.path()]);
    assert!(report.contains(&format!("unknown key '{name}x'")), "{report}");
    assert!(report.contains(&format!("{}:2:", file.path())), "{report}");
    assert!(report.contains(&format!("did you mean '{name}'?")), "{report}");
    assert!(report.contains("^^^"), "{report}");
}

#[test]
fn a_remedy_names_keys_that_can_be_set() {
    let report = refused(&["run", "--set", "device.queue=1"]);
    assert!(
        report.contains("help: set its keys, such as device.queue.protocol; in a file, write"),
        "{report}"
    );
    let report = refused(&["run", "--set", "workload.size=4KiB"]);
    assert!(report.contains("did you mean 'read_size', 'write_size', 'trim_size'"), "{report}");
}

#[test]
fn several_problems_come_at_once() {
    let (time, share, count) = (key("time", true), key("share", true), key("count", true));
    let text = format!("{time} = \"80\"\n{share} = \"120%\"\n{count} = \"many\"\nbanana = 1\n");
    let file = Scenario::new("several", &text);
    let report = refused(&["run", file.path(), "--set", "banana.split=2", "--set", "seed"]);
    for part in [
        format!("{time}: '80' is not a length of time"),
        format!("{share}: '120%' is not a share"),
        format!("{count}: 'many' is not a whole number"),
        String::from("unknown key 'banana'"),
        String::from("--> --set seed\n"),
        String::from("5 problems, nothing was run"),
    ] {
        assert!(report.contains(&part), "{part}\n{report}");
    }
}

#[test]
fn settings_are_checked_like_the_file() {
    let time = key("time", true);
    let report = refused(&["--set", &format!("{time}=80")]);
    assert!(report.contains(&format!("--> --set {time}=80\n")) && report.contains("80us"), "{report}");
    let report = refused(&["--set", &format!("{time}x=80us")]);
    assert!(report.contains("unknown key") && report.contains("did you mean"), "{report}");
}

#[test]
fn a_file_that_is_no_scenario_is_refused() {
    let report = refused(&["run", "/no/such/drive.toml"]);
    assert!(report.contains("cannot read the scenario '/no/such/drive.toml'"), "{report}");
    let file = Scenario::new("syntax", "seed = 1\nseed == 2\n");
    let report = refused(&["run", file.path()]);
    assert!(report.contains("not TOML") && report.contains(":2:"), "{report}");
    let file = Scenario::new("binary", "");
    std::fs::write(file.path(), b"a = 1\n\xff\xfe").expect("the file is writable");
    let report = refused(&["run", file.path()]);
    assert!(report.contains("line 2 is not UTF-8"), "{report}");
}

#[test]
fn the_command_line_itself_is_checked() {
    assert!(refused(&["explian"]).contains("'explain'"));
    assert!(refused(&["run", "--sed", "3"]).contains("--seed"));
    assert!(refused(&["explain", "out", "--percentile", "100"]).contains("below 100"));
    let report = refused(&["run", "--seed=many"]);
    assert!(report.contains("'--seed <N>': it is not a whole number"), "{report}");
    let report = refused(&["bench", "kv", "--unix", "/no/such.sock"]);
    assert!(report.contains("no server answers at /no/such.sock: start one"), "{report}");
}

#[test]
fn commands_that_moved_to_another_program_name_it() {
    for name in ["sim", "array", "emulate", "schedule"] {
        let report = refused(&["bench", name]);
        assert!(report.contains(&format!("unrecognized subcommand '{name}'")), "{report}");
        assert!(report.contains(&format!("'cargo run --release -p tailcut-bench -- {name}'")), "{report}");
    }
    for arguments in [&["bench", "simulate"][..], &["sim"]] {
        let report = refused(arguments);
        assert!(!report.contains("tailcut-bench"), "{report}");
    }
}

/// A resolved scenario contains every key, so a changed preset name alone would only rename the old drive.
#[test]
fn a_preset_that_decides_nothing_is_reported() {
    let printed = stdout(&["--resolved", "--set", "device.preset=z-ssd"]);
    let renamed = printed.replace("preset = \"z-ssd\"", "preset = \"tlc-nvme\"");
    assert_ne!(printed, renamed);
    let warned = |text: &str| {
        let file = Scenario::new("renamed", text);
        let arguments =
            ["run", file.path(), "--set", "run.ramp=0s", "--set", "run.requests=100", "-q", "--json", "-"];
        let output = tailcut(&arguments).args(["--out", &format!("{}.out", file.path())]).output();
        String::from_utf8(output.expect("the binary starts").stderr).expect("text")
    };
    let report = warned(&renamed);
    assert!(report.contains("device.preset has no effect") && report.contains("as in z-ssd"), "{report}");
    assert!(report.contains("help: remove the keys that tlc-nvme is to decide"), "{report}");
    let tuned = printed.replace("capacitor = true", "capacitor = false");
    assert!(!warned(&tuned).contains("device.preset"), "one key of it is changed");
    assert!(!warned(&printed).contains("device.preset"));
}

/// Servers of other tests run the same program: a name of its own tells this one's from them.
#[test]
fn status_finds_the_only_server_of_a_folder() {
    let place = Place::new();
    let program = place.path("tailcut-alone");
    std::fs::hard_link(BINARY, &program)
        .or_else(|_| std::fs::copy(BINARY, &program).map(|_| ()))
        .expect("a name");
    let program = program.to_str().expect("text");
    let error = |words: &[&str]| String::from_utf8(place.attempt(program, words).stderr).expect("text");
    assert!(error(&["status"]).contains("nobody serves at tailcut.ctl"));
    assert!(error(&["ctl", "replace", "2", "c"]).contains("nobody serves at tailcut.ctl"));
    assert!(error(&["ctl", "x.ctl", "scrub"]).contains("nobody serves at x.ctl"));
    assert!(error(&["ctl", "x.ctl"]).contains("there is no request for x.ctl: try 'help'"));
    // One that was killed has left its socket.
    drop(UnixListener::bind(place.path("a.ctl")).expect("a socket"));
    assert!(error(&["status"]).contains("nobody serves at a.ctl"));
    let listen = |name| UnixListener::bind(place.path(name)).expect("a socket");
    let several = [listen("b.ctl"), listen("c.ctl")];
    let told = error(&["status"]);
    assert!(told.contains("several control sockets: b.ctl, c.ctl"), "{told}");
    drop(several);
    // The only server that runs, wherever it was started.
    std::fs::create_dir(place.path("elsewhere")).expect("a folder");
    let mut server = Command::new(program);
    server.args(["serve", "kv", "--memory-only", "-q", "-s", "kv.sock"]).current_dir(place.path("elsewhere"));
    let mut server = server.stdout(Stdio::piped()).spawn().expect("the binary starts");
    server.stdout.as_mut().expect("its output").read_exact(&mut [0]).expect("it serves");
    let output = place.attempt(program, &["status", "--json"]);
    server.kill().and_then(|()| server.wait()).expect("it is our child");
    let document = json(&String::from_utf8_lossy(&output.stdout));
    assert!(
        document["control"].as_str().is_some_and(|path| path.ends_with("elsewhere/kv.ctl")),
        "{document}"
    );
    assert_eq!(document["metrics"]["tailcut_kv_items"][0]["value"], 0);
    assert_eq!(document["status"][0], "store kv");
}

#[test]
fn a_printed_scenario_is_a_scenario() {
    let printed = stdout(&["--resolved", "--seed", "7"]);
    assert!(printed.contains("seed = 7"), "{printed}");
    let file = Scenario::new("printed", &printed);
    assert_eq!(stdout(&["run", file.path(), "--resolved"]), printed);
}

#[test]
fn a_list_for_a_key_with_one_value_leads_to_the_command_that_varies_it() {
    let report = refused(&["run", "--set", "workload.read_size=[4KiB,8KiB]"]);
    assert!(report.contains("workload.read_size: this is a list, not a text"), "{report}");
    assert!(
        report.contains("it takes one value; Size of reads: ") && report.contains("4KiB/60:64KiB/40"),
        "{report}"
    );
    let text = report.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("tailcut compare --vary workload.read_size=4KiB,8KiB"), "{report}");
    let report = refused(&["run", "--set", "workload.rate=[1000,2000]"]);
    let text = report.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("tailcut compare --vary workload.rate=1000,2000"), "{report}");
}

#[test]
fn a_scenario_of_a_newer_version_says_so() {
    let text = stdout(&["run", "--resolved"]);
    let (line, rest) = text.split_once('\n').expect("there are lines");
    assert!(line.starts_with("tailcut = \""), "{line}");
    let newer = Scenario::new("newer", &format!("tailcut = \"99.1.0\"\n{rest}"));
    let report = refused(&["run", newer.path(), "--resolved"]);
    assert!(report.contains("written by tailcut 99.1.0") && report.contains(":1:"), "{report}");
}

/// Each message names both keys, and nothing is run.
#[test]
fn what_cannot_be_combined_is_refused() {
    for (settings, keys) in [
        (&["array.drives=2", "array.layout=raid5"][..], &["array.drives", "raid5"][..]),
        (
            &[
                "array.drives=4",
                "array.layout=epochs",
                "array.groups=2",
                "array.epoch.mode=gc-control",
                "device.control_api=false",
            ],
            &["array.epoch.mode", "device.control_api"],
        ),
        (&["array.drives=4", "host.strategy=spin"], &["host.strategy", "array.drives"]),
        (&["array.drives=4", "host.strategy=coop", "host.drives=2"], &["host.drives", "array.drives"]),
        (
            &["array.drives=40", "host.strategy=coop", "host.controller=ahci"],
            &["host.controller", "array.drives"],
        ),
        (&["kv.enabled=true", "host.strategy=coop", "host.drives=2"], &["kv.enabled", "host.drives"]),
    ] {
        let mut arguments = vec!["run", "--quiet"];
        settings.iter().for_each(|setting| arguments.extend(["--set", setting]));
        let report = refused(&arguments);
        assert!(keys.iter().all(|key| report.contains(key)), "{settings:?}: {report}");
    }
}

/// What each message advises is accepted.
#[test]
fn remedies_work_when_they_are_followed() {
    let followed: [(&[&str], &str, &[&str]); 6] = [
        (
            &["array.checksums=true", "array.drives=3"],
            "did you mean 'on'",
            &["array.checksums=on", "array.drives=3"],
        ),
        (&["host.siblings=on"], "write true", &["host.siblings=true"]),
        (
            &["array.members=sets"],
            "raise device.sets.count and set array.drives to the same number",
            &["array.members=sets", "device.sets.count=4", "array.drives=4"],
        ),
        (
            &["array.members=sets", "device.sets.count=2"],
            "array.drives = 2, the number of sets, and array.layout = \"raid0\" (two carry no parity)",
            &["array.members=sets", "device.sets.count=2", "array.drives=2", "array.layout=raid0"],
        ),
        (
            &["device.sets.count=4"],
            "set array.members = \"sets\" and array.drives = 4, or",
            &["device.sets.count=4", "array.members=sets", "array.drives=4"],
        ),
        (
            &["run.until_steady=true", "run.round=0s"],
            "set round = \"1s\"",
            &["run.until_steady=true", "run.round=1s"],
        ),
    ];
    for (wrong, remedy, right) in followed {
        let run = |settings: &[&'static str]| {
            let mut arguments = vec!["run", "--quiet", "--resolved"];
            settings.iter().for_each(|setting| arguments.extend(["--set", setting]));
            arguments
        };
        let report = refused(&run(wrong));
        assert!(report.contains(remedy), "{wrong:?}: {report}");
        stdout(&run(right));
    }
}

#[test]
fn keys_are_found_by_a_part_of_their_name_or_description() {
    let listed = |pattern: &str| stdout(&["run", "--keys", pattern]);
    let all = stdout(&["run", "--keys"]);
    let (reads, upper) = (listed("timing.read"), listed("TIMING.READ"));
    assert!(reads.contains("device.timing.read = ") && reads.contains("[device.timing]"), "{reads}");
    assert_eq!(reads, upper);
    assert!(!reads.contains("workload") && reads.len() < all.len() / 10, "{reads}");
    assert!(listed("random streams").contains("seed = 1"), "by description");
    let keys: Value =
        serde_json::from_str(&stdout(&["run", "--keys", "timing.read", "--json", "-"])).expect("JSON");
    assert_eq!(keys[1]["key"], "device.timing.read", "{keys}");
}

#[test]
fn a_pattern_that_no_key_contains_gets_the_nearest_keys() {
    let report = refused(&["run", "--keys", "device.timing.raed"]);
    assert!(report.contains("no key or description contains 'device.timing.raed'"), "{report}");
    assert!(report.contains("did you mean 'device.timing.read'?"), "{report}");
    let report = refused(&["run", "--keys", "raed"]);
    assert!(report.contains("'device.timing.read'") && report.contains("'workload.read'"), "{report}");
    assert!(refused(&["run", "--keys", "xylophone"]).contains("list all keys with 'tailcut run --keys'"));
}

#[test]
fn packagers_get_their_files() {
    assert!(stdout(&["generate", "completions", "bash"]).contains("--skip-bad-lines"));
    assert!(stdout(&["generate", "man"]).contains(".TH tailcut"));
    assert!(stdout(&["generate", "keys"]).contains("| key | kind |"));
    assert!(stdout(&["--version"]).starts_with("tailcut "));
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let mut child = tailcut(&["run", "--keys"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("the binary ends");
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[cfg(target_os = "linux")]
#[test]
fn json_that_cannot_be_kept_is_a_failure_on_the_way() {
    let output = output(&["run", "--keys", "--json", "/dev/full"]);
    let report = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{report}");
    assert!(report.contains("cannot write /dev/full") && report.contains("make room"), "{report}");
}

#[test]
fn an_array_that_its_drives_cannot_carry_is_refused_with_the_remedy() {
    let array = |layout: &str, rest: &[&str]| {
        let layout = format!("array.layout={layout}");
        let sets = [&["array.drives=2", layout.as_str()], rest].concat();
        let arguments: Vec<&str> = sets.iter().flat_map(|set| ["--set", *set]).collect();
        refused(&arguments)
    };
    assert!(array("raid5", &[]).contains("raid5 with 1 group needs at least 3 drives"));
    assert!(array("swan0", &[]).contains("needs at least 2 R-groups"));
    assert!(array("raid6", &[]).contains("'epochs' (or 'mirror', 'raid1', 'raid10')"));
    let mirrored = array("raid10", &[]);
    assert!(
        mirrored.contains("raid10) keeps copies on at least 2 token groups: set groups = 2"),
        "{mirrored}"
    );
    assert!(array("log-raid0", &["array.groups=2"]).contains("leave groups out (or groups = 1)"));
    assert!(
        array("swan0", &["array.groups=2", "array.drives=3"])
            .contains("do not make 2 R-groups of equal size")
    );
    let tiny = ["device.preset=g-1g", "device.geometry.blocks=32", "device.geometry.pages=16"];
    let report = array("log-raid0", &[&tiny[..], &["array.log.segment=2MiB"]].concat());
    assert!(report.contains("use smaller segments, or larger drives"), "{report}");
    let journal = ["array.drives=3", "array.raid.journal=1GiB"];
    let report = array("raid5", &[&tiny[..], &journal].concat());
    assert!(report.contains("raid.journal"), "{report}");
}

#[test]
fn a_drive_that_cannot_be_divided_as_asked_is_refused_with_the_remedy() {
    let report = |sets: &[&str]| {
        let arguments: Vec<&str> = sets.iter().flat_map(|set| ["--set", *set]).collect();
        refused(&arguments)
    };
    let over = ["array.members=sets", "array.layout=epochs", "array.groups=2"];
    let array = |rest: &[&str]| report(&[&over[..], rest].concat());
    let two = "device.sets.count=2";
    let uneven = array(&["device.sets.count=3", "array.drives=3"]);
    assert!(uneven.contains("device.sets.count") && uneven.contains("use a divisor of 8"), "{uneven}");
    let chips = array(&["device.sets.count=3", "device.sets.by=chips", "array.drives=3"]);
    assert!(chips.contains("ready/busy lines of a channel (geometry.chips)"), "{chips}");
    let several = array(&[two, "array.drives=4"]);
    assert!(several.contains("device.sets.count") && several.contains("array.drives = 2"), "{several}");
    let none = report(&[two]);
    assert!(none.contains("set array.members = \"sets\" and array.drives = 2"), "{none}");
    let drives = report(&[two, "array.drives=4", "array.layout=raid5"]);
    assert!(drives.contains("array.members = \"sets\""), "{drives}");
    let sata = array(&[two, "array.drives=2", "device.preset=swan-sata"]);
    assert!(sata.contains("queue.protocol = \"nvme\""), "{sata}");
    let blocks = array(&[two, "array.drives=2", "device.ftl.mapping=block"]);
    assert!(blocks.contains("a drive that maps by block is one set"), "{blocks}");
    let small = array(&[two, "array.drives=2", "device.buffer.size=4KiB"]);
    assert!(small.contains("buffer.size to at least 8192"), "{small}");
    let little = ["device.preset=g-1g", "device.geometry.blocks=32", "array.epoch.chunk=64MiB"];
    let little = array(&[&[two, "array.drives=2"], &little[..]].concat());
    assert!(little.contains("epoch.chunk") && little.contains("device.sets.count"), "{little}");
}

#[test]
fn too_many_pages_blocks_or_threads_are_refused_with_the_remedy() {
    for (blocks, pages, said) in [
        (1 << 20, 65_536, "68719476736 pages in a plane; at most 2^31 - 1: more planes or larger pages"),
        (1 << 20, 1, "4294967296 blocks in all; at most 2^32 - 2: more pages in each"),
        (1 << 18, 4096, "4398046511104 pages in all; at most 2^40: larger pages or fewer blocks"),
    ] {
        let g = |key: &str, value: u32| format!("device.geometry.{key}={value}");
        let (channels, chips) = if said.contains("in a plane") { (1, 1) } else { (256, 16) };
        let one = [g("dies", 1), g("planes", 1)];
        let keys = [g("channels", channels), g("chips", chips), g("blocks", blocks), g("pages", pages)];
        let keys = [&keys[..], &one].concat();
        let arguments: Vec<&str> = keys.iter().flat_map(|key| ["--set", key.as_str()]).collect();
        let report = refused(&[&["run", "--set", "device.preset=g-1g"], &arguments[..]].concat());
        assert!(report.contains(said), "{report}");
    }
    let kv = ["run", "--set", "kv.cores=2", "--set", "kv.siblings=true", "--set", "kv.threads=4"];
    assert!(
        refused(&kv)
            .contains("4 threads on 4 cores and siblings leave none to interrupts; set kv.threads = 3")
    );
}

#[test]
fn a_strategy_that_threads_cannot_carry_out_is_refused_with_another() {
    let bench = |more: &[&str]| refused(&[&["bench", "path"], more].concat());
    assert!(bench(&["--strategy", "scsi"]).contains("\"nvme\" is the same with a completion thread"));
    assert!(bench(&["--strategy", "coop-poll/often"]).contains("write \"idle\" or \"timer\""));
    assert!(bench(&["--cores", "100000"]).contains("the device needs one for itself"));
    assert!(bench(&["--threads", "0"]).contains("write numbers from 1 to 4096"));
}

#[test]
fn a_misspelt_option_is_not_to_be_written_behind_dashes() {
    let said = refused(&["serve", "block", "--strategy", "coop"]);
    assert!(said.contains("unexpected argument '--strategy'") && !said.contains("tip:"), "{said}");
}

#[test]
fn a_run_that_would_measure_nothing_or_never_end_is_refused() {
    let scenario = Scenario::new("limits", "");
    let run = |sets: &[&str]| {
        let mut arguments = vec!["run", scenario.path()];
        arguments.extend(sets.iter().flat_map(|set| ["--set", set]));
        refused(&arguments)
    };
    let ramp = run(&["run.ramp=3s", "run.duration=3s"]);
    assert!(ramp.contains("run.ramp") && ramp.contains("nothing would be measured"), "{ramp}");
    let endless = run(&["run.duration=0s"]);
    assert!(endless.contains("set run.duration, run.requests or workload.requests"), "{endless}");
}
