//! Keys that have no effect, because of the values of other keys.
//!
//! All rules are here. The command line compares their result with the keys that the user set, and reports
//! those as an error or a warning ([`Weight`]).

use super::{ReplayTiming, Scenario};
use crate::workload::SyntheticConfig;
use crate::workload::config::{ArrivalKind, PaceKind};
use crate::workload::datacenter::Workload;
use tailcut_ssd::config::Classes;
use tailcut_ssd::controller::ftl::MappingLevel;
use tailcut_ssd::preemption::Handling;

/// Keys without effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ineffective {
    /// The key, or a section with all keys below it.
    path: String,
    /// Keys of the section that do have an effect.
    except: &'static [&'static str],
    /// Why, for a message.
    pub because: String,
    /// How to treat the key if it was set.
    pub weight: Weight,
}

/// How to treat a key that was set and has no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// It describes requests that are not issued: an error, where it was set for this very run.
    Wrong,
    /// Another setting has switched it off, which a comparison of settings may do on purpose: a warning.
    Doubtful,
}

impl Ineffective {
    /// Whether the key with this path (such as `workload.rate`) is covered.
    pub fn covers(&self, path: &str) -> bool {
        let below = path.strip_prefix(self.path.as_str());
        below.is_some_and(|rest| rest.is_empty() || rest.starts_with('.')) && !self.except.contains(&path)
    }
}

/// The keys of `[workload]` that count for other sources of requests as well.
const CLASSES: &[&str] = &["workload.read_class", "workload.write_class"];

impl Scenario {
    /// Every key that has no effect in this scenario.
    pub fn ineffective(&self) -> Vec<Ineffective> {
        let mut found = Vec::new();
        self.add_idle_sources(&mut found);
        self.add_idle_sections(&mut found);
        if self.is_synthetic() {
            add_idle_keys(&mut found, "workload", &self.workload);
            if self.beside.enabled {
                add_idle_keys(&mut found, "beside", &self.beside.source);
            }
        }
        if self.trace.timing == ReplayTiming::Closed {
            add(&mut found, "trace", &["stretch_ppm"], "trace.timing is \"closed\"");
        }
        if self.datacenter.pace == PaceKind::Closed {
            add(&mut found, "datacenter", &["rate"], "datacenter.pace is \"closed\"");
        }
        self.add_idle_preemption(&mut found);
        self.add_idle_parts_of_the_drive(&mut found);
        found
    }

    /// Keys of sources that do not run.
    fn add_idle_sources(&self, found: &mut Vec<Ineffective>) {
        let mut idle = |path: &str, except, because: String| {
            found.push(Ineffective { path: path.into(), except, because, weight: Weight::Wrong });
        };
        let is_replayed = !self.trace.file.is_empty();
        if is_replayed {
            idle("workload", CLASSES, "a trace is replayed (trace.file)".into());
        } else {
            idle("trace", &["trace.file"], "there is no trace (trace.file, --trace)".into());
        }
        if !self.fio.file.is_empty() {
            idle("workload", CLASSES, "a fio job file is run (fio.file)".into());
        }
        match self.datacenter.workload {
            Workload::None => {
                let because = "there is no data-centre workload (datacenter.workload)";
                idle("datacenter", &["datacenter.workload"], because.into());
            }
            workload => idle("workload", CLASSES, format!("{workload} is generated (datacenter.workload)")),
        }
        if self.lsm.enabled {
            let because =
                "a store runs (lsm.enabled); the classes of its requests are lsm.get_class and others";
            idle("workload", &[], because.into());
        } else {
            idle("lsm", &["lsm.enabled"], "there is no store (lsm.enabled)".into());
        }
    }

