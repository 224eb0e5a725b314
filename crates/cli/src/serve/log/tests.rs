//! Tests of the log.

use super::*;
use serde_json::{Value, json};
use std::io::Write;
use std::sync::Mutex;

#[derive(Clone, Default)]
struct Paper(Arc<Mutex<Vec<u8>>>);

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("a test").write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn written(format: LogFormat, level: LogLevel, happens: impl FnOnce()) -> String {
    let paper = Paper::default();
    let log = Log::start(format, level, paper.clone());
    tracing::subscriber::with_default(log.clone(), happens);
    log.flush();
    let bytes = paper.0.lock().expect("a test").clone();
    String::from_utf8(bytes).expect("it is text")
}

#[test]
fn what_matters_enough_is_told() {
    let all = || {
        tracing::error!(event = "drive_failed", "the drive has failed");
        tracing::warn!(event = "drive", drive = 1, "drive {} is missing", 1);
        tracing::info!(event = "ready", "ready");
        tracing::debug!(event = "faults", "slow");
        tracing::trace!(event = "connected", "a client");
    };
    let lines = [
        "error: the drive has failed\n",
        "warning: drive 1 is missing\n",
        "note: ready\n",
        "detail: slow\n",
        "trace: a client\n",
    ];
    for (count, &level) in (1..).zip(LogLevel::value_variants()) {
        assert_eq!(written(LogFormat::Text, level, all), lines[..count].concat(), "{level:?}");
    }
}

#[test]
fn programs_get_an_object_a_line() {
    let text = written(LogFormat::Json, LogLevel::Info, || {
        let (line, addresses) = ("as text", json!(["a", "b"]));
        tracing::info!(event = "ready", items = 7, half = 0.5, is_on = true, line, "line\nend");
        tracing::info!(addresses.json = %addresses, store = %"disk", "no event");
    });
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let [mut first, mut second] = lines.try_into().expect("two lines");
    for value in [&mut first, &mut second] {
        let time = value.as_object_mut().and_then(|object| object.remove("time"));
        assert_eq!(time.as_ref().and_then(Value::as_str).map(str::len), Some(24));
    }
    let want = json!({"level": "info", "event": "ready", "message": "line\nend", "items": 7, "half": 0.5, "is_on": true});
    assert_eq!(first, want);
    let (level, message, addresses) = ("info", "no event", ["a", "b"]);
    let want = json!({"level": level, "event": module_path!(), "message": message, "addresses": addresses, "store": "disk"});
    assert_eq!(second, want);
}

#[test]
fn a_line_as_text_may_be_another() {
    let happens = || tracing::warn!(event = "array", line = "the array is degraded", "degraded");
    assert_eq!(written(LogFormat::Text, LogLevel::Warn, happens), "the array is degraded\n");
}

#[test]
fn what_happens_often_is_counted() {
    let text = written(LogFormat::Text, LogLevel::Info, || {
        for _ in 0..500 {
            tracing::warn!(event = "refused", frequent = true, "a client was turned away");
        }
    });
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.len() < 20, "{text}");
    let more = |line: &&str| -> u64 {
        let count = line.split_once('(').and_then(|(_, rest)| rest.split_once(" more)"));
        count.map_or(1, |(count, _)| count.parse().expect("a number"))
    };
    assert_eq!(lines.iter().map(more).sum::<u64>(), 500, "{text}");
}

#[test]
fn of_many_the_first_few_of_each_kind_are_logged_and_the_others_counted() {
    let text = written(LogFormat::Text, LogLevel::Info, || {
        let damage = |block: u32, kind: &str| {
            tracing::warn!(event = "damage", one_of = kind, times = 2, "block {block}: a damaged {kind}");
        };
        (0..130).for_each(|block| damage(block, "copy"));
        damage(130, "record");
    });
    let first: Vec<String> = (0..5).map(|block| format!("warning: block {block}: a damaged copy")).collect();
    let last = ["warning: block 130: a damaged record", "warning: block 0: a damaged copy (250 more)"];
    assert_eq!(text.lines().collect::<Vec<_>>(), [first, last.map(String::from).into()].concat());
}
