//! What a server's clients expect of its drives: latencies, and that this machine keeps up with the model.
//! Evaluated when the server stops; a broken expectation is its exit code.

use crate::sweep::{Promise, Term};
use std::fmt;
use tailcut_base::BadValue;
use tailcut_base::histogram::LatencyHistogram;
use tailcut_rt::AnyDrive;
use tailcut_rt::emulated::Lateness;
use tailcut_rt::serve::server::Served;
use tailcut_rt::serve::{Figures, Kind};

/// One term of an expectation.
#[derive(Clone, Debug, PartialEq)]
enum Expected {
    /// A bound of a latency, as in `p99.9(read) < 5ms`.
    Latency(Term),
    /// The mean lateness of emulated drives as a share of their mean latency, as in `late < 5%`.
    Late(f64),
}

/// Terms that must all hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation(Vec<Expected>);

impl Expectation {
    /// Reads terms with commas between them.
    ///
    /// # Errors
    /// The term that is wrong, and what would be right.
    pub fn parse(text: &str) -> Result<Expectation, BadValue> {
        text.split(',').map(str::trim).map(Expected::parse).collect::<Result<_, _>>().map(Expectation)
    }

    /// The terms that do not hold, one sentence each.
    pub fn broken(&self, served: &Served<AnyDrive>) -> Vec<String> {
        let mut broken = Vec::new();
        for (name, figures, drive) in &served.drives {
            let late = drive.latenesses();
            let of_drive = self.0.iter().filter_map(|term| term.broken(figures, &late));
            broken.extend(of_drive.map(|why| format!("{name}: {why}")));
        }
        broken
    }
}

impl Expected {
    fn parse(text: &str) -> Result<Expected, BadValue> {
        if let Some(rest) = text.strip_prefix("late") {
            let share = rest.trim_start().strip_prefix('<').and_then(|rest| rest.trim().strip_suffix('%'));
            let share = share.and_then(|number| number.trim().parse::<f64>().ok());
            return match share.filter(|share| share.is_finite() && *share > 0.0) {
                Some(share) => Ok(Expected::Late(share / 100.0)),
                None => Err(BadValue::new(format!("'{text}': write the lateness as in late < 5%"))),
            };
        }
        let promise = Promise::parse(text).map_err(|misread| misread.pointed(text))?;
        let [term] = <[Term; 1]>::try_from(promise.terms).expect("a text without a comma is one term");
        let quantity = &term.quantity;
        let is_latency = quantity.of_latencies(&LatencyHistogram::new()).is_some();
        if !is_latency || kinds(quantity.kind()).is_none() {
            return Err(BadValue::new(format!(
                "'{text}': a server has percentiles, median, mean and max of read, write, trim, flush or \
                 all, and late; write p99.9(read) < 5ms"
            )));
        }
        Ok(Expected::Latency(term))
    }

    fn broken(&self, figures: &Figures, late: &[(usize, Lateness)]) -> Option<String> {
        match self {
            Expected::Latency(term) => {
                let mut latencies = LatencyHistogram::new();
                for &kind in kinds(term.quantity.kind())? {
                    latencies.merge(&figures.kinds[kind as usize].latency);
                }
                if latencies.count() == 0 {
                    return Some(format!("{term}: no such requests were served"));
                }
                if let Some(percent) = term.quantity.percentile()
                    && latencies.resolved_percentile(percent).is_none()
                {
                    let count = latencies.count();
                    return Some(format!("{term}: {count} requests are too few for it, ten must be slower"));
                }
                let stands = term.judge(term.quantity.of_latencies(&latencies)?, true);
                let shown = term.quantity.unit().show(stands.value);
                (!stands.kept).then(|| format!("{term}: it is {shown} of {} requests", latencies.count()))
            }
            Expected::Late(most) => {
                if late.iter().all(|(_, lateness)| lateness.histogram().count() == 0) {
                    return Some(format!("{self}: no emulated drive has served a request"));
                }
                let worst = late.iter().map(|(_, lateness)| lateness.share()).fold(0.0, f64::max);
                (worst >= *most).then(|| format!("{self}: it is {:.1} %", worst * 100.0))
            }
        }
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expected::Latency(term) => term.fmt(f),
            Expected::Late(share) => write!(f, "late < {} %", share * 100.0),
        }
    }
}

/// The kinds of requests that a kind of the language has; `None` for one that a server does not tell apart.
fn kinds(kind: &str) -> Option<&'static [Kind]> {
    match kind {
        "all" => Some(&Kind::ALL),
        "read" => Some(&[Kind::Read]),
        "write" => Some(&[Kind::Write, Kind::Zero]),
        "trim" => Some(&[Kind::Trim]),
        "flush" => Some(&[Kind::Flush]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_base::Nanos;
    use tailcut_rt::emulated::Late;

    fn broken(text: &str) -> Vec<String> {
        let mut figures = Figures::default();
        (0..999).for_each(|_| figures.count(Kind::Read, 4096, Nanos::micros(100), false));
        figures.count(Kind::Read, 4096, Nanos::millis(7), false);
        (0..20).for_each(|_| figures.count(Kind::Write, 4096, Nanos::micros(20), false));
        let mut lateness = Lateness::default();
        lateness.add(Late { by: Nanos::micros(8), modelled: Nanos::micros(100) });
        let terms = Expectation::parse(text).expect("good terms").0;
        terms.iter().filter_map(|term| term.broken(&figures, &[(0, lateness.clone())])).collect()
    }

    #[test]
    fn terms_hold_or_are_broken() {
        assert!(broken("p99(read) < 200us, p50(write) < 30us, late < 10%, max(all) <= 8ms").is_empty());
        let all = broken("max(read) < 5ms, late<5%, mean(trim) < 1s");
        assert_eq!(all.len(), 3, "{all:?}");
        assert!(all[0].contains("it is 7.0") && all[0].contains("of 1000 requests"), "{all:?}");
        assert_eq!(all[1], "late < 5 %: it is 8.0 %");
        assert!(all[2].contains("no such requests"), "{all:?}");
        let few = broken("p99(write) < 1s");
        assert!(few.len() == 1 && few[0].contains("20 requests are too few for it"), "{few:?}");
    }

    #[test]
    fn what_a_server_does_not_measure_is_refused() {
        for text in ["life >= 3y", "iops > 5", "p99(class 2) < 1ms", "drive.wear.most < 3"] {
            let BadValue { message } = Expectation::parse(text).expect_err(text);
            assert!(message.contains("write p99.9(read) < 5ms"), "{message}");
        }
        assert!(Expectation::parse("late > 5%").expect_err("a sign").message.contains("late < 5%"));
        assert!(Expectation::parse("p99(raed) < 1ms").expect_err("a kind").message.contains("^^^^"));
    }
}
