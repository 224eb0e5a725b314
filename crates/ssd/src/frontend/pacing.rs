//! Write pacing: how fast the controller admits pages of writes to the buffer.
//!
//! Drives hold writes back before flash does, so that collection keeps up and reads stay quick. The limit
//! follows the load: it exceeds what was admitted in the window before by a share of what is missing to the
//! most. The closer a load is to the most, the less its fluctuations fit below the limit; that is what
//! measured drives show whose writes wait for milliseconds at half of what they sustain (Haas et al., PVLDB
//! 18, 2025). Within a window pages come in evenly, or as they come until the window's share is used up.
//!
//! The controller's processor also has work for each program of flash (`superblock.firmware`), and takes in
//! no pages meanwhile: on the Solidigm D7-P5520 of the same measurements a tenth of the writes wait for 8 µs
//! at half of what it sustains, and a hundredth for 33 µs.

use crate::config::{PacingConfig, PacingMode};
use tailcut_base::{Nanos, Time};

/// How far the admission of writes has come.
#[derive(Debug)]
pub(crate) struct Pacing {
    config: PacingConfig,
    /// Pages that may come in in this window.
    limit: u64,
    /// The time of each page at that limit.
    interval: Nanos,
    /// Pages that have come in in it.
    admitted: u64,
    /// When it ends.
    end: Time,
    /// When the next page would be due if all had come in evenly.
    due: Time,
    /// The controller's own time for each program.
    firmware: Nanos,
    /// Until when the controller is busy with programs.
    busy: Time,
}

impl Pacing {
    pub(crate) fn new(config: &PacingConfig, firmware: Nanos) -> Pacing {
        let mut pacing = Pacing {
            config: config.clone(),
            limit: 0,
            interval: Nanos::ZERO,
            admitted: 0,
            end: Time::ZERO + config.window,
            due: Time::ZERO,
            firmware,
            busy: Time::ZERO,
        };
        pacing.limit_to(pacing.pages_at(config.most));
        pacing
    }

    /// True when writes are paced at all.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.config.mode != PacingMode::None || self.waits_for_programs()
    }

    /// True when a program takes the controller time.
    #[inline]
    pub(crate) fn waits_for_programs(&self) -> bool {
        self.firmware > Nanos::ZERO
    }

    /// A program begins.
    pub(crate) fn program(&mut self, now: Time) {
        self.busy = self.busy.max(now) + self.firmware;
    }

    fn pages_at(&self, rate: u32) -> u64 {
        (u64::from(rate) * self.config.window.0 / 1_000_000_000).max(1)
    }

    /// Lets in at most `limit` pages in each window from now on.
    fn limit_to(&mut self, limit: u64) {
        self.limit = limit;
        self.interval = Nanos(self.config.window.0 / limit);
    }

    /// Begins the window in which `now` lies, if it is another.
    fn roll(&mut self, now: Time) {
        if now < self.end {
            return;
        }
        let window = self.config.window.0;
        let passed = now.since(self.end).0 / window;
        let before = if passed == 0 { self.admitted } else { 0 };
        let most = self.pages_at(self.config.most);
        let missing = most.saturating_sub(before);
        self.limit_to((before + missing * u64::from(self.config.growth) / 1_000_000).clamp(1, most));
        self.admitted = 0;
        self.end += Nanos((passed + 1) * window);
    }

    /// When a page may come in: `None` if at once.
    pub(crate) fn opens(&mut self, now: Time) -> Option<Time> {
        self.roll(now);
        if self.busy > now {
            return Some(self.busy);
        }
        match self.config.mode {
            PacingMode::None => None,
            PacingMode::Window => (self.admitted >= self.limit).then_some(self.end),
            PacingMode::Even => {
                let ahead = self.interval * u64::from(self.config.burst - 1);
                (self.due > now + ahead).then(|| Time(self.due.0 - ahead.0))
            }
        }
    }

    /// Pages come in now.
    pub(crate) fn admit(&mut self, now: Time, pages: u32) {
        self.admitted += u64::from(pages);
        self.due = self.due.max(now) + self.interval * u64::from(pages);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admitted(config: &PacingConfig, offered: impl Fn(u64) -> u64, milliseconds: u64) -> Vec<u64> {
        let mut pacing = Pacing::new(config, Nanos::ZERO);
        let (mut waiting, mut counts) = (0, Vec::new());
        for millisecond in 0..milliseconds {
            waiting += offered(millisecond);
            let mut count = 0;
            let mut now = Time(millisecond * 1_000_000);
            while waiting > 0 && now < Time((millisecond + 1) * 1_000_000) {
                match pacing.opens(now) {
                    None => {
                        pacing.admit(now, 1);
                        (waiting, count) = (waiting - 1, count + 1);
                    }
                    Some(at) => now = at,
                }
            }
            counts.push(count);
        }
        counts
    }

    #[test]
    fn pages_come_in_evenly_or_until_the_share_of_a_window_is_used_up() {
        let config = PacingConfig {
            mode: PacingMode::Even,
            most: 50_000,
            window: Nanos::millis(10),
            ..PacingConfig::NONE
        };
        let even = admitted(&config, |_| 100, 100);
        assert!(even[20..].iter().all(|&count| (49..=51).contains(&count)), "{even:?}");
        let window = admitted(&PacingConfig { mode: PacingMode::Window, ..config }, |_| 100, 100);
        assert_eq!(window[20..30].iter().sum::<u64>(), 500);
        assert_eq!(window[26..30], [0; 4], "{window:?}");
    }

    #[test]
    fn pages_wait_while_the_controller_works_on_programs() {
        let mut pacing = Pacing::new(&PacingConfig::NONE, Nanos::micros(20));
        assert!(pacing.is_on());
        assert_eq!(pacing.opens(Time(1_000_000)), None);
        pacing.program(Time(1_000_000));
        pacing.program(Time(1_005_000));
        assert_eq!(pacing.opens(Time(1_010_000)), Some(Time(1_040_000)), "one after the other");
        assert_eq!(pacing.opens(Time(1_040_000)), None);
        pacing.program(Time(2_000_000));
        assert_eq!(pacing.opens(Time(2_000_000)), Some(Time(2_020_000)));
        assert!(!Pacing::new(&PacingConfig::NONE, Nanos::ZERO).is_on());
    }

    #[test]
    fn a_host_that_suddenly_writes_more_is_let_in_step_by_step() {
        let config = PacingConfig {
            mode: PacingMode::Even,
            growth: 100_000,
            most: 100_000,
            window: Nanos::millis(10),
            ..PacingConfig::NONE
        };
        let counts = admitted(&config, |at| if at < 100 { 20 } else { 1000 }, 300);
        let per_window: Vec<u64> = counts.chunks(10).map(|chunk| chunk.iter().sum()).collect();
        assert!(per_window[2..10].iter().all(|&count| (195..=205).contains(&count)), "{per_window:?}");
        // Of 1000 pages a window 200 came in; each window brings a tenth of what is missing.
        assert!(per_window[11..].windows(2).all(|pair| pair[1] <= pair[0] + 85), "{per_window:?}");
        assert!((800..1000).contains(&per_window[29]), "{per_window:?}");
    }
}
