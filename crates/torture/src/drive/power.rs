//! The power of a drive, and what is left of what was not durable.

use super::{Drive, Health};
use crate::mutant::Mutant;
use crate::tally::{Reached, Tally};
use tailcut_base::{Op, Time};

impl Drive {
    /// The power goes, here or everywhere. Commands in flight are never answered.
    pub fn power_off(&mut self, tally: &mut Tally) {
        self.cut_off(tally);
        let keep = match self.random.below(4) {
            0 => 0,
            1 => 1_000_000,
            _ => self.random.below(1_000_000) as u32,
        };
        if let Some(content) = self.flash.as_ref().and_then(|flash| flash.content_after_power_cut()) {
            let differs = |&block: &u64| self.content(block).as_ref() != Some(&content[block as usize]);
            let lost = (0..self.model.blocks).filter(differs).count();
            tally.reach(Reached::LostCached, lost as u64);
            self.cached.clear();
            self.durable = content;
        }
        let (mut lost, mut kept) = (u64::MAX, 0);
        for (block, mut versions) in std::mem::take(&mut self.cached) {
            let newest = versions.last().map_or(0, |&(at, _)| at);
            if self.random.chance_ppm(keep) {
                kept = kept.max(newest);
            } else {
                lost = lost.min(newest);
                tally.reach(Reached::LostCached, 1);
                versions.truncate(self.random.below(versions.len() as u64) as usize);
            }
            if let Some((_, content)) = versions.pop() {
                self.settle(block, content);
            }
        }
        tally.reach(Reached::Reordered, u64::from(lost < kept));
        self.slow_superblocks = (0, 1);
        (self.slow, self.fail_writes, self.misdirect, self.fail_flush) = ((0, 1), 0, None, false);
        self.has_failed_write = false;
        self.forgotten.clear();
    }

    /// Commands in flight arrive in any part.
    fn cut_off(&mut self, tally: &mut Tally) {
        for slot in 0..self.commands.len() as u32 {
            let Some(working) = &self.commands[slot as usize] else { continue };
            let (op, blocks, missing) = (working.request.op, working.request.blocks, working.missing.len());
            if self.is_there() && op != Op::Read {
                let count = self.random.below(missing as u64 + 1) as usize;
                let arrives = blocks as usize - missing + count;
                tally.reach(
                    Reached::TornWrite,
                    u64::from(op == Op::Write && arrives > 0 && arrives < blocks as usize),
                );
                self.work(slot, count);
                self.tear(slot);
            }
            self.commands[slot as usize] = None;
        }
    }

    /// Half a block arrives, on a drive that breaks its promise.
    fn tear(&mut self, slot: u32) {
        let working = self.commands[slot as usize].as_ref().expect("it is in flight");
        let (Some(Mutant::TearsBlocks), Op::Write, Some(&index)) =
            (self.mutant, working.request.op, working.missing.last())
        else {
            return;
        };
        let block = working.request.block + u64::from(index);
        let mut torn = working.request.data[index as usize].clone();
        let Some(old) = self.content(block) else { return };
        torn.as_mut_slice()[512..].copy_from_slice(&old.as_slice()[512..]);
        self.arrive(block, torn, true);
    }

    /// A drive that was taken out is put back: it works, with what it had.
    pub fn put_back(&mut self, now: Time, tally: &mut Tally) {
        self.power_off(tally);
        self.power_on(now);
        if self.health == Health::Dead {
            self.health = Health::Well;
        }
    }

    /// Restores the power at `now`; a drive that was away answers again.
    pub fn power_on(&mut self, now: Time) {
        if let Some(flash) = &mut self.flash {
            flash.power_cycle(now);
        }
        self.resize();
        if self.health == Health::Away {
            self.health = Health::Well;
        }
    }
}
