//! The frontend: commands, the link to the host, and the pages that are in DRAM.
//!
//! - [`commands`]: how commands end;
//! - [`dram`]: the memory that the buffer is in;
//! - [`admission`]: writes that find room in the buffer, or wait for it;
//! - [`entries`]: what becomes of a page in the buffer;
//! - [`non_queued`]: commands that the protocol does not queue;
//! - [`inference`]: which reads are urgent.

mod admission;
pub mod behaviour;
pub(crate) mod buffer;
mod buffered;
pub(crate) mod cache;
mod commands;
mod dram;
mod entries;
mod inference;
pub mod link;
mod non_queued;
pub mod pacing;
pub(crate) mod streams;
pub mod submission;
pub mod tags;
mod waiters;

use crate::config::{Classes, SsdConfig};
use crate::frontend::behaviour::Tracker;
use crate::frontend::buffer::Buffer;
use crate::frontend::cache::ReadCache;
use crate::frontend::dram::Dram;
use crate::frontend::link::Link;
use crate::frontend::pacing::Pacing;
use crate::frontend::streams::Streams;
use crate::frontend::submission::SubmissionQueues;
use crate::frontend::tags::Tags;
use crate::request::Tag;
use crate::sets::Sets;
pub(crate) use entries::Arrived;
use inference::Inference;
use non_queued::NonQueued;
use tailcut_base::{Nanos, Time};
pub(crate) use waiters::Waiter;
use waiters::Waiters;

/// The frontend of a drive.
#[derive(Debug)]
pub(crate) struct Frontend {
    /// Time that the controller takes for a command, and for a trim beside that.
    firmware: Nanos,
    trim_time: Nanos,
    classes: Classes,
    sets: Sets,
    pub(crate) page_sectors: u32,
    /// User capacity in sectors.
    sectors: u64,
    pub(crate) tags: Tags,
    pub(crate) non_queued: NonQueued,
    pub(crate) submission: SubmissionQueues,
    pub(crate) link: Link,
    buffer: Buffer,
    dram: Dram,
    pub(crate) pacing: Pacing,
    pub(crate) cache: ReadCache,
    pub(crate) streams: Streams,
    inference: Inference,
    pub(crate) tracker: Tracker,
    pub(crate) waiters: Waiters,
    /// One of the following has changed.
    has_due: bool,
    /// When arrivals over the link are to be served, by direction, where that has changed.
    due: [Option<Time>; 2],
    /// When writes that wait are to be looked at again, where that has changed.
    buffer_due: Option<Time>,
    /// Flush commands that have just become complete; empty between events.
    flushed: Vec<Tag>,
}

impl Frontend {
    /// Asserts that the lists and counts of buffer and read cache agree, as they do between two events.
    pub(crate) fn check(&self) {
        self.buffer.check();
        self.cache.check();
    }

    pub(crate) fn sets(&self) -> Sets {
        self.sets
    }

    /// User capacity in sectors.
    pub(crate) fn sectors(&self) -> u64 {
        self.sectors
    }

    /// How long after it has been sent a command is known for what it is.
    pub(crate) fn time_to_know(&self) -> Nanos {
        self.firmware
    }

    /// The frontend of an idle drive with `pages` logical pages.
    pub(crate) fn new(config: &SsdConfig, pages: u64, sets: Sets) -> Frontend {
        let (page_sectors, page_bytes) = (config.geometry.page_sectors(), config.geometry.page_bytes);
        Frontend {
            firmware: config.queue.firmware,
            trim_time: config.queue.trim,
            classes: config.schedule.classes,
            sets,
            page_sectors,
            sectors: pages * u64::from(page_sectors),
            tags: Tags::new(&config.queue, page_sectors),
            non_queued: NonQueued::new(config.queue.protocol),
            submission: SubmissionQueues::new(config.queue.commands, config.queue.arbitration),
            link: Link::new(&config.link),
            buffer: Buffer::new(&config.buffer, page_bytes, sets.count()),
            dram: Dram::new(&config.buffer.dram),
            pacing: Pacing::new(&config.pacing, config.firmware_per_program()),
            cache: ReadCache::new(&config.cache, &config.geometry, pages, &sets),
            streams: Streams::new(&config.cache, page_sectors),
            inference: Inference::new(),
            tracker: Tracker::default(),
            waiters: Waiters::default(),
            has_due: false,
            due: [None; 2],
            buffer_due: None,
            flushed: Vec::new(),
        }
    }
}
