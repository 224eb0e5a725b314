//! The textual control interface of a drive: one line is a request, some lines are its reply.
//!
//! A call has the name of its [`Control`], hyphenated; a point in time is given as the time until then. A
//! reply is one or more lines followed by an empty one, so that it suits a person at a terminal as well as a
//! program.
//!
//! On a server with several drives, a request begins with `@` and the name of the drive.

use tailcut_base::control::{Control, ControlReply, GcThresholds, Windows};
use tailcut_base::fdp::{GroupId, HandleId, HandleStatus, PlacementId, Statistics};
use tailcut_base::plm::{Config, Log, State, Window};
use tailcut_base::quantity::parse_time;
use tailcut_base::{BadValue, Time};

/// A parsed request line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdminRequest {
    /// Target drive; None for the only drive, or for all of them.
    pub drive: Option<String>,
    /// What the line requests of the server or drive.
    pub ask: Ask,
}

/// A request of the control interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// A call of the control interface.
    Call {
        /// Member number of the array's drive that is called; None for the drive that is served.
        member: Option<usize>,
        /// What is called.
        call: Control,
    },
    /// Report identity and state.
    Status,
    /// Report counters in the text format of Prometheus.
    Metrics,
    /// Scrub an array: read and compare all its data.
    Scrub,
    /// Remove a drive from an array, which continues degraded.
    Remove {
        /// Member number in the array.
        member: usize,
    },
    /// Add a drive in place of a missing member and rebuild it.
    Replace {
        /// Member number in the array.
        member: usize,
        /// A file or block device; None for an emulated drive like the others.
        path: Option<String>,
    },
    /// List the requests that there are.
    Help,
}

/// Longest line in bytes; it may include a path.
pub const LINE_MAX: usize = 4500;

/// Parses a line received at `now`.
///
/// # Errors
/// One line: the mistake, and the valid form.
pub fn parse(line: &str, now: Time) -> Result<AdminRequest, BadValue> {
    let line = line.trim_ascii();
    let (drive, line) = match line.strip_prefix('@') {
        Some(rest) => {
            let (drive, line) = rest.split_once(' ').unwrap_or((rest, ""));
            (Some(drive.to_string()), line)
        }
        None => (None, line),
    };
    Ok(AdminRequest { drive, ask: ask(line, now)? })
}

fn ask(line: &str, now: Time) -> Result<Ask, BadValue> {
    let mut words = line.split_ascii_whitespace();
    let name = words.next().ok_or_else(|| BadValue::new("nothing is asked: try 'help'"))?;
    let ask = match name {
        "status" => Ask::Status,
        "metrics" => Ask::Metrics,
        "scrub" => Ask::Scrub,
        "remove" => Ask::Remove { member: member(name, &mut words)? },
        "replace" => {
            let member = member(name, &mut words)?;
            // A path may contain spaces.
            let path = words.by_ref().collect::<Vec<_>>().join(" ");
            Ask::Replace { member, path: (!path.is_empty()).then_some(path) }
        }
        "help" => Ask::Help,
        "member" => {
            let member = Some(member(name, &mut words)?);
            let name = word(name, "REQUEST", &mut words)?;
            if OF_SERVERS.contains(&name) {
                let message = format!("member takes calls of a drive, such as free-blocks, and not '{name}'");
                return Err(BadValue::new(message));
            }
            Ask::Call { member, call: call(name, &mut words, now)? }
        }
        name => Ask::Call { member: None, call: call(name, &mut words, now)? },
    };
    match words.next() {
        Some(word) => Err(BadValue::new(format!("{name} does not end with '{word}': try 'help'"))),
        None => Ok(ask),
    }
}

/// Requests that are not calls of a drive.
const OF_SERVERS: [&str; 7] = ["status", "metrics", "scrub", "remove", "replace", "member", "help"];

