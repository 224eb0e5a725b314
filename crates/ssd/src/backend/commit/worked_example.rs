//! Sprinkler's worked example (figures 4, 5, 7, 8 and 9), request by request.
//!
//! The drawings are not at hand; what follows is drawn from the text of sections 3 and 4.
//! `docs/decisions/how-we-read-sprinkler.md` lists what that states, and where it contradicts itself. A
//! snapshot of the figures is a round here: all chips start what is committed to them, and all end together.
//!
//! ```text
//!    channel 0   1   2      five I/O requests, back to back; the chips that each needs:
//! offset 0  C0  C1  C2      #1  C0 C1 C2 C3
//! offset 1  C3  C4  C5      #2  C0 C1 C2 C3 + some of C4, C5: meets #1 and #3
//! offset 2  C6  C7  C8      #3  some of C4, C5: does not meet #1
//!                           #4  C3 + some of C4, C5, where it meets #3, + some of C6, C7, C8
//!                           #5  C3 + perhaps C4, C5                     + some of C6, C7, C8
//! ```
//!
//! C0 to C2 have six requests, C3 to C5 eight (or nine, for nineteen in all), C6 to C8 four. All that go to
//! one chip go to different places of it, at one page offset, as the four of C3 do in figure 8. One such
//! layout:
//!
//! ```text
//!      C0  C1  C2  C3  C4  C5  C6  C7  C8
//! #1   1   1   1   1
//! #2   2   2   2   2   2
//! #3                   3   3
//! #4               4       4   4   4
//! #5               5               5   5
//! ```

use super::Chips;
use crate::backend::Backend;
use crate::backend::lun::Phase;
use crate::backend::tests::Layers;
use crate::config::{CommitPolicy, Preset};
use crate::flash::LunId;
use crate::flash::geometry::ReadyBusy;
use crate::request::{Lane, MemoryRequest, RequestId, Role, Tag};
use crate::sets::Sets;
use tailcut_base::Time;

/// A chip by its number in the figures: 0 to 8 along the channels first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Chip(u32);

const CHIPS: [Chip; 9] = [Chip(0), Chip(1), Chip(2), Chip(3), Chip(4), Chip(5), Chip(6), Chip(7), Chip(8)];

impl Chip {
    fn lun(self) -> LunId {
        LunId::new(self.0 % 3 * 3 + self.0 / 3)
    }
}

/// A memory request: a read of a page.
#[derive(Clone, Copy, Debug)]
struct Read {
    chip: Chip,
    place: u32,
    offset: u32,
}

/// The memory requests of I/O requests #1, #2 …
type Requests = Vec<Vec<Read>>;

/// What each chip serves in a snapshot: the numbers of the I/O requests in its transaction.
type Snapshot = [Vec<u32>; 9];

struct Drive {
    backend: Backend,
    /// What was committed, in order.
    committed: Vec<(Chip, u32)>,
}

impl Drive {
    /// Chips that are busy with something else than requests of the host.
    fn busy(policy: CommitPolicy) -> Drive {
        let mut drive = Drive::new(policy);
        CHIPS.into_iter().for_each(|chip| drive.backend.luns[chip.lun()].phase = Phase::Cell);
        drive
    }

    fn new(policy: CommitPolicy) -> Drive {
        let mut config = Preset::Sprinkler64.config();
        let g = &mut config.geometry;
        (g.channels, g.chips, g.dies, g.planes, g.blocks) = (3, 3, 2, 2, 16);
        g.ready_busy = ReadyBusy::Chip;
        config.schedule.commit = policy;
        let sets = Sets::new(&config.sets, &config.ftl, &config.geometry);
        Drive { backend: Backend::new(&config, sets, 1), committed: Vec::new() }
    }

    /// The requests of all I/O requests arrive while all chips are busy with something else: the device queue
    /// holds them before anything of them starts.
    fn queue(policy: CommitPolicy, requests: &Requests) -> Drive {
        let mut drive = Drive::busy(policy);
        for (index, reads) in requests.iter().enumerate() {
            drive.arrive(index as u32 + 1, reads);
            drive.commit();
        }
        drive
    }

    fn arrive(&mut self, io: u32, reads: &[Read]) {
        for read in reads {
            let id = self.hold(io, *read);
            self.backend.arrive(id, reads.len() == 1, false);
        }
    }

    fn hold(&mut self, io: u32, read: Read) -> RequestId {
        let lun = read.chip.lun();
        let plane = self.backend.layout.plane_at(lun, read.place);
        let block = self.backend.layout.blocks_of(plane).next().expect("a plane has blocks");
        let mut request = MemoryRequest::internal(Time::ZERO, Lane::READ, Role::HostRead, lun, read.place);
        request.tag = Tag::new(io);
        request.physical = self.backend.layout.page_at(block, read.offset);
        request.order = self.backend.next_order();
        self.backend.hold(Time::ZERO, request)
    }

