//! `tailcut run`: from the arguments to the results.

use crate::arguments::{RunArguments, RunOptions, is_stdout};
use crate::failure::Failure;
use crate::output;
use crate::scenario::{self, Comments, keys};
use std::io::Write;
use std::path::Path;

/// What a run simulates, described by its keys.
pub type Scenario = scenario::standin::StandIn;

/// Runs a scenario, or prints it or its keys where that is asked for.
pub fn run(arguments: &RunArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let options = &arguments.options;
    let mut scenario = Scenario::default();
    if options.keys {
        return print_keys(&mut scenario, options.json.as_deref(), out);
    }
    scenario::load(&mut scenario, arguments.scenario.as_deref(), &options.settings())?;
    if options.resolved {
        out.write_all(scenario::write(&mut scenario, Comments::Shown).as_bytes())?;
        return Ok(out.flush()?);
    }
    simulate(&scenario, options, out)
}

fn simulate(_scenario: &Scenario, _options: &RunOptions, _out: &mut dyn Write) -> Result<(), Failure> {
    Err(Failure::Operation(String::from("the simulator is not built yet")))
}

fn print_keys(scenario: &mut Scenario, json: Option<&Path>, out: &mut dyn Write) -> Result<(), Failure> {
    let keys = keys::list(scenario);
    let Some(file) = json else {
        out.write_all(keys::show(&keys).as_bytes())?;
        return Ok(out.flush()?);
    };
    write_json(&keys::to_json(&keys), file, out)
}

/// Writes JSON to a file, or to `out` where the file is `-`.
pub fn write_json(value: &serde_json::Value, file: &Path, out: &mut dyn Write) -> Result<(), Failure> {
    let text = format!("{value:#}\n");
    if is_stdout(file) {
        out.write_all(text.as_bytes())?;
        return Ok(out.flush()?);
    }
    Ok(output::write_file(file, text.as_bytes())?)
}
