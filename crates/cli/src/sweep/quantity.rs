//! The language of quantities: what `--by`, promises and pages call the figures of a report.
//!
//! | quantity | meaning | better |
//! | --- | --- | --- |
//! | `p99.99(read)` | the latency that 99.99 % of the reads did not exceed | less |
//! | `median`, `mean`, `max` | of latencies, `(read)` as above | less |
//! | `iops`, `bandwidth` | requests, bytes per second, `(write)` as above | more |
//! | `requests`, `errors` | how many were measured; how many failed | more, less |
//! | `waf` | pages programmed per page of the host's data; of an array on all of its drives, with redundancy | less |
//! | `life`, `dwpd` | years that a drive lasts (the first to fail of an array); drive writes per day over five years | more |
//! | `drive.wear.most` | any number of the report, by its path in `report.json` | less |
//! | `+drive.chip_utilisation` | the same, more is better | more |
//!
//! What stands in brackets is a kind of request: `read`, `write`, `trim`, `flush`, `class 1` to
//! `class 5` (reads of that class), or `all`, which is meant when nothing does.

use super::misread::Misread;
use super::outcome::{FINER, Outcome};
use super::unit::Unit;
use crate::scenario::nearest::{enumerate, nearest};
use serde_json::Value;
use std::fmt;
use std::ops::Range;
use tailcut_base::histogram::LatencyHistogram;
use tailcut_sim::report::PERCENTILES;

/// A figure that every run with the right kind of requests has.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    what: QuantityKind,
    /// Requests of which kind, as a report calls it; `all` where a quantity is of none.
    kind: String,
}

#[derive(Clone, Debug, PartialEq)]
enum QuantityKind {
    Percentile(f64),
    Named(Name),
    Path { steps: Vec<String>, more_is_better: bool },
}

/// A quantity with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    Mean,
    Max,
    Iops,
    Bandwidth,
    Requests,
    Errors,
    Waf,
    Life,
    Dwpd,
}

/// The value of a quantity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// The value, in the unit of the quantity.
    pub value: f64,
    /// False for a percentile that fewer than ten requests exceed: little more than chance; and for the life
    /// of a drive that still uses up erased blocks, which is too long.
    pub resolved: bool,
}

/// Every name, the usual one first, and what else people call it.
const NAMES: &[(Name, &str, &[&str])] = &[
    (Name::Mean, "mean", &["latency", "average"]),
    (Name::Max, "max", &["worst"]),
    (Name::Iops, "iops", &[]),
    (Name::Bandwidth, "bandwidth", &["throughput", "bw"]),
    (Name::Requests, "requests", &[]),
    (Name::Errors, "errors", &[]),
    (Name::Waf, "waf", &["wa", "write-amplification"]),
    (Name::Life, "life", &["lifetime"]),
    (Name::Dwpd, "dwpd", &[]),
];

impl Quantity {
    /// Reads a quantity.
    ///
    /// # Errors
    /// The invalid part of the text, and what would be right.
    pub fn parse(text: &str) -> Result<Quantity, Misread> {
        let start = text.len() - text.trim_start().len();
        let trimmed = text.trim();
        parse_trimmed(trimmed).map_err(|misread| misread.shifted(start))
    }

    /// Unit of the quantity's values.
    pub fn unit(&self) -> Unit {
        match &self.what {
            QuantityKind::Percentile(_) | QuantityKind::Named(Name::Mean | Name::Max) => Unit::Nanos,
            QuantityKind::Named(Name::Bandwidth) => Unit::BytesPerSecond,
            QuantityKind::Named(Name::Iops) => Unit::PerSecond,
            QuantityKind::Named(Name::Life) => Unit::Years,
            QuantityKind::Named(Name::Waf) => Unit::Times,
            QuantityKind::Named(_) => Unit::Plain,
            QuantityKind::Path { steps, .. } => unit_of(steps.last().map_or("", String::as_str)),
        }
    }

    /// Whether higher values of the quantity are better.
    pub fn more_is_better(&self) -> bool {
        match &self.what {
            QuantityKind::Percentile(_) => false,
            QuantityKind::Named(name) => {
                matches!(name, Name::Iops | Name::Bandwidth | Name::Requests | Name::Life | Name::Dwpd)
            }
            QuantityKind::Path { more_is_better, .. } => *more_is_better,
        }
    }

