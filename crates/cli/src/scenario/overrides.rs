//! `--set key.path=value`: values from the command line, laid over those of the file.

use super::document::{self, Item, Section, Value};
use super::problem::Problem;
use super::source::{Place, Source};
use std::ops::Range;

/// Lays one `--set` over a document. `number` is the number of its source, `source` the argument
/// as it is shown, which ends with the text after `--set`. Later settings of a key win.
///
/// # Errors
/// A setting without `=`, or with an empty part in the path of its key.
pub fn apply(document: &mut Section, number: usize, source: &Source) -> Result<(), Problem> {
    let text = source.text();
    let start = text.strip_prefix(OPTION).map_or(0, |_| OPTION.len());
    let whole = || Place::new(number, start..text.len());
    let example = "write it like --set workload.read=90%";
    let Some(equals) = text[start..].find('=').map(|at| at + start) else {
        return Err(Problem::at(whole(), "a setting needs a '=' between key and value").remedy(example));
    };
    let keys = path(text, start..equals);
    if keys.iter().any(|key| text[key.clone()].is_empty()) {
        let place = Place::new(number, start..equals);
        return Err(Problem::at(place, "the path of a key has an empty part").remedy(example));
    }
    let span = trim(text, equals + 1..text.len());
    let value = lenient(number, span.start, &text[span.clone()]);
    lay(document, number, text, &keys, Place::new(number, span), value);
    Ok(())
}

/// The option before a setting, as it is shown.
pub const OPTION: &str = "--set ";

/// The parts of a dotted path, without blanks around them.
fn path(text: &str, span: Range<usize>) -> Vec<Range<usize>> {
    let mut from = span.start;
    let parts = text[span].split('.').map(|part| {
        let part_span = trim(text, from..from + part.len());
        from += part.len() + 1;
        part_span
    });
    parts.collect()
}

fn trim(text: &str, span: Range<usize>) -> Range<usize> {
    let part = &text[span.clone()];
    let start = span.start + (part.len() - part.trim_start().len());
    start..start + part.trim().len()
}

/// A value without the quotes that TOML wants and a shell eats: what is no TOML is a text, and a
/// list of such texts is a list.
fn lenient(number: usize, offset: usize, text: &str) -> Value {
    if let Some(value) = document::parse_value(number, offset, text) {
        return value;
    }
    let Some(inner) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) else {
        return Value::Text(text.to_owned());
    };
    let mut from = 1;
    let parts = inner.split(',').map(|part| {
        let span = trim(text, from..from + part.len());
        from += part.len() + 1;
        let place = Place::new(number, offset + span.start..offset + span.end);
        (place, lenient(number, offset + span.start, &text[span]))
    });
    Value::List(parts.collect())
}

/// Walks down the path, making sections where there are none.
fn lay(section: &mut Section, number: usize, text: &str, keys: &[Range<usize>], place: Place, value: Value) {
    let (key, rest) = keys.split_first().expect("a path has at least one part");
    let key_place = Place::new(number, key.clone());
    let name = &text[key.clone()];
    if rest.is_empty() {
        merge(section, name, Item { key: key_place, place, value });
        return;
    }
    let empty = || Item {
        key: key_place.clone(),
        place: key_place.clone(),
        value: Value::Section(Section::default()),
    };
    let item = section.items.entry(name.to_owned()).or_insert_with(empty);
    if !matches!(item.value, Value::Section(_)) {
        // The reader of this section reports that the key takes a value and no keys below it.
        *item = empty();
    }
    let Value::Section(below) = &mut item.value else { unreachable!("it was just made a section") };
    lay(below, number, text, rest, place, value);
}

/// A section is laid over a section key by key; anything else replaces what was there.
fn merge(section: &mut Section, name: &str, item: Item) {
    let Some(old) = section.items.get_mut(name) else {
        section.items.insert(name.to_owned(), item);
        return;
    };
    match (&mut old.value, item.value) {
        (Value::Section(below), Value::Section(above)) => {
            for (name, item) in above.items {
                merge(below, &name, item);
            }
        }
        (_, value) => *old = Item { value, ..item },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(settings: &[&str]) -> Section {
        let mut document =
            document::parse(0, &Source::file("a.toml", "seed = 1\n[device]\nread = \"1us\"\n"))
                .expect("this is TOML");
        for (number, setting) in settings.iter().enumerate() {
            let source = Source::argument(format!("{OPTION}{setting}"));
            apply(&mut document, number + 1, &source).expect("a good setting");
        }
        document
    }

    fn device(document: &Section) -> &Section {
        let Value::Section(device) = &document.items["device"].value else { panic!("a section") };
        device
    }

    #[test]
    fn a_setting_needs_no_quotes_and_the_last_one_wins() {
        let document = set(&["device.read=80us", "device.read = 90us", "seed=3", "device.erase=2ms"]);
        assert_eq!(device(&document).items["read"].value.scalar(), Some("90us"));
        assert_eq!(device(&document).items["erase"].value.scalar(), Some("2ms"));
        assert_eq!(document.items["seed"].value.scalar(), Some("3"));
        assert_eq!(document.items["seed"].place.source, 3);
    }

    #[test]
    fn a_list_needs_no_quotes_either() {
        let document = set(&["device.program=[700us, 900us]"]);
        let Value::List(list) = &device(&document).items["program"].value else { panic!("a list") };
        assert_eq!(list[1].1.scalar(), Some("900us"));
        assert_eq!(list[1].0.span, 29..34);
    }

    #[test]
    fn an_inline_section_keeps_the_other_keys() {
        let document = set(&["device={erase=\"3ms\"}"]);
        assert_eq!(device(&document).items.len(), 2);
    }

    #[test]
    fn what_is_no_setting_is_refused() {
        for setting in ["seed", "=3", "device..read=3", ".=1"] {
            let source = Source::argument(format!("{OPTION}{setting}"));
            assert!(apply(&mut Section::default(), 0, &source).is_err(), "{setting}");
        }
    }
}
