//! Whether a stream takes colours, and what each colour means.

use std::io::IsTerminal;

/// Whether text is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColorMode {
    /// No escape sequences: files, pipes, `NO_COLOR`, and terminals that call themselves dumb.
    Plain,
    /// ANSI colours.
    Coloured,
}

/// The role of a piece of text; the colour follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextRole {
    /// The word that marks an error.
    Error,
    /// A warning.
    Warning,
    /// Where something is, such as a file and a line.
    Place,
    /// What to do about it.
    Remedy,
    /// A heading.
    Heading,
    /// Less important than its surroundings.
    Faint,
}

impl ColorMode {
    /// The tone for standard output.
    pub fn of_stdout() -> ColorMode {
        ColorMode::of(std::io::stdout().is_terminal())
    }

    /// The tone for standard error.
    pub fn of_stderr() -> ColorMode {
        ColorMode::of(std::io::stderr().is_terminal())
    }

    /// Asks the environment too: `NO_COLOR` with any value but the empty one forbids colours.
    fn of(terminal: bool) -> ColorMode {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        if terminal && !refused && !dumb { ColorMode::Coloured } else { ColorMode::Plain }
    }

    /// The text in the colour of `ink`, or as it is.
    pub fn paint(self, ink: TextRole, text: &str) -> String {
        match self {
            ColorMode::Plain => text.to_owned(),
            ColorMode::Coloured => format!("\x1b[{}m{text}\x1b[0m", ink.code()),
        }
    }
}

impl TextRole {
    /// The parameters of the ANSI sequence; only the eight colours that every theme defines.
    fn code(self) -> &'static str {
        match self {
            TextRole::Error => "1;31",
            TextRole::Warning => "33",
            TextRole::Place => "34",
            TextRole::Remedy => "36",
            TextRole::Heading => "1",
            TextRole::Faint => "2",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_stays_as_it_is() {
        assert_eq!(ColorMode::Plain.paint(TextRole::Error, "error"), "error");
        assert_eq!(ColorMode::Coloured.paint(TextRole::Error, "error"), "\x1b[1;31merror\x1b[0m");
        assert_eq!(ColorMode::of(false), ColorMode::Plain);
    }
}