fn call<'l>(name: &str, words: &mut impl Iterator<Item = &'l str>, now: Time) -> Result<Control, BadValue> {
    Ok(match name {
        "user-capacity" => Control::UserCapacity,
        "device-capacity" => Control::DeviceCapacity,
        "erase-block-size" => Control::EraseBlockSize,
        "free-blocks" => Control::FreeBlocks,
        "get-thresholds" => Control::GetThresholds,
        "set-thresholds" => {
            let (low, high) = (count(name, "LOW", words)?, count(name, "HIGH", words)?);
            if low > high {
                return Err(BadValue::new(format!(
                    "{name} LOW HIGH: {low} is above {high}; give the smaller number first"
                )));
            }
            Control::SetThresholds(GcThresholds { low, high })
        }
        "is-gc-running" => Control::IsGcRunning,
        "run-gc" => Control::RunGc { until: later(now, name, "TIME", words)? },
        "set-windows" => {
            let from = later(now, name, "FROM", words)?;
            let (period, length) = (time(name, "PERIOD", words)?, time(name, "LENGTH", words)?);
            let windows = Windows { from, period, length };
            if !windows.are_valid() {
                return Err(BadValue::new(format!(
                    "{name} LENGTH: {length} is no length of a window in every {period} (PERIOD); give a \
                     time above 0 and up to the period"
                )));
            }
            Control::SetWindows(windows)
        }
        "clear-windows" => Control::ClearWindows,
        "is-ready-for-read" => Control::IsReadyForRead,
        "get-predictable-latency" => Control::GetPredictableLatency,
        "select-window" => Control::SelectWindow(match words.next() {
            Some("deterministic") => Window::Deterministic,
            Some("non-deterministic") => Window::NonDeterministic,
            _ => return Err(BadValue::new("select-window needs deterministic or non-deterministic")),
        }),
        "selected-window" => Control::SelectedWindow,
        "predictable-latency-log" => Control::PredictableLatencyLog,
        "update-handle" => Control::UpdateHandle(handle(name, words)?),
        "handle-status" => Control::HandleStatus(handle(name, words)?),
        "placement-statistics" => Control::PlacementStatistics,
        _ => return Err(BadValue::new(format!("'{name}' is not known: try 'help'"))),
    })
}

fn word<'l>(name: &str, what: &str, words: &mut impl Iterator<Item = &'l str>) -> Result<&'l str, BadValue> {
    words.next().ok_or_else(|| BadValue::new(format!("{name} needs {what}: try 'help'")))
}

fn count<'l>(name: &str, what: &str, words: &mut impl Iterator<Item = &'l str>) -> Result<u32, BadValue> {
    let word = word(name, what, words)?;
    word.parse().map_err(|_| {
        BadValue::new(format!("{name} {what}: '{word}' is no number of blocks; write one such as 8"))
    })
}

/// A handle of the first group: a drive that is divided is not served.
fn handle<'l>(name: &str, words: &mut impl Iterator<Item = &'l str>) -> Result<PlacementId, BadValue> {
    let word = word(name, "HANDLE", words)?;
    let number = word.parse().map_err(|_| {
        BadValue::new(format!(
            "{name} HANDLE: '{word}' is no number of a reclaim unit handle; the first is 0"
        ))
    })?;
    Ok(PlacementId::new(GroupId::FIRST, HandleId::new(number)))
}

fn member<'l>(name: &str, words: &mut impl Iterator<Item = &'l str>) -> Result<usize, BadValue> {
    let word = word(name, "MEMBER", words)?;
    word.parse()
        .map_err(|_| BadValue::new(format!("{name} MEMBER: '{word}' is no number of a drive; see 'status'")))
}

fn time<'l>(
    name: &str,
    what: &str,
    words: &mut impl Iterator<Item = &'l str>,
) -> Result<tailcut_base::Nanos, BadValue> {
    let word = word(name, what, words)?;
    parse_time(word).map_err(|_| BadValue::new(format!("{name} {what}: '{word}' is no time such as 10ms")))
}

