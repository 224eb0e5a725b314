//! Matching of shown and actual output.

/// How exactly a line must match the shown one.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Likeness {
    /// Exactly, except for trailing blanks.
    #[default]
    Characters,
    /// In its words: numbers, units and bars may differ.
    Words,
}

impl Likeness {
    /// Whether a line of the output matches the shown one; a shown line that ends with `…` is a prefix.
    pub(super) fn holds(self, shown: &str, line: &str) -> bool {
        let (shown, is_beginning) = match shown.trim_end().strip_suffix(ELISION) {
            Some(beginning) => (beginning.trim_end(), true),
            None => (shown.trim_end(), false),
        };
        let (shown, line) = match self {
            Likeness::Characters => (shown.to_owned(), line.trim_end().to_owned()),
            Likeness::Words => (words(shown), words(line)),
        };
        if is_beginning { line.starts_with(&shown) } else { line == shown }
    }
}

/// Updates of shown lines with changed numbers: each line that is no longer in the output, and the next line
/// there with the same words; with `TAILCUT_BLESS=1` the page is rewritten with these.
pub(super) fn moved(shown: &[String], output: &str, likeness: Likeness) -> Vec<(String, String)> {
    let (mut rest, mut moved) = (output.lines().collect::<Vec<&str>>(), Vec::new());
    for wanted in shown.iter().filter(|line| !is_elision(line)) {
        let exact = rest.iter().position(|line| likeness.holds(wanted, line));
        let is_as_long = |line: &str| line.split_whitespace().count() == wanted.split_whitespace().count();
        let similar = || rest.iter().position(|line| is_as_long(line) && Likeness::Words.holds(wanted, line));
        let Some(at) = exact.or_else(similar) else { continue };
        if exact.is_none() {
            moved.push((wanted.clone(), rest[at].trim_end().to_string()));
        }
        rest.drain(..=at);
    }
    moved
}

/// Asserts that all shown lines are in an output, in order.
pub(super) fn check(at: &str, shown: &[String], output: &str, likeness: Likeness) {
    let mut lines = output.lines();
    for wanted in shown.iter().filter(|line| !is_elision(line)) {
        assert!(
            lines.by_ref().any(|line| likeness.holds(wanted, line)),
            "{at}: the output does not have this line, or not there:\n{wanted}\nthe output:\n{output}"
        );
    }
}

/// Whether a line marks an omission.
pub(super) fn is_elision(line: &str) -> bool {
    matches!(line.trim(), "" | ELISION)
}

fn words(line: &str) -> String {
    let words = line.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
    words.filter(|word| !UNITS.contains(word)).collect::<Vec<_>>().join(" ")
}

const ELISION: &str = "…";

/// Units that follow a number and may change with it.
const UNITS: [&str; 17] =
    ["ns", "us", "µs", "ms", "s", "min", "k", "K", "M", "B", "kB", "KB", "MB", "GB", "KiB", "MiB", "GiB"];

#[test]
fn a_line_that_is_not_in_the_output_is_noticed() {
    let shown = |text: &str| text.lines().map(String::from).collect::<Vec<_>>();
    let output = "read 4 µs\nwrite 5.1 ms\n";
    check("here", &shown("read 4 µs\n…\nwrite 5.1 …"), output, Likeness::Characters);
    check("here", &shown("read 17 ms"), output, Likeness::Words);
    for (text, likeness) in [
        ("read 5 µs", Likeness::Characters),
        ("write 5.1", Likeness::Characters),
        ("write 5.1 ms\nread 4 µs", Likeness::Characters),
        ("reads 4 µs", Likeness::Words),
    ] {
        let attempt = std::panic::catch_unwind(|| check("here", &shown(text), output, likeness));
        assert!(attempt.is_err(), "{text}");
    }
}
