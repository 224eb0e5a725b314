//! Examples, exit status, files and related commands of every command: the one source of these sections in
//! help texts and man pages.
//!
//! `--help` fits on a page: the options that most users want, each with the first paragraph of its
//! description.
//! `tailcut help COMMAND` and the man page have all options in full, and files.

mod manual;
mod measuring;
mod serving;
mod simulating;

pub use manual::page;

use crate::arguments::Arguments;
use clap::{Arg, ArgAction, Command, CommandFactory};

/// Examples first, then clap's usual parts, then the other sections.
const TEMPLATE: &str = "{about-with-newline}\n{before-help}{usage-heading} {usage}\n\n{all-args}{after-help}";

/// The sections of one command beside its options.
#[derive(Clone, Copy, Debug)]
pub struct CommandHelp {
    /// Its names below `tailcut`, as in `serve kv`; empty for `tailcut` itself.
    path: &'static str,
    /// Purpose and command line.
    examples: &'static [(&'static str, &'static str)],
    /// Exit code and meaning.
    exit_status: &'static [(&'static str, &'static str)],
    /// Path and content.
    files: &'static [(&'static str, &'static str)],
    /// Paths of related commands.
    see_also: &'static [&'static str],
}

impl CommandHelp {
    const NONE: CommandHelp =
        CommandHelp { path: "", examples: &[], exit_status: ANY, files: &[], see_also: &[] };

    /// The sections of the command with these names below `tailcut`, separated by spaces.
    pub fn of(path: &str) -> Option<&'static CommandHelp> {
        let all = simulating::ALL.iter().chain(serving::ALL).chain(measuring::ALL);
        all.into_iter().find(|help| help.path == path)
    }

    fn examples_text(&self) -> String {
        let each = self.examples.iter().map(|(purpose, line)| format!("\n  {purpose}:\n    {line}"));
        each.collect()
    }
}

/// Exit codes of a command that simulates or measures.
const RUNS: &[(&str, &str)] = &[
    ("0", "success"),
    ("1", "failure during the run, or results that could not be written"),
    ("2", "invalid arguments or input; nothing was run"),
    ("130", "interrupted by SIGINT or SIGTERM, after the results so far were printed"),
];

/// Exit codes of a command that ends at once.
const ANY: &[(&str, &str)] =
    &[("0", "success"), ("1", "results could not be written"), ("2", "invalid arguments or input")];

/// The definition of the command line, with the sections of every command.
pub fn command() -> Command {
    let hide_in_help = |arg: clap::Arg| arg.hide_short_help(true).hide_long_help(true);
    // The options of a run have their place in `tailcut run --help`.
    with_sections(Arguments::command().mut_args(hide_in_help), "")
}

fn with_sections(command: Command, path: &str) -> Command {
    let command = command.mut_subcommands(|below| {
        let path = join(path, below.get_name());
        with_sections(below, &path)
    });
    let Some(help) = CommandHelp::of(path) else { return command };
    let header = *command.get_styles().get_header();
    let section = |title: &str, lines: String| format!("{header}{title}:{header:#}{lines}");
    let status = section("Exit status", entries(help.exit_status));
    let files = section("Files", entries(help.files));
    let names: Vec<String> = help.see_also.iter().map(|path| join("tailcut", path)).collect();
    let related = section("See also", format!(" {}", names.join(", ")));
    let command = command.help_template(TEMPLATE).before_help(section("Examples", help.examples_text()));
    if path.is_empty() {
        return command.after_help(status);
    }
    let related = Some(related).filter(|_| !names.is_empty());
    let files = Some(files).filter(|_| !help.files.is_empty());
    let page = [Some(status.clone()), related.clone()];
    let whole = [Some(status), files, related];
    let text =
        |sections: &[Option<String>]| sections.iter().flatten().cloned().collect::<Vec<_>>().join("\n\n");
    command.after_help(text(&page)).after_long_help(text(&whole)).disable_help_flag(true).arg(help_flag(path))
}

/// `-h` and `--help`: the page.
fn help_flag(path: &str) -> Arg {
    Arg::new("help")
        .short('h')
        .long("help")
        .action(ArgAction::HelpShort)
        .help(format!("Print help (all options: 'tailcut help {path}')"))
        .help_heading(None)
}

/// Terms and their meanings in two columns.
fn entries(entries: &[(&str, &str)]) -> String {
    let width = entries.iter().map(|(term, _)| term.len()).max().unwrap_or(0);
    entries.iter().map(|(term, meaning)| format!("\n  {term:width$}  {meaning}")).collect()
}

fn join(path: &str, name: &str) -> String {
    [path, name].join(" ").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every command with its path, hidden ones excepted.
    fn commands() -> Vec<(String, Command)> {
        let mut open = vec![(String::new(), command())];
        let mut all = Vec::new();
        while let Some((path, command)) = open.pop() {
            let below = command.get_subcommands().filter(|below| !below.is_hide_set());
            open.extend(below.map(|below| (join(&path, below.get_name()), below.clone())));
            all.push((path, command));
        }
        all
    }

    #[test]
    fn every_command_has_an_example_of_itself() {
        let all = commands();
        for (path, _) in &all {
            let help = CommandHelp::of(path).unwrap_or_else(|| panic!("'{path}' has no sections"));
            let begin = join("tailcut", path);
            assert!(help.examples.iter().any(|(_, line)| line.starts_with(&begin)), "{path}");
        }
        let count = simulating::ALL.len() + serving::ALL.len() + measuring::ALL.len();
        assert_eq!(count, all.len(), "sections without a command");
    }

    #[test]
    fn related_commands_exist() {
        let all = commands();
        for (path, _) in &all {
            for related in CommandHelp::of(path).map_or(&[][..], |help| help.see_also) {
                assert!(
                    all.iter().any(|(known, _)| known == related) && related != path,
                    "{path}: {related}"
                );
            }
        }
    }

    #[test]
    fn sections_fit_a_terminal_of_80_columns() {
        for (path, _) in commands() {
            let help = CommandHelp::of(&path).expect("every command has sections");
            let text = [help.examples_text(), entries(help.exit_status), entries(help.files)].concat();
            let long: Vec<&str> = text.lines().filter(|line| line.chars().count() > 80).collect();
            assert!(long.is_empty(), "{path}: {long:?}");
        }
    }

    #[test]
    fn every_help_fits_a_page_and_starts_with_examples() {
        let mut long = Vec::new();
        for (path, _) in commands() {
            // As it is printed, with what a command inherits from the program.
            let words = ["tailcut"].into_iter().chain(path.split_whitespace()).chain(["--help"]);
            let help = command().term_width(100).try_get_matches_from(words);
            let text = help.expect_err("help ends the program").to_string();
            let begin = text.lines().position(|line| line == "Examples:");
            assert!(begin.is_some_and(|line| line <= 10), "{path}\n{text}");
            if text.lines().count() > PAGE {
                long.push(format!("{path}: {} lines", text.lines().count()));
            }
        }
        assert!(long.is_empty(), "{long:?}");
    }

    /// The most lines of a help text.
    const PAGE: usize = 60;

    #[test]
    fn the_first_help_fits_one_page_and_starts_with_examples() {
        let mut command = command().term_width(80);
        let text = command.render_long_help().to_string();
        assert!(text.lines().count() <= 50, "{} lines\n{text}", text.lines().count());
        assert_eq!(text.lines().nth(4), Some("Examples:"), "{text}");
        assert!(text.contains("\n  run ") && !text.contains("--skip-bad-lines"), "{text}");
    }
}
