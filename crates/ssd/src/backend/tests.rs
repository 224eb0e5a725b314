//! The backend by itself: layers above it that always have a page.

use super::*;
use crate::config::{ChipPolicy, Classes, Handling, Preset};
use crate::flash::{PhysicalPage, PlaneId};
use crate::request::{Lane, MemoryRequest, Role};
use crate::timers::Timer;
use std::collections::BTreeSet;
use tailcut_base::Nanos;

/// Layers without data: frontier 0 of each plane fills its first block, and some requests are void.
#[derive(Default)]
pub(super) struct Layers {
    programmed: u64,
    void: BTreeSet<u32>,
}

impl UpperLayers for Layers {
    fn is_void(&self, id: RequestId, _: &MemoryRequest) -> bool {
        self.void.contains(&id.get())
    }
    fn is_put_off(&self, _: RequestId, _: &MemoryRequest) -> bool {
        false
    }
    fn rests_programs(&self, _: LunId) -> bool {
        false
    }
    fn can_allocate(&self, _: PlaneId, _: u8) -> bool {
        true
    }
    fn next_offset(&self, _: PlaneId, _: u8) -> u32 {
        self.programmed as u32
    }
    fn is_short_of_blocks(&self, _: PlaneId) -> bool {
        false
    }
    fn is_valid(&self, _: PhysicalPage) -> bool {
        true
    }
    fn has_backlog(&self, _: LunId) -> bool {
        false
    }
    fn keeps_buffer(&self) -> bool {
        true
    }
    fn pages_used_for(&self, pages: u64) -> u64 {
        pages
    }
    fn pages_left_to_copy(&self, _: PlaneId) -> Option<u32> {
        None
    }
    fn must_collect(&self, _: PlaneId) -> bool {
        false
    }
    fn may_stand_still(&self, _: PlaneId) -> bool {
        false
    }
}

impl Allocate for Layers {
    fn begin_program(&mut self, _: PlaneId, request: &mut MemoryRequest) {
        request.physical = PhysicalPage::new(self.programmed);
        self.programmed += 1;
    }
}

struct Harness {
    backend: Backend,
    layers: Layers,
    now: Time,
    /// LUNs whose transactions have ended, and when.
    ended: Vec<(LunId, Time)>,
}

impl Harness {
    fn new(change: impl FnOnce(&mut SsdConfig)) -> Harness {
        let mut config = Preset::M.config();
        change(&mut config);
        let sets = Sets::new(&config.sets, &config.ftl, &config.geometry);
        let backend = Backend::new(&config, sets, 1);
        Harness { backend, layers: Layers::default(), now: Time::ZERO, ended: Vec::new() }
    }

    fn issue(&mut self, lane: Lane, page: u64) -> RequestId {
        let physical = PhysicalPage::new(page);
        let (lun, place) = self.backend.layout.lun_of_page(physical);
        let mut request = MemoryRequest::internal(self.now, lane, Role::Row, lun, place);
        request.page = 1;
        if lane != Lane::USER_WRITE {
            request.physical = physical;
        }
        self.backend.issue(self.now, request)
    }

    /// Starts what has been issued, and serves timers until none is set or it is later than `until`.
    fn run(&mut self, until: Time) {
        self.start();
        while let Some((timer, due)) = self.backend.due_timer(until) {
            let at = due.at();
            self.now = at;
            let ended = match timer {
                Timer::Channel(channel) => {
                    let ended = self.backend.end_of_bus_use(at, channel);
                    ended.into_iter().for_each(|lun| self.end(lun));
                    while self.backend.grant_bus(at, channel, &mut self.layers).is_some() {}
                    None
                }
                Timer::Lun(lun) => match self.backend.cells_done(at, lun) {
                    CellsDone::Ended => Some(lun),
                    CellsDone::Preempted => {
                        self.backend.suspend(at, lun);
                        self.backend.give_back(at, lun);
                        let _ = self.backend.kick(at, lun, &mut self.layers);
                        None
                    }
                    _ => None,
                },
                timer => unreachable!("{timer:?} is not set"),
            };
            ended.into_iter().for_each(|lun| self.end(lun));
            self.backend.expire_timer(due);
            self.start();
            self.backend.check_between_events();
        }
    }