    fn io_of(&self, id: RequestId) -> u32 {
        self.backend.requests[id].tag.get()
    }

    fn commit(&mut self) {
        loop {
            let Backend { requests, luns, layout, scheduler, .. } = &mut self.backend;
            let Some(id) = scheduler.next(Chips { requests, luns, layout }) else { return };
            let request = &requests[id];
            let chip = CHIPS.into_iter().find(|chip| chip.lun() == request.lun).expect("a chip");
            self.committed.push((chip, request.tag.get()));
            luns[request.lun].committed_tag = request.tag;
            luns[request.lun].committed_count += 1;
            luns.commit(requests, id);
        }
    }

    /// Serves everything, snapshot by snapshot.
    fn serve(&mut self) -> Vec<Snapshot> {
        let mut snapshots = Vec::new();
        loop {
            CHIPS.into_iter().for_each(|chip| self.backend.luns[chip.lun()].phase = Phase::Idle);
            for chip in CHIPS {
                self.backend.released(chip.lun());
                self.commit();
            }
            if self.backend.in_flight() == 0 {
                return snapshots;
            }
            snapshots.push(CHIPS.map(|chip| self.start(chip)));
            assert!(snapshots.last().is_some_and(|all| all.iter().any(|ios| !ios.is_empty())), "stuck");
            CHIPS.into_iter().for_each(|chip| self.end(chip));
        }
    }

    /// One chip becomes free, while the others are busy, and serves a transaction; then it is busy again.
    fn turn(&mut self, chip: Chip) -> Vec<u32> {
        let lun = chip.lun();
        self.backend.luns[lun].phase = Phase::Idle;
        self.backend.released(lun);
        self.commit();
        let ios = self.start(chip);
        self.backend.luns[lun].phase = Phase::Cell;
        self.end(chip);
        ios
    }

    /// Composes the transaction of a chip.
    fn start(&mut self, chip: Chip) -> Vec<u32> {
        let lun = chip.lun();
        self.backend.luns[lun].transaction.clear(Lane::READ.kind());
        if self.backend.luns[lun].has_work() {
            self.backend.compose(Time::ZERO, lun, Lane::READ, &mut Layers::default());
            self.backend.luns[lun].phase = Phase::Cell;
        }
        let mut ios: Vec<u32> =
            self.backend.luns[lun].transaction.members().iter().map(|&id| self.io_of(id)).collect();
        ios.sort_unstable();
        ios
    }

    fn end(&mut self, chip: Chip) {
        for index in 0..self.backend.luns[chip.lun()].transaction.members().len() {
            let id = self.backend.luns[chip.lun()].transaction.member(index);
            self.backend.remove(id);
        }
    }
}

/// The chips of each I/O request, in every layout that the text admits.
fn layouts() -> Vec<Vec<Vec<Chip>>> {
    // Bit 0 for C4, bit 1 for C5.
    let middle = |bits: u32| (4..=5).filter(move |chip| bits >> (chip - 4) & 1 == 1);
    let mut layouts = Vec::new();
    for bits in 0..4u32.pow(4) {
        let of = |io: u32| bits >> (2 * io) & 3;
        let [second, third, fourth, fifth] = [0, 1, 2, 3].map(of);
        let count: u32 = [second, third, fourth, fifth].map(u32::count_ones).iter().sum();
        let covers = second | third | fourth | fifth == 3;
        if !covers || second & third == 0 || third & fourth == 0 || !(4..=5).contains(&count) {
            continue;
        }
        // Of C6 to C8 one has a request of both #4 and #5, the others of one of them.
        for last in 0..4u32.pow(3) {
            let owners = [6, 7, 8].map(|chip| (chip, last >> (2 * (chip - 6)) & 3));
            if owners.iter().any(|&(_, of)| of == 0) || owners.iter().filter(|&&(_, of)| of == 3).count() != 1
            {
                continue;
            }
            let lasts =
                |bit: u32| owners.into_iter().filter(move |(_, of)| of & bit != 0).map(|(chip, _)| chip);
            let ios: [Vec<u32>; 5] = [
                (0..=3).collect(),
                (0..=3).chain(middle(second)).collect(),
                middle(third).collect(),
                [3].into_iter().chain(middle(fourth)).chain(lasts(1)).collect(),
                [3].into_iter().chain(middle(fifth)).chain(lasts(2)).collect(),
            ];
            layouts.push(ios.map(|chips| chips.into_iter().map(Chip).collect()).into());
        }
    }
    layouts
}

