//! A scenario under translation: its keys, each with the parameter that it comes from, and notes on
//! parameters without a counterpart.

use crate::failure::Failure;
use crate::run::arguments::RunArguments;
use crate::run::{self, Scenario};
use crate::scenario::{Source, spelling, version};
use crate::terminal::{ColorMode, TextRole};
use std::collections::BTreeMap;
use std::fmt::Write;
use tailcut_base::Nanos;

/// The keys and notes of a translation.
#[derive(Debug, Default)]
pub(super) struct Draft {
    /// What is translated, in a sentence.
    title: String,
    /// In the order in which they are set; the last value of a path counts.
    settings: Vec<Setting>,
    notes: Vec<Note>,
}

/// A key of the scenario.
#[derive(Debug)]
struct Setting {
    /// Its path with dots.
    path: String,
    /// Its value as TOML.
    value: String,
    /// The parameters that it comes from.
    origin: String,
}

/// A parameter without a counterpart.
#[derive(Debug)]
struct Note {
    parameter: String,
    /// Its effect in the other program, and what is different here.
    effect: String,
}

impl Draft {
    /// An empty scenario; `title` is its first comment.
    pub(super) fn new(title: String) -> Draft {
        Draft { title, ..Draft::default() }
    }

    /// Sets the key `path` to a value that is spelled as TOML, because of the parameters `origin`.
    pub(super) fn set(
        &mut self,
        path: impl Into<String>,
        value: impl Into<String>,
        origin: impl Into<String>,
    ) {
        let (path, value, origin) = (path.into(), value.into(), origin.into());
        match self.settings.iter_mut().find(|setting| setting.path == path) {
            Some(setting) => (setting.value, setting.origin) = (value, origin),
            None => self.settings.push(Setting { path, value, origin }),
        }
    }

    /// Sets a key to a text or name.
    pub(super) fn set_text(&mut self, path: impl Into<String>, value: &str, origin: impl Into<String>) {
        self.set(path, spelling::quoted(value), origin);
    }

    /// Sets a key to a count or a flag.
    pub(super) fn set_plain(
        &mut self,
        path: impl Into<String>,
        value: impl ToString,
        origin: impl Into<String>,
    ) {
        self.set(path, value.to_string(), origin);
    }

    /// Sets a key to a length of time in nanoseconds.
    pub(super) fn set_time(&mut self, path: impl Into<String>, nanos: u64, origin: impl Into<String>) {
        self.set_text(path, &spelling::time(Nanos(nanos)), origin);
    }

    /// Sets a key to a number of bytes.
    pub(super) fn set_bytes(&mut self, path: impl Into<String>, bytes: u64, origin: impl Into<String>) {
        self.set_text(path, &spelling::bytes(bytes), origin);
    }

    /// Sets a key to a rate in bytes per second.
    pub(super) fn set_rate(&mut self, path: impl Into<String>, rate: u64, origin: impl Into<String>) {
        self.set_text(path, &spelling::rate(rate), origin);
    }

    /// Sets a key to a share in parts per million.
    pub(super) fn set_share(&mut self, path: impl Into<String>, ppm: u32, origin: impl Into<String>) {
        self.set_text(path, &spelling::share(ppm), origin);
    }

    /// Lists a parameter that has no counterpart, with its effect in the other program.
    pub(super) fn note(&mut self, parameter: impl Into<String>, effect: impl Into<String>) {
        self.notes.push(Note { parameter: parameter.into(), effect: effect.into() });
    }

    /// The scenario as text, which the scenario parser accepts without a warning: a key that other keys leave
    /// without effect is a comment with the reason.
    ///
    /// # Errors
    /// Values that a scenario cannot have, with the line and the parameters that they come from.
    pub(super) fn scenario(&self) -> Result<String, Failure> {
        let mut read = Scenario::default();
        let source = Source::file("the imported scenario", self.render(&BTreeMap::new()));
        let arguments = RunArguments { text: Some(source), ..RunArguments::default() };
        run::read_with_warnings(&mut read, &arguments)?;
        let ineffective = read.ineffective();
        let reason = |setting: &Setting| {
            let found = ineffective.iter().find(|keys| keys.covers(&setting.path))?;
            Some((setting.path.clone(), found.because.clone()))
        };
        Ok(self.render(&self.settings.iter().filter_map(reason).collect()))
    }