    /// The kind of request that it is a figure of, as reports call it.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The percentile in per cent, if the quantity is one.
    pub fn percentile(&self) -> Option<f64> {
        match self.what {
            QuantityKind::Percentile(percentile) => Some(percentile),
            _ => None,
        }
    }

    /// Its value over a histogram of the latencies of its kind; `None` if it is no latency.
    pub fn of_latencies(&self, latencies: &LatencyHistogram) -> Option<f64> {
        match self.what {
            QuantityKind::Percentile(percent) => Some(latencies.percentile(percent).0 as f64),
            QuantityKind::Named(Name::Mean) => Some(latencies.mean()),
            QuantityKind::Named(Name::Max) => Some(latencies.max().0 as f64),
            _ => None,
        }
    }

    /// Whether it is the largest latency of all, which more requests only raise.
    pub fn is_maximum(&self) -> bool {
        self.what == QuantityKind::Named(Name::Max)
    }

    /// Its value for an offered load, in requests and bytes per second; `None` if it is not a rate.
    pub fn of_offered(&self, (requests, bytes): (f64, f64)) -> Option<f64> {
        match self.what {
            QuantityKind::Named(Name::Iops) => Some(requests),
            QuantityKind::Named(Name::Bandwidth) => Some(bytes),
            _ => None,
        }
    }

    /// Whether it is a drive's lifetime, which is unknown until a block is erased.
    pub fn is_lifetime(&self) -> bool {
        matches!(self.what, QuantityKind::Named(Name::Life | Name::Dwpd))
    }

    /// Of a percentile that no request of a run is beyond, and that is not measured therefore: how many more
    /// requests of its kind it takes, at least.
    pub fn requests_missing(&self, outcome: &Outcome) -> Option<u64> {
        let beyond = (100.0 - self.percentile()?) / 100.0;
        let count = by_name(Name::Requests, self.of_kind(&outcome.report)?)?;
        // With forgiveness for the rounding of 1 - 0.999999.
        let needed = (1.0 / beyond - 1e-6).ceil();
        (count < needed).then_some((needed - count) as u64)
    }

    /// Its value in a run; none where the run had no such requests, or its report no such number.
    pub fn of(&self, outcome: &Outcome) -> Option<Figure> {
        let report = &outcome.report;
        match &self.what {
            QuantityKind::Percentile(percentile) => self.percentile_of(outcome, *percentile),
            QuantityKind::Path { steps, .. } => number(report, steps).map(Figure::sure),
            QuantityKind::Named(Name::Waf) => waf(report).map(Figure::sure),
            QuantityKind::Named(Name::Life) => {
                life(report).map(|value| Figure { value, resolved: is_steady(report) })
            }
            QuantityKind::Named(Name::Dwpd) => {
                let value = report["drive"]["lifetime"]["drive_writes_per_day"].as_f64();
                value.map(|value| Figure { value, resolved: is_steady(report) })
            }
            QuantityKind::Named(name) => {
                self.of_kind(report).and_then(|kind| by_name(*name, kind)).map(Figure::sure)
            }
        }
    }

    fn of_kind<'r>(&self, report: &'r Value) -> Option<&'r Value> {
        report["kinds"].as_array()?.iter().find(|kind| kind["kind"] == self.kind.as_str())
    }

    fn percentile_of(&self, outcome: &Outcome, percentile: f64) -> Option<Figure> {
        if let Some(point) = outcome.finer(&self.kind, percentile) {
            return Some(Figure { value: point.ns as f64, resolved: point.resolved });
        }
        let points = self.of_kind(&outcome.report)?["latency"]["points"].as_array()?;
        let point = points.iter().find(|point| point["percentile"].as_f64() == Some(percentile))?;
        let value = point["ns"].as_f64()?;
        Some(Figure { value, resolved: point["resolved"].as_bool().unwrap_or(false) })
    }
}

impl Figure {
    fn sure(value: f64) -> Figure {
        Figure { value, resolved: true }
    }
}

