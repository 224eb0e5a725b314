//! Administrative requests to a running server, also while its drives have faults.

use crate::serving::{header, use_it};
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use tailcut_host::array::{ArrayConfig, Consent, LayoutKind};
use tailcut_rt::any::{ArrayMode, BuildError, Placement, Plan};
use tailcut_rt::ctl::{ControlSocket, ask};
use tailcut_rt::file::FileOptions;
use tailcut_rt::serve::{Access, Address, Limits, Name, Server, Windows};
use tailcut_rt::{AnyDrive, Client, Clock, FileDrive, MemoryDrive};
use tailcut_ssd::precondition::PreparedState;
use tailcut_ssd::{Precondition, Preset, SsdConfig};

fn name(name: &str) -> Name {
    Name::new(name)
}

/// A small drive that supports the control interface.
fn device() -> SsdConfig {
    let mut device = Preset::G.config();
    device.geometry.blocks = 24;
    device.control_api = true;
    device
}

/// A drive, or an array of `members` drives, emulated or on these files.
fn make(members: u32, paths: &[PathBuf], clock: Clock) -> Result<AnyDrive, BuildError> {
    let mut array = ArrayConfig { drives: members, layout: LayoutKind::Raid5, ..ArrayConfig::default() };
    (array.raid.chunk, array.raid.journal) = (8192, 40 * 4096);
    let plan = Plan {
        device: &device(),
        precondition: &Precondition { state: PreparedState::Empty, fill: 0 },
        array: &array,
        seed: 1,
        paths,
        files: FileOptions { is_hasty: true, ..FileOptions::default() },
        making: ArrayMode::OpenOrCreate,
        consent: Consent::Refuse,
        placement: Placement::Inline,
    };
    plan.build(clock, |_| Ok(()))
}

/// A server of such drives in a folder, with its socket.
struct Harness {
    server: Server<AnyDrive>,
    folder: tempfile::TempDir,
}

impl Harness {
    fn new(drives: &[(&str, u32, usize)]) -> Harness {
        let folder = tempfile::tempdir().expect("the temporary folder is writable");
        let clock = Clock::start();
        let makers = drives.iter().map(|&(called, members, files)| {
            let paths: Vec<PathBuf> = (0..files).map(|file| folder.path().join(file.to_string())).collect();
            paths.iter().for_each(|path| FileDrive::create(path, 2000).expect("a file"));
            (name(called), move || make(members, &paths, clock))
        });
        let control = ControlSocket::bind(&folder.path().join("control")).expect("a socket");
        let windows = Windows { control: Some(control), metrics: None };
        let address = Address::Unix(folder.path().join("socket"));
        let server =
            Server::start(&address, Access::default(), makers.collect(), windows, Limits::default(), clock);
        Harness { server: server.expect("it serves"), folder }
    }

    fn ask(&self, line: &str) -> String {
        ask(&self.folder.path().join("control"), line).expect("it answers")
    }

    fn client(&self, export: &str) -> Client {
        Client::connect(self.server.address(), export).expect("the server takes connections")
    }

    /// Repeats a request until the reply is as wanted.
    fn wait_for(&self, line: &str, is_wanted: impl Fn(&str) -> bool) -> String {
        loop {
            let answer = self.ask(line);
            if is_wanted(&answer) {
                return answer;
            }
            std::thread::yield_now();
        }
    }
}

#[test]
fn a_drive_that_serves_is_asked_in_words() {
    let harness = Harness::new(&[("disk", 0, 0)]);
    use_it(&mut harness.client("disk"), 4096, 7);
    assert!(harness.ask("free-blocks").ends_with(" blocks\n"));
    assert_eq!(harness.ask("is-gc-running"), "no\n");
    assert!(harness.ask("set-thresholds 9 3").contains("9 is above 3; give the smaller number first"));
    assert!(harness.ask("set-thresholds 1 3").starts_with("refused: set-thresholds 1 3: LOW is at least 2"));
    assert!(harness.ask("frees").starts_with("refused: 'frees' is not known"));
    assert!(harness.ask("scrub").starts_with("refused: it is a single drive"));
    let status = harness.ask("status");
    assert!(status.starts_with("export disk\ndrive g-1g (69.1 MiB)\nsize 69.1 MiB\n"), "{status}");
    assert!(status.contains("\nrequests 2\n") && status.contains("\nerased blocks "), "{status}");
    let metrics = harness.ask("metrics");
    for line in [
        "# TYPE tailcut_erases_total counter\ntailcut_erases_total{member=\"0\",export=\"disk\"} 0\n",
        "tailcut_request_seconds_count{kind=\"write\",export=\"disk\"} 1\n",
        "tailcut_request_seconds_bucket{kind=\"write\",le=\"+Inf\",export=\"disk\"} 1\n",
        "tailcut_request_bytes_total{kind=\"read\",export=\"disk\"} 10000\n",
        "tailcut_predicted_total{member=\"0\",service=\"flash\",export=\"disk\"} ",
    ] {
        assert!(metrics.contains(line), "{line}\n{metrics}");
    }
    harness.server.stop();
}

