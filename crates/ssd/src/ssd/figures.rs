//! The figures of a drive.

use super::Ssd;
use crate::backend::holder::HOLDERS;
use crate::counters::Counters;
use crate::figures::Figures;
use crate::flash::{LogicalPage, PlaneId};
use crate::frontend::behaviour::{Accuracy, Prediction, Service, WaitPrediction};
use crate::mapping::ftl::{BlockState, Location};
use crate::probe::Probe;
use crate::request::Kind;
use crate::timers::Direction;
use tailcut_base::{CommandId, Nanos, Time};

impl<P: Probe> Ssd<P> {
    /// Turns predictions on: see [`crate::frontend::behaviour`].
    pub fn track_behaviour(&mut self) {
        self.frontend.track_behaviour(self.backend.luns().len());
    }

    /// Moves the predictions made since the last call to `predictions`.
    pub fn take_predictions(&mut self, predictions: &mut Vec<Prediction>) {
        predictions.append(self.frontend.predictions());
    }

    /// How well each kind of service has been predicted, in the order of [`Service::ALL`].
    pub fn prediction_accuracy(&self) -> [Accuracy; Service::ALL.len()] {
        self.frontend.prediction_accuracy()
    }

    /// Predicts when a write that found the buffer full gets space.
    pub fn wait_prediction(&mut self, now: Time, id: CommandId, sector: u64) -> WaitPrediction {
        self.frontend.wait_prediction(now, id, sector)
    }

    /// Free space of the write buffer in bytes, which every completion carries along.
    pub fn buffer_room(&self) -> u64 {
        self.frontend.buffer.room() * self.geometry.page_bytes
    }

    /// How long after it has been sent a command is known for what it is.
    pub fn time_to_know(&self) -> Nanos {
        self.frontend.time_to_know()
    }

    /// The time of each LUN by holder, in the order of [`Holder::ALL`](crate::holder::Holder::ALL), up to `now`,
    /// which must not be before the last event served.
    pub fn lun_times(&self, now: Time) -> impl Iterator<Item = [u64; HOLDERS]> {
        self.backend.luns().iter().map(move |lun| {
            let account = lun.account(now);
            std::array::from_fn(|holder| account[holder])
        })
    }

    /// The figures up to `now`, which must not be before the last event served. Transactions under way are
    /// counted; of their time on cells and buses, and of what is reserved of the link, only what has passed.
    pub fn figures(&self, now: Time) -> Figures {
        let [dies_ahead, planes_ahead] = self.backend.cells_ahead(now);
        let mut holders = [0; HOLDERS];
        for lun in self.backend.luns().iter() {
            for (sum, time) in holders.iter_mut().zip(lun.account(now)) {
                *sum += time;
            }
        }
        let g = &self.geometry;
        Figures {
            at: now,
            counts: self.counters(),
            erased_blocks: self.erased_blocks() as i64,
            buffer_read_hits: self.frontend.buffer.read_hits,
            buffer_write_hits: self.frontend.buffer.write_hits,
            cache: self.frontend.cache.counts,
            transactions: self.backend.luns().transactions,
            served: self.backend.luns().served,
            parallelism: self.backend.luns().parallelism,
            served_in: self.backend.luns().served_in,
            holders,
            most_passed: self.backend.most_passed(),
            luns: self.backend.luns().len() as u64,
            places: u64::from(g.places_per_lun()),
            active: self.backend.active(now),
            held_active: self.backend.held_active(now),
            out_wait: self.backend.luns().out_wait,
            die_busy: self.backend.luns().die_busy.saturating_sub(dies_ahead),
            dies: u64::from(g.channels * g.chips * g.dies),
            plane_busy: self.backend.luns().plane_busy.saturating_sub(planes_ahead),
            planes: u64::from(g.plane_count()),
            bus_busy: g.channel_ids().map(|c| self.backend.bus_busy(c, now)).sum(),
            channels: u64::from(g.channels),
            link_busy: [Direction::ToHost, Direction::ToDevice].map(|way| self.frontend.link.busy(way, now)),
            link_bytes: [
                self.frontend.link.bytes(Direction::ToHost),
                self.frontend.link.bytes(Direction::ToDevice),
            ],
        }
    }

    /// What the drive has counted.
    fn counters(&self) -> Counters {
        let backend = self.backend.counts();
        Counters {
            program_suspends: backend.program_suspends,
            erase_suspends: backend.erase_suspends,
            program_resets: backend.program_resets,
            erase_resets: backend.erase_resets,
            levelled_queues: backend.levelled_queues,
            ..self.mapping.counters.clone()
        }
    }

    /// The spread of wear: fewest, mean and most erases of a block that is in service.
    pub fn wear(&self) -> (u32, f64, u32) {
        let good = self.geometry.block_ids().filter(|&b| !self.mapping.nand.is_bad(b));
        let (mut least, mut sum, mut most, mut count) = (u32::MAX, 0u64, 0, 0u64);
        for erases in good.map(|b| self.mapping.nand.erases(b)) {
            (least, most) = (least.min(erases), most.max(erases));
            sum += u64::from(erases);
            count += 1;
        }
        if count == 0 { (0, 0.0, 0) } else { (least, sum as f64 / count as f64, most) }
    }

    /// The valid pages of each block that is full, in the order of block numbers; walks all blocks.
    pub fn valid_pages_of_closed_blocks(&self) -> Vec<u32> {
        let blocks = self.geometry.block_ids();
        let closed = blocks.filter(|&block| self.mapping.ftl.state(block) == BlockState::Closed);
        closed.map(|block| self.mapping.ftl.valid_pages(block)).collect()
    }

    /// The valid pages of each block that is programmed to its end, in the order of block numbers; walks all
    /// blocks.
    pub fn valid_pages_of_full_blocks(&self) -> Vec<u32> {
        let blocks = self.geometry.block_ids();
        let full = blocks.filter(|&block| self.mapping.nand.next_page(block) == self.geometry.pages);
        full.map(|block| self.mapping.ftl.valid_pages(block)).collect()
    }

    /// The plane in which a logical page lies; `None` while it is in the buffer, or not written.
    pub fn plane_of_page(&self, logical: LogicalPage) -> Option<PlaneId> {
        match self.mapping.ftl.lookup(logical) {
            Location::Flash(physical) => Some(self.layout.plane_of_block(self.layout.block_of(physical))),
            _ => None,
        }
    }

    /// Pages that can still be programmed in each block of a plane that is programmed in part, in the order
    /// of block numbers.
    pub fn pages_left_in_open_blocks(&self, plane: PlaneId) -> Vec<u32> {
        let blocks = self.layout.blocks_of(plane);
        let left = blocks.map(|block| self.geometry.pages - self.mapping.nand.next_page(block));
        left.filter(|left| (1..self.geometry.pages).contains(left)).collect()
    }

    /// Planes of the drive.
    pub fn planes(&self) -> u32 {
        self.geometry.plane_count()
    }

    /// The name of each kind of transaction, for the arrays of [`Figures`].
    pub fn kinds() -> [&'static str; Kind::ALL.len()] {
        Kind::ALL.map(Kind::label)
    }
}
