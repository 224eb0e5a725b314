//! The drive inside a disk: a drive of the crate `ssd`, scaled to the capacity of the disk.

use crate::config::DiskConfig;
use tailcut_ssd::{Ssd, SsdConfig};

/// A new drive for a disk, prepared as the personality wants it.
pub(crate) fn make(disk: &DiskConfig, seed: u64) -> Ssd {
    let mut drive = Ssd::new(&drive_config(disk), seed, false);
    drive.precondition(&disk.personality().precondition(), seed);
    drive
}

/// The configuration of the drive inside a disk.
fn drive_config(disk: &DiskConfig) -> SsdConfig {
    let mut drive = disk.personality().drive(disk.capacity_bytes());
    drive.control_api = false;
    drive.queue.depth = disk.depth();
    drive.queue.commands = drive.queue.commands.min(disk.depth());
    drive.buffer.capacitor = disk.volatile_cache_bytes() == 0;
    drive
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Personality;
    use tailcut_base::config::Choice;

    #[test]
    fn every_disk_has_a_drive_with_room_to_work() {
        for &personality in Personality::all() {
            for (capacity, cache) in [(64 << 10, 0), (1 << 20, 1 << 20), (64 << 20, 0), (300 << 20, 1 << 20)]
            {
                let disk = DiskConfig::new(personality).capacity(capacity).volatile_cache(cache);
                let drive = drive_config(&disk);
                let name = format!("{personality} of {capacity}: {drive:?}");
                assert_eq!(drive.check_space(), Ok(()), "{name}");
                assert_eq!(drive.check_superblocks(), Ok(()), "{name}");
                assert!(drive.user_bytes() >= capacity, "{name}");
                assert!(drive.user_bytes() <= capacity + (145 << 20), "{name}");
                assert_eq!(
                    Ssd::new(&drive, 1, false).has_room_for(&personality.precondition()),
                    Ok(()),
                    "{name}"
                );
                (1..4).for_each(|seed| make(&disk, seed).check());
            }
        }
    }
}