impl fmt::Display for Quantity {
    /// As it is read again.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            QuantityKind::Percentile(percentile) => write!(f, "p{percentile}")?,
            QuantityKind::Named(name) => f.write_str(spelled(*name))?,
            QuantityKind::Path { steps, more_is_better } => {
                let sign = if *more_is_better { "+" } else { "" };
                return write!(f, "{sign}{}", steps.join("."));
            }
        }
        if self.kind == ALL { Ok(()) } else { write!(f, "({})", self.kind.trim_start_matches("read ")) }
    }
}

fn spelled(name: Name) -> &'static str {
    NAMES.iter().find(|(known, ..)| *known == name).expect("every name is spelled").1
}

fn parse_trimmed(text: &str) -> Result<Quantity, Misread> {
    if text.is_empty() {
        return Err(Misread::new(0..0, format!("there is no quantity here; {}", examples())));
    }
    if let Some(rest) = text.strip_prefix('+')
        && let Ok(Quantity { what: QuantityKind::Percentile(_) | QuantityKind::Named(_), .. }) =
            parse_trimmed(rest)
    {
        let message = format!(
            "'+' is for the path of a number in report.json of which more is better, such as \
             +drive.chip_utilisation; write {rest}"
        );
        return Err(Misread::new(0..1, message));
    }
    let (name, kind) = split(text)?;
    let name_span = 0..name.len();
    if let Some(percentile) = percentile(name, &name_span)? {
        return Ok(Quantity { what: QuantityKind::Percentile(percentile), kind: kind.unwrap_or(ALL.into()) });
    }
    let plain = name.to_ascii_lowercase().replace('_', "-");
    if plain == "median" {
        return Ok(Quantity { what: QuantityKind::Percentile(50.0), kind: kind.unwrap_or(ALL.into()) });
    }
    let known = NAMES.iter().find(|(_, usual, others)| *usual == plain || others.contains(&plain.as_str()));
    match (known, kind) {
        (Some((Name::Waf | Name::Life | Name::Dwpd, ..)), Some(_)) => Err(Misread::new(
            name.len()..text.len(),
            format!("'{name}' is of a drive and has no kind of request"),
        )),
        (Some((known, ..)), kind) => {
            Ok(Quantity { what: QuantityKind::Named(*known), kind: kind.unwrap_or(ALL.into()) })
        }
        (None, None) if name.contains(['.', '_']) => path(name),
        (None, _) => Err(Misread::new(name_span, unknown_quantity(name))),
    }
}

/// `name(kind)`; the kind as reports call it.
fn split(text: &str) -> Result<(&str, Option<String>), Misread> {
    let Some(open) = text.find('(') else { return Ok((text, None)) };
    let Some(inner) = text[open + 1..].strip_suffix(')') else {
        return Err(Misread::new(open..text.len(), "the bracket is not closed; write it like p99.99(read)"));
    };
    let kind = kind_of(inner.trim()).ok_or_else(|| {
        let span = open + 1..text.len() - 1;
        let right = "write read, write, trim, flush, all, or class 1 to class 5";
        Misread::new(span, format!("'{}' is no kind of request; {right}", inner.trim()))
    })?;
    Ok((text[..open].trim_end(), Some(kind)))
}

fn kind_of(text: &str) -> Option<String> {
    let text = text.to_ascii_lowercase();
    let text = text.strip_prefix("read class").map_or(text.clone(), |rest| format!("class{rest}"));
    if let Some(class) = text.strip_prefix("class") {
        let number: u8 = class.trim().parse().ok().filter(|class| (1..=5).contains(class))?;
        return Some(format!("read class {number}"));
    }
    let kinds = [ALL, "read", "write", "trim", "flush"];
    let found = kinds.into_iter().find(|kind| text == *kind || text.strip_suffix('s') == Some(*kind));
    found.map(str::to_owned)
}

/// The percentage of `p99.99`; none where the name is something else.
fn percentile(name: &str, span: &Range<usize>) -> Result<Option<f64>, Misread> {
    let digits = name.strip_prefix(['p', 'P']).filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let Some(digits) = digits else { return Ok(None) };
    let known = |percent: &f64| FINER.contains(percent) || PERCENTILES.contains(percent);
    match digits.parse::<f64>() {
        Ok(percent) if known(&percent) => Ok(Some(percent)),
        _ => {
            let all: Vec<String> = FINER.iter().map(|percent| format!("p{percent}")).collect();
            let wrong = format!("the percentile '{name}' is not kept; there are {}", all.join(", "));
            Err(Misread::new(span.clone(), wrong))
        }
    }
}

