//! Problems of a scenario: what is wrong, where, and what would be right.

use super::source::{Place, Source};
use crate::terminal::{ColorMode, TextRole};
use std::fmt;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where; `None` when no text can be blamed, such as for a built-in value.
    pub place: Option<Place>,
    /// What is wrong, without a full stop.
    pub message: String,
    /// What would be right, if the message does not state it.
    pub remedy: Option<String>,
}

impl Problem {
    /// A problem at a place.
    pub fn at(place: Place, message: impl Into<String>) -> Problem {
        Problem { place: Some(place), message: message.into(), remedy: None }
    }

    /// A problem that no text can be blamed for.
    pub fn nowhere(message: impl Into<String>) -> Problem {
        Problem { place: None, message: message.into(), remedy: None }
    }

    /// This problem with what would be right.
    pub fn remedy(mut self, remedy: impl Into<String>) -> Problem {
        self.remedy = Some(remedy.into());
        self
    }
}

/// Everything that is wrong, in the order of the texts. As an error its message is the whole
/// report without colours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems {
    sources: Vec<Source>,
    problems: Vec<Problem>,
}

impl std::error::Error for Problems {}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.render(ColorMode::Plain).trim_end())
    }
}

impl Problems {
    /// Problems and the texts that their places refer to. Those without a place come last.
    pub fn new(sources: Vec<Source>, mut problems: Vec<Problem>) -> Problems {
        let order = |place: &Place| (place.source, place.span.start, place.span.end);
        problems.sort_by_key(|problem| (problem.place.is_none(), problem.place.as_ref().map(order)));
        Problems { sources, problems }
    }
    /// These problems and others of the same texts.
    pub fn and(self, others: Problems) -> Problems {
        debug_assert_eq!(self.sources, others.sources);
        Problems::new(self.sources, self.problems.into_iter().chain(others.problems).collect())
    }

    /// The problems, in the order of the report.
    pub fn list(&self) -> &[Problem] {
        &self.problems
    }

    /// The report for people: each problem with its place, its line, a caret and the remedy, an
    /// empty line between two problems.
    pub fn render(&self, tone: ColorMode) -> String {
        self.reports(&tone.paint(TextRole::Error, "error"), tone)
    }

    /// The report for problems that are warnings rather than errors.
    pub fn warn(&self, tone: ColorMode) -> String {
        self.reports(&tone.paint(TextRole::Warning, "warning"), tone)
    }

    fn reports(&self, heading: &str, tone: ColorMode) -> String {
        let report = |problem| self.report(heading, problem, tone);
        let reports: Vec<String> = self.problems.iter().map(report).collect();
        reports.join("\n")
    }

    fn report(&self, heading: &str, problem: &Problem, tone: ColorMode) -> String {
        let mut text = format!("{heading}: {}\n", problem.message);
        let gutter = match &problem.place {
            Some(place) => self.show_place(&mut text, place, tone),
            None => 0,
        };
        if let Some(remedy) = &problem.remedy {
            let help = tone.paint(TextRole::Remedy, "help");
            text.push_str(&format!("{:gutter$} {} {help}: {remedy}\n", "", tone.paint(TextRole::Place, "=")));
        }
        text
    }

    /// Writes where the place is, with its line, and returns the width of the line's number.
    fn show_place(&self, text: &mut String, place: &Place, tone: ColorMode) -> usize {
        let source = &self.sources[place.source];
        let (line, start) = source.line_around(place.span.start);
        let excerpt = Excerpt::new(line, place.span.start - start, place.span.end.saturating_sub(start));
        let arrow = tone.paint(TextRole::Place, "-->");
        let caret = tone.paint(TextRole::Error, &"^".repeat(excerpt.caret));
        let indent = excerpt.indent;
        let Some(name) = source.file_name() else {
            text.push_str(&format!(" {arrow} {}\n     {:indent$}{caret}\n", excerpt.text, ""));
            return 0;
        };
        let (number, column) = source.position(place.span.start);
        let gutter = number.to_string().len();
        let bar = tone.paint(TextRole::Place, "|");
        let shown = tone.paint(TextRole::Place, &number.to_string());
        text.push_str(&format!("{:gutter$}{arrow} {name}:{number}:{column}\n", ""));
        text.push_str(&format!("{:gutter$} {bar}\n{shown} {bar} {}\n", "", excerpt.text));
        text.push_str(&format!("{:gutter$} {bar} {:indent$}{caret}\n", "", ""));
        gutter
    }
}

