//! Metrics in Prometheus's text exposition format (version 0.0.4): each metric once, with its help text and
//! type, and one value for each set of labels.

use std::fmt;

/// The media type of the text.
pub const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Metrics and their values, in the order of first addition.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metrics {
    families: Vec<Family>,
}

/// Type of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A value that only grows.
    Counter,
    /// A value that may rise and fall.
    Gauge,
    /// Quantiles with sum and count.
    Summary,
    /// Cumulative counts per bucket, with sum and count.
    Histogram,
}

#[derive(Clone, Debug, PartialEq)]
struct Family {
    name: &'static str,
    kind: Kind,
    help: &'static str,
    samples: Vec<Sample>,
}

#[derive(Clone, Debug, PartialEq)]
struct Sample {
    /// Suffix of the name, as in `_count`.
    suffix: &'static str,
    labels: String,
    value: f64,
}

impl Metrics {
    /// Adds a value of the metric `tailcut_` + `name`, or `name` if it begins with `process_`, as the names
    /// that all client libraries share do; `help` is its help text.
    pub fn add(
        &mut self,
        kind: Kind,
        name: &'static str,
        help: &'static str,
        labels: &[(&str, &str)],
        value: f64,
    ) {
        self.add_part(kind, (name, ""), help, labels, value);
    }

    /// Adds a component of a summary or histogram, such as its `_sum`.
    pub fn add_part(
        &mut self,
        kind: Kind,
        (name, suffix): (&'static str, &'static str),
        help: &'static str,
        labels: &[(&str, &str)],
        value: f64,
    ) {
        let mut all = String::new();
        labels.iter().for_each(|(name, value)| push_label(&mut all, name, value));
        self.family(name, kind, help).samples.push(Sample { suffix, labels: all, value });
    }

    fn family(&mut self, name: &'static str, kind: Kind, help: &'static str) -> &mut Family {
        let place = self.families.iter().position(|family| family.name == name).unwrap_or_else(|| {
            self.families.push(Family { name, kind, help, samples: Vec::new() });
            self.families.len() - 1
        });
        let family = &mut self.families[place];
        assert_eq!((family.kind, family.help), (kind, help), "{name} has one meaning");
        family
    }

    /// Moves the values of `other` here, each with one more label.
    pub fn take(&mut self, other: Metrics, label: &str, value: &str) {
        for Family { name, kind, help, mut samples } in other.families {
            samples.iter_mut().for_each(|sample| push_label(&mut sample.labels, label, value));
            self.family(name, kind, help).samples.append(&mut samples);
        }
    }
}

fn push_label(labels: &mut String, name: &str, value: &str) {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    let comma = if labels.is_empty() { "" } else { "," };
    labels.push_str(&format!("{comma}{name}=\"{value}\""));
}

impl fmt::Display for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Family { name, kind, help, samples } in &self.families {
            let kind = match kind {
                Kind::Counter => "counter",
                Kind::Gauge => "gauge",
                Kind::Summary => "summary",
                Kind::Histogram => "histogram",
            };
            let prefix = if name.starts_with("process_") { "" } else { "tailcut_" };
            writeln!(f, "# HELP {prefix}{name} {help}\n# TYPE {prefix}{name} {kind}")?;
            for Sample { suffix, labels, value } in samples {
                match labels.as_str() {
                    "" => writeln!(f, "{prefix}{name}{suffix} {value}")?,
                    labels => writeln!(f, "{prefix}{name}{suffix}{{{labels}}} {value}")?,
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_of_several_drives_has_one_head() {
        let of = |value| {
            let mut metrics = Metrics::default();
            metrics.add(Kind::Counter, "erases_total", "Blocks erased.", &[("member", "0")], value);
            metrics.add_part(Kind::Summary, ("late_seconds", "_count"), "Lateness.", &[], value);
            metrics
        };
        let mut all = Metrics::default();
        all.take(of(3.0), "drive", "a");
        all.take(of(4.5), "drive", "b");
        let text = "\
# HELP tailcut_erases_total Blocks erased.
# TYPE tailcut_erases_total counter
tailcut_erases_total{member=\"0\",drive=\"a\"} 3
tailcut_erases_total{member=\"0\",drive=\"b\"} 4.5
# HELP tailcut_late_seconds Lateness.
# TYPE tailcut_late_seconds summary
tailcut_late_seconds_count{drive=\"a\"} 3
tailcut_late_seconds_count{drive=\"b\"} 4.5
";
        assert_eq!(all.to_string(), text);
    }

    #[test]
    fn labels_cannot_end_early() {
        let mut metrics = Metrics::default();
        metrics.add(Kind::Gauge, "x", "Help.", &[("drive", "a\"b\\\n")], 3.0);
        let text = metrics.to_string();
        assert!(text.ends_with("tailcut_x{drive=\"a\\\"b\\\\\\n\"} 3\n"), "{text}");
    }
}
