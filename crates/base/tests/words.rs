//! Words that the project does not use: names of items that say nothing at the place of use, and phrases of
//! comments and pages that a native engineer would not write. A count may fall, but not rise: lower its
//! ceiling when it has fallen.
//!
//!     cargo test --package tailcut-base words -- --nocapture
//!
//! prints the counts; with `WORDS="so many"` also the places of that phrase.

use std::path::{Path, PathBuf};

/// Names that no type, trait, function or module of the libraries and programs has.
const NAMES: &[&str] = &[
    "About",
    "Again",
    "Alarms",
    "Around",
    "Asked",
    "Asking",
    "Canary",
    "Doing",
    "Done",
    "Effort",
    "Ended",
    "Eyes",
    "Fate",
    "Finer",
    "Found",
    "Glance",
    "Ground",
    "Harvest",
    "Held",
    "Holdings",
    "Homes",
    "How",
    "Ink",
    "Inquiry",
    "Intent",
    "Letter",
    "Listed",
    "Making",
    "Mortal",
    "Moved",
    "News",
    "Noting",
    "Other",
    "Outlook",
    "Past",
    "Purpose",
    "Rig",
    "Said",
    "Seat",
    "Side",
    "Since",
    "Survey",
    "Taken",
    "Tester",
    "Then",
    "Told",
    "Tone",
    "Took",
    "Tried",
    "Turn",
    "Urgency",
    "Visit",
    "Wanted",
    "Way",
    "Wellness",
    "What",
    "When",
    "Whim",
    "Who",
    "Whole",
    "Witness",
    "Words",
    "attend",
    "blame",
    "bury",
    "entomb",
    "exhume",
    "give_up",
    "go_on",
    "hasten",
    "hear",
    "hush",
    "is_over",
    "is_willing",
    "let_go",
    "look",
    "misfit",
    "say",
    "tell",
    "walk_on",
];

/// Phrases, and how many lines of comments and of pages may still have them.
const PHRASES: &[(&str, usize, usize)] = &[
    ("nobody", 5, 6),
    ("somebody", 1, 3),
    ("whoever", 0, 1),
    ("so many", 1, 0),
    (", too", 17, 3),
    ("goes on", 9, 3),
    ("give up", 0, 0),
    ("of those", 14, 2),
    ("the same for", 6, 5),
    ("what has", 15, 0),
    ("is told", 2, 1),
    (" says", 9, 23),
    (" stands ", 58, 8),
    ("in vain", 5, 2),
];

/// Keywords before the name of an item.
const ITEMS: [&str; 5] = ["struct ", "enum ", "trait ", "fn ", "mod "];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the workspace has a folder").into()
}

fn collect(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        if entry.is_dir() {
            collect(&entry, ending, found);
        } else if entry.extension().is_some_and(|extension| extension == ending) {
            found.push(entry);
        }
    }
}

/// The files below the folders, with their lines.
fn lines(folders: &[&str], ending: &str) -> Vec<(PathBuf, Vec<String>)> {
    let mut paths = Vec::new();
    folders.iter().for_each(|folder| collect(&root().join(folder), ending, &mut paths));
    paths.sort();
    let read =
        |path: &PathBuf| std::fs::read_to_string(path).expect("text").lines().map(str::to_owned).collect();
    paths.iter().map(|path| (path.clone(), read(path))).collect()
}

fn sources() -> Vec<(PathBuf, Vec<String>)> {
    let own = Path::new(file!()).file_name().expect("it is a file");
    lines(&["crates"], "rs").into_iter().filter(|(path, _)| path.file_name() != Some(own)).collect()
}

/// The documentation, and these pages beside it.
fn pages(beside: &[&str]) -> Vec<(PathBuf, Vec<String>)> {
    let mut pages = lines(&["docs"], "md");
    for page in beside {
        let path = root().join(page);
        let text = std::fs::read_to_string(&path).expect("text");
        pages.push((path, text.lines().map(str::to_owned).collect()));
    }
    pages
}

/// The name of the item that a line declares.
fn declared(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let words = line.strip_prefix("pub").map_or(line, |rest| match rest.strip_prefix('(') {
        Some(rest) => rest.split_once(')').map_or(rest, |(_, rest)| rest),
        None => rest,
    });
    let words = words.trim_start().trim_start_matches("const ").trim_start_matches("unsafe ");
    let name = ITEMS.iter().find_map(|item| words.strip_prefix(item))?;
    Some(&name[..name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len())])
}

