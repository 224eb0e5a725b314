//! What storage shall keep: `p99.99(read) < 1ms, write >= 200MB/s, life >= 3y`.
//!
//! A promise is a list of terms with commas between them. A term is a [`Quantity`], one of `<`, `<=`, `>`,
//! `>=`, and a value with its unit. `read` and `write` by themselves are the bandwidth of reads and of
//! writes.

use super::{Misread, Outcome, Quantity, Unit};
use std::fmt;
use std::ops::Range;
use tailcut_base::BadValue;
use tailcut_base::quantity::{parse_count, parse_rate, parse_time};

/// All terms; at least one.
#[derive(Clone, Debug, PartialEq)]
pub struct Promise {
    /// The terms of the promise, in the order in which they are written; all must be kept.
    pub terms: Vec<Term>,
}

/// One term of a promise.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// The quantity whose value is bounded.
    pub quantity: Quantity,
    /// Whether the bound itself is too much.
    is_strict: bool,
    /// The bound, in the quantity's unit; positive. Whether it is an upper or a lower one follows from the
    /// quantity.
    pub bound: f64,
}

/// How a figure stands to a term.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evaluation {
    /// The figure that was compared with the bound, in the unit of its quantity.
    pub value: f64,
    /// False for a percentile that fewer than ten requests exceed.
    pub resolved: bool,
    /// Whether the figure keeps the term.
    pub kept: bool,
    /// The distance to the bound, as a share of the bound; below 0 where the term is broken.
    pub margin: f64,
}

impl Promise {
    /// Reads a promise.
    ///
    /// # Errors
    /// The first place that is wrong, and what would be right.
    pub fn parse(text: &str) -> Result<Promise, Misread> {
        let mut terms = Vec::new();
        let mut at = 0;
        for piece in text.split(',') {
            let start = at + piece.len() - piece.trim_start().len();
            let span = start..start + piece.trim().len();
            at += piece.len() + 1;
            terms.push(term(piece.trim(), &span)?);
        }
        Ok(Promise { terms })
    }
}

impl Term {
    /// How a run stands to it; none where the run has no such figure.
    pub fn evaluate(&self, outcome: &Outcome) -> Option<Evaluation> {
        let figure = self.quantity.of(outcome)?;
        Some(self.judge(figure.value, figure.resolved))
    }

    /// How a value in the quantity's unit stands to it; `resolved` is returned as it is.
    pub fn judge(&self, value: f64, resolved: bool) -> Evaluation {
        let ratio = value / self.bound;
        let margin = if self.quantity.more_is_better() { ratio - 1.0 } else { 1.0 - ratio };
        let kept = if self.is_strict { margin > 0.0 } else { margin >= 0.0 };
        Evaluation { value, resolved, kept, margin }
    }
}

impl fmt::Display for Promise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let terms: Vec<String> = self.terms.iter().map(Term::to_string).collect();
        f.write_str(&terms.join(", "))
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let less = if self.quantity.more_is_better() { ">" } else { "<" };
        let equal = if self.is_strict { "" } else { "=" };
        write!(f, "{} {less}{equal} {}", self.quantity, self.quantity.unit().show(self.bound))
    }
}

fn term(text: &str, span: &Range<usize>) -> Result<Term, Misread> {
    let at = |from: usize, to: usize| span.start + from..span.start + to;
    let Some(sign) = text.find(['<', '>', '=', '≤', '≥']) else {
        let example = "write it like p99.99(read) < 1ms, write >= 200MB/s, life >= 3y";
        return Err(Misread::new(
            span.clone(),
            format!("a promise needs a '<' or '>' with a value; {example}"),
        ));
    };
    let (name, rest) = text.split_at(sign);
    let value = rest.trim_start_matches(['<', '>', '=', '≤', '≥']);
    let sign_end = text.len() - value.len();
    let (is_less, is_strict) = match &text[sign..sign_end] {
        "<" => (true, true),
        "<=" | "≤" => (true, false),
        ">" => (false, true),
        ">=" | "≥" => (false, false),
        other => {
            let message = format!("'{other}' is no comparison; write <, <=, > or >=");
            return Err(Misread::new(at(sign, sign_end), message));
        }
    };
    let quantity = quantity(name).map_err(|misread| misread.shifted(span.start))?;
    let is_time = parse_rate(value.trim()).is_err() && parse_time(value.trim()).is_ok();
    if quantity.unit() == Unit::BytesPerSecond && is_time {
        let (name, value, kind) = (name.trim(), value.trim(), quantity.kind());
        let message = format!("'{name}' is a bandwidth, and '{value}' a time; write p99.9({kind}) < {value}");
        return Err(Misread::new(at(0, text.len()), message));
    }
    if is_less == quantity.more_is_better() {
        let (better, right) = if is_less { ("more", ">=") } else { ("less", "<") };
        let message = format!("{better} is better of {quantity}; write {quantity} {right} {}", value.trim());
        return Err(Misread::new(at(sign, sign_end), message));
    }
    let value_start = text.len() - value.trim_start().len();
    let bound = bound(&quantity, value.trim())
        .map_err(|message| Misread::new(at(value_start, text.len()), message))?;
    Ok(Term { quantity, is_strict, bound })
}

