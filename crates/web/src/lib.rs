//! The simulator for a page in a browser: the keys of a scenario in, a report as JSON out.
//!
//! The page writes its question as JSON to [`question`]'s memory, calls [`answer`], and reads as many bytes
//! from [`answer_bytes`]. A question is `{"keys": {"device.preset": "tlc-nvme", …}}`; the values are those of
//! scenario files. An answer has the run's `kinds` and `detail` as `report.json` has them, so that the charts
//! of reports draw it, or an `error` in words.

use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use tailcut_sim::ending::run_to_end_observed;
use tailcut_sim::keys::{self, KeyError, KeyValue};
use tailcut_sim::report::{Detail, KindReport};
use tailcut_sim::timeline::{Devices, Requests, Timeline};
use tailcut_sim::{Report, Scenario, with_world};

/// What the page asks for.
#[derive(Debug, Default, Deserialize)]
pub struct Question {
    /// Keys of the scenario, as in its file.
    pub keys: BTreeMap<String, String>,
    /// Keys whose values the page shows.
    #[serde(default)]
    pub show: Vec<String>,
}

/// What the page shows.
#[derive(Debug, Serialize)]
pub struct Answer {
    /// Figures by kind of request.
    pub kinds: Vec<KindReport>,
    /// Curves, bands of percentiles, and the run over time.
    pub detail: Detail,
    /// Pages programmed per page of the host's data; `None` if nothing was written.
    pub write_amplification: Option<f64>,
    /// Capacity that one drive offers, in bytes.
    pub capacity_bytes: u64,
    /// Requests answered, with those of the ramp.
    pub completed: u64,
    /// Simulated time in ns.
    pub simulated_ns: u64,
    /// Remarks of the report.
    pub notes: Vec<String>,
    /// Values of the keys that the page shows, in their base units.
    pub values: BTreeMap<String, f64>,
}

