//! Admission to flash: bounds on what a cache writes there when items leave memory.
//!
//! Which items are worth a write is decided by their reads ([`super::eviction`]). The bounds here are those
//! of an operator: items that are too short or expire too soon for flash (memcached's extstore has
//! `ext_item_size` and `ext_low_ttl` for that), and a write budget, so that a drive lasts as long as it has
//! to.

use super::record::Header;
use tailcut_base::cast::to_u64;
use tailcut_base::{Nanos, Time};

/// Bounds on what a cache writes to flash; the default has none. A store writes every item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AdmissionSettings {
    /// Items with fewer bytes, key and header included, stay off flash.
    pub least_item: u64,
    /// Items that expire in less than this many seconds stay off flash.
    pub least_ttl: u32,
    /// Most bytes of records to write in a day, copies by reclaim included; 0 for no bound. A minute's share
    /// may be written at once.
    pub daily_bytes: u64,
}

impl AdmissionSettings {
    /// No bounds.
    pub const NONE: AdmissionSettings = AdmissionSettings { least_item: 0, least_ttl: 0, daily_bytes: 0 };
}

/// Why an item was not admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotAdmitted {
    /// It is shorter than [`AdmissionSettings::least_item`].
    Small,
    /// It expires sooner than [`AdmissionSettings::least_ttl`].
    Expiring,
    /// [`AdmissionSettings::daily_bytes`] are used up for now.
    OverBudget,
}

/// The bounds, and how much of the write budget is used up: a bucket that drains at the rate of the budget.
#[derive(Debug)]
pub(super) struct Admission {
    settings: AdmissionSettings,
    /// Bytes in the bucket.
    level: u64,
    /// When it had them.
    at: Time,
}

impl Admission {
    pub(super) fn new(settings: AdmissionSettings) -> Admission {
        Admission { settings, level: 0, at: Time::ZERO }
    }

    /// Why an item is not admitted at `now`, or `unix` in seconds of Unix time; None if it is.
    pub(super) fn refuses(&mut self, now: Time, unix: u32, header: &Header) -> Option<NotAdmitted> {
        let AdmissionSettings { least_item, least_ttl, daily_bytes } = self.settings;
        if header.record_bytes() < least_item {
            return Some(NotAdmitted::Small);
        }
        if header.expires != 0 && header.expires < unix.saturating_add(least_ttl) {
            return Some(NotAdmitted::Expiring);
        }
        if daily_bytes == 0 {
            return None;
        }
        self.drain(now);
        (self.level > daily_bytes / MINUTES_OF_DAY).then_some(NotAdmitted::OverBudget)
    }

    /// Records of this many bytes were written.
    pub(super) fn note_written(&mut self, bytes: u64) {
        if self.settings.daily_bytes > 0 {
            self.level = self.level.saturating_add(bytes);
        }
    }

    fn drain(&mut self, now: Time) {
        let rate = u128::from(self.settings.daily_bytes);
        let gone = to_u64(u128::from(now.since(self.at).0) * rate / u128::from(DAY.0));
        if gone >= self.level {
            (self.level, self.at) = (0, now);
            return;
        }
        self.level -= gone;
        // Only the time of whole bytes has passed.
        self.at += Nanos(to_u64((u128::from(gone) * u128::from(DAY.0)).div_ceil(rate)));
    }
}

const DAY: Nanos = Nanos::secs(86_400);
const MINUTES_OF_DAY: u64 = 24 * 60;

#[cfg(test)]
mod tests {
    use super::*;

    /// Of an item that never expires.
    fn header(value: u32) -> Header {
        Header { value, key: 10, ..Header::default() }
    }

    #[test]
    fn short_and_expiring_items_stay_off_flash() {
        let settings = AdmissionSettings { least_item: 512, least_ttl: 60, daily_bytes: 0 };
        let mut admission = Admission::new(settings);
        let mut refuses = |header: Header| admission.refuses(Time::ZERO, 1000, &header);
        assert_eq!(refuses(header(400)), Some(NotAdmitted::Small));
        assert_eq!(refuses(header(500)), None);
        assert_eq!(refuses(Header { expires: 1059, ..header(500) }), Some(NotAdmitted::Expiring));
        assert_eq!(refuses(Header { expires: 1060, ..header(500) }), None);
    }

    #[test]
    fn a_day_of_writes_keeps_to_the_budget_whatever_the_pace() {
        for each in [1_000, 70_000, 3_000_000] {
            let daily = 1_440_000_000;
            let mut admission =
                Admission::new(AdmissionSettings { daily_bytes: daily, ..AdmissionSettings::default() });
            let mut written = 0;
            // An attempt every 7 ms for an hour.
            for attempt in 0..3600 * 1000 / 7 {
                let now = Time::ZERO + Nanos::millis(7 * attempt);
                if admission.refuses(now, 1000, &header(500)).is_none() {
                    admission.note_written(each);
                    written += each;
                }
            }
            let most = daily / 24 + daily / MINUTES_OF_DAY + each;
            assert!((daily / 24..=most).contains(&written), "{written} bytes in an hour, {each} at a time");
        }
    }
}
