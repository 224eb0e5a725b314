//! What others took of the cores during a measurement, as the system counts it.

use std::time::{Duration, Instant};
use tailcut_rt::placement::Usage;

/// A moment from which on the load of others is counted.
#[derive(Debug)]
pub(crate) struct LoadBaseline {
    at: Instant,
    own: Duration,
    idle: Duration,
    cores: Vec<usize>,
}

impl LoadBaseline {
    /// From now on, on these cores. None where the system does not tell.
    pub(crate) fn now(cores: &[usize]) -> Option<LoadBaseline> {
        let stat = std::fs::read_to_string("/proc/stat").ok()?;
        let cores = cores.to_vec();
        Some(LoadBaseline { at: Instant::now(), own: own(), idle: idle(&stat, &cores)?, cores })
    }

    /// The share of those cores, 0 … 1, that was neither idle nor this process's: other processes,
    /// interrupts, and what the host of a virtual machine gave to others. The system counts in hundredths of
    /// a second.
    pub(crate) fn share(&self) -> Option<f64> {
        let stat = std::fs::read_to_string("/proc/stat").ok()?;
        let all = self.at.elapsed() * self.cores.len() as u32;
        let used = own().saturating_sub(self.own) + idle(&stat, &self.cores)?.saturating_sub(self.idle);
        Some(all.saturating_sub(used).as_secs_f64() / all.as_secs_f64())
    }
}

fn own() -> Duration {
    Duration::from_nanos(Usage::of_process().cpu.0)
}

/// Idle time of some cores since the system began, with what they idled for the sake of input and output.
fn idle(stat: &str, cores: &[usize]) -> Option<Duration> {
    let of = |core: &usize| {
        let line = stat.lines().find_map(|line| line.strip_prefix(&format!("cpu{core} ")))?;
        let fields: Vec<u64> = line.split_whitespace().map_while(|field| field.parse().ok()).collect();
        Some(Duration::from_millis(10 * (fields.get(3)? + fields.get(4)?)))
    };
    cores.iter().map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_time_is_the_fourth_and_the_fifth_figure() {
        let stat = "cpu  9 9 9 9 9\ncpu0 1 2 3 40 5 6 7 8 0 0\ncpu1 1 2 3 100 0 6 7 8 0 0\nintr 5\n";
        assert_eq!(idle(stat, &[0]), Some(Duration::from_millis(450)));
        assert_eq!(idle(stat, &[0, 1]), Some(Duration::from_millis(1450)));
        assert_eq!(idle(stat, &[2]), None);
    }
}
