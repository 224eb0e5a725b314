//! A scenario as it was written: a tree of values that know their places.

use super::problem::Problem;
use super::source::{Place, Source};
use std::borrow::Cow;
use std::collections::BTreeMap;
use toml::Spanned;
use toml::de::{DeArray, DeString, DeTable, DeValue};

/// The keys of a section.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// By name; a person's order does not matter to a reader that walks in its own.
    pub items: BTreeMap<String, Item>,
}

impl Section {
    /// Where the value of a dotted path is written, if it is.
    pub fn place_of(&self, path: &str) -> Option<Place> {
        let (name, rest) = path.split_once('.').unwrap_or((path, ""));
        let item = self.items.get(name)?;
        match &item.value {
            Value::Section(below) => below.place_of(rest).or_else(|| Some(item.key.clone())),
            _ => Some(item.place.clone()),
        }
    }

    /// Every value that is written, with the path of its key.
    pub fn written(&self) -> Vec<(String, &Item)> {
        let mut all = Vec::new();
        for (name, item) in &self.items {
            match &item.value {
                Value::Section(below) => {
                    let below = below.written();
                    all.extend(below.into_iter().map(|(path, item)| (format!("{name}.{path}"), item)));
                }
                _ => all.push((name.clone(), item)),
            }
        }
        all
    }

    /// What to show of a problem with the key `path`: its value, if that is written; else the key that the
    /// user gave and that `message` names, with its path or the end of it; else the only key of its section
    /// that is written; else the section.
    pub fn place_to_blame(&self, path: &str, message: &str) -> Option<Place> {
        let written = self.written();
        if let Some((_, item)) = written.iter().find(|(key, _)| key == path) {
            return Some(item.place.clone());
        }
        let is_of_path = |c: char| c.is_ascii_alphanumeric() || "._".contains(c);
        let words: Vec<&str> =
            message.split(|c: char| !is_of_path(c)).map(|word| word.trim_matches('.')).collect();
        let part = path.split('.').next().unwrap_or_default();
        // How many parts of a key's path the message names, from the end; a name alone counts only near the
        // key.
        let named = |key: &str| {
            let ends = std::iter::successors(Some(key), |end| end.split_once('.').map(|(_, rest)| rest));
            let end = ends.into_iter().find(|end| words.contains(end)).filter(|end| !end.is_empty())?;
            let is_near = end == key || key.split('.').next() == Some(part);
            is_near.then(|| end.split('.').count())
        };
        let last = |item: &Item| (item.key.source, item.key.span.start);
        let mut best: Option<(usize, &Item)> = None;
        for (key, item) in &written {
            if let Some(parts) = named(key)
                && best.is_none_or(|(most, known)| (parts, last(item)) > (most, last(known)))
            {
                best = Some((parts, item));
            }
        }
        if let Some((_, item)) = best {
            return Some(item.key.clone());
        }
        let section = path.rsplit_once('.').map_or("", |(section, _)| section);
        let below = |key: &str| key.strip_prefix(section).is_some_and(|rest| rest.starts_with('.'));
        let mut beside = written.iter().filter(|(key, _)| below(key));
        match (beside.next(), beside.next()) {
            (Some((_, only)), None) => return Some(only.key.clone()),
            _ if self.has_heading(path) => return self.place_of(path),
            _ => {}
        }
        // Settings have no headings of sections: the last one that is near.
        let near = |key: &str| key.split('.').zip(path.split('.')).take_while(|(a, b)| a == b).count();
        let nearest = written.iter().max_by_key(|(key, item)| (near(key), last(item)))?;
        (near(&nearest.0) > 0).then(|| nearest.1.key.clone())
    }

    /// Whether a section around a key has a line of its own in a file.
    fn has_heading(&self, path: &str) -> bool {
        let (name, rest) = path.split_once('.').unwrap_or((path, ""));
        self.items.get(name).is_some_and(|item| match &item.value {
            // One that a setting has made stands where its name does.
            Value::Section(below) => item.place != item.key || below.has_heading(rest),
            _ => false,
        })
    }
}

/// A key with its value.
#[derive(Clone, Debug)]
pub struct Item {
    /// Place of the key in the text.
    pub key: Place,
    /// Place of the value in the text.
    pub place: Place,
    /// The value as it was read.
    pub value: Value,
}

/// A value whose expected type is not known yet.
#[derive(Clone, Debug)]
pub enum Value {
    /// A string.
    Text(String),
    /// A whole number in decimal digits, perhaps with a sign.
    Integer(String),
    /// A number with a point or an exponent, as it was written.
    Float(String),
    /// `true` or `false`.
    Flag(bool),
    /// A list.
    List(Vec<(Place, Value)>),
    /// A section.
    Section(Section),
    /// A date or a time of day, which no key takes.
    Date,
}

