//! Parameters of MQSim's XML files, with their places.

use crate::failure::Failure;
use crate::scenario::nearest::nearest;
use crate::scenario::{Place, Problem, Problems, Source};
use roxmltree::{Document, Node, ParsingOptions};
use std::ops::RangeInclusive;
use std::path::Path;

/// The text of an XML file.
///
/// # Errors
/// A file that cannot be read, or is not UTF-8.
pub(super) fn open(path: &Path) -> Result<Source, Failure> {
    let name = path.display();
    let bytes = std::fs::read(path).map_err(|error| {
        Failure::Input(format!("cannot read '{name}': {error}; give the path of a file of MQSim"))
    })?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let line = error.as_bytes()[..error.utf8_error().valid_up_to()].split(|&byte| byte == b'\n').count();
        Failure::Input(format!("'{name}' is not text: line {line} is not UTF-8; convert it to UTF-8"))
    })?;
    Ok(Source::file(name.to_string(), text))
}

/// The document of text number `number`.
///
/// # Errors
/// The first place that is not XML: what follows it is guesswork.
pub(super) fn parse(number: usize, source: &Source) -> Result<Document<'_>, Problem> {
    if let Some(at) = too_deep(source.text()) {
        return Err(Problem::at(Place::new(number, at..at + 1), "elements are nested too deeply")
            .remedy(format!("MQSim's files have three levels; at most {DEEPEST} are read")));
    }
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    Document::parse_with_options(source.text(), options).map_err(|error| {
        let at = byte_of(source.text(), error.pos());
        let place = Place::new(number, at..at);
        Problem::at(place, format!("not XML: {}", plain(&error.to_string())))
            .remedy("every <Name> needs its </Name>; MQSim writes its default files where there are none")
    })
}

/// The deepest element that is read. The parser calls itself for each level.
const DEEPEST: usize = 1000;

/// Where a text opens more elements than [`DEEPEST`]. Comments count as text: MQSim has none so deep.
fn too_deep(text: &str) -> Option<usize> {
    let mut open = 0usize;
    for (at, _) in text.match_indices('<') {
        let tag = &text[at + 1..];
        let tag = &tag[..tag.find(['<', '>']).unwrap_or(tag.len())];
        if tag.starts_with('/') {
            open = open.saturating_sub(1);
        } else if !tag.starts_with(['!', '?']) && !tag.ends_with('/') {
            open += 1;
        }
        if open > DEEPEST {
            return Some(at);
        }
    }
    None
}

/// The parser's message without its position, which is shown beside it.
fn plain(message: &str) -> &str {
    message.split(" at ").next().unwrap_or(message).trim_end_matches('.')
}

fn byte_of(text: &str, at: roxmltree::TextPos) -> usize {
    let line_start: usize =
        text.split_inclusive('\n').take(at.row.saturating_sub(1) as usize).map(str::len).sum();
    let rest = text.get(line_start..).unwrap_or_default();
    let column: usize = rest.chars().take(at.col.saturating_sub(1) as usize).map(char::len_utf8).sum();
    (line_start + column).min(text.len())
}

/// The parameters of one element. Reading one marks it as known; the others are refused at the end.
pub(super) struct Parameters<'d, 'p> {
    /// The number of the text.
    source: usize,
    /// The name of the element.
    name: &'d str,
    /// The start tag of the element.
    place: Place,
    children: Vec<Node<'d, 'd>>,
    known: Vec<&'static str>,
    problems: &'p mut Vec<Problem>,
}

/// One value as it is written.
struct Written<'d> {
    text: &'d str,
    place: Place,
}

impl<'d, 'p> Parameters<'d, 'p> {
    /// The parameters of `element` in text number `source`.
    pub(super) fn new(
        source: usize,
        element: Node<'d, 'd>,
        problems: &'p mut Vec<Problem>,
    ) -> Parameters<'d, 'p> {
        Parameters {
            source,
            name: element.tag_name().name(),
            place: tag(source, element),
            children: element.children().filter(Node::is_element).collect(),
            known: Vec::new(),
            problems,
        }
    }

    /// The element itself, for problems of several parameters.
    pub(super) fn place(&self) -> Place {
        self.place.clone()
    }

