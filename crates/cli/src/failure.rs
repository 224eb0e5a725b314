//! Why a command failed, and its exit code.

use crate::scenario::Problems;
use crate::terminal::{ColorMode, TextRole};
use std::path::PathBuf;
use std::{fmt, io};
use tailcut_base::BadValue;
use tailcut_base::quantity::show_number_of;

/// The end of a command that did not succeed.
#[derive(Debug)]
pub enum Failure {
    /// A scenario with problems: exit code 2.
    Scenario(Problems),
    /// Other input that is wrong, such as a trace; the message names the place and what would be
    /// right, and may have several lines: exit code 2.
    Input(String),
    /// Something that went wrong on the way, such as a drive that makes no progress: exit code 1.
    Operation(String),
    /// Something that went wrong and that a server's log has reported: exit code 1.
    Logged,
    /// Results that could not be kept, after they were printed: exit code 1.
    Output(OutputError),
    /// The run was stopped by the user, after it printed what it knew: exit code 130.
    Interrupted,
    /// The reader of standard output has closed it, as in `tailcut … | head`: not reported as a failure.
    Deaf,
}

/// A result that could not be kept.
#[derive(Debug)]
pub struct OutputError {
    /// The file or folder that could not be written.
    pub path: PathBuf,
    /// The error that the operating system reported.
    pub cause: io::Error,
}

impl std::error::Error for OutputError {}

impl fmt::Display for OutputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot write {}: {}; {}", self.path.display(), self.cause, self.remedy())
    }
}

impl OutputError {
    fn remedy(&self) -> &'static str {
        match self.cause.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                "what was printed is complete; make room or name another place for the files"
            }
            _ => "what was printed is complete; name another place for the files",
        }
    }
}

impl Failure {
    /// The exit code of the process.
    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::Deaf => 0,
            Failure::Operation(_) | Failure::Logged | Failure::Output(_) => 1,
            Failure::Scenario(_) | Failure::Input(_) => 2,
            Failure::Interrupted => crate::interrupt::EXIT as u8,
        }
    }

    /// The message for standard error, with its line ends; empty if there is none.
    pub fn render(&self, tone: ColorMode) -> String {
        let error =
            |message: &str| format!("{}: {}\n", tone.paint(TextRole::Error, "error"), message.trim_end());
        match self {
            Failure::Scenario(problems) => {
                let count = show_number_of(problems.list().len() as u64, "problem");
                format!("{}\n{count}, nothing was run\n", problems.render(tone))
            }
            Failure::Input(message) | Failure::Operation(message) => error(message),
            Failure::Output(cause) => error(&cause.to_string()),
            Failure::Interrupted => {
                format!("{}: stopped on request\n", tone.paint(TextRole::Warning, "interrupted"))
            }
            Failure::Logged | Failure::Deaf => String::new(),
        }
    }
}

impl From<Problems> for Failure {
    fn from(problems: Problems) -> Failure {
        Failure::Scenario(problems)
    }
}

impl From<BadValue> for Failure {
    fn from(bad: BadValue) -> Failure {
        Failure::Input(bad.message)
    }
}

impl From<OutputError> for Failure {
    fn from(cause: OutputError) -> Failure {
        Failure::Output(cause)
    }
}

/// For writing to standard output, which is the only thing that commands do with `?` on an
/// [`io::Error`].
impl From<io::Error> for Failure {
    fn from(cause: io::Error) -> Failure {
        match cause.kind() {
            io::ErrorKind::BrokenPipe => Failure::Deaf,
            _ => Failure::Operation(format!("cannot write to standard output: {cause}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_tell_bad_input_from_bad_luck() {
        assert_eq!(Failure::Input(String::new()).exit_code(), 2);
        assert_eq!(Failure::Operation(String::new()).exit_code(), 1);
        assert_eq!(Failure::Interrupted.exit_code(), 130);
        let broken = Failure::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert_eq!((broken.exit_code(), broken.render(ColorMode::Plain)), (0, String::new()));
    }
}