/// The part of a line that is shown, in columns of a terminal.
struct Excerpt {
    text: String,
    indent: usize,
    caret: usize,
}

impl Excerpt {
    /// Cuts a long line to a window around the bytes `from..to`; shows tabs as one blank, because
    /// their width depends on the terminal, and other control characters as `?`.
    fn new(line: &str, from: usize, to: usize) -> Excerpt {
        let chars: Vec<(usize, char)> = line.char_indices().collect();
        let index = |byte: usize| chars.iter().position(|&(at, _)| at >= byte).unwrap_or(chars.len());
        let (first, last) = (index(from), index(to));
        let skipped = if chars.len() > WINDOW { first.saturating_sub(WINDOW / 2) } else { 0 };
        let end = chars.len().min(skipped + WINDOW);
        let mut text = String::from(if skipped > 0 { "…" } else { "" });
        let mut indent = text.width();
        let mut caret = 0;
        for (number, &(_, c)) in chars.iter().enumerate().take(end).skip(skipped) {
            let c = if c == '\t' { ' ' } else { c };
            let c = if c.is_control() { '?' } else { c };
            let width = c.width().unwrap_or(0);
            indent += if number < first { width } else { 0 };
            caret += if (first..last).contains(&number) { width } else { 0 };
            text.push(c);
        }
        text.push_str(if end < chars.len() { "…" } else { "" });
        Excerpt { text, indent, caret: caret.max(1) }
    }
}

/// Characters of a line that are shown at most.
const WINDOW: usize = 90;

#[cfg(test)]
mod tests {
    use super::*;

    fn render(text: &str, span: std::ops::Range<usize>) -> String {
        let problem = Problem::at(Place::new(0, span), "this is wrong").remedy("write it right");
        Problems::new(vec![Source::file("drive.toml", text)], vec![problem]).render(ColorMode::Plain)
    }

    #[test]
    fn a_problem_shows_its_line_and_a_caret() {
        let text = "a = 1\n\nb = \"µs\" # end\n";
        let want = "error: this is wrong\n --> drive.toml:3:5\n  |\n3 | b = \"µs\" # end\n  |     ^^^^\n  = \
            help: write it right\n";
        assert_eq!(render(text, 11..16), want);
    }

    #[test]
    fn an_argument_is_its_own_place() {
        let problem = Problem::at(Place::new(0, 11..13), "this is wrong");
        let problems = Problems::new(vec![Source::argument("--set read=80")], vec![problem]);
        let want = "error: this is wrong\n --> --set read=80\n                ^^\n";
        assert_eq!(problems.render(ColorMode::Plain), want);
    }

    #[test]
    fn a_long_line_is_cut_around_the_place() {
        let text = format!("list = [{}7{}]", "1, ".repeat(200), ", 1".repeat(200));
        let shown = render(&text, 608..609);
        let lines: Vec<&str> = shown.lines().collect();
        let column = lines[4].find('^').expect("there is a caret");
        let columns: Vec<char> = lines[3].chars().collect();
        assert_eq!(columns[column], '7', "{shown}");
        assert!(columns.len() < 110 && columns[4] == '…' && columns[columns.len() - 1] == '…', "{shown}");
    }

    #[test]
    fn the_end_of_the_text_can_be_blamed() {
        assert!(render("a = [1", 6..6).contains("1 | a = [1\n  |       ^\n"));
        assert!(render("", 0..0).contains("1 | \n  | ^\n"));
    }
}
