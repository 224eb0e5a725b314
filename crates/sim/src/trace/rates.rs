//! How fast requests come.

use super::info::Times;
use serde::Serialize;
use tailcut_base::Nanos;
use tailcut_base::histogram::LatencyHistogram;

/// Rates over the whole trace and over its busiest moments. Trims and flushes are requests, but
/// have no bytes here.
///
/// The busiest second is the busiest of the equal parts of the duration that are at least a second long and
/// shorter than two; a trace shorter than a second is one part. So no mean is above it. Likewise for 100 ms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Rates {
    /// Requests per second over the whole duration; 0 when all came at once.
    pub mean_requests_per_s: f64,
    /// Bytes per second over the whole duration.
    pub mean_bytes_per_s: f64,
    /// Requests per second in the busiest second.
    pub peak_1s_requests_per_s: f64,
    /// Bytes per second in the second with the most bytes.
    pub peak_1s_bytes_per_s: f64,
    /// Requests per second in the busiest tenth of a second.
    pub peak_100ms_requests_per_s: f64,
    /// Bytes per second in the tenth of a second with the most bytes.
    pub peak_100ms_bytes_per_s: f64,
    /// The time from one request to the next.
    pub between: Times,
}

/// Counts requests and bytes in equal parts of a duration.
#[derive(Debug)]
pub(super) struct RateMeter {
    second: PeakMeter,
    tenth: PeakMeter,
    between: LatencyHistogram,
    requests: u64,
    bytes: u64,
    last: Option<Nanos>,
}

/// The fullest of the parts so far.
#[derive(Debug)]
struct PeakMeter {
    duration: Nanos,
    /// How many parts there are, at least 1.
    parts: u64,
    part: u64,
    requests: u64,
    bytes: u64,
    most_requests: u64,
    most_bytes: u64,
}

impl RateMeter {
    /// For requests of a trace of this duration.
    pub fn new(duration: Nanos) -> RateMeter {
        RateMeter {
            second: PeakMeter::new(duration, Nanos::secs(1)),
            tenth: PeakMeter::new(duration, Nanos::millis(100)),
            between: LatencyHistogram::default(),
            requests: 0,
            bytes: 0,
            last: None,
        }
    }

    /// Counts a request at a moment that never decreases, within the duration.
    pub fn count(&mut self, at: Nanos, bytes: u64) {
        if let Some(last) = self.last.replace(at) {
            self.between.record(at - last);
        }
        self.requests += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        self.second.count(at, bytes);
        self.tenth.count(at, bytes);
    }

    pub fn rates(&self) -> Rates {
        let seconds = self.last.unwrap_or_default().as_secs_f64();
        let per_second = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
        Rates {
            mean_requests_per_s: per_second(self.requests),
            mean_bytes_per_s: per_second(self.bytes),
            peak_1s_requests_per_s: self.second.per_second(self.second.most_requests),
            peak_1s_bytes_per_s: self.second.per_second(self.second.most_bytes),
            peak_100ms_requests_per_s: self.tenth.per_second(self.tenth.most_requests),
            peak_100ms_bytes_per_s: self.tenth.per_second(self.tenth.most_bytes),
            between: Times::of(&self.between),
        }
    }
}

impl PeakMeter {
    fn new(duration: Nanos, shortest: Nanos) -> PeakMeter {
        let parts = (duration.0 / shortest.0).max(1);
        PeakMeter { duration, parts, part: 0, requests: 0, bytes: 0, most_requests: 0, most_bytes: 0 }
    }

    fn count(&mut self, at: Nanos, bytes: u64) {
        let part = u128::from(at.0) * u128::from(self.parts) / u128::from(self.duration.0.max(1));
        // The last moment of the duration belongs to the last part.
        let part = (part as u64).min(self.parts - 1);
        if part != self.part {
            (self.part, self.requests, self.bytes) = (part, 0, 0);
        }
        self.requests += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        self.most_requests = self.most_requests.max(self.requests);
        self.most_bytes = self.most_bytes.max(self.bytes);
    }

    /// The rate at which so much comes in one part; 0 where parts have no length.
    fn per_second(&self, count: u64) -> f64 {
        let seconds = self.duration.as_secs_f64() / self.parts as f64;
        if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rates(times: &[Nanos]) -> Rates {
        let mut meter = RateMeter::new(*times.last().expect("there are requests"));
        times.iter().for_each(|&at| meter.count(at, 4096));
        meter.rates()
    }

    #[test]
    fn peaks_are_those_of_the_fullest_part() {
        let times = [0, 10, 20, 950, 1000, 1010, 1020, 1030, 1900, 4000].map(Nanos::millis);
        let rates = rates(&times);
        assert_eq!((rates.peak_1s_requests_per_s, rates.peak_100ms_requests_per_s), (5.0, 40.0));
        assert_eq!(rates.peak_1s_bytes_per_s, 5.0 * 4096.0);
        assert_eq!(rates.mean_requests_per_s, 2.5);
        assert_eq!(rates.between.max_ns, 2_100_000_000);
    }

    #[test]
    fn a_steady_rate_has_a_busiest_second_of_no_less() {
        let rates = rates(&(0..=4).map(|quarter| Nanos::millis(quarter * 250)).collect::<Vec<_>>());
        assert_eq!((rates.mean_requests_per_s, rates.peak_1s_requests_per_s), (5.0, 5.0));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_mean_is_above_a_peak_and_peaks_are_those_of_a_recount(
            gaps in prop::collection::vec(prop_oneof![0..3_000_000u64, 0..700_000_000u64], 1..60),
        ) {
            let at = |sum: &mut u64, gap: &u64| { *sum += gap; Some(Nanos(*sum)) };
            let times: Vec<Nanos> = [0].iter().chain(&gaps).scan(0, at).collect();
            let rates = rates(&times);
            let duration = times[times.len() - 1].0;
            let rounding = 1.0 + 1e-12;
            prop_assert!(rates.mean_requests_per_s <= rates.peak_1s_requests_per_s * rounding);
            prop_assert!(rates.peak_1s_requests_per_s <= 2.0 * rates.peak_100ms_requests_per_s * rounding);
            let parts = (duration / 1_000_000_000).max(1);
            // Part i begins at duration * i / parts; compared without division.
            let within = |at: &&Nanos, i: u64| {
                let scaled = at.0 * parts;
                scaled >= duration * i && (scaled < duration * (i + 1) || i + 1 == parts)
            };
            let most = (0..parts).map(|i| times.iter().filter(|at| within(at, i)).count()).max();
            let seconds = duration as f64 / 1e9 / parts as f64;
            let naive = if duration == 0 { 0.0 } else { most.unwrap_or(0) as f64 / seconds };
            prop_assert!((naive - rates.peak_1s_requests_per_s).abs() <= naive * 1e-12);
        }
    }
}