impl Value {
    /// The type of this value, for a sentence such as "… is a list".
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Text(_) => "a text",
            Value::Integer(_) => "a whole number",
            Value::Float(_) => "a number with a point",
            Value::Flag(_) => "true or false",
            Value::List(_) => "a list",
            Value::Section(_) => "a section of keys",
            Value::Date => "a date",
        }
    }

    /// A string or a number as a text; `None` for other types.
    pub fn scalar(&self) -> Option<&str> {
        match self {
            Value::Text(text) | Value::Integer(text) | Value::Float(text) => Some(text),
            _ => None,
        }
    }
}

/// Reads the text of number `number` as TOML.
///
/// # Errors
/// The first syntax error with its place: what follows it is guesswork.
pub fn parse(number: usize, source: &Source) -> Result<Section, Problem> {
    match DeTable::parse(source.text()) {
        Ok(table) => Ok(section(Origin { source: number, offset: 0 }, table.get_ref())),
        Err(error) => {
            let span = error.span().unwrap_or(0..0);
            Err(syntax(Place::new(number, span), source, error.message().trim()))
        }
    }
}

/// A syntax error in plain words, without TOML's grammar.
fn syntax(place: Place, source: &Source, message: &str) -> Problem {
    if !message.starts_with("string values must be quoted") {
        return Problem::at(place, format!("not TOML: {message}"));
    }
    let (line, start) = source.line_around(place.span.start);
    let rest = line.get(place.span.start - start..).unwrap_or_default().trim();
    if rest.is_empty() || rest.starts_with('#') {
        return Problem::at(place, "not TOML: there is no value here").remedy("write a value after the '='");
    }
    let word = rest.split([',', ']', '}', '#']).next().unwrap_or_default().trim();
    Problem::at(place, "not TOML: names and quantities need quotes")
        .remedy(format!("write it like \"{word}\""))
}

/// Reads a text that starts at byte `offset` of text `number` as one TOML value; `None` when it is
/// none.
pub fn parse_value(number: usize, offset: usize, text: &str) -> Option<Value> {
    let parsed = DeValue::parse(text).ok()?;
    Some(value(Origin { source: number, offset }, parsed.get_ref()))
}

/// Where spans count from.
#[derive(Clone, Copy)]
struct Origin {
    source: usize,
    offset: usize,
}

impl Origin {
    fn place<T>(self, spanned: &Spanned<T>) -> Place {
        let span = spanned.span();
        Place::new(self.source, span.start + self.offset..span.end + self.offset)
    }
}

fn section(origin: Origin, table: &DeTable<'_>) -> Section {
    let item = |(key, of): (&Spanned<DeString<'_>>, &Spanned<DeValue<'_>>)| {
        let item =
            Item { key: origin.place(key), place: origin.place(of), value: value(origin, of.get_ref()) };
        (key.get_ref().to_string(), item)
    };
    Section { items: table.iter().map(item).collect() }
}

fn value(origin: Origin, value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(integer) => Value::Integer(decimal(integer.as_str(), integer.radix()).into_owned()),
        DeValue::Float(float) => Value::Float(float.as_str().to_owned()),
        DeValue::Boolean(flag) => Value::Flag(*flag),
        DeValue::Datetime(_) => Value::Date,
        DeValue::Array(array) => Value::List(list(origin, array)),
        DeValue::Table(table) => Value::Section(section(origin, table)),
    }
}

fn list(origin: Origin, array: &DeArray<'_>) -> Vec<(Place, Value)> {
    array.iter().map(|of| (origin.place(of), value(origin, of.get_ref()))).collect()
}

/// A TOML integer in decimal digits: hexadecimal, octal and binary are converted.
fn decimal(digits: &str, radix: u32) -> Cow<'_, str> {
    match i128::from_str_radix(digits, radix) {
        Ok(number) => Cow::Owned(number.to_string()),
        Err(_) => Cow::Borrowed(digits),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_places() {
        let source = Source::file("a.toml", "[device]\nread = [\"75us\", 0x10]\n");
        let document = parse(0, &source).expect("this is TOML");
        let Value::Section(device) = &document.items["device"].value else { panic!("a section") };
        let read = &device.items["read"];
        assert_eq!(&source.text()[read.key.span.clone()], "read");
        assert_eq!(&source.text()[read.place.span.clone()], "[\"75us\", 0x10]");
        let Value::List(list) = &read.value else { panic!("a list") };
        assert_eq!(&source.text()[list[1].0.span.clone()], "0x10");
        assert_eq!(list[1].1.scalar(), Some("16"));
    }

    #[test]
    fn a_syntax_error_has_a_place() {
        let problem = parse(0, &Source::file("a.toml", "x = 1\nread = 80us\n")).unwrap_err();
        assert!(problem.place.expect("a place").span.start >= 6);
    }
}
