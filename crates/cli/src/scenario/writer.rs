//! Prints a resolved scenario as TOML that can be read back.

use super::spelling;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::RangeInclusive;
use tailcut_base::Nanos;
use tailcut_base::config::{Configure, KeyVisitor, Names};

/// Whether the meaning of each key is printed above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comments {
    /// A comment above every key and section.
    Shown,
    /// Keys and values only.
    Left,
}

/// Every key of `part` with its value. Reading the result into any value of the same type gives
/// the same values.
pub fn write(part: &mut dyn Configure, comments: Comments) -> String {
    write_except(part, comments, &BTreeMap::new())
}

/// As [`write()`], with the keys in `idle` as comments, each with the reason why it has no effect: keys by
/// their paths.
pub fn write_except(part: &mut dyn Configure, comments: Comments, idle: &BTreeMap<String, String>) -> String {
    let mut writer = Writer::new(comments, idle, String::new());
    part.configure(&mut writer);
    let text = writer.body + &writer.sections;
    text.trim_start().to_owned()
}

/// One section. TOML wants the keys of a section before the sections below it, in any order of the walk.
struct Writer<'i> {
    comments: Comments,
    /// Keys without effect, by their paths, and why.
    idle: &'i BTreeMap<String, String>,
    /// The path with dots; empty at the top.
    path: String,
    /// The keys of this section.
    body: String,
    /// The sections below, complete.
    sections: String,
}

impl<'i> Writer<'i> {
    fn new(comments: Comments, idle: &'i BTreeMap<String, String>, path: String) -> Writer<'i> {
        Writer { comments, idle, path, body: String::new(), sections: String::new() }
    }

    /// The path of a key or section here.
    fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    fn put(&mut self, key: &str, doc: &str, value: &str) {
        if self.comments == Comments::Shown {
            comment(&mut self.body, doc);
        }
        let is_idle = self.idle.get(&self.path_of(key));
        if let Some(why) = is_idle {
            comment(&mut self.body, &format!("It has no effect: {why}."));
        }
        let sign = if is_idle.is_some() { "# " } else { "" };
        writeln!(self.body, "{sign}{key} = {value}").expect("a string takes every text");
    }

    fn put_quoted(&mut self, key: &str, doc: &str, value: &str) {
        self.put(key, doc, &spelling::quoted(value));
    }
}

/// Adds `doc` as comment lines no wider than a page.
fn comment(text: &mut String, doc: &str) {
    let mut line = String::from("#");
    for word in doc.split_whitespace() {
        if line.chars().count() + 1 + word.chars().count() > PAGE && line != "#" {
            text.push_str(&line);
            text.push('\n');
            line = String::from("#");
        }
        line.push(' ');
        line.push_str(word);
    }
    if line != "#" {
        text.push_str(&line);
        text.push('\n');
    }
}

/// Columns of a comment.
const PAGE: usize = 96;

impl KeyVisitor for Writer<'_> {
    fn section(&mut self, key: &'static str, doc: &'static str, part: &mut dyn Configure) {
        let mut below = Writer::new(self.comments, self.idle, self.path_of(key));
        part.configure(&mut below);
        self.sections.push('\n');
        if self.comments == Comments::Shown {
            comment(&mut self.sections, doc);
        }
        writeln!(self.sections, "[{}]", below.path).expect("a string takes every text");
        self.sections += &below.body;
        self.sections += &below.sections;
    }

    fn time(
        &mut self,
        key: &'static str,
        doc: &'static str,
        value: &mut Nanos,
        _range: RangeInclusive<Nanos>,
    ) {
        self.put_quoted(key, doc, &spelling::time(*value));
    }

    fn times(
        &mut self,
        key: &'static str,
        doc: &'static str,
        value: &mut Vec<Nanos>,
        _range: RangeInclusive<Nanos>,
    ) {
        let quoted: Vec<String> = value.iter().map(|&time| spelling::quoted(&spelling::time(time))).collect();
        match quoted.as_slice() {
            [one] => self.put(key, doc, one),
            several => self.put(key, doc, &format!("[{}]", several.join(", "))),
        }
    }

    fn bytes(&mut self, key: &'static str, doc: &'static str, value: &mut u64, _range: RangeInclusive<u64>) {
        self.put_quoted(key, doc, &spelling::bytes(*value));
    }

    fn rate(&mut self, key: &'static str, doc: &'static str, value: &mut u64, _range: RangeInclusive<u64>) {
        self.put_quoted(key, doc, &spelling::rate(*value));
    }

    fn share(&mut self, key: &'static str, doc: &'static str, value: &mut u32, _range: RangeInclusive<u32>) {
        self.put_quoted(key, doc, &spelling::share(*value));
    }

    fn number(&mut self, key: &'static str, doc: &'static str, value: &mut f64, _range: RangeInclusive<f64>) {
        self.put(key, doc, &spelling::number(*value));
    }

    fn count(&mut self, key: &'static str, doc: &'static str, value: &mut u64, _range: RangeInclusive<u64>) {
        // TOML promises 63 bits only.
        match i64::try_from(*value) {
            Ok(small) => self.put(key, doc, &small.to_string()),
            Err(_) => self.put_quoted(key, doc, &spelling::count(*value)),
        }
    }

    fn flag(&mut self, key: &'static str, doc: &'static str, value: &mut bool) {
        self.put(key, doc, &value.to_string());
    }

    fn choice(&mut self, key: &'static str, doc: &'static str, value: &mut usize, names: Names) {
        self.put_quoted(key, doc, names.shown[*value]);
    }

    fn text(&mut self, key: &'static str, doc: &'static str, value: &mut String) {
        self.put_quoted(key, doc, value);
    }

    fn problem(&mut self, _key: &'static str, _message: String) {}
}
