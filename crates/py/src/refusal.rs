//! Failures of the command as Python exceptions.

use pyo3::exceptions::{PyException, PyKeyboardInterrupt};
use pyo3::{PyErr, create_exception};
use tailcut::failure::Failure;
use tailcut::terminal::ColorMode;

create_exception!(
    tailcut,
    TailcutError,
    PyException,
    "Something that went wrong on the way, such as a drive that makes no progress or a file that cannot be \
        written."
);
create_exception!(
    tailcut,
    ScenarioError,
    TailcutError,
    "Input that is wrong: a scenario, a setting, a trace, a quantity. The text names each place and what \
        would be right there."
);

/// The exception with the text that the command prints.
pub(crate) fn raised(failure: impl Into<Failure>) -> PyErr {
    let failure = failure.into();
    match &failure {
        Failure::Scenario(problems) => ScenarioError::new_err(problems.to_string()),
        Failure::Input(message) => ScenarioError::new_err(message.trim_end().to_owned()),
        Failure::Operation(message) => TailcutError::new_err(message.trim_end().to_owned()),
        Failure::Output(cause) => TailcutError::new_err(cause.to_string()),
        Failure::Interrupted => PyKeyboardInterrupt::new_err(()),
        Failure::Logged | Failure::Deaf => TailcutError::new_err(failure.render(ColorMode::Plain)),
    }
}
