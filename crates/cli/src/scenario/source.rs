//! The texts that a scenario is read from, and places in them.

use super::problem::{Problem, Problems};
use std::ops::Range;
use std::path::Path;

/// One text: a scenario file, or one argument of the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// How a person calls it: the path of a file. Empty for an argument, which is its own name.
    name: String,
    /// The whole text.
    text: String,
}

/// A piece of one of the texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Number of the text, in the order of reading.
    pub source: usize,
    /// Range of bytes in the text.
    pub span: Range<usize>,
}

impl Place {
    /// The bytes `span` of the text with number `source`.
    pub fn new(source: usize, span: Range<usize>) -> Place {
        Place { source, span }
    }
}

impl Source {
    /// A file named `name` with the content `text`; nothing is read.
    pub fn file(name: impl Into<String>, text: impl Into<String>) -> Source {
        Source { name: name.into(), text: text.into() }
    }

    /// The file at `path`, which is read now.
    ///
    /// # Errors
    /// A file that cannot be read, or is not UTF-8.
    pub fn open(path: &Path) -> Result<Source, Problems> {
        read(path).map_err(|problem| Problems::new(Vec::new(), vec![problem]))
    }

    /// An argument of the command line, shown as it was written: `--set key=value`.
    pub fn argument(text: impl Into<String>) -> Source {
        Source { name: String::new(), text: text.into() }
    }

    /// The whole text of the scenario.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The name of the file; `None` for an argument.
    pub fn file_name(&self) -> Option<&str> {
        (!self.name.is_empty()).then_some(&self.name)
    }

    /// The line, counted from 1, and the column in characters, counted from 1, of a byte.
    pub fn position(&self, byte: usize) -> (usize, usize) {
        let start = self.line_start(byte);
        let line = 1 + self.text[..start].matches('\n').count();
        (line, 1 + self.text[start..self.floor(byte)].chars().count())
    }

    /// The line around a byte, without its end, and the byte at which it starts.
    pub fn line_around(&self, byte: usize) -> (&str, usize) {
        let start = self.line_start(byte);
        let rest = &self.text[start..];
        let line = rest.split('\n').next().unwrap_or_default();
        (line.strip_suffix('\r').unwrap_or(line), start)
    }

    fn line_start(&self, byte: usize) -> usize {
        self.text[..self.floor(byte)].rfind('\n').map_or(0, |end| end + 1)
    }

    /// A parser may blame the end of the text, or a byte inside a character.
    fn floor(&self, byte: usize) -> usize {
        let mut byte = byte.min(self.text.len());
        while !self.text.is_char_boundary(byte) {
            byte -= 1;
        }
        byte
    }
}

fn read(path: &Path) -> Result<Source, Problem> {
    let name = path.display().to_string();
    let bytes = std::fs::read(path).map_err(|error| {
        Problem::nowhere(format!("cannot read the scenario '{name}': {error}"))
            .remedy("give the path of a TOML file, or none for the built-in scenario")
    })?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let line = error.as_bytes()[..error.utf8_error().valid_up_to()].split(|&byte| byte == b'\n').count();
        Problem::nowhere(format!("'{name}' is not text: line {line} is not UTF-8"))
            .remedy("a scenario is a TOML file; a trace is given with --trace")
    })?;
    Ok(Source::file(name, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_from_one_in_characters() {
        let source = Source::file("a.toml", "x = 1\r\nµs = 2\n");
        assert_eq!(source.position(0), (1, 1));
        assert_eq!(source.position(7), (2, 1));
        assert_eq!(source.position(9), (2, 2));
        assert_eq!(source.line_around(3), ("x = 1", 0));
        assert_eq!(source.line_around(9), ("µs = 2", 7));
        assert_eq!(source.position(999), (3, 1), "beyond the end is the end");
    }
}