fn later<'l>(
    now: Time,
    name: &str,
    what: &str,
    words: &mut impl Iterator<Item = &'l str>,
) -> Result<Time, BadValue> {
    let rest = time(name, what, words)?;
    // An overflowing time is refused: a drive could not represent it.
    now.0.checked_add(rest.0).map(Time).ok_or_else(|| BadValue::new(format!("{name} {what} is too far away")))
}

/// Formats the reply to a call, with its line end. A refusal names the values that could not be taken, and
/// what would be right.
pub fn show_reply(call: &Control, reply: &ControlReply) -> String {
    let why = match (reply, call) {
        (ControlReply::Invalid, Control::SetThresholds(GcThresholds { low, high })) => format!(
            "set-thresholds {low} {high}: LOW is at least 2, and a plane that is full of data must be able \
             to have HIGH free blocks; take other numbers, 'get-thresholds' shows those in force"
        ),
        (ControlReply::Invalid, Control::SetWindows(Windows { period, .. })) => format!(
            "set-windows: FROM or the PERIOD of {period} is longer than the drive's timers can hold; take \
                shorter times"
        ),
        (ControlReply::Invalid, Control::SelectWindow(_) | Control::SelectedWindow) => String::from(
            "Predictable Latency Mode is off, so no window is selected; 'run-gc' and 'is-ready-for-read' do \
                without it",
        ),
        (ControlReply::Invalid, Control::HandleStatus(handle)) => format!(
            "handle-status {handle}: the drive has no such reclaim unit handle (device.fdp.handles); the first \
             is 0"
        ),
        (ControlReply::Invalid, Control::UpdateHandle(handle)) => format!(
            "update-handle {handle}: the drive has no such reclaim unit handle, or no reclaim unit is free; \
             'handle-status {handle}' tells which"
        ),
        (reply, _) => return show(reply),
    };
    refusal(&why)
}

/// Formats a reply, with its line end.
pub fn show(reply: &ControlReply) -> String {
    match reply {
        ControlReply::Bytes(bytes) => format!("{bytes} bytes\n"),
        ControlReply::Blocks(blocks) => format!("{blocks} blocks\n"),
        ControlReply::Thresholds(GcThresholds { low, high }) => format!("low {low}\nhigh {high}\n"),
        ControlReply::Answer(is_so) => format!("{}\n", if *is_so { "yes" } else { "no" }),
        ControlReply::PredictableLatency { is_enabled, config } => {
            let Config { events, reads, writes, time_ms } = config;
            let enabled = if *is_enabled { "yes" } else { "no" };
            format!("enabled {enabled}\nevents {events}\nreads {reads}\nwrites {writes}\ntime {time_ms} ms\n")
        }
        ControlReply::Window(Window::Deterministic) => String::from("deterministic\n"),
        ControlReply::Window(Window::NonDeterministic) => String::from("non-deterministic\n"),
        ControlReply::Log(log) => show_log(log),
        ControlReply::HandleStatus(HandleStatus { size, available, host_written, moved, collected }) => {
            format!(
                "available {available} of {size} bytes\nwritten {host_written} bytes\nmoved {moved} bytes\n\
             collected {collected} reclaim units\n"
            )
        }
        ControlReply::PlacementStatistics(Statistics { host_written, media_written, media_erased }) => {
            format!(
                "host written {host_written} bytes\nmedia written {media_written} bytes\nmedia erased \
                 {media_erased} bytes\n"
            )
        }
        ControlReply::Done => String::from("done\n"),
        ControlReply::Invalid => String::from("refused: the values do not fit the drive or its state\n"),
        ControlReply::Unsupported => String::from(
            "refused: the drive does not know this call; those about handles need device.fdp.handles of 2 or \
             more, those about blocks and collection a drive that is not mapped by superblock \
             (device.ftl.mapping)\n",
        ),
    }
}