#[test]
fn of_several_drives_one_is_meant() {
    let harness = Harness::new(&[("a", 0, 0), ("b", 0, 0)]);
    use_it(&mut harness.client("b"), 0, 3);
    assert_eq!(harness.ask("free-blocks"), "refused: say which drive, as in '@a ...'; there is a, b\n");
    assert!(harness.ask("@b free-blocks").ends_with(" blocks\n"));
    assert_eq!(harness.ask("@c free-blocks"), "refused: there is no drive 'c' here; there is a, b\n");
    // The server learns a moment later that the client has gone; the two replies must not straddle it.
    harness.wait_for("@b status", |status| status.contains("\nconnections 0\n"));
    let (all, one) = (harness.ask("status"), harness.ask("@b status"));
    assert!(all.contains("export a\n") && all.contains(&one), "{all}\n---\n{one}");
    assert!(all.contains("\nversion ") && !one.contains("\nversion "), "the process is told once: {all}");
    let metrics = harness.ask("metrics");
    assert_eq!(metrics.matches("# TYPE tailcut_erases_total").count(), 1);
    let [of_a, of_b] = ["a", "b"].map(|drive| format!("{{kind=\"write\",export=\"{drive}\"}}"));
    assert!(metrics.contains(&format!("tailcut_request_seconds_count{of_a} 0\n")));
    assert!(metrics.contains(&format!("tailcut_request_seconds_count{of_b} 1\n")));
    harness.server.stop();
}

/// A drive is removed from an array in service and replaced by another; no data is lost.
fn goes_on_without_a_drive(files: usize, replacement: impl Fn(&Path) -> String) {
    let harness = Harness::new(&[("disk", 4, files)]);
    assert!(!harness.ask("status").contains("late by"), "nobody has waited for it yet");
    let mut client = harness.client("disk");
    (0..20).for_each(|part| use_it(&mut client, part * 50_000, part as u8));
    assert!(harness.ask("replace 2").starts_with("refused: drive 2 serves"));
    assert!(harness.ask("remove 4").starts_with("refused: the array has drives 0 to 3"));
    assert_eq!(harness.ask("remove 2"), "done\n");
    assert!(harness.ask("status").contains("\ncondition degraded; missing [2]"));
    assert!(harness.ask("remove 1").starts_with("refused: the array is not optimal"));
    (0..20).for_each(|part| {
        let data = vec![part as u8; 10_000];
        assert_eq!(client.call(&header(0, part * 50_000, 10_000), &[]).expect("a reply"), (0, data));
    });
    (0..20).for_each(|part| use_it(&mut client, part * 50_000, 100 + part as u8));
    let replacement = replacement(harness.folder.path());
    assert_eq!(harness.ask(&format!("replace 2{replacement}")), "done\n");
    let status = harness.wait_for("status", |status| status.contains("\ncondition optimal\n"));
    assert!(!status.contains("missing"), "{status}");
    assert_eq!(harness.ask("scrub"), "done\n");
    let status = harness.wait_for("status", |status| status.contains("\nlast scrub: "));
    let clean = "\nlast scrub: 0 damaged blocks rewritten, 0 beyond repair, 0 mismatches\n";
    assert!(status.contains(clean) && !status.contains("scrubbed"), "{status}");
    (0..20).for_each(|part| {
        let data = vec![100 + part as u8; 10_000];
        assert_eq!(client.call(&header(0, part * 50_000, 10_000), &[]).expect("a reply"), (0, data));
    });
    harness.server.stop();
}

#[test]
fn an_array_of_emulated_drives_gets_a_new_one() {
    goes_on_without_a_drive(0, |_| String::new());
}

#[test]
fn an_array_of_files_gets_a_new_one() {
    goes_on_without_a_drive(4, |folder| {
        let path = folder.join("a spare");
        FileDrive::create(&path, 2000).expect("a file");
        format!(" {}", path.display())
    });
}

#[test]
fn a_replacement_that_does_not_fit_changes_nothing() {
    let harness = Harness::new(&[("disk", 4, 4)]);
    assert_eq!(harness.ask("remove 0"), "done\n");
    assert!(harness.ask("replace 0").starts_with("refused: say which file or device"));
    assert!(harness.ask("replace 0 /nowhere/at/all").starts_with("refused: "));
    let small = harness.folder.path().join("small");
    FileDrive::create(&small, 100).expect("a file");
    assert!(harness.ask(&format!("replace 0 {}", small.display())).starts_with("refused: "));
    assert!(harness.ask("status").contains("missing [0]"));
    use_it(&mut harness.client("disk"), 0, 9);
    harness.server.stop();
}

#[test]
fn a_server_without_windows_needs_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = Address::Unix(folder.path().join("socket"));
    let drives = vec![(name("disk"), || Ok::<_, Infallible>(MemoryDrive::new(100, 8)))];
    let server = Server::start(
        &address,
        Access::default(),
        drives,
        Windows::default(),
        Limits::default(),
        Clock::start(),
    );
    server.expect("it serves").stop();
}
