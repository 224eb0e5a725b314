//! Lists the keys that a scenario can have: for people on a terminal, for programs, and for the
//! manual.

use super::spelling;
use serde_json::json;
use std::ops::RangeInclusive;
use tailcut_base::Nanos;
use tailcut_base::config::{Configure, KeyVisitor, Names};

/// A key, or a section of keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The path with dots, as `--set` takes it.
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
}

/// Every key of `part` in the order in which a scenario is printed: each section before its keys,
/// its own keys before the sections below it.
pub fn list(part: &mut dyn Configure) -> Vec<Key> {
    let mut lister = Lister::default();
    part.configure(&mut lister);
    lister.finish()
}

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

/// The keys for programs.
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
        self.add(key, doc, "true or false", "", value.to_string());
    }

    fn choice(&mut self, key: &'static str, doc: &'static str, value: &mut usize, names: Names) {
        self.add(key, doc, "name", names.shown.join(", "), names.shown[*value]);
    }

    fn text(&mut self, key: &'static str, doc: &'static str, value: &mut String) {
        self.add(key, doc, "text", "", spelling::quoted(value));
    }

    fn problem(&mut self, _key: &'static str, _message: String) {}
}
