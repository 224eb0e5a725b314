//! What can be bought and how it can be used: the arrangements that advice chooses from.
//!
//! An arrangement is a number of drives under a layout, with more or less over-provisioning, and a
//! technique for reads. Everything is a list of settings over the user's scenario, which describes drive
//! and workload. The order within a list is the order of preference at equal cost: options that most drives
//! and hosts support come first.

use crate::scenario::nearest::{enumerate, nearest};
use tailcut_base::BadValue;

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

/// Layouts that belong together, by the name that `--only` and `--against` know them by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayoutGroup {
    /// The name.
    name: &'static str,
    /// The names of the layouts in [`LAYOUTS`].
    layouts: &'static [&'static str],
}

/// All groups. Some layouts are in several.
pub const GROUPS: &[LayoutGroup] = &[
    LayoutGroup { name: "one", layouts: &["one drive"] },
    LayoutGroup { name: "md", layouts: &["raid0", "raid5"] },
    LayoutGroup { name: "raid0", layouts: &["raid0"] },
    LayoutGroup { name: "raid5", layouts: &["raid5", "raid5, reads around collection"] },
    LayoutGroup {
        name: "mirror",

        layouts: &["epochs, collection under control", "epochs with three copies, collection under control"],
    },
    LayoutGroup { name: "swan", layouts: &["swan0"] },
];

impl LayoutGroup {
    /// The group of this name.
    ///
    /// # Errors
    /// A sentence with all names.
    pub fn by_name(name: &str) -> Result<LayoutGroup, BadValue> {
        GROUPS.iter().find(|group| group.name == name).copied().ok_or_else(|| {
            let names: Vec<&str> = GROUPS.iter().map(|group| group.name).collect();
            let meant = nearest(name, names.iter().copied());
            let meant = meant.map_or(String::new(), |near| format!("did you mean '{near}'? "));
            BadValue::new(format!("{meant}the layouts are {}", enumerate(&names)))
        })
    }

    /// The name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Whether the layout of this name is one of them.
    pub fn has(&self, layout: &str) -> bool {
        self.layouts.contains(&layout)
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_layout_is_in_a_group_and_groups_have_layouts_that_exist() {
        for layout in LAYOUTS {
            assert!(GROUPS.iter().any(|group| group.has(layout.name)), "{}", layout.name);
        }
        for name in GROUPS.iter().flat_map(|group| group.layouts) {
            assert!(LAYOUTS.iter().any(|layout| layout.name == *name), "{name}");
        }
    }
}
