//! The statistics of a key-value server during a measurement.

use super::connection::Outcome;
use crate::cpu::{CpuTime, Spent};
use crate::storage::KvFigures;
use tailcut_base::histogram::LatencyHistogram;
use tailcut_base::{Nanos, Time};
use tailcut_host::kv;

/// Counters from the beginning of a measurement on.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    pub from: Time,
    pub is_counting: bool,
    pub from_memory: LatencyHistogram,
    pub from_flash: LatencyHistogram,
    pub flash: LatencyHistogram,
    pub sets: LatencyHistogram,
    pub misses: u64,
    pub refused: u64,
    /// Where the cores, the wires and the engine were when it began.
    pub cores: Vec<CpuTime>,
    pub wires: [Nanos; 2],
    pub engine: kv::Figures,
}

impl Tally {
    /// A command has ended.
    pub(super) fn note(&mut self, outcome: Outcome, is_from_flash: bool, latency: Nanos) {
        match outcome {
            Outcome::Hit(_) if is_from_flash => self.from_flash.record(latency),
            Outcome::Hit(_) => self.from_memory.record(latency),
            Outcome::Miss => self.misses += 1,
            Outcome::Stored => self.sets.record(latency),
            Outcome::Refused => self.refused += 1,
        }
    }

    /// The statistics until `now`, given the cores, the first `threads` of which serve, the wires with the
    /// number of links, and the engine.
    pub(super) fn figures(
        &self,
        now: Time,
        cores: &[CpuTime],
        threads: usize,
        (wires, links): ([Nanos; 2], u32),
        engine: &kv::Figures,
    ) -> KvFigures {
        let elapsed = now.since(self.from);
        let mut time = CpuTime::default();
        let zero = CpuTime::default();
        let before = |cpu: usize| self.cores.get(cpu).unwrap_or(&zero);
        for (cpu, core) in cores.iter().enumerate() {
            time.merge(&core.since(before(cpu)));
        }
        let idle = |cpu: usize| cores[cpu].since(before(cpu)).of(Spent::Idle);
        let idle = (0..threads).map(idle).sum();
        let share = |busy: Nanos, places: u32| busy.0 as f64 / (elapsed.0.max(1) * u64::from(places)) as f64;
        KvFigures {
            elapsed,
            from_memory: self.from_memory.clone(),
            from_flash: self.from_flash.clone(),
            flash: self.flash.clone(),
            misses: self.misses,
            sets: self.sets.clone(),
            refused: self.refused,
            time,
            cpus: cores.len(),
            thread: 1.0 - share(idle, threads as u32),
            wire_in: share(wires[0].saturating_sub(self.wires[0]), links),
            wire_out: share(wires[1].saturating_sub(self.wires[1]), links),
            engine: since(engine, &self.engine),
        }
    }
}

fn since(now: &kv::Figures, before: &kv::Figures) -> kv::Figures {
    kv::Figures {
        hits_in_memory: now.hits_in_memory - before.hits_in_memory,
        hits_on_flash: now.hits_on_flash - before.hits_on_flash,
        puts: now.puts - before.puts,
        evicted: now.evicted - before.evicted,
        not_admitted: now.not_admitted - before.not_admitted,
        expired: now.expired - before.expired,
        moved_to_flash: now.moved_to_flash - before.moved_to_flash,
        written: now.written - before.written,
        copied: now.copied - before.copied,
        tombstones: now.tombstones - before.tombstones,
        damaged: now.damaged - before.damaged,
        damaged_segments: now.damaged_segments - before.damaged_segments,
        repaired: now.repaired - before.repaired,
        failed_reads: now.failed_reads - before.failed_reads,
        strangers: now.strangers - before.strangers,
        reclaimed: now.reclaimed - before.reclaimed,
    }
}
