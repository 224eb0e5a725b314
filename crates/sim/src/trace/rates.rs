//! How fast requests come.

use super::info::Times;
use serde::Serialize;
use tailcut_base::Nanos;
use tailcut_base::histogram::LatencyHistogram;

/// Rates over the whole trace and over its busiest moments. Trims and flushes are requests, but
/// have no bytes here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Rates {
    /// Requests per second over the whole duration; 0 when all came at once.
    pub mean_requests_per_s: f64,
    /// Bytes per second over the whole duration.
    pub mean_bytes_per_s: f64,
    /// The most requests in one second (seconds counted from the first request).
    pub peak_1s_requests: u64,
    /// The most bytes in one second.
    pub peak_1s_bytes: u64,
    /// The most requests in one tenth of a second.
    pub peak_100ms_requests: u64,
    /// The most bytes in one tenth of a second.
    pub peak_100ms_bytes: u64,
    /// The time from one request to the next.
    pub between: Times,
}

/// Counts requests and bytes in windows of time.
#[derive(Debug, Default)]
pub(super) struct RateMeter {
    second: PeakMeter,
    tenth: PeakMeter,
    between: LatencyHistogram,
    requests: u64,
    bytes: u64,
    last: Option<Nanos>,
}

/// The fullest of the windows so far.
#[derive(Debug, Default)]
struct PeakMeter {
    window: u64,
    requests: u64,
    bytes: u64,
    most_requests: u64,
    most_bytes: u64,
}

impl RateMeter {
    /// Counts a request at a moment that never decreases.
    pub fn count(&mut self, at: Nanos, bytes: u64) {
        if let Some(last) = self.last.replace(at) {
            self.between.record(at - last);
        }
        self.requests += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        self.second.count(at.0 / 1_000_000_000, bytes);
        self.tenth.count(at.0 / 100_000_000, bytes);
    }

    pub fn rates(&self) -> Rates {
        let seconds = self.last.unwrap_or_default().as_secs_f64();
        let per_second = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
        Rates {
            mean_requests_per_s: per_second(self.requests),
            mean_bytes_per_s: per_second(self.bytes),
            peak_1s_requests: self.second.most_requests,
            peak_1s_bytes: self.second.most_bytes,
            peak_100ms_requests: self.tenth.most_requests,
            peak_100ms_bytes: self.tenth.most_bytes,
            between: Times::of(&self.between),
        }
    }
}

impl PeakMeter {
    fn count(&mut self, window: u64, bytes: u64) {
        if window != self.window {
            (self.window, self.requests, self.bytes) = (window, 0, 0);
        }
        self.requests += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        self.most_requests = self.most_requests.max(self.requests);
        self.most_bytes = self.most_bytes.max(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peaks_are_those_of_the_fullest_window() {
        let mut meter = RateMeter::default();
        for ms in [0, 10, 20, 950, 1000, 1010, 1020, 1030, 1900, 4000] {
            meter.count(Nanos::millis(ms), 4096);
        }
        let rates = meter.rates();
        assert_eq!((rates.peak_1s_requests, rates.peak_100ms_requests), (5, 4));
        assert_eq!(rates.peak_1s_bytes, 5 * 4096);
        assert_eq!(rates.mean_requests_per_s, 2.5);
        assert_eq!(rates.between.max_ns, 2_100_000_000);
    }
}
