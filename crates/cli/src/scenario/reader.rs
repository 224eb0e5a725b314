//! Reads a document into the parts of a system and collects everything that is wrong.

use super::document::{Item, Section, Value};
use super::keys;
use super::nearest::{enumerate, nearest};
use super::problem::Problem;
use super::source::Place;
use super::spelling::{self, RangeValue};
use std::ops::RangeInclusive;
use tailcut_base::config::{Configure, KeyVisitor, Names};
use tailcut_base::quantity;
use tailcut_base::{BadValue, Nanos};

/// Walks `part` over the document: keys that are written get their values, the others keep theirs. Returns
/// the problems, in no particular order; if there are any, the part is invalid.
pub fn read(part: &mut dyn Configure, document: &Section) -> Vec<Problem> {
    walk(part, document, Checks::Everything)
}

/// As [`read`], but without the problems that other values may solve: values that cannot be read, are out of
/// range or do not exist, and unknown keys.
pub fn read_values(part: &mut dyn Configure, document: &Section) -> Vec<Problem> {
    walk(part, document, Checks::Values)
}

/// What a walk complains about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Checks {
    Everything,
    /// Each value by itself.
    Values,
}

fn walk(part: &mut dyn Configure, document: &Section, checks: Checks) -> Vec<Problem> {
    let (levels, problems, unknown) = (Vec::new(), Vec::new(), Vec::new());
    let mut reader = Reader { document, checks, levels, problems, unknown, failures: 0 };
    reader.enter(String::new(), Some(document));
    part.configure(&mut reader);
    reader.leave();
    let Reader { mut problems, unknown, .. } = reader;
    if !unknown.is_empty() {
        let all = keys::list(part);
        problems.extend(unknown.into_iter().map(|key| key.problem(&all)));
    }
    problems
}

/// The walk.
struct Reader<'d> {
    document: &'d Section,
    checks: Checks,
    /// The sections from the top to where the walk is.
    levels: Vec<Level<'d>>,
    problems: Vec<Problem>,
    unknown: Vec<UnknownKey>,
    /// Values that were not read, so that what the part holds is not what the user meant.
    failures: usize,
}

/// A section on the way.
struct Level<'d> {
    /// Its path with dots; empty at the top.
    path: String,
    /// Its content in the document, if it is there.
    section: Option<&'d Section>,
    /// The keys that the part has visited.
    known: Vec<&'static str>,
    /// Keys that it had once.
    replaced: Vec<&'static str>,
    /// Those of them that were written and are texts, whose form only the part knows.
    texts: Vec<&'static str>,
    /// The part's complaints about its values: blamed key and message.
    doubts: Vec<(&'static str, String)>,
    /// Failures before this section.
    failures: usize,
}

/// A key that no part knows.
struct UnknownKey {
    place: Place,
    name: String,
    section: String,
    known: Vec<&'static str>,
}

impl UnknownKey {
    /// Suggests names of this section that have it as a word, the same name in another section, or a similar
    /// one in this section or at the top level.
    fn problem(self, all: &[keys::Key]) -> Problem {
        let home = if self.section.is_empty() {
            String::from("at the top level")
        } else {
            format!("in [{}]", self.section)
        };
        let problem = Problem::at(self.place, format!("unknown key '{}' {home}", self.name));
        let at_top = all.iter().map(|key| key.path.as_str()).filter(|path| !path.contains('.'));
        let similar = nearest(&self.name, self.known.iter().copied().chain(at_top));
        let elsewhere = all.iter().find(|key| key.path.rsplit('.').next() == Some(self.name.as_str()));
        let has_word = |known: &&&str| known.split('_').any(|word| word == self.name);
        let longer: Vec<&str> = self.known.iter().filter(has_word).copied().collect();
        if !longer.is_empty() {
            return problem.remedy(format!("did you mean {}?", enumerate(&longer)));
        }
        match (similar, elsewhere) {
            (_, Some(key)) if key.path == self.name => {
                problem.remedy(format!("did you mean '{}' at the top level?", key.path))
            }
            (_, Some(key)) => problem.remedy(format!("did you mean '{}'?", key.path)),
            (Some(name), None) if !self.known.contains(&name) => {
                problem.remedy(format!("did you mean '{name}' at the top level?"))
            }
            (Some(name), None) => problem.remedy(format!("did you mean '{name}'?")),
            (None, None) if self.known.is_empty() => problem.remedy("there are no keys here"),
            (None, None) => problem.remedy(format!("the keys here are {}", enumerate(&self.known))),
        }
    }
}

