//! The mapping and the frontend, as the backend sees them.

use crate::backend::{Allocate, UpperLayers};
use crate::flash::{LunId, PhysicalPage, PlaneId};
use crate::frontend::Frontend;
use crate::frontend::buffer::EntryState;
use crate::mapping::Mapping;
use crate::mapping::ftl::Location;
use crate::mutation::{Invariant, holds};
use crate::request::{Lane, MemoryRequest, RequestId, Role, SlotId};
use std::ops::Deref;

/// References to the two layers: `&mut` where a program may start, else `&`.
#[derive(Debug)]
pub(crate) struct Layers<M, F> {
    mapping: M,
    frontend: F,
}

impl<M: Deref<Target = Mapping>, F: Deref<Target = Frontend>> Layers<M, F> {
    #[inline(always)]
    pub(crate) fn new(mapping: M, frontend: F) -> Layers<M, F> {
        Layers { mapping, frontend }
    }

    /// True in a quiet period of the set of a LUN.
    pub(crate) fn is_quiet(&self, lun: LunId) -> bool {
        self.mapping.steering.is_quiet(self.mapping.sets().of_lun(lun))
    }

    /// True when a planned read ahead is void. Nothing pins its page until it begins.
    fn is_plan_void(&self, id: RequestId, request: &MemoryRequest, slot: SlotId) -> bool {
        !self.frontend.cache.is_planned(slot, id)
            || self.mapping.map().lookup(request.logical) != Location::Flash(request.physical)
            || self.is_quiet(request.lun)
    }

    #[cold]
    fn rests(&self, id: RequestId, request: &MemoryRequest) -> bool {
        self.rests_programs(request.lun)
            && matches!(request.role, Role::Program(_))
            && !self.is_void(id, request)
            && holds(Invariant::RestPrograms)
    }
}

impl<M: Deref<Target = Mapping>, F: Deref<Target = Frontend>> UpperLayers for Layers<M, F> {
    #[inline]
    fn is_void(&self, id: RequestId, request: &MemoryRequest) -> bool {
        match request.role {
            Role::Copy(_) => request.lane == Lane::GC_WRITE && !self.mapping.map().is_valid(request.source),
            Role::Program(entry) => self.frontend.entry(entry).trimmed,
            Role::Ahead(slot) => self.is_plan_void(id, request, slot),
            _ => false,
        }
    }

    #[inline]
    fn is_put_off(&self, id: RequestId, request: &MemoryRequest) -> bool {
        self.mapping.steering.is_any_quiet() && self.rests(id, request)
    }

    #[inline]
    fn rests_programs(&self, lun: LunId) -> bool {
        self.mapping.steering.rests_programs(self.mapping.sets().of_lun(lun))
    }

    #[inline]
    fn can_allocate(&self, plane: PlaneId, frontier: u8) -> bool {
        self.mapping.map().can_allocate(plane, frontier)
    }

    #[inline]
    fn next_offset(&self, plane: PlaneId, frontier: u8) -> u32 {
        self.mapping.map().next_offset(plane, frontier)
    }

    #[inline]
    fn is_short_of_blocks(&self, plane: PlaneId) -> bool {
        self.mapping.is_short_of_blocks(plane)
    }

    #[inline]
    fn is_valid(&self, physical: PhysicalPage) -> bool {
        self.mapping.map().is_valid(physical)
    }

    fn has_backlog(&self, lun: LunId) -> bool {
        self.frontend.is_nearly_full(self.mapping.sets().of_lun(lun))
    }

    fn keeps_buffer(&self) -> bool {
        self.frontend.has_capacitor()
    }

    fn pages_used_for(&self, pages: u64) -> u64 {
        let counts = &self.mapping.counters;
        let (user, all) = (counts.programmed_user, counts.programmed_user + counts.programmed_gc);
        pages * all.max(1) / user.max(1)
    }

    fn pages_left_to_copy(&self, plane: PlaneId) -> Option<u32> {
        self.mapping.pages_left_to_copy(plane)
    }

    fn must_collect(&self, plane: PlaneId) -> bool {
        self.mapping.must_collect(plane)
    }

    fn may_stand_still(&self, plane: PlaneId) -> bool {
        self.mapping.may_stand_still(plane)
    }
}

impl Allocate for Layers<&mut Mapping, &mut Frontend> {
    #[inline]
    fn begin_program(&mut self, plane: PlaneId, request: &mut MemoryRequest) {
        // Block-level mapping has chosen the page already.
        if request.physical == PhysicalPage::NONE {
            request.physical = self.mapping.allocate(plane, request.frontier);
        }
        if let Role::Program(entry) = request.role
            && self.frontend.entry(entry).state == EntryState::Issued
        {
            request.content = self.frontend.begin_program(entry);
        }
    }
}