/// The requests of a layout: those of a chip at its places in order of arrival, all at page offset 7.
fn requests(layout: &[Vec<Chip>]) -> Requests {
    let mut places = [0; 9];
    let mut read = |chip: &Chip| {
        let place = &mut places[chip.0 as usize];
        *place += 1;
        Read { chip: *chip, place: *place - 1, offset: 7 }
    };
    layout.iter().map(|chips| chips.iter().map(&mut read).collect()).collect()
}

/// The I/O requests that a snapshot serves.
fn served(snapshot: &Snapshot) -> Vec<u32> {
    let mut ios: Vec<u32> = snapshot.iter().flatten().copied().collect();
    ios.sort_unstable();
    ios.dedup();
    ios
}

/// The transactions of C3 in all snapshots, which figures 4b, 5b and 8 draw.
fn flash_level_view(snapshots: &[Snapshot]) -> Vec<Vec<u32>> {
    snapshots.iter().map(|snapshot| snapshot[3].clone()).collect()
}

/// Chips without a transaction, in all snapshots together.
fn idle(snapshots: &[Snapshot]) -> usize {
    snapshots.iter().flatten().filter(|ios| ios.is_empty()).count()
}

/// What a scheduler does in each layout.
fn in_all_layouts(policy: CommitPolicy, check: impl Fn(usize, &[Snapshot], &[(Chip, u32)])) {
    let layouts = layouts();
    assert!(layouts.len() > 100, "{}", layouts.len());
    for layout in layouts {
        let requests = requests(&layout);
        let mut drive = Drive::queue(policy, &requests);
        let snapshots = drive.serve();
        check(requests.iter().map(Vec::len).sum(), &snapshots, &drive.committed);
    }
}

/// Figure 4. One I/O request in each snapshot; while #1 is served, C4 to C8 are idle. C3:
///
/// ```text
/// VAS   | #1 | #2 | stalled | #4 | #5 |     four transactions
/// ```
#[test]
fn vas_waits_at_each_collision() {
    in_all_layouts(CommitPolicy::Vas, |count, snapshots, _| {
        let order: Vec<Vec<u32>> = snapshots.iter().map(served).collect();
        assert_eq!(order, [[1], [2], [3], [4], [5]]);
        let idle_beside_first: Vec<bool> = snapshots[0].iter().map(Vec::is_empty).collect();
        assert_eq!(idle_beside_first, [false, false, false, false, true, true, true, true, true]);
        assert_eq!(flash_level_view(snapshots), [vec![1], vec![2], vec![], vec![4], vec![5]]);
        assert_eq!(idle(snapshots), 5 * 9 - count, "every request has a transaction of its own");
    });
}

/// Figure 5. #3 goes before #2, because it meets nothing of #1: one snapshot less. C3:
///
/// ```text
/// PAS   | #1 | #2 | #4 | #5 |     four transactions
/// ```
#[test]
fn pas_swaps_the_third_with_the_second() {
    in_all_layouts(CommitPolicy::Pas, |count, snapshots, _| {
        let order: Vec<Vec<u32>> = snapshots.iter().map(served).collect();
        assert_eq!(order, [vec![1, 3], vec![2], vec![4], vec![5]]);
        assert_eq!(flash_level_view(snapshots), [[1], [2], [4], [5]]);
        assert_eq!(idle(snapshots), 4 * 9 - count, "every request has a transaction of its own");
    });
}

/// Figure 8. The four requests of C3 are committed before it starts, and are one transaction:
///
/// ```text
/// FARO  | #1 #2 #4 #5 |
/// ```
#[test]
fn faro_makes_one_transaction_of_four() {
    for policy in [CommitPolicy::Faro, CommitPolicy::Sprinkler] {
        in_all_layouts(policy, |_, snapshots, _| {
            assert_eq!(flash_level_view(snapshots), [[1, 2, 4, 5]], "{policy}");
        });
    }
}

/// RIOS alone keeps every chip busy that something waits for, whatever I/O request that belongs to, but
/// composes nothing: C3 needs four transactions.
///
/// ```text
/// RIOS  | #1 | #2 | #4 | #5 |
/// ```
#[test]
fn rios_alone_keeps_all_chips_busy() {
    in_all_layouts(CommitPolicy::Rios, |count, snapshots, _| {
        assert_eq!(idle(&snapshots[..1]), 0, "all nine chips have something to do");
        assert_eq!(flash_level_view(snapshots), [[1], [2], [4], [5]]);
        assert_eq!(idle(snapshots), 4 * 9 - count);
    });
}

