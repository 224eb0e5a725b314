//! Connections that come near their limits, before clients are turned away.

use tailcut_rt::most_descriptors;

/// Watches the number of connections.
#[derive(Clone, Copy, Debug)]
pub struct NearLimit {
    /// Most connections, by the option or by the descriptors of the process.
    most: u64,
    /// The descriptors are the lower limit.
    is_descriptors: bool,
    /// It was reported, and the number has not fallen much since.
    is_near: bool,
}

impl NearLimit {
    /// The lower of `option` and of the descriptors that the process may open. Called once the server runs,
    /// which has raised the limit of descriptors.
    pub fn new(option: u64) -> NearLimit {
        NearLimit::of(option, most_descriptors())
    }

    fn of(option: u64, descriptors: Option<u64>) -> NearLimit {
        let descriptors = descriptors.unwrap_or(u64::MAX).saturating_sub(OTHERS);
        let is_descriptors = descriptors < option;
        NearLimit { most: option.min(descriptors), is_descriptors, is_near: false }
    }

    /// A warning when `connections` reach nine tenths of the limit, once until they have fallen below eight
    /// tenths; `option` sets the limit.
    pub fn note(&mut self, connections: u64, option: &str) -> Option<String> {
        let was_near = self.is_near;
        let tenths = |count: u64| connections.saturating_mul(10) >= self.most.saturating_mul(count);
        self.is_near = tenths(9) || was_near && tenths(8);
        if !self.is_near || was_near {
            return None;
        }
        let remedy = match self.is_descriptors {
            true => String::from("the limit of descriptors (LimitNOFILE, ulimit -n)"),
            false => option.to_string(),
        };
        let most = self.most;
        Some(format!(
            "{connections} of {most} connections are open; more clients are turned away: raise {remedy}"
        ))
    }
}

/// Descriptors that a server needs beside those of its clients: its threads, drives and logs.
const OTHERS: u64 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_warned_of_once_until_it_is_far() {
        let mut limit = NearLimit::of(100, Some(1 << 20));
        assert_eq!(limit.note(89, "-c"), None);
        let warning = limit.note(90, "-c").expect("it is near");
        assert!(warning.starts_with("90 of 100 connections") && warning.ends_with("raise -c"), "{warning}");
        assert_eq!(limit.note(95, "-c").or(limit.note(81, "-c")).or(limit.note(92, "-c")), None);
        assert_eq!(limit.note(79, "-c"), None);
        assert!(limit.note(91, "-c").is_some());
        let warning = NearLimit::of(1000, Some(164)).note(90, "-c").expect("descriptors are fewer");
        assert!(warning.contains("90 of 100") && warning.contains("ulimit -n"), "{warning}");
    }
}
