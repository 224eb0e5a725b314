//! What holds of the requests of the host.

use super::{Progress, Requests};
use crate::check::ensure;
use tailcut_base::cast::to_u32;

impl<B: Clone + Default> Requests<B> {
    /// Each slot in use has a request that has not ended, and those that have been answered for lack of room
    /// are counted.
    pub(in crate::array) fn check(&self) -> Result<(), String> {
        let mut refused = 0;
        for (slot, request) in self.slots.allocated() {
            ensure!(request.progress != Progress::Ended, "slot {slot} of a request that has ended is in use");
            refused += u32::from(request.progress == Progress::Refused);
        }
        ensure!(refused == self.refused, "{refused} requests are refused, {} counted", self.refused);
        let open = self.slots.ids().filter(|&slot| self.slots[slot].progress != Progress::Ended).count();
        ensure!(to_u32(open) == to_u32(self.slots.len()), "a request is in a slot that is not in use");
        Ok(())
    }

    /// Every request has been answered, and nothing works on one any more.
    pub(in crate::array) fn check_at_rest(&self) -> Result<(), String> {
        ensure!(self.slots.is_empty(), "{} requests of the host are unfinished", self.slots.len());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_counted_as_refused_that_is_not_is_found() {
        let mut requests = Requests::<u32>::default();
        requests.check().expect("there is none");
        requests.refused += 1;
        assert!(requests.check().is_err());
    }
}
