//! How fast requests come.

use super::info::Times;
use serde::Serialize;
use std::collections::VecDeque;
use tailcut_base::Nanos;
use tailcut_base::histogram::LatencyHistogram;

/// Rates over the whole trace and over its busiest moments. Trims and flushes are requests, but
/// have no bytes here.
///
/// The busiest second is that of all intervals of a second, wherever they begin, and at least the mean of the
/// whole duration; a trace shorter than a second is one interval. Likewise for 100 ms.
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

/// Counts requests and bytes in intervals of a duration.
#[derive(Debug)]
pub(super) struct RateMeter {
    second: PeakMeter,
    tenth: PeakMeter,
    between: LatencyHistogram,
    requests: u64,
    bytes: u64,
    last: Option<Nanos>,
}

/// The fullest interval of a length so far.
#[derive(Debug)]
struct PeakMeter {
    length: Nanos,
    /// Requests within the length before the latest one: when, and how many bytes.
    recent: VecDeque<(Nanos, u64)>,
    bytes: u64,
    most_requests: u64,
    most_bytes: u64,
}

impl RateMeter {
    /// For requests of a trace of this duration.
    pub(super) fn new(duration: Nanos) -> RateMeter {
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
    pub(super) fn count(&mut self, at: Nanos, bytes: u64) {
        if let Some(last) = self.last.replace(at) {
            self.between.record(at - last);
        }
        self.requests += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        self.second.count(at, bytes);
        self.tenth.count(at, bytes);
    }

    pub(super) fn rates(&self) -> Rates {
        let seconds = self.last.unwrap_or_default().as_secs_f64();
        let per_second = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
        Rates {
            mean_requests_per_s: per_second(self.requests),
            mean_bytes_per_s: per_second(self.bytes),
            peak_1s_requests_per_s: self
                .second
                .per_second(self.second.most_requests)
                .max(per_second(self.requests)),
            peak_1s_bytes_per_s: self.second.per_second(self.second.most_bytes).max(per_second(self.bytes)),
            peak_100ms_requests_per_s: self
                .tenth
                .per_second(self.tenth.most_requests)
                .max(per_second(self.requests)),
            peak_100ms_bytes_per_s: self.tenth.per_second(self.tenth.most_bytes).max(per_second(self.bytes)),
            between: Times::of(&self.between),
        }
    }
}

impl PeakMeter {
    fn new(duration: Nanos, length: Nanos) -> PeakMeter {
        let length = length.min(duration);
        PeakMeter { length, recent: VecDeque::new(), bytes: 0, most_requests: 0, most_bytes: 0 }
    }

    fn count(&mut self, at: Nanos, bytes: u64) {
        // All requests of a trace no longer than the interval are in it.
        while self.recent.front().is_some_and(|&(first, _)| at - first >= self.length) {
            if let Some((_, bytes)) = self.recent.pop_front() {
                self.bytes -= bytes;
            }
        }
        self.recent.push_back((at, bytes));
        self.bytes = self.bytes.saturating_add(bytes);
        self.most_requests = self.most_requests.max(self.recent.len() as u64);
        self.most_bytes = self.most_bytes.max(self.bytes);
    }

    /// The rate at which so much comes in an interval; 0 where it has no length.
    fn per_second(&self, count: u64) -> f64 {
        let seconds = self.length.as_secs_f64();
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
    fn peaks_are_those_of_the_fullest_interval() {
        let times = [0, 10, 20, 950, 1000, 1010, 1020, 1030, 1900, 4000].map(Nanos::millis);
        let rates = rates(&times);
        assert_eq!((rates.peak_1s_requests_per_s, rates.peak_100ms_requests_per_s), (6.0, 50.0));
        assert_eq!(rates.peak_1s_bytes_per_s, 6.0 * 4096.0);
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
            prop_assert!(rates.peak_1s_requests_per_s <= rates.peak_100ms_requests_per_s * rounding);
            let length = duration.min(1_000_000_000);
            let within = |end: &Nanos| times.iter().filter(|at| **at <= *end && end.0 - at.0 < length).count();
            let most = times.iter().map(within).max().unwrap_or(0).max(1);
            let seconds = duration as f64 / 1e9;
            let peak = if duration == 0 { 0.0 } else { most as f64 / (length as f64 / 1e9) };
            let naive = if duration == 0 { 0.0 } else { peak.max(times.len() as f64 / seconds) };
            prop_assert!((naive - rates.peak_1s_requests_per_s).abs() <= naive * 1e-12);
        }
    }
}