#[test]
fn names_are_those_of_the_field() {
    let mut found = Vec::new();
    let is_shipped = |(path, _): &(PathBuf, _)| path.iter().any(|part| part == "src");
    for (path, lines) in sources().into_iter().filter(is_shipped) {
        let names = lines.iter().enumerate().filter_map(|(at, line)| Some((at, declared(line)?)));
        let banned = names.filter(|(_, name)| NAMES.contains(name));
        found.extend(banned.map(|(at, name)| format!("{}:{}: {name}", path.display(), at + 1)));
    }
    assert!(found.is_empty(), "docs/glossary.md has the words of the field: {found:#?}");
}

#[test]
fn phrases_become_fewer() {
    let comments: Vec<(PathBuf, usize, String)> = sources()
        .into_iter()
        .flat_map(|(path, lines)| {
            let comment = |line: String| line.find("//").map(|start| line[start..].to_lowercase());
            let numbered = lines.into_iter().enumerate();
            numbered
                .filter_map(move |(at, line)| Some((path.clone(), at + 1, comment(line)?)))
                .collect::<Vec<_>>()
        })
        .collect();
    let pages: Vec<(PathBuf, usize, String)> = pages(&["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"])
        .into_iter()
        .flat_map(|(path, lines)| {
            let numbered = lines.into_iter().enumerate();
            numbered.map(move |(at, line)| (path.clone(), at + 1, line.to_lowercase())).collect::<Vec<_>>()
        })
        .collect();
    let shown = std::env::var("WORDS").unwrap_or_default();
    let mut risen = Vec::new();
    println!("phrase          comments  pages");
    for &(phrase, in_comments, in_pages) in PHRASES {
        let places = |all: &[(PathBuf, usize, String)]| {
            let has = |(_, _, line): &&(PathBuf, usize, String)| line.contains(phrase);
            let found: Vec<_> = all.iter().filter(has).collect();
            if shown == phrase {
                found
                    .iter()
                    .for_each(|(path, at, line)| println!("  {}:{at}: {}", path.display(), line.trim()));
            }
            found.len()
        };
        let counts = (places(&comments), places(&pages));
        println!("{phrase:14}  {:8}  {:5}", counts.0, counts.1);
        if counts.0 > in_comments || counts.1 > in_pages {
            risen.push(format!("{phrase:?}: {counts:?}, at most {:?}", (in_comments, in_pages)));
        }
    }
    assert!(risen.is_empty(), "write it as a native engineer would: {risen:#?}");
}

/// Comments and pages have lines of at most 110 characters, tables and verbatim text aside; rustfmt sees to code,
/// and leaves some macros and attributes longer.
#[test]
fn lines_are_short() {
    let mut long = Vec::new();
    let mut of_code = 0;
    for (path, lines) in sources() {
        for (at, line) in lines.iter().enumerate().filter(|(_, line)| line.chars().count() > LINE) {
            let text = line.trim_start();
            let is_comment = text.starts_with("//");
            let is_verbatim =
                text.trim_start_matches(['/', '!']).starts_with(" |") || line.contains("//! bytes");
            match is_comment {
                true if !is_verbatim => long.push(format!("{}:{}", path.display(), at + 1)),
                true => {}
                false => of_code += 1,
            }
        }
    }
    for (path, lines) in pages(&["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"]) {
        let mut is_fenced = false;
        for (at, line) in lines.iter().enumerate() {
            let text = line.trim_start();
            is_fenced ^= text.starts_with("```");
            let is_verbatim = is_fenced || text.starts_with('|') || line.starts_with("    ");
            if !is_verbatim && line.chars().count() > LINE && text.contains(' ') {
                long.push(format!("{}:{}", path.display(), at + 1));
            }
        }
    }
    assert!(long.is_empty(), "longer than {LINE} characters: {long:#?}");
    assert!(of_code <= LONG_CODE, "{of_code} lines of code are longer than {LINE} characters");
}

/// The longest line, in characters.
const LINE: usize = 110;

/// The most lines of code that are longer.
const LONG_CODE: usize = 110;
