//! Admission to flash by size, time to live and write budget, and the order in which segments are reclaimed.

use super::harness::settings;
use super::served::Served;
use tailcut_base::Nanos;
use tailcut_host::kv::{AdmissionSettings, Keep, Settings};

const VALUE: usize = 8000;
const OVER_BUDGET: &str = "flash_refused_write_budget";

struct Cache(Served);

impl Cache {
    fn new(admission: AdmissionSettings) -> Cache {
        Cache(Served::new(Settings { admission, ..settings(Keep::WhatIsUsed) }))
    }

    fn send(&mut self, command: &str) -> String {
        self.0.send(command, 40)
    }

    /// Stores items `NAME-0` and so on with a time to live, if they have one.
    fn store(&mut self, name: &str, count: usize, ttl: Option<Nanos>) {
        let ttl = ttl.map_or(0.0, Nanos::as_secs_f64);
        let value = "x".repeat(VALUE);
        for number in 0..count {
            let command = format!("set {name}-{number} 0 {ttl} {VALUE}\r\n{value}\r\n");
            assert_eq!(self.send(&command), "STORED\r\n");
        }
    }

    fn found(&mut self, name: &str, count: usize) -> usize {
        (0..count)
            .filter(|number| self.send(&format!("get {name}-{number}\r\n")).starts_with("VALUE"))
            .count()
    }

    /// A figure of `stats`.
    fn figure(&mut self, name: &str) -> u64 {
        let stats = self.send("stats\r\n");
        let line = stats.lines().find_map(|line| line.strip_prefix(&format!("STAT {name} ")));
        line.unwrap_or_else(|| panic!("no {name} in {stats}")).parse().expect("a number")
    }

    /// Bytes of records written to flash.
    fn written(&mut self) -> u64 {
        self.figure("extstore_bytes_written")
    }
}

#[test]
fn expired_items_go_before_older_ones_that_live() {
    // 16 MB of flash: 600 items are 5 MB, three times of which fit.
    let mut cache = Cache::new(AdmissionSettings::default());
    cache.store("old", 600, None);
    cache.store("brief", 600, Some(Nanos::secs(60)));
    let before = cache.found("old", 600);
    assert!(before > 500, "{before} of the old ones are on flash");
    cache.0.unix += 100;
    // More than there is room for, unless the brief ones go.
    cache.store("new", 900, None);
    let left = cache.found("old", 600);
    assert!(
        left >= before * 95 / 100,
        "{left} of {before} are left, and {} new ones",
        cache.found("new", 900)
    );
}

#[test]
fn a_write_budget_bounds_what_goes_to_flash_and_says_so() {
    let mut free = Cache::new(AdmissionSettings::default());
    free.store("item", 600, None);
    assert!(free.written() > 3_000_000 && free.figure(OVER_BUDGET) == 0);
    // A minute's share is 1 MB, and all of it happens in less than a second.
    let bound = AdmissionSettings { daily_bytes: 1_440_000_000, ..AdmissionSettings::default() };
    let mut bounded = Cache::new(bound);
    bounded.store("item", 600, None);
    let (written, refused) = (bounded.written(), bounded.figure(OVER_BUDGET));
    assert!((1_000_000..1_100_000).contains(&written), "{written} bytes");
    assert!(refused > 300, "{refused} refused");
}

#[test]
fn small_and_brief_items_stay_in_memory() {
    let small = AdmissionSettings { least_item: 10_000, ..AdmissionSettings::default() };
    let mut cache = Cache::new(small);
    cache.store("item", 400, None);
    assert!(cache.written() == 0 && cache.figure("flash_refused_size") > 200);
    let brief = AdmissionSettings { least_ttl: 100, ..AdmissionSettings::default() };
    let mut cache = Cache::new(brief);
    cache.store("brief", 200, Some(Nanos::secs(50)));
    assert_eq!(cache.written(), 0);
    cache.store("long", 400, Some(Nanos::secs(500)));
    assert!(cache.written() > 1_000_000 && cache.figure("flash_refused_ttl") > 0);
}
