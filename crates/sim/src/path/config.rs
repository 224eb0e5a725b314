//! The host as a part of a scenario.

use crate::cpu::Machine;
use tailcut_base::config::{Configure, KeyVisitor, choose, count_u32};
use tailcut_base::{BadValue, Nanos};
use tailcut_host::path::{Strategy, ahci};

tailcut_base::choice! {
    /// What the drives are connected by.
    pub enum ControllerKind {
        /// One interrupt, a port with 32 tags for each drive.
        Ahci = "ahci",
        /// A queue pair and an interrupt for each core.
        Nvme = "nvme",
    }
}

tailcut_base::choice! {
    /// What else runs on the host.
    pub enum Background {
        /// Nothing.
        None = "none",
        /// Threads that read from a device of their own, one request at a time.
        Io = "io",
        /// Threads that compute without an end.
        Cpu = "cpu",
    }
}

/// The host between workload and drives; there is none while `strategy` is empty.
#[derive(Clone, Debug, PartialEq)]
pub struct HostConfig {
    /// The I/O strategy: names joined by `+`; empty for no host at all.
    pub strategy: String,
    /// Number of cores of the host, siblings not counted.
    pub cores: u32,
    /// Whether each core shows as two that share its speed.
    pub siblings: bool,
    /// Speed of a core, in parts per million of the i7-4770 that the costs are those of.
    pub speed: u32,
    /// Number of threads of the workload, each with at most one request in flight.
    pub threads: u32,
    /// Nice level of the workload's threads, plus 20: 0 goes first.
    pub priority: u32,
    /// Nice level, plus 20, of the thread that does an array's own work: 39 goes last.
    pub array_priority: u32,
    /// Whether the thread that does an array's own work has the last core to itself.
    pub array_core: bool,
    /// Processor time of an array with a log or parity for each block of 4 KiB that it writes to a drive.
    pub array_block: Nanos,
    /// Whether one thread carries out all writes of an array with a log or parity.
    pub array_thread: bool,
    /// Processor time of the application for each request.
    pub application: Nanos,
    /// Whether the drives are connected by AHCI or NVMe.
    pub controller: ControllerKind,
    /// Number of drives like `[device]`, concatenated to one.
    pub drives: u32,
    /// Bytes per second that all drives together can send to the host; 0 for no limit.
    pub uplink: u64,
    /// Time after which a drive that has not completed a command counts as gone, and its commands fail.
    pub timeout: Nanos,
    /// How long the poll thread sleeps between two polls.
    pub poll_interval: Nanos,
    /// How long before the end of a small read the drive announces it.
    pub window: Nanos,
    /// Whether the window adapts to the time that threads take to be on their cores, from `window` on.
    pub window_feedback: bool,
    /// What other threads do on the cores: nothing, I/O to a device of their own, or endless computing.
    pub background: Background,
    /// Number of background threads.
    pub background_threads: u32,
    /// Time that a request of a background thread takes on its device.
    pub background_latency: Nanos,
}

impl Default for HostConfig {
    /// No host. What it would be: the machine of Shin (2017, section 3.4), an i7-4770.
    fn default() -> HostConfig {
        HostConfig {
            strategy: String::new(),
            cores: 4,
            siblings: true,
            speed: 1_000_000,
            threads: 128,
            priority: 20,
            array_priority: 20,
            array_core: false,
            array_block: Nanos::ZERO,
            array_thread: false,
            application: Nanos(500),
            controller: ControllerKind::Nvme,
            drives: 1,
            uplink: 0,
            // Linux's for SCSI disks and NVMe alike (`SD_TIMEOUT`, `nvme_core.io_timeout`).
            timeout: Nanos::secs(30),
            poll_interval: Nanos::micros(16),
            window: Nanos::micros(8),
            window_feedback: false,
            background: Background::None,
            background_threads: 8,
            background_latency: Nanos::micros(100),
        }
    }
}

impl HostConfig {
    /// True if a host is modelled.
    pub fn is_on(&self) -> bool {
        !self.strategy.is_empty()
    }

    /// The strategy that the text of the configuration describes.
    ///
    /// # Panics
    /// If there is no strategy, or it is invalid: the configuration must have been checked.
    pub fn described(&self) -> Strategy {
        Strategy::parse(&self.strategy).expect("the configuration has been checked")
    }

    /// The cores.
    pub(super) fn machine(&self) -> Machine {
        let thousandths = u64::from(self.speed / 1000);
        Machine::new(self.cores as usize, self.siblings).with_speed(thousandths)
    }

    /// Number of cores as the scheduler sees them: a core with a sibling counts as two.
    pub fn cpus(&self) -> u32 {
        if self.siblings { 2 * self.cores } else { self.cores }
    }
}

