//! Grids in files.
//!
//! ```toml
//! [vary]                                    # the first value of each is that of the base point
//! "workload.rate" = [20000, 40000]
//!
//! [on-off]                                  # off, the scenario stays as it is
//! background = ["device.gc.background=true"]
//!
//! [levels.array]                            # techniques with several levels; the base point has the first
//! none = []
//! raid5 = ["array.drives=4", "array.layout=raid5"]
//! ```

use super::factor::invalid_setting;
use super::results::{Factor, Level};
use crate::failure::Failure;
use crate::scenario::document::{Item, Section, Value, parse};
use crate::scenario::{Problem, Problems, Source, spelling};
use std::path::Path;

/// The factors of a file, in the order in which they are written.
///
/// # Errors
/// Everything that is wrong with the file.
pub fn load(path: &Path) -> Result<Vec<Factor>, Failure> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| {
        Failure::Input(format!("cannot read the grid '{name}': {error}; give the path of a TOML file"))
    })?;
    Ok(read(Source::file(name, text))?)
}

/// The factors that a text describes.
///
/// # Errors
/// Everything that is wrong with it.
pub fn read(source: Source) -> Result<Vec<Factor>, Problems> {
    let mut reader = Reader::default();
    match parse(0, &source) {
        Ok(document) => reader.document(&document),
        Err(problem) => reader.problems.push(problem),
    }
    let Reader { factors, mut problems } = reader;
    problems.extend(factors.iter().filter_map(|(item, factor)| {
        let wrong = factor.wrong().or_else(|| invalid_setting(factor))?;
        Some(Problem::at(item.key.clone(), wrong))
    }));
    if problems.is_empty() {
        return Ok(factors.into_iter().map(|(_, factor)| factor).collect());
    }
    Err(Problems::new(vec![source], problems))
}

#[derive(Default)]
struct Reader {
    /// Each with where it is written.
    factors: Vec<(Item, Factor)>,
    problems: Vec<Problem>,
}

/// The items of a section in the order in which they are written.
fn in_order(section: &Section) -> Vec<(&String, &Item)> {
    let mut items: Vec<(&String, &Item)> = section.items.iter().collect();
    items.sort_by_key(|(_, item)| item.key.span.start);
    items
}

impl Reader {
    fn document(&mut self, document: &Section) {
        for (name, item) in in_order(document) {
            match (name.as_str(), &item.value) {
                ("vary", Value::Section(keys)) => self.vary("", keys),
                ("on-off", Value::Section(techniques)) => self.on_off(techniques),
                ("levels", Value::Section(techniques)) => self.levels(techniques),
                ("vary" | "on-off" | "levels", other) => {
                    self.refuse(item, format!("'{name}' is {}, not a section", other.kind()));
                }
                _ => self.refuse(
                    item,
                    format!("unknown section '{name}'; a grid has [vary], [on-off] and [levels.NAME]"),
                ),
            }
        }
    }

    fn refuse(&mut self, item: &Item, message: impl Into<String>) {
        self.problems.push(Problem::at(item.key.clone(), message));
    }

    /// Keys may be written with their path in quotes, or as sections.
    fn vary(&mut self, above: &str, keys: &Section) {
        for (name, item) in in_order(keys) {
            let path = if above.is_empty() { name.clone() } else { format!("{above}.{name}") };
            match &item.value {
                Value::Section(below) => self.vary(&path, below),
                Value::List(values) => {
                    let level = |(_, value): &(_, Value)| Level {
                        name: shown(value),
                        settings: vec![format!("{path}={}", spelled(value))],
                    };
                    let factor = Factor { levels: values.iter().map(level).collect(), name: path };
                    self.factors.push((item.clone(), factor));
                }
                other => {
                    let wrong = format!("{path} is {}, not a list of values; write [a, b]", other.kind());
                    self.refuse(item, wrong);
                }
            }
        }
    }

    fn on_off(&mut self, techniques: &Section) {
        for (name, item) in in_order(techniques) {
            let Some(settings) = self.settings(item) else { continue };
            let off = Level { name: "off".into(), settings: Vec::new() };
            let on = Level { name: "on".into(), settings };
            self.factors.push((item.clone(), Factor { name: name.clone(), levels: vec![off, on] }));
        }
    }

    fn levels(&mut self, techniques: &Section) {
        for (name, item) in in_order(techniques) {
            let Value::Section(section) = &item.value else {
                self.refuse(
                    item,
                    format!("'{name}' has no levels; write [levels.{name}] and a line for each"),
                );
                continue;
            };
            let mut levels = Vec::new();
            for (level, item) in in_order(section) {
                let Some(settings) = self.settings(item) else { continue };
                levels.push(Level { name: level.clone(), settings });
            }
            self.factors.push((item.clone(), Factor { name: name.clone(), levels }));
        }
    }

    /// A list of settings, as `--set` takes them.
    fn settings(&mut self, item: &Item) -> Option<Vec<String>> {
        let settings = match &item.value {
            Value::List(list) => list.iter().map(|(_, value)| setting(value)).collect(),
            _ => None,
        };
        if settings.is_none() {
            self.refuse(item, "write a list of settings, such as [\"device.gc.background=true\"]");
        }
        settings
    }
}

fn setting(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) if text.contains('=') => Some(text.clone()),
        _ => None,
    }
}

/// A value as `--set` takes it.
fn spelled(value: &Value) -> String {
    match value {
        Value::Text(text) => spelling::quoted(text),
        other => shown(other),
    }
}

/// A value as a table shows it.
fn shown(value: &Value) -> String {
    match value {
        Value::Text(text) | Value::Integer(text) | Value::Float(text) => text.clone(),
        Value::Flag(flag) => flag.to_string(),
        Value::List(list) => {
            let each: Vec<String> = list.iter().map(|(_, value)| spelled(value)).collect();
            format!("[{}]", each.join(", "))
        }
        Value::Section(_) | Value::Date => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_is_read_in_its_order() {
        let text = "\
[on-off]
z = [\"device.gc.background=true\", \"run.requests=2\"]
[vary]
\"workload.rate\" = [40000, 20000]
device.timing.read = [[\"60us\", \"90us\"], \"75us\"]
[levels.path]
none = []
poll = [\"host.strategy=poll\"]
";
        let factors = read(Source::file("grid.toml", text)).expect("this is a grid");
        let names: Vec<&str> = factors.iter().map(|factor| factor.name.as_str()).collect();
        assert_eq!(names, ["z", "workload.rate", "device.timing.read", "path"]);
        assert_eq!(factors[0].levels[1].settings, ["device.gc.background=true", "run.requests=2"]);
        assert_eq!(factors[1].levels[0].settings, ["workload.rate=40000"], "the first one is the base");
        assert_eq!(factors[2].levels[0].settings, ["device.timing.read=[\"60us\", \"90us\"]"]);
        assert_eq!(factors[2].levels[1].name, "75us");
        assert!(factors[3].levels[0].settings.is_empty());
    }

    #[test]
    fn what_is_wrong_has_a_place() {
        let text = "[vary]\nseed = 3\nworkload.rate = [1]\n[off-on]\nx = 1\n[on-off]\ny = [\"seed\"]\nz = \
            [\"workload.read=101%\"]\n";
        let wrong = read(Source::file("grid.toml", text)).expect_err("five problems").to_string();
        for part in [
            "grid.toml:2:1",
            "not a list of values",
            "one level only",
            "unknown section 'off-on'",
            "grid.toml:7:1",
            "'z': workload.read: '101%' is not a share",
            "grid.toml:8:1",
        ] {
            assert!(wrong.contains(part), "{part}:\n{wrong}");
        }
    }
}
