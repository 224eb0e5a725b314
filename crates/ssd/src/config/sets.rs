//! NVM sets.

use super::SsdConfig;
use crate::config::{MappingLevel, Protocol};
use tailcut_base::config::{Configure, KeyVisitor, choose, count_u32};
use tailcut_base::{BadValue, Problem};

tailcut_base::choice! {
    /// What a drive is divided by.
    pub enum SetsBy {
        /// Each set has channels of its own: sets share no bus.
        Channels = "channels",
        /// Each set has ready/busy lines (chips, or dies) of its own on every channel: sets share buses.
        Chips = "chips",
    }
}

/// Into how many sets a drive is divided, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetsConfig {
    /// Number of NVM sets of equal size; 1 for a drive that is not divided.
    pub count: u32,
    /// What each NVM set has of its own: whole channels, or chips on every channel.
    pub by: SetsBy,
}

impl SetsConfig {
    /// A drive that is not divided.
    pub const ONE: SetsConfig = SetsConfig { count: 1, by: SetsBy::Channels };
}

impl Configure for SetsConfig {
    fn configure(&mut self, visit: &mut dyn KeyVisitor) {
        count_u32(
            visit,
            "count",
            "NVM sets of equal size, each with flash and addresses of its own; 1 for a drive that is not \
                divided.",
            &mut self.count,
            1..=64,
        );
        choose(
            visit,
            "by",
            "Channels: each set has channels of its own; chips: ready/busy lines of its own on all channels.",
            &mut self.by,
        );
    }
}

impl SsdConfig {
    /// What keeps this drive from being divided as configured: the key to blame, what is wrong and
    /// what would be right.
    ///
    /// # Errors
    /// The first such key and message.
    pub fn check_sets(&self) -> Result<(), Problem> {
        if self.sets.count == 1 {
            return Ok(());
        }
        self.check_division().map_err(|bad| bad.of("sets.count"))?;
        self.check_kind().map_err(|bad| bad.of("sets.count"))?;
        self.check_shares()
    }

    fn check_division(&self) -> Result<(), BadValue> {
        let SetsConfig { count, by } = self.sets;
        let (parts, what) = match by {
            SetsBy::Channels => (self.geometry.channels, "channels (geometry.channels)"),
            SetsBy::Chips => {
                (self.geometry.luns_per_channel(), "ready/busy lines of a channel (geometry.chips)")
            }
        };
        if parts.is_multiple_of(count) {
            return Ok(());
        }
        Err(BadValue::new(format!(
            "the {parts} {what} cannot be shared out to {count} sets: use a divisor of {parts}"
        )))
    }

    fn check_kind(&self) -> Result<(), BadValue> {
        if self.ftl.mapping == MappingLevel::Block {
            return Err(BadValue::new(
                "a drive that maps by block is one set: set sets.count = 1, or ftl.mapping = \"page\"",
            ));
        }
        if self.queue.protocol == Protocol::Ahci {
            return Err(BadValue::new(
                "a drive with AHCI is one set: its flushes have the whole drive to themselves; set \
                        sets.count = 1, or queue.protocol = \"nvme\"",
            ));
        }
        Ok(())
    }

    /// Each set needs a tag, and a page of the buffer where there is one.
    fn check_shares(&self) -> Result<(), Problem> {
        let (count, depth, size) = (self.sets.count, self.queue.depth, self.buffer.size);
        if depth < count {
            let message = format!("{depth} tags cannot be shared out to {count} sets: raise queue.depth");
            return Err(Problem::new("queue.depth", message));
        }
        let needed = self.geometry.page_bytes * u64::from(count);
        if size > 0 && size < needed {
            let message = format!(
                "{size} bytes of buffer do not give each of {count} sets a page: set buffer.size to at least \
                 {needed}, or to 0"
            );
            return Err(Problem::new("buffer.size", message));
        }
        Ok(())
    }
}
