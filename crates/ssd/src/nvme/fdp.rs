//! Of Flexible Data Placement the log pages, the status of handles, and the features (NVM Express Base
//! Specification 2.1). What they mean is in [`tailcut_base::fdp`].
//!
//! All numbers are little-endian, reserved fields zero. There is one endurance group.

use crate::config::SsdConfig;
use tailcut_base::cast::{to_u8, to_u16, to_u32};
use tailcut_base::fdp::{
    Event, EventType, GroupId, HandleId, HandleStatus, Isolation, PlacementId, Statistics, group_bits,
};
use tailcut_base::ids::Id;

/// Feature identifier: Flexible Data Placement.
pub const FEATURE: u8 = 0x1d;
/// Feature identifier: Flexible Data Placement Events.
pub const EVENTS_FEATURE: u8 = 0x1e;
/// Log page identifier: FDP Configurations.
pub const CONFIGURATIONS_LOG: u8 = 0x20;
/// Log page identifier: Reclaim Unit Handle Usage.
pub const USAGE_LOG: u8 = 0x21;
/// Log page identifier: FDP Statistics.
pub const STATISTICS_LOG: u8 = 0x22;
/// Log page identifier: FDP Events.
pub const EVENTS_LOG: u8 = 0x23;
/// Type of the directive by which a write names its placement identifier.
pub const DIRECTIVE: u8 = 2;

/// The type of a handle in an FDP configuration descriptor.
fn type_of(isolation: Isolation) -> u8 {
    match isolation {
        Isolation::Initially => 1,
        Isolation::Persistently => 2,
    }
}

/// The log page [`CONFIGURATIONS_LOG`] of a drive: its only configuration.
pub fn configurations(config: &SsdConfig) -> Vec<u8> {
    let (handles, groups) = (config.fdp.handles as usize, config.fdp.groups);
    let descriptor = 64 + 4 * handles;
    let mut bytes = vec![0; 16 + descriptor];
    // Configurations are counted from 0.
    bytes[4..8].copy_from_slice(&to_u32(16 + descriptor).to_le_bytes());
    let of = &mut bytes[16..];
    of[..2].copy_from_slice(&to_u16(descriptor).to_le_bytes());
    // The configuration is valid. RGIF: how many bits of an identifier name a reclaim group.
    of[2] = 1 << 7 | to_u8(group_bits(groups));
    of[4..8].copy_from_slice(&groups.to_le_bytes());
    of[8..10].copy_from_slice(&to_u16(handles).to_le_bytes());
    // Placement identifiers of a namespace are counted from 0.
    of[10..12].copy_from_slice(&to_u16(config.fdp.streams() - 1).to_le_bytes());
    of[12..16].copy_from_slice(&1u32.to_le_bytes());
    of[16..24].copy_from_slice(&unit_bytes(config).to_le_bytes());
    for handle in of[64..].chunks_exact_mut(4) {
        handle[0] = type_of(config.fdp.isolation);
    }
    bytes
}

/// Bytes of a reclaim unit (RUNS): of its superblocks, which have a block of each die of a group.
fn unit_bytes(config: &SsdConfig) -> u64 {
    let (g, fdp) = (&config.geometry, &config.fdp);
    let blocks = fdp.superblocks * (g.plane_count() / fdp.groups);
    u64::from(blocks) * u64::from(g.pages) * g.page_bytes
}

/// The log page [`USAGE_LOG`]: all handles of a drive are specified by the host.
pub fn usage(config: &SsdConfig) -> Vec<u8> {
    let handles = config.fdp.handles as usize;
    let mut bytes = vec![0; 8 + 8 * handles];
    bytes[..2].copy_from_slice(&to_u16(handles).to_le_bytes());
    for handle in bytes[8..].chunks_exact_mut(8) {
        handle[0] = 1;
    }
    bytes
}

/// The log page [`STATISTICS_LOG`].
pub fn statistics(statistics: &Statistics) -> [u8; 64] {
    let Statistics { host_written, media_written, media_erased } = *statistics;
    let mut bytes = [0; 64];
    for (place, number) in bytes.chunks_exact_mut(16).zip([host_written, media_written, media_erased]) {
        place[..8].copy_from_slice(&number.to_le_bytes());
    }
    bytes
}

/// The log page [`EVENTS_LOG`] of a drive with `groups` reclaim groups, the oldest event first.
pub fn events(events: &[Event], groups: u32) -> Vec<u8> {
    let mut bytes = vec![0; 64 + 64 * events.len()];
    bytes[..4].copy_from_slice(&to_u32(events.len()).to_le_bytes());
    for (place, event) in bytes[64..].chunks_exact_mut(64).zip(events) {
        place[0] = event.of.number();
        // The placement identifier and the location (reclaim group and handle) are valid.
        place[1] = 1 | 1 << 2;
        let of = event.placement;
        place[2..4].copy_from_slice(&of.to_bits(group_bits(groups)).to_le_bytes());
        // A timestamp has 48 bits of milliseconds.
        place[4..10].copy_from_slice(&(event.at.0 / 1_000_000).to_le_bytes()[..6]);
        if event.of == EventType::MediaReallocated {
            let blocks = u16::try_from(event.moved).unwrap_or(u16::MAX);
            place[18..20].copy_from_slice(&blocks.to_le_bytes());
        }
        place[32..34].copy_from_slice(&to_u16(of.group().get()).to_le_bytes());
        place[34..36].copy_from_slice(&to_u16(of.handle().get()).to_le_bytes());
    }
    bytes
}

