//! Factors as the command line names them.

use super::results::{Factor, Level};
use crate::run::Scenario;
use crate::scenario;
use crate::sweep::Misread;
use std::collections::BTreeSet;

impl Factor {
    /// Reads what follows `--vary`: `key=a,b,c`. The first value is that of the base point. A comma within
    /// brackets, braces or quotes belongs to the value: `device.timing.read=[60us,90us],75us`.
    ///
    /// # Errors
    /// The part of the text that is invalid, and an example of what would be right.
    pub fn vary(text: &str) -> Result<Factor, Misread> {
        let example = "write it like --vary workload.rate=20000,40000";
        let Some((key, values)) = text.split_once('=') else {
            return Err(Misread::new(
                0..text.len(),
                format!("there is no '=' between key and values; {example}"),
            ));
        };
        let key = key.trim();
        let level =
            |value: &str| Level { name: bare(value).to_owned(), settings: vec![format!("{key}={value}")] };
        let levels = pieces(values).map(|(_, value)| level(value)).collect();
        Factor { name: key.to_owned(), levels }.checked(text)
    }

    /// Reads what follows `--on-off`: `NAME=key=value,key=value`. Off, the scenario is left as it is;
    /// on, all of these are set.
    ///
    /// # Errors
    /// As [`Factor::vary`].
    pub fn on_off(text: &str) -> Result<Factor, Misread> {
        let example = "write it like --on-off idle=device.gc.background=true,device.gc.preemptible=true";
        let Some((name, settings)) = text.split_once('=') else {
            return Err(Misread::new(0..text.len(), format!("there is no '=' after the name; {example}")));
        };
        let offset = name.len() + 1;
        let mut on = Vec::new();
        for (at, setting) in pieces(settings) {
            if !setting.contains('=') {
                let span = offset + at..offset + at + setting.len();
                if let Some(instead) = meant_levels(name, settings) {
                    return Err(Misread::new(
                        span,
                        format!("'{setting}' sets no key; to compare values of one key: --vary {instead}"),
                    ));
                }
                let wrong = format!(
                    "'{setting}' sets no key; {example}, and a value with a comma in quotes or brackets"
                );
                return Err(Misread::new(span, wrong));
            }
            on.push(setting.to_owned());
        }
        let off = Level { name: "off".into(), settings: Vec::new() };
        let on = Level { name: "on".into(), settings: on };
        Factor { name: name.trim().to_owned(), levels: vec![off, on] }.checked(text)
    }

    fn checked(self, text: &str) -> Result<Factor, Misread> {
        match self.wrong() {
            Some(message) => Err(Misread::new(0..text.len(), message)),
            None => Ok(self),
        }
    }

    /// What is wrong with it, or `None`: a factor has a name, and at least two levels with different names.
    pub fn wrong(&self) -> Option<String> {
        let name = &self.name;
        let mut names = BTreeSet::new();
        let twice = self.levels.iter().find(|level| !names.insert(&level.name));
        if name.is_empty() {
            Some("what is varied has no name".into())
        } else if let Some(twice) = twice {
            Some(format!("'{name}' has the level '{}' twice", twice.name))
        } else if self.levels.iter().any(|level| level.name.is_empty()) {
            Some(format!("'{name}' has a level without a value"))
        } else if self.levels.len() < 2 {
            Some(format!("'{name}' has one level only, so there is nothing to compare; name two or more"))
        } else {
            None
        }
    }

    /// The scenario keys that the factor's levels set, each once.
    pub fn keys(&self) -> BTreeSet<&str> {
        self.levels.iter().flat_map(Level::keys).collect()
    }
}

impl Level {
    /// The scenario keys that the level sets, each once.
    pub fn keys(&self) -> BTreeSet<&str> {
        let settings = self.settings.iter();
        settings
            .map(|setting| setting.split_once('=').map_or(setting.as_str(), |(key, _)| key).trim())
            .collect()
    }
}

/// What follows `--vary` if `--on-off` was given values of one key: `NAME=key=a,b`, or `key=a,b` alone.
fn meant_levels(name: &str, settings: &str) -> Option<String> {
    let is_key = |text: &str| text.contains('.') && !text.contains(char::is_whitespace);
    let (key, values) = match settings.split_once('=') {
        Some((key, values)) => (key.trim(), values),
        None => (name.trim(), settings),
    };
    let values: Vec<&str> = pieces(values).map(|(_, value)| value).collect();
    let is_list = values.len() > 1 && values.iter().all(|value| !value.is_empty() && !value.contains('='));
    (is_key(key) && is_list).then(|| format!("{key}={}", values.join(",")))
}

