//! The world of a scenario, whichever kind it is: chosen once, so that each loop is compiled for its storage.

use super::{InputError, Scenario};
use crate::array::SimulatedArray;
use crate::kv::{Backing, SimulatedServer};
use crate::path::SimulatedHost;
use crate::world::World;
use tailcut_ssd::{Probe, Ssd};

/// What the world of a scenario runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorldKind {
    /// One drive without an array or a host.
    Drive,
    /// An array of drives.
    Array,
    /// A host with drives, or with an array of them.
    Host,
    /// A key-value server with any of these.
    Server,
}

/// A world that is ready to run.
#[expect(clippy::large_enum_variant, reason = "there is one")]
pub enum AnyWorld<P: Probe = ()> {
    /// One drive without an array or a host.
    Drive(World<Ssd<P>>),
    /// An array of drives.
    Array(World<SimulatedArray<P>>),
    /// A host with drives, or with an array of them.
    Host(World<SimulatedHost<P>>),
    /// A key-value server with any of these.
    Server(World<SimulatedServer<Backing<P>>>),
}

/// Evaluates `$what` with `$one` bound to the world inside of an [`AnyWorld`], compiled for each kind.
#[macro_export]
macro_rules! with_world {
    ($world:expr, $one:ident => $what:expr) => {
        match $world {
            $crate::scenario::AnyWorld::Drive($one) => $what,
            $crate::scenario::AnyWorld::Array($one) => $what,
            $crate::scenario::AnyWorld::Host($one) => $what,
            $crate::scenario::AnyWorld::Server($one) => $what,
        }
    };
}

impl<P: Probe> AnyWorld<P> {
    /// The drives, without whatever is in front of them.
    pub fn into_drives(self) -> Vec<Ssd<P>> {
        match self {
            AnyWorld::Drive(world) => vec![world.device],
            AnyWorld::Array(world) => world.device.into_drives(),
            AnyWorld::Host(world) => world.device.into_drives(),
            AnyWorld::Server(world) => world.device.into_storage().into_drives(),
        }
    }
}

impl Scenario {
    /// The kind of its world.
    pub fn world_kind(&self) -> WorldKind {
        if self.kv.enabled {
            WorldKind::Server
        } else if self.host.is_on() {
            WorldKind::Host
        } else if self.array.drives > 0 {
            WorldKind::Array
        } else {
            WorldKind::Drive
        }
    }

    /// The world of this scenario, of the kind that it asks for, ready to run; every drive is watched by a
    /// probe of its own.
    ///
    /// # Errors
    /// As [`Scenario::world`]; [`InputError::Kv`].
    pub fn any_world<P: Probe>(
        &self,
        probe: impl Fn() -> P,
        skip_bad_lines: bool,
    ) -> Result<AnyWorld<P>, InputError> {
        Ok(match self.world_kind() {
            WorldKind::Drive => AnyWorld::Drive(self.world(probe(), skip_bad_lines)?),
            WorldKind::Array => AnyWorld::Array(self.array_world(probe, skip_bad_lines)?),
            WorldKind::Host => AnyWorld::Host(self.host_world(probe, skip_bad_lines)?),
            WorldKind::Server => AnyWorld::Server(self.kv_world(probe, skip_bad_lines)?),
        })
    }
}
