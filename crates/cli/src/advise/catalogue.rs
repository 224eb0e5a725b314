//! What can be bought and how it can be used: the arrangements that advice chooses from.
//!
//! An arrangement is a number of drives under a layout, with more or less over-provisioning, and a
//! technique for reads. Everything is a list of settings over the user's scenario, which describes drive
//! and workload. The order within a list is the order of preference at equal cost: options that most drives
//! and hosts support come first.

/// What drives do, or are configured to do, for reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Technique {
    /// Name of the technique in tables.
    pub name: &'static str,
    /// The paper that the technique comes from, or a short explanation of it.
    pub source: &'static str,
    /// Scenario settings that switch the technique on, each as `key=value`.
    pub settings: &'static [&'static str],
    /// Whether the technique is tried in arrays as well as on single drives.
    pub in_arrays: bool,
}

/// A layout of several drives, or one drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Name of the layout in tables.
    pub name: &'static str,
    /// The paper that the layout comes from, or a short explanation of it.
    pub source: &'static str,
    /// Scenario settings that choose the layout, each as `key=value`, beside `array.drives`.
    pub settings: &'static [&'static str],
    /// The fewest drives that the layout works with.
    pub least: u32,
    /// The number of drives must be a multiple of this.
    pub step: u32,
    /// Whether the data survive the loss of any one drive.
    pub survives_a_drive: bool,
}

const READS_FIRST: &str = "device.schedule.chip=reads-first";
const AS_CLASS_2: &str = "workload.read_class=2";
const AS_CLASS_1: &str = "workload.read_class=1";

/// All techniques, in the order of preference at equal cost.
pub const TECHNIQUES: &[Technique] = &[
    Technique { name: "drives as they are", source: "the scenario", settings: &[], in_arrays: true },
    Technique {
        name: "reads first",
        source: "chips serve reads before programs and erases",
        settings: &[READS_FIRST],
        in_arrays: true,
    },
    Technique {
        name: "reads first, collection while idle",
        source: "as before, and chips collect garbage while they are idle",
        settings: &[READS_FIRST, "device.gc.background=true"],
        in_arrays: false,
    },
    Technique {
        name: "suspension",
        source: "Wu and He, FAST 2012: programs and erases are suspended for reads",
        settings: &[
            READS_FIRST,
            "device.preempt.program=suspend",
            "device.preempt.erase=suspend",
            AS_CLASS_2,
        ],
        in_arrays: true,
    },
    Technique {
        name: "suspension, collection while idle",
        source: "as before, and chips collect garbage while they are idle",
        settings: &[
            READS_FIRST,
            "device.gc.background=true",
            "device.preempt.program=suspend",
            "device.preempt.erase=suspend",
            AS_CLASS_2,
        ],
        in_arrays: false,
    },
    Technique {
        name: "reset",
        source: "PAReset: programs and erases are given up for reads and done again",
        settings: &[READS_FIRST, "device.preempt.program=reset", "device.preempt.erase=reset", AS_CLASS_1],
        in_arrays: false,
    },
    Technique {
        name: "Sprinkler's scheduler",
        source: "Jung and Kandemir, HPCA 2014",
        settings: &["device.schedule.commit=sprinkler", READS_FIRST],
        in_arrays: false,
    },
];

/// All layouts, in the order of preference at equal cost.
pub const LAYOUTS: &[Layout] = &[
    Layout {
        name: "one drive",
        source: "the scenario",
        settings: &["array.drives=0"],
        least: 1,
        step: 1,
        survives_a_drive: false,
    },
    Layout {
        name: "raid0",
        source: "Patterson et al., SIGMOD 1988, without redundancy",
        settings: &["array.layout=raid0"],
        least: 2,
        step: 1,
        survives_a_drive: false,
    },
    Layout {
        name: "raid5",
        source: "Patterson et al., SIGMOD 1988",
        settings: &["array.layout=raid5"],
        least: 3,
        step: 1,
        survives_a_drive: true,
    },
    Layout {
        name: "raid5, reads around collection",
        source: "Li et al., IODA, SOSP 2021: drives collect in turn, and reads that meet it are \
            reconstructed",
        settings: &[
            "array.layout=raid5",
            "array.turns=25ms",
            "array.turn_pause=5ms",
            "array.reads=fail-fast",
        ],
        least: 3,
        step: 1,
        survives_a_drive: true,
    },
    Layout {
        name: "epochs, collection under control",
        source: "Shin, dissertation, 2017, chapter 5 (GCCTRL): two copies, one half of the drives writes and \
            collects",
        settings: &["array.layout=epochs", "array.groups=2", "array.epoch.mode=gc-control"],
        least: 2,
        step: 2,
        survives_a_drive: true,
    },
    Layout {
        name: "epochs with three copies, collection under control",
        source: "the same with a third copy: of each block two are where nobody writes, and a read goes to \
            whichever chip is free",
        settings: &[
            "array.layout=epochs",
            "array.groups=3",
            "array.epoch.mode=gc-control",
            "array.epoch.copies=3",
            "array.reads=fail-fast",
            "device.schedule.fail_fast=anything",
        ],
        least: 3,
        step: 3,
        survives_a_drive: true,
    },
    Layout {
        name: "swan0",
        source: "Kim et al., SWAN, ATC 2019: groups of two drives, of which one is written and others \
            collect",
        settings: &["array.layout=swan0"],
        least: 4,
        step: 2,
        survives_a_drive: false,
    },
];

/// Over-provisioning in parts per million beside that of the scenario, which is tried first; 28 % is what the
/// industry calls the drives of 800 GB made of 1 TiB.
pub const SPARES: [u32; 2] = [150_000, 280_000];

impl Layout {
    /// The settings of the scenario that select this layout with `drives` drives, as `key=value`.
    pub fn settings(&self, drives: u32) -> Vec<String> {
        let mut settings: Vec<String> = self.settings.iter().map(|setting| (*setting).to_owned()).collect();
        if self.least > 1 {
            settings.push(format!("array.drives={drives}"));
        }
        if self.name == "swan0" {
            settings.push(format!("array.groups={}", drives / self.step));
        }
        settings
    }

    /// The numbers of drives that it can have, up to `most`.
    pub fn drives(&self, most: u32) -> impl Iterator<Item = u32> {
        let end = if self.least == 1 { 1 } else { most };
        (self.least..=end).step_by(self.step as usize)
    }
}
