//! `tailcut generate`: what packagers ship beside the binary, made from the one definition of the
//! command line.

use crate::arguments::GenerateCommand;
use crate::completion;
use crate::failure::Failure;
use crate::failure::OutputError;
use crate::help;
use crate::output::Folder;
use crate::run::Scenario;
use crate::scenario::keys;
use clap::Command;
use clap_complete::Shell;
use std::io::Write;
use std::path::Path;

/// Prints to `out`, or writes the manual pages into their folder.
///
/// # Errors
/// The folder of the pages or standard output cannot be written.
pub fn generate(what: &GenerateCommand, out: &mut dyn Write) -> Result<(), Failure> {
    let mut text = Vec::new();
    match what {
        GenerateCommand::Completions { shell } => {
            let mut command = completion::with_names(help::command());
            clap_complete::generate(*shell, &mut command, "tailcut", &mut text);
            if *shell == Shell::Fish {
                text.extend(completion::positional_names_for_fish(&command).into_bytes());
            }
        }
        GenerateCommand::Man { folder: Some(folder) } => return manual(folder),
        GenerateCommand::Man { folder: None } => text = help::page(&built(), "")?,
        GenerateCommand::Keys => text = keys::markdown(&keys::list(&mut Scenario::default())).into_bytes(),
    }
    out.write_all(&text)?;
    Ok(out.flush()?)
}

/// The definition with the full names of its commands.
fn built() -> Command {
    let mut command = help::command().disable_help_subcommand(true);
    command.build();
    command
}

/// Writes the man page of each command into a folder.
fn manual(folder: &Path) -> Result<(), Failure> {
    let folder = Folder::create(folder)?;
    write_pages(&built(), "", &folder)
}

/// Writes the man pages of a command, named by its `path` below `tailcut`, and of its subcommands.
fn write_pages(command: &Command, path: &str, folder: &Folder) -> Result<(), Failure> {
    let name = format!("tailcut {path}").trim().replace(' ', "-");
    let refused = |cause| OutputError { path: folder.path().to_owned(), cause };
    folder.write(&format!("{name}.1"), &help::page(command, path).map_err(refused)?)?;
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        write_pages(below, format!("{path} {}", below.get_name()).trim(), folder)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;

    /// All commands by name, joined as in the names of manual pages: `tailcut-serve-kv`.
    fn commands(above: &str, command: &Command, all: &mut Vec<(String, Command)>) {
        let name = [above, command.get_name()].concat();
        for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
            commands(&format!("{name}-"), below, all);
        }
        all.push((name, command.clone()));
    }

    fn all_commands() -> Vec<(String, Command)> {
        let mut all = Vec::new();
        commands("", &help::command(), &mut all);
        all
    }

    fn options(command: &Command) -> impl Iterator<Item = String> {
        let shown = command.get_arguments().filter(|argument| !argument.is_hide_set());
        shown.filter_map(|argument| argument.get_long().map(String::from))
    }

    fn generated(what: GenerateCommand) -> String {
        let mut out = Vec::new();
        generate(&what, &mut out).expect("memory takes everything");
        String::from_utf8(out).expect("it is text")
    }

    #[test]
    fn every_command_has_a_manual_page_with_its_options() {
        let folder = tempfile::tempdir().expect("a folder");
        let pages = folder.path().join("man");
        assert_eq!(generated(GenerateCommand::Man { folder: Some(pages.clone()) }), "");
        let all = all_commands();
        for name in ["run", "compare", "advise", "pts", "report", "serve-kv", "generate-man"] {
            assert!(all.iter().any(|(known, _)| *known == format!("tailcut-{name}")), "{name}");
        }
        for (name, command) in &all {
            let page = std::fs::read_to_string(pages.join(format!("{name}.1")));
            let page = page.unwrap_or_else(|error| panic!("{name}: {error}")).replace("\\-", "-");
            for option in options(command) {
                assert!(page.contains(&format!("--{option}")), "{name} --{option}");
            }
        }
        let run = std::fs::read_to_string(pages.join("tailcut-run.1")).expect("it was written");
        assert!(!run.contains("EXTRA") && run.contains("tailcut\\-explain"), "{run}");
        let count = std::fs::read_dir(&pages).expect("the folder is there").count();
        assert_eq!(count, all.len(), "no page is without its command");
    }

    #[test]
    fn every_manual_page_has_the_sections_that_readers_look_for() {
        let command = built();
        let mut open = vec![(String::new(), &command)];
        while let Some((path, command)) = open.pop() {
            let page = help::page(command, &path).expect("memory takes everything");
            let page = String::from_utf8(page).expect("it is text");
            let has = |title: &str| {
                [format!("\n.SH \"{title}\"\n"), format!("\n.SH {title}\n")]
                    .iter()
                    .any(|line| page.contains(line))
            };
            for title in ["NAME", "SYNOPSIS", "EXIT STATUS", "EXAMPLES", "SEE ALSO"] {
                assert!(has(title), "{path} has no {title}\n{page}");
            }
            // Pages of commands that read or write files of fixed names list them.
            let by_default = |argument: &clap::Arg| {
                let values = argument.get_default_values().iter();
                values.filter_map(|value| value.to_str()).any(|value| value.starts_with("tailcut"))
            };
            let has_files =
                command.get_arguments().filter(|argument| !argument.is_hide_set()).any(by_default);
            assert!(has("FILES") || !has_files, "{path} has no FILES\n{page}");
            let below = command.get_subcommands().filter(|below| !below.is_hide_set());
            open.extend(below.map(|below| (format!("{path} {}", below.get_name()).trim().to_owned(), below)));
        }
    }

    #[test]
    fn every_shell_completes_every_command_and_option() {
        for &shell in Shell::value_variants() {
            let script = generated(GenerateCommand::Completions { shell });
            for (name, command) in all_commands() {
                assert!(script.contains(command.get_name()), "{shell}: {name}");
                for option in options(&command) {
                    assert!(script.contains(&option), "{shell}: {name} --{option}");
                }
            }
        }
    }

    #[test]
    fn every_shell_completes_settings_drives_and_studies() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let script = generated(GenerateCommand::Completions { shell });
            let studies = ["shin-5.4", "pts-iops"];
            let settings = ["device.timing.read=", "device.preset=tlc-nvme", "swan-sata"];
            for name in settings.into_iter().chain(studies) {
                let escaped = name.replace('=', "\\=");
                assert!(script.contains(name) || script.contains(&escaped), "{shell}: {name}");
            }
        }
    }
}
