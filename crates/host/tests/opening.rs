//! Opening an array from its superblocks: drives may be in any order; foreign or unknown superblocks are
//! never accepted.

use tailcut_base::control::ControlReply;
use tailcut_base::fdp::HandleId;
use tailcut_base::{Class, Nanos, Op, Spans, Status, Time};
use tailcut_host::array::mutation::Invariant;
use tailcut_host::array::{
    Array, ArrayConfig, Condition, Consent, DriveId, FoundArray, LayoutKind, MemberId,
};
use tailcut_host::array::{OpenError, Opening, Stale, StaleCause, mutation};
use tailcut_host::{Block, Bytes, Disk, Mirror, Request, Response};

const BLOCKS: u64 = 400;

/// Drives that execute requests immediately, the consent to open their arrays degraded, and the time.
struct Shelf(Vec<Vec<Bytes>>, Consent, Time);

impl Shelf {
    fn blank(drives: usize) -> Shelf {
        Shelf(vec![vec![Bytes::default(); BLOCKS as usize]; drives], Consent::Refuse, Time::ZERO)
    }

    fn disks(&self) -> Vec<Disk> {
        let disk = |drive: &Vec<Bytes>| Disk {
            blocks: drive.len() as u64,
            depth: 8,
            most_blocks: 32,
            volatile_cache: false,
            copies: 1,
            handles: 1,
        };
        self.0.iter().map(disk).collect()
    }

    fn serve(&mut self, drive: usize, request: Request<Bytes>) -> Response<Bytes> {
        let Request { id, op, block, blocks, mut data, .. } = request;
        let range = block as usize..block as usize + blocks as usize;
        match op {
            Op::Read => data = self.0[drive][range].to_vec(),
            Op::Write => self.0[drive][range].clone_from_slice(&data),
            Op::Trim => self.0[drive][range].fill(Bytes::default()),
            Op::Flush => {}
        }
        Response { id, status: Status::Success, data, busy_for: Nanos::ZERO, spans: Spans::new() }
    }

    fn settle(&mut self, array: &mut Array<Bytes>) -> Vec<Response<Bytes>> {
        self.settle_as(array, &[0, 1, 2, 3, 4, 5, 6, 7])
    }

    /// As `settle`, with `members` as the array's members.
    fn settle_as(&mut self, array: &mut Array<Bytes>, members: &[usize]) -> Vec<Response<Bytes>> {
        loop {
            let now = self.2;
            for (member, call) in std::mem::take(array.controls()) {
                array.control_answered(now, member, call, ControlReply::Unsupported);
            }
            for (member, request) in std::mem::take(array.sent()) {
                let answer = self.serve(members[member.get() as usize], request);
                array.answered(now, member, answer);
            }
            let is_idle = array.sent().is_empty() && array.controls().is_empty();
            if is_idle && array.next_event() == Time::NEVER {
                return std::mem::take(array.answers());
            }
            if is_idle {
                self.2 = now.max(array.next_event());
                array.advance(self.2);
            }
        }
    }

    /// Opens the array from these drives, passes it to `use_it`, and flushes it afterwards.
    fn with(
        &mut self,
        drives: &[usize],
        use_it: impl FnOnce(&mut Shelf, &mut Array<Bytes>, &[usize]),
    ) -> FoundArray {
        let found = self.find_among(drives).unwrap_or_else(|why| panic!("{why}"));
        // A missing member never gets a request.
        let members: Vec<usize> =
            found.order.iter().map(|place| place.map_or(usize::MAX, |place| drives[place])).collect();
        let disks = vec![self.disks()[0].clone(); members.len()];
        let mut array = Array::open(self.2, &config(found.superblock.layout), &disks, &found);
        self.settle_as(&mut array, &members);
        assert!(array.is_ready(), "{:?}", array.condition());
        use_it(self, &mut array, &members);
        self.ask(&mut array, &members, Op::Flush, 0, Vec::new());
        found
    }

    fn ask(
        &mut self,
        array: &mut Array<Bytes>,
        members: &[usize],
        op: Op,
        block: u64,
        data: Vec<Bytes>,
    ) -> Vec<Bytes> {
        let blocks = u32::from(op != Op::Flush);
        array.submit(self.2, Request { block, ..request(op, blocks, data) }).expect("it takes requests");
        let mut answers = self.settle_as(array, members);
        assert_eq!(answers[0].status, Status::Success, "{op} {block}");
        std::mem::take(&mut answers[0].data)
    }