/// Why a value was refused, and what would be right.
struct Refusal {
    message: String,
    remedy: String,
}

impl Refusal {
    fn new(message: impl Into<String>, remedy: impl Into<String>) -> Refusal {
        Refusal { message: message.into(), remedy: remedy.into() }
    }
}

impl From<BadValue> for Refusal {
    fn from(bad: BadValue) -> Refusal {
        match bad.message.split_once("; ") {
            Some((wrong, right)) => Refusal::new(wrong, right),
            None => Refusal::new(bad.message, ""),
        }
    }
}

impl<'d> Reader<'d> {
    fn enter(&mut self, path: String, section: Option<&'d Section>) {
        let (known, replaced, texts, doubts) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        self.levels.push(Level { path, section, known, replaced, texts, doubts, failures: self.failures });
    }

    /// Ends a section: what was written and not visited is unknown. What the part thinks of its
    /// values counts only if they are what the user wrote, or else one slip would be two problems.
    fn leave(&mut self) {
        let level = self.levels.pop().expect("every section that is left was entered");
        for (name, item) in level.section.iter().flat_map(|section| &section.items) {
            if !level.known.contains(&name.as_str()) && !level.replaced.contains(&name.as_str()) {
                self.failures += 1;
                let known = level.known.clone();
                let (name, section) = (name.clone(), level.path.clone());
                self.unknown.push(UnknownKey { place: item.key.clone(), name, section, known });
            }
        }
        if self.failures == level.failures {
            let blame = |(key, message): &(&'static str, String)| {
                let path = level.path_of(key);
                let place = self.document.place_to_blame(&path, message);
                Problem { place, message: format!("{path}: {message}"), remedy: None }
            };
            let counts = |(key, _): &&(&'static str, String)| {
                self.checks == Checks::Everything || level.texts.contains(key)
            };
            self.problems.extend(level.doubts.iter().filter(counts).map(blame));
        }
    }

    fn level(&mut self) -> &mut Level<'d> {
        self.levels.last_mut().expect("the walk is inside the top level")
    }

    /// The item of a key, which is known from now on.
    fn find(&mut self, key: &'static str) -> Option<&'d Item> {
        let level = self.level();
        level.known.push(key);
        level.section.and_then(|section| section.items.get(key))
    }

    fn refuse(&mut self, key: &str, place: &Place, refusal: Refusal) {
        self.failures += 1;
        let path = self.level().path_of(key);
        let problem = Problem::at(place.clone(), format!("{path}: {}", refusal.message));
        self.problems.push(if refusal.remedy.is_empty() { problem } else { problem.remedy(refusal.remedy) });
    }

    /// Reads one value where the key is written, and stores it if it is good.
    fn take<T>(&mut self, key: &'static str, value: &mut T, read: impl Fn(&Value) -> Result<T, Refusal>) {
        let Some(item) = self.find(key) else { return };
        match read(&item.value) {
            Ok(good) => *value = good,
            Err(mut refusal) => {
                if let Value::List(list) = &item.value {
                    refusal.remedy = one_of(list, &refusal.remedy, &self.level().path_of(key));
                }
                self.refuse(key, &item.place, refusal);
            }
        }
    }
}

/// The remedy for a list where `key` takes one value, which `form` describes: lists of values belong to
/// comparisons.
fn one_of(list: &[(Place, Value)], form: &str, key: &str) -> String {
    let scalars: Vec<&str> = list.iter().filter_map(|(_, value)| value.scalar()).collect();
    let values = if scalars.is_empty() { String::from("A,B") } else { scalars.join(",") };
    format!(
        "it takes one value; {form}. To run it with each of several: tailcut compare --vary {key}={values}"
    )
}

impl Level<'_> {
    fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }
}

/// Something written as a text or as a number, in the form that `parse` reads.
fn quantity<T>(value: &Value, what: &str, parse: impl Fn(&str) -> Result<T, BadValue>) -> Result<T, Refusal> {
    let Some(text) = value.scalar() else {
        // The parser knows the example that belongs into the remedy.
        let remedy = parse("").err().map(Refusal::from).map_or(String::new(), |refusal| refusal.remedy);
        return Err(Refusal::new(format!("this is {}, not {what}", value.kind()), remedy));
    };
    Ok(parse(text)?)
}