/// Runs the scenario. A run that would be larger than a page can hold is refused.
///
/// # Errors
/// What is wrong with the keys, or why the run has no result.
pub fn simulate(question: &Question) -> Result<Answer, String> {
    let mut scenario = Scenario::default();
    let values: Vec<(&str, KeyValue<'_>)> =
        question.keys.iter().map(|(key, value)| (key.as_str(), KeyValue::Text(value))).collect();
    keys::set(&mut scenario, &values).map_err(|error| error.to_string())?;
    let mut value = |key: &String| Ok((key.clone(), keys::get(&mut scenario, key)?));
    let values = question.show.iter().map(&mut value).collect::<Result<BTreeMap<_, _>, KeyError>>();
    let values = values.map_err(|error| error.to_string())?;
    let capacity = scenario.device.user_bytes();
    let all = capacity.saturating_mul(u64::from(scenario.array.drives.max(1)));
    if all > MOST_BYTES {
        return Err(format!(
            "drives of {} GB take more memory than a page has: lower device.geometry.blocks",
            all / 1_000_000_000
        ));
    }
    let world = scenario.any_world(|| (), false).map_err(|error| error.to_string())?;
    with_world!(world, world => {
        let mut world = world;
        let mut observer = Some((Requests::new(), Devices::new()));
        let mut is_over = |at: &tailcut_sim::world::Progress| match at.completed > MOST_REQUESTS {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        };
        let ends = run_to_end_observed(&mut world, scenario.horizon(), &mut is_over, &mut observer)
            .map_err(|error| error.to_string())?;
        let report = Report::new(&scenario, &world, &ends.figures(), false);
        if let Some(why) = report.unmeasured {
            return Err(why);
        }
        let mut detail = Detail::new(&world.stats);
        detail.timeline = observer.map(|(requests, devices)| Timeline::new(requests, &devices));
        Ok(Answer {
            completed: report.completed,
            write_amplification: report.drive.write_amplification,
            simulated_ns: report.until_ns,
            notes: report.notes,
            kinds: report.kinds,
            detail,
            capacity_bytes: capacity,
            values,
        })
    })
}

/// Maps of larger drives do not fit the memory that a page may take.
const MOST_BYTES: u64 = 64 << 30;

/// A run that does not end by itself ends after as many requests.
const MOST_REQUESTS: u64 = 5_000_000;

thread_local! {
    static QUESTION: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static ANSWER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Memory for a question of this many bytes.
#[expect(unsafe_code, reason = "the name by which a page calls it; no other function of this crate has it")]
#[unsafe(no_mangle)]
pub extern "C" fn question(bytes: usize) -> *mut u8 {
    QUESTION.with_borrow_mut(|question| {
        question.clear();
        question.resize(bytes, 0);
        question.as_mut_ptr()
    })
}

/// Answers the question that was written; returns the length of the answer in bytes.
#[expect(unsafe_code, reason = "the name by which a page calls it; no other function of this crate has it")]
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> usize {
    let text = QUESTION.with_borrow(|question| answer_to(question));
    ANSWER.with_borrow_mut(|answer| {
        *answer = text.into_bytes();
        answer.len()
    })
}

/// Where the last answer is, until the next call.
#[expect(unsafe_code, reason = "the name by which a page calls it; no other function of this crate has it")]
#[unsafe(no_mangle)]
pub extern "C" fn answer_bytes() -> *const u8 {
    ANSWER.with_borrow(|answer| answer.as_ptr())
}

/// The answer as JSON.
fn answer_to(question: &[u8]) -> String {
    let read = serde_json::from_slice(question).map_err(|error| error.to_string());
    let answered = read.and_then(|question| simulate(&question));
    let error = |message: String| serde_json::json!({ "error": message }).to_string();
    match answered {
        Ok(answer) => serde_json::to_string(&answer).unwrap_or_else(|why| error(why.to_string())),
        Err(message) => error(message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(keys: &[(&str, &str)]) -> serde_json::Value {
        let keys: BTreeMap<&str, &str> = keys.iter().copied().collect();
        let text = serde_json::json!({ "keys": keys, "show": ["device.timing.erase"] }).to_string();
        serde_json::from_str(&answer_to(text.as_bytes())).expect("an answer is JSON")
    }

    const SMALL: [(&str, &str); 4] = [
        ("device.preset", "g-1g"),
        ("device.geometry.blocks", "32"),
        ("run.requests", "5000"),
        ("run.ramp", "0s"),
    ];

    #[test]
    fn a_run_has_curves_bands_and_a_timeline() {
        let answer = asked(&SMALL);
        assert_eq!(answer["error"], serde_json::Value::Null, "{answer}");
        let reads =
            answer["detail"]["kinds"].as_array().expect("a list").iter().find(|kind| kind["kind"] == "read");
        let reads = reads.expect("reads");
        assert!(!reads["curve"].as_array().expect("a curve").is_empty());
        assert!(!reads["bands"].as_array().expect("bands").is_empty());
        assert!(answer["detail"]["timeline"]["chips"].is_object());
        assert_eq!(answer["values"]["device.timing.erase"].as_f64(), Some(3_800_000.0));
        assert!(answer["write_amplification"].as_f64().is_some_and(|amplification| amplification >= 1.0));
        assert_eq!(asked(&SMALL), answer, "the same question has the same answer");
    }

    #[test]
    fn keys_change_the_answer_and_wrong_ones_are_named() {
        let more = [&SMALL[..], &[("device.timing.read", "150us")]].concat();
        let bare =
            |answer: &serde_json::Value| answer["kinds"][0]["latency"]["mean_ns"].as_f64().expect("a mean");
        assert!(bare(&asked(&more)) > bare(&asked(&SMALL)));
        let error = |key, value| asked(&[&SMALL[..], &[(key, value)]].concat())["error"].to_string();
        assert!(error("device.timing.raed", "1us").contains("device.timing.raed"));
        assert!(error("device.timing.read", "soon").contains("device.timing.read"));
        let large = asked(&[("device.preset", "pm9a3-960")])["error"].to_string();
        assert!(large.contains("lower device.geometry.blocks"), "{large}");
        let several = asked(&[("device.preset", "m-32g"), ("array.drives", "8")])["error"].to_string();
        assert!(several.contains("lower device.geometry.blocks"), "{several}");
        let broken: serde_json::Value = serde_json::from_str(&answer_to(b"{")).expect("JSON");
        assert!(broken["error"].is_string());
    }

    #[test]
    fn collection_by_token_keeps_erases_from_reads() {
        let copies = [("array.drives", "2"), ("array.layout", "epochs"), ("array.groups", "2")];
        let copies = [&SMALL[..], &copies, &[("workload.pace", "open"), ("workload.rate", "2000")]].concat();
        let by_token = [&copies[..], &[("array.epoch.mode", "gc-control")]].concat();
        let slowest = |answer: &serde_json::Value| {
            let reads =
                answer["kinds"].as_array().expect("a list").iter().find(|kind| kind["kind"] == "read");
            reads.expect("reads")["latency"]["max_ns"].as_u64().expect("a time")
        };
        let (copies, by_token) = (asked(&copies), asked(&by_token));
        assert!(by_token["detail"]["timeline"]["chips"].is_object(), "{by_token}");
        assert!(2 * slowest(&by_token) < slowest(&copies), "{copies} {by_token}");
    }

    #[test]
    fn bytes_cross_the_border_both_ways() {
        let text = br#"{"keys":{"device.preset":"none"}}"#;
        assert!(!question(text.len()).is_null());
        QUESTION.with_borrow_mut(|question| question.copy_from_slice(text));
        let length = answer();
        assert!(length > 0 && !answer_bytes().is_null());
        ANSWER.with_borrow(|answer| {
            assert_eq!(answer.len(), length);
            assert!(std::str::from_utf8(answer).expect("text").contains("error"));
        });
    }
}
