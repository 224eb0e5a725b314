//! The text format of Prometheus (version 0.0.4), parsed strictly: deviations that a scraper would tolerate
//! are failures here.

use std::collections::{BTreeMap, BTreeSet};

/// Names and values.
type Labels = Vec<(String, String)>;

/// A sample: the labels in order, without `le`, and the value.
pub(super) type Sample = (Labels, f64);

/// Families by name.
#[derive(Debug, Default)]
pub(super) struct Exposition {
    kinds: BTreeMap<String, String>,
    /// By full name, such as `x_bucket`.
    samples: BTreeMap<String, Vec<Sample>>,
}

impl Exposition {
    /// Parses a page.
    pub(super) fn parse(text: &str) -> Exposition {
        assert!(text.ends_with('\n'), "the last line has an end");
        let mut all = Exposition::default();
        let (mut helped, mut family, mut seen) = (None, String::new(), BTreeSet::new());
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# HELP ") {
                let (name, help) = rest.split_once(' ').expect("a name and a text");
                assert!(is_name(name) && !help.is_empty(), "{line}");
                helped = Some(name.to_string());
            } else if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').expect("a name and a kind");
                assert_eq!(helped.take().as_deref(), Some(name), "the help comes just before the kind");
                assert!(["counter", "gauge", "histogram", "summary"].contains(&kind), "{line}");
                assert!(all.kinds.insert(name.into(), kind.into()).is_none(), "{name} comes once");
                assert_eq!(kind == "counter", name.ends_with("_total"), "{name} is a {kind}");
                family = name.to_string();
            } else {
                let (name, labels, value) = sample(line);
                let kind = &all.kinds[&family];
                let suffix = name.strip_prefix(family.as_str()).expect("samples follow their head");
                let good: &[&str] = match kind.as_str() {
                    "histogram" => &["_bucket", "_sum", "_count"],
                    "summary" => &["", "_sum", "_count"],
                    _ => &[""],
                };
                assert!(good.contains(&suffix), "{line}");
                assert!(kind != "counter" || value >= 0.0, "{line}");
                assert!(seen.insert((name.clone(), labels.clone())), "twice: {line}");
                all.samples.entry(name).or_default().push((labels, value));
            }
        }
        all.check_histograms();
        all
    }

    /// Bucket counts do not decrease, the last bucket has all samples, and each histogram has a sum and a
    /// count.
    fn check_histograms(&self) {
        for family in self.kinds.iter().filter(|(_, kind)| *kind == "histogram").map(|(name, _)| name) {
            let mut of: BTreeMap<Labels, Vec<(f64, f64)>> = BTreeMap::new();
            for (labels, value) in &self.samples[&format!("{family}_bucket")] {
                let (le, others): (Vec<_>, Vec<_>) =
                    labels.iter().cloned().partition(|(name, _)| name == "le");
                let [(_, le)] = &le[..] else { panic!("{family}: one bound for each bucket") };
                let bound = if le == "+Inf" { f64::INFINITY } else { le.parse().expect("a number") };
                of.entry(others).or_default().push((bound, *value));
            }
            for (labels, buckets) in of {
                assert!(buckets.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1));
                let last = buckets.last().expect("there are buckets");
                let single = |suffix: &str| {
                    let all = &self.samples[&format!("{family}{suffix}")];
                    all.iter().find(|(others, _)| *others == labels).expect("each has one").1
                };
                assert_eq!(*last, (f64::INFINITY, single("_count")), "{family} {labels:?}");
                assert!(single("_sum") >= 0.0);
            }
        }
    }

    /// The sum of a metric over all series with these labels.
    pub(super) fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let all = self.samples.get(name).unwrap_or_else(|| panic!("{name} is told"));
        let has = |sample: &Sample, (name, value): (&str, &str)| {
            sample.0.iter().any(|label| label.0 == name && label.1 == value)
        };
        all.iter()
            .filter(|sample| labels.iter().all(|&label| has(sample, label)))
            .map(|sample| sample.1)
            .sum()
    }
}

fn is_name(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next().is_some_and(|letter| letter.is_ascii_alphabetic() || letter == '_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

fn sample(line: &str) -> (String, Labels, f64) {
    let end = line.find(['{', ' ']).unwrap_or_else(|| panic!("a name and a value: {line}"));
    let (name, mut rest) = line.split_at(end);
    assert!(is_name(name), "{line}");
    let mut labels = Vec::new();
    if let Some(inner) = rest.strip_prefix('{') {
        rest = inner;
        loop {
            let (label, behind) = rest.split_once("=\"").expect("a label has a value");
            assert!(is_name(label), "{line}");
            let end = end_of_value(behind);
            labels.push((label.to_string(), behind[..end].to_string()));
            rest = &behind[end + 1..];
            match rest.strip_prefix(',') {
                Some(more) => rest = more,
                None => break,
            }
        }
        rest = rest.strip_prefix('}').expect("labels end");
    }
    let value = rest.strip_prefix(' ').expect("one space before the value");
    let value: f64 = value.parse().unwrap_or_else(|_| panic!("a number and nothing else: {line}"));
    assert!(value.is_finite(), "{line}");
    (name.to_string(), labels, value)
}

/// The end of a value: a quotation mark that is not escaped.
fn end_of_value(text: &str) -> usize {
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return at,
            '\\' => {
                let escaped = letters.next().map(|(_, letter)| letter);
                assert!(matches!(escaped, Some('\\' | '"' | 'n')), "{text}");
            }
            _ => {}
        }
    }
    panic!("a value ends: {text}")
}
