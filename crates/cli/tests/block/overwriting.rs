//! Data on a file or device is overwritten only on request, and never while the system uses it.

use crate::block::server::{Server, has};
use crate::support::Place;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const BYTES: u64 = 64 << 20;

/// A file of 64 MiB with `mark` at `offset`.
fn marked(place: &Place, name: &str, offset: u64, mark: &[u8]) {
    place.put(name, b"");
    let file = OpenOptions::new().write(true).open(place.path(name)).expect("it was made");
    file.set_len(BYTES).expect("it can be sparse");
    file.write_all_at(mark, offset).expect("it is written");
}

fn content(place: &Place, name: &str) -> Vec<u8> {
    fs::read(place.path(name)).expect("it is there")
}

const EXT4: (u64, &[u8]) = (1080, b"\x53\xEF");
const BTRFS: (u64, &[u8]) = (65_600, b"_BHRfS_M");
const MEMBER: (u64, &[u8]) = (0, b"tailcutA");
const STORE: (u64, &[u8]) = (0, b"tailcutK");

#[test]
fn a_new_store_overwrites_no_file_system() {
    for (offset, mark) in [EXT4, BTRFS, MEMBER] {
        for create in [&["--create"][..], &[]] {
            let place = Place::new();
            marked(&place, "disk", offset, mark);
            let before = content(&place, "disk");
            let command = ["serve", "kv", "-q", "-s", "kv.sock", "--device", "disk"];
            let error = place.refused(2, &[&command[..], create].concat());
            assert!(!error.contains("panicked") && content(&place, "disk") == before, "{error}");
            let way = if mark == MEMBER.1 { "erase its first two blocks" } else { "--force" };
            let says_how = error.contains(way) && error.contains("nothing was written");
            // If the beginning of the file holds data, a store without --create asks for that option.
            let is_open =
                create.is_empty() && ["--create", "--degraded"].iter().any(|&way| error.contains(way));
            assert!(says_how || is_open, "{error}");
        }
    }
}

#[test]
fn a_new_array_overwrites_no_file_system_and_no_store() {
    for (offset, mark) in [EXT4, BTRFS, STORE] {
        let place = Place::new();
        marked(&place, "disk0", 0, b"");
        marked(&place, "disk1", offset, mark);
        let before = content(&place, "disk1");
        let command =
            ["serve", "block", "-q", "--set", "array.drives=2", "--set", "array.layout=raid0", "--create"];
        let error = place.refused(2, &[&command[..], &["--device", "disk0", "--device", "disk1"]].concat());
        let way = if mark == STORE.1 { "erase its first two blocks" } else { "--force" };
        assert!(error.contains("disk1") && error.contains(way), "{error}");
        let forced = [&command[..], &["--device", "disk0", "--device", "disk1", "--force"]].concat();
        assert!(mark != STORE.1 || place.refused(2, &forced).contains(way));
        assert!(content(&place, "disk1") == before);
    }
}

#[test]
fn a_member_and_a_store_are_not_served_as_plain_drives_unless_that_is_meant() {
    for (offset, mark) in [MEMBER, STORE] {
        let place = Place::new();
        marked(&place, "disk", offset, mark);
        let error = place.refused(2, &["serve", "block", "-q", "--device", "disk"]);
        assert!(error.contains("tailcut") && error.contains("--force"), "{error}");
        for more in ["--force", "--read-only"] {
            let place = Place::new();
            marked(&place, "disk", offset, mark);
            let (_, code) = Server::start_in(place, &["--device", "disk", more]).stop();
            assert_eq!(code, Some(0), "{more}");
        }
    }
}

/// The settings of a scenario for an existing array apply or are refused, also where they are the default.
#[test]
fn settings_that_contradict_an_array_are_refused_before_anything_is_written() {
    let drives = ["--device", "disk0", "--device", "disk1", "--device", "disk2"];
    let place = Place::new();
    (0..3).for_each(|disk| marked(&place, &format!("disk{disk}"), 0, b""));
    let made = ["--set", "array.drives=3", "--set", "array.layout=raid5", "--set", "array.raid.chunk=32KiB"];
    let mut server = Server::start_in(place, &[&drives[..], &made, &["--create"]].concat());
    server.signal("-TERM");
    assert_eq!(server.last_words().1, Some(0));
    let contents = || (0..3).map(|disk| content(&server.place, &format!("disk{disk}"))).collect::<Vec<_>>();
    let before = contents();
    for (key, asked, has) in [
        ("array.layout", "raid0", "raid5"),
        ("array.layout", "raid4", "raid5"),
        ("array.drives", "4", "3"),
        ("array.raid.chunk", "64KiB", "32KiB"),
        ("array.raid.write_hole", "resync", "journal"),
        ("array.checksums", "on", "off"),
    ] {
        let set = format!("{key}={asked}");
        let command = ["serve", "block", "-q", "--unix", "s", "--set", "array.drives=3", "--set", &set];
        let error = server.place.refused(2, &[&command[..], &drives].concat());
        let expected = format!("{key} is {asked}, and the array on these drives was created with {has}");
        assert!(error.contains(&expected) && error.contains("nothing was written"), "{error}");
        assert!(contents() == before, "{set}");
    }
    let twice = ["--set", "array.drives=3", "--device", "disk0", "--device", "disk1", "--device", "./disk1"];
    let error = server.place.refused(2, &[&["serve", "block", "-q", "--unix", "s"][..], &twice].concat());
    assert!(error.contains("disk1 and ./disk1 are the same"), "{error}");
    // The same settings, and those that may change.
    let change = ["--set", "array.background_rate=1MB/s", "--set", "array.raid.chunk=32KiB"];
    server.start_again(&[&drives[..], &["--set", "array.drives=3"], &change].concat());
    server.signal("-TERM");
    assert_eq!(server.last_words().1, Some(0));
    // A read-only export of an array: its members record the opening.
    server.start_again(&[&drives[..], &["--set", "array.drives=3", "--read-only"]].concat());
    let (_, code) = server.stop();
    assert_eq!(code, Some(0));
}