/// A path in the report, such as `drive.wear.most` or `array.members.0.erases`.
fn path(name: &str) -> Result<Quantity, Misread> {
    let (more_is_better, bare) = name.strip_prefix('+').map_or((false, name), |bare| (true, bare));
    let steps: Vec<String> = bare.replace('[', ".").replace(']', "").split('.').map(str::to_owned).collect();
    let is_step = |step: &String| {
        !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    if !steps.iter().all(is_step) {
        return Err(Misread::new(0..name.len(), unknown_quantity(name)));
    }
    Ok(Quantity { what: QuantityKind::Path { steps, more_is_better }, kind: ALL.into() })
}

fn unknown_quantity(name: &str) -> String {
    let names = NAMES.iter().flat_map(|(_, usual, others)| std::iter::once(usual).chain(others.iter()));
    let guess = nearest(name, names.copied().chain(["median"]));
    let guess = guess.map_or(String::new(), |name| format!("did you mean '{name}'? "));
    format!("there is no quantity '{name}'; {guess}{}", examples())
}

fn examples() -> String {
    let names: Vec<&str> = NAMES.iter().map(|(_, usual, _)| *usual).collect();
    format!(
        "write p99.99(read), one of {}, or the path of a number in report.json, such as drive.wear.most",
        enumerate(&names)
    )
}

fn unit_of(key: &str) -> Unit {
    match key {
        "bytes_per_s" | "written_per_s" => Unit::BytesPerSecond,
        key if key.ends_with("_ns") || key == "ns" => Unit::Nanos,
        key if key.ends_with("_per_s") => Unit::PerSecond,
        "years" => Unit::Years,
        _ => Unit::Plain,
    }
}

fn number(report: &Value, steps: &[String]) -> Option<f64> {
    let found = steps.iter().try_fold(report, |at, step| match at {
        Value::Array(list) => list.get(step.parse::<usize>().ok()?),
        at => at.get(step),
    });
    match found? {
        Value::Bool(flag) => Some(f64::from(u8::from(*flag))),
        value => value.as_f64(),
    }
}

fn by_name(name: Name, kind: &Value) -> Option<f64> {
    let value = match name {
        Name::Mean => &kind["latency"]["mean_ns"],
        Name::Max => &kind["latency"]["max_ns"],
        Name::Iops => &kind["requests_per_s"],
        Name::Bandwidth => &kind["bytes_per_s"],
        Name::Requests => &kind["requests"],
        Name::Errors => &kind["errors"],
        Name::Waf | Name::Life | Name::Dwpd => unreachable!("these are of no kind of request"),
    };
    value.as_f64()
}

fn waf(report: &Value) -> Option<f64> {
    let of = if report["array"].is_object() { "array" } else { "drive" };
    report[of]["write_amplification"].as_f64()
}

/// The life of an array's drive that fails first, among those with any wear.
fn life(report: &Value) -> Option<f64> {
    let first = report["drive"]["lifetime"]["years"].as_f64();
    let members = report["array"]["members"].as_array();
    let years = members.into_iter().flatten().filter_map(|member| member["years"].as_f64());
    years.chain(first).min_by(f64::total_cmp)
}

/// Whether erases and programs keep step, but for a tenth: a drive that begins with erased blocks erases too
/// little at first, and one that collects ahead of need too much. An array that writes a log fills its drives
/// in step: each block has to have had its turn.
fn is_steady(report: &Value) -> bool {
    let has_log = report["array"]["log"].is_object();
    if has_log && report["drive"]["lifetime"]["passes"].as_f64().is_none_or(|passes| passes < 1.0) {
        return false;
    }
    let (erases, least) = (report["drive"]["erases"].as_f64(), report["drive"]["erases_least"].as_f64());
    erases
        .zip(least)
        .is_some_and(|(erases, least)| erases >= 10.0 && (0.9 * least..=1.1 * least).contains(&erases))
}

/// All kinds of requests together.
const ALL: &str = "all";

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn outcome() -> Outcome {
        let report = json!({
            "kinds": [
                {"kind": "all", "requests": 10, "errors": 1, "requests_per_s": 5.0, "bytes_per_s": 20480.0,
                 "latency": {"mean_ns": 7.0, "max_ns": 9, "points": []}},
                {"kind": "read class 2", "requests": 4, "latency": {"mean_ns": 3.0, "points":
                    [{"percentile": 99.9, "ns": 80, "resolved": false}]}},
            ],
            "drive": {"write_amplification": 2.5, "wear": {"most": 7}, "lifetime": {"years": 4.0}},
            "array": {"write_amplification": 1.5, "members": [{"write_amplification": 1.0, "years": 3.0}]},
            "interrupted": false,
        });
        Outcome::bare(report)
    }

    fn value(text: &str) -> Option<f64> {
        Quantity::parse(text).expect(text).of(&outcome()).map(|figure| figure.value)
    }

    #[test]
    fn quantities_are_found_in_a_report() {
        assert_eq!(value("iops"), Some(5.0));
        assert_eq!(value("throughput(all)"), Some(20480.0));
        assert_eq!(value(" max "), Some(9.0));
        assert_eq!(value("p99.9(class 2)"), Some(80.0));
        assert_eq!(value("mean(read class 2)"), Some(3.0));
        assert_eq!(value("mean(write)"), None, "there was no write");
        assert_eq!(value("p99.9(write)"), None);
        assert_eq!(value("drive.wear.most"), Some(7.0));
        assert_eq!(value("kinds[0].errors"), Some(1.0));
        assert_eq!(value("drive.wear"), None, "this is no number");
        assert_eq!(value("life"), Some(3.0), "the first drive to fail");
        assert_eq!(value("waf"), Some(1.5));
        let figure = Quantity::parse("p99.9(class 2)").expect("good").of(&outcome()).expect("there");
        assert!(!figure.resolved);
    }

    #[test]
    fn the_life_below_a_log_is_resolved_when_each_block_has_had_its_turn() {
        let resolved = |passes: f64| {
            let life = json!({"years": 4.0, "passes": passes});
            let drive = json!({"erases": 100.0, "erases_least": 100.0, "lifetime": life});
            let report = json!({"drive": drive, "array": {"log": {}, "members": []}});
            let life = Quantity::parse("life").expect("good");
            life.of(&Outcome::bare(report)).expect("there").resolved
        };
        assert_eq!([0.5, 1.5].map(resolved), [false, true]);
    }

    #[test]
    fn the_life_of_a_drive_with_erased_blocks_to_spare_is_not_resolved() {
        let resolved = |erases: u64| {
            let drive = json!({"erases": erases, "erases_least": 100.0, "lifetime": {"years": 4.0}});
            let life = Quantity::parse("life").expect("good");
            life.of(&Outcome::bare(json!({"drive": drive}))).expect("there").resolved
        };
        assert!(resolved(90) && resolved(110));
        assert!(!resolved(89) && !resolved(3) && !resolved(150));
    }

    #[test]
    fn what_is_shown_is_read_again() {
        for text in ["p99.99(read)", "mean", "bandwidth(write)", "life", "drive.wear.most", "p50(class 2)"] {
            assert_eq!(Quantity::parse(text).expect(text).to_string(), text);
        }
        let reverse = Quantity::parse("+drive.chip_utilisation").expect("good");
        assert!(reverse.more_is_better() && reverse.to_string() == "+drive.chip_utilisation");
        assert_eq!(Quantity::parse("Median(reads)").expect("good").to_string(), "p50(read)");
    }

    #[test]
    fn what_is_wrong_has_a_place_and_a_remedy() {
        let wrong = |text: &str| Quantity::parse(text).expect_err(text);
        let misread = wrong("p99.99(raed)");
        assert_eq!(misread.span, 7..11);
        assert!(misread.message.contains("write read, write"), "{}", misread.message);
        assert!(wrong("bandwith").message.contains("did you mean 'bandwidth'?"));
        assert!(wrong("p99.98").message.contains("p99.99"));
        assert!(wrong("p99(read").message.contains("not closed"));
        assert!(wrong("life(read)").message.contains("of a drive"));
        assert!(wrong("").message.contains("no quantity here"));
        assert_eq!(wrong("  nonsense").span, 2..10);
    }
}
