//! A disk with a simulated SSD inside, for deterministic tests of databases.
//!
//! A [`Disk`] is a state machine without a clock: the test passes the time, submits [`Operation`]s, and takes
//! [`Completion`]s with data, latency and the cause of the latency. It keeps data in memory and follows the
//! durability rules of NVMe exactly: a completed write may be lost in a power cut until a flush, or the force
//! unit access flag of the write, has made it durable, and is torn only at the atomic unit. Faults (power
//! cuts, corruption, misdirected writes, stalls, slowdowns, unreadable sectors, death) are calls. Equal seeds
//! and equal calls give equal bytes and equal nanoseconds on every machine.
//!
//! ```
//! use tailcut_disk::{Disk, Operation, Personality, Sector, Stream, Time};
//!
//! let mut disk = Disk::new(Personality::Collecting, 1);
//! let ticket = disk.submit(Time::ZERO, Operation::write(Sector::new(8), vec![7; 4096])).unwrap();
//! let mut now = Time::ZERO;
//! let written = loop {
//!     now = disk.next_event();
//!     if let Some(completion) = disk.advance(now).pop() {
//!         break completion;
//!     }
//! };
//! assert_eq!((written.ticket(), written.result()), (ticket, Ok(())));
//! println!("{} ns, mostly {}", written.latency().0, written.cause().label());
//!
//! // Nothing was flushed: after a power cut the old data (zeros) or the new may be there.
//! disk.power_cut(now, &mut Stream::new(42, "power cut"));
//! let byte = disk.peek(Sector::new(8), 8)[0];
//! assert!(byte == 0 || byte == 7);
//! ```
//!
//! Three adapters put it under code that has another idea of a disk: [`volume`] for [`std::io`], [`ring`] for
//! callbacks, [`future`] for `async` code under any runtime. `docs/reference/disk.md` has the whole story.

#![cfg_attr(not(test), deny(clippy::cast_possible_truncation, clippy::cast_sign_loss))]

pub mod array;
mod clock;
mod completion;
mod config;
mod contents;
mod disk;
mod drive;
pub mod future;
mod operation;
pub mod ring;
pub mod volume;

pub use clock::Slowdown;
pub use completion::Completion;
pub use config::DiskConfig;
pub use disk::{Corruption, Disk, PowerCut, UnflushedPiece};
pub use operation::{Busy, Error, Operation, Sector, Ticket};
pub use tailcut_base::config::Choice;
pub use tailcut_base::random::Stream;
pub use tailcut_base::{Cause, Nanos, Op, SECTOR_BYTES, Spans, Time};
pub use tailcut_ssd::presets::Personality;
