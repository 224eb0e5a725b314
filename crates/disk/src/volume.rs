//! [`std::io`] on a disk, for single-threaded code: each call takes the virtual time that the disk needs.
//!
//! ```
//! use std::io::{Read, Seek, SeekFrom, Write};
//! use tailcut_disk::volume::Volume;
//! use tailcut_disk::{Disk, Personality, Stream};
//!
//! let volume = Volume::new(Disk::new(Personality::Fresh, 1));
//! let mut log = volume.file(0..1 << 20);
//! log.write_all(b"hello")?;
//! log.sync_data()?;
//! volume.power_cut(&mut Stream::new(1, "power cut"));
//! let mut found = [0; 5];
//! log.seek(SeekFrom::Start(0))?;
//! log.read_exact(&mut found)?;
//! assert_eq!(&found, b"hello");
//! # Ok::<(), std::io::Error>(())
//! ```

use crate::completion::Completion;
use crate::disk::{Disk, PowerCut};
use crate::operation::{Error, Operation, Sector, sectors_of};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tailcut_base::cast::{to_u32, to_usize};
use tailcut_base::device::SECTOR_BYTES;
use tailcut_base::random::Stream;
use tailcut_base::{Nanos, Time};

/// A disk and its virtual time, shared by the files on it. Clones are handles of one volume.
#[derive(Clone, Debug)]
pub struct Volume {
    shared: Arc<Mutex<Shared>>,
}

#[derive(Debug)]
struct Shared {
    disk: Disk,
    now: Time,
}

impl Volume {
    /// A volume whose time begins at zero, or at the latest time that the disk knows of.
    pub fn new(disk: Disk) -> Volume {
        let now = disk.now();
        Volume { shared: Arc::new(Mutex::new(Shared { disk, now })) }
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The virtual time.
    pub fn now(&self) -> Time {
        self.lock().now
    }

    /// Lets virtual time pass without an operation.
    pub fn sleep(&self, length: Nanos) {
        let mut shared = self.lock();
        shared.now += length;
        let now = shared.now;
        shared.disk.advance(now);
    }

    /// Calls `body` with the time and the disk, for faults and inspection.
    pub fn with_disk<R>(&self, body: impl FnOnce(Time, &mut Disk) -> R) -> R {
        let mut shared = self.lock();
        let now = shared.now;
        body(now, &mut shared.disk)
    }

    /// Cuts the power; see [`Disk::power_cut`]. Files stay open: what a process would keep in memory is up to
    /// the test.
    pub fn power_cut(&self, random: &mut Stream) -> PowerCut {
        self.with_disk(|now, disk| disk.power_cut(now, random))
    }

    /// A range of bytes of the disk as a file of fixed length. Files may overlap.
    ///
    /// # Panics
    /// If the range is not of whole sectors of the disk.
    pub fn file(&self, bytes: Range<u64>) -> File {
        let (offset, bytes) = (bytes.start, bytes.end.saturating_sub(bytes.start));
        let capacity = self.with_disk(|_, disk| disk.config().capacity_bytes());
        let is_whole = offset.is_multiple_of(SECTOR_BYTES) && bytes.is_multiple_of(SECTOR_BYTES);
        let is_inside = offset.checked_add(bytes).is_some_and(|end| end <= capacity);
        assert!(is_whole && is_inside, "{bytes} bytes at {offset} are not whole sectors of the disk");
        File { volume: self.clone(), first: offset / SECTOR_BYTES, len: bytes, position: 0 }
    }

    /// Carries out an operation, however long it takes.
    fn execute(&self, operation: Operation) -> Result<Completion, Error> {
        let mut shared = self.lock();
        let Shared { disk, now } = &mut *shared;
        let mut operation = Some(operation);
        let mut ticket = None;
        loop {
            if let Some(waiting) = operation.take() {
                match disk.submit(*now, waiting) {
                    Ok(accepted) => ticket = Some(accepted),
                    Err(busy) => operation = Some(busy.into_operation()),
                }
            }
            *now = disk.next_event().max(*now);
            for completion in disk.advance(*now) {
                if Some(completion.ticket()) == ticket {
                    return completion.result().map(|()| completion);
                }
            }
        }
    }
}

/// A part of a disk as a file of fixed length, in the manner of [`std::fs::File`] opened with `O_DIRECT`:
/// data goes to the disk with each call. As with a file of the system, `flush` of [`Write`] does nothing:
/// only [`File::sync_data`] makes data durable.
///
/// Writes of parts of sectors read the sectors first. A call reads or writes at most 1 MiB.
#[derive(Debug)]
pub struct File {
    volume: Volume,
    /// The first sector.
    first: u64,
    /// In bytes.
    len: u64,
    position: u64,
}

impl File {
    /// The length in bytes.
    #[allow(clippy::len_without_is_empty, reason = "a file has a length; whether it is empty, few ask")]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Makes everything durable that has been written to the disk, by this file and others.
    ///
    /// # Errors
    /// The disk has died.
    pub fn sync_data(&self) -> io::Result<()> {
        self.volume.execute(Operation::Flush)?;
        Ok(())
    }

