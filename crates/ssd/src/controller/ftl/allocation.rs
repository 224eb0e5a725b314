//! Page allocation: which plane a write goes to.

use crate::flash::Geometry;

tailcut_base::choice! {
    /// How a write finds its plane.
    pub enum Allocation {
        /// The logical page decides.
        Static = "static",
        /// The next plane in turn, whatever the logical page.
        Dynamic = "dynamic",
    }
}

tailcut_base::choice! {
    /// The order in which the parts of a drive are used: channel, way (chip of a channel), die,
    /// plane, the fastest-changing first (Jung and Kandemir, HotStorage 2012; Tavakkol et al.,
    /// 2016, name the schemes in the same way).
    pub enum Order {
        /// Channel, way, die, plane.
        Cwdp = "cwdp",
        /// Channel, way, plane, die.
        Cwpd = "cwpd",
        /// Channel, die, way, plane.
        Cdwp = "cdwp",
        /// Channel, die, plane, way.
        Cdpw = "cdpw",
        /// Channel, plane, way, die.
        Cpwd = "cpwd",
        /// Channel, plane, die, way.
        Cpdw = "cpdw",
        /// Way, channel, die, plane.
        Wcdp = "wcdp",
        /// Way, channel, plane, die.
        Wcpd = "wcpd",
        /// Way, die, channel, plane.
        Wdcp = "wdcp",
        /// Way, die, plane, channel.
        Wdpc = "wdpc",
        /// Way, plane, channel, die.
        Wpcd = "wpcd",
        /// Way, plane, die, channel.
        Wpdc = "wpdc",
        /// Die, channel, way, plane.
        Dcwp = "dcwp",
        /// Die, channel, plane, way.
        Dcpw = "dcpw",
        /// Die, way, channel, plane.
        Dwcp = "dwcp",
        /// Die, way, plane, channel.
        Dwpc = "dwpc",
        /// Die, plane, channel, way.
        Dpcw = "dpcw",
        /// Die, plane, way, channel.
        Dpwc = "dpwc",
        /// Plane, channel, way, die.
        Pcwd = "pcwd",
        /// Plane, channel, die, way.
        Pcdw = "pcdw",
        /// Plane, way, channel, die.
        Pwcd = "pwcd",
        /// Plane, way, die, channel.
        Pwdc = "pwdc",
        /// Plane, die, channel, way.
        Pdcw = "pdcw",
        /// Plane, die, way, channel.
        Pdwc = "pdwc",
    }
}

/// Hands out planes.
#[derive(Clone, Debug)]
pub struct Allocator {
    /// The planes in the order of use.
    planes: Vec<u32>,
    allocation: Allocation,
    turn: u32,
}

impl Allocator {
    /// The allocator for a geometry.
    pub fn new(allocation: Allocation, order: Order, geometry: &Geometry) -> Allocator {
        let planes = (0..geometry.plane_count()).map(|turn| plane_of_turn(turn, order, geometry)).collect();
        Allocator { planes, allocation, turn: 0 }
    }

    /// The plane for the next write of a logical page.
    #[inline]
    pub fn next(&mut self, logical: u32) -> u32 {
        match self.allocation {
            Allocation::Static => self.planes[logical as usize % self.planes.len()],
            Allocation::Dynamic => {
                let plane = self.planes[self.turn as usize];
                self.turn = if self.turn as usize + 1 == self.planes.len() { 0 } else { self.turn + 1 };
                plane
            }
        }
    }

    /// True when the logical page does not decide.
    pub fn is_dynamic(&self) -> bool {
        self.allocation == Allocation::Dynamic
    }

    /// The planes in the order of use.
    pub fn planes(&self) -> &[u32] {
        &self.planes
    }
}

fn plane_of_turn(turn: u32, order: Order, geometry: &Geometry) -> u32 {
    use tailcut_base::config::Choice;
    let (mut rest, mut channel, mut way, mut die, mut plane) = (turn, 0, 0, 0, 0);
    for part in order.name().chars() {
        let (count, at) = match part {
            'c' => (geometry.channels, &mut channel),
            'w' => (geometry.chips, &mut way),
            'd' => (geometry.dies, &mut die),
            _ => (geometry.planes, &mut plane),
        };
        *at = rest % count;
        rest /= count;
    }
    ((channel * geometry.chips + way) * geometry.dies + die) * geometry.planes + plane
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flash::geometry::ReadyBusy;
    use tailcut_base::config::Choice;

    fn geometry() -> Geometry {
        Geometry {
            channels: 3,
            chips: 2,
            dies: 2,
            planes: 4,
            blocks: 4,
            pages: 4,
            page_bytes: 4096,
            spare_bytes: 0,
            ready_busy: ReadyBusy::Chip,
        }
    }

    #[test]
    fn every_order_uses_every_plane_once() {
        for &order in Order::all() {
            let mut planes = Allocator::new(Allocation::Dynamic, order, &geometry()).planes;
            planes.sort_unstable();
            assert!(planes.iter().copied().eq(0..48), "{order}");
        }
    }

    #[test]
    fn the_first_letter_changes_fastest() {
        let mut allocator = Allocator::new(Allocation::Dynamic, Order::Cwdp, &geometry());
        // 16 planes per channel, 8 per chip: channels first, then the next chip.
        let planes: Vec<u32> = (0..4).map(|_| allocator.next(0)).collect();
        assert_eq!(planes, [0, 16, 32, 8]);
        let mut allocator = Allocator::new(Allocation::Static, Order::Pdwc, &geometry());
        assert_eq!([allocator.next(0), allocator.next(1), allocator.next(4)], [0, 1, 4]);
    }
}