/// One `name value` line per field of the log; a number without a bound is `unlimited`.
fn show_log(log: &Log) -> String {
    let state = match log.state {
        State::Off => "off",
        State::Deterministic => "deterministic",
        State::NonDeterministic => "non-deterministic",
    };
    let mut text = format!("window {state}\nevents {}\n", log.events);
    for (name, value, unit) in [
        ("reads typical", log.reads_typical, ""),
        ("writes typical", log.writes_typical, ""),
        ("time maximum", log.time_maximum_ms, " ms"),
        ("rest minimum high", log.rest_high_ms, " ms"),
        ("rest minimum low", log.rest_low_ms, " ms"),
        ("reads left", log.reads_left, ""),
        ("writes left", log.writes_left, ""),
        ("time left", log.time_left_ms, " ms"),
    ] {
        let line = if value == u64::MAX { "unlimited".into() } else { format!("{value}{unit}") };
        text += &format!("{name} {line}\n");
    }
    text
}

/// Formats the reply to an invalid line.
pub fn refusal(why: &str) -> String {
    format!("refused: {why}\n")
}

/// The list of requests of the control interface, as text.
pub fn help() -> String {
    String::from(HELP)
}

const HELP: &str = "\
status                             state of the server, its drives and arrays
metrics                            counters, as Prometheus text
scrub                              read and compare all data of an array
remove MEMBER                      take a drive out of an array
replace MEMBER [PATH]              fill a missing member: a file or device (erased), or an emulated drive
member MEMBER REQUEST              any of the following, to one drive of an array
free-blocks                        erased blocks
user-capacity, device-capacity     in bytes
erase-block-size                   in bytes
get-thresholds                     free blocks at which collection begins and ends
set-thresholds LOW HIGH            change them
is-gc-running                      whether collection is under way
run-gc TIME                        collect for this long, as in 10ms
set-windows FROM PERIOD LENGTH     collect only in windows; the first begins in FROM
clear-windows                      collect at any time
is-ready-for-read                  request a quiet period; yes when it has begun
get-predictable-latency            configuration of predictable latency mode (NVMe)
select-window WINDOW               deterministic or non-deterministic
selected-window                    the window that is selected
predictable-latency-log            log page of predictable latency mode
update-handle HANDLE               write data of a handle to another reclaim unit from now on (NVMe FDP)
handle-status HANDLE               room, data and collections of a reclaim unit handle
placement-statistics               bytes written by the host, written to flash, and erased (NVMe FDP)
@DRIVE REQUEST                     any request, to one of several drives
";

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_base::Nanos;
    use tailcut_base::plm::Events;

    #[test]
    fn calls_have_the_names_of_the_simulator() {
        let now = Time(1000);
        let ask = |line| parse(line, now).map(|request| request.ask);
        let call = |line| match ask(line) {
            Ok(Ask::Call { member, call }) => (member, call),
            other => panic!("{line}: {other:?}"),
        };
        assert_eq!(call("free-blocks"), (None, Control::FreeBlocks));
        assert_eq!(call("run-gc 10ms"), (None, Control::RunGc { until: Time(10_001_000) }));
        assert_eq!(call("member 3 free-blocks"), (Some(3), Control::FreeBlocks));
        let thresholds = GcThresholds { low: 3, high: 9 };
        assert_eq!(call(" set-thresholds  3 9\r"), (None, Control::SetThresholds(thresholds)));
        let windows = Windows { from: Time(1000), period: Nanos::millis(4), length: Nanos::millis(1) };
        assert_eq!(call("set-windows 0ns 4ms 1ms"), (None, Control::SetWindows(windows)));
        assert_eq!(ask("status"), Ok(Ask::Status));
    }

    #[test]
    fn every_line_of_the_help_is_understood() {
        let sample = |word: &str| {
            match word {
                "LOW" | "HIGH" => "5",
                "TIME" | "FROM" | "PERIOD" | "LENGTH" => "1ms",
                "WINDOW" => "deterministic",
                "MEMBER" | "HANDLE" => "2",
                "[PATH]" => "a path",
                "@DRIVE" => "@disk",
                "REQUEST" => "free-blocks",
                _ => return word.to_string(),
            }
            .to_string()
        };
        for line in help().lines() {
            let usage = line.split("  ").next().expect("a line has a beginning");
            for one in usage.split(", ") {
                let words: Vec<String> = one.split(' ').map(sample).collect();
                assert!(parse(&words.join(" "), Time(0)).is_ok(), "{one}");
            }
        }
    }

    #[test]
    fn what_is_not_understood_is_told_in_one_line() {
        let wrong = [
            "",
            "frees",
            "run-gc",
            "run-gc soon",
            "set-thresholds 1",
            "status now",
            "select-window x",
            "set-thresholds -1 2",
            "remove",
            "replace two",
            "member",
            "member 1",
            "member one free-blocks",
            "member 1 scrub",
            "member 1 free-blocks now",
            "@disk",
        ];
        for line in wrong {
            let why = parse(line, Time(0)).expect_err(line).message;
            assert!(!why.is_empty() && !why.contains('\n'), "{line}: {why}");
        }
    }

    #[test]
    fn values_that_do_not_fit_are_named_with_what_would() {
        let refused = |line: &str| parse(line, Time(0)).expect_err(line).message;
        assert_eq!(
            refused("set-thresholds 9 3"),
            "set-thresholds LOW HIGH: 9 is above 3; give the smaller number first"
        );
        for line in ["set-windows 0ns 4ms 5ms", "set-windows 0ns 4ms 0ns", "set-windows 0ns 0ns 0ns"] {
            let why = refused(line);
            assert!(why.starts_with("set-windows LENGTH: ") && why.contains("up to the period"), "{why}");
        }
        assert!(refused("set-thresholds x 3").contains("'x' is no number of blocks; write one such as 8"));
        let call = Control::SetThresholds(GcThresholds { low: 3, high: 900 });
        let why = show_reply(&call, &ControlReply::Invalid);
        assert!(
            why.starts_with("refused: set-thresholds 3 900: ") && why.contains("'get-thresholds'"),
            "{why}"
        );
        assert_eq!(show_reply(&call, &ControlReply::Done), "done\n");
    }

    #[test]
    fn windows_are_shown_as_names_and_values() {
        let config = Config { events: Events::READS.and(Events::TIME), reads: 100, writes: 0, time_ms: 5 };
        let shown = show(&ControlReply::PredictableLatency { is_enabled: true, config });
        assert_eq!(shown, "enabled yes\nevents reads,time\nreads 100\nwrites 0\ntime 5 ms\n");
        let (state, reads_left) = (State::Deterministic, u64::MAX);
        let shown = show(&ControlReply::Log(Log { state, reads_left, time_left_ms: 7, ..Log::default() }));
        assert!(shown.starts_with("window deterministic\nevents none\nreads typical 0\n"), "{shown}");
        assert!(shown.ends_with("reads left unlimited\nwrites left 0\ntime left 7 ms\n"), "{shown}");
    }

    #[test]
    fn a_drive_and_a_path_are_told_apart_from_the_rest() {
        let question = |line| parse(line, Time(0)).expect("it is one");
        let of = |drive: Option<&str>, ask| AdminRequest { drive: drive.map(String::from), ask };
        assert_eq!(question("@disk1 status"), of(Some("disk1"), Ask::Status));
        let path = Some(String::from("/a b/c"));
        assert_eq!(question("replace 3 /a b/c"), of(None, Ask::Replace { member: 3, path }));
        assert_eq!(question("@a replace 3"), of(Some("a"), Ask::Replace { member: 3, path: None }));
    }
}
