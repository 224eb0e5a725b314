//! A scheduler by itself: what scheduling a request costs, and nothing else. The tests of this crate count
//! what a scheduler examines; `tailcut-bench schedule` takes the time. It is here because it plays the part
//! of the backend, whose requests and chips have no public interface.

use super::{Chips, Scheduler};
use crate::backend::lun::{Luns, Phase};
use crate::backend::requests::Requests;
use crate::config::{CommitPolicy, Preset, ScheduleConfig};
use crate::flash::{Geometry, Layout, LunId, PhysicalPage};
use crate::request::{EntryId, Kind, Lane, MemoryRequest, RequestId, Role, Tag};
use std::collections::VecDeque;
use tailcut_base::Time;
use tailcut_base::cast::to_usize;
use tailcut_base::ids::{Id, IdVec};
use tailcut_base::random::Stream;

/// The load of a scheduler on a [`Harness`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Chips, of two dies with two planes each: 1 to 32768.
    pub chips: u32,
    /// Memory requests that wait or are committed: at least `pages`.
    pub depth: u32,
    /// Memory requests of an I/O request: at least 1.
    pub pages: u32,
    /// I/O requests with force unit access, in parts per million.
    pub fua: u32,
}

impl Load {
    /// The chips of Sprinkler's evaluation in other numbers, as many channels as chips of a
    /// channel or half as many.
    pub fn geometry(&self) -> Geometry {
        let channels = 1 << (self.chips.ilog2() / 2);
        // Blocks play no part in scheduling; so few keep the page numbers of many chips in bounds.
        Geometry {
            channels,
            chips: self.chips / channels,
            blocks: 64,
            ..Preset::Sprinkler64.config().geometry
        }
    }
}

/// The answers of a scheduler, in order: see [`Harness::record`].
#[derive(Clone, Debug, Default)]
pub struct Script(VecDeque<RequestId>);

/// The source of commit decisions.
#[derive(Clone, Debug)]
enum Answers {
    Scheduler(Scheduler),
    /// The scheduler, and what it has answered since the recording began; [`RequestId::NONE`] for none.
    Recorded(Scheduler, Script),
    Script(Script),
}

/// A scheduler between arrivals and chips that cost as little as possible. The queue is always
/// full: I/O requests arrive whenever they fit into [`Load::depth`]. Their pages go to random
/// places; 30 % are writes.
///
/// A chip waits for its bus until its turn comes, in random order among the chips to which something is
/// committed. Then its transaction starts, with one request of each kind for each place, and ends at the
/// same moment. The scheduler is notified in the same order as in the drive: `left` for each member,
/// `released` and `next` until there is none, then the arrivals.
#[derive(Clone, Debug)]
pub struct Harness {
    load: Load,
    answers: Answers,
    requests: Requests,
    luns: Luns,
    layout: Layout,
    page_count: u64,
    random: Stream,
    /// Memory requests of each tag that have not ended.
    open: IdVec<Tag, u32>,
    free_tags: Vec<Tag>,
    /// LUNs to which something is committed.
    ready: Vec<LunId>,
    ended: u64,
}

impl Harness {
    /// A harness with a full queue.
    ///
    /// # Panics
    /// If the chips of `load` do not fill whole channels, or its `pages` are not in 1 to `depth`.
    pub fn new(policy: CommitPolicy, load: Load) -> Harness {
        let geometry = load.geometry();
        assert_eq!(geometry.luns(), load.chips, "chips fill whole channels");
        assert!((1..=load.depth).contains(&load.pages), "an I/O request fits into the queue");
        let schedule = ScheduleConfig { commit: policy, ..Preset::Sprinkler64.config().schedule };
        let scheduler = Scheduler::new(&schedule, &geometry);
        let mut harness = Harness {
            load,
            answers: Answers::Scheduler(scheduler),
            requests: Requests::default(),
            luns: Luns::new(&geometry),
            layout: Layout::new(&geometry),
            page_count: geometry.page_count(),
            random: Stream::new(1, "rig"),
            open: IdVec::new(),
            free_tags: Vec::new(),
            ready: Vec::new(),
            ended: 0,
        };
        harness.fill();
        harness
    }

    /// Serves at least `count` more memory requests; the queue is full again afterwards.
    ///
    /// # Panics
    /// If the scheduler commits none of the waiting requests: they would wait forever.
    pub fn serve(&mut self, count: u64) {
        let end = self.ended + count;
        while self.ended < end {
            self.step();
        }
    }

    /// Serves until the cost of a request stays the same: until the oldest requests of all chips
    /// are those that Sprinkler's bound on passing over has kept from waiting longer.
    pub fn settle(&mut self) {
        self.serve(u64::from(self.load.depth) * 5);
    }

    /// Serves at least `count` more memory requests and returns what the scheduler answered.
    ///
    /// # Panics
    /// If this harness replays a [`Script`] or records one already.
    pub fn record(mut self, count: u64) -> Script {
        self.answers = match self.answers {
            Answers::Scheduler(scheduler) => Answers::Recorded(scheduler, Script::default()),
            _ => panic!("only a scheduler's own answers are recorded"),
        };
        self.serve(count);
        match self.answers {
            Answers::Recorded(_, script) => script,
            _ => unreachable!("nothing replaces the recorded scheduler"),
        }
    }

