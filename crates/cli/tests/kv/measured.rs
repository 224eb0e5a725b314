//! `tailcut bench kv` beside a server.

use crate::kv::server::Server;
use crate::support::json;

const CONFIG: &str = r#"{
  "test_config": {
    "numKeys": 5000,
    "getRatio": 0.8, "loneGetRatio": 0.05, "setRatio": 0.1, "delRatio": 0.05,
    "keySizeRange": [8, 40], "keySizeRangeProbability": [1],
    "popularityBuckets": [10, 990], "popularityWeights": [0.5, 0.5],
    "valSizeRange": [60, 20000], "valSizeRangeProbability": [0.9, 0.1]
  }
}"#;

#[test]
fn a_load_of_cachebench_has_its_operations_and_ends_after_its_commands() {
    let server = Server::start(&["-m", "64", "--memory-only"]);
    server.place.put("load.json", CONFIG.as_bytes());
    let arguments = ["bench", "kv", "--tcp", &server.at, "--cachebench", "load.json", "--commands", "20001"];
    let more = ["--clients", "3", "--depth", "8", "--fill", "--json", "-"];
    let text = server.place.text(&[&arguments[..], &more].concat());
    let measured = json(&text);
    let figure = |name: &str| measured[name].as_u64().expect("a number");
    let (gets, hits) = (figure("gets"), figure("hits"));
    assert!((0.84..0.86).contains(&(gets as f64 / 20_001.0)), "{gets} gets");
    // Most gets that are not lone find what was filled before.
    assert!((0.6..0.94).contains(&(hits as f64 / gets as f64)), "{hits} hits");
    // What was missed is stored, but for the last.
    let stored = figure("commands") - 20_001;
    assert!(stored <= gets - hits && stored + 3 * 8 >= gets - hits, "{stored} of {}", gets - hits);
    let stats = server.stats();
    assert_eq!(stats["cmd_get"].parse(), Ok(gets));
    assert_eq!(stats["get_hits"].parse(), Ok(hits));
}

#[test]
fn a_load_that_is_none_is_named() {
    let server = Server::start(&["-m", "16", "--memory-only"]);
    server.place.put("load.json", CONFIG.replace("20000]", "-1]").as_bytes());
    let refused = server.place.refused(2, &["bench", "kv", "--tcp", &server.at, "--cachebench", "load.json"]);
    assert!(refused.contains("load.json: valSizeRange: values have 0 to 1073741824 bytes"), "{refused}");
}