    fn start(&mut self) {
        while let Some(lun) = self.backend.pop_woken() {
            if self.backend.kick(self.now, lun, &mut self.layers) == Step::Started {
                self.backend.open_to_preemption(lun, &self.layers);
            }
        }
    }

    fn end(&mut self, lun: LunId) {
        self.ended.push((lun, self.now));
        for index in 0..self.backend.lun(lun).transaction.members().len() {
            let id = self.backend.lun(lun).transaction.member(index);
            self.backend.remove(id);
        }
        self.backend.end_of_other_work(lun);
        self.backend.give_back(self.now, lun);
        let _ = self.backend.kick(self.now, lun, &mut self.layers);
    }
}

#[test]
fn a_read_takes_command_cell_and_transfer() {
    let mut harness = Harness::new(|_| ());
    harness.issue(Lane::GC_READ, 0);
    harness.run(Time::NEVER);
    let phases = &harness.backend.phases;
    let takes = phases.read_command + phases.read_cell(0) + phases.transfer;
    assert_eq!(harness.ended, [(LunId::new(0), Time::ZERO + takes)]);
    assert_eq!(harness.backend.in_flight(), 0);
}

#[test]
fn reads_of_one_page_offset_share_a_transaction_where_planes_may() {
    for shares in [false, true] {
        let mut harness = Harness::new(|config| config.schedule.plane_sharing = shares);
        let layout = harness.backend.layout;
        let first = layout.blocks_of(PlaneId::new(1)).next().expect("a plane has blocks");
        let pages = layout.page_at(first, 0).get();
        harness.issue(Lane::GC_READ, 0);
        harness.issue(Lane::GC_READ, pages);
        harness.run(Time::NEVER);
        assert_eq!(harness.ended.len(), if shares { 1 } else { 2 });
    }
}

#[test]
fn a_suspended_program_takes_its_cell_time_and_what_the_suspension_costs() {
    let suspends = |config: &mut SsdConfig| {
        (config.schedule.chip, config.schedule.classes) = (ChipPolicy::ReadsFirst, Classes::Equal);
        (config.preempt.program, config.preempt.suspensions) = (Handling::Suspend, 1);
    };
    let mut alone = Harness::new(suspends);
    alone.issue(Lane::USER_WRITE, 0);
    alone.run(Time::NEVER);
    let program = alone.ended[0].1.since(Time::ZERO);

    let mut harness = Harness::new(suspends);
    harness.issue(Lane::USER_WRITE, 0);
    harness.run(Time::ZERO + Nanos::micros(100));
    harness.now = Time::ZERO + Nanos::micros(100);
    harness.issue(Lane::READ, 1);
    harness.run(Time::NEVER);
    let [(_, read), (_, end)] = harness.ended[..] else { panic!("a read and a program have ended") };
    let timing = &harness.backend.timing;
    let takes = timing.program_suspend.max(Nanos(1));
    let resume = timing.program_resume;
    let phases = &harness.backend.phases;
    let read_takes = phases.read_command + phases.read_cell(1) + phases.transfer;
    assert_eq!(read, Time::ZERO + Nanos::micros(100) + takes + read_takes);
    // The cells stood still from the read's arrival to the resumption.
    assert_eq!(end.since(Time::ZERO), program + takes + read_takes + resume);
    assert_eq!(harness.backend.counts.program_suspends, 1);
}

#[test]
fn void_programs_leave_their_lun_and_are_handed_up_in_order() {
    let mut harness = Harness::new(|_| ());
    let ids: Vec<RequestId> = (0..3).map(|_| harness.issue(Lane::USER_WRITE, 0)).collect();
    harness.layers.void.extend([ids[0].get(), ids[1].get()]);
    harness.start();
    assert_eq!(
        [harness.backend.pop_void(), harness.backend.pop_void(), harness.backend.pop_void()],
        [Some(ids[0]), Some(ids[1]), None]
    );
    assert_eq!(harness.backend.lun(LunId::new(0)).transaction.members(), [ids[2]]);
}