    /// Adds a problem.
    pub(super) fn refuse(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// The parameters of the element `name` below this one; `None` if there is none.
    pub(super) fn below(&mut self, name: &'static str) -> Option<Parameters<'d, '_>> {
        let element = self.find(name)?;
        Some(Parameters::new(self.source, element, self.problems))
    }

    /// True if the parameter is written.
    pub(super) fn has(&self, name: &str) -> bool {
        self.children.iter().any(|child| child.tag_name().name() == name)
    }

    /// A whole number; `default` where it is not written.
    pub(super) fn count(&mut self, name: &'static str, default: u64, range: RangeInclusive<u64>) -> u64 {
        let Some(written) = self.take(name) else { return default };
        let whole = |text: &str| {
            // The program itself reads the digits and ignores what follows them, as in "8.000".
            let digits = text.split_once('.').map_or(text, |(digits, rest)| {
                if rest.bytes().all(|byte| byte == b'0') { digits } else { text }
            });
            digits.parse::<u64>().ok()
        };
        match whole(written.text).filter(|value| range.contains(value)) {
            Some(value) => value,
            None => {
                let (first, last) = (range.start(), range.end());
                let limits =
                    if *last == u64::MAX { format!("from {first} on") } else { format!("{first} to {last}") };
                self.refuse_value(name, &written, &format!("write a whole number, {limits}"));
                default
            }
        }
    }

    /// A number; `default` where it is not written.
    pub(super) fn number(&mut self, name: &'static str, default: f64, range: RangeInclusive<f64>) -> f64 {
        let Some(written) = self.take(name) else { return default };
        match written.text.parse().ok().filter(|value| range.contains(value)) {
            Some(value) => value,
            None => {
                let remedy = format!("write a number from {} to {}", range.start(), range.end());
                self.refuse_value(name, &written, &remedy);
                default
            }
        }
    }

    /// True or false; `default` where it is not written.
    pub(super) fn flag(&mut self, name: &'static str, default: bool) -> bool {
        let Some(written) = self.take(name) else { return default };
        match written.text.to_ascii_lowercase().as_str() {
            "true" => true,
            "false" => false,
            _ => {
                self.refuse_value(name, &written, "write true or false; MQSim takes all but false for true");
                default
            }
        }
    }

    /// One of several names, in any case of letters; `default` where it is not written.
    pub(super) fn choice<T: Copy>(&mut self, name: &'static str, default: T, names: &[(&str, T)]) -> T {
        let Some(written) = self.take(name) else { return default };
        let found = names.iter().find(|(known, _)| known.eq_ignore_ascii_case(written.text));
        if let Some(&(_, value)) = found {
            return value;
        }
        let all: Vec<&str> = names.iter().map(|(known, _)| *known).collect();
        self.refuse_value(name, &written, &format!("the names are {}", all.join(", ")));
        default
    }

    /// Numbers below `count` between commas, each once, in their order; all of them where it is not written.
    pub(super) fn numbers(&mut self, name: &'static str, count: u64) -> Vec<u64> {
        let Some(written) = self.take(name) else { return (0..count).collect() };
        let parsed: Option<Vec<u64>> = written.text.split(',').map(|part| part.trim().parse().ok()).collect();
        let mut numbers = parsed.unwrap_or_default();
        numbers.sort_unstable();
        numbers.dedup();
        if numbers.last().is_none_or(|&last| last >= count) {
            let remedy = format!("write numbers from 0 to {} between commas", count.saturating_sub(1));
            self.refuse_value(name, &written, &remedy);
            return (0..count).collect();
        }
        numbers
    }

    /// A text; `None` where it is not written.
    pub(super) fn text(&mut self, name: &'static str) -> Option<&'d str> {
        self.take(name).map(|written| written.text)
    }

    /// A parameter that MQSim does not read: its text, if it is written.
    pub(super) fn unread(&mut self, name: &'static str) -> Option<&'d str> {
        self.text(name)
    }

    /// Refuses the elements that no call has read.
    pub(super) fn finish(self) {
        for child in &self.children {
            let name = child.tag_name().name();
            if self.known.contains(&name) {
                continue;
            }
            let meant = nearest(name, self.known.iter().copied());
            let meant = meant.map_or(String::new(), |near| format!("did you mean {near}? "));
            let message = format!("MQSim has no parameter {name} in {}", self.name);
            let remedy = format!("{meant}MQSim would ignore it: correct the name or remove it");
            self.problems.push(Problem::at(tag(self.source, *child), message).remedy(remedy));
        }
    }

    /// The last element of that name, which is the one that counts for MQSim.
    fn find(&mut self, name: &'static str) -> Option<Node<'d, 'd>> {
        self.known.push(name);
        self.children.iter().rev().find(|child| child.tag_name().name() == name).copied()
    }

    fn take(&mut self, name: &'static str) -> Option<Written<'d>> {
        let element = self.find(name)?;
        let inside = element.children().find(Node::is_text);
        let range = inside.map_or(element.range(), |text| text.range());
        let all = inside.and_then(|text| text.text()).unwrap_or_default();
        let text = all.trim();
        let skipped = if inside.is_some() { all.len() - all.trim_start().len() } else { 0 };
        let start = (range.start + skipped).min(range.end);
        let length = if text.is_empty() { range.end - start } else { text.len() };
        Some(Written { text, place: Place::new(self.source, start..(start + length).min(range.end)) })
    }

    fn refuse_value(&mut self, name: &str, written: &Written<'_>, remedy: &str) {
        let message = match written.text {
            "" => format!("{name} is empty"),
            text => format!("{name} cannot be '{}'", text.chars().take(SHOWN).collect::<String>()),
        };
        self.problems.push(Problem::at(written.place.clone(), message).remedy(remedy));
    }
}

/// The place of an element's name.
fn tag(source: usize, element: Node<'_, '_>) -> Place {
    let start = element.range().start;
    Place::new(source, start..start + 1 + element.tag_name().name().len())
}

/// The element at the root of a document, which must have this name.
///
/// # Errors
/// Another name, with its place.
pub(super) fn root<'d>(
    source: usize,
    document: &'d Document<'d>,
    name: &str,
) -> Result<Node<'d, 'd>, Problem> {
    let root = document.root_element();
    if root.tag_name().name() == name {
        return Ok(root);
    }
    let message = format!("this is <{}>, not <{name}>", root.tag_name().name());
    let remedy = "give the device (ssdconfig.xml) first and the workload (workload.xml) second";
    Err(Problem::at(tag(source, root), message).remedy(remedy))
}

/// The failure of these problems of the files.
pub(super) fn failure(sources: &[Source], problems: Vec<Problem>) -> Failure {
    Failure::Scenario(Problems::new(sources.to_vec(), problems))
}

/// Characters of a value that a message shows.
const SHOWN: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::ColorMode;

    /// The problems of a reading of `text`.
    fn refused(text: &str, read: impl Fn(&mut Parameters<'_, '_>)) -> String {
        let source = Source::file("a.xml", text);
        let mut problems = Vec::new();
        match parse(0, &source) {
            Ok(document) => {
                let mut parameters = Parameters::new(0, document.root_element(), &mut problems);
                read(&mut parameters);
                parameters.finish();
            }
            Err(problem) => problems.push(problem),
        }
        failure(&[source], problems).render(ColorMode::Plain)
    }

    #[test]
    fn a_wrong_value_has_its_line_and_what_would_be_right() {
        let text = "<Flash>\n\t<Die_No_Per_Chip> two </Die_No_Per_Chip>\n</Flash>";
        let shown = refused(text, |parameters| {
            assert_eq!(parameters.count("Die_No_Per_Chip", 2, 1..=16), 2);
        });
        let want = "error: Die_No_Per_Chip cannot be 'two'\n --> a.xml:2:20\n";
        assert!(shown.starts_with(want), "{shown}");
        assert!(shown.contains("help: write a whole number, 1 to 16"), "{shown}");
    }

    #[test]
    fn an_unknown_element_is_refused_with_the_nearest_name() {
        let shown = refused("<Flash>\n<Page_Capcity>8192</Page_Capcity>\n</Flash>", |parameters| {
            parameters.count("Page_Capacity", 8192, 512..=32768);
        });
        assert!(shown.contains("MQSim has no parameter Page_Capcity in Flash\n --> a.xml:2:1\n"), "{shown}");
        assert!(shown.contains("did you mean Page_Capacity?"), "{shown}");
    }

    #[test]
    fn malformed_text_has_a_place() {
        let shown = refused("<Flash>\n  <Page_Capacity>8192</Page>\n</Flash>", |_| {});
        assert!(shown.contains("not XML") && shown.contains("--> a.xml:2:"), "{shown}");
    }

    #[test]
    fn values_are_read_as_mqsim_reads_them() {
        let text = "<F><A>\n 12 </A><A>13</A><B>FALSE</B><C>nvme</C><D>3,1,1</D><E>8.000</E></F>";
        let source = Source::file("a.xml", text);
        let document = parse(0, &source).expect("XML");
        let mut problems = Vec::new();
        let mut parameters = Parameters::new(0, document.root_element(), &mut problems);
        assert_eq!(parameters.count("A", 0, 0..=99), 13, "the last one counts");
        assert!(!parameters.flag("B", true));
        assert_eq!(parameters.choice("C", 0, &[("SATA", 1), ("NVME", 2)]), 2);
        assert_eq!(parameters.numbers("D", 4), [1, 3]);
        assert_eq!(parameters.count("E", 0, 0..=99), 8);
        assert_eq!(parameters.numbers("Z", 3), [0, 1, 2], "all where nothing is written");
        parameters.finish();
        assert_eq!(problems, []);
    }
}
