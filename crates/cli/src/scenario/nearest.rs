//! The name that a misspelt one was meant to be.

/// The most similar of `names`, if one is similar enough to be meant: a third of the letters
/// wrong, swapped or missing at most, or one name the start of the other. Another RAID
/// level is another thing (raid6 is not raid0) and is not suggested.
pub fn nearest<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    closest(name, names).into_iter().next()
}

/// The name that [`nearest`] chooses, and those that are as similar.
pub fn closest<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> Vec<&'n str> {
    let wanted = plain(name);
    let mut found: Vec<(usize, &str)> = Vec::new();
    for candidate in names {
        let other = plain(candidate);
        if is_raid_level(&other) && is_raid_level(&wanted) && other != wanted {
            continue;
        }
        let distance = strsim::damerau_levenshtein(&wanted, &other);
        let tolerated = wanted.chars().count().max(other.chars().count()).div_ceil(3);
        let similar = distance <= tolerated.min(4) && distance < wanted.chars().count();
        let starts = wanted.len().min(other.len()) >= 4
            && (wanted.starts_with(other.as_str()) || other.starts_with(wanted.as_str()));
        if similar || starts {
            found.push((distance, candidate));
        }
    }
    found.sort_by_key(|(distance, _)| *distance);
    let least = found.first().map_or(0, |(distance, _)| *distance);
    found.retain(|(distance, _)| *distance == least);
    found.into_iter().map(|(_, candidate)| candidate).collect()
}

/// Letter case and the kind of dash are not what a person gets wrong on purpose.
pub(super) fn plain(name: &str) -> String {
    name.to_lowercase().replace('_', "-")
}

fn is_raid_level(name: &str) -> bool {
    let level = name.strip_prefix("raid");
    level.is_some_and(|level| !level.is_empty() && level.chars().all(|c| c.is_ascii_digit()))
}

/// Names for a sentence: `'a', 'b', 'c'`. All of them: the one that is looked for may be the last.
pub fn enumerate(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    quoted.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_the_finger_are_recognised() {
        let names = ["read", "program", "erase", "suspend_limit", "planes"];
        let near = |name| nearest(name, names);
        assert_eq!(near("raed"), Some("read"));
        assert_eq!(near("Read"), Some("read"));
        assert_eq!(near("read_time"), Some("read"));
        assert_eq!(near("programm"), Some("program"));
        assert_eq!(near("suspend-limit"), Some("suspend_limit"));
        assert_eq!(near("plane"), Some("planes"));
    }

    #[test]
    fn what_is_like_nothing_gets_no_suggestion() {
        assert_eq!(nearest("colour", ["read", "program", "erase"]), None);
        assert_eq!(nearest("a", ["b", "c"]), None);
        assert_eq!(nearest("x", []), None);
        assert_eq!(nearest("raid6", ["raid0", "raid4", "raid5"]), None);
        assert_eq!(nearest("g-2g", ["m-32g", "g-1g"]), Some("g-1g"));
    }

    #[test]
    fn names_that_are_as_close_are_all_found() {
        let names = ["swan-1", "swan-eq1", "swan-eq2", "epochs-1"];
        assert_eq!(closest("swan-eq", names), ["swan-eq1", "swan-eq2"]);
        assert_eq!(closest("epoch-1", names), ["epochs-1"]);
    }

    #[test]
    fn lists_read_like_a_sentence() {
        assert_eq!(enumerate(&["a"]), "'a'");
        assert_eq!(enumerate(&["a", "b", "c"]), "'a', 'b', 'c'");
        assert_eq!(enumerate(&["x"; 15]).matches("'x'").count(), 15);
    }
}