    /// The text, with the keys of `idle` as comments.
    fn render(&self, idle: &BTreeMap<String, String>) -> String {
        let mut text = String::new();
        comment(&mut text, "", &self.title);
        if !self.notes.is_empty() {
            text.push_str("#\n# Without a counterpart:\n");
        }
        for Note { parameter, effect } in &self.notes {
            comment(&mut text, "- ", &format!("{parameter}: {effect}"));
        }
        text.push('\n');
        text.push_str(&version::line());
        let mut sections: Vec<&str> = Vec::new();
        for setting in &self.settings {
            let (section, _) = split(&setting.path);
            if !sections.contains(&section) {
                sections.push(section);
            }
        }
        // Keys of the top level come before the first section.
        sections.sort_by_key(|section| !section.is_empty());
        for section in sections {
            if !section.is_empty() {
                writeln!(text, "\n[{section}]").expect("a string takes every text");
            }
            for setting in self.settings.iter().filter(|setting| split(&setting.path).0 == section) {
                line(&mut text, setting, idle.get(&setting.path));
            }
        }
        text
    }

    /// The notes, for standard error; empty if there are none.
    pub(super) fn notes(&self, tone: ColorMode) -> String {
        let heading = tone.paint(TextRole::Warning, "note");
        let note = |note: &Note| format!("{heading}: {}: {}\n", note.parameter, note.effect);
        self.notes.iter().map(note).collect()
    }
}

/// One key: `name = value  # origin`.
fn line(text: &mut String, setting: &Setting, idle: Option<&String>) {
    let (_, name) = split(&setting.path);
    let sign = if idle.is_some() { "# " } else { "" };
    let assigned = format!("{sign}{name} = {}", setting.value);
    let why = idle.map_or(String::new(), |why| format!("; no effect: {why}"));
    let remark = format!("{}{why}", setting.origin);
    if remark.is_empty() {
        writeln!(text, "{assigned}").expect("a string takes every text");
    } else {
        writeln!(text, "{assigned:COLUMN$}  # {remark}").expect("a string takes every text");
    }
}

/// The section and the name of a path.
fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('.').unwrap_or(("", path))
}

/// Adds a paragraph as comment lines no wider than a page. `bullet` begins the first line.
fn comment(text: &mut String, bullet: &str, paragraph: &str) {
    let mut line = format!("# {bullet}");
    let mut is_empty = true;
    for word in paragraph.split_whitespace() {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > PAGE {
            text.push_str(line.trim_end());
            text.push('\n');
            line = format!("# {:1$}", "", bullet.len());
            is_empty = true;
        }
        line.push_str(if is_empty { "" } else { " " });
        line.push_str(word);
        is_empty = false;
    }
    text.push_str(line.trim_end());
    text.push('\n');
}

/// Columns of a comment.
const PAGE: usize = 96;
/// Where remarks begin.
const COLUMN: usize = 34;

#[cfg(test)]
mod tests {
    use super::*;

    fn draft() -> Draft {
        let mut draft = Draft::new("Imported for a test".into());
        draft.set_time("run.duration", 5_000_000_000, "Stop_Time");
        draft.set_plain("seed", 7, "Seed");
        draft.set_share("workload.read", 500_000, "Read_Percentage");
        draft
    }

    #[test]
    fn a_draft_is_a_scenario_with_the_origin_of_every_key() {
        let mut draft = draft();
        draft.note("Cache_Colour = 3", "it paints the cache, which has no colour here");
        let text = draft.scenario().expect("a scenario");
        let want = "# Imported for a test\n#\n# Without a counterpart:\n# - Cache_Colour = 3: it paints the \
                    cache, which has no colour here\n";
        assert!(text.starts_with(want), "{text}");
        assert!(
            text.contains("\nseed = 7                            # Seed\n\n[run]\nduration = \"5s\""),
            "{text}"
        );
        assert_eq!(
            draft.notes(ColorMode::Plain),
            "note: Cache_Colour = 3: it paints the cache, which has no colour here\n"
        );
    }

    #[test]
    fn a_key_without_effect_is_a_comment_with_the_reason() {
        let mut draft = draft();
        draft.set_plain("device.gc.choices", 11, "log2 of the blocks");
        let text = draft.scenario().expect("a scenario");
        let line = text.lines().find(|line| line.contains("choices")).expect("it is there");
        assert!(line.starts_with("# choices = 11") && line.contains("no effect: "), "{line}");
    }

    #[test]
    fn a_value_that_no_scenario_can_have_names_its_origin() {
        let mut draft = draft();
        draft.set_plain("device.geometry.dies", 99, "Die_No_Per_Chip");
        let shown = draft.scenario().expect_err("99 dies").render(ColorMode::Plain);
        assert!(shown.contains("dies = 99") && shown.contains("# Die_No_Per_Chip"), "{shown}");
    }

    #[test]
    fn the_last_value_of_a_key_counts() {
        let mut draft = draft();
        draft.set_plain("seed", 8, "another");
        let text = draft.scenario().expect("a scenario");
        assert!(text.contains("seed = 8") && !text.contains("seed = 7"), "{text}");
    }
}
