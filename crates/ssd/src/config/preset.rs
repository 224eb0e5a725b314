//! The drives that a configuration can start from.

tailcut_base::choice! {
    /// A drive by name.
    pub enum Preset {
        /// 32 GiB MLC: 8 channels × 4 chips × 2 dies × 2 planes × 256 blocks × 256 pages × 4 KiB.
        M = "m-32g",
        /// 1 GiB: 4 channels × 2 chips × 1 die × 2 planes × 256 blocks × 64 pages × 4 KiB, with 28 %
        /// spare: small enough to see garbage collection at once.
        G = "g-1g",
        /// The drive of Sprinkler's evaluation with 64 chips.
        Sprinkler64 = "sprinkler-64",
        /// The drive of the PAReset thesis.
        PaReset = "pareset-16g",
        /// The emulated drive of IODA's evaluation.
        Femu = "femu-16g",
        /// A SATA drive with the peaks of the one in SWAN's evaluation, scaled to 7 GiB of flash.
        SwanSata = "swan-sata",
        /// One of the six SATA drives of Shin's chapter 3, scaled to 2 GiB of flash.
        ShinSata = "shin-sata",
        /// The drive on the Cosmos board of Shin's chapter 4: one chip.
        Cosmos = "cosmos",
        /// The emulated drive of Shin's chapter 4, scaled to 512 MiB of flash.
        ShinEmulated = "shin-emulated",
        /// A drive with the latency and the peaks of Samsung's Z-SSD, scaled to 16 GiB of flash.
        Zssd = "z-ssd",
        /// A data-centre drive of SLC flash with short reads behind PCIe 4.0 (Kioxia FL6), scaled to 64 GiB
        /// of flash.
        XlFlash = "xl-flash",
        /// A data-centre drive of TLC flash behind PCIe 4.0 (Samsung PM9A3), scaled to 96 GiB of flash.
        TlcNvme = "tlc-nvme",
        /// A data-centre drive of the same flash behind SATA, scaled to 24 GiB of flash.
        TlcSata = "tlc-sata",
        /// A data-centre drive of QLC flash behind PCIe 4.0, scaled to 96 GiB of flash.
        QlcNvme = "qlc-nvme",
        /// Samsung PM9A3, 960 GB, fitted to measured rows, an eighth of its size.
        Pm9a3 = "pm9a3-960",
        /// SK hynix PE8110, 960 GB, fitted to measured rows, an eighth of its size.
        Pe8110 = "pe8110-960",
        /// Solidigm D7-P5520, 1.92 TB, fitted to measured rows, an eighth of its size.
        P5520 = "p5520-1920",
        /// Micron 7450 PRO, 960 GB, fitted to measured rows, an eighth of its size.
        Micron7450Pro = "7450pro-960",
        /// Micron 7450 MAX, 800 GB, fitted to measured rows, an eighth of its size.
        Micron7450Max = "7450max-800",
        /// Kioxia CM7-R, 3.84 TB, fitted to measured rows, an eighth of its size.
        Cm7R = "cm7r-3840",
        /// The conventional drive of Doekemeijer et al. (CLUSTER 2023), whose rows name neither model nor
        /// capacity, fitted to them; 16 dies, a thirty-second of their size.
        Doekemeijer = "doekemeijer-nvme",
    }
}
