//! Which version of the program wrote a scenario: a newer one may mean keys that this one does not know.

use super::document::{Item, Section, Value};
use super::problem::Problem;
use std::cmp::Ordering;

/// The version key at the top of documents that are printed to be read again.
pub const KEY: &str = "tailcut";

/// This program's.
const OURS: &str = env!("CARGO_PKG_VERSION");

/// The line that contains the version.
pub fn line() -> String {
    format!("{KEY} = \"{OURS}\"\n")
}

/// Takes the version out of a document; returns what is wrong with it, if anything.
pub fn take(document: &mut Section) -> Option<Problem> {
    let Item { place, value, .. } = document.items.remove(KEY)?;
    let Value::Text(written) = &value else {
        let message = format!("{KEY} is {}, and should be the version that wrote this", value.kind());
        return Some(
            Problem::at(place, message).remedy(format!("write {KEY} = \"{OURS}\", or leave it out")),
        );
    };
    match compare(written, OURS) {
        None => Some(
            Problem::at(place, format!("'{written}' is no version"))
                .remedy(format!("write {KEY} = \"{OURS}\", or leave it out")),
        ),
        Some(Ordering::Greater) => Some(
            Problem::at(place, format!("this was written by tailcut {written}, and this is {OURS}"))
                .remedy("use that version; or remove this line, and see which keys are not known yet"),
        ),
        Some(_) => None,
    }
}

/// How two versions compare by their numbers; none if one is no version.
fn compare(one: &str, other: &str) -> Option<Ordering> {
    Some(numbers(one)?.cmp(&numbers(other)?))
}

/// Major, minor, patch; what follows a hyphen or a plus is not compared.
fn numbers(version: &str) -> Option<[u64; 3]> {
    let core = version.split(['-', '+']).next()?;
    let mut parts = core.split('.').map(|part| part.parse::<u64>().ok());
    let numbers = [parts.next()??, parts.next().unwrap_or(Some(0))?, parts.next().unwrap_or(Some(0))?];
    parts.next().is_none().then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::document;
    use crate::scenario::source::Source;

    fn taken(text: &str) -> (Option<String>, bool) {
        let source = Source::file("s.toml".to_string(), text.to_string());
        let mut document = document::parse(0, &source).expect("it is TOML");
        let message = take(&mut document).map(|problem| problem.message);
        (message, document.items.contains_key(KEY))
    }

    #[test]
    fn what_an_older_version_or_this_one_wrote_is_read() {
        for text in [line(), "tailcut = \"0.0.1\"".into(), "tailcut = \"0\"".into(), "seed = 3".into()] {
            assert_eq!(taken(&text), (None, false), "{text}");
        }
    }

    #[test]
    fn what_a_newer_version_wrote_is_refused() {
        for text in ["tailcut = \"99.0\"", "tailcut = \"0.99.1-beta\"", "tailcut = \"99\""] {
            let (message, is_left) = taken(text);
            assert!(message.is_some_and(|message| message.contains("was written by tailcut")), "{text}");
            assert!(!is_left);
        }
    }

    #[test]
    fn what_is_no_version_is_refused() {
        for text in ["tailcut = \"new\"", "tailcut = \"1.2.3.4\"", "tailcut = \"\"", "tailcut = 3"] {
            assert!(taken(text).0.is_some(), "{text}");
        }
    }
}
