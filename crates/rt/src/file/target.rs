//! The file or block device of a drive: opened once, locked, and probed for its features.

use super::FileOptions;
use super::buffer::Buffer;
use super::pool::PUNCH;
use rustix::fs::{FileType, FlockOperation, OFlags, fallocate, flock, fstat, major, minor};
use rustix::io::{Errno, pread};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tailcut_host::BLOCK_BYTES;

/// Why a file cannot be used as a drive.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It cannot be opened or examined.
    #[error("{path}: {why}")]
    System {
        /// Its path.
        path: String,
        /// The system error.
        why: io::Error,
    },
    /// Another process holds the lock of the file.
    #[error("{path} is in use by {holder}")]
    Taken {
        /// Its path.
        path: String,
        /// The process, as far as the system tells, and what can be done.
        holder: String,
    },
    /// The system is using it.
    #[error(
        "{path} is in use: the system has it, or a part of it, for a file system, swap, a RAID or device \
         mapper; take it out of use first (umount, swapoff, mdadm --stop, dmsetup remove)"
    )]
    Claimed {
        /// Its path.
        path: String,
    },
    /// It is neither a file nor a block device.
    #[error("{path} is neither a file nor a block device")]
    Kind {
        /// Its path.
        path: String,
    },
    /// It is smaller than a block.
    #[error(
        "{path} has {bytes} bytes, and a drive has at least one block of 4096: give the file a size first \
            (truncate --size)"
    )]
    Empty {
        /// Its path.
        path: String,
        /// Its size in bytes.
        bytes: u64,
    },
}

/// An open file or block device.
#[derive(Debug)]
pub(super) struct Target {
    /// The file, open and locked.
    pub file: Arc<File>,
    /// Size of the file or device in blocks of 4 KiB.
    pub blocks: u64,
    /// True for a file, false for a device.
    pub is_file: bool,
    /// Reads and writes bypass the page cache.
    pub is_direct: bool,
    /// Ranges can be deallocated, and read as zeros afterwards.
    pub punches: bool,
}

impl Target {
    /// Opens and locks it, as `options` specify.
    ///
    /// # Errors
    /// See [`FileError`].
    pub(super) fn open(path: &Path, options: FileOptions) -> Result<Target, FileError> {
        let FileOptions { is_read_only, is_exclusive, is_hasty, .. } = options;
        let name = path.display().to_string();
        let refused = |why: io::Error| match why.kind() {
            io::ErrorKind::ResourceBusy => FileError::Claimed { path: name.clone() },
            _ => FileError::System { path: name.clone(), why },
        };
        let patience = if is_hasty { Duration::ZERO } else { PATIENCE };
        // The flag has no effect on a file.
        let is_device = || fs::metadata(path).is_ok_and(|data| data.file_type().is_block_device());
        let claim = if is_exclusive && is_device() { OFlags::EXCL } else { OFlags::empty() };
        let open = |flags: OFlags| {
            let open = || open(path, is_read_only, flags | claim);
            patiently(patience, open, |result| is_of_kind(result, io::ErrorKind::ResourceBusy))
        };
        let file = open(OFlags::DIRECT);
        let (mut file, mut is_direct) = match file {
            Err(why) if why.kind() == io::ErrorKind::InvalidInput => {
                (open(OFlags::empty()).map_err(refused)?, false)
            }
            opened => (opened.map_err(refused)?, true),
        };
        let kind = FileType::from_raw_mode(fstat(&file).map_err(|why| refused(why.into()))?.st_mode);
        if !matches!(kind, FileType::RegularFile | FileType::BlockDevice) {
            return Err(FileError::Kind { path: name });
        }
        // A lock belongs to an open file description: it is taken once, since opening the file again for
        // another reason would conflict with it.
        if is_direct && !takes_direct(&file) {
            // Nor could a device be claimed twice.
            drop(file);
            file = open(OFlags::empty()).map_err(refused)?;
            is_direct = false;
        }
        match lock(&file, patience) {
            Err(Errno::WOULDBLOCK) => return Err(FileError::Taken { path: name, holder: holder(&file) }),
            locked => locked.map_err(|why| refused(why.into()))?,
        }
        let bytes = file.seek(SeekFrom::End(0)).map_err(refused)?;
        if bytes < BLOCK_BYTES {
            return Err(FileError::Empty { path: name, bytes });
        }
        let is_file = kind == FileType::RegularFile;
        // Nothing can be lost beyond the end of a file.
        let beyond = bytes.next_multiple_of(BLOCK_BYTES);
        let punches = !is_read_only && (!is_file || fallocate(&file, PUNCH, beyond, BLOCK_BYTES).is_ok());
        Ok(Target { file: Arc::new(file), blocks: bytes / BLOCK_BYTES, is_file, is_direct, punches })
    }

