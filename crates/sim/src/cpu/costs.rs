//! The cost of each step of the host: one constant each, equal in every study.
//!
//! Two sums are given by Shin (2017, section 1.1.2): the SCSI path of a request takes 13.5 µs, and of the
//! CPU time of a request at least 7 µs are the price of changing contexts. We read the second as a part of
//! the first. The constants below divide these sums; `docs/model.md`, section "Host", lists which of the
//! parts are measured elsewhere and which are assumed. Its tests hold the sums.

use tailcut_base::Nanos;

/// Entering and leaving a hardware interrupt (assumed).
pub const HARD_ENTRY: Nanos = Nanos(800);

/// Acknowledging an interrupt of an AHCI controller: reading and clearing its status over the bus. One read
/// of a register takes the round trip that pcie-bench measures, about 0.5 µs on Haswell (Neugebauer et al.,
/// SIGCOMM 2018); there are two, of the controller and of a port. Not part of the sums: one interrupt serves
/// many requests.
pub const ACKNOWLEDGE: Nanos = Nanos(1000);

/// Looking for a completion in memory (assumed: a cache line that the device has written).
pub const CHECK: Nanos = Nanos(150);

/// Sending an inter-processor interrupt (assumed; with the one below 1.2 µs of the 7).
pub const IPI_SEND: Nanos = Nanos(400);

/// Receiving an inter-processor interrupt (entry and exit as for [`HARD_ENTRY`]).
pub const IPI_ENTRY: Nanos = HARD_ENTRY;

/// Raising, entering and leaving a software interrupt (assumed).
pub const SOFT_ENTRY: Nanos = Nanos(600);

/// Making a thread ready: lock of its run queue, placing it there (assumed).
pub const WAKE: Nanos = Nanos(1000);

/// From one thread to another, directly: registers, address space, scheduler (assumed; Li, Ding and Shen,
/// ExpCS 2007, measured 3.8 µs on a Xeon of 2 GHz, which with its twice as old core is the most that it can
/// be).
pub const SWITCH: Nanos = Nanos(1600);

/// The cost of cold caches for a thread that resumes after another has run (assumed; the same source has
/// microseconds for small working sets).
pub const REFILL: Nanos = Nanos(1800);

/// From an idle core to the first instruction: exit of C1 of Haswell (`intel_idle.c`, `hsw_cstates`: 2 µs).
/// Deeper states are taken to be off, as they are where latencies are measured.
pub const IDLE_EXIT: Nanos = Nanos(2000);

/// System call, file layer, pinning the pages of a direct request (assumed).
pub const ENTER: Nanos = Nanos(1000);

/// The way back to the application (assumed).
pub const RETURN: Nanos = Nanos(400);

/// Building the command under SCSI: request queue, elevator, SCSI layer, ATA translation, mapping for DMA
/// (what remains of the 13.5 µs).
pub const BUILD_SCSI: Nanos = Nanos(2600);

/// Building the command where one driver does all of it: no request queue, no SCSI (assumed; section 2.2 has
/// "one or two microseconds" for such paths as a whole).
pub const BUILD_DIRECT: Nanos = Nanos(1000);

/// Handing a command to the controller: one posted write of a register (assumed).
pub const ISSUE: Nanos = Nanos(300);

/// Taking one completion from the controller under SCSI (assumed).
pub const FETCH_SCSI: Nanos = Nanos(700);

/// Taking one completion over the HAL (assumed).
pub const FETCH_DIRECT: Nanos = Nanos(400);

/// Post-processing under SCSI: unmapping, freeing descriptors of three layers, ending the request (assumed).
pub const FINISH_SCSI: Nanos = Nanos(1500);

/// Post-processing over the HAL: unmapping, one descriptor (assumed).
pub const FINISH_DIRECT: Nanos = Nanos(1000);

/// The speed of each of two hardware threads of a core while the other is busy, in thousandths of its speed
/// alone: together 1.25 of one (Marr et al., Intel Technology Journal 6(1), 2002, report gains up to 30 %).
pub const SHARED_CORE: u64 = 625;

/// Period in which every ready thread runs once, with eight cores: 6 ms × (1 + log2 8) (Linux 3.2,
/// `kernel/sched_fair.c`).
pub const SCHED_LATENCY: Nanos = Nanos::millis(24);

/// The least that a thread runs: 0.75 ms × 4 (same place).
pub const MIN_GRANULARITY: Nanos = Nanos::millis(3);

/// By how much a woken thread must be behind to preempt: 1 ms × 4 (same place).
pub const WAKEUP_GRANULARITY: Nanos = Nanos::millis(4);

/// Weight of each nice level from -20 to 19 (same kernel, `prio_to_weight`).
pub const WEIGHTS: [u64; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904, 3906, 3121,
    2501, 1991, 1586, 1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87, 70, 56, 45, 36, 29,
    23, 18, 15,
];

/// The weight of nice level `nice`, -20 … 19.
pub fn weight(nice: i8) -> u64 {
    WEIGHTS[usize::from((nice + 20) as u8)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_the_scsi_path_make_up_the_sums_of_the_dissertation() {
        let contexts = HARD_ENTRY + IPI_SEND + IPI_ENTRY + SOFT_ENTRY + WAKE + SWITCH + REFILL;
        let work = ENTER + BUILD_SCSI + ISSUE + FETCH_SCSI + FINISH_SCSI + RETURN;
        assert_eq!(contexts, Nanos(7000));
        assert_eq!(contexts + work, Nanos(13_500));
    }
}
