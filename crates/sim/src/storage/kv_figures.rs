//! The statistics of a key-value server in front of the storage.

use crate::cpu::CpuTime;
use tailcut_base::Nanos;
use tailcut_base::histogram::LatencyHistogram;
use tailcut_host::kv;

/// The statistics of a server.
#[derive(Clone, Debug, PartialEq)]
pub struct KvFigures {
    /// Length of the measurement.
    pub elapsed: Nanos,
    /// Latencies of `get`s that were answered from memory, as clients see them.
    pub from_memory: LatencyHistogram,
    /// Latencies of `get`s that were answered from flash.
    pub from_flash: LatencyHistogram,
    /// The time that `get`s answered from flash waited for the drive or array alone.
    pub flash: LatencyHistogram,
    /// `get`s for items that did not exist.
    pub misses: u64,
    /// Latencies of `set`s that were stored, as clients see them.
    pub sets: LatencyHistogram,
    /// Commands that the server could not carry out.
    pub refused: u64,
    /// The time account of the server's cores, summed up.
    pub time: CpuTime,
    /// Number of cores as the scheduler sees them: a core with a sibling counts as two.
    pub cpus: usize,
    /// Share of the time during which the cores of its threads were at work, on average.
    pub thread: f64,
    /// Share of the time during which the wires to the server were busy, on average.
    pub wire_in: f64,
    /// Share of the time during which the wires from the server to clients were busy, on average.
    pub wire_out: f64,
    /// What the server's engine has counted in the measurement.
    pub engine: kv::Figures,
}