/// Cores at most, siblings counted.
const CPUS_MAX: u32 = 16;

impl Configure for HostConfig {
    fn configure(&mut self, visit: &mut dyn KeyVisitor) {
        visit.text(
            "strategy",
            "How the host issues requests and sees their ends, with all that costs on its cores: scsi, nvme, \
             nonblocking, lazy, coop, poll, coop-poll, spin, precomplete, buffer-spin, hit-spin, \
             room-notice, hybrid, or several joined by +; empty for a host that costs nothing.",
            &mut self.strategy,
        );
        count_u32(visit, "cores", "Cores of the host.", &mut self.cores, 1..=CPUS_MAX);
        visit.flag("siblings", "Each core shows as two that share its speed.", &mut self.siblings);
        visit.share(
            "speed",
            "Speed of a core, compared with the i7-4770 that all costs are those of.",
            &mut self.speed,
            10_000..=4_000_000,
        );
        count_u32(
            visit,
            "threads",
            "Threads of the workload; each waits for its own request.",
            &mut self.threads,
            1..=4096,
        );
        count_u32(
            visit,
            "priority",
            "Nice level of these threads plus 20: 0 goes first.",
            &mut self.priority,
            0..=39,
        );
        count_u32(
            visit,
            "array_priority",
            "Nice level plus 20 of the thread that does an array's own work: 39 goes after all others.",
            &mut self.array_priority,
            0..=39,
        );
        visit.flag(
            "array_core",
            "The thread that does an array's own work has the last core to itself: what it issues interrupts \
                nobody else.",
            &mut self.array_core,
        );
        visit.time(
            "array_block",
            "What an array with a log or parity does on a core for each block of 4 KiB that it writes to a \
                drive: copying it, its entry in the map or its stripe, its share of the parity.",
            &mut self.array_block,
            Nanos(0)..=Nanos::millis(1),
        );
        visit.flag(
            "array_thread",
            "One thread carries out all writes of an array with a log or parity, as md's raid5d does; \
                otherwise each thread carries out its own.",
            &mut self.array_thread,
        );
        visit.time(
            "application",
            "What the application does on a core for each request.",
            &mut self.application,
            Nanos(0)..=Nanos::secs(1),
        );
        choose(visit, "controller", "What the drives are connected by.", &mut self.controller);
        count_u32(visit, "drives", "Drives like [device], concatenated.", &mut self.drives, 1..=16);
        visit.rate(
            "uplink",
            "What all drives together can send to the host; 0 for no limit.",
            &mut self.uplink,
            0..=1_000_000_000_000,
        );
        visit.time(
            "timeout",
            "How long a drive may take for a command; one that takes longer is taken to be gone, and its \
                commands fail.",
            &mut self.timeout,
            Nanos::millis(1)..=Nanos::secs(3600),
        );
        visit.time(
            "poll_interval",
            "How long the poll thread sleeps between two looks.",
            &mut self.poll_interval,
            Nanos::micros(1)..=Nanos::millis(100),
        );
        visit.time(
            "window",
            "How long before the end of a small read the drive announces it (precomplete).",
            &mut self.window,
            Nanos(0)..=Nanos::millis(100),
        );
        visit.flag(
            "window_feedback",
            "That is where the window begins; from then on it follows how long threads take to be on their \
                cores.",
            &mut self.window_feedback,
        );
        choose(visit, "background", "What else runs on the cores.", &mut self.background);
        count_u32(
            visit,
            "background_threads",
            "How many such threads.",
            &mut self.background_threads,
            1..=1024,
        );
        visit.time(
            "background_latency",
            "How long a request of a background thread is with its device.",
            &mut self.background_latency,
            Nanos::micros(1)..=Nanos::secs(1),
        );
        self.check(visit);
    }
}

impl HostConfig {
    fn check(&self, visit: &mut dyn KeyVisitor) {
        if !self.is_on() {
            return;
        }
        if let Err(BadValue { message }) = Strategy::parse(&self.strategy) {
            visit.problem("strategy", message);
        }
        if self.cpus() > CPUS_MAX {
            let cpus = self.cpus();
            let message = format!(
                "with siblings they count as {cpus}, of {CPUS_MAX} at most: use fewer, or siblings = false"
            );
            visit.problem("cores", message);
        }
        if self.array_core && self.cores < 2 {
            visit.problem(
                "array_core",
                "one core is not enough to set one aside: raise cores, or set array_core = false".into(),
            );
        }
        if self.controller == ControllerKind::Ahci && self.drives > ahci::PORTS {
            visit.problem(
                "drives",
                format!(
                    "an AHCI controller has {} ports; use fewer drives or controller = \"nvme\"",
                    ahci::PORTS
                ),
            );
        }
    }
}
