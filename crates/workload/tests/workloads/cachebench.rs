//! Loads of CacheBench: what is drawn has the shares of the files, and mistakes are named.

use std::path::PathBuf;
use tailcut_base::random::Stream;
use tailcut_workload::cachebench::{CacheBench, KvOperation};
use tempfile::TempDir;

const OPERATIONS: &str = r#""getRatio": 0.6, "loneGetRatio": 0.1, "setRatio": 0.2, "delRatio": 0.1"#;
const KEYS: &str = r#""numKeys": 1000, "keySizeRange": [8, 16, 64], "keySizeRangeProbability": [1, 3]"#;
const POPULARITY: &str = r#"{"popularityBuckets": [1, 9, 90], "popularityWeights": [50, 30, 20]}"#;
const SIZES: &str = r#"{"valSizeRange": [100, 5000], "valSizeRangeProbability": [0.75, 0.25]}"#;

fn folder(config: &str, popularity: &str, sizes: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in [("config.json", config), ("pop.json", popularity), ("sizes.json", sizes)] {
        std::fs::write(folder.path().join(name), text).expect("a file");
    }
    let config = folder.path().join("config.json");
    (folder, config)
}

fn config() -> String {
    let files = r#""popDistFile": "pop.json", "valSizeDistFile": "sizes.json""#;
    format!(r#"{{"cache_config": {{}}, "test_config": {{{OPERATIONS}, {KEYS}, {files}}}}}"#)
}

fn share<T>(of: &[T], is_it: impl Fn(&T) -> bool) -> f64 {
    of.iter().filter(|&drawn| is_it(drawn)).count() as f64 / of.len() as f64
}

#[track_caller]
fn close(found: f64, wanted: f64) {
    assert!((found - wanted).abs() < 0.01, "{found}, not {wanted}");
}

#[test]
fn operations_keys_and_sizes_have_their_shares() {
    let (_folder, path) = folder(&config(), POPULARITY, SIZES);
    let load = CacheBench::read(&path, None).expect("a good load");
    let mut random = Stream::new(1, "cachebench");
    assert_eq!((load.keys(), load.largest_value()), (1000, 5000));
    let operations: Vec<_> = (0..50_000).map(|_| load.operation(&mut random)).collect();
    let shares = [0.6, 0.1, 0.2, 0.0, 0.1];
    for (operation, wanted) in KvOperation::ALL.into_iter().zip(shares) {
        close(share(&operations, |&drawn| drawn == operation), wanted);
    }
    // A hundred keys of the file become a thousand: each of its buckets ten times as many.
    let keys: Vec<_> = (0..50_000).map(|_| load.key(&mut random)).collect();
    close(share(&keys, |&key| key == 0), 0.5);
    close(share(&keys, |key| (10..100).contains(key)), 0.3);
    close(share(&keys, |key| (100..1000).contains(key)), 0.2);
    let all: Vec<_> = (0..20_000).collect();
    close(share(&all, |&key| load.value_bytes(key) == 100), 0.75);
    close(share(&all, |&key| (8..16).contains(&load.key_bytes(key))), 0.25);
    assert!(
        all.iter().all(|&key| load.value_bytes(key) == load.value_bytes(key) && load.key_bytes(key) < 64)
    );
    let twice = config().replace("\"getRatio\"", "\"setRatio\": 0.9, \"getRatio\"");
    let (_twice, path_of_twice) = folder(&twice, POPULARITY, SIZES);
    assert!(CacheBench::read(&path_of_twice, None).is_ok(), "the last of two keys counts");
    let few = CacheBench::read(&path, Some(10)).expect("a good load");
    assert!((0..1000).all(|_| few.key(&mut random) < 10));
}

#[test]
fn mistakes_are_named_with_their_file() {
    let pools = r#"{"test_config": {"numKeys": 5, "poolDistributions": [{}, {}]}}"#;
    let missing = config().replace("pop.json", "other.json");
    let chained = config().replace("\"getRatio\"", "\"addChainedRatio\": 0.1, \"getRatio\"");
    let uneven = r#"{"popularityBuckets": [1, 2], "popularityWeights": [1]}"#;
    let negative = r#"{"popularityBuckets": [1], "popularityWeights": [-1]}"#;
    let zero = r#"{"popularityBuckets": [0, 0], "popularityWeights": [1, 1]}"#;
    let half = r#"{"popularityBuckets": [1.5], "popularityWeights": [1]}"#;
    let large = r#"{"valSizeRange": [1e12], "valSizeRangeProbability": [1]}"#;
    for (config, popularity, sizes, wanted) in [
        ("{", POPULARITY, SIZES, "config.json: EOF"),
        (r#"{"test_config": {}}"#, POPULARITY, SIZES, "config.json: missing field `numKeys`"),
        (pools, POPULARITY, SIZES, "config.json: it has 2 pools"),
        (missing.as_str(), POPULARITY, SIZES, "other.json: No such file"),
        (chained.as_str(), POPULARITY, SIZES, "addChainedRatio: this operation is not supported"),
        (config().as_str(), uneven, SIZES, "popularityBuckets: 2 values and 1 weights"),
        (config().as_str(), negative, SIZES, "popularityWeights: weights are 0 or more"),
        (config().as_str(), POPULARITY, large, "valSizeRange: values have 0 to 1073741824 bytes"),
        (config().as_str(), POPULARITY, "{}", "valSizeRangeProbability: it is missing, or empty"),
        (config().as_str(), zero, SIZES, "popularityBuckets: there are no keys"),
        (config().as_str(), half, SIZES, "popularityBuckets: numbers of keys are whole"),
    ] {
        let (_folder, path) = folder(config, popularity, sizes);
        let error = CacheBench::read(&path, None).expect_err(wanted).to_string();
        assert!(error.contains(wanted), "{error}");
    }
}
