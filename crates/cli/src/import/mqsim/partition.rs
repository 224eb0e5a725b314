//! Which flows use which parts of the flash.

use super::{Device, Flow, Interface, Share};
use tailcut_ssd::Preset;
use tailcut_ssd::config::FtlConfig;
use tailcut_ssd::flash::Geometry;
use tailcut_ssd::flash::geometry::ReadyBusy;

/// The flash that is in use, which all flows share.
#[derive(Clone, Debug)]
pub(super) struct Resources {
    geometry: Geometry,
    /// Pages that a host can address.
    logical_pages: u64,
    flows: u64,
    /// Flows have different parts of the flash.
    is_divided: bool,
    /// Parts of the device are left out.
    is_smaller: bool,
}

impl Resources {
    /// The flash that the flows of a device use.
    pub(super) fn new(device: &Device, flows: &[Flow]) -> Resources {
        let whole = Share::whole(device);
        // A SATA host cannot tell the device whose command it is.
        let shares = flows.iter().map(|flow| &flow.share).filter(|_| device.interface == Interface::Nvme);
        let shares: Vec<&Share> = shares.collect();
        let is_divided = shares.iter().any(|share| *share != shares[0]);
        let used = shares.first().copied().filter(|_| !is_divided).unwrap_or(&whole);
        let geometry = geometry(device, used);
        let ftl = FtlConfig { spare: device.spare_ppm(), ..Preset::M.config().ftl };
        Resources {
            logical_pages: ftl.logical_pages(&geometry),
            flows: flows.len() as u64,
            is_divided,
            is_smaller: *used != whole,
            geometry,
        }
    }

    /// The flash that is in use, with pages as large as the device's.
    pub(super) fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Pages that a host can address.
    pub(super) fn pages(&self) -> u64 {
        self.logical_pages
    }

    /// Pages that belong to each flow: equal shares.
    pub(super) fn pages_of_flow(&self) -> u64 {
        self.logical_pages / self.flows.max(1)
    }

    /// True if flows have different parts of the flash, which a scenario cannot express.
    pub(super) fn is_divided(&self) -> bool {
        self.is_divided
    }

    /// True if parts of the device that no flow uses are left out.
    pub(super) fn is_smaller(&self) -> bool {
        self.is_smaller
    }
}

impl Share {
    fn whole(device: &Device) -> Share {
        Share {
            channels: (0..device.channels).collect(),
            chips: (0..device.chips).collect(),
            dies: (0..device.flash.dies).collect(),
            planes: (0..device.flash.planes).collect(),
        }
    }
}

fn geometry(device: &Device, share: &Share) -> Geometry {
    let flash = &device.flash;
    let small = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
    Geometry {
        channels: small(share.channels.len() as u64),
        chips: small(share.chips.len() as u64),
        dies: small(share.dies.len() as u64),
        planes: small(share.planes.len() as u64),
        blocks: small(flash.blocks),
        pages: small(flash.pages),
        page_bytes: flash.page,
        spare_bytes: 0,
        ready_busy: ReadyBusy::Chip,
    }
}

impl Device {
    /// The spare share in parts per million.
    pub(super) fn spare_ppm(&self) -> u32 {
        (self.spare * 1e6).round() as u32
    }
}
