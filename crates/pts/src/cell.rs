//! One combination of a test matrix.

use crate::load::{Load, Order, Sizes};
use std::fmt;
use tailcut_base::cast::to_u32;
use tailcut_base::device::BLOCK_SECTORS;
use tailcut_base::{Nanos, SECTOR_BYTES};

/// One combination of a test matrix: a load as the specification names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Share of reads in the I/Os, in percent; the others are writes.
    pub reads: u8,
    /// Size of the I/Os, or the mix of their sizes.
    pub sizes: Sizes,
    /// Whether I/Os go to random or to consecutive places.
    pub order: Order,
    /// Number of threads (TC), at least 1.
    pub threads: u32,
    /// Number of I/Os that each thread keeps in flight (QD, or OIO per thread), at least 1.
    pub queue: u32,
}

impl Cell {
    /// I/Os of `bytes` (whole sectors) at random places.
    pub fn random(reads: u8, bytes: u64, (threads, queue): (u32, u32)) -> Cell {
        let sizes = Sizes::One(to_u32(bytes / SECTOR_BYTES));
        Cell { reads, sizes, order: Order::Random, threads, queue }
    }

    /// I/Os of `bytes` (whole sectors) in sequence.
    pub fn in_order(reads: u8, bytes: u64, demand: (u32, u32)) -> Cell {
        Cell { order: Order::Sequential, ..Cell::random(reads, bytes, demand) }
    }

    /// The load: all threads' I/Os together (TOIO).
    pub fn load(&self) -> Load {
        let (reads, sizes, order) = (self.reads, self.sizes, self.order);
        Load { reads, depth: self.threads * self.queue, sizes, order, gap: Nanos::ZERO }
    }

    /// Percentages of reads and writes, such as `65/35`.
    pub fn mix(&self) -> String {
        format!("{}/{}", self.reads, 100 - self.reads)
    }

    /// I/O size, such as `4KiB` or `0.5KiB`, or `mixed`.
    pub fn size(&self) -> String {
        match self.sizes {
            Sizes::One(1) => String::from("0.5KiB"),
            Sizes::One(sectors) => format!("{}KiB", u64::from(sectors) * SECTOR_BYTES / 1024),
            Sizes::Mixed(_) => String::from("mixed"),
        }
    }

    /// Threads and queue depth, such as `T4Q32`.
    pub fn demand(&self) -> String {
        format!("T{}Q{}", self.threads, self.queue)
    }

    /// True if I/Os may not be aligned to blocks of 4 KiB, so that writes need read-modify-write.
    pub fn is_widened(&self) -> bool {
        let widens = |sectors: u32| !u64::from(sectors).is_multiple_of(BLOCK_SECTORS);
        match self.sizes {
            Sizes::One(sectors) => widens(sectors),
            Sizes::Mixed(sizes) => sizes.iter().any(|&(_, sectors)| widens(sectors)),
        }
    }
}

impl fmt::Display for Cell {
    /// The cell as text, such as `RND 4KiB 65/35`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = match self.order {
            Order::Random | Order::Zones(_) => "RND",
            Order::Sequential | Order::Onward => "SEQ",
        };
        f.pad(&format!("{order} {} {}", self.size(), self.mix()))
    }
}