/// The conflict between these factors, if there is one.
pub fn conflict(factors: &[Factor]) -> Option<String> {
    for (number, factor) in factors.iter().enumerate() {
        for earlier in &factors[..number] {
            if earlier.name == factor.name {
                return Some(format!("'{}' is varied twice; name all of its levels at once", factor.name));
            }
            if let Some(key) = factor.keys().intersection(&earlier.keys()).next() {
                return Some(format!(
                    "'{}' and '{}' both set {key}: put them into one factor with a level for each \
                        combination (--grid)",
                    earlier.name, factor.name
                ));
            }
        }
    }
    None
}

/// The first setting of a factor that is wrong whatever others are, and what may have been meant: a key that
/// no scenario has, or a value that its key cannot have.
pub fn invalid_setting(factor: &Factor) -> Option<String> {
    // Incidents are those of a number of drives, which only the scenario of a point has.
    let is_alone = |setting: &&String| !setting.trim_start().starts_with("array.incidents");
    let of_level = |level: &Level| {
        let settings: Vec<String> = level.settings.iter().filter(is_alone).cloned().collect();
        let problem = scenario::find_invalid(&mut Scenario::default(), &settings)?;
        let remedy = problem.remedy.as_ref().map_or_else(String::new, |remedy| format!("; {remedy}"));
        Some(format!("{}{remedy}", problem.message))
    };
    let message = factor.levels.iter().find_map(of_level)?;
    let names_factor = message.starts_with(&format!("{}:", factor.name));
    Some(if names_factor { message } else { format!("'{}': {message}", factor.name) })
}

/// The pieces between commas, without blanks around them, each with the byte that it starts at.
fn pieces(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let (mut depth, mut quote) = (0, None);
    let is_border = move |c: char| {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth -= 1,
            _ => {}
        }
        c == ',' && depth <= 0 && quote.is_none()
    };
    let mut next = 0;
    text.split(is_border).map(move |piece| {
        let at = next;
        next += piece.len() + 1;
        (at + piece.len() - piece.trim_start().len(), piece.trim())
    })
}

/// A value without the quotes around it, unless there is nothing else.
fn bare(value: &str) -> &str {
    let unquoted = |quote| value.strip_prefix(quote)?.strip_suffix(quote);
    unquoted('"').or_else(|| unquoted('\'')).filter(|inner| !inner.is_empty()).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(factor: &Factor) -> Vec<&str> {
        factor.levels.iter().map(|level| level.name.as_str()).collect()
    }

    #[test]
    fn values_are_split_at_commas_that_are_not_their_own() {
        let factor = Factor::vary("device.timing.read=[60us, 90us], 75us").expect("good");
        assert_eq!(factor.name, "device.timing.read");
        assert_eq!(names(&factor), ["[60us, 90us]", "75us"]);
        assert_eq!(factor.levels[0].settings, ["device.timing.read=[60us, 90us]"]);
        let factor = Factor::vary("workload.addresses.zones=\"60/10,30/20\",'a,b'").expect("good");
        assert_eq!(names(&factor), ["60/10,30/20", "a,b"]);
    }

    #[test]
    fn a_technique_sets_several_keys() {
        let factor = Factor::on_off("epochs=array.drives=4, array.layout=epochs").expect("good");
        assert_eq!(factor.name, "epochs");
        assert_eq!(names(&factor), ["off", "on"]);
        assert!(factor.levels[0].settings.is_empty());
        assert_eq!(factor.levels[1].settings, ["array.drives=4", "array.layout=epochs"]);
        assert_eq!(factor.keys().len(), 2);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let wrong = |misread: Result<Factor, Misread>| misread.expect_err("wrong").message;
        assert!(wrong(Factor::vary("seed")).contains("no '='"));
        assert!(wrong(Factor::vary("seed=1")).contains("one level only"));
        assert!(wrong(Factor::vary("seed=1,1")).contains("twice"));
        assert!(wrong(Factor::vary("seed=1,")).contains("without a value"));
        assert!(wrong(Factor::vary("=1,2")).contains("no name"));
        let misread = Factor::on_off("x=a.b=1,2").expect_err("'2' sets nothing");
        assert_eq!(misread.span, 8..9);
        assert!(
            misread.message.ends_with("to compare values of one key: --vary a.b=1,2"),
            "{}",
            misread.message
        );
        assert!(wrong(Factor::on_off("a.b=1,2,3")).ends_with("--vary a.b=1,2,3"), "the name is missing");
        let several = wrong(Factor::on_off("x=a.b=1,c.d=2,3"));
        assert!(several.contains("write it like --on-off") && !several.contains("--vary"), "{several}");
        let factors = [Factor::vary("a.b=1,2").expect("good"), Factor::on_off("x=a.b=3").expect("good")];
        assert!(conflict(&factors).expect("both set it").contains("both set a.b"));
        assert!(conflict(&factors[..1]).is_none());
    }
}
