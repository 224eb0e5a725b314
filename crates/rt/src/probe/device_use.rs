//! Signatures and users of a file or block device: what to check before its content is destroyed.
//!
//! Nothing here writes to the device, and no result is certain: a device with an unknown signature appears
//! empty.

use rustix::fs::{FileType, Mode, OFlags, fstat, major, minor, open};
use rustix::io::{Errno, pread};
use std::fs;
use std::io::{self, Seek, SeekFrom};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use tailcut_host::BLOCK_BYTES;
use tailcut_host::array::LayoutKind;
use tailcut_host::array::superblock::{MemberSuperblock, SUPERBLOCK_BLOCKS};

/// Content and users of a file or block device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceUse {
    /// Path of the file or device, with links resolved.
    pub path: PathBuf,
    /// True for a block device, false for a file.
    pub is_device: bool,
    /// Size of the file or device in bytes.
    pub bytes: u64,
    /// Recognised content, such as "an ext4 file system".
    pub signatures: Vec<String>,
    /// Superblocks of tailcut that were recognised on it, of an array or a store.
    pub own: Vec<Own>,
    /// Drives, layout and groups of the array that it is a member of.
    array: Option<(usize, LayoutKind, u32)>,
    /// Whether the first mebibyte holds non-zero bytes.
    pub is_written: bool,
    /// Users, each as a sentence without its end, such as "it is mounted at /home".
    pub users: Vec<String>,
}

/// Tailcut's own content on drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Own {
    /// The superblock of an array member.
    Member,
    /// The superblock of a key-value store.
    Store,
}

/// Purpose of opening a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenPurpose {
    /// Its content is exported as is, for reads and writes.
    Serve,
    /// It becomes a member of a new array.
    NewArray,
    /// The array that it belongs to is assembled.
    OpenArray,
    /// A new key-value store is created on it.
    NewStore,
    /// The key-value store on it is opened, or a new one created if the drive appears empty.
    OpenStore,
}

/// An objection to opening a drive for a purpose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Objection {
    /// The reason, as the predicate of a sentence, such as "it is mounted at /home" or "it holds an ext4 file
    /// system".
    pub why: String,
    /// What the user can do about the objection.
    pub remedy: Remedy,
}

/// The user's remedy for an objection to a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Override the objection with `--force`.
    Force,
    /// Take the drive out of use.
    Release,
    /// Erase it first: it holds a store or a member of an array, which is never overwritten.
    Erase,
    /// Give the other members of its array as well.
    GiveAllMembers,
}

/// A signature: offset in bytes, content, name.
type Mark = (u64, &'static [u8], &'static str);

/// Signatures at the start of drives: partition tables, file systems and others, as in their headers in Linux
/// and in util-linux's libblkid.
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

/// Signatures at the end: bytes before the end of the drive, rounded down to a multiple, content, name. md
/// keeps its superblocks of versions 0.90 and 1.0 there, and GPT its backup.
const MARKS_AT_END: [(u64, u64, &[u8], &str); 4] = [
    (64 << 10, 64 << 10, b"\xFC\x4E\x2B\xA9", "a member of a Linux RAID"),
    (8 << 10, 4 << 10, b"\xFC\x4E\x2B\xA9", "a member of a Linux RAID"),
    (512, 512, b"EFI PART", "the second copy of a GPT partition table"),
    (4096, 4096, b"EFI PART", "the second copy of a GPT partition table"),
];

/// Bytes examined at the start.
const LOOK: usize = 1 << 20;
/// Bytes examined at the end.
const LOOK_AT_END: u64 = 192 << 10;

