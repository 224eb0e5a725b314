//! Names that shells complete, where the set is fixed: settings, drives, studies, tests, subjects, formats.

use crate::run::Scenario;
use crate::scenario::keys;
use crate::study::Entry;
use clap::builder::PossibleValuesParser;
use clap::{Arg, Command};
use tailcut_base::config::Choice;
use tailcut_pts::Test;
use tailcut_ssd::Preset;
use tailcut_torture::seeds;
use tailcut_workload::trace::Format;

/// The definition with these names as possible values, for a generator of completions. It is no definition to
/// parse arguments with: its values are not converted, and its messages would list all of the names.
pub fn with_names(command: Command) -> Command {
    let command = command.mut_args(|arg| match names(&arg) {
        Some(names) => arg.value_parser(PossibleValuesParser::new(names)),
        None => arg,
    });
    command.mut_subcommands(with_names)
}

/// Completions for fish of names that stand without an option, such as studies: clap_complete has none.
pub fn positional_names_for_fish(command: &Command) -> String {
    let mut text = String::new();
    for first in command.get_subcommands() {
        let using = format!("__fish_tailcut_using_subcommand {}", first.get_name());
        text += &positional_names(first, &using);
        for second in first.get_subcommands() {
            let using = format!("{using}; and __fish_seen_subcommand_from {}", second.get_name());
            text += &positional_names(second, &using);
        }
    }
    text
}

/// The line for each positional argument of a command with fixed names, under a condition of fish.
fn positional_names(command: &Command, using: &str) -> String {
    let names = command.get_positionals().filter_map(names);
    names.map(|names| format!("complete -c tailcut -n \"{using}\" -a \"{}\"\n", names.join(" "))).collect()
}

/// The names that an argument takes, recognised by its value's name; `None` where they are not fixed.
fn names(arg: &Arg) -> Option<Vec<&'static str>> {
    let value = arg.get_value_names().and_then(|names| names.first()).map_or("", |name| name.as_str());
    match (arg.get_id().as_str(), value) {
        ("sets", _) => {
            // clap without its feature `string` takes static names; a process generates completions once.
            let settings = keys::settings(&keys::list(&mut Scenario::default()));
            Some(settings.into_iter().map(|setting| &*setting.leak()).collect())
        }
        (_, "PRESET") => Some(Preset::NAMES.to_vec()),
        ("id" | "ids", _) => Some(Entry::all().iter().map(|entry| entry.id()).collect()),
        ("tests", _) => Some(Test::ALL.iter().map(|test| test.name()).chain(["all"]).collect()),
        ("subject", _) => Some(seeds::subjects()),
        (_, "FORMAT") => Some(Format::NAMES.to_vec()),
        _ => None,
    }
}