    /// [`File::sync_data`]: there is no metadata.
    ///
    /// # Errors
    /// The disk has died.
    pub fn sync_all(&self) -> io::Result<()> {
        self.sync_data()
    }

    /// Reads at a byte offset, without moving the position; returns how many bytes were read, 0 at the end of
    /// the file.
    ///
    /// # Errors
    /// A sector cannot be read, or the disk has died.
    pub fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let len = self.most_at(bytes.len(), offset);
        if len == 0 {
            return Ok(0);
        }
        let (sectors, skipped) = self.sectors(offset, len);
        let data = self.read_sectors(sectors)?;
        bytes[..len].copy_from_slice(&data[skipped..skipped + len]);
        Ok(len)
    }

    /// Writes at a byte offset, without moving the position; returns how many bytes were written.
    ///
    /// # Errors
    /// `StorageFull` at the end of the file; a sector that is written in part cannot be read; the disk has
    /// died or is write protected.
    pub fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        let len = self.most_at(bytes.len(), offset);
        if len == 0 {
            return Err(ErrorKind::StorageFull.into());
        }
        let (sectors, skipped) = self.sectors(offset, len);
        let is_whole = skipped == 0 && (len as u64).is_multiple_of(SECTOR_BYTES);
        let data = if is_whole {
            bytes[..len].to_vec()
        } else {
            let mut data = self.read_sectors(sectors.clone())?;
            data[skipped..skipped + len].copy_from_slice(&bytes[..len]);
            data
        };
        self.volume.execute(Operation::write(Sector::new(sectors.start), data))?;
        Ok(len)
    }

    /// How many of `len` bytes at `offset` one call reads or writes.
    fn most_at(&self, len: usize, offset: u64) -> usize {
        to_usize((len as u64).min(MOST_BYTES).min(self.len.saturating_sub(offset)))
    }

    /// The sectors that `len` bytes at `offset` lie in, and how many bytes of them are before `offset`.
    fn sectors(&self, offset: u64, len: usize) -> (Range<u64>, usize) {
        let skipped = to_usize(offset % SECTOR_BYTES);
        let start = self.first + offset / SECTOR_BYTES;
        (start..start + sectors_of(skipped + len), skipped)
    }

    fn read_sectors(&self, sectors: Range<u64>) -> Result<Vec<u8>, Error> {
        let count = to_u32(sectors.end - sectors.start);
        self.volume.execute(Operation::read(Sector::new(sectors.start), count))?.into_data()
    }
}

/// The most bytes of one call.
const MOST_BYTES: u64 = 1 << 20;

impl Read for File {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.read_at(bytes, self.position)?;
        self.position += read as u64;
        Ok(read)
    }
}

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.write_at(bytes, self.position)?;
        self.position += written as u64;
        Ok(written)
    }

    /// Does nothing: it does not make data durable.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for File {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(offset) => Some(offset),
            SeekFrom::End(offset) => self.len.checked_add_signed(offset),
            SeekFrom::Current(offset) => self.position.checked_add_signed(offset),
        };
        self.position = position.ok_or(ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}
