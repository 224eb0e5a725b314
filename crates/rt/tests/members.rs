//! Outdated drives: a replaced drive comes back, and the halves of an array are used separately.

use std::path::{Path, PathBuf};
use tailcut_base::fdp::HandleId;
use tailcut_base::{Class, Op, Status, Time};
use tailcut_host::array::{
    ArrayConfig, Condition, Consent, DriveId, LayoutKind, MemberId, OpenError, StaleCause,
};
use tailcut_host::{Block, Bytes, Mirror, Request};
use tailcut_rt::array::{ArrayError, Pace, ServedArray, create, member_of, open};
use tailcut_rt::file::{FileDrive, FileOptions};
use tailcut_rt::{Answers, Clock, Drive};

/// Blocks per drive.
const DRIVE: u64 = 2000;

/// Blocks of the array that are written.
const BLOCKS: u64 = 300;

const LAYOUTS: [LayoutKind; 4] =
    [LayoutKind::Raid5, LayoutKind::LogRaid5, LayoutKind::Swan5, LayoutKind::Epochs];

fn config(layout: LayoutKind) -> ArrayConfig {
    let groups = if layout.is_swan() || layout.is_mirrored() { 2 } else { 1 };
    let drives = if layout.is_swan() { 6 } else { 4 };
    let mut config =
        ArrayConfig { drives, layout, groups, depth: 16, drive_depth: 8, ..ArrayConfig::default() };
    (config.raid.chunk, config.raid.journal, config.log.segment) = (8192, 40 * 4096, 16 * 4096);
    assert_eq!(config.problems(), []);
    config
}

/// A folder with files as drives, by name.
struct Files(tempfile::TempDir);

