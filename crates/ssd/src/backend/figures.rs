//! What LUNs have done, in figures.

use super::Backend;
use crate::backend::lun::Phase;
use crate::backend::transaction::Transaction;
use crate::config::Handling;
use crate::counters::Counters;
use crate::figures::Figures;
use crate::flash::LunId;
use crate::holder::HOLDERS;
use tailcut_base::{Nanos, Time};

/// What the LUNs did while there was a command in the drive. Buffered writes and collection keep
/// LUNs at work beyond it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Occupancy {
    commands: u32,
    /// Time with a command in the drive, up to the last moment without one.
    active: Nanos,
    /// When the first command came.
    since: Time,
    /// Time held while there was a command, up to the last moment without one.
    held: Nanos,
    /// What the LUNs had been held in all when the first command came.
    before: Nanos,
}

impl Occupancy {
    /// A command enters the drive, whose LUNs have been held so long in all.
    #[inline]
    pub(crate) fn enter(&mut self, now: Time, held: Nanos) {
        if self.commands == 0 {
            self.since = now;
            self.before = held;
        }
        self.commands += 1;
    }

    /// A command leaves the drive.
    #[inline]
    pub(crate) fn leave(&mut self, now: Time, held: Nanos) {
        self.commands -= 1;
        if self.commands == 0 {
            self.active += now.since(self.since);
            self.held += held - self.before;
        }
    }

    /// Time with a command in the drive.
    pub(crate) fn active(&self, now: Time) -> Nanos {
        self.active + if self.commands == 0 { Nanos::ZERO } else { now.since(self.since) }
    }

    /// Time of all LUNs during which a transaction held them while there was a command.
    pub(crate) fn held(&self, held: Nanos) -> Nanos {
        self.held + if self.commands == 0 { Nanos::ZERO } else { held - self.before }
    }
}

impl Backend {
    /// A command enters the drive.
    #[inline]
    pub(crate) fn command_enters(&mut self, now: Time) {
        self.occupancy.enter(now, self.luns.held(now));
    }

    /// A command leaves the drive.
    #[inline]
    pub(crate) fn command_leaves(&mut self, now: Time) {
        self.occupancy.leave(now, self.luns.held(now));
    }

    /// The figures of LUNs and buses up to `now`, beside the counts of the other machines. Transactions under
    /// way are counted; of their time on cells and buses, only the past part.
    pub(crate) fn figures(&self, now: Time, counts: &Counters) -> Figures {
        let [dies_ahead, planes_ahead] = self.cells_ahead(now);
        let mut holders = [0; HOLDERS];
        for lun in self.luns.iter() {
            for (sum, time) in holders.iter_mut().zip(lun.account(now)) {
                *sum += time;
            }
        }
        Figures {
            at: now,
            counts: Counters {
                program_suspends: self.counts.program_suspends,
                erase_suspends: self.counts.erase_suspends,
                program_resets: self.counts.program_resets,
                erase_resets: self.counts.erase_resets,
                levelled_queues: self.counts.levelled_queues,
                ..counts.clone()
            },
            transactions: self.luns.transactions,
            served: self.luns.served,
            parallelism: self.luns.parallelism,
            served_in: self.luns.served_in,
            holders,
            most_passed: self.scheduler.most_passed(),
            luns: self.luns.len() as u64,
            places: u64::from(self.layout.places()),
            active: self.occupancy.active(now),
            held_active: self.occupancy.held(self.luns.held(now)),
            out_wait: self.luns.out_wait,
            die_busy: self.luns.die_busy.saturating_sub(dies_ahead),
            plane_busy: self.luns.plane_busy.saturating_sub(planes_ahead),
            bus_busy: self.buses.busy(now),
            ..Figures::default()
        }
    }

    /// The time of each LUN by holder, in the order of [`Holder::ALL`](crate::holder::Holder::ALL), up to
    /// `now`.
    pub(crate) fn lun_times(&self, now: Time) -> impl Iterator<Item = [u64; HOLDERS]> {
        self.luns.iter().map(move |lun| {
            let account = lun.account(now);
            std::array::from_fn(|holder| account[holder])
        })
    }

    /// LUNs with work that they have not started.
    pub(crate) fn luns_with_work(&self) -> usize {
        self.luns.iter().filter(|lun| lun.has_work()).count()
    }

    /// Cell time of transactions under way that is counted already and lies behind `now`: of dies, and of
    /// planes.
    fn cells_ahead(&self, now: Time) -> [Nanos; 2] {
        let mut ahead = [Nanos::ZERO; 2];
        let mut add = |[dies, planes]: [Nanos; 2]| {
            ahead[0] += dies;
            ahead[1] += planes;
        };
        for lun in self.luns.ids() {
            let u = &self.luns[lun];
            let stops = match u.phase {
                Phase::Idle | Phase::AwaitStart => None,
                Phase::Suspending => Some(self.stops_at(lun, Handling::Suspend).min(now)),
                Phase::Resetting => Some(self.stops_at(lun, Handling::Reset).min(now)),
                Phase::Cell | Phase::AwaitIn | Phase::AwaitOut | Phase::Out => Some(now),
            };
            if let Some(stops) = stops {
                let left = Nanos(u.transaction.cell_end.0.saturating_sub(stops.0));
                // Pages of a program that were put off: their cells have not begun.
                let put_off = if u.phase == Phase::AwaitIn { usize::from(u.transaction.left) } else { 0 };
                add(self.cells_left(&u.transaction, left, put_off));
            }
            if let Some((transaction, left)) = self.preemption.set_aside(lun) {
                add(self.cells_left(transaction, left, 0));
            }
        }
        ahead
    }

    /// When the cells of a LUN that is being preempted stop, or have stopped.
    fn stops_at(&self, lun: LunId, handling: Handling) -> Time {
        let u = &self.luns[lun];
        Time(u.makes_room_at.0.saturating_sub(self.time_to_take(u.transaction.kind, handling).0))
    }

    /// Cell time of dies and of planes that a transaction has before it, of which the last cell has `left`,
    /// and the last `put_off` members all of theirs.
    fn cells_left(&self, transaction: &Transaction, left: Nanos, put_off: usize) -> [Nanos; 2] {
        let t = transaction;
        if t.members().len() == 1 {
            // The cell time of a read may differ from that of its page.
            let stood = t.started + t.command + t.suspended;
            let cell = left.min(Nanos(t.cell_end.0.saturating_sub(stood.0)));
            return [cell; 2];
        }
        let (mut sums, mut seen) = ([Nanos::ZERO; 2], 0u16);
        let crossed = t.members().len() - put_off;
        for (index, &id) in t.members().iter().enumerate() {
            let whole = self.cell_time(id, t.kind);
            let cell = if index < crossed { whole.min(left) } else { whole };
            let die = 1u16 << self.layout.planes().quotient(u32::from(self.requests[id].place));
            sums[1] += cell;
            if seen & die == 0 {
                sums[0] += cell;
            }
            seen |= die;
        }
        sums
    }
}