impl DeviceUse {
    /// Examines a file or device.
    ///
    /// # Errors
    /// If it cannot be opened, or is neither.
    pub fn of(path: &Path) -> io::Result<DeviceUse> {
        let path = fs::canonicalize(path)?;
        // Opening a pipe would block.
        let file = open(&path, OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK, Mode::empty())?;
        let stat = fstat(&file)?;
        let kind = FileType::from_raw_mode(stat.st_mode);
        let is_device = kind == FileType::BlockDevice;
        if !is_device && kind != FileType::RegularFile {
            let why = "it is neither a file nor a block device";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let mut file = fs::File::from(file);
        let bytes = file.seek(SeekFrom::End(0))?;
        let beginning = read(&file, 0, LOOK)?;
        let end = read(&file, bytes.saturating_sub(LOOK_AT_END), LOOK_AT_END as usize)?;
        let users = match is_device {
            true => users_of_device(major(stat.st_rdev), minor(stat.st_rdev)),
            false => users_of_file(&path),
        };
        let is_written = beginning.iter().any(|&byte| byte != 0);
        let mut signatures = signatures(&beginning);
        signatures.extend(signatures_at_end(&end, bytes));
        let shape = |record: MemberSuperblock| (record.presence.len(), record.layout, record.groups);
        let array = members(&beginning).next().map(shape);
        let own = own(&beginning);
        signatures.extend(own.iter().map(|(_, name)| name.clone()));
        signatures.dedup();
        let own = own.into_iter().map(|(own, _)| own).collect();
        Ok(DeviceUse { path, is_device, bytes, signatures, own, array, is_written, users })
    }

    /// Number of drives, layout and groups of the tailcut array that it is a member of; `None` without a
    /// readable superblock.
    pub fn array(&self) -> Option<(usize, LayoutKind, u32)> {
        self.array
    }

    /// The objection to opening it for a purpose, other than to read it. A new array or store over one of the
    /// same kind is refused by the code that creates it.
    pub fn objection(&self, purpose: OpenPurpose) -> Option<Objection> {
        if !self.users.is_empty() {
            // The kernel refuses a device that it uses itself; it does not protect files.
            let remedy = if self.is_device { Remedy::Release } else { Remedy::Force };
            return Some(Objection { why: self.users.join(", "), remedy });
        }
        let is_foreign = self.signatures.len() > self.own.len();
        let has = |own| self.own.contains(&own);
        let is_lost = match purpose {
            OpenPurpose::Serve => has(Own::Member) || has(Own::Store),
            OpenPurpose::OpenArray => false,
            OpenPurpose::NewArray => !has(Own::Member) && (is_foreign || has(Own::Store)),
            OpenPurpose::NewStore => !has(Own::Store) && (is_foreign || has(Own::Member)),
            OpenPurpose::OpenStore => !has(Own::Store) && (is_foreign || has(Own::Member)),
        };
        let why = || format!("it holds {}", self.signatures.join(" and "));
        let is_member = matches!(purpose, OpenPurpose::OpenStore | OpenPurpose::Serve) && has(Own::Member);
        let is_new = matches!(purpose, OpenPurpose::NewArray | OpenPurpose::NewStore);
        let remedy = match () {
            () if is_member => Remedy::GiveAllMembers,
            () if is_new && !self.own.is_empty() => Remedy::Erase,
            () => Remedy::Force,
        };
        is_lost.then(|| Objection { why: why(), remedy })
    }

    /// Claims a device exclusively, so that it cannot be mounted or claimed while the returned descriptor is
    /// open. `None` for a file, which needs no claim.
    ///
    /// # Errors
    /// If the device is already claimed: by a file system, swap, a RAID or device mapper.
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

/// Names of signatures in the first bytes of a drive.
fn signatures(beginning: &[u8]) -> Vec<String> {
    let has = |offset: u64, bytes: &[u8]| {
        beginning.get(offset as usize..).is_some_and(|rest| rest.starts_with(bytes))
    };
    let found = MARKS.iter().filter(|(offset, bytes, _)| has(*offset, bytes)).map(|mark| mark.2);
    let mut names: Vec<String> = found.map(String::from).collect();
    // A boot sector ends like a partition table, and a GPT is preceded by a protective one.
    if names.is_empty() && has(510, b"\x55\xAA") {
        names.push("an MBR partition table or a boot sector".into());
    }
    names.dedup();
    names
}

/// Names of signatures in the last bytes of a drive of `bytes` bytes.
fn signatures_at_end(end: &[u8], bytes: u64) -> Vec<String> {
    let begins = bytes - end.len() as u64;
    let has = |&&(before, multiple, mark, _): &&(u64, u64, &[u8], &str)| {
        let place = bytes.checked_sub(before).map(|place| place / multiple * multiple);
        let place = place.and_then(|place| place.checked_sub(begins));
        place.and_then(|place| end.get(place as usize..)).is_some_and(|rest| rest.starts_with(mark))
    };
    let mut names: Vec<String> = MARKS_AT_END.iter().filter(has).map(|mark| mark.3.into()).collect();
    names.dedup();
    names
}

/// Tailcut's own content. A superblock of another version or with a wrong checksum counts as well.
fn own(beginning: &[u8]) -> Vec<(Own, String)> {
    let blocks = || blocks(beginning);
    let mut own = Vec::new();
    if let Some(record) = members(beginning).next() {
        let (member, drives, id) = (record.member, record.presence.len(), record.own_id().short());
        let name = format!("drive {member} of a tailcut array of {drives}, identity {id}");
        own.push((Own::Member, name));
    } else if blocks().any(|block| block.starts_with(MEMBER)) {
        own.push((Own::Member, "a drive of a tailcut array".into()));
    }
    if blocks().any(|block| block.starts_with(STORE)) {
        own.push((Own::Store, "a tailcut key-value store".into()));
    }
    own
}

/// The blocks in which superblocks can be.
fn blocks(beginning: &[u8]) -> impl Iterator<Item = &[u8]> {
    beginning.chunks_exact(BLOCK_BYTES as usize).take(SUPERBLOCK_BLOCKS.max(2) as usize)
}

/// The readable superblocks of a member of an array.
fn members(beginning: &[u8]) -> impl Iterator<Item = MemberSuperblock> {
    blocks(beginning).filter_map(|block| MemberSuperblock::decode(block).ok())
}

/// At most `bytes` bytes from `offset` on.
fn read(file: &fs::File, offset: u64, bytes: usize) -> io::Result<Vec<u8>> {
    let (mut content, mut read) = (vec![0; bytes], 0);
    while read < bytes {
        match pread(file, &mut content[read..], offset + read as u64)? {
            0 => break,
            more => read += more,
        }
    }
    content.truncate(read);
    Ok(content)
}

/// Magic of the superblocks of an array member and of a key-value store, in all versions.
const MEMBER: &[u8] = b"tailcutA";
const STORE: &[u8] = b"tailcutK";

/// Users of a block device and its partitions, from sysfs.
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

/// Sorted names in a folder; empty if the folder does not exist.
fn entries(folder: &Path) -> Vec<String> {
    let Ok(found) = fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> =
        found.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Mount points of a device (proc_pid_mountinfo(5): the third field is its number, the fifth the mount
/// point).
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

/// Uses of a file: as the disk of a loop device, or as swap.
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
            let device_use = DeviceUse::of(file(&beginning).path()).expect("a file");
            assert_eq!((device_use.signatures, device_use.is_written), (vec![name.to_owned()], true));
            beginning[offset as usize] ^= 1;
            assert!(signatures(&beginning).is_empty(), "{name}");
        }
    }

    #[test]
    fn an_empty_file_and_a_boot_sector() {
        let empty = DeviceUse::of(file(&[0; 8192]).path()).expect("a file");
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
        assert_eq!(DeviceUse::of(folder.path()).expect_err("a folder").kind(), io::ErrorKind::InvalidInput);
        assert_eq!(
            DeviceUse::of(Path::new("/dev/null")).expect_err("no disk").kind(),
            io::ErrorKind::InvalidInput
        );
        assert!(DeviceUse::of(&folder.path().join("none")).is_err());
    }

    /// The root of a machine is mounted, usually from a block device.
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

    /// For each purpose: which contents are refused, and whether the user can override it.
    #[test]
    fn what_a_drive_holds_decides_what_it_may_be_opened_for() {
        let ext4 = "an ext2, ext3 or ext4 file system";
        let holding = |signatures: &[&str], own: &[Own]| DeviceUse {
            path: "/dev/sdx".into(),
            is_device: true,
            bytes: 1 << 30,
            signatures: signatures.iter().map(|&name| name.into()).collect(),
            own: own.into(),
            array: None,
            is_written: true,
            users: Vec::new(),
        };
        use OpenPurpose::{NewArray, NewStore, OpenArray, OpenStore, Serve};
        let refusals = |device_use: &DeviceUse| -> Vec<OpenPurpose> {
            let all = [Serve, NewArray, OpenArray, NewStore, OpenStore];
            let is_refused = |purpose: &OpenPurpose| {
                let objection = device_use.objection(*purpose);
                assert!(objection.as_ref().is_none_or(|objection| objection.remedy != Remedy::Release));
                objection.is_some()
            };
            all.into_iter().filter(is_refused).collect()
        };
        assert_eq!(refusals(&holding(&[], &[])), []);
        // A file system is normal content of a drive that is exported to clients.
        assert_eq!(refusals(&holding(&[ext4], &[])), [NewArray, NewStore, OpenStore]);
        assert_eq!(refusals(&holding(&["a member"], &[Own::Member])), [Serve, NewStore, OpenStore]);
        assert_eq!(refusals(&holding(&["a store"], &[Own::Store])), [Serve, NewArray]);
        let why = holding(&[ext4], &[]).objection(NewStore).expect("it is refused").why;
        assert_eq!(why, format!("it holds {ext4}"));
    }

    #[test]
    fn nobody_can_insist_on_a_device_that_the_system_uses() {
        let users = vec![String::from("it is mounted at /home")];
        for is_device in [true, false] {
            let (path, signatures) = (PathBuf::from("/dev/sdx"), Vec::new());
            let (own, users) = (Vec::new(), users.clone());
            let (array, is_written) = (None, false);
            let used = DeviceUse { path, is_device, bytes: 0, signatures, own, array, is_written, users };
            for purpose in [OpenPurpose::Serve, OpenPurpose::OpenArray, OpenPurpose::NewStore] {
                let objection = used.objection(purpose).expect("it is in use");
                assert_eq!(objection.why, "it is mounted at /home");
                assert_eq!(objection.remedy == Remedy::Force, !is_device);
            }
        }
    }

    #[test]
    fn superblocks_of_any_version_and_those_at_the_end_are_recognised() {
        for (magic, own) in [(MEMBER, Own::Member), (STORE, Own::Store)] {
            for block in 0..2 {
                let mut beginning = vec![0; 1 << 17];
                beginning[block * 4096..][..8].copy_from_slice(magic);
                let device_use = DeviceUse::of(file(&beginning).path()).expect("a file");
                assert_eq!(device_use.own, [own], "{:?}", device_use.signatures);
            }
        }
        for (before, multiple, mark, name) in MARKS_AT_END {
            let bytes = (1 << 20) + 12_800;
            let mut content = vec![0; bytes as usize];
            content[((bytes - before) / multiple * multiple) as usize..][..mark.len()].copy_from_slice(mark);
            let device_use = DeviceUse::of(file(&content).path()).expect("a file");
            assert!(device_use.signatures.iter().any(|found| found == name), "{name}: {device_use:?}");
        }
    }
}