    /// Writes this content to every block.
    fn fill(&mut self, array: &mut Array<Bytes>, members: &[usize], content: &[u8]) {
        for block in 0..FILLED {
            self.ask(array, members, Op::Write, block, vec![Bytes::encode(content)]);
        }
        self.ask(array, members, Op::Flush, 0, Vec::new());
    }

    /// The number of blocks with a different content.
    fn wrong(&mut self, array: &mut Array<Bytes>, members: &[usize], content: &[u8]) -> usize {
        let is_wrong = |&block: &u64| {
            let data = self.ask(array, members, Op::Read, block, Vec::new());
            data[0].as_slice()[..content.len()] != *content
        };
        (0..FILLED).filter(is_wrong).count()
    }

    /// Creates an array with data in its first block.
    fn create(&mut self, config: &ArrayConfig, identity: u128) {
        let mut array = Array::create(Time::ZERO, config, &self.disks(), identity);
        self.settle(&mut array);
        assert!(array.is_ready());
        for (op, data) in [(Op::Write, vec![content()]), (Op::Flush, Vec::new())] {
            let blocks = data.len() as u32;
            array.submit(Time::ZERO, request(op, blocks, data)).expect("it takes requests");
            assert_eq!(self.settle(&mut array)[0].status, Status::Success);
        }
    }

    fn find(&mut self) -> Result<FoundArray, OpenError> {
        let all: Vec<usize> = (0..self.0.len()).collect();
        self.find_among(&all)
    }

    fn find_among(&mut self, drives: &[usize]) -> Result<FoundArray, OpenError> {
        self.open(drives).found().expect("all drives have answered")
    }

    /// Reads the superblocks of these drives.
    fn open(&mut self, drives: &[usize]) -> Opening<Bytes> {
        let disks: Vec<Disk> = drives.iter().map(|&drive| self.disks()[drive].clone()).collect();
        let mut opening = Opening::new(Time::ZERO, &disks, self.1);
        for (drive, request) in std::mem::take(opening.sent()) {
            let answer = self.serve(drives[drive.get() as usize], request);
            opening.answered(Time::ZERO, drive, answer);
        }
        opening
    }
}

fn request(op: Op, blocks: u32, data: Vec<Bytes>) -> Request<Bytes> {
    Request {
        id: 7,
        op,
        fua: false,
        class: Class::DEFAULT,
        fail_fast: false,
        mirror: Mirror::Any,
        handle: HandleId::FIRST,
        block: 0,
        blocks,
        data,
    }
}

fn content() -> Bytes {
    Bytes::encode(b"what was written")
}

fn config(layout: LayoutKind) -> ArrayConfig {
    let (drives, groups) = match layout {
        LayoutKind::Swan5 => (6, 2),
        LayoutKind::Epochs => (4, 2),
        _ => (4, 1),
    };
    let mut config =
        ArrayConfig { drives, groups, layout, depth: 16, drive_depth: 8, ..ArrayConfig::default() };
    (config.raid.chunk, config.raid.journal, config.log.segment) = (8192, 40 * 4096, 16 * 4096);
    assert!(config.problems().is_empty());
    config
}

/// Number of blocks that the membership tests write.
const FILLED: u64 = 60;

const LAYOUTS: [LayoutKind; 3] = [LayoutKind::Raid0, LayoutKind::Raid5, LayoutKind::LogRaid5];

#[test]
fn drives_are_known_in_any_order() {
    for layout in LAYOUTS {
        let config = config(layout);
        let mut shelf = Shelf::blank(4);
        shelf.create(&config, 1);
        shelf.0.swap(0, 2);
        shelf.0.rotate_left(1);
        let found = shelf.find().expect("it is an array");
        let order: Vec<usize> = found.order.iter().map(|drive| drive.expect("none is missing")).collect();
        assert_eq!(order, [1, 0, 3, 2], "{layout}");
        shelf.0 = order.iter().map(|&drive| shelf.0[drive].clone()).collect();
        let mut array = Array::open(Time::ZERO, &config, &shelf.disks(), &found);
        shelf.settle(&mut array);
        array.submit(Time::ZERO, request(Op::Read, 1, Vec::new())).expect("it takes requests");
        assert_eq!(
            shelf.settle(&mut array)[0].data[0].as_slice()[..16],
            content().as_slice()[..16],
            "{layout}"
        );
    }
}

