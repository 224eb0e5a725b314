//! The counters of a drive: kept by the drive, read by reports.

use crate::holder::{HOLDERS, Holder};

use crate::counters::{Counters, HandleFigures};
use crate::frontend::cache::CacheCounts;
use crate::request::Kind;
use tailcut_base::{Nanos, Time};

/// Shares of the time of all LUNs, adding up to 1.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Breakdown {
    /// Command, address and data cycles of the LUN's own transactions.
    pub bus_active: f64,
    /// A transaction, or its sensed data, waits for the bus.
    pub bus_contention: f64,
    /// The cells of a die at least are at work, and the LUN does not use its bus.
    pub cell_active: f64,
    /// The rest: the LUN neither uses its bus nor waits for it, and none of its cells are at work.
    pub idle: f64,
}

/// The figures of a drive at one moment; the difference of two describes what lies between.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Figures {
    /// When the figures were taken; of a difference, the time between the two, counted from 0.
    pub at: Time,
    /// Commands, pages programmed, erases and other events since the drive was made.
    pub counts: Counters,
    /// Erased blocks; of a difference, by how many their number has grown.
    pub erased_blocks: i64,
    /// Pages of reads that were served from the DRAM buffer.
    pub buffer_read_hits: u64,
    /// Pages of writes that replaced or extended a page waiting in the DRAM buffer.
    pub buffer_write_hits: u64,
    /// Hits of the read cache, and the outcome of reading ahead, in pages.
    pub cache: CacheCounts,
    /// Transactions by kind, in the order of [`Kind::ALL`], without those that were reset.
    pub transactions: [u64; Kind::ALL.len()],
    /// Memory requests served by transactions, by kind, in the order of [`Kind::ALL`].
    pub served: [u64; Kind::ALL.len()],
    /// Transactions without parallelism, with plane sharing, with die interleaving, with both.
    pub parallelism: [u64; 4],
    /// Memory requests served by these transactions, in the same order.
    pub served_in: [u64; 4],
    /// Time of all LUNs by holder, in ns, in the order of [`Holder::ALL`]; it sums up to time × LUNs.
    pub holders: [u64; HOLDERS],
    /// The most transactions by which a chip's oldest waiting request was passed over, since the drive
    /// was made.
    pub most_passed: u32,
    /// Number of LUNs of the drive; a difference keeps it.
    pub luns: u64,
    /// Number of places (pairs of die and plane) behind each LUN.
    pub places: u64,
    /// Time during which at least one command was in the drive.
    pub active: Nanos,
    /// Time during which a transaction held a LUN while a command was in the drive, summed over LUNs.
    pub held_active: Nanos,
    /// Time that sensed data has waited in chips for a bus, summed over chips.
    pub out_wait: Nanos,
    /// Cell time summed over dies that were at work.
    pub die_busy: Nanos,
    /// Number of dies of the drive; a difference keeps it.
    pub dies: u64,
    /// Cell time summed over planes that were at work.
    pub plane_busy: Nanos,
    /// Number of planes of the drive; a difference keeps it.
    pub planes: u64,
    /// Time that the buses were in use, summed over channels.
    pub bus_busy: Nanos,
    /// Number of channels of the drive; a difference keeps it.
    pub channels: u64,
    /// Time that each direction of the link was in use: to the host, to the device.
    pub link_busy: [Nanos; 2],
    /// Bytes transferred in each direction of the link: to the host, to the device.
    pub link_bytes: [u64; 2],
    /// What became of the data of each reclaim unit handle in each reclaim group, by their streams
    /// ([`PlacementId::stream`](tailcut_base::fdp::PlacementId::stream)); none without data placement.
    pub handles: Vec<HandleFigures>,
}

impl Figures {
    /// The counts and times between `earlier` and `self`; maxima and numbers of parts stay as they are.
    pub fn since(&self, earlier: &Figures) -> Figures {
        // What began before and was reset after `earlier` is counted there and not here.
        fn less<const N: usize>(a: [u64; N], b: [u64; N]) -> [u64; N] {
            std::array::from_fn(|i| a[i].saturating_sub(b[i]))
        }
        Figures {
            at: Time(self.at.since(earlier.at).0),
            counts: self.counts.since(&earlier.counts),
            erased_blocks: self.erased_blocks - earlier.erased_blocks,
            buffer_read_hits: self.buffer_read_hits - earlier.buffer_read_hits,
            buffer_write_hits: self.buffer_write_hits - earlier.buffer_write_hits,
            cache: self.cache.since(&earlier.cache),
            transactions: less(self.transactions, earlier.transactions),
            served: less(self.served, earlier.served),
            parallelism: less(self.parallelism, earlier.parallelism),
            served_in: less(self.served_in, earlier.served_in),
            holders: less(self.holders, earlier.holders),
            most_passed: self.most_passed,
            luns: self.luns,
            places: self.places,
            active: self.active - earlier.active,
            held_active: self.held_active - earlier.held_active,
            out_wait: self.out_wait - earlier.out_wait,
            die_busy: self.die_busy.saturating_sub(earlier.die_busy),
            dies: self.dies,
            plane_busy: self.plane_busy.saturating_sub(earlier.plane_busy),
            planes: self.planes,
            bus_busy: self.bus_busy.saturating_sub(earlier.bus_busy),
            channels: self.channels,
            link_busy: std::array::from_fn(|i| self.link_busy[i].saturating_sub(earlier.link_busy[i])),
            link_bytes: less(self.link_bytes, earlier.link_bytes),
            handles: self.handles.iter().zip(&earlier.handles).map(|(now, then)| now.since(*then)).collect(),
        }
    }