/// Figure 7. "RIOS composes six memory requests associated with I/O #1 and I/O #2, and commits them to C0,
/// C1, and C2, whose chip offset is zero", then those for C3, C4 and C5, then four of #4 and #5 for C6, C7
/// and C8: chips of equal offset across all channels first, not C0, C3, C6. All tags are secured before the
/// first commitment.
#[test]
fn rios_visits_chips_of_equal_offset_across_all_channels_first() {
    for layout in layouts() {
        let mut drive = Drive::new(CommitPolicy::Sprinkler);
        for (index, reads) in requests(&layout).iter().enumerate() {
            drive.arrive(index as u32 + 1, reads);
        }
        drive.commit();
        let mut visits: Vec<Chip> = drive.committed.iter().map(|&(chip, _)| chip).collect();
        let at = |offset: u32| -> Vec<u32> {
            let here = drive.committed.iter().filter(|(chip, _)| chip.0 / 3 == offset);
            let mut ios: Vec<u32> = here.map(|&(_, io)| io).collect();
            ios.sort_unstable();
            ios
        };
        assert_eq!(at(0), [1, 1, 1, 2, 2, 2]);
        assert!((8..=9).contains(&at(1).len()));
        assert!(at(2).len() == 4 && at(2).iter().all(|&io| io == 4 || io == 5));
        visits.dedup();
        assert_eq!(visits, CHIPS);
    }
}

/// Figure 9. Each chip has the requests of two transactions; those of a row cannot share with those of
/// the other, because their page offsets differ.
///
/// ```text
///            C0          C1             C2             C3
/// first    a #3 #3     b #2 #3 #3 #3  c #2 #3 #3 #3  d #2 #3 #3 #3
/// then     g #1 #5       #1             #5             #1
/// ```
///
/// The overlap depth of b, c and d is four, so they go before #1 and #5. That of a and of g is two; a
/// goes first, because it has the higher connectivity. #1 is the oldest of all.
#[test]
fn faro_compares_overlap_depth_then_connectivity() {
    let read = |chip, place, offset| Read { chip: Chip(chip), place, offset };
    let places = |chip, places: std::ops::Range<u32>| places.map(move |place| read(chip, place, 7));
    let requests = vec![
        vec![read(0, 0, 9), read(1, 0, 9), read(3, 2, 9)],
        vec![read(1, 3, 7), read(2, 3, 7), read(3, 3, 7)],
        places(0, 0..2).chain(places(1, 0..3)).chain(places(2, 0..3)).chain(places(3, 0..3)).collect(),
        Vec::new(),
        vec![read(0, 1, 9), read(2, 1, 9)],
    ];
    let snapshots = Drive::queue(CommitPolicy::Sprinkler, &requests).serve();
    let four: Vec<Vec<u32>> = [vec![3, 3], vec![2, 3, 3, 3], vec![2, 3, 3, 3], vec![2, 3, 3, 3]].into();
    assert_eq!(snapshots[0][..4], four);
    assert_eq!(snapshots[1][..4], [vec![1, 5], vec![1], vec![5], vec![1]]);
    assert_eq!(snapshots.len(), 2);
}

fn at(chips: &[Chip]) -> Vec<Read> {
    chips.iter().map(|&chip| Read { chip, place: 0, offset: 0 }).collect()
}

const C: [Chip; 9] = CHIPS;

/// Beyond the example: chips that collect are no reason for VAS not to begin, or a large I/O request might
/// wait for ever. Nothing overtakes an I/O request that has begun.
#[test]
fn collection_is_no_collision_for_vas() {
    let mut drive = Drive::busy(CommitPolicy::Vas);
    for (index, reads) in [at(&C[0..2]), at(&[C[0], C[2]])].iter().enumerate() {
        drive.arrive(index as u32 + 1, reads);
        drive.commit();
    }
    assert_eq!(drive.turn(C[0]), [1], "C1 collects");
    assert_eq!(drive.turn(C[2]), [0; 0], "behind what waits for C1");
    assert_eq!(drive.turn(C[1]), [1]);
    assert_eq!(drive.turn(C[2]), [0; 0], "C0 serves #1");
    assert_eq!(drive.turn(C[0]), [2]);
    assert_eq!(drive.turn(C[2]), [2]);
}

/// Beyond the example: two chips that are never free together do not starve an I/O request that needs both.
#[test]
fn pas_passes_an_io_request_over_only_so_often() {
    let mut drive = Drive::busy(CommitPolicy::Pas);
    let passes = Preset::Sprinkler64.config().schedule.passes;
    drive.arrive(1, &at(&C[0..2]));
    drive.commit();
    for turn in 1..passes {
        // An I/O request of one page for each of the chips, again and again.
        for (chip, io) in [(C[0], 2 * turn), (C[1], 2 * turn + 1)] {
            drive.arrive(io, &at(&[chip]));
            drive.commit();
            assert_eq!(drive.turn(chip), [io], "{turn}");
        }
    }
    for (chip, io) in [(C[0], 1000), (C[1], 1001)] {
        drive.arrive(io, &at(&[chip]));
        drive.commit();
        assert_eq!(drive.turn(chip), [1]);
    }
}
