//! Lists the keys that a scenario can have: for people on a terminal, for programs, and for the
//! manual.

use super::nearest::{nearest, plain};
use super::spelling;
use serde_json::json;
use std::ops::RangeInclusive;
use tailcut_base::Nanos;
use tailcut_base::config::{Configure, KeyVisitor, Names};

/// A key, or a section of keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Path of the key with dots, as `--set` takes it.
    pub path: String,
    /// One sentence: meaning, unit, and what is special about it.
    pub doc: &'static str,
    /// What kind of value it takes: "time", "size", …; "section" for a section.
    pub kind: &'static str,
    /// What values it takes: a range or names; empty where everything of its kind is allowed.
    pub allowed: String,
    /// The value of the part that was walked, spelled as in `--set`; empty for a section.
    pub default: String,
}

impl Key {
    /// Whether this is a section and takes no value itself.
    pub fn is_section(&self) -> bool {
        self.kind == "section"
    }

    /// The last part of its path.
    fn name(&self) -> &str {
        self.path.rsplit('.').next().unwrap_or_default()
    }

    /// The path of the section that holds it; empty at the top.
    fn section(&self) -> &str {
        self.path.rsplit_once('.').map_or("", |(section, _)| section)
    }
}

/// Every key of `part` in the order in which a scenario is printed: each section before its keys,
/// its own keys before the sections below it.
pub fn list(part: &mut dyn Configure) -> Vec<Key> {
    let mut lister = Lister::default();
    part.configure(&mut lister);
    lister.finish()
}

/// The keys whose path or meaning, or the meaning of whose section, contains `pattern`, in any case of
/// letters and with any kind of dash, each below its section. An empty pattern matches all keys; without a
/// match the list is empty.
pub fn matching(all: &[Key], pattern: &str) -> Vec<Key> {
    if pattern.is_empty() {
        return all.to_vec();
    }
    let wanted = plain(pattern);
    let contains = |text: &str| plain(text).contains(&wanted);
    let sections: Vec<&str> =
        all.iter().filter(|key| key.is_section() && contains(key.doc)).map(|key| &*key.path).collect();
    let is_match = |key: &Key| {
        !key.is_section() && (contains(&key.path) || contains(key.doc) || sections.contains(&key.section()))
    };
    let found: Vec<&Key> = all.iter().filter(|key| is_match(key)).collect();
    let holds_match = |section: &Key| found.iter().any(|key| key.section() == section.path);
    all.iter().filter(|key| is_match(key) || key.is_section() && holds_match(key)).cloned().collect()
}

/// The paths of the keys that a `pattern` without a match may mean: those with the most similar path or name.
pub fn similar<'k>(all: &'k [Key], pattern: &str) -> Vec<&'k str> {
    let keys = || all.iter().filter(|key| !key.is_section());
    let names = || keys().map(Key::name);
    let (_, last) = pattern.rsplit_once('.').unwrap_or(("", pattern));
    let near = nearest(pattern, keys().map(|key| key.path.as_str()).chain(names()));
    let near = near.or_else(|| nearest(last, names()));
    keys()
        .filter(|key| Some(key.path.as_str()) == near || Some(key.name()) == near)
        .map(|key| &*key.path)
        .collect()
}

/// What `--set` may begin with, for shells to complete: `key=`, or `key=value` for each value where a key
/// takes names or `true` and `false`.
pub fn settings(all: &[Key]) -> Vec<String> {
    let values = |key: &Key| match key.kind {
        FLAG => vec![String::from("false"), String::from("true")],
        NAME => key.allowed.split(", ").map(String::from).collect(),
        _ => vec![String::new()],
    };
    let keys = all.iter().filter(|key| !key.is_section());
    keys.flat_map(|key| values(key).into_iter().map(|value| format!("{}={value}", key.path))).collect()
}

/// Kinds of values with few values.
const FLAG: &str = "true or false";
const NAME: &str = "name";

/// The keys for a terminal: a line of path, default and allowed values, the meaning below it.
pub fn show(keys: &[Key]) -> String {
    let mut text = String::new();
    for key in keys {
        if key.is_section() {
            text += &format!("\n[{}]  {}\n", key.path, key.doc);
            continue;
        }
        let allowed = if key.allowed.is_empty() { String::new() } else { format!(" ({})", key.allowed) };
        text += &format!("{} = {}\n    {}{allowed}. {}\n", key.path, key.default, key.kind, key.doc);
    }
    text
}

/// The keys for the manual: a table for each section.
pub fn markdown(keys: &[Key]) -> String {
    const HEAD: &str = "\n| key | kind | default | allowed | meaning |\n| --- | --- | --- | --- | --- |\n";
    let cell = |text: &str| text.replace('|', "\\|");
    let mut text = String::new();
    let mut home: Option<&str> = None;
    for key in keys {
        let (section, name) = key.path.rsplit_once('.').unwrap_or(("", &key.path));
        if key.is_section() {
            text += &format!("\n### `[{}]`\n\n{}\n", key.path, key.doc);
            home = None;
            continue;
        }
        if home != Some(section) {
            text += HEAD;
            home = Some(section);
        }
        let (default, allowed) = (cell(&key.default), cell(&key.allowed));
        text += &format!("| `{name}` | {} | `{default}` | {allowed} | {} |\n", key.kind, cell(key.doc));
    }
    text.trim_start().to_owned()
}

/// The keys as JSON, for programs.
pub fn to_json(keys: &[Key]) -> serde_json::Value {
    let entry = |key: &Key| {
        json!({
            "key": key.path, "kind": key.kind, "default": key.default,
            "allowed": key.allowed, "meaning": key.doc,
        })
    };
    keys.iter().map(entry).collect()
}