    /// Pages of flash used up for each page that the host's data needed; 1 when nothing was written.
    /// Pages that the buffer absorbed count as neither; pages that resets have spoiled are used up, and
    /// what is programmed again because of them is not needed by the host's data.
    pub fn write_amplification(&self) -> f64 {
        let Counters { programmed_user, pages_restored, .. } = self.counts;
        let needed = programmed_user.saturating_sub(pages_restored);
        if needed == 0 {
            return 1.0;
        }
        self.pages_used() as f64 / needed as f64
    }

    /// Pages of flash used up: programmed, or spoiled by a reset.
    pub fn pages_used(&self) -> u64 {
        let Counters { programmed_user, programmed_gc, pages_spoiled, .. } = self.counts;
        programmed_user + programmed_gc + pages_spoiled
    }

    /// [`Figures::write_amplification`]; `None` where collection has used up pages and the host has written
    /// none.
    pub fn defined_write_amplification(&self) -> Option<f64> {
        let Counters { programmed_user, programmed_gc, pages_spoiled, pages_restored, .. } = self.counts;
        let is_divided_by_none = programmed_user <= pages_restored && programmed_gc + pages_spoiled > 0;
        (!is_divided_by_none).then(|| self.write_amplification())
    }

    /// Erases that have worn blocks: those that were completed and those that were reset.
    pub fn worn(&self) -> u64 {
        self.counts.erases + self.counts.erase_resets
    }

    /// The share of the time of all LUNs during which a transaction held them.
    pub fn lun_utilisation(&self) -> f64 {
        self.share(Nanos(self.held()), self.luns)
    }

    /// Time of all LUNs during which a transaction held them, from its first cycle to its last.
    fn held(&self) -> u64 {
        let idle = [Holder::Idle, Holder::BusWait, Holder::Space];
        Holder::ALL.iter().filter(|holder| !idle.contains(holder)).map(|&h| self.holders[h as usize]).sum()
    }

    /// Inter-chip idleness: the share of the time of all LUNs, while there was a command in the
    /// drive, during which no transaction held them (Sprinkler, sections 3 and 5.3).
    pub fn inter_chip_idleness(&self) -> f64 {
        self.idleness_within(self.active.0 as f64)
    }

    /// The inter-chip idleness that the same transactions would have had, held as long, if they had served
    /// the commands in `time_ns`. At least 0.
    pub fn idleness_within(&self, time_ns: f64) -> f64 {
        let whole = time_ns * self.luns as f64;
        if whole == 0.0 { 0.0 } else { (1.0 - self.held_active.0 as f64 / whole).max(0.0) }
    }

    /// Intra-chip idleness: the share of the time of all places (die and plane) of LUNs that a
    /// transaction held during which their cells were not at work (Sprinkler, sections 2.2 and 5.3).
    pub fn intra_chip_idleness(&self) -> f64 {
        let whole = self.held() as f64 * self.places as f64;
        if whole == 0.0 { 0.0 } else { (1.0 - self.plane_busy.0 as f64 / whole).max(0.0) }
    }

    /// The shares of memory requests that transactions of each class served: no parallelism in the
    /// chip (NON-PAL), plane sharing (PAL1), die interleaving (PAL2), both (PAL3).
    pub fn parallelism_shares(&self) -> [f64; 4] {
        let all: u64 = self.served_in.iter().sum();
        self.served_in.map(|served| if all == 0 { 0.0 } else { served as f64 / all as f64 })
    }

    /// The share of transactions that was saved by serving several memory requests in one.
    pub fn transaction_reduction(&self) -> f64 {
        let (served, transactions) = (self.flash_commands(), self.transactions.iter().sum::<u64>());
        if served == 0 { 0.0 } else { 1.0 - transactions as f64 / served as f64 }
    }

    /// Where the time of all LUNs went (Sprinkler, figure 13).
    pub fn breakdown(&self) -> Breakdown {
        let contention = self.out_wait.0 + self.holders[Holder::BusWait as usize];
        let cells = self.held().saturating_sub(self.bus_busy.0 + self.out_wait.0);
        let bus_active = self.share(self.bus_busy, self.luns);
        let bus_contention = self.share(Nanos(contention), self.luns);
        let cell_active = self.share(Nanos(cells), self.luns);
        let idle = (1.0 - bus_active - bus_contention - cell_active).max(0.0);
        Breakdown { bus_active, bus_contention, cell_active, idle }
    }

    /// The share of the time of all dies during which their cells were at work.
    pub fn die_utilisation(&self) -> f64 {
        self.share(self.die_busy, self.dies)
    }

    /// The share of the time of all planes during which their cells were at work.
    pub fn plane_utilisation(&self) -> f64 {
        self.share(self.plane_busy, self.planes)
    }

    /// The share of the time of all buses during which they were in use.
    pub fn bus_utilisation(&self) -> f64 {
        self.share(self.bus_busy, self.channels)
    }

    /// Flash commands: page reads, page programs and block erases, one for each place.
    pub fn flash_commands(&self) -> u64 {
        self.served.iter().sum()
    }

    /// The share of the time of all `parts` in which they were busy.
    fn share(&self, busy: Nanos, parts: u64) -> f64 {
        let whole = self.at.0 as f64 * parts as f64;
        if whole == 0.0 { 0.0 } else { busy.0 as f64 / whole }
    }
}
