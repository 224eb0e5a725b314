//! From the process's arguments to its exit code.

use crate::arguments::{Arguments, Command, RunArguments};
use crate::failure::Failure;
use crate::terminal::Tone;
use crate::{
    advise, bench, compare, ctl, explain, generate, probe, pts, report, run, serve, size, study, torture,
    trace,
};
use clap::Parser;
use std::io::Write;
use std::process::ExitCode;

/// Does what the process was asked to do. Results go to standard output, everything else to
/// standard error. Returns 0 for success, 1 for a failure on the way, 2 for bad input, 130 after
/// an interruption.
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut out = std::io::stdout().lock();
    let done = dispatch(arguments, &mut out).and_then(|()| Ok(out.flush()?));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // Nobody can be told that standard error is gone.
            let _ = std::io::stderr().write_all(failure.render(Tone::of_stderr()).as_bytes());
            ExitCode::from(failure.exit_code())
        }
    }
}

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
        Command::Size(arguments) => size::size(&arguments, out),
        Command::Torture(arguments) => torture::torture(&arguments, out),
        Command::Serve(command) => serve::serve(&command, out),
        Command::Probe(arguments) => probe::probe(&arguments, out),
        Command::Pts(arguments) => pts::pts(&arguments, out),
        Command::Bench(command) => bench::bench(&command, out),
        Command::Ctl { socket, words } => ctl::ctl(&socket, &words, out),
        Command::Status { socket } => ctl::ctl(&socket, &["status".into()], out),
        Command::Generate(what) => generate::generate(&what, out),
    }
}
