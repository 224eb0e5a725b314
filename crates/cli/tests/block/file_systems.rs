//! File systems on a kernel block device, on a file of nbdfuse, on the server.

use crate::block::server::{Server, has};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The set-up steps, undone in reverse order.
struct Mounted<'a> {
    server: &'a Server,
    fuse: Child,
    device: Option<String>,
}

impl<'a> Mounted<'a> {
    /// A block device over nbdfuse; `None`, with a message, where the system does not permit one.
    fn new(server: &'a Server) -> Option<Mounted<'a>> {
        let place = &server.place;
        std::fs::create_dir(place.path("fuse")).expect("the folder is writable");
        std::fs::create_dir(place.path("files")).expect("the folder is writable");
        let file = place.path("fuse/nbd");
        let mut command = Command::new("nbdfuse");
        command.arg(&file).arg(&server.uri).stderr(Stdio::piped());
        let fuse = command.spawn().expect("nbdfuse starts");
        let mut mounted = Mounted { server, fuse, device: None };
        while !file.exists() {
            if mounted.fuse.try_wait().expect("our child").is_some() {
                eprintln!("skipped: nbdfuse cannot mount here");
                return None;
            }
            std::thread::yield_now();
        }
        let file = file.to_string_lossy().into_owned();
        let output = server.attempt("losetup", &["--find", "--show", "--direct-io=on", &file]);
        if !output.status.success() {
            eprintln!("skipped: no loop device: {}", String::from_utf8_lossy(&output.stderr));
            return None;
        }
        mounted.device = Some(String::from_utf8_lossy(&output.stdout).trim().to_string());
        Some(mounted)
    }

    fn device(&self) -> &str {
        self.device.as_deref().unwrap_or_default()
    }

    /// Mounts a file system, works with its files, and unmounts it.
    fn with_files(&self, kind: &str, work: impl FnOnce(&Path)) -> bool {
        let output = self.server.attempt("mount", &["-t", kind, self.device(), "files"]);
        if !output.status.success() {
            eprintln!("skipped: {kind} cannot be mounted: {}", String::from_utf8_lossy(&output.stderr));
            return false;
        }
        work(&self.server.place.path("files"));
        self.server.run("umount", &["files"]);
        true
    }
}

impl Drop for Mounted<'_> {
    /// Waits only for the programs that it starts: mounts and devices in use are detached lazily, when their
    /// last user is gone, and nbdfuse is killed if it does not exit by itself.
    fn drop(&mut self) {
        let _ = self.server.attempt("umount", &["--lazy", "files"]);
        if let Some(device) = &self.device {
            self.server.attempt("losetup", &["--detach", device]);
        }
        let fuse = self.server.place.path("fuse");
        let unmounted = self.server.attempt("fusermount3", &["-u", &fuse.to_string_lossy()]);
        if !unmounted.status.success() {
            let _ = self.server.attempt("fusermount3", &["-u", "-z", &fuse.to_string_lossy()]);
            let _ = self.fuse.kill();
        }
        let _ = self.fuse.wait();
    }
}

fn write_some(files: &Path) {
    for number in 0..40usize {
        let content = vec![number as u8; 1000 * number];
        std::fs::write(files.join(number.to_string()), content).expect("there is room");
    }
    for number in (0..40).step_by(3) {
        std::fs::remove_file(files.join(number.to_string())).expect("it is there");
    }
}

fn check_some(files: &Path) {
    for number in 0..40usize {
        let content = std::fs::read(files.join(number.to_string()));
        match number % 3 {
            0 => assert!(content.is_err()),
            _ => assert!(content.expect("it is there") == vec![number as u8; 1000 * number]),
        }
    }
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output();
    let is_root = output.is_ok_and(|output| output.stdout == b"0\n");
    if !is_root {
        eprintln!("skipped: only root sets up block devices");
    }
    is_root
}

#[test]
fn ext4_is_clean_after_use() {
    if !is_root() || !has(&["nbdfuse", "fusermount3", "losetup", "mkfs.ext4", "e2fsck"]) {
        return;
    }
    let server = Server::start(&["--size", "64MiB"]);
    let Some(mounted) = Mounted::new(&server) else { return };
    server.run("mkfs.ext4", &["-q", mounted.device()]);
    if mounted.with_files("ext4", write_some) {
        server.run("e2fsck", &["-f", "-n", mounted.device()]);
        mounted.with_files("ext4", check_some);
    }
    drop(mounted);
    server.stop();
}

#[test]
fn xfs_is_clean_after_use() {
    if !is_root() || !has(&["nbdfuse", "fusermount3", "losetup", "mkfs.xfs", "xfs_repair"]) {
        return;
    }
    let server = Server::start(&["--size", "320MiB"]);
    let Some(mounted) = Mounted::new(&server) else { return };
    server.run("mkfs.xfs", &["-q", mounted.device()]);
    if mounted.with_files("xfs", write_some) {
        server.run("xfs_repair", &["-n", mounted.device()]);
        mounted.with_files("xfs", check_some);
    }
    drop(mounted);
    server.stop();
}

/// RocksDB on ext4 on an `epochs` array of emulated drives with two copies: all of its writes are there when
/// it is reopened.
#[test]
fn rocksdb_finds_what_it_wrote() {
    if !is_root() || !has(&["nbdfuse", "fusermount3", "losetup", "mkfs.ext4", "e2fsck", "db_bench"]) {
        return;
    }
    let sets = [
        "array.drives=4",
        "array.layout=epochs",
        "array.groups=2",
        "array.epoch.deadline=20ms",
        "precondition.state=empty",
    ];
    let server = Server::start(&sets.map(|set| ["--set", set]).concat());
    let Some(mounted) = Mounted::new(&server) else { return };
    server.run("mkfs.ext4", &["-q", "-E", "nodiscard", mounted.device()]);
    let bench = |benchmarks: &str, more: &[&str]| {
        let direct = ["--use_direct_reads", "--use_direct_io_for_flush_and_compaction", "--verify_checksum"];
        let benchmarks = format!("--benchmarks={benchmarks}");
        let all = ["--db=files/db", "--num=10000", "--threads=2", "--sync=0", benchmarks.as_str()];
        server.run("db_bench", &[&all[..], &direct, more].concat())
    };
    let is_mounted = mounted.with_files("ext4", |_| {
        bench("fillseq,overwrite,compact,readrandom,flush", &["--write_buffer_size=262144"]);
    });
    if is_mounted {
        server.run("e2fsck", &["-f", "-n", mounted.device()]);
        mounted.with_files("ext4", |_| {
            let report = bench("readrandom,verifychecksum", &["--use_existing_db=1"]);
            assert!(report.contains("(10000 of 10000 found)"), "{report}");
        });
    }
    drop(mounted);
    server.stop();
}
