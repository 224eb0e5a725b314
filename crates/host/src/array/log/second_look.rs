//! Recovery on drives without protection information: extra passes over data that may be damaged.
//!
//! A stream ends where the next batch is incomplete. On drives that report damage, that is where the power
//! was lost. On others it may be a flipped bit, so the rest of the row is examined again before it is
//! dropped: blocks that differ from the checksum in their descriptor are reconstructed from their stripes,
//! and so is a possible next descriptor. This repeats until a pass finds no further descriptor.

use super::Log;
use super::descriptor::Descriptor;
use super::recovery::Recovery;
use crate::Block;
use crate::array::Column;
use crate::array::core::Core;
use crate::array::reads::{ReadResult, ReconstructWhen};
use crate::mutation::{Invariant, holds};
use tailcut_base::ids::Id;
use tailcut_base::{Status, Time};

impl<B: Block> Log<B> {
    /// True before the first extra pass, and while the last one has found a descriptor.
    pub(super) fn may_read_again(&self, core: &mut Core<B>, recovery: &Recovery<B>) -> bool {
        (recovery.looks == 0 || recovery.has_found)
            && holds(Invariant::DamageIsNoEnd)
            && core.config.layout.is_redundant()
            && core.reads.checksums().is_some()
    }

    /// Starts an extra pass: the checksums listed in the row's descriptors are known now.
    #[cold]
    pub(super) fn read_again(&mut self, core: &mut Core<B>) {
        let mut recovery = self.recovery.take().expect("a recovery is under way");
        for position in 0..self.geometry.positions() {
            if let Some(descriptor) = self.descriptor_at(&recovery, position) {
                self.set_checksums(core, &recovery, &descriptor);
            }
        }
        (recovery.looks, recovery.has_found, recovery.asked) = (recovery.looks + 1, false, 0);
        self.recovery = Some(recovery);
    }

    /// How a block of the row is read in an extra pass, if at all.
    pub(super) fn around_again(&self, core: &mut Core<B>, slot: u32) -> Option<ReconstructWhen> {
        let recovery = self.recovery.as_ref().expect("a recovery is under way");
        let content = recovery.content[slot as usize].as_ref()?;
        let position = self.position_of(recovery, slot)?;
        let (drive, block) = self.geometry.block_at(recovery.here.row, position);
        let checksums = core.reads.checksums()?;
        if !checksums.accept(drive, block, content) {
            return Some(ReconstructWhen::WhenWrong);
        }
        let may_be_next = position >= recovery.reached && !checksums.knows(drive, block);
        may_be_next.then_some(ReconstructWhen::Always)
    }

    /// Position of a slot, if it holds no parity.
    fn position_of(&self, recovery: &Recovery<B>, slot: u32) -> Option<u32> {
        let (row, width) = (recovery.here.row, self.geometry.width);
        let (stripe, column) = (slot / width, Column::new(slot % width));
        (self.geometry.parity(row) != Some(column)).then(|| self.geometry.position_of(row, column, stripe))
    }

    /// A possible descriptor has been reconstructed from its stripe.
    pub(super) fn stripe_read(&mut self, now: Time, core: &mut Core<B>, slot: u32, done: &mut ReadResult<B>) {
        let recovery = self.recovery.as_ref().expect("a recovery is under way");
        if done.status != Status::Success {
            return;
        }
        let (Some(position), Some(content)) = (self.position_of(recovery, slot), done.data.first()) else {
            return;
        };
        let is_there = self.descriptor_at(recovery, position).is_some();
        if is_there || self.descriptor_in(recovery, position, content).is_none() {
            return;
        }
        self.repair(now, core, done);
        let recovery = self.recovery.as_mut().expect("a recovery is under way");
        recovery.content[slot as usize] = done.data.pop();
        recovery.has_found = true;
    }

    /// Sets the checksums of the blocks of a batch, and of its descriptor.
    pub(super) fn set_checksums(&self, core: &mut Core<B>, recovery: &Recovery<B>, descriptor: &Descriptor) {
        let row = descriptor.here.row;
        for (position, entry) in (descriptor.first..).zip(&descriptor.entries) {
            self.set_checksum(core, self.geometry.place(row, position), entry.checksum);
        }
        let own = self
            .content_at(recovery, descriptor.position)
            .filter(|_| holds(Invariant::DescriptorsAreChecked));
        if let Some(content) = own {
            self.set_checksum(core, self.geometry.place(row, descriptor.position), content.checksum());
        }
    }

    /// Drops the checksums of the positions behind the last replayed batch.
    pub(super) fn forget_rest(&self, core: &mut Core<B>) {
        let recovery = self.recovery.as_ref().expect("a recovery is under way");
        let Some(checksums) = core.reads.checksums() else { return };
        for position in recovery.reached..self.geometry.positions() {
            let (drive, block) = self.geometry.block_at(recovery.here.row, position);
            checksums.forget(drive, block, 1);
        }
    }

    /// Rewrites parities of the row that do not match the valid data: power was lost before they were
    /// written, which the drive does not report, or they are damaged.
    pub(super) fn repair_parities(&mut self, now: Time, core: &mut Core<B>) {
        let recovery = self.recovery.take().expect("a recovery is under way");
        let (row, width) = (recovery.here.row, self.geometry.width as usize);
        let parity = self.geometry.parity(row);
        let age = self.age(recovery.here.age);
        let mut wrong = Vec::new();
        for stripe in 0..recovery.reached.div_ceil(self.geometry.data) {
            let Some(parity) = parity.filter(|_| holds(Invariant::ParitiesAreRepaired)) else { break };
            let stored = &recovery.content[stripe as usize * width..][..width];
            let mut sum = B::default();
            if stored.iter().all(|content| content.as_ref().inspect(|content| sum.xor(content)).is_some())
                && !sum.is_same(&B::default())
            {
                let stored = stored[parity.index()].as_ref().expect("all are there");
                sum.xor(stored);
                wrong.push((
                    self.geometry.drive(row, parity),
                    self.geometry.address(row) + u64::from(stripe),
                    sum,
                ));
            }
        }
        self.recovery = Some(recovery);
        for (drive, block, content) in wrong {
            self.rewrite(now, core, (drive, block, age), &[content]);
        }
    }
}
