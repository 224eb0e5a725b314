//! The keys of arrays.

use super::*;
use std::fmt::Debug;
use std::ops::RangeInclusive;
use tailcut_base::config::Names;

/// Lists keys with their sections, and asserts that values are in their ranges.
#[derive(Default)]
struct Listing {
    path: Vec<&'static str>,
    keys: Vec<String>,
}

impl Listing {
    fn key(&mut self, key: &'static str) {
        self.keys.push([self.path.as_slice(), &[key]].concat().join("."));
    }

    fn value<T: PartialOrd + Debug>(&mut self, key: &'static str, value: &T, range: &RangeInclusive<T>) {
        self.key(key);
        assert!(range.contains(value), "{key}: {value:?} is not in {range:?}");
    }
}

impl KeyVisitor for Listing {
    fn section(&mut self, key: &'static str, _: &'static str, part: &mut dyn Configure) {
        self.path.push(key);
        part.configure(self);
        self.path.pop();
    }
    fn time(&mut self, key: &'static str, _: &'static str, value: &mut Nanos, range: RangeInclusive<Nanos>) {
        self.value(key, value, &range);
    }
    fn times(&mut self, key: &'static str, _: &'static str, _: &mut Vec<Nanos>, _: RangeInclusive<Nanos>) {
        self.key(key);
    }
    fn bytes(&mut self, key: &'static str, _: &'static str, value: &mut u64, range: RangeInclusive<u64>) {
        self.value(key, value, &range);
    }
    fn rate(&mut self, key: &'static str, _: &'static str, value: &mut u64, range: RangeInclusive<u64>) {
        self.value(key, value, &range);
    }
    fn share(&mut self, key: &'static str, _: &'static str, value: &mut u32, range: RangeInclusive<u32>) {
        self.value(key, value, &range);
    }
    fn number(&mut self, key: &'static str, _: &'static str, value: &mut f64, range: RangeInclusive<f64>) {
        self.value(key, value, &range);
    }
    fn count(&mut self, key: &'static str, _: &'static str, value: &mut u64, range: RangeInclusive<u64>) {
        self.value(key, value, &range);
    }
    fn flag(&mut self, key: &'static str, _: &'static str, _: &mut bool) {
        self.key(key);
    }
    fn choice(&mut self, key: &'static str, _: &'static str, _: &mut usize, _: Names) {
        self.key(key);
    }
    fn text(&mut self, key: &'static str, _: &'static str, _: &mut String) {
        self.key(key);
    }
    fn problem(&mut self, key: &'static str, message: String) {
        panic!("{key}: {message}");
    }
}

#[test]
fn the_parts_of_an_array_have_their_keys_and_defaults_in_range() {
    let mut listing = Listing::default();
    ArrayConfig::default().configure(&mut listing);
    for key in
        ["layout", "raid.chunk", "raid.journal", "log.segment", "log.spare", "log.appends", "epoch.copies"]
    {
        assert!(listing.keys.iter().any(|found| found == key), "{key} among {:?}", listing.keys);
    }
}
