//! From the process's arguments to its exit code.

use crate::arguments::{Arguments, Command};
use crate::bench::arguments::NOW_OF_TAILCUT_BENCH;
use crate::failure::Failure;
use crate::run::arguments::RunArguments;
use crate::serve::kv::drop_in::{self, Invocation};
use crate::terminal::ColorMode;
use crate::{
    advise, bench, calibrate, compare, ctl, demo, explain, generate, help, import, probe, pts, report, run,
    serve, size, study, torture, trace,
};
use clap::FromArgMatches;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

/// Does what the process was asked to do. Results go to standard output, everything else to
/// standard error. Returns 0 for success, 1 for a failure on the way, 2 for bad input, 130 after
/// an interruption.
pub fn main() -> ExitCode {
    ExitCode::from(run_words(std::env::args_os()))
}

/// As [`main`], for a program that is given the words of the command line, its own name first; returns the
/// exit code. Help and arguments that cannot be read end the process.
pub fn run_words(words: impl Iterator<Item = OsString>) -> u8 {
    let mut out = std::io::stdout().lock();
    let words = match drop_in::read(words) {
        Invocation::Arguments(words) => words,
        Invocation::Version(version) => return code(writeln!(out, "{version}").map_err(Failure::from)),
    };
    let parsed =
        help::command().try_get_matches_from(words).and_then(|matches| Arguments::from_arg_matches(&matches));
    let arguments = parsed.unwrap_or_else(|error| refuse(&without_trailing(with_new_command(error))));
    code(dispatch(arguments, &mut out).and_then(|()| Ok(out.flush()?)))
}

/// The exit code of a command, after its failure, if any, was reported on standard error.
pub fn exit(done: Result<(), Failure>) -> ExitCode {
    ExitCode::from(code(done))
}

fn code(done: Result<(), Failure>) -> u8 {
    match done {
        Ok(()) => 0,
        Err(failure) => {
            // A failure to write to standard error cannot be reported.
            let _ = std::io::stderr().write_all(failure.render(ColorMode::of_stderr()).as_bytes());
            failure.exit_code()
        }
    }
}

/// Names the new command where a former one of `tailcut bench` was written.
fn with_new_command(mut error: clap::Error) -> clap::Error {
    let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand) else { return error };
    let usage = error.get(ContextKind::Usage).map(ToString::to_string).unwrap_or_default();
    let is_bench = usage.contains("tailcut bench");
    if is_bench && NOW_OF_TAILCUT_BENCH.contains(&name.as_str()) {
        let hint = format!(
            "in a clone of the repository it is 'cargo run --release -p tailcut-bench -- {name}' now"
        );
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![hint.into()]));
    }
    error
}

/// Leaves out the tip to write a misspelt option behind `--`: no argument of ours begins with a dash.
fn without_trailing(mut error: clap::Error) -> clap::Error {
    let is_trailing = match error.get(ContextKind::Suggested) {
        Some(ContextValue::StyledStrs(tips)) => {
            tips.iter().any(|tip| tip.to_string().contains("as a value, use '-- "))
        }
        _ => false,
    };
    if error.kind() == ErrorKind::UnknownArgument && is_trailing {
        error.remove(ContextKind::Suggested);
    }
    error
}

/// Ends the process after invalid arguments, or after printing help. Replaces the standard library's
/// messages about numbers with plain words.
fn refuse(error: &clap::Error) -> ! {
    let why = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
    let Some(&(_, plain)) = NUMBERS.iter().find(|(text, _)| *text == why) else { error.exit() };
    let text = error.render().to_string().replace(&why, plain);
    let _ = std::io::stderr().write_all(text.as_bytes());
    std::process::exit(error.exit_code())
}

/// The standard library's messages about unreadable numbers, and our replacements.
const NUMBERS: [(&str, &str); 6] = [
    ("invalid digit found in string", "it is not a whole number"),
    ("cannot parse integer from empty string", "it is empty; write a whole number"),
    ("number too large to fit in target type", "it is too large"),
    ("number too small to fit in target type", "it is too small"),
    ("invalid float literal", "it is not a number"),
    ("cannot parse float from empty string", "it is empty; write a number"),
];

fn dispatch(arguments: Arguments, out: &mut dyn Write) -> Result<(), Failure> {
    let built_in = RunArguments { options: arguments.run, ..RunArguments::default() };
    match arguments.command.unwrap_or(Command::Run(built_in)) {
        Command::Run(arguments) => run::run(&arguments, out),
        Command::Explain(arguments) => explain::explain(&arguments, out),
        Command::Compare(arguments) => compare::command::command(&arguments, out),
        Command::Advise(arguments) => advise::command::command(&arguments, out),
        Command::Study(command) => study::study(&command, out),
        Command::Report(arguments) => report::report(&arguments, out),
        Command::Trace(command) => trace::trace(&command, out),
        Command::Import(command) => import::import(&command, out),
        Command::Size(arguments) => size::size(&arguments, out),
        Command::Demo(arguments) => demo::demo(&arguments, out),
        Command::Torture(arguments) => torture::torture(&arguments, out),
        Command::Serve(command) => serve::serve(&command, out),
        Command::Probe(arguments) => probe::probe(&arguments, out),
        Command::Calibrate(arguments) => calibrate::calibrate(&arguments, out),
        Command::Pts(arguments) => pts::pts(&arguments, out),
        Command::Bench(command) => bench::bench(&command, out),
        Command::Ctl { words } => ctl::control(&words, out),
        Command::Status { socket, json } => ctl::status(socket.as_deref(), json, out),
        Command::Generate(what) => generate::generate(&what, out),
    }
}