/// One section.
#[derive(Default)]
struct Lister {
    /// Its path with dots; empty at the top.
    path: String,
    keys: Vec<Key>,
    /// The sections below, complete.
    sections: Vec<Key>,
}

impl Lister {
    fn finish(mut self) -> Vec<Key> {
        self.keys.append(&mut self.sections);
        self.keys
    }

    fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    fn add(
        &mut self,
        key: &str,
        doc: &'static str,
        kind: &'static str,
        allowed: impl Into<String>,
        default: impl Into<String>,
    ) {
        let path = self.path_of(key);
        let mut allowed = allowed.into();
        if allowed == "any" {
            allowed.clear();
        }
        self.keys.push(Key { path, doc, kind, allowed, default: default.into() });
    }
}

impl KeyVisitor for Lister {
    fn section(&mut self, key: &'static str, doc: &'static str, part: &mut dyn Configure) {
        let path = self.path_of(key);
        let head =
            Key { path: path.clone(), doc, kind: "section", allowed: String::new(), default: String::new() };
        let mut below = Lister { path, ..Lister::default() };
        part.configure(&mut below);
        self.sections.push(head);
        self.sections.append(&mut below.finish());
    }

    fn time(
        &mut self,
        key: &'static str,
        doc: &'static str,
        value: &mut Nanos,
        range: RangeInclusive<Nanos>,
    ) {
        self.add(key, doc, "time", spelling::range(&range, spelling::time), spelling::time(*value));
    }

    fn times(
        &mut self,
        key: &'static str,
        doc: &'static str,
        value: &mut Vec<Nanos>,
        range: RangeInclusive<Nanos>,
    ) {
        let times: Vec<String> = value.iter().map(|&time| spelling::time(time)).collect();
        let default = match times.as_slice() {
            [one] => one.clone(),
            several => format!("[{}]", several.join(", ")),
        };
        self.add(key, doc, "time or list of times", spelling::range(&range, spelling::time), default);
    }

    fn bytes(&mut self, key: &'static str, doc: &'static str, value: &mut u64, range: RangeInclusive<u64>) {
        self.add(key, doc, "size", spelling::range(&range, spelling::bytes), spelling::bytes(*value));
    }

    fn rate(&mut self, key: &'static str, doc: &'static str, value: &mut u64, range: RangeInclusive<u64>) {
        self.add(key, doc, "rate", spelling::range(&range, spelling::rate), spelling::rate(*value));
    }

    fn share(&mut self, key: &'static str, doc: &'static str, value: &mut u32, range: RangeInclusive<u32>) {
        self.add(key, doc, "share", spelling::range(&range, spelling::share), spelling::share(*value));
    }

    fn number(&mut self, key: &'static str, doc: &'static str, value: &mut f64, range: RangeInclusive<f64>) {
        self.add(key, doc, "number", spelling::range(&range, spelling::number), spelling::number(*value));
    }

    fn count(&mut self, key: &'static str, doc: &'static str, value: &mut u64, range: RangeInclusive<u64>) {
        self.add(key, doc, "count", spelling::range(&range, spelling::count), spelling::count(*value));
    }

    fn flag(&mut self, key: &'static str, doc: &'static str, value: &mut bool) {
        self.add(key, doc, FLAG, "", value.to_string());
    }

    fn choice(&mut self, key: &'static str, doc: &'static str, value: &mut usize, names: Names) {
        self.add(key, doc, NAME, names.shown.join(", "), names.shown[*value]);
    }

    fn text(&mut self, key: &'static str, doc: &'static str, value: &mut String) {
        self.add(key, doc, "text", "", spelling::quoted(value));
    }

    fn problem(&mut self, _key: &'static str, _message: String) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys() -> Vec<Key> {
        let key = |path: &str, doc, kind| Key {
            path: path.into(),
            doc,
            kind,
            allowed: String::new(),
            default: String::new(),
        };
        vec![
            key("seed", "Seed of all random streams.", "count"),
            key("device", "The drive.", "section"),
            key("device.gc", "Garbage collection.", "section"),
            key("device.gc.soft_limit", "Free blocks below which collection starts.", "count"),
            key("device.timing", "Times of the flash.", "section"),
            key("device.timing.read", "Time to read a page.", "time"),
            key("workload", "The load.", "section"),
            key("workload.read", "Share of reads.", "share"),
        ]
    }

    fn found(pattern: &str) -> Vec<String> {
        matching(&keys(), pattern).into_iter().map(|key| key.path).collect()
    }

    #[test]
    fn a_pattern_finds_paths_and_meanings_below_their_sections() {
        assert_eq!(found("device.timing"), ["device.timing", "device.timing.read"]);
        assert_eq!(found("RANDOM"), ["seed"]);
        assert_eq!(found("soft-limit"), ["device.gc", "device.gc.soft_limit"]);
        assert_eq!(found("read"), ["device.timing", "device.timing.read", "workload", "workload.read"]);
        assert_eq!(found("garbage coll"), ["device.gc", "device.gc.soft_limit"], "the meaning of a section");
        assert!(found("xylophone").is_empty());
        assert_eq!(matching(&keys(), ""), keys());
    }

    #[test]
    fn a_pattern_without_a_match_gets_the_nearest_keys() {
        assert_eq!(similar(&keys(), "raed"), ["device.timing.read", "workload.read"]);
        assert_eq!(similar(&keys(), "device.timing.raed"), ["device.timing.read"]);
        assert_eq!(similar(&keys(), "drive.sede"), ["seed"]);
        assert!(similar(&keys(), "xylophone").is_empty());
    }
}