impl Files {
    fn new(names: &[&str]) -> Files {
        let folder = tempfile::tempdir().expect("a folder");
        names.iter().for_each(|name| FileDrive::create(&folder.path().join(name), DRIVE).expect("a file"));
        Files(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn drive(&self, name: &str) -> FileDrive {
        open_file(&self.path(name))
    }

    fn drives(&self, names: &[&str]) -> Vec<FileDrive> {
        names.iter().map(|name| self.drive(name)).collect()
    }
}

fn open_file(path: &Path) -> FileDrive {
    FileDrive::open(path, FileOptions::default()).expect("it is a drive")
}

/// The user of an array.
struct User {
    array: ServedArray<FileDrive>,
    clock: Clock,
}

impl User {
    fn new(layout: LayoutKind, drives: Vec<FileDrive>) -> User {
        let mut clock = Clock::start();
        User { array: create(&config(layout), drives, 77, &mut clock).expect("a new array"), clock }
    }

    fn open(layout: LayoutKind, drives: Vec<FileDrive>, consent: Consent) -> Result<User, ArrayError> {
        let mut clock = Clock::start();
        Ok(User { array: open(&config(layout), drives, consent, |_| Ok(()), &mut clock)?, clock })
    }

    fn ask(&mut self, op: Op, block: u64, data: Vec<Bytes>) -> Bytes {
        let (class, blocks) = (Class::DEFAULT, u32::from(op != Op::Flush));
        let mirror = Mirror::Any;
        let request = Request {
            id: 0,
            op,
            fua: false,
            class,
            fail_fast: false,
            mirror,
            handle: HandleId::FIRST,
            block,
            blocks,
            data,
        };
        self.array.submit(self.clock.now(), request);
        let mut answers = Answers::default();
        loop {
            self.array.poll(self.clock.now(), &mut answers);
            if let Some(response) = answers.responses.pop() {
                assert_eq!(response.status, Status::Success, "{op} {block}");
                return response.data.into_iter().next().unwrap_or_default();
            }
            self.clock.advance(self.array.next_event().max(Time(1)));
        }
    }

    fn fill(&mut self, content: &[u8]) {
        (0..BLOCKS).for_each(|block| drop(self.ask(Op::Write, block, vec![Bytes::encode(content)])));
        self.ask(Op::Flush, 0, Vec::new());
    }

    /// Number of blocks whose content differs from `content`.
    fn wrong(&mut self, content: &[u8]) -> usize {
        let expected = Bytes::encode(content);
        let is_wrong = |block: &u64| {
            self.ask(Op::Read, *block, Vec::new()).as_slice()[..content.len()]
                != expected.as_slice()[..content.len()]
        };
        (0..BLOCKS).filter(is_wrong).count()
    }

    /// Replaces a member by a drive with any content, and waits for the rebuild.
    fn replace(&mut self, member: usize, drive: FileDrive) {
        let replaced = self.array.erase_and_replace(self.clock.now(), member, drive, MemberId::new(5));
        replaced.map_err(|(why, _)| why).expect("it is large enough");
        assert!(self.array.erasing().any(|erasing| erasing == (member, 0)), "it is erased first");
        while self.array.status().condition != Condition::Optimal {
            let mut answers = Answers::default();
            self.array.poll(self.clock.now(), &mut answers);
            self.clock.advance(self.array.next_event().max(Time(1)));
        }
        self.ask(Op::Flush, 0, Vec::new());
    }
}

const NAMES: [&str; 7] = ["0", "1", "2", "3", "4", "5", "new"];

/// An array whose member 1 was removed, missed all later writes, and was replaced by `new`.
fn replaced(layout: LayoutKind, files: &Files) -> Vec<&'static str> {
    let names = NAMES[..config(layout).drives as usize].to_vec();
    let mut user = User::new(layout, files.drives(&names));
    user.fill(b"old");
    user.array.remove(user.clock.now(), 1).expect("there is redundancy");
    user.fill(b"new");
    user.replace(1, files.drive("new"));
    names
}

#[test]
fn a_replaced_drive_that_returns_is_left_out() {
    for layout in LAYOUTS {
        let files = Files::new(&NAMES);
        let names = replaced(layout, &files);
        let mut user = User::open(layout, files.drives(&names), Consent::Refuse).expect("one may be missing");
        let stale = user.array.stale();
        assert_eq!((stale.len(), stale[0].drive, stale[0].cause), (1, 1, StaleCause::Replaced), "{layout}");
        assert_eq!(user.array.successor(&stale[0]), Some(MemberId::new(5)), "{layout}");
        let missing = Condition::Degraded { missing: vec![DriveId::new(1)], rebuilding: Vec::new() };
        assert_eq!(user.array.status().condition, missing, "{layout}");
        assert_eq!(user.wrong(b"new"), 0, "{layout}");
    }
}

#[test]
fn a_stale_drive_is_taken_back_by_replace_and_nothing_of_it_is_left() {
    for layout in LAYOUTS {
        let files = Files::new(&NAMES);
        let names = replaced(layout, &files);
        let mut user = User::open(layout, files.drives(&names), Consent::Refuse).expect("one may be missing");
        let mut old = files.drive("1");
        assert_eq!(member_of(&mut old, &mut user.clock), Some(77));
        user.replace(1, old);
        assert!(user.array.stale().is_empty());
        drop(user);
        let mut user = User::open(layout, files.drives(&names), Consent::Refuse).expect("all are there");
        assert_eq!((user.array.status().condition, user.wrong(b"new")), (Condition::Optimal, 0), "{layout}");
        drop(user);
        // Now the replacement is out of date.
        let mut given = names.clone();
        given[1] = "new";
        let mut user = User::open(layout, files.drives(&given), Consent::Refuse).expect("one may be missing");
        assert_eq!((user.array.stale().len(), user.wrong(b"new")), (1, 0), "{layout}");
    }
}

#[test]
fn halves_that_were_used_apart_are_refused_until_one_is_chosen() {
    let files = Files::new(&NAMES);
    let open = |names: &[&str], consent| User::open(LayoutKind::Epochs, files.drives(names), consent);
    let refused = |names: &[&str]| match open(names, Consent::Degraded).map(|_| ()) {
        Err(ArrayError::Open(why)) => why,
        other => panic!("{other:?}"),
    };
    User::new(LayoutKind::Epochs, files.drives(&NAMES[..4])).fill(b"both");
    let why =
        open(&["0", "2"], Consent::Refuse).map(|_| ()).expect_err("the others may be in use").to_string();
    assert!(why.contains("members [1, 3] of the array are missing") && why.contains("--degraded"), "{why}");
    open(&["0", "2"], Consent::Degraded).expect("it is agreed to").fill(b"even");
    open(&["1", "3"], Consent::Degraded).expect("it is agreed to").fill(b"odd");
    assert!(matches!(refused(&["0", "1", "2", "3"]), OpenError::Diverged { .. }));
    assert!(matches!(refused(&["0", "3"]), OpenError::Diverged { .. }));
    let mut user = open(&["0", "2"], Consent::Refuse).expect("it is one side");
    assert_eq!(user.wrong(b"even"), 0);
    user.array.erase_and_replace(user.clock.now(), 1, files.drive("1"), MemberId::new(8)).expect("it fits");
    user.replace(3, files.drive("3"));
    drop(user);
    let mut user = open(&["0", "1", "2", "3"], Consent::Refuse).expect("they are one again");
    assert_eq!((user.array.status().condition, user.wrong(b"even")), (Condition::Optimal, 0));
}

/// A copy of a member from before the last assembly is put back: its superblock lists the right members, but
/// its blocks are old.
#[test]
fn a_copy_from_before_the_last_opening_is_left_out() {
    for layout in LAYOUTS {
        let files = Files::new(&NAMES);
        let names = &NAMES[..config(layout).drives as usize];
        let mut user = User::new(layout, files.drives(names));
        user.fill(b"before");
        drop(user);
        let copy = std::fs::read(files.path(names[1])).expect("it is a file");
        let mut user = User::open(layout, files.drives(names), Consent::Refuse).expect("it opens");
        user.fill(b"since");
        drop(user);
        std::fs::write(files.path(names[1]), copy).expect("it can be written");
        let mut user = User::open(layout, files.drives(names), Consent::Refuse).expect("it opens");
        assert_eq!(user.wrong(b"since"), 0, "{layout}");
        assert_ne!(user.array.status().condition, Condition::Optimal, "{layout}");
    }
}

/// Files have no protection information: by default, log layouts keep checksums on them.
#[test]
fn a_damaged_file_of_a_log_is_served_from_its_stripes() {
    for layout in [LayoutKind::LogRaid5, LayoutKind::Swan5] {
        let files = Files::new(&NAMES);
        let names = &NAMES[..config(layout).drives as usize];
        let mut user = User::new(layout, files.drives(names));
        user.fill(b"what was written");
        drop(user);
        let path = files.path(names[1]);
        let mut bytes = std::fs::read(&path).expect("it is a file");
        let mut changed = 0;
        for block in bytes.chunks_mut(4096).filter(|block| block.starts_with(b"what was written")) {
            block[0] = b'W';
            changed += 1;
        }
        std::fs::write(&path, bytes).expect("it can be written");
        let mut user = User::open(layout, files.drives(names), Consent::Refuse).expect("it opens");
        assert_eq!((user.wrong(b"what was written"), changed > 20), (0, true), "{layout}");
        assert!(user.array.array().core().reads.counts().corrupt > 0, "{layout}");
    }
}