fn within<T: RangeValue>(
    value: T,
    range: &RangeInclusive<T>,
    show: impl Fn(T) -> String,
) -> Result<T, Refusal> {
    if range.contains(&value) {
        return Ok(value);
    }
    let wrong = format!("{} is out of range", show(value));
    Err(Refusal::new(wrong, format!("it can be {}", spelling::range(range, show))))
}

fn read_time(value: &Value, range: &RangeInclusive<Nanos>) -> Result<Nanos, Refusal> {
    within(quantity(value, "a length of time", quantity::parse_time)?, range, spelling::time)
}

/// A rate needs its unit, except for zero, which is zero in every unit.
fn parse_rate(text: &str) -> Result<u64, BadValue> {
    if text == "0" { Ok(0) } else { quantity::parse_rate(text) }
}

fn read_share(value: &Value) -> Result<u32, Refusal> {
    let parse = |text: &str| {
        // TOML writes small numbers with an exponent, people do not.
        let plain = text.parse::<f64>().ok().filter(|_| text.contains(['e', 'E']));
        quantity::parse_share(&plain.map_or_else(|| text.to_owned(), |number| format!("{number}")))
    };
    quantity(value, "a share", parse)
}

fn read_number(value: &Value) -> Result<f64, Refusal> {
    let refusal = |wrong: String| Refusal::new(wrong, "write it like 0.25 or 3");
    let Some(text) = value.scalar() else {
        return Err(refusal(format!("this is {}, not a number", value.kind())));
    };
    text.trim().parse().map_err(|_| refusal(format!("'{text}' is not a number")))
}

fn read_flag(value: &Value) -> Result<bool, Refusal> {
    match value {
        Value::Flag(flag) => Ok(*flag),
        Value::Text(text) => {
            let meant = match text.as_str() {
                "on" | "yes" => "write true, without quotes",
                "off" | "no" => "write false, without quotes",
                _ => "write true or false, without quotes",
            };
            Err(Refusal::new(format!("'{text}' is neither true nor false"), meant))
        }
        other => {
            Err(Refusal::new(format!("this is {}, not true or false", other.kind()), "write true or false"))
        }
    }
}

/// All names, each followed by the others that are accepted for it.
fn listed(names: Names) -> String {
    let with_aliases = |name: &&str| {
        let aliases: Vec<String> = names.aliases_of(name).map(|alias| format!("'{alias}'")).collect();
        let also = if aliases.is_empty() { String::new() } else { format!(" (or {})", aliases.join(", ")) };
        format!("'{name}'{also}")
    };
    names.shown.iter().map(with_aliases).collect::<Vec<_>>().join(", ")
}

fn read_choice(value: &Value, names: Names) -> Result<usize, Refusal> {
    let allowed = || format!("the names are {}", listed(names));
    if let &Value::Flag(flag) = value {
        let name = if flag { "on" } else { "off" };
        let meant = match names.position(name) {
            Some(_) => format!("did you mean '{name}'? The names are {}", listed(names)),
            None => allowed(),
        };
        return Err(Refusal::new(format!("there is no '{flag}'"), meant));
    }
    let Some(text) = value.scalar() else {
        return Err(Refusal::new(format!("this is {}, not a name", value.kind()), allowed()));
    };
    if let Some(index) = names.position(text) {
        return Ok(index);
    }
    let remedy = match nearest(text, names.shown.iter().copied()) {
        Some(name) => format!("did you mean '{name}'? The names are {}", listed(names)),
        None => allowed(),
    };
    Err(Refusal::new(format!("there is no '{text}'"), remedy))
}

