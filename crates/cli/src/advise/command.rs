//! The command around a search: options, progress, files.

use super::arguments::AdviseArguments;
use super::results::Advice;
use super::{Request, advise, page};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::Folder;
use crate::output::is_stdout;
use crate::output::write_json;
use crate::sweep::Bar;
use crate::terminal::{ColorMode, window};
use std::io::Write;

/// The results, in the folder of a search.
pub const RESULTS: &str = "advise.json";
/// The advised scenario, as `tailcut run` takes it.
pub const SCENARIO: &str = "advise.toml";

/// Does what the arguments ask and prints to `out`.
///
/// # Errors
/// Invalid options or scenario, a failed run, results that cannot be written, no candidate that keeps the
/// promise, or [`Failure::Interrupted`].
#[expect(clippy::missing_panics_doc, reason = "plain data becomes JSON")]
pub fn command(arguments: &AdviseArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let offer = &arguments.offer;
    let request = Request {
        base: arguments.common.run_of(arguments.scenario.clone()),
        promise: arguments.promise.clone(),
        drives: offer.drives().to_vec(),
        data: offer.data(),
        most_drives: offer.most_drives(),
        layouts: offer.layouts(),
        prices: offer.prices()?.unwrap_or_default(),
        most_requests: arguments.most_requests,
        out: Some(arguments.out.clone()),
        jobs: arguments.jobs.map(usize::from),
    };
    let interrupt = Interrupt::listen()
        .map_err(|error| Failure::Operation(format!("cannot listen for Ctrl-C: {error}")))?;
    let is_over = || interrupt.asked();
    let mut bar = Bar::new("advise", arguments.quiet);
    let (advice, scenarios) = advise(&request, &is_over, &mut |progress| bar.show(progress))?;
    drop(bar);
    let value = serde_json::to_value(&advice).expect("advice is plain data");
    if let Some(file) = &arguments.json {
        write_json(&value, file, out)?;
    }
    if !arguments.json.as_deref().is_some_and(is_stdout) {
        print(&advice, arguments, out)?;
    }
    let folder = Folder::create(&arguments.out)?;
    folder.write(RESULTS, format!("{value:#}\n").as_bytes())?;
    if let Some(index) = advice.advised {
        folder.write(SCENARIO, scenarios[index].as_bytes())?;
    }
    match advice.advised {
        _ if interrupt.asked() => Err(Failure::Interrupted),
        Some(_) => Ok(()),
        None => Err(Failure::Operation(
            "no arrangement that was tried keeps the promise; promise less, or allow other drives (--drive) \
                or more (--most-drives)"
                .into(),
        )),
    }
}

fn print(advice: &Advice, arguments: &AdviseArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let text = page::page(advice, usize::from(window()), ColorMode::of_stdout());
    out.write_all(text.as_bytes())?;
    if advice.advised.is_some() {
        let scenario = arguments.out.join(SCENARIO);
        writeln!(out, "\nrun it again: tailcut run {}", scenario.display())?;
    }
    Ok(out.flush()?)
}