/// A file system is data of clients: it is served as before.
#[test]
fn a_drive_with_a_file_system_is_served() {
    let place = Place::new();
    marked(&place, "disk", EXT4.0, EXT4.1);
    let (_, code) = Server::start_in(place, &["--device", "disk"]).stop();
    assert_eq!(code, Some(0));
}

/// A loop device over a file; detached on drop.
struct Loop(PathBuf);

impl Loop {
    /// `None` if no loop device is available.
    fn over(file: &Path) -> Option<Loop> {
        if !has(&["losetup", "mkfs.ext4"]) {
            return None;
        }
        let made = Command::new("losetup").args(["--find", "--show"]).arg(file).output().ok()?;
        if !made.status.success() {
            println!("skipped: losetup: {}", String::from_utf8_lossy(&made.stderr).trim());
            return None;
        }
        Some(Loop(PathBuf::from(String::from_utf8_lossy(&made.stdout).trim())))
    }

    fn name(&self) -> &str {
        self.0.to_str().expect("plain ASCII")
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("--detach").arg(&self.0).status();
    }
}

/// A mounted file system; unmounted on drop.
struct Mount(PathBuf);

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_mounted_device_is_never_written_to() {
    let place = Place::new();
    marked(&place, "disk", 0, b"");
    let Some(device) = Loop::over(&place.path("disk")) else { return };
    let made = Command::new("mkfs.ext4").args(["-q", "-F", device.name()]).status().expect("it is there");
    assert!(made.success());
    fs::create_dir(place.path("mounted")).expect("a folder of ours");
    let mounted = Command::new("mount").arg(&device.0).arg(place.path("mounted")).output().expect("mount");
    if !mounted.status.success() {
        return println!("skipped: mount: {}", String::from_utf8_lossy(&mounted.stderr).trim());
    }
    let mount = Mount(place.path("mounted"));
    let kv = ["serve", "kv", "-q", "-s", "kv.sock", "--device", device.name()];
    for more in [&["--create"][..], &["--create", "--force"], &[], &["--force"]] {
        let error = place.refused(2, &[&kv[..], more].concat());
        assert!(error.contains("is mounted at"), "{error}");
    }
    let block = ["serve", "block", "-q", "--device", device.name()];
    for more in [&[][..], &["--force"]] {
        let error = place.refused(2, &[&block[..], more].concat());
        assert!(error.contains("is mounted at"), "{error}");
    }
    // The file below it is in use as well, but the system does not report that well enough to refuse it.
    let error = place.refused(2, &["serve", "block", "-q", "--device", "disk"]);
    assert!(error.contains("it is the disk of /dev/loop") && error.contains("--force"), "{error}");
    drop(mount);
    let (_, code) = Server::start_in(place, &["--device", device.name()]).stop();
    assert_eq!(code, Some(0));
}

/// A server that writes has exclusive access: no other server, and no mount.
#[test]
fn a_device_that_is_served_cannot_be_mounted() {
    let place = Place::new();
    marked(&place, "disk", 0, b"");
    let Some(device) = Loop::over(&place.path("disk")) else { return };
    let made = Command::new("mkfs.ext4").args(["-q", "-F", device.name()]).status().expect("it is there");
    assert!(made.success());
    let server = Server::start_in(place, &["--device", device.name()]);
    fs::create_dir(server.place.path("mounted")).expect("a folder of ours");
    let mounted = Command::new("mount").arg(&device.0).arg(server.place.path("mounted")).output();
    if mounted.expect("mount").status.success() {
        drop(Mount(server.place.path("mounted")));
        panic!("it was mounted");
    }
    let other = ["serve", "block", "-q", "--unix", "other.sock", "--device", device.name()];
    let error = server.place.refused(2, &other);
    assert!(error.contains("is in use"), "{error}");
    server.stop();
}