    /// Keys of parts that are not there.
    fn add_idle_sections(&self, found: &mut Vec<Ineffective>) {
        let sections: [(bool, &str, &'static [&'static str], &str); 4] = [
            (
                self.beside.enabled,
                "beside",
                &["beside.enabled"],
                "there is no second source (beside.enabled)",
            ),
            (
                self.array.drives > 0,
                "array",
                &["array.drives", "array.members"],
                "there is no array (array.drives)",
            ),
            (self.host.is_on(), "host", &["host.strategy"], "no host is modelled (host.strategy)"),
            (self.kv.enabled, "kv", &["kv.enabled"], "there is no key-value server (kv.enabled)"),
        ];
        for (is_there, path, except, because) in sections {
            if !is_there {
                let (path, because) = (path.into(), because.into());
                found.push(Ineffective { path, except, because, weight: Weight::Doubtful });
            }
        }
    }

    /// Keys of parts that the drive does not have.
    fn add_idle_parts_of_the_drive(&self, found: &mut Vec<Ineffective>) {
        let drive = &self.device;
        if drive.ftl.mapping == MappingLevel::Block {
            let because = "a drive that maps by block merges blocks and has no victims (device.ftl.mapping)";
            let keys = &["victim", "choices", "high", "background", "merge", "copies"];
            add(found, "device.gc", keys, because);
            add(found, "device.wear", &["levelling", "spread"], because);
        } else {
            let because = "a drive that maps by page has no stripes of blocks (device.ftl.mapping)";
            add(found, "device.ftl", &["stripe"], because);
            if !drive.wear.levelling {
                add(found, "device.wear", &["spread"], "device.wear.levelling is false");
            }
        }
        if drive.buffer.size == 0 {
            let because = "there is no write-back buffer (device.buffer.size)";
            add(found, "device.buffer", &["flush_above", "capacitor"], because);
        }
        if drive.cache.size == 0 {
            add(found, "device.cache", &["streams"], "there is no read cache (device.cache.size)");
        }
        if drive.sets.count == 1 {
            add(found, "device.sets", &["by"], "the drive is one set (device.sets.count)");
        }
    }

    /// Keys of preemption that no read makes use of.
    fn add_idle_preemption(&self, found: &mut Vec<Ineffective>) {
        let preempt = &self.device.preempt;
        let path = "device.preempt";
        if !preempt.is_on() {
            let because = "device.preempt.program and device.preempt.erase are \"none\"";
            return add(found, path, &["suspensions", "resets", "wear_budget", "when_quicker"], because);
        }
        if preempt.program != Handling::Reset && preempt.erase != Handling::Reset {
            add(
                found,
                path,
                &["resets", "wear_budget"],
                "nothing is reset (device.preempt.program and .erase)",
            );
        }
        // The reads of a key-value server's engine have classes of their own.
        if self.device.schedule.classes != Classes::Told || self.kv.enabled {
            return;
        }
        let (class, key) = self.most_urgent_reads();
        if class > 2 {
            let because = format!(
                "reads are of class {class} and wait: set {key} = 2, with which they suspend, or 1, with which they reset"
            );
            let keys = &["program", "erase", "suspensions", "resets", "wear_budget", "when_quicker"];
            add(found, path, keys, &because);
        } else if class == 2 {
            add(
                found,
                path,
                &["resets", "wear_budget"],
                &format!("only reads of class 1 reset ({key} is 2)"),
            );
        }
    }

    /// The lowest class of any read (1 may reset, 2 may suspend), and the key that sets it.
    fn most_urgent_reads(&self) -> (u32, &'static str) {
        if self.lsm.enabled {
            let (gets, compaction) = (self.lsm.get_class, self.lsm.compaction_read_class);
            return if compaction < gets {
                (compaction, "lsm.compaction_read_class")
            } else {
                (gets, "lsm.get_class")
            };
        }
        let (own, beside) = (self.workload.read_class, self.beside.source.read_class);
        if self.beside.enabled && beside < own {
            (beside, "beside.read_class")
        } else {
            (own, "workload.read_class")
        }
    }
}

