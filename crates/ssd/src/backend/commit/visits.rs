//! Which chips are to be visited, and in which order.

use crate::flash::{Geometry, LunId};
use crate::mutation::looked;
use tailcut_base::cast::to_u32;

/// A set of chips that hands them out in the order of RIOS (Sprinkler, section 4.1 and algorithm
/// 1): the chips of equal offset across all channels, then those of the next offset, and around
/// again from where the last visit was. Three levels of 64-bit words: adding a chip and finding the
/// next one cost the same for any number of chips up to 2^18.
#[derive(Clone, Debug)]
pub(crate) struct Visits {
    channels: u32,
    luns_per_channel: u32,
    /// A bit for each chip in the order of visits; above it a bit for each word that is not zero.
    levels: [Vec<u64>; 3],
    /// Where the next visit looks first.
    cursor: u32,
}

impl Visits {
    /// No chip of a drive.
    pub(crate) fn new(geometry: &Geometry) -> Visits {
        let (channels, luns_per_channel) = (geometry.channels, geometry.luns_per_channel());
        let mut size = (channels * luns_per_channel) as usize;
        let levels = std::array::from_fn(|_| {
            size = size.div_ceil(64);
            vec![0; size]
        });
        assert!(size == 1, "a drive has at most 2^18 chips");
        Visits { channels, luns_per_channel, levels, cursor: 0 }
    }

    /// Notes that a LUN is to be visited.
    #[inline]
    pub(crate) fn add(&mut self, lun: LunId) {
        let (channel, offset) = (lun.get() / self.luns_per_channel, lun.get() % self.luns_per_channel);
        let mut at = (offset * self.channels + channel) as usize;
        for level in &mut self.levels {
            looked();
            let word = &mut level[at / 64];
            let was_set = *word != 0;
            *word |= 1 << (at % 64);
            if was_set {
                break;
            }
            at /= 64;
        }
    }

    /// The next LUN to visit, which leaves the set.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<LunId> {
        if self.levels[2][0] == 0 {
            return None;
        }
        let at = self.at_or_after(self.cursor as usize).or_else(|| self.at_or_after(0))?;
        self.remove(at);
        self.cursor = to_u32(at) + 1;
        let (offset, channel) = (to_u32(at) / self.channels, to_u32(at) % self.channels);
        Some(LunId::new(channel * self.luns_per_channel + offset))
    }

    /// The first member at `from` or behind it.
    fn at_or_after(&self, from: usize) -> Option<usize> {
        let mut from = from;
        for level in 0..self.levels.len() {
            looked();
            let word = self.levels[level].get(from / 64)? & (u64::MAX << (from % 64));
            if word != 0 {
                let mut at = from / 64 * 64 + word.trailing_zeros() as usize;
                for below in self.levels[..level].iter().rev() {
                    looked();
                    at = at * 64 + below[at].trailing_zeros() as usize;
                }
                return Some(at);
            }
            from = from / 64 + 1;
        }
        None
    }

    fn remove(&mut self, at: usize) {
        let mut at = at;
        for level in &mut self.levels {
            looked();
            level[at / 64] &= !(1 << (at % 64));
            if level[at / 64] != 0 {
                break;
            }
            at /= 64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Preset;
    use crate::flash::geometry::ReadyBusy;
    use proptest::prelude::*;
    use std::collections::BTreeSet;
    use tailcut_base::ids::Id;

    fn visits_of(channels: u32, luns_per_channel: u32) -> Visits {
        let geometry = Preset::M.config().geometry;
        Visits::new(&Geometry { channels, chips: luns_per_channel, ready_busy: ReadyBusy::Chip, ..geometry })
    }

    #[test]
    fn chips_of_equal_offset_come_first_across_all_channels() {
        let mut visits = visits_of(3, 2);
        LunId::first(6).for_each(|lun| visits.add(lun));
        let order: Vec<u32> = std::iter::from_fn(|| visits.next().map(LunId::get)).collect();
        // LUNs 0 and 1 are on the first channel.
        assert_eq!(order, [0, 2, 4, 1, 3, 5]);
    }

    proptest! {
        #[test]
        fn agrees_with_a_sorted_set(
            channels in 1u32..70,
            luns in 1u32..70,
            steps in prop::collection::vec((any::<bool>(), any::<u32>()), 1..200),
        ) {
            let mut visits = visits_of(channels, luns);
            let mut model = BTreeSet::new();
            let mut cursor = 0;
            for (adds, draw) in steps {
                if adds {
                    let lun = draw % (channels * luns);
                    visits.add(LunId::new(lun));
                    model.insert((lun % luns) * channels + lun / luns);
                } else {
                    let at = model.range(cursor..).next().or_else(|| model.first()).copied();
                    let lun = at.map(|at| at % channels * luns + at / channels);
                    prop_assert_eq!(visits.next().map(LunId::get), lun);
                    if let Some(at) = at {
                        model.remove(&at);
                        cursor = at + 1;
                    }
                }
            }
        }
    }
}
