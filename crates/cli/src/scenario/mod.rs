//! Scenario files: reading, overriding from the command line, printing, and listing their keys.
//!
//! Everything here works on any [`Configure`]: the part describes its keys once, and that one walk
//! serves the [`reader`], the [`writer`] and the list of [`keys`].

pub mod document;
pub mod effect;
pub mod keys;
pub mod nearest;
pub mod overrides;
pub mod problem;
pub mod reader;
pub mod source;
pub mod spelling;
#[cfg(test)]
pub mod test_configuration;
pub mod version;
pub mod writer;

pub use problem::{Problem, Problems};
pub use source::{Place, Source};
pub use writer::{Comments, write};

use document::Section;
use std::collections::BTreeMap;
use std::path::Path;
use tailcut_base::config::Configure;

/// Reads a scenario from a file's text and the `--set` settings (without the option's name) into
/// `part`, whose values are the defaults.
///
/// # Errors
/// Everything that is wrong, with its place. A syntax error hides the rest of the file, but the form of the
/// settings is checked even then. After an error `part` is of no use.
pub fn read(part: &mut dyn Configure, file: Option<Source>, sets: &[String]) -> Result<(), Problems> {
    let Written { sources, document, mut problems } = Written::parse(file, sets);
    if let Some(document) = document {
        problems.extend(reader::read(part, &document));
    }
    if problems.is_empty() { Ok(()) } else { Err(Problems::new(sources, problems)) }
}

/// Reads what [`read`] would, as far as that is possible, and reports nothing: values that cannot be read
/// keep their defaults. For looking ahead at what a scenario is before its defaults are chosen.
pub fn read_leniently(part: &mut dyn Configure, file: Option<Source>, sets: &[String]) {
    if let Some(document) = Written::parse(file, sets).document {
        reader::read_values(part, &document);
    }
}

/// The first of the `--set` settings that is wrong whatever others are: a key that no part has, or a value
/// that its key cannot have. `part` has the default values, and is of no use afterwards.
pub fn find_invalid(part: &mut dyn Configure, sets: &[String]) -> Option<Problem> {
    let Written { document, problems, .. } = Written::parse(None, sets);
    let of_values = document.map_or_else(Vec::new, |document| reader::read_values(part, &document));
    problems.into_iter().chain(of_values).next()
}

/// True if a value is written for the key at `path`.
pub fn is_written(path: &str, file: Option<Source>, sets: &[String]) -> bool {
    let document = Written::parse(file, sets).document.unwrap_or_default();
    document.written().iter().any(|(written, _)| written == path)
}

/// The text that a user wrote.
struct Written {
    sources: Vec<Source>,
    /// `None` when the file is not TOML.
    document: Option<Section>,
    problems: Vec<Problem>,
}

impl Written {
    fn parse(file: Option<Source>, sets: &[String]) -> Written {
        let (mut problems, mut sources) = (Vec::new(), Vec::new());
        let mut document = Section::default();
        let mut readable = true;
        if let Some(file) = file {
            match document::parse(0, &file) {
                Ok(parsed) => {
                    document = parsed;
                    problems.extend(version::take(&mut document));
                }
                Err(problem) => {
                    readable = false;
                    problems.push(problem);
                }
            }
            sources.push(file);
        }
        for set in sets {
            let source = Source::argument(format!("{}{set}", overrides::OPTION));
            problems.extend(overrides::apply(&mut document, sources.len(), &source).err());
            sources.push(source);
        }
        Written { sources, document: readable.then_some(document), problems }
    }
}

/// Every key of `part` with its value and what it means, below the version that wrote it. Those in `idle`, by
/// their paths, have no effect for the reason given and are comments, so reading the text again does not warn
/// of values that the reader did not choose.
pub fn to_be_read_again(part: &mut dyn Configure, idle: &BTreeMap<String, String>) -> String {
    format!("{}\n{}", version::line(), writer::write_except(part, Comments::Shown, idle))
}

/// Problems that were found only after the scenario was read, each with the path of the key to
/// blame: shown where the key is written, if it is.
pub fn attribute(source: Option<Source>, sets: &[String], found: &[(String, String)]) -> Problems {
    let Written { sources, document, .. } = Written::parse(source, sets);
    let problem = |(path, message): &(String, String)| {
        let place = document.as_ref().and_then(|document| document.place_to_blame(path, message));
        Problem { place, message: format!("{path}: {message}"), remedy: None }
    };
    Problems::new(sources, found.iter().map(problem).collect())
}

/// Like [`read`], with the file from the disk.
///
/// # Errors
/// A file that cannot be read or is not UTF-8, or everything that is wrong with its content and `sets`.
pub fn load(part: &mut dyn Configure, file: Option<&Path>, sets: &[String]) -> Result<(), Problems> {
    read(part, file.map(Source::open).transpose()?, sets)
}

#[cfg(test)]
mod tests;
