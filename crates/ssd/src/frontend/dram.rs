//! The memory that the write buffer is in: one access at a time.

use crate::config::DramConfig;
use tailcut_base::Time;

/// The memory, reserved by arithmetic in the order in which data arrives.
#[derive(Debug)]
pub(crate) struct Dram {
    config: DramConfig,
    free_at: Time,
}

impl Dram {
    /// An idle memory.
    pub(crate) fn new(config: &DramConfig) -> Dram {
        Dram { config: config.clone(), free_at: Time::ZERO }
    }

    /// Takes `bytes` bytes of a write that are there at `ready`. Returns when they are stored.
    #[inline]
    pub(crate) fn store(&mut self, ready: Time, bytes: u64) -> Time {
        if self.config == DramConfig::AT_ONCE {
            return ready;
        }
        self.free_at = self.free_at.max(ready) + self.config.time(bytes);
        self.free_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Preset;
    use tailcut_base::Nanos;

    #[test]
    fn writes_are_stored_one_after_the_other() {
        let mut dram = Dram::new(&DramConfig::new(200_000_000, Nanos(26)));
        assert_eq!(dram.store(Time(1000), 4096), Time(1000 + 26 + 20_480));
        assert_eq!(dram.store(Time(2000), 512), Time(21_506 + 26 + 2560), "it waits for the first");
        assert_eq!(dram.store(Time(99_000), 512), Time(99_000 + 26 + 2560));
    }

    #[test]
    fn a_memory_as_fast_as_the_link_takes_no_time() {
        let mut dram = Dram::new(&Preset::M.config().buffer.dram);
        assert_eq!(dram.store(Time(7), 1 << 20), Time(7));
        assert_eq!(dram.store(Time(3), 1), Time(3));
    }
}
