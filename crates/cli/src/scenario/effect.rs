//! Keys that were set and have no effect.
//!
//! One rule for all of them: they are warnings, wherever they are written. A resolved scenario holds every
//! key, so a key of a file counts only if its value differs from the default. A setting of the command line
//! was meant, whatever its value is. A value of a preset was not set.

use super::document::Item;
use super::keys::{self, Key};
use super::{Place, Problem, Problems, Source, Written};
use std::collections::BTreeMap;
use tailcut_base::config::Configure;

/// Compares what a user has written with the part that was read from it, whose values were `defaults`.
/// `reason` returns why the key at a path has no effect, if it has none. Returns a problem for each reason,
/// at the first key of the file that it holds for, and another one at the first setting.
pub fn find(
    part: &mut dyn Configure,
    defaults: &[Key],
    file: Option<Source>,
    sets: &[String],
    reason: impl Fn(&str) -> Option<String>,
) -> Problems {
    let is_file = file.is_some();
    let Written { sources, document, .. } = Written::parse(file, sets);
    let document = document.unwrap_or_default();
    let (now, before) = (values(&keys::list(part)), values(defaults));
    // By their reasons: a scenario with a workload of its own may be run with a trace.
    let mut found: Vec<((String, bool), Place, Vec<String>)> = Vec::new();
    for (path, Item { key, .. }) in document.written() {
        let is_set = !is_file || key.source > 0;
        if now.get(&path) == before.get(&path) && !is_set {
            continue;
        }
        let Some(because) = reason(&path) else { continue };
        let why = (because, is_set);
        match found.iter_mut().find(|(known, ..)| *known == why) {
            Some((.., paths)) => paths.push(path),
            None => found.push((why, key.clone(), vec![path])),
        }
    }
    let problem = |((because, _), place, paths): ((String, bool), Place, Vec<String>)| {
        let verb = if paths.len() == 1 { "has" } else { "have" };
        // A number may have an effect up to a bound.
        let joint = if because.starts_with("beyond ") { "" } else { ":" };
        Problem::at(place, format!("{} {verb} no effect{joint} {because}", paths.join(", ")))
    };
    Problems::new(sources, found.into_iter().map(problem).collect())
}

/// The keys of one section that a user has written and whose values are others in `now`, each with both
/// values: as it was written, and as it is in `now`. `section` has been read already, under this name.
pub fn differing(
    name: &str,
    section: &mut dyn Configure,
    now: &mut dyn Configure,
    file: Option<Source>,
    sets: &[String],
) -> Vec<(String, String, String)> {
    let document = Written::parse(file, sets).document.unwrap_or_default();
    let (asked, now) = (values(&keys::list(section)), values(&keys::list(now)));
    let differ = |path: String| {
        let key = path.strip_prefix(name)?.strip_prefix('.')?;
        let (asked, now) = (asked.get(key)?.clone(), now.get(key)?.clone());
        (asked != now).then_some((path, asked, now))
    };
    document.written().into_iter().filter_map(|(path, _)| differ(path)).collect()
}

/// A key whose value is a set of defaults for others, such as a preset.
pub struct Preset<'c> {
    path: &'c str,
    chosen: &'c str,
    defaults: Vec<(&'static str, Vec<Key>)>,
}

impl<'c> Preset<'c> {
    /// The key with this path and the value `chosen`; of each of its values, by name, the defaults that it
    /// stands for.
    pub fn new(path: &'c str, chosen: &'c str, defaults: Vec<(&'static str, Vec<Key>)>) -> Preset<'c> {
        Preset { path, chosen, defaults }
    }
}

/// A warning when a preset was written that decides nothing, because every key that it has a default for was
/// written as well, with values closer to another preset's: a resolved scenario in which only the name was
/// changed.
pub fn find_idle_preset(
    part: &mut dyn Configure,
    preset: &Preset<'_>,
    file: Option<Source>,
    sets: &[String],
) -> Problems {
    let Written { sources, document, .. } = Written::parse(file, sets);
    let document = document.unwrap_or_default();
    let written: BTreeMap<String, &Item> = document.written().into_iter().collect();
    let now = values(&keys::list(part));
    let agrees = |key: &&Key| key.path != preset.path && now.get(&key.path) == Some(&key.default);
    let agreeing = |keys: &[Key]| keys.iter().filter(agrees).count();
    let has_all = |keys: &[Key]| keys.iter().all(|key| written.contains_key(&key.path));
    let own = preset.defaults.iter().find(|(name, _)| *name == preset.chosen).map(|(_, keys)| keys);
    let closest = preset.defaults.iter().max_by_key(|(_, keys)| agreeing(keys));
    let problem = match (written.get(preset.path), own, closest) {
        (Some(item), Some(own), Some((name, keys))) if has_all(own) && agreeing(keys) > agreeing(own) => {
            let (path, chosen) = (preset.path, preset.chosen);
            let message = format!("{path} has no effect: every key that it decides is written, as in {name}");
            let remedy = format!("remove the keys that {chosen} is to decide");
            Some(Problem::at(item.key.clone(), message).remedy(remedy))
        }
        _ => None,
    };
    Problems::new(sources, problem.into_iter().collect())
}

fn values(keys: &[Key]) -> BTreeMap<String, String> {
    keys.iter().map(|key| (key.path.clone(), key.default.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::super::test_configuration::TestConfiguration;
    use super::*;
    use crate::terminal::ColorMode;

    fn found(text: &str, sets: &[&str]) -> String {
        let mut part = TestConfiguration::default();
        let defaults = keys::list(&mut part);
        let sets: Vec<String> = sets.iter().map(|set| set.to_string()).collect();
        let file = Some(Source::file("a.toml", text));
        super::super::read(&mut part, file.clone(), &sets).expect("it is good");
        let reason = |path: &str| path.starts_with("load.").then(|| String::from("nobody asks"));
        find(&mut part, &defaults, file, &sets, reason).warn(ColorMode::Plain)
    }

    #[test]
    fn a_default_in_a_file_is_no_setting_and_one_of_the_command_line_is() {
        let text = "seed = 3\n[load]\ndepth = 16\nreads = 0.7\n";
        assert_eq!(found(text, &[]), "");
        let warnings = found(text, &["load.depth=16"]);
        assert!(
            warnings.starts_with("warning: load.depth has no effect: nobody asks\n --> --set load.depth")
        );
        assert!(!warnings.contains("load.reads"), "{warnings}");
    }

    #[test]
    fn a_setting_of_the_command_line_and_one_of_the_file_are_alike() {
        let warnings = found("[load]\ndepth = 17\n", &[]);
        assert!(
            warnings.starts_with("warning: load.depth has no effect: nobody asks\n --> a.toml:2:1"),
            "{warnings}"
        );
        let warnings = found("", &["load.depth=17"]);
        assert!(
            warnings.starts_with("warning: load.depth has no effect: nobody asks\n --> --set load.depth=17"),
            "{warnings}"
        );
        let warnings = found("[load]\ndepth = 17\nreads = 0.5\n", &["load.depth=18"]);
        for part in ["load.reads has no effect: nobody asks\n --> a.toml:3:1", "load.depth has no effect"] {
            assert!(warnings.contains(part), "{warnings}");
        }
        let warnings = found("[load]\ndepth = 17\nreads = 0.5\n", &[]);
        assert!(warnings.starts_with("warning: load.depth, load.reads have no effect"), "{warnings}");
    }
}
