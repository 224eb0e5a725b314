//! What is on a file or block device, and who uses it: what somebody has to know before it is destroyed.
//!
//! Nothing here writes, and nothing is certain: data without a signature that is known here looks like no data.

use rustix::fs::{FileType, Mode, OFlags, fstat, major, minor, open};
use rustix::io::{Errno, pread};
use std::fs;
use std::io::{self, Seek, SeekFrom};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use tailcut_host::BLOCK_BYTES;
use tailcut_host::array::record::{RECORD_BLOCKS, Record};

/// What is on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holdings {
    /// Its path, with links resolved.
    pub path: PathBuf,
    /// It is a block device, and no file.
    pub is_device: bool,
    /// Bytes.
    pub bytes: u64,
    /// What was recognised, such as "an ext4 file system".
    pub signatures: Vec<String>,
    /// The first mebibyte holds something.
    pub is_written: bool,
    /// Who uses it, each as a sentence without an end, such as "it is mounted at /home".
    pub users: Vec<String>,
}

/// Where something stands that tells what is on a drive: offset, bytes, name.
type Mark = (u64, &'static [u8], &'static str);

/// Signatures of partition tables, file systems and what else is found at the beginning of drives, as in their headers in
/// Linux and in util-linux's libblkid.
const MARKS: [Mark; 20] = [
    (512, b"EFI PART", "a GPT partition table"),
    (4096, b"EFI PART", "a GPT partition table"),
    (1080, b"\x53\xEF", "an ext2, ext3 or ext4 file system"),
    (0, b"XFSB", "an XFS file system"),
    (65_600, b"_BHRfS_M", "a Btrfs file system"),
    (3, b"NTFS    ", "an NTFS file system"),
    (3, b"EXFAT   ", "an exFAT file system"),
    (54, b"FAT", "a FAT file system"),
    (82, b"FAT32", "a FAT32 file system"),
    (1024, b"\x10\x20\xF5\xF2", "an F2FS file system"),
    (32_769, b"CD001", "an ISO 9660 file system"),
    (0, b"hsqs", "a SquashFS file system"),
    (4086, b"SWAPSPACE2", "swap space"),
    (0, b"LUKS\xBA\xBE", "a LUKS encrypted volume"),
    (512, b"LABELONE", "an LVM physical volume"),
    (0, b"\xFC\x4E\x2B\xA9", "a member of a Linux RAID"),
    (4096, b"\xFC\x4E\x2B\xA9", "a member of a Linux RAID"),
    (4120, b"\xC6\x85\x73\xF6\x4E\x1A\x45\xCA", "a bcache volume"),
    (0, b"QFI\xFB", "a QEMU disk image"),
    (0, b"SQLite format 3\0", "an SQLite database"),
];

/// Bytes that are looked at.
const LOOK: usize = 1 << 20;

impl Holdings {
    /// Looks at a file or device.
    ///
    /// # Errors
    /// When it cannot be opened, or is neither.
    pub fn of(path: &Path) -> io::Result<Holdings> {
        let path = fs::canonicalize(path)?;
        // A pipe would keep whoever opens it waiting.
        let file = open(&path, OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK, Mode::empty())?;
        let stat = fstat(&file)?;
        let kind = FileType::from_raw_mode(stat.st_mode);
        let is_device = kind == FileType::BlockDevice;
        if !is_device && kind != FileType::RegularFile {
            let why = "it is neither a file nor a block device";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let mut beginning = vec![0; LOOK];
        let mut read = 0;
        while read < LOOK {
            match pread(&file, &mut beginning[read..], read as u64)? {
                0 => break,
                more => read += more,
            }
        }
        beginning.truncate(read);
        let bytes = fs::File::from(file).seek(SeekFrom::End(0))?;
        let users = match is_device {
            true => users_of_device(major(stat.st_rdev), minor(stat.st_rdev)),
            false => users_of_file(&path),
        };
        let is_written = beginning.iter().any(|&byte| byte != 0);
        Ok(Holdings { path, is_device, bytes, signatures: signatures(&beginning), is_written, users })
    }

    /// Keeps others from mounting or claiming a device as long as what is returned is open. Files need none.
    ///
    /// # Errors
    /// When somebody has claimed it already: a file system, swap, a RAID, device mapper.
    pub fn claim(&self) -> io::Result<Option<OwnedFd>> {
        if !self.is_device {
            return Ok(None);
        }
        match open(&self.path, OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC, Mode::empty()) {
            Ok(file) => Ok(Some(file)),
            Err(Errno::BUSY) => Err(io::Error::new(
                io::ErrorKind::ResourceBusy,
                "the system uses it, or a part of it: for a file system, swap, a RAID or device mapper",
            )),
            Err(why) => Err(why.into()),
        }
    }
}

/// What the first bytes of a drive say.
fn signatures(beginning: &[u8]) -> Vec<String> {
    let has = |offset: u64, bytes: &[u8]| {
        beginning.get(offset as usize..).is_some_and(|rest| rest.starts_with(bytes))
    };
    let found = MARKS.iter().filter(|(offset, bytes, _)| has(*offset, bytes)).map(|mark| mark.2);
    let mut names: Vec<String> = found.map(String::from).collect();
    // A boot sector ends like a table of partitions, and a GPT has one in front.
    if names.is_empty() && has(510, b"\x55\xAA") {
        names.push("an MBR partition table or a boot sector".into());
    }
    let blocks = beginning.chunks_exact(BLOCK_BYTES as usize).take(RECORD_BLOCKS as usize);
    if let Some(record) = blocks.filter_map(|block| Record::decode(block).ok()).next() {
        names.push(format!("drive {} of a tailcut array of {}", record.member, record.presence.len()));
    }
    names.dedup();
    names
}

/// Who uses a block device or one of its partitions, as the system says.
fn users_of_device(major: u32, minor: u32) -> Vec<String> {
    let folder = PathBuf::from(format!("/sys/dev/block/{major}:{minor}"));
    let mut users = Vec::new();
    for (number, name) in with_partitions(&folder, format!("{major}:{minor}")) {
        let which = if number == format!("{major}:{minor}") {
            String::from("it")
        } else {
            format!("its partition {name}")
        };
        users.extend(mounts(&number).into_iter().map(|place| format!("{which} is mounted at {place}")));
        users.extend(swaps(&name).then(|| format!("{which} is swap space in use")));
        let holders = entries(&PathBuf::from(format!("/sys/dev/block/{number}/holders")));
        users.extend(holders.into_iter().map(|holder| format!("{which} is a part of {holder}")));
    }
    users
}

/// Number (`major:minor`) and name of a device and of its partitions.
fn with_partitions(folder: &Path, number: String) -> Vec<(String, String)> {
    let own = fs::canonicalize(folder).ok();
    let name =
        |path: &Path| path.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned());
    let mut all = vec![(number, own.as_deref().map_or(String::new(), name))];
    for entry in entries(folder) {
        let part = folder.join(&entry);
        if part.join("partition").exists()
            && let Ok(number) = fs::read_to_string(part.join("dev"))
        {
            all.push((number.trim().to_owned(), entry));
        }
    }
    all
}

