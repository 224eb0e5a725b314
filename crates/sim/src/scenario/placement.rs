//! How the host places writes on a drive with several reclaim unit handles.

use super::Scenario;
use crate::world::World;
use tailcut_base::config::{Configure, KeyVisitor, choose};
use tailcut_base::{Device, Problem};
use tailcut_host::{PlacementPolicy, Placer};

/// The placement of writes by the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacementConfig {
    /// How the handle of a write is chosen.
    pub policy: PlacementPolicy,
}

impl Default for PlacementConfig {
    /// Every write keeps the handle that its source names.
    fn default() -> PlacementConfig {
        PlacementConfig { policy: PlacementPolicy::Named }
    }
}

impl Configure for PlacementConfig {
    fn configure(&mut self, visit: &mut dyn KeyVisitor) {
        choose(
            visit,
            "policy",
            "How the reclaim unit handle of a write is chosen: as its source names it, or by a host that \
                knows no more than addresses: by the size of the write, by how recently its address was \
                written, or by whether it continues a sequence.",
            &mut self.policy,
        );
    }
}

impl Scenario {
    /// Why `placement.policy` has no effect, if it has none.
    pub fn placement_is_idle(&self) -> Option<&'static str> {
        match (self.array.drives, self.kv.enabled) {
            (_, true) => Some("a server chooses the handles of its writes (kv.enabled)"),
            _ if !self.device.fdp.is_on() => Some("the drive has one handle: raise device.fdp.handles"),
            (1.., _) if self.handles_of_host() == 1 => Some(
                "the array has no handle to spare for its host (array.layout): raise device.fdp.handles, \
                 to 3 with epochs and 4 with raid5; a log has one always",
            ),
            _ => None,
        }
    }

    /// True if the host chooses the handles of all writes.
    pub(super) fn places_writes(&self) -> bool {
        self.placement.policy != PlacementPolicy::Named && self.placement_is_idle().is_none()
    }

    /// What a request can name: the handles of the drive in all of its reclaim groups, or those handles that
    /// an array does not need.
    pub(super) fn handles_of_host(&self) -> u32 {
        let of_drive = &self.device.fdp;
        if self.array.drives > 0 {
            self.array.host_handles(of_drive.handles).count()
        } else {
            of_drive.streams()
        }
    }

    /// Who cannot write to a drive of several reclaim groups: the key to blame, what is wrong and what would
    /// be right.
    pub(super) fn check_groups(&self) -> Option<Problem> {
        let (key, who, remedy) = match (self.array.drives, self.kv.enabled, self.placement.policy) {
            _ if self.device.fdp.groups == 1 => return None,
            (1.., ..) => ("array.drives", "an array", "array.drives = 0"),
            (_, true, _) => ("kv.enabled", "a server", "kv.enabled = false"),
            (.., PlacementPolicy::Named) => return None,
            _ => ("placement.policy", "a policy", "policy = \"named\""),
        };
        let message = format!(
            "{who} chooses handles and no reclaim group, so all data would go to the first; set {remedy}, or \
             device.fdp.groups = 1"
        );
        Some(Problem::new(key, message))
    }

    /// `world`, in which writes are placed by the policy of this scenario.
    pub(super) fn placed<D: Device>(&self, mut world: World<D>) -> World<D> {
        if self.places_writes() {
            let sectors = world.device.identify().sectors;
            world.place_writes(Placer::new(self.placement.policy, sectors, self.handles_of_host()));
        }
        world
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sources_that_name_groups_write_to_several() {
        let mut scenario = Scenario::default();
        (scenario.device.fdp.handles, scenario.device.fdp.groups) = (3, 2);
        assert_eq!((scenario.check_groups(), scenario.handles_of_host()), (None, 6));
        let key = |scenario: &Scenario| scenario.check_groups().map(|problem| problem.key);
        scenario.placement.policy = PlacementPolicy::Size;
        assert_eq!(key(&scenario), Some("placement.policy"));
        scenario.kv.enabled = true;
        assert_eq!(key(&scenario), Some("kv.enabled"));
        scenario.array.drives = 4;
        assert_eq!(key(&scenario), Some("array.drives"));
        let message = scenario.check_groups().expect("a problem").to_string();
        assert!(message.contains("set array.drives = 0, or device.fdp.groups = 1"), "{message}");
        scenario.device.fdp.groups = 1;
        assert_eq!((scenario.check_groups(), scenario.device.fdp.streams()), (None, 3));
    }
}
