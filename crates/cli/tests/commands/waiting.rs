//! `tailcut bench path` on a machine that may be busy.

use crate::support::{Place, stderr, stdout};
use std::process::{Command, Stdio};

#[test]
#[cfg(target_os = "linux")]
fn an_interrupted_comparison_shows_what_it_has_measured() {
    let place = Place::new();
    let mut command = place.command(&["bench", "path", "--strategy", "coop", "--threads", "1"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.expect("the binary starts");
    let id = child.id().to_string();
    while !crate::support::listens_to_interrupts(&id) {
        assert!(child.try_wait().expect("it is ours").is_none(), "it ended before it could be interrupted");
        std::thread::yield_now();
    }
    let sent = Command::new("kill").args(["-TERM", &id]).status().expect("there is kill");
    assert!(sent.success());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    // Other programs may have disturbed all measurements until then.
    let text = stdout(&output);
    assert!(text.is_empty() || text.contains("measurements were disturbed"), "{text}");
}

#[test]
fn without_a_measurement_that_counts_there_is_an_error() {
    let place = Place::new();
    // The busier the machine, the likelier an error.
    let words = ["bench", "path", "--strategy", "coop", "--threads", "1", "--patience", "0s", "--quick"];
    let output = place.command(&words).output().expect("the binary starts");
    let (text, why) = (stdout(&output), stderr(&output));
    match output.status.code() {
        Some(0) => assert!(text.contains("coop ") && text.contains("µs"), "{text}"),
        code => {
            assert_eq!(code, Some(1), "{why}");
            assert!(why.contains("nothing was measured: ") && text.is_empty(), "{text}{why}");
        }
    }
}
