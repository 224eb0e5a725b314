//! What is wrong with a text of the language of quantities, and where.

use std::ops::Range;
use tailcut_base::BadValue;

/// Why a text is none of the language, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misread {
    /// Range of bytes of the text that is wrong.
    pub span: Range<usize>,
    /// What is wrong and what would be right.
    pub message: String,
}

impl Misread {
    /// An error in the bytes `span` of a text.
    pub fn new(span: Range<usize>, message: impl Into<String>) -> Misread {
        Misread { span, message: message.into() }
    }

    /// This error in a text that begins `by` bytes later.
    pub fn shifted(self, by: usize) -> Misread {
        Misread { span: self.span.start + by..self.span.end + by, ..self }
    }

    /// The message and the text that it is about, with carets under what is wrong.
    pub fn pointed(&self, text: &str) -> BadValue {
        let width = |span: &str| span.chars().count();
        let indent = width(text.get(..self.span.start).unwrap_or(""));
        let carets = width(text.get(self.span.clone()).unwrap_or("")).max(1);
        let message = &self.message;
        BadValue::new(format!("{message}\n    {text}\n    {:indent$}{}", "", "^".repeat(carets)))
    }
}