/// Keys of a synthetic source that others of its keys leave without effect.
fn add_idle_keys(found: &mut Vec<Ineffective>, path: &str, source: &SyntheticConfig) {
    let has_writes = source.read.saturating_add(source.trim) < 1_000_000;
    let bursts: &[&str] = &["burst_requests", "burst_time", "idle"];
    match (source.pace, source.arrivals) {
        (PaceKind::Closed, _) => {
            let because = format!("{path}.pace is \"closed\"");
            add(found, path, &["rate", "arrivals"], &because);
            add(found, path, bursts, &because);
        }
        (PaceKind::Open, arrivals) => {
            add(found, path, &["think"], &format!("{path}.pace is \"open\""));
            if arrivals != ArrivalKind::Bursts {
                add(found, path, bursts, &format!("{path}.arrivals is \"{arrivals}\""));
            } else if source.burst_requests > 0 {
                add(found, path, &["burst_time"], &format!("{path}.burst_requests says how long a burst is"));
            }
        }
    }
    if source.read == 0 {
        add(found, path, &["read_size", "read_class"], &format!("there are no reads ({path}.read)"));
    }
    if !has_writes {
        let because = format!("there are no writes ({path}.read)");
        add(found, path, &["write_size", "flush_every", "fua", "stream"], &because);
    }
    if source.trim == 0 {
        add(found, path, &["trim_size"], &format!("there are no trims ({path}.trim)"));
    }
    if source.region_size > 0 {
        add(found, path, &["region_share"], &format!("{path}.region_size says how large the region is"));
    }
}

fn add(found: &mut Vec<Ineffective>, section: &str, keys: &[&str], because: &str) {
    found.extend(keys.iter().map(|key| Ineffective {
        path: format!("{section}.{key}"),
        except: &[],
        because: because.into(),
        weight: Weight::Doubtful,
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn because(scenario: &Scenario, path: &str) -> Option<String> {
        scenario.ineffective().into_iter().find(|keys| keys.covers(path)).map(|keys| keys.because)
    }

    #[test]
    fn keys_of_a_synthetic_workload_have_no_effect_with_a_trace_but_for_its_classes() {
        let mut scenario = Scenario::default();
        assert_eq!(because(&scenario, "workload.rate"), None);
        assert!(because(&scenario, "trace.depth").is_some());
        scenario.trace.file = "a.csv".into();
        assert!(because(&scenario, "workload.rate").is_some_and(|why| why.contains("trace.file")));
        assert!(because(&scenario, "workload.addresses.distribution").is_some());
        assert_eq!(because(&scenario, "workload.read_class"), None);
        assert_eq!(because(&scenario, "workload.write_class"), None);
        assert_eq!(because(&scenario, "trace.depth"), None);
        assert_eq!(because(&scenario, "run.requests"), None);
    }

    #[test]
    fn keys_of_parts_that_a_drive_lacks_have_no_effect() {
        let mut scenario = Scenario::default();
        assert_eq!(because(&scenario, "device.gc.victim"), None);
        assert!(because(&scenario, "device.ftl.stripe").is_some());
        assert!(
            because(&scenario, "device.cache.streams").is_some_and(|why| why.contains("device.cache.size"))
        );
        (scenario.device.ftl.mapping, scenario.device.buffer.size) = (MappingLevel::Block, 0);
        assert!(because(&scenario, "device.gc.victim").is_some_and(|why| why.contains("device.ftl.mapping")));
        assert!(because(&scenario, "device.buffer.capacitor").is_some());
        assert_eq!(because(&scenario, "device.ftl.stripe"), None);
    }

    #[test]
    fn preemption_needs_reads_that_may_preempt() {
        let mut scenario = Scenario::default();
        scenario.device.preempt.erase = Handling::Suspend;
        let why = |scenario: &Scenario| because(scenario, "device.preempt.erase");
        assert!(why(&scenario).is_some_and(|why| why.contains("workload.read_class = 2")));
        scenario.workload.read_class = 2;
        assert_eq!(why(&scenario), None);
        assert!(because(&scenario, "device.preempt.resets").is_some());
        scenario.lsm.enabled = true;
        assert_eq!(why(&scenario), None, "gets of a store are of class 1");
        (scenario.lsm.get_class, scenario.lsm.compaction_read_class) = (4, 3);
        assert!(why(&scenario).is_some_and(|why| why.contains("lsm.compaction_read_class")));
        scenario.device.schedule.classes = Classes::Equal;
        assert_eq!(why(&scenario), None);
    }
}
