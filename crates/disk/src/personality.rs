//! Named disks: which drive is inside, and in which state.

use tailcut_base::config::Choice;

tailcut_base::choice! {
    /// A disk by name. The drive inside is scaled to the capacity of the disk; its times are those of the
    /// real one.
    ///
    /// The first four have a volatile cache of 16 MiB and the drive that MQSim describes: MLC flash on four
    /// channels behind PCIe 3.0, reads of 75 µs, programs of 750 µs, erases of 3.8 ms (preset `g-1g`). The
    /// others are drives for data centres, fitted to published measurements (`docs/results/real-drives.md`),
    /// full and in steady state. Their buffer survives a power cut, so a completed write is durable unless
    /// [`DiskConfig::volatile_cache`](crate::DiskConfig::volatile_cache) sets another cache.
    pub enum Personality {
        /// Erased: nothing is ever waited for but flash and link, until it has been written once.
        Fresh = "fresh",
        /// As after endless random writes: garbage collection runs beside all writes.
        Collecting = "collecting",
        /// As `collecting`, near the end of its life: sensing takes four times as long, programs and erases
        /// fail now and then, and the disk becomes write protected when it has no good blocks left.
        Worn = "worn",
        /// As `collecting`, and every half to one and a half seconds the controller stops for 10 to 100 ms.
        ThermalStall = "thermal-stall",
        /// Samsung PM9A3, 960 GB.
        Pm9a3 = "pm9a3-960",
        /// SK hynix PE8110, 960 GB.
        Pe8110 = "pe8110-960",
        /// Solidigm D7-P5520, 1.92 TB.
        P5520 = "p5520-1920",
        /// Micron 7450 PRO, 960 GB.
        Micron7450Pro = "7450pro-960",
        /// Micron 7450 MAX, 800 GB.
        Micron7450Max = "7450max-800",
        /// Kioxia CM7-R, 3.84 TB.
        Cm7R = "cm7r-3840",
    }
}

impl Personality {
    /// The size of its volatile cache in bytes; 0 for drives whose buffer survives a power cut.
    pub const fn volatile_cache_bytes(self) -> u64 {
        match self {
            Personality::Fresh | Personality::Collecting | Personality::Worn | Personality::ThermalStall => {
                16 << 20
            }
            _ => 0,
        }
    }
}

impl std::str::FromStr for Personality {
    type Err = String;

    /// # Errors
    /// A sentence with the names that there are.
    fn from_str(name: &str) -> Result<Personality, String> {
        Personality::by_name(name)
            .ok_or_else(|| format!("no disk is named {name:?}; use one of {}", Personality::NAMES.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        assert_eq!("worn".parse(), Ok(Personality::Worn));
        assert_eq!("cm7r-3840".parse(), Ok(Personality::Cm7R));
        assert!("tired".parse::<Personality>().unwrap_err().contains("thermal-stall"));
    }
}
