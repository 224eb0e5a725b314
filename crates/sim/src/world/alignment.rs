//! How many requests begin or end within a page of the device.

use tailcut_base::{Command, Op};

/// Counts reads and writes, and those of them that do not consist of whole pages of the device.
#[derive(Debug)]
pub struct Alignment {
    page_sectors: u32,
    reads: Counts,
    writes: Counts,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    all: u64,
    in_part: u64,
}

impl Counts {
    fn share(self) -> f64 {
        if self.all == 0 { 0.0 } else { self.in_part as f64 / self.all as f64 }
    }
}

impl Alignment {
    /// Nothing counted yet, for a device with pages of `page_sectors` sectors, at least 1.
    pub(super) fn new(page_sectors: u32) -> Alignment {
        Alignment { page_sectors: page_sectors.max(1), reads: Counts::default(), writes: Counts::default() }
    }

    /// Counts a command that the device has accepted.
    #[inline]
    pub(super) fn count(&mut self, command: &Command) {
        let counts = match command.op {
            Op::Read => &mut self.reads,
            Op::Write => &mut self.writes,
            _ => return,
        };
        let page = self.page_sectors;
        let is_in_part = !command.sectors.is_multiple_of(page) || !command.sector.is_multiple_of(page.into());
        counts.all += 1;
        counts.in_part += u64::from(is_in_part);
    }

    /// Share of the reads that begin or end within a page; 0 to 1.
    pub fn reads_in_part(&self) -> f64 {
        self.reads.share()
    }

    /// Share of the writes that begin or end within a page; 0 to 1.
    pub fn writes_in_part(&self) -> f64 {
        self.writes.share()
    }

    /// Size of a page in sectors of 512 bytes.
    pub fn page_sectors(&self) -> u32 {
        self.page_sectors
    }
}