    /// Creates a sparse file of `blocks` blocks of zeros.
    ///
    /// # Errors
    /// If the file exists, or cannot be made durable.
    pub(super) fn create(path: &Path, blocks: u64) -> Result<(), FileError> {
        let refused = |why: io::Error| FileError::System { path: path.display().to_string(), why };
        let file = OpenOptions::new().write(true).create_new(true).open(path).map_err(refused)?;
        file.set_len(blocks * BLOCK_BYTES).map_err(refused)?;
        file.sync_all().map_err(refused)?;
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(parent).and_then(|folder| folder.sync_all()).map_err(refused)
    }
}

/// How long to wait for the lock of another process.
const PATIENCE: Duration = Duration::from_secs(2);

/// A killed process keeps its lock until the kernel has completed its requests in flight, as it should: until
/// then there may still be writes. That takes a moment.
fn lock(file: &File, patience: Duration) -> rustix::io::Result<()> {
    let lock = || flock(file, FlockOperation::NonBlockingLockExclusive);
    patiently(patience, lock, |locked| *locked == Err(Errno::WOULDBLOCK))
}

/// The process that has locked a file, with its number and name as far as the system tells: not across
/// containers, nor on file systems whose files have other device numbers than their locks.
fn holder(file: &File) -> String {
    let numbers = fstat(file)
        .map(|stat| format!("{:02x}:{:02x}:{}", major(stat.st_dev), minor(stat.st_dev), stat.st_ino));
    let locks = fs::read_to_string("/proc/locks").unwrap_or_default();
    let process = numbers.ok().and_then(|numbers| holder_in(&locks, &numbers));
    let holder = match process {
        None => String::from("another process"),
        Some(process) if process == std::process::id() => {
            return String::from("this process already: take another file");
        }
        Some(process) => match fs::read_to_string(format!("/proc/{process}/comm")) {
            Ok(name) => format!("process {process} ({})", name.trim_end()),
            Err(_) => format!("process {process}"),
        },
    };
    format!("{holder}, which has locked it: stop that one, or take another file")
}

/// The process that has a lock on the file with these numbers (`major:minor:inode`), in the text of
/// `/proc/locks`.
fn holder_in(locks: &str, numbers: &str) -> Option<u32> {
    locks.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        match fields.as_slice() {
            [_, "FLOCK", _, _, process, of, ..] if *of == numbers => process.parse().ok(),
            _ => None,
        }
    })
}

/// Retries for `patience`, as long as another process holds the lock.
fn patiently<T>(patience: Duration, mut attempt: impl FnMut() -> T, is_taken: impl Fn(&T) -> bool) -> T {
    let end = Instant::now() + patience;
    loop {
        let result = attempt();
        if !is_taken(&result) || Instant::now() >= end {
            return result;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn is_of_kind<T>(result: &io::Result<T>, kind: io::ErrorKind) -> bool {
    result.as_ref().is_err_and(|why| why.kind() == kind)
}

impl Drop for Target {
    /// A closed ring keeps the file open for a while, so the lock is released here.
    fn drop(&mut self) {
        // Ignored: there is no caller to report to, and the process's exit releases the lock as well.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

fn open(path: &Path, is_read_only: bool, flags: OFlags) -> io::Result<File> {
    OpenOptions::new().read(true).write(!is_read_only).custom_flags(flags.bits() as i32).open(path)
}

/// Some file systems accept the flag and refuse to read, and some devices have larger sectors.
fn takes_direct(file: &File) -> bool {
    pread(file, Buffer::new(0, 1).bytes_mut(), 0) != Err(Errno::INVAL)
}

#[cfg(test)]
mod tests {
    use super::holder_in;

    #[test]
    fn the_holder_of_a_lock_is_found_by_the_numbers_of_the_file() {
        let locks = "1: POSIX  ADVISORY  WRITE 7 fe:00:77 0 EOF\n\
            2: FLOCK  ADVISORY  READ 8 fe:00:7 0 EOF\n\
            3: FLOCK  ADVISORY  WRITE 9 fe:00:77 0 EOF\n\
            3: -> FLOCK  ADVISORY  WRITE 10 fe:00:77 0 EOF\n";
        assert_eq!(holder_in(locks, "fe:00:77"), Some(9), "not one that waits for it");
        assert_eq!(holder_in(locks, "fe:01:77"), None);
    }
}
