//! What charts need beyond the tables of a report: fine curves, and what requests of each speed waited for.

use super::{Tail, Wait, class_kind};
use crate::timeline::Timeline;
use crate::world::{OpStats, Stats, rank_of};
use serde::{Deserialize, Serialize};
use tailcut_base::Op;
use tailcut_base::config::Choice;
use tailcut_base::histogram::LatencyHistogram;

/// The shares of the slowest requests at which bands begin: bands go from the 50th percentile to the 90th,
/// from there to the 99th, and so on.
pub const BANDS: [f64; 6] = [0.5, 0.1, 0.01, 0.001, 0.0001, 0.000_001];

/// How many requests a band must have.
const RESOLUTION: f64 = 10.0;

/// Points of a fine curve for each tenfold of what is slower.
const PER_DECADE: u32 = 20;

/// What charts are made of.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Detail {
    /// Of all requests, then of each kind that occurred, and of each class of reads where there are several.
    pub kinds: Vec<KindDetail>,
    /// How the run went over time, where that was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Timeline>,
}

/// Requests of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KindDetail {
    /// `all`, the kind of request, or the name of a class of reads such as `read class 1`.
    pub kind: String,
    /// Percentile and the latency in ns that it stands for, at most 0.1 % too high; up to the last request.
    pub curve: Vec<(f64, u64)>,
    /// The requests by bands of latency, the fastest band first.
    pub bands: Vec<Band>,
}

/// Requests between two percentiles, and what they waited for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Band {
    /// The percentile above which the requests of the band lie, 0 … 100.
    pub from: f64,
    /// The percentile up to which the requests of the band lie, 0 … 100.
    pub to: f64,
    /// How many: as many as the percentiles say. Of a bucket of 1/32 of a latency that two bands share, each
    /// request counts as an average one of the bucket.
    pub requests: u64,
    /// The latency of the fastest of them in ns, at most 0.1 % too high.
    pub from_ns: u64,
    /// What the requests of the band waited for, the largest part first.
    pub waits: Vec<Wait>,
}

impl Detail {
    /// The measurements, without a timeline.
    pub fn new(stats: &Stats) -> Detail {
        let mut kinds = vec![KindDetail::new("all", &stats.all())];
        for &op in Op::all() {
            kinds.push(KindDetail::new(op.name(), &stats.op(op)));
            if op == Op::Read {
                let classes = stats.read_classes().into_iter();
                kinds.extend(classes.map(|(class, reads)| KindDetail::new(&class_kind(class), reads)));
            }
        }
        kinds.retain(|kind| !kind.curve.is_empty());
        Detail { kinds, timeline: None }
    }
}

impl KindDetail {
    fn new(kind: &str, stats: &OpStats) -> KindDetail {
        KindDetail { kind: kind.into(), curve: curve(&stats.latency), bands: bands(stats) }
    }
}

/// Points at equal distances on an axis of which each tenth of the requests that is left takes as much.
fn curve(latency: &LatencyHistogram) -> Vec<(f64, u64)> {
    let count = latency.count();
    if count == 0 {
        return Vec::new();
    }
    let percentile = |step: u32| 100.0 * (1.0 - libm::exp10(-f64::from(step) / f64::from(PER_DECADE)));
    let is_known = |&step: &u32| count as f64 * (1.0 - percentile(step) / 100.0) >= 1.0 - 1e-6;
    let point = |step| (percentile(step), latency.percentile(percentile(step)).0);
    (0..).take_while(is_known).map(point).chain([(100.0, latency.max().0)]).collect()
}

fn bands(stats: &OpStats) -> Vec<Band> {
    let attribution = &stats.attribution;
    let all = attribution.count() as f64;
    let mut shares = vec![1.0];
    shares.extend(BANDS.into_iter().filter(|share| all * share >= RESOLUTION - 1e-6));
    let band = |(index, &share): (usize, &f64)| {
        let next = shares.get(index + 1).copied();
        let ranks =
            next.map_or(0, |next| rank_of(attribution.count(), next))..rank_of(attribution.count(), share);
        let part = attribution.ranked(ranks);
        Band {
            from: per_cent(share),
            to: next.map_or(100.0, per_cent),
            requests: part.count,
            from_ns: stats.latency.percentile(Tail::percentile_of_fastest(attribution.count(), share)).0,
            waits: Wait::list(&part.shares()),
        }
    };
    shares.iter().enumerate().map(band).filter(|band| band.requests > 0).collect()
}

/// The percentile above which a share of the requests lies, free of the traces of subtraction.
fn per_cent(share: f64) -> f64 {
    libm::round((1.0 - share) * 1e6) / 1e4
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_base::{Cause, Nanos, Spans};

    /// 100,000 requests: of 100 us, every hundredth of 1 ms, every thousandth of 5 ms.
    fn stats() -> OpStats {
        let mut stats = OpStats::default();
        for n in 0..100_000u64 {
            let mut spans = Spans::new();
            spans.add(Cause::Cell, Nanos(100_000));
            match n {
                n if n % 1_000 == 0 => spans.add(Cause::ChipErase, Nanos(4_900_000)),
                n if n % 100 == 0 => spans.add(Cause::ChipUserWrite, Nanos(900_000)),
                _ => {}
            }
            stats.latency.record(spans.total());
            stats.attribution.record(spans.total(), &spans);
        }
        stats
    }

    #[test]
    fn every_request_is_in_one_band_with_those_of_its_speed() {
        let detail = KindDetail::new("read", &stats());
        let shown: Vec<(f64, f64, u64, &str)> = detail
            .bands
            .iter()
            .map(|band| (band.from, band.to, band.requests, band.waits[0].cause.as_str()))
            .collect();
        let want = [
            (0.0, 50.0, 50_000, "cell"),
            (50.0, 90.0, 40_000, "cell"),
            (90.0, 99.0, 9_000, "cell"),
            (99.0, 99.9, 900, "chip: user write"),
            (99.9, 99.99, 90, "chip: erase"),
            (99.99, 100.0, 10, "chip: erase"),
        ];
        assert_eq!(shown, want);
        assert!((detail.bands[5].waits[0].mean_ns - 4_900_000.0).abs() < 1.0);
    }

    #[test]
    fn a_fine_curve_rises_to_the_slowest_request() {
        let detail = KindDetail::new("read", &stats());
        assert_eq!(detail.curve.len(), 5 * PER_DECADE as usize + 2);
        assert!(detail.curve.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1));
        assert_eq!(detail.curve.last(), Some(&(100.0, 5_000_000)));
        let at = |percentile: f64| detail.curve.iter().find(|point| point.0 >= percentile - 1e-9).unwrap().1;
        assert!((100_000..=100_100).contains(&at(90.0)), "{}", at(90.0));
        assert!((1_000_000..=1_001_000).contains(&at(99.1)), "{}", at(99.1));
    }

    #[test]
    fn without_requests_there_is_nothing() {
        assert_eq!(Detail::new(&Stats::new()), Detail::default());
    }
}