/// The error for an array of four drives, one of which is modified before the search.
fn refusal(change: impl Fn(&mut Vec<Bytes>)) -> OpenError {
    let mut shelf = Shelf::blank(4);
    shelf.create(&config(LayoutKind::Raid5), 1);
    change(&mut shelf.0[2]);
    shelf.find().expect_err("it is not opened")
}

#[test]
fn what_is_not_ours_is_left_alone() {
    let why = refusal(|drive| drive.fill(Bytes::encode(&[7; 4096])));
    assert_eq!(why, OpenError::Foreign { drive: 2 });
    assert!(why.to_string().contains("leave it out, or erase it first"));
    assert_eq!(Shelf::blank(3).find(), Err(OpenError::NoArray(3)));
}

#[test]
fn each_drive_names_its_array() {
    let mut shelf = Shelf::blank(4);
    shelf.create(&config(LayoutKind::Raid5), 9);
    shelf.0.push(vec![Bytes::default(); BLOCKS as usize]);
    let opening = shelf.open(&[4, 0, 3]);
    assert!(opening.is_done());
    assert_eq!(opening.arrays(), [None, Some(9), Some(9)]);
}

/// Bitwise CRC-32C.
fn crc32c(bytes: &[u8]) -> u32 {
    let step = |sum: u32, _| (sum >> 1) ^ if sum & 1 == 1 { 0x82F6_3B78 } else { 0 };
    !bytes.iter().fold(!0, |sum, &byte| (0..8).fold(sum ^ u32::from(byte), step))
}

#[test]
fn a_newer_format_is_not_guessed_at() {
    let why = refusal(|drive| {
        let block = drive[1].as_mut_slice();
        block[12] = 5;
        let sum = crc32c(&block[12..]);
        block[8..12].copy_from_slice(&sum.to_le_bytes());
    });
    assert_eq!(why, OpenError::Format { drive: 2, format: 5 });
    assert!(why.to_string().ends_with("use the later version that wrote it"));
}

#[test]
fn drives_of_two_arrays_are_not_mixed() {
    let mut other = Shelf::blank(4);
    other.create(&config(LayoutKind::Raid5), 2);
    let why = refusal(|drive| drive.clone_from(&other.0[2]));
    assert!(matches!(why, OpenError::Mixed { first_array: 1 | 2, second_array: 1 | 2, .. }), "{why}");
}

#[test]
fn a_drive_that_has_shrunk_is_told() {
    let why = refusal(|drive| drive.truncate(300));
    assert_eq!(why, OpenError::TooSmall { drive: 2, blocks: 300, needed: BLOCKS });
}

#[test]
fn of_unequal_drives_the_smallest_counts() {
    for layout in LAYOUTS {
        let config = config(layout);
        let capacity =
            |shelf: &Shelf| Array::<Bytes>::create(Time::ZERO, &config, &shelf.disks(), 1).disk().blocks;
        let (mut equal, mut unequal) = (Shelf::blank(4), Shelf::blank(4));
        equal.0.iter_mut().for_each(|drive| drive.truncate(380));
        unequal.0[1].truncate(380);
        assert_eq!(capacity(&unequal), capacity(&equal), "{layout}");
        unequal.0[1].truncate(40);
        let (_, why) = config.validation_error(&unequal.disks()).unwrap_or_default();
        assert_eq!(why.is_empty(), layout == LayoutKind::Raid0, "{layout}: {why}");
        assert!(why.is_empty() || why.contains("smallest drive"), "{why}");
    }
}

/// One layout of each kind that tolerates a missing drive.
const REDUNDANT: [LayoutKind; 4] =
    [LayoutKind::Raid5, LayoutKind::LogRaid5, LayoutKind::Swan5, LayoutKind::Epochs];