impl KeyVisitor for Reader<'_> {
    fn section(&mut self, key: &'static str, _doc: &'static str, part: &mut dyn Configure) {
        let item = self.find(key);
        let path = self.level().path_of(key);
        let mut section = None;
        if let Some(item) = item {
            match &item.value {
                Value::Section(below) => section = Some(below),
                other => {
                    let wrong = format!("this is {}, not a section", other.kind());
                    let first = keys::list(part).into_iter().find(|key| !key.is_section());
                    let such_as = first.map_or(String::new(), |key| format!(", such as {path}.{}", key.path));
                    let remedy = format!(
                        "set its keys{such_as}; in a file, write [{path}] on a line of its own and the keys \
                            below it"
                    );
                    self.refuse(key, &item.place, Refusal::new(wrong, remedy));
                }
            }
        }
        self.enter(path, section);
        part.configure(self);
        self.leave();
    }

    fn optional_section(
        &mut self,
        key: &'static str,
        doc: &'static str,
        part: &mut dyn Configure,
        is_used: bool,
    ) {
        let is_written = self.level().section.is_some_and(|section| section.items.contains_key(key));
        if is_used || is_written {
            self.section(key, doc, part);
        } else {
            self.find(key);
        }
    }

    fn time(
        &mut self,
        key: &'static str,
        _doc: &'static str,
        value: &mut Nanos,
        range: RangeInclusive<Nanos>,
    ) {
        self.take(key, value, |written| read_time(written, &range));
    }

    fn times(
        &mut self,
        key: &'static str,
        _doc: &'static str,
        value: &mut Vec<Nanos>,
        range: RangeInclusive<Nanos>,
    ) {
        let Some(item) = self.find(key) else { return };
        let before = self.failures;
        let mut times = Vec::new();
        let single;
        let list: &[(Place, Value)] = match &item.value {
            Value::List(list) => list,
            other => {
                single = [(item.place.clone(), other.clone())];
                &single
            }
        };
        for (place, written) in list {
            match read_time(written, &range) {
                Ok(time) => times.push(time),
                Err(refusal) => self.refuse(key, place, refusal),
            }
        }
        if list.is_empty() {
            let refusal = Refusal::new("the list is empty", "write at least one length of time");
            self.refuse(key, &item.place, refusal);
        }
        if self.failures == before {
            *value = times;
        }
    }

    fn bytes(&mut self, key: &'static str, _doc: &'static str, value: &mut u64, range: RangeInclusive<u64>) {
        self.take(key, value, |written| {
            if let Value::Float(text) = written {
                return Err(Refusal::new(
                    format!("{text} is not a whole number of bytes"),
                    "write it like \"1.5KiB\"",
                ));
            }
            within(quantity(written, "a size", quantity::parse_bytes)?, &range, spelling::bytes)
        });
    }

    fn rate(&mut self, key: &'static str, _doc: &'static str, value: &mut u64, range: RangeInclusive<u64>) {
        self.take(key, value, |written| {
            within(quantity(written, "a rate", parse_rate)?, &range, spelling::rate)
        });
    }

    fn share(&mut self, key: &'static str, _doc: &'static str, value: &mut u32, range: RangeInclusive<u32>) {
        self.take(key, value, |written| within(read_share(written)?, &range, spelling::share));
    }

    fn number(&mut self, key: &'static str, _doc: &'static str, value: &mut f64, range: RangeInclusive<f64>) {
        self.take(key, value, |written| within(read_number(written)?, &range, spelling::number));
    }

    fn count(&mut self, key: &'static str, _doc: &'static str, value: &mut u64, range: RangeInclusive<u64>) {
        self.take(key, value, |written| {
            within(quantity(written, "a whole number", quantity::parse_count)?, &range, spelling::count)
        });
    }

    fn flag(&mut self, key: &'static str, _doc: &'static str, value: &mut bool) {
        self.take(key, value, read_flag);
    }

    fn choice(&mut self, key: &'static str, _doc: &'static str, value: &mut usize, names: Names) {
        self.take(key, value, |written| read_choice(written, names));
    }

    fn text(&mut self, key: &'static str, doc: &'static str, value: &mut String) {
        let level = self.level();
        if level.section.is_some_and(|section| section.items.contains_key(key)) {
            level.texts.push(key);
        }
        // A shell eats quotes, so that `--set title=7` is a number here and meant as a text.
        self.take(key, value, |written| match written.scalar() {
            Some(text) => Ok(text.to_owned()),
            None => {
                let message = format!("this is {}, not a text", written.kind());
                let is_list = matches!(written, Value::List(_));
                let form = if is_list { doc.trim_end_matches('.') } else { "put it into double quotes" };
                Err(Refusal::new(message, form))
            }
        });
    }

    fn replaced(&mut self, key: &'static str, by: &'static str) {
        let level = self.level();
        level.replaced.push(key);
        if let Some(item) = level.section.and_then(|section| section.items.get(key)) {
            self.refuse(key, &item.key, Refusal::new("this key is gone", format!("set {by} instead")));
        }
    }

    fn problem(&mut self, key: &'static str, message: String) {
        self.level().doubts.push((key, message));
    }
}
