//! A key-value server in a report.

use super::{CpuShare, Curve};
use crate::cpu::Spent;
use crate::storage::KvFigures;
use serde::{Deserialize, Serialize};

/// The statistics of a key-value server during the measurement, seen by its clients and from inside.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KvReport {
    /// `get`s that were answered from memory.
    pub from_memory: u64,
    /// Latencies of the `get`s that were answered from memory, as clients see them.
    pub from_memory_latency: Curve,
    /// `get`s that were answered from flash.
    pub from_flash: u64,
    /// Latencies of the `get`s that were answered from flash, as clients see them.
    pub from_flash_latency: Curve,
    /// The time that `get`s answered from flash waited for the drive or array alone.
    pub flash_latency: Curve,
    /// `get`s for items that did not exist.
    pub misses: u64,
    /// `set`s that were stored.
    pub sets: u64,
    /// Latencies of the `set`s that were stored, as clients see them.
    pub set_latency: Curve,
    /// Commands that the server could not carry out.
    pub refused: u64,
    /// Share of the time during which the cores of its threads were at work, on average. Limit: 1.
    pub thread: f64,
    /// Share of the time during which the wires to the server were busy, on average. Limit: 1.
    pub wire_in: f64,
    /// Share of the time during which the wires from the server were busy. Limit: 1.
    pub wire_out: f64,
    /// What all of its cores spent their time on, the most first; the shares add up to 1.
    pub cpu_time: Vec<CpuShare>,
    /// Bytes of records that were written to the log.
    pub written_bytes: u64,
    /// Bytes of records that were copied to make room. Limit: 0.
    pub copied_bytes: u64,
    /// Items that the server evicted for lack of space.
    pub evicted: u64,
    /// Segments of the log that were reclaimed.
    pub reclaimed: u64,
}

impl KvReport {
    /// The report of a server's counters.
    pub fn new(figures: &KvFigures) -> KvReport {
        let total = figures.time.total().0.max(1) as f64;
        let share =
            |on: Spent| CpuShare { on: on.label().to_string(), share: figures.time.of(on).0 as f64 / total };
        let mut cpu_time: Vec<CpuShare> = Spent::ALL.into_iter().map(share).collect();
        cpu_time.retain(|part| part.share > 0.0);
        cpu_time.sort_by(|a, b| b.share.total_cmp(&a.share));
        KvReport {
            from_memory: figures.from_memory.count(),
            from_memory_latency: Curve::of(&figures.from_memory, 0.0),
            from_flash: figures.from_flash.count(),
            from_flash_latency: Curve::of(&figures.from_flash, 0.0),
            flash_latency: Curve::of(&figures.flash, 0.0),
            misses: figures.misses,
            sets: figures.sets.count(),
            set_latency: Curve::of(&figures.sets, 0.0),
            refused: figures.refused,
            thread: figures.thread,
            wire_in: figures.wire_in,
            wire_out: figures.wire_out,
            cpu_time,
            written_bytes: figures.engine.written,
            copied_bytes: figures.engine.copied,
            evicted: figures.engine.evicted,
            reclaimed: figures.engine.reclaimed,
        }
    }
}