/// An array that lost member 1, was then written and flushed, and got a replacement drive: the last on the
/// shelf.
fn replaced(layout: LayoutKind) -> (Shelf, Vec<usize>) {
    let drives = config(layout).drives as usize;
    let mut shelf = Shelf::blank(drives + 1);
    let mut members: Vec<usize> = (0..drives).collect();
    let mut array = Array::create(Time::ZERO, &config(layout), &shelf.disks()[..drives], 1);
    shelf.settle_as(&mut array, &members);
    shelf.fill(&mut array, &members, b"old");
    array.remove(shelf.2, DriveId::new(1));
    shelf.fill(&mut array, &members, b"new");
    members[1] = drives;
    let disk = shelf.disks()[drives].clone();
    array.replace(shelf.2, DriveId::new(1), disk, MemberId::new(99)).expect("it is as large");
    shelf.settle_as(&mut array, &members);
    assert_eq!(array.condition(), Condition::Optimal, "{layout}");
    shelf.ask(&mut array, &members, Op::Flush, 0, Vec::new());
    (shelf, members)
}

/// Returns the number of wrong blocks when the replaced drive is given instead of its successor.
fn wrong_after_return(layout: LayoutKind) -> (usize, FoundArray) {
    let (mut shelf, members) = replaced(layout);
    let given: Vec<usize> = (0..members.len()).collect();
    let mut wrong = 0;
    let found = shelf.with(&given, |shelf, array, members| wrong = shelf.wrong(array, members, b"new"));
    (wrong, found)
}

#[test]
fn a_replaced_drive_that_returns_is_left_out() {
    for layout in REDUNDANT {
        let (wrong, found) = wrong_after_return(layout);
        assert_eq!(wrong, 0, "{layout}");
        let stale = Stale { drive: 1, member: DriveId::new(1), cause: StaleCause::Replaced };
        assert_eq!((found.stale.as_slice(), found.order[DriveId::new(1)]), (&[stale][..], None), "{layout}");
    }
}

#[test]
fn a_replaced_drive_that_is_taken_for_its_successor_is_noticed() {
    // Blocks of logs have guards that cover their age, and with so few copies, reads go to the other one.
    let (wrong, _) = mutation::broken(Invariant::StaleIsLeftOut, || wrong_after_return(LayoutKind::Raid5));
    assert!(wrong > 0);
}

#[test]
fn a_replaced_drive_beside_its_successor_is_left_out() {
    for layout in REDUNDANT {
        let (mut shelf, members) = replaced(layout);
        let all: Vec<usize> = (0..=members.len()).rev().collect();
        let found = shelf.with(&all, |shelf, array, members| {
            assert_eq!(array.condition(), Condition::Optimal, "{layout}");
            assert_eq!(shelf.wrong(array, members, b"new"), 0, "{layout}");
        });
        assert_eq!(found.stale.len(), 1, "{layout}");
    }
}

#[test]
fn where_nothing_else_can_stand_in_for_it_a_stale_drive_is_named() {
    let (mut shelf, _) = replaced(LayoutKind::Raid5);
    let why = shelf.find_among(&[0, 1, 2]).expect_err("two are missing");
    assert!(
        matches!(&why, OpenError::TooFew { missing, stale, .. } if missing == &[1, 3].map(DriveId::new) && stale.len() == 1)
    );
    let text = why.to_string();
    assert!(text.ends_with("drive 1 is a stale member 1: it was replaced by another drive"), "{text}");
}

/// An `epochs` array with all blocks written.
fn epochs() -> Shelf {
    let mut shelf = Shelf::blank(4);
    let mut array = Array::create(Time::ZERO, &config(LayoutKind::Epochs), &shelf.disks(), 1);
    shelf.settle(&mut array);
    shelf.fill(&mut array, &[0, 1, 2, 3], b"both");
    shelf
}

