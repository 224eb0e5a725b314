//! Policies that choose a handle for writes of hosts that know nothing of their data.
//!
//! Each looks at addresses and lengths of writes only, as a block layer can, and has a bounded memory.

use super::recency::Recency;
use super::sequences::Sequences;
use crate::disk::Request;
use tailcut_base::cast::{to_u8, to_u32};
use tailcut_base::device::BLOCK_SECTORS;
use tailcut_base::fdp::HandleId;
use tailcut_base::{Command, CommandId, Op};

tailcut_base::choice! {
    /// How the handle of a write is chosen.
    pub enum PlacementPolicy {
        /// By the sender: the handle that the write names.
        Named = "named",
        /// By the length of the write: handle 0 for less than 16 KiB, and the next one for each factor of
        /// four. CacheLib keeps small and large objects apart in this way (Allison et al., EuroSys 2025).
        Size = "size",
        /// By how much was written since the address was last written: handle 0 for a quarter of the device
        /// and more, and for a first write, and the next one for each further factor of four below that. The
        /// lifespan of what a write replaces predicts that of its data (SepBIT; Wang et al., FAST 2022,
        /// section 3.2).
        Recency = "recency",
        /// By whether it continues a sequence of writes: handle 0 for other writes, and the rest in turn for
        /// sequences of [`Sequences::LEAST_SECTORS`] and more, as the sequential cut-off of Linux's bcache
        /// recognises them.
        Sequence = "sequence",
    }
}

/// Chooses handles by a policy.
///
/// [`Placer::choose`] has no effect, so that a write which the device did not accept can be submitted again;
/// [`Placer::record`] follows once it was accepted.
#[derive(Clone, Debug)]
pub struct Placer {
    handles: u32,
    by: Basis,
}

/// What a policy knows.
#[derive(Clone, Debug)]
enum Basis {
    Name,
    Size,
    Recency(Recency),
    Sequence(Box<Sequences>),
}

impl Placer {
    /// For a device of `sectors` sectors of 512 bytes with `handles` handles, at least 1.
    pub fn new(policy: PlacementPolicy, sectors: u64, handles: u32) -> Placer {
        let by = match policy {
            PlacementPolicy::Named => Basis::Name,
            PlacementPolicy::Size => Basis::Size,
            PlacementPolicy::Recency => Basis::Recency(Recency::new(sectors)),
            PlacementPolicy::Sequence => Basis::Sequence(Box::new(Sequences::new())),
        };
        Placer { handles: handles.max(1), by }
    }

    /// The handle for a write; for any other operation the one that it names.
    pub fn choose(&self, command: &Command) -> HandleId {
        let named = HandleId::new(u32::from(command.stream));
        let (Op::Write, 2..) = (command.op, self.handles) else { return named };
        let wanted = match &self.by {
            Basis::Name => return named,
            Basis::Size => factors_of_four(u64::from(command.sectors) / BLOCK_SECTORS),
            Basis::Recency(recency) => match recency.age(command.sector, command.sectors) {
                Some(age) => factors_of_four(recency.sectors() / age.max(1)),
                None => 0,
            },
            // All handles but the first, in turn.
            Basis::Sequence(sequences) => match sequences.find(command.sector, command.sectors) {
                Some(sequence) => 1 + sequence % (self.handles - 1),
                None => 0,
            },
        };
        HandleId::new(wanted.min(self.handles - 1))
    }

    /// The device has accepted a command.
    pub fn record(&mut self, command: &Command) {
        if command.op != Op::Write {
            return;
        }
        match &mut self.by {
            Basis::Name | Basis::Size => {}
            Basis::Recency(recency) => recency.record(command.sector, command.sectors),
            Basis::Sequence(sequences) => sequences.record(command.sector, command.sectors),
        }
    }

    /// `command` as the device gets it.
    pub fn placed(&self, command: Command) -> Command {
        Command { stream: to_u8(self.choose(&command).get()), ..command }
    }

    /// Places a request on a disk that accepts it now.
    #[inline]
    pub fn place<B>(&mut self, request: &mut Request<B>) {
        if request.op == Op::Write {
            let command = request.command(CommandId(0));
            request.handle = self.choose(&command);
            self.record(&command);
        }
    }
}

/// The largest `n` with 4 to the power of `n` at most `ratio`; 0 for 0.
fn factors_of_four(ratio: u64) -> u32 {
    to_u32(ratio.checked_ilog2().unwrap_or(0) / 2)
}