    /// From now on commits the requests of `script`, which was recorded from a clone of this harness, without
    /// the scheduler. The time that this saves is the scheduler's cost: all other work is identical, for
    /// the same requests in the same order.
    pub fn follow(&mut self, script: Script) {
        self.answers = Answers::Script(script);
    }

    /// Memory requests served so far.
    pub fn ended(&self) -> u64 {
        self.ended
    }

    /// Memory requests that wait or are committed.
    pub fn in_flight(&self) -> usize {
        self.requests.in_flight()
    }

    /// One chip has its turn.
    fn step(&mut self) {
        assert!(!self.ready.is_empty(), "requests wait, and none of them is committed");
        let turn = self.random.index(self.ready.len());
        let lun = self.ready.swap_remove(turn);
        self.start(lun);
        self.end(lun);
        self.fill();
    }

    fn start(&mut self, lun: LunId) {
        self.luns[lun].transaction.clear(Kind::UserRead);
        for lane in [Lane::READ, Lane::USER_WRITE] {
            let mut places = self.luns[lun].places_with(lane);
            while places != 0 {
                let id = self.luns.take(&self.requests, lun, lane, places.trailing_zeros());
                places &= places - 1;
                let u = &mut self.luns[lun];
                u.transaction.push(id, 1);
                u.committed_count -= 1;
                if u.committed_count == 0 {
                    u.committed_tag = Tag::NONE;
                }
                if let Some(scheduler) = self.answers.scheduler() {
                    scheduler.left(lun);
                }
            }
        }
        self.luns[lun].phase = Phase::Cell;
        if self.luns[lun].has_work() {
            self.ready.push(lun);
        }
    }

    fn end(&mut self, lun: LunId) {
        for index in 0..self.luns[lun].transaction.members().len() {
            let id = self.luns[lun].transaction.member(index);
            let tag = self.requests[id].tag;
            self.open[tag] -= 1;
            if self.open[tag] == 0 {
                self.free_tags.push(tag);
            }
            self.requests.remove(id);
            self.ended += 1;
        }
        self.luns[lun].phase = Phase::Idle;
        if let Some(scheduler) = self.answers.scheduler() {
            scheduler.released(lun);
        }
        self.commit();
    }

    /// Lets I/O requests arrive while they fit.
    fn fill(&mut self) {
        while self.requests.in_flight() + self.load.pages as usize <= self.load.depth as usize {
            let tag = self.free_tags.pop().unwrap_or_else(|| self.open.push(0));
            self.open[tag] = self.load.pages;
            let is_write = self.random.chance_ppm(WRITES);
            let fua = self.load.fua != 0 && self.random.chance_ppm(self.load.fua);
            for page in 0..self.load.pages {
                let request = self.request(tag, page, is_write);
                let id = self.requests.add(request);
                self.arrive(id, fua);
            }
            self.commit();
        }
    }

    fn arrive(&mut self, id: RequestId, fua: bool) {
        let chips = Chips { requests: &self.requests, luns: &self.luns, layout: &self.layout };
        if let Some(scheduler) = self.answers.scheduler() {
            scheduler.arrived(chips, id, self.load.pages == 1, fua);
        }
    }

    /// Commits what the scheduler wants committed.
    fn commit(&mut self) {
        loop {
            let chips = Chips { requests: &self.requests, luns: &self.luns, layout: &self.layout };
            let Some(id) = self.answers.next(chips) else { return };
            let MemoryRequest { lun, tag, .. } = self.requests[id];
            let u = &mut self.luns[lun];
            if !u.has_work() {
                self.ready.push(lun);
            }
            u.committed_tag = tag;
            u.committed_count += 1;
            self.luns.commit(&mut self.requests, id);
        }
    }

    /// A memory request for a random page.
    fn request(&mut self, tag: Tag, page: u32, is_write: bool) -> MemoryRequest {
        let physical = PhysicalPage::at(to_usize(self.random.below(self.page_count)));
        let (lun, place) =
            self.layout.lun_of_plane(self.layout.plane_of_block(self.layout.block_of(physical)));
        let (lane, role) = if is_write {
            (Lane::USER_WRITE, Role::Program(EntryId::NONE))
        } else {
            (Lane::READ, Role::HostRead)
        };
        MemoryRequest {
            order: self.requests.next_order(),
            tag,
            page,
            physical: if is_write { PhysicalPage::NONE } else { physical },
            ..MemoryRequest::internal(Time::ZERO, lane, role, lun, place)
        }
    }
}

impl Answers {
    #[inline]
    fn scheduler(&mut self) -> Option<&mut Scheduler> {
        match self {
            Answers::Scheduler(scheduler) | Answers::Recorded(scheduler, _) => Some(scheduler),
            Answers::Script(_) => None,
        }
    }

    #[inline]
    fn next(&mut self, chips: Chips<'_>) -> Option<RequestId> {
        match self {
            Answers::Scheduler(scheduler) => scheduler.next(chips),
            Answers::Recorded(scheduler, script) => {
                let next = scheduler.next(chips);
                script.0.push_back(next.unwrap_or(RequestId::NONE));
                next
            }
            Answers::Script(script) => {
                let next = script.0.pop_front().expect("the script is as long as what follows it");
                (next != RequestId::NONE).then_some(next)
            }
        }
    }
}

/// Writes among the I/O requests, in parts per million: as in the built-in scenario.
const WRITES: u32 = 300_000;