#[test]
fn half_of_an_array_with_copies_is_opened_with_consent_only() {
    let mut shelf = epochs();
    let why = shelf.find_among(&[0, 2]).expect_err("the others may be in use");
    assert_eq!(
        why,
        OpenError::NeedsConsent { missing: vec![DriveId::new(1), DriveId::new(3)], stale: Vec::new() }
    );
    assert!(why.to_string().contains("--degraded"));
    shelf.find_among(&[0, 1, 2]).expect("one drive alone serves nobody");
    shelf.1 = Consent::Degraded;
    shelf.with(&[0, 2], |shelf, array, members| shelf.fill(array, members, b"half"));
    // Both drives have recorded that the others are gone: no further consent is needed, and the others are
    // stale.
    shelf.1 = Consent::Refuse;
    shelf.find_among(&[2, 0]).expect("it was consented to");
    let found = shelf.with(&[0, 1, 2, 3], |shelf, array, members| {
        assert_eq!(shelf.wrong(array, members, b"half"), 0);
    });
    let cause = StaleCause::LeftOut;
    let stale = [
        Stale { drive: 1, member: DriveId::new(1), cause },
        Stale { drive: 3, member: DriveId::new(3), cause },
    ];
    assert_eq!(found.stale, stale);
}

#[test]
fn parity_needs_no_consent() {
    let mut shelf = Shelf::blank(4);
    shelf.create(&config(LayoutKind::Raid5), 1);
    let found = shelf.find_among(&[3, 1, 0]).expect("one drive alone serves nobody");
    assert_eq!(found.order.as_slice(), [Some(2), Some(1), None, Some(0)]);
}

/// Both halves of an array were used, one after the other.
fn halves() -> Shelf {
    let mut shelf = epochs();
    shelf.1 = Consent::Degraded;
    shelf.with(&[0, 2], |shelf, array, members| shelf.fill(array, members, b"even"));
    shelf.with(&[1, 3], |shelf, array, members| shelf.fill(array, members, b"odd"));
    shelf
}

#[test]
fn halves_that_both_went_on_are_refused_until_one_is_chosen() {
    let mut shelf = halves();
    let why = shelf.find().expect_err("each has what the other lacks");
    let OpenError::Diverged { kept, others } = &why else { panic!("{why}") };
    assert_eq!((kept.len(), others.len()), (2, 2), "{why}");
    assert!(why.to_string().contains("give only the drives of one side"));
    for given in [[0, 1], [0, 3], [2, 1], [2, 3]] {
        assert!(matches!(shelf.find_among(&given), Err(OpenError::Diverged { .. })), "{given:?}");
    }
    shelf.1 = Consent::Refuse;
    shelf.with(&[0, 2], |shelf, array, members| assert_eq!(shelf.wrong(array, members, b"even"), 0));
    shelf.with(&[1, 3], |shelf, array, members| assert_eq!(shelf.wrong(array, members, b"odd"), 0));
}

#[test]
fn halves_that_are_opened_as_one_are_noticed() {
    let mut shelf = halves();
    mutation::broken(Invariant::DivergedIsRefused, || shelf.find()).expect("nobody has looked");
}

#[test]
fn nothing_is_acknowledged_without_a_drive_before_the_others_know() {
    for layout in REDUNDANT {
        let drives = config(layout).drives as usize;
        let mut shelf = Shelf::blank(drives);
        let members: Vec<usize> = (0..drives).collect();
        let mut array = Array::create(Time::ZERO, &config(layout), &shelf.disks(), 1);
        shelf.settle(&mut array);
        shelf.fill(&mut array, &members, b"old");
        array.remove(shelf.2, DriveId::new(1));
        // Superblock writes are held back; all other requests complete immediately.
        let mut held = Vec::new();
        let write = Request { fua: true, ..request(Op::Write, 1, vec![content()]) };
        array.submit(shelf.2, write).expect("it takes requests");
        loop {
            let now = shelf.2;
            for (member, request) in std::mem::take(array.sent()) {
                if request.op == Op::Write && request.block < 2 {
                    held.push((member, request));
                    continue;
                }
                let answer = shelf.serve(member.get() as usize, request);
                array.answered(now, member, answer);
            }
            if array.sent().is_empty() && array.next_event() == Time::NEVER {
                break;
            }
            if array.sent().is_empty() {
                shelf.2 = now.max(array.next_event());
                array.advance(shelf.2);
            }
        }
        assert_eq!((held.len(), array.answers().len()), (drives - 1, 0), "{layout}");
        for (member, request) in held {
            let answer = shelf.serve(member.get() as usize, request);
            array.answered(shelf.2, member, answer);
        }
        assert_eq!(shelf.settle(&mut array).len(), 1, "{layout}");
    }
}

