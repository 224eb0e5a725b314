//! The members of a simulated array: whole drives, or the NVM sets of one drive.

use tailcut_base::CommandId;
use tailcut_host::Disk;
use tailcut_host::array::{ArrayConfig, Members as Kind};
use tailcut_ssd::{Probe, SetId, Ssd};

/// A member: a set of a drive; a drive that is not divided has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Number of the drive, from 0, that the member is on.
    pub drive: usize,
    /// The NVM set of the drive that is the member; the only one if the drive is not divided.
    pub set: SetId,
    /// The sector of the drive that is the member's first.
    pub first_sector: u64,
}

/// The members, in the array's order.
#[derive(Debug)]
pub struct Members {
    members: Vec<Member>,
    /// Of a drive with several members: whose each request in flight is, by its name.
    asked: Vec<usize>,
    are_sets: bool,
}

impl Members {
    /// The members that an array has on these drives.
    ///
    /// # Panics
    /// If the members of the array are drives, and a drive is divided into several sets.
    pub fn of<P: Probe>(config: &ArrayConfig, drives: &[Ssd<P>]) -> Members {
        let are_sets = config.members == Kind::Sets;
        let member = |(drive, ssd): (usize, &Ssd<P>)| {
            let sectors = ssd.identify_set(SetId::FIRST).sectors;
            let set = move |set: SetId| Member { drive, set, first_sector: u64::from(set.get()) * sectors };
            ssd.sets().ids().map(set)
        };
        let members: Vec<Member> = drives.iter().enumerate().flat_map(member).collect();
        assert!(are_sets || members.len() == drives.len(), "drives of an array are not divided");
        Members { members, asked: Vec::new(), are_sets }
    }

    /// How many drives an array needs for its members.
    pub fn drives(config: &ArrayConfig) -> u32 {
        match config.members {
            Kind::Drives => config.drives,
            Kind::Sets => 1,
        }
    }

    /// The identity of each member as a disk.
    pub fn disks<P: Probe>(&self, drives: &[Ssd<P>]) -> Vec<Disk> {
        let disk = |member: &Member| Disk::of(&drives[member.drive].identify_set(member.set));
        self.members.iter().map(disk).collect()
    }

    /// The drive, NVM set and first sector of a member; panics if there is no such member.
    #[inline]
    pub fn get(&self, member: usize) -> Member {
        self.members[member]
    }

    /// The members in words, with their number.
    pub fn name(&self) -> String {
        let count = self.members.len();
        if self.are_sets { format!("{count} sets of") } else { format!("{count} x") }
    }

    /// A member has been given a request of this name.
    #[inline]
    pub fn asked(&mut self, member: usize, name: u32) {
        if self.are_sets {
            let slot = name as usize;
            if slot >= self.asked.len() {
                self.asked.resize(slot + 1, 0);
            }
            self.asked[slot] = member;
        }
    }

    /// The member that a request of a drive was for.
    #[inline]
    pub fn of_request(&self, drive: usize, name: CommandId) -> usize {
        if self.are_sets { self.asked[name.0 as usize] } else { drive }
    }
}