/// The data of I/O Management Receive, Reclaim Unit Handle Status, of a drive with `groups` reclaim groups:
/// what each handle has left in each of them, in logical blocks of 512 bytes. The handles of a group follow
/// those of the group before, in `statuses` and in the data.
pub fn handle_statuses(statuses: &[HandleStatus], groups: u32) -> Vec<u8> {
    let mut bytes = vec![0; 16 + 32 * statuses.len()];
    bytes[14..16].copy_from_slice(&to_u16(statuses.len()).to_le_bytes());
    let handles = statuses.len() / groups as usize;
    let all = GroupId::first(groups as usize)
        .flat_map(|group| HandleId::first(handles).map(move |handle| PlacementId::new(group, handle)));
    for ((place, status), of) in bytes[16..].chunks_exact_mut(32).zip(statuses).zip(all) {
        place[..2].copy_from_slice(&of.to_bits(group_bits(groups)).to_le_bytes());
        place[2..4].copy_from_slice(&to_u16(of.handle().get()).to_le_bytes());
        place[8..16].copy_from_slice(&(status.available / 512).to_le_bytes());
    }
    bytes
}

/// Dword 12 of the feature [`FEATURE`] as it is read: the only configuration, on or off.
pub fn feature_dword(config: &SsdConfig) -> u32 {
    u32::from(config.fdp.is_on())
}

/// The data of the feature [`EVENTS_FEATURE`]: a descriptor for each type of event that a drive reports, all
/// of which are enabled.
pub fn event_descriptors() -> [u8; 2 * EventType::ALL.len()] {
    let mut bytes = [0; 2 * EventType::ALL.len()];
    for (place, event) in bytes.chunks_exact_mut(2).zip(EventType::ALL) {
        place.copy_from_slice(&[event.number(), 1]);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Preset;
    use tailcut_base::Time;

    fn number(bytes: &[u8]) -> u64 {
        bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
    }

    #[test]
    fn a_configuration_has_a_descriptor_for_each_handle() {
        let mut config = Preset::Pm9a3.config();
        config.fdp.handles = 3;
        (config.fdp.isolation, config.fdp.superblocks) = (Isolation::Persistently, 4);
        let bytes = configurations(&config);
        assert_eq!((bytes.len() as u64, number(&bytes[..2])), (number(&bytes[4..8]), 0));
        let of = &bytes[16..];
        assert_eq!((number(&of[..2]), of.len()), (76, 76));
        assert_eq!((of[2], number(&of[4..8]), number(&of[8..10])), (0x80, 1, 3));
        let superblock = config.geometry.page_count() / u64::from(config.geometry.blocks);
        assert_eq!(number(&of[16..24]), 4 * superblock * config.geometry.page_bytes);
        assert_eq!([of[64], of[68], of[72]], [2, 2, 2]);
        config.fdp.groups = 4;
        let divided = configurations(&config);
        let of = &divided[16..];
        assert_eq!((of[2], number(&of[4..8]), number(&of[8..10]), number(&of[10..12])), (0x82, 4, 3, 11));
        assert_eq!(number(&of[16..24]), superblock * config.geometry.page_bytes);
        assert_eq!(
            usage(&config),
            [&[3, 0, 0, 0, 0, 0, 0, 0][..], &[1, 0, 0, 0, 0, 0, 0, 0].repeat(3)].concat()
        );
    }

    #[test]
    fn numbers_of_logs_are_where_the_standard_has_them() {
        let of = Statistics { host_written: 1 << 40, media_written: 3, media_erased: 5 };
        let bytes = statistics(&of);
        assert_eq!([0, 16, 32].map(|at| number(&bytes[at..at + 16])), [1 << 40, 3, 5]);
        let placement = PlacementId::new(GroupId::new(3), HandleId::new(2));
        let event = |of, moved| Event { of, at: Time(7_000_000_000), placement, moved };
        let list = [event(EventType::NotFullyWritten, 0), event(EventType::MediaReallocated, 1 << 20)];
        let bytes = events(&list, 4);
        assert_eq!((bytes.len(), number(&bytes[..4])), (192, 2));
        let [host, controller] = [&bytes[64..128], &bytes[128..]];
        assert_eq!((host[0], controller[0], number(&host[4..10])), (0, 0x80, 7000));
        assert_eq!((number(&host[2..4]), number(&controller[18..20])), (0xc002, 0xffff), "as much as fits");
        assert_eq!((number(&host[32..34]), number(&host[34..36])), (3, 2));
        let status = HandleStatus { available: 1 << 20, ..HandleStatus::default() };
        let bytes = handle_statuses(&[status, status], 1);
        assert_eq!((number(&bytes[14..16]), number(&bytes[24..32]), number(&bytes[48..50])), (2, 2048, 1));
        let bytes = handle_statuses(&[status; 6], 2);
        let of = |at: usize| (number(&bytes[16 + 32 * at..][..2]), number(&bytes[16 + 32 * at..][2..4]));
        assert_eq!([0, 2, 3, 5].map(of), [(0, 0), (2, 2), (0x8000, 0), (0x8002, 2)]);
    }
}
