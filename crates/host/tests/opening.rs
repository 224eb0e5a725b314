//! Opening from what is on the drives: in any order, and never from what is not ours or not understood.

use tailcut_base::{Class, Nanos, Op, Spans, Status, Time};
use tailcut_host::array::{Array, ArrayConfig, Found, LayoutKind, OpenError, Opening};
use tailcut_host::{Block, Bytes, Disk, Request, Response};

const BLOCKS: u64 = 400;

/// Drives that do at once what they are asked.
struct Shelf(Vec<Vec<Bytes>>);

impl Shelf {
    fn blank(drives: usize) -> Shelf {
        Shelf(vec![vec![Bytes::default(); BLOCKS as usize]; drives])
    }

    fn disks(&self) -> Vec<Disk> {
        let disk = |drive: &Vec<Bytes>| Disk {
            blocks: drive.len() as u64,
            depth: 8,
            most_blocks: 32,
            volatile_cache: false,
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
        while !array.sent().is_empty() {
            for (drive, request) in std::mem::take(array.sent()) {
                let answer = self.serve(drive, request);
                array.answered(Time::ZERO, drive, answer);
            }
        }
        std::mem::take(array.answers())
    }

    /// A new array on it, with something in its first block.
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

    fn find(&mut self) -> Result<Found, OpenError> {
        let mut opening = Opening::new(Time::ZERO, &self.disks());
        for (drive, request) in std::mem::take(opening.sent()) {
            let answer = self.serve(drive, request);
            opening.answered(Time::ZERO, drive, answer);
        }
        opening.found().expect("all drives have answered")
    }
}

fn request(op: Op, blocks: u32, data: Vec<Bytes>) -> Request<Bytes> {
    Request { id: 7, op, fua: false, class: Class::DEFAULT, fail_fast: false, block: 0, blocks, data }
}

fn content() -> Bytes {
    Bytes::encode(b"what was written")
}

fn config(layout: LayoutKind) -> ArrayConfig {
    let mut config = ArrayConfig { drives: 4, layout, depth: 16, drive_depth: 8, ..ArrayConfig::default() };
    (config.raid.chunk, config.raid.journal, config.log.segment) = (8192, 40 * 4096, 16 * 4096);
    assert!(config.problems().is_empty());
    config
}

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

/// An array on four drives, of which one is changed before it is searched for.
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
fn a_newer_format_is_not_guessed_at() {
    let why = refusal(|drive| drive[1].as_mut_slice()[8] = 2);
    assert_eq!(why, OpenError::Newer { drive: 2, format: 2 });
    assert!(why.to_string().contains("use a newer program"));
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
        let (_, why) = config.misfit(&unequal.disks()).unwrap_or_default();
        assert_eq!(why.is_empty(), layout == LayoutKind::Raid0, "{layout}: {why}");
        assert!(why.is_empty() || why.contains("smallest drive"), "{why}");
    }
}
