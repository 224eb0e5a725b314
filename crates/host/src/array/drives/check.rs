//! What holds of the requests of an array to its drives.

use super::{Drives, Presence};
use crate::check::ensure;
use tailcut_base::cast::to_u32;
use tailcut_base::ids::Id;

impl<B> Drives<B> {
    /// Each request in flight occupies a place on its drive, no drive has more than it takes, and a request
    /// waits only while its drive is full.
    pub(in crate::array) fn check(&self) -> Result<(), String> {
        let mut in_flight = vec![0; self.members.len()];
        for (_, flight) in self.flights.iter() {
            in_flight[flight.drive.index()] += 1;
        }
        for (drive, member) in self.members.iter_enumerated() {
            let counted = in_flight[drive.index()];
            let (here, waiting) =
                (member.in_flight, member.lanes.iter().map(|lane| lane.len()).sum::<usize>());
            ensure!(here == counted, "drive {drive} counts {here} requests in flight of {counted}");
            let is_full = here >= member.depth;
            ensure!(waiting == 0 || is_full, "drive {drive} has room, and {waiting} requests wait");
            let is_gone = member.presence == Presence::Missing;
            ensure!(waiting == 0 || !is_gone, "{waiting} requests wait for drive {drive}, which is missing");
        }
        let refused = &self.refused;
        let retrying = to_u32(self.flights.iter().filter(|(_, flight)| flight.is_retry).count());
        ensure!(
            refused.retrying() >= retrying,
            "{retrying} retries are in flight, {} counted",
            refused.retrying()
        );
        Ok(())
    }

    /// No request is in flight, waits for a drive or its token, or is kept for another attempt.
    pub(in crate::array) fn check_at_rest(&self) -> Result<(), String> {
        ensure!(self.flights.is_empty(), "{} requests are in flight", self.flights.len());
        ensure!(self.sent.is_empty() && self.bounced.is_empty(), "requests have not been handed over");
        ensure!(!self.is_full(), "writes wait for room");
        for (drive, member) in self.members.iter_enumerated() {
            ensure!(member.unmarked.is_empty(), "writes of drive {drive} wait for marks of their regions");
            let Some(gate) = &member.gate else { continue };
            ensure!(gate.is_idle(), "requests of an epoch of drive {drive} are in flight");
            ensure!(!gate.has_work(), "requests wait at the gate of drive {drive}");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::LayoutKind;
    use crate::array::check::tests::Served;

    #[test]
    fn a_place_on_a_drive_that_is_not_given_back_is_found() {
        let mut served = Served::rested(LayoutKind::Raid0);
        let leak = |drives: &mut Drives<_>| drives.members.as_mut_slice()[2].in_flight += 1;
        served.finds(|array| leak(&mut array.core.drives), "drive 2 counts 1 requests in flight of 0");
    }
}
