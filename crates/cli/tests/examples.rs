//! Examples in help texts and Markdown pages: each command line is parsed, and each setting is read as a run
//! would read it. The output shown in `docs/guide` and `docs/recipes` is compared by the test `guide`.

use clap::Command;
use std::path::{Path, PathBuf};
use tailcut::help;
use tailcut::scenario;
use tailcut_sim::Scenario;

/// A text, and its location.
struct Text {
    place: String,
    text: String,
}

#[test]
fn settings_in_help_texts_exist() {
    let mut wrong = Vec::new();
    for Text { place, text } in help_texts() {
        wrong.extend(wrong_settings(&place, &text));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn settings_on_pages_exist() {
    let mut wrong = Vec::new();
    for Text { place, text } in pages() {
        let commands = commands(&text).join("\n");
        wrong.extend(wrong_settings(&place, &commands));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn command_lines_on_pages_are_understood() {
    let (mut count, mut wrong) = (0, Vec::new());
    for Text { place, text } in pages() {
        for command in commands(&text) {
            count += 1;
            wrong.extend(not_understood(&place, &command));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 20, "only {count} command lines were found: the search for them is broken");
}

#[test]
fn a_wrong_example_would_be_found() {
    assert_eq!(wrong_settings("here", "such as device.flash.read=80us; wins").len(), 1);
    assert_eq!(wrong_settings("here", "such as device.preset=femu, which").len(), 1);
    assert_eq!(wrong_settings("here", "such as device.timing.read=80us; wins").len(), 0);
    let help = "Examples:\n  Run:\n    tailcut run --sede 3 > out\n    tailcut run \\\n      --seed \
        3\n\nUsage: x\n    y\n";
    let found = examples(help);
    assert_eq!((found.len(), found[0].as_str()), (2, "tailcut run --sede 3"));
    assert!(not_understood("here", &found[0]).is_some_and(|why| why.contains("--seed")));
    assert_eq!(not_understood("here", &found[1]), None);
    assert!(
        not_understood("here", "tailcut advise --promise \"p99(reed) < 1ms\"").is_some(),
        "a wrong value"
    );
    assert_eq!(commands("    tailcut run --seed 3 &\n    cargo run --release -- show\n").len(), 2);
}

#[test]
#[ignore = "1.3 million requests: for a release build (TAILCUT=PATH), as .ci/run does"]
fn the_first_run_on_readme_is_what_it_prints() {
    let command = std::env::var("TAILCUT").unwrap_or_else(|_| env!("CARGO_BIN_EXE_tailcut").into());
    let folder = tempfile::tempdir().expect("the temporary folder is writable");
    let run = std::process::Command::new(command).arg("--quiet").current_dir(&folder).output();
    let printed = String::from_utf8(run.expect("it starts").stdout).expect("a report is text");
    let mut printed_lines = printed.lines();
    let readme = pages().into_iter().find(|page| page.place == "README.md").expect("it is there").text;
    let (_, behind) = readme.split_once("Part of what the first prints:").expect("it shows the first run");
    let shown: Vec<&str> =
        behind.lines().skip(1).map_while(block_line).filter(|line| !line.is_empty()).collect();
    assert!(shown.len() > 8, "{shown:?}");
    for line in shown {
        assert!(
            printed_lines.any(|printed| printed == line),
            "not printed, or not here: {line:?}\n{printed}"
        );
    }
}

/// A line of an indented block, without its indentation; `None` for a line after the block.
fn block_line(line: &str) -> Option<&str> {
    if line.is_empty() { Some(line) } else { line.strip_prefix("    ") }
}

/// Every example of every command's help is understood.
#[test]
fn examples_in_help_texts_are_understood() {
    let (mut count, mut wrong) = (0, Vec::new());
    for Text { place, text } in help_texts() {
        let examples = examples(&text);
        assert!(!examples.is_empty(), "{place} has no example");
        count += examples.len();
        wrong.extend(examples.iter().filter_map(|example| not_understood(&place, example)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 50, "only {count} examples were found: the search for them is broken");
}

/// The command lines of the examples of a help text, without shell syntax around them.
fn examples(help: &str) -> Vec<String> {
    let (_, behind) = help.split_once("Examples:\n").unwrap_or_default();
    let (examples, _) = behind.split_once("\n\n").unwrap_or((behind, ""));
    let lines = examples.replace("\\\n", " ");
    let commands = lines.lines().filter(|line| line.starts_with("    "));
    let before = |line: &str, sign: &str| line.split(sign).next().unwrap_or_default().trim().to_owned();
    commands.map(|line| before(&before(line, " > "), " | ")).collect()
}

/// The complaint about a command line that is not understood.
fn not_understood(place: &str, command: &str) -> Option<String> {
    use clap::error::ErrorKind::{DisplayHelp, DisplayVersion};
    let line = words(command.trim_start_matches("sudo "));
    let error = help::command().try_get_matches_from(line).err()?;
    let is_wrong = ![DisplayHelp, DisplayVersion].contains(&error.kind());
    is_wrong.then(|| format!("{place}: {command}\n  {}", error.to_string().trim()))
}

/// The help of the command and of all of its subcommands.
fn help_texts() -> Vec<Text> {
    let mut texts = Vec::new();
    collect(&mut help::command(), "tailcut", &mut texts);
    assert!(texts.len() > 15, "the command has more commands than {}", texts.len());
    texts
}

fn collect(command: &mut Command, path: &str, texts: &mut Vec<Text>) {
    // Wide enough that no line break splits a setting.
    let text = command.clone().term_width(10_000).max_term_width(10_000).render_long_help().to_string();
    texts.push(Text { place: format!("{path} --help"), text });
    let names: Vec<String> = command.get_subcommands().map(|c| c.get_name().to_string()).collect();
    for name in names {
        let below = command.find_subcommand_mut(&name).expect("it was listed");
        collect(below, &format!("{path} {name}"), texts);
    }
}

/// Markdown pages outside of the guide, as texts.
fn pages() -> Vec<Text> {
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).expect("it can be read");
        Text { place: path.file_name().expect("it has one").to_string_lossy().into_owned(), text }
    };
    paths_of_pages().into_iter().map(read).collect()
}

/// README first, then the other Markdown pages outside of the guide.
fn paths_of_pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut paths: Vec<PathBuf> =
        ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md"].map(|name| root.join(name)).to_vec();
    for folder in ["docs", "docs/decisions", "docs/reference", "docs/results"] {
        let Ok(entries) = std::fs::read_dir(root.join(folder)) else { continue };
        paths.extend(entries.map(|entry| entry.expect("it can be listed").path()));
    }
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    paths.sort();
    paths
}

/// The command lines of a page that call `tailcut`, without shell syntax around them. Lines with a `…` or
/// with a placeholder in capitals for an option's name are not commands.
fn commands(text: &str) -> Vec<String> {
    let mut pieces = text.split("\\\n");
    let first = pieces.next().unwrap_or_default().to_string();
    let text = pieces.fold(first, |text, piece| text.trim_end().to_string() + " " + piece.trim_start());
    let is_code = |line: &&str| line.starts_with("    ") || line.starts_with("$ ") || line.starts_with("> ");
    let lines = text.lines().filter(is_code).map(|line| line.trim().trim_start_matches("$ "));
    let mut commands = Vec::new();
    for line in lines {
        let line = line.split(" | ").next().unwrap_or(line).trim_end_matches('&').trim();
        let line = line.split("  ").next().unwrap_or(line);
        let line = line.strip_prefix("sudo ").unwrap_or(line);
        let call = match line.strip_prefix("cargo run --release -- ") {
            Some(rest) => format!("tailcut {rest}"),
            None => line.to_string(),
        };
        let is_whole = !call.contains('…') && !call.contains('[') && !call.contains('>');
        if call.starts_with("tailcut ") && is_whole {
            commands.push(call);
        }
    }
    commands
}

/// The words of a command line; a quoted string is one word.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for letter in command.chars() {
        match (letter, quote) {
            (letter, Some(open)) if letter == open => quote = None,
            ('"' | '\'', None) => quote = Some(letter),
            (' ', None) => words.extend(Some(std::mem::take(&mut word)).filter(|word| !word.is_empty())),
            _ => word.push(letter),
        }
    }
    words.extend(Some(word).filter(|word| !word.is_empty()));
    words
}

/// The settings `key.of.a.scenario=value` of a text that a run would refuse. A value in capitals is a
/// placeholder.
fn wrong_settings(place: &str, text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for word in text.split_whitespace() {
        let word = word.trim_matches(|c: char| "`'\"()[]".contains(c)).trim_end_matches([',', ';', '.', ':']);
        let word = word.strip_prefix("--set=").unwrap_or(word);
        let Some((key, value)) = word.split_once('=') else { continue };
        let is_key = key.contains('.')
            && key.split('.').all(|part| part.starts_with(|c: char| c.is_ascii_lowercase()))
            && key.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "._".contains(c));
        if !is_key || value.is_empty() || value.chars().any(|c| c.is_ascii_uppercase()) && !holds_unit(value)
        {
            continue;
        }
        for value in value
            .split(',')
            .filter(|_| !value.starts_with('['))
            .chain(value.starts_with('[').then_some(value))
        {
            let mut part = Scenario::default();
            if let Err(problems) = scenario::read(&mut part, None, &[format!("{key}={value}")]) {
                // Whether a value is compatible with the rest of a scenario depends on that rest.
                let text = problems.to_string();
                if ["unknown key", "there is no", "is not"].iter().any(|words| text.contains(words)) {
                    wrong.push(format!("{place}: {key}={value}\n{text}"));
                }
            }
        }
    }
    wrong
}

fn holds_unit(value: &str) -> bool {
    ["KiB", "MiB", "GiB", "TiB", "kB", "MB", "GB", "B/s"].iter().any(|unit| value.contains(unit))
}