/// Names in a folder, in their order; none if there is no such folder.
fn entries(folder: &Path) -> Vec<String> {
    let Ok(found) = fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> =
        found.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Where a device is mounted (proc_pid_mountinfo(5): the third field is its number, the fifth the place).
fn mounts(number: &str) -> Vec<String> {
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let place = |line: &str| {
        let mut fields = line.split(' ');
        (fields.nth(2) == Some(number)).then(|| fields.nth(1).unwrap_or_default().to_owned())
    };
    table.lines().filter_map(place).collect()
}

fn swaps(name: &str) -> bool {
    let table = fs::read_to_string("/proc/swaps").unwrap_or_default();
    !name.is_empty()
        && table.lines().any(|line| line.split_whitespace().next() == Some(&format!("/dev/{name}")))
}

/// A file that is a disk of a loop device, or swap.
fn users_of_file(path: &Path) -> Vec<String> {
    let mut users = Vec::new();
    for device in entries(Path::new("/sys/block")) {
        let backing = fs::read_to_string(format!("/sys/block/{device}/loop/backing_file"));
        if backing.is_ok_and(|file| Path::new(file.trim_end()) == path) {
            users.push(format!("it is the disk of /dev/{device}"));
        }
    }
    let table = fs::read_to_string("/proc/swaps").unwrap_or_default();
    if table.lines().any(|line| line.split_whitespace().next().is_some_and(|file| Path::new(file) == path)) {
        users.push("it is swap space in use".into());
    }
    users
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(bytes: &[u8]) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().expect("a file");
        fs::write(file.path(), bytes).expect("it is written");
        file
    }

    #[test]
    fn signatures_are_recognised_where_they_stand() {
        for &(offset, bytes, name) in &MARKS {
            let mut beginning = vec![0; 1 << 17];
            beginning[offset as usize..offset as usize + bytes.len()].copy_from_slice(bytes);
            let holdings = Holdings::of(file(&beginning).path()).expect("a file");
            assert_eq!((holdings.signatures, holdings.is_written), (vec![name.to_owned()], true));
            beginning[offset as usize] ^= 1;
            assert!(signatures(&beginning).is_empty(), "{name}");
        }
    }

    #[test]
    fn an_empty_file_and_a_boot_sector() {
        let empty = Holdings::of(file(&[0; 8192]).path()).expect("a file");
        assert_eq!((empty.bytes, empty.is_written, empty.is_device), (8192, false, false));
        assert!(
            empty.signatures.is_empty() && empty.users.is_empty() && empty.claim().expect("free").is_none()
        );
        let mut boot = vec![0; 512];
        boot[510..].copy_from_slice(b"\x55\xAA");
        assert_eq!(signatures(&boot), ["an MBR partition table or a boot sector"]);
    }

    #[test]
    fn what_is_no_drive_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(Holdings::of(folder.path()).expect_err("a folder").kind(), io::ErrorKind::InvalidInput);
        assert_eq!(
            Holdings::of(Path::new("/dev/null")).expect_err("no disk").kind(),
            io::ErrorKind::InvalidInput
        );
        assert!(Holdings::of(&folder.path().join("none")).is_err());
    }

    /// The root of a machine is mounted, and mostly from a block device.
    #[test]
    fn a_mounted_device_is_known() {
        let table = fs::read_to_string("/proc/self/mountinfo").expect("Linux");
        let mounted =
            table.lines().filter_map(|line| line.split(' ').nth(2)).find(|number| !number.starts_with("0:"));
        let Some((major, minor)) = mounted.and_then(|number| number.split_once(':')) else {
            return println!("skipped: nothing is mounted from a block device");
        };
        let users = users_of_device(major.parse().expect("a number"), minor.parse().expect("a number"));
        assert!(users.iter().any(|user| user.contains("is mounted at /")), "{users:?}");
    }
}
