//! The fenced blocks of a page.

use crate::guide::output::Likeness;

/// A block.
pub(super) struct Block {
    /// The line at which its content begins, counted from 1.
    pub line: usize,
    /// How the block is tested.
    pub kind: Kind,
    lines: Vec<String>,
}

/// How a block is tested.
pub(super) enum Kind {
    /// Its commands are run.
    Run(How),
    /// Its commands are parsed.
    Parsed,
    /// It is written to a file of this name.
    File(String),
    /// It is a change of a source file.
    Change,
    /// It quotes this source file.
    Quote(String),
    /// It is prose, and not tested.
    Prose,
}

/// How commands are run and checked.
#[derive(Default)]
pub(super) struct How {
    /// How exactly the output must match.
    pub likeness: Likeness,
    /// Whether the commands must fail.
    pub fails: bool,
    programs: Vec<String>,
}

impl How {
    /// The programs that the block requires; without them it is skipped.
    pub(super) fn programs(&self) -> Vec<&str> {
        self.programs.iter().map(String::as_str).collect()
    }
}

/// A command with the output that the page shows.
pub(super) struct Command {
    /// The command, in one line.
    pub line: String,
    /// The lines below it.
    pub shown: Vec<String>,
}

impl Block {
    /// The unmodified content.
    pub(super) fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }

    /// The content, line by line.
    pub(super) fn lines(&self) -> &[String] {
        &self.lines
    }

    /// The commands, each with its output.
    pub(super) fn commands(&self) -> Vec<Command> {
        let mut commands: Vec<Command> = Vec::new();
        let mut is_open = false;
        for line in &self.lines {
            match (line.strip_prefix("$ "), commands.last_mut()) {
                (None, Some(last)) if is_open => {
                    last.line = format!("{} {}", open_end(&last.line), line.trim())
                }
                (Some(typed), _) => commands.push(Command { line: typed.to_owned(), shown: Vec::new() }),
                (None, Some(last)) => last.shown.push(line.clone()),
                (None, None) => panic!("line {}: a block of commands begins with '$ '", self.line),
            }
            is_open = commands.last().is_some_and(|last| last.shown.is_empty() && last.line.ends_with('\\'));
        }
        commands
    }
}

/// The blocks of a page, in order.
///
/// # Panics
/// If a fence is not closed, or its words are unknown.
pub(super) fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for (at, line) in text.lines().enumerate() {
        match (line.strip_prefix("```"), open.as_mut()) {
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(words), None) => {
                open = Some(Block { line: at + 2, kind: kind(words, at + 1), lines: Vec::new() });
            }
            (None, Some(block)) => block.lines.push(line.to_owned()),
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "the last fence is not closed");
    blocks
}

fn kind(words: &str, line: usize) -> Kind {
    let mut words = words.split_whitespace();
    match (words.next(), words.clone().next()) {
        (Some("console"), Some("parsed")) => Kind::Parsed,
        (Some("console"), _) => Kind::Run(how(words, line)),
        (Some("diff"), _) => Kind::Change,
        (_, Some(word)) => match word.split_once('=') {
            Some(("file", name)) => Kind::File(name.to_owned()),
            Some(("from", name)) => Kind::Quote(name.to_owned()),
            _ => panic!("line {line}: '{word}' means nothing"),
        },
        (_, None) => Kind::Prose,
    }
}

fn how<'a>(words: impl Iterator<Item = &'a str>, line: usize) -> How {
    let mut how = How::default();
    for word in words {
        match (word, word.strip_prefix("with=")) {
            ("measured", _) => how.likeness = Likeness::Words,
            ("fails", _) => how.fails = true,
            (_, Some(programs)) => how.programs = programs.split(',').map(String::from).collect(),
            (_, None) => panic!("line {line}: '{word}' means nothing"),
        }
    }
    how
}

fn open_end(line: &str) -> &str {
    line.trim_end_matches('\\').trim_end()
}