#[test]
fn an_opened_array_writes_nothing_before_its_superblocks() {
    for layout in REDUNDANT {
        let mut shelf = Shelf::blank(config(layout).drives as usize);
        shelf.create(&config(layout), 1);
        let given: Vec<usize> = (0..shelf.0.len()).filter(|&drive| drive != 1).collect();
        let found = shelf.find_among(&given).expect("one may be missing");
        let mut array: Array<Bytes> = Array::open(Time::ZERO, &config(layout), &shelf.disks(), &found);
        let first = std::mem::take(array.sent());
        assert!(first.iter().all(|(_, request)| request.op == Op::Write && request.block < 2), "{layout}");
        assert_eq!((first.len(), array.next_event()), (given.len(), Time::NEVER), "{layout}");
    }
}

/// Data that an earlier program identified by another checksum is neither read nor changed.
#[test]
fn an_array_of_an_earlier_format_is_refused_with_the_remedy() {
    let mut shelf = Shelf::blank(4);
    shelf.create(&config(LayoutKind::Raid5), 1);
    for format in 1..4_u32 {
        for drive in &mut shelf.0 {
            let superblocks = drive[..2].iter_mut().filter(|block| !block.is_hole());
            superblocks.for_each(|block| block.as_mut_slice()[8..12].copy_from_slice(&format.to_le_bytes()));
        }
        let error = shelf.find_among(&[0, 1, 2, 3]).expect_err("another format");
        assert_eq!(error, OpenError::Format { drive: 0, format });
        assert!(
            error
                .to_string()
                .ends_with("use the earlier version that wrote it to copy the data to a new array")
        );
    }
}

/// A superblock of another geometry under a right checksum is damage, whichever drive is given last.
#[test]
fn members_of_one_array_have_one_geometry() {
    for (drive, at) in (0..4).flat_map(|drive| [40, 64, 72].map(|at| (drive, at))) {
        let mut shelf = Shelf::blank(4);
        shelf.create(&config(LayoutKind::Raid5), 1);
        for block in shelf.0[drive][..2].iter_mut().filter(|block| !block.is_hole()) {
            let bytes = block.as_mut_slice();
            bytes[at] ^= 1;
            let sum = crc32c(&bytes[12..]);
            bytes[8..12].copy_from_slice(&sum.to_le_bytes());
        }
        assert!(shelf.find().is_err(), "byte {at} of drive {drive}");
    }
}

/// A drive of the past does not stand for the member that has replaced it: with drives 0 and 2, the two
/// members that are missing hold everything and may be in use.
#[test]
fn a_stale_drive_is_no_consent() {
    let (mut shelf, _) = replaced(LayoutKind::Epochs);
    let member = DriveId::new;
    let stale = vec![Stale { drive: 1, member: member(1), cause: StaleCause::Replaced }];
    let missing = vec![member(1), member(3)];
    assert_eq!(shelf.find_among(&[0, 1, 2]), Err(OpenError::NeedsConsent { missing, stale: stale.clone() }));
    shelf.1 = Consent::Degraded;
    assert_eq!(shelf.find_among(&[0, 1, 2]).expect("it was consented to").stale, stale);
}

/// The checksum field of a damaged superblock may look like an earlier format; the other copy counts.
#[test]
fn a_damaged_superblock_is_no_earlier_format_beside_a_whole_one() {
    let mut shelf = Shelf::blank(4);
    shelf.create(&config(LayoutKind::Raid5), 1);
    // The opening writes the second copy.
    shelf.with(&[0, 1, 2, 3], |_, _, _| {});
    for copy in 0..2 {
        let whole = shelf.0[2][copy].clone();
        assert!(!whole.is_hole(), "copy {copy}");
        shelf.0[2][copy].as_mut_slice()[8..12].copy_from_slice(&2_u32.to_le_bytes());
        let found = shelf.find().unwrap_or_else(|why| panic!("copy {copy}: {why}"));
        assert_eq!(found.order[DriveId::new(2)], Some(2), "copy {copy}");
        shelf.0[2][copy] = whole;
    }
}
