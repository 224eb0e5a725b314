//! The lines of a job file: sections with keys.

use super::problem::Findings;

/// A section and its keys, in the order of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Section {
    /// The name between the brackets; `global` sets defaults for the sections behind it.
    pub name: String,
    pub line: u32,
    pub entries: Vec<Entry>,
}

/// A line `key=value` or `key`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub line: u32,
    pub key: String,
    /// `None` for a key that stands alone, such as `time_based`.
    pub value: Option<String>,
}

/// Reads the lines. What is no section, key or comment is reported and left out.
pub(super) fn sections(text: &str, findings: &mut Findings) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    for (number, raw) in text.lines().enumerate() {
        let line = u32::try_from(number + 1).unwrap_or(u32::MAX);
        let content = without_comment(raw);
        if content.is_empty() {
            continue;
        }
        if let Some(header) = content.strip_prefix('[') {
            // A section with a bad header still takes its keys, so that they are checked too.
            let name = section_name(header, line, findings);
            sections.push(Section { name, line, entries: Vec::new() });
            continue;
        }
        let Some(entry) = entry(content, line, findings) else { continue };
        match sections.last_mut() {
            Some(section) => section.entries.push(entry),
            None => findings.error(
                line,
                &entry.key,
                "stands before the first section; put it under [global] or the name of a job in brackets",
            ),
        }
    }
    sections
}

/// The line without its comment and the blanks around it. As in fio, a comment may follow a value.
fn without_comment(line: &str) -> &str {
    line.split([';', '#']).next().unwrap_or("").trim()
}

fn section_name(header: &str, line: u32, findings: &mut Findings) -> String {
    let name = header.split(']').next().unwrap_or("").trim();
    if !header.contains(']') {
        findings.error(line, &format!("[{name}"), "the bracket is not closed; write [name]");
    } else if name.is_empty() {
        findings.error(line, "[]", "a section needs a name, such as [job1] or [global]");
    }
    name.to_string()
}

fn entry(content: &str, line: u32, findings: &mut Findings) -> Option<Entry> {
    let (key, value) = match content.split_once('=') {
        Some((key, value)) => (key.trim(), Some(value.trim())),
        None => (content, None),
    };
    if key.split_whitespace().next() == Some("include") {
        findings.error(line, "include", "other files are not read; copy the lines of that file here");
        return None;
    }
    if key.is_empty() {
        findings.error(line, "=", "there is no key in front of the equals sign");
        return None;
    }
    let value_text = value.unwrap_or("");
    let variable = VARIABLES.iter().find(|name| value_text.contains(*name));
    if let Some(name) = variable {
        let what = if *name == "${" { "environment variables are" } else { "fio's variables are" };
        findings.error(
            line,
            key,
            format!("{what} not replaced; write the value itself in place of '{value_text}'"),
        );
        return None;
    }
    Some(Entry { line, key: key.to_string(), value: value.map(str::to_string) })
}

/// What fio would replace in a value.
const VARIABLES: [&str; 4] = ["${", "$pagesize", "$mb_memory", "$ncpus"];
