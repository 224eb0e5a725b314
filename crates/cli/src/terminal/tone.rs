//! Whether a stream takes colours, and what each colour means.

use std::io::IsTerminal;

/// Whether text is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// No escape sequences: files, pipes, `NO_COLOR`, and terminals that call themselves dumb.
    Plain,
    /// ANSI colours.
    Coloured,
}

/// The role of a piece of text; the colour follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
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

impl Tone {
    /// The tone for standard output.
    pub fn of_stdout() -> Tone {
        Tone::of(std::io::stdout().is_terminal())
    }

    /// The tone for standard error.
    pub fn of_stderr() -> Tone {
        Tone::of(std::io::stderr().is_terminal())
    }

    /// Asks the environment too: `NO_COLOR` with any value but the empty one forbids colours.
    fn of(terminal: bool) -> Tone {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        if terminal && !refused && !dumb { Tone::Coloured } else { Tone::Plain }
    }

    /// The text in the colour of `ink`, or as it is.
    pub fn paint(self, ink: Ink, text: &str) -> String {
        match self {
            Tone::Plain => text.to_owned(),
            Tone::Coloured => format!("\x1b[{}m{text}\x1b[0m", ink.code()),
        }
    }
}

impl Ink {
    /// The parameters of the ANSI sequence; only the eight colours that every theme defines.
    fn code(self) -> &'static str {
        match self {
            Ink::Error => "1;31",
            Ink::Warning => "33",
            Ink::Place => "34",
            Ink::Remedy => "36",
            Ink::Heading => "1",
            Ink::Faint => "2",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_stays_as_it_is() {
        assert_eq!(Tone::Plain.paint(Ink::Error, "error"), "error");
        assert_eq!(Tone::Coloured.paint(Ink::Error, "error"), "\x1b[1;31merror\x1b[0m");
        assert_eq!(Tone::of(false), Tone::Plain);
    }
}