/// A kind of request alone is its bandwidth.
fn quantity(name: &str) -> Result<Quantity, Misread> {
    match name.trim().to_ascii_lowercase().as_str() {
        kind @ ("read" | "reads" | "write" | "writes") => Quantity::parse(&format!("bandwidth({kind})")),
        _ => Quantity::parse(name),
    }
}

fn bound(quantity: &Quantity, text: &str) -> Result<f64, BadValue> {
    let number = |text: &str, example: &str| {
        let parsed = text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
        parsed.ok_or_else(|| {
            BadValue::new(format!("'{text}' is not a value of {quantity}; write {quantity} {example}"))
        })
    };
    let value = match quantity.unit() {
        Unit::Nanos => parse_time(text).map(|time| time.0 as f64)?,
        Unit::BytesPerSecond => parse_rate(text).map(|rate| rate as f64)?,
        Unit::PerSecond => parse_count(text.trim_end_matches("/s")).map(|count| count as f64)?,
        Unit::Years => {
            let years = ["years", "year", "y"].iter().find_map(|unit| text.strip_suffix(unit));
            number(years.unwrap_or(text), ">= 3y")?
        }
        Unit::Times | Unit::Plain => number(text.trim_end_matches('x'), "< 2")?,
    };
    if value > 0.0 {
        Ok(value)
    } else {
        Err(BadValue::new(format!("a bound is more than 0, and '{text}' is not")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_promise_is_a_list_of_terms() {
        let promise =
            Promise::parse("p99.99(read) < 1ms, write >= 200MB/s,life>=3y, iops >= 50k").expect("good");
        let bounds: Vec<f64> = promise.terms.iter().map(|term| term.bound).collect();
        assert_eq!(bounds, [1e6, 2e8, 3.0, 5e4]);
        assert!(promise.terms[0].is_strict && !promise.terms[1].is_strict);
        let shown = promise.to_string();
        assert!(
            shown.starts_with("p99.99(read) < 1.00 ms, bandwidth(write) >= 200 MB/s, life >= 3.0 years"),
            "{shown}"
        );
    }

    #[test]
    fn a_time_as_bandwidth_is_answered_with_the_latency() {
        for (text, right) in [("read < 5ms", "p99.9(read) < 5ms"), ("writes >= 1s", "p99.9(write) < 1s")] {
            let misread = Promise::parse(text).expect_err("a bandwidth is no time");
            assert!(misread.message.ends_with(right), "{}", misread.message);
            assert!(Promise::parse(right).is_ok());
        }
        assert!(Promise::parse("read >= 5MB/s").is_ok());
    }

    #[test]
    fn a_figure_keeps_a_term_or_breaks_it() {
        let outcome = Outcome::bare(json!({"kinds": [{"kind": "all", "requests_per_s": 50.0,
            "latency": {"mean_ns": 600.0}}]}));
        let stands = |text: &str| {
            let promise = Promise::parse(text).expect("good");
            promise.terms[0].evaluate(&outcome).map(|stands| (stands.kept, stands.margin))
        };
        assert_eq!(stands("mean < 800ns"), Some((true, 0.25)));
        assert_eq!(stands("mean < 600ns"), Some((false, 0.0)));
        assert_eq!(stands("mean <= 600ns"), Some((true, 0.0)));
        assert_eq!(stands("mean < 300ns"), Some((false, -1.0)));
        assert_eq!(stands("iops >= 40"), Some((true, 0.25)));
        assert_eq!(stands("life >= 3y"), None);
    }

    #[test]
    fn what_is_wrong_has_a_place_and_a_remedy() {
        let wrong = |text: &str| Promise::parse(text).expect_err(text);
        let misread = wrong("write >= 200MB/s, p99(raed) < 1ms");
        assert_eq!(misread.span, 22..26);
        assert_eq!(wrong("p99(read)").span, 0..9);
        assert!(wrong("life < 3y").message.contains("write life >= 3y"));
        assert!(wrong("p99 > 1ms").message.contains("write p99 < 1ms"));
        let misread = wrong("p99 < 1");
        assert_eq!(misread.span, 6..7);
        assert!(misread.message.contains("write it like"), "{}", misread.message);
        assert!(wrong("p99 == 1ms").message.contains("no comparison"));
        assert!(wrong("p99 < 1ms,").message.contains("needs a"));
        assert!(wrong("waf < many").message.contains("waf < 2"));
        assert!(wrong("p99 < 0").message.contains("more than 0"));
    }
}
