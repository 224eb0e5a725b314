//! Keys that have no effect, because of the values of other keys.
//!
//! All rules are here. The command line compares their result with the keys that the user set, and warns of
//! those.

mod array;
mod drive;
mod host;
mod requests;

use super::{ReplayTiming, Scenario};
use crate::world::Limits;
use tailcut_base::Nanos;
use tailcut_workload::address_config::{AddressConfig, Distribution};
use tailcut_workload::config::{ArrivalKind, PaceKind};
use tailcut_workload::datacenter::Workload;
use tailcut_workload::lsm::mix::Mix;
use tailcut_workload::{FurtherSources, SyntheticConfig};

use tailcut_base::steady::ROUNDS;
use tailcut_ssd::config::{Classes, Handling};
use tailcut_ssd::precondition::PreparedState;

/// Keys of a scenario that have no effect on the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ineffective {
    /// The key, or a section with all keys below it.
    path: String,
    /// Keys of the section that do have an effect.
    except: &'static [&'static str],
    /// Why the keys have no effect, as a clause for a message.
    pub because: String,
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
        self.add_idle_operations(&mut found);
        self.add_idle_layouts(&mut found);
        self.add_idle_properties(&mut found);
        host::add_idle_parts(&mut found, self);
        if self.precondition.state == PreparedState::Empty {
            let because = "the drive is prepared empty (precondition.state)";
            add(&mut found, "precondition", &["fill"], because);
        }
        if self.is_synthetic() {
            for (name, source) in self.synthetic() {
                add_idle_keys(&mut found, name, source);
            }
            let is_written = self.synthetic().any(|(_, source)| has_writes(source));
            if !is_written && self.array.drives == 0 && !self.kv.enabled {
                add(&mut found, "device.buffer", &["flush_above"], "there are no writes (workload.read)");
            }
        }
        if self.trace.timing == ReplayTiming::Closed {
            add(&mut found, "trace", &["stretch_ppm"], "trace.timing is \"closed\"");
        }
        if !self.trace.disk.is_empty() {
            add(&mut found, "trace", &["streams"], "one disk is replayed, in stream 0 (trace.disk)");
        }
        if self.datacenter.pace == PaceKind::Closed {
            add(&mut found, "datacenter", &["rate"], "datacenter.pace is \"closed\"");
        }
        self.add_idle_preemption(&mut found);
        drive::add_idle_parts(&mut found, &self.device);
        drive::add_idle_times(&mut found, &self.device);
        drive::add_idle_scheduling(&mut found, &self.device);
        if !self.asks_to_fail_fast() {
            let because = "no read asks to fail rather than wait: set array.reads = \"fail-fast\" and \
                           array.drives, with a layout other than raid0, log-raid0 or swan0";
            add(&mut found, "device.schedule", &["fail_fast"], because);
        }
        self.add_idle_judgement(&mut found);
        found
    }

    /// Keys of sources that do not run.
    fn add_idle_sources(&self, found: &mut Vec<Ineffective>) {
        let mut idle = |path: &str, except, because: String| {
            found.push(Ineffective { path: path.into(), except, because });
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
                found.push(Ineffective { path, except, because });
            }
        }
        for name in FurtherSources::NAMES {
            if !self.synthetic().any(|(enabled, _)| enabled == name) {
                let because = format!("there is no such source ({name}.enabled)");
                found.push(Ineffective { path: name.into(), except: &[], because });
            }
        }
    }

    /// Keys of operations of a log-structured merge store that are not in its mix.
    fn add_idle_operations(&self, found: &mut Vec<Ineffective>) {
        if !self.lsm.enabled {
            return;
        }
        let because = format!("lsm.mix is \"{}\"", self.lsm.mix);
        let threads: &[_] = match self.lsm.mix {
            Mix::PutsAndGets => &["clients", "operations"],
            Mix::Load => &["gets", "puts", "readers", "operations"],
            _ => &["gets", "puts", "readers"],
        };
        add(found, "lsm", threads, &because);
        if !matches!(self.lsm.mix, Mix::YcsbA | Mix::YcsbB) {
            add(found, "lsm", &["update_reads"], &format!("{because}, which updates nothing"));
        }
    }

    /// The end at steady state, of a run that is over before it could be judged.
    fn add_idle_judgement(&self, found: &mut Vec<Ineffective>) {
        let Limits { duration, round, .. } = self.run;
        let judged = round * ROUNDS as u64;
        // Steady state shows with the first request after the last of the rounds.
        if duration > Nanos::ZERO && duration <= judged {
            let because = format!(
                "the run ends after {duration} (run.duration), and {ROUNDS} rounds of {round} (run.round) \
                 are judged: raise run.duration above {judged}, or shorten run.round"
            );
            add(found, "run", &["until_steady"], &because);
        }
    }

    /// The times of a suspension or reset that never happens, because that is not done to the operation.
    fn add_idle_preemption_times(&self, found: &mut Vec<Ineffective>) {
        let preempt = &self.device.preempt;
        let times = [
            ("program", preempt.program, ["program_suspend", "program_resume"], "program_reset"),
            ("erase", preempt.erase, ["erase_suspend", "erase_resume"], "erase_reset"),
        ];
        for (operation, handling, suspension, reset) in times {
            if handling == Handling::None {
                let because =
                    format!("device.preempt.{operation} is \"none\": set it to \"suspend\" or \"reset\"");
                add(found, TIMING, &suspension, &because);
            } else if preempt.suspensions == 0 {
                let because = "device.preempt.suspensions is 0: raise it";
                add(found, TIMING, &suspension, because);
            }
            if handling != Handling::Reset {
                let because = format!("device.preempt.{operation} is \"{handling}\": set it to \"reset\"");
                add(found, TIMING, &[reset], &because);
            } else if preempt.resets == 0 {
                add(found, TIMING, &[reset], "device.preempt.resets is 0: raise it");
            }
        }
    }

    /// Keys of preemption that no read makes use of.
    fn add_idle_preemption(&self, found: &mut Vec<Ineffective>) {
        self.add_idle_preemption_times(found);
        let preempt = &self.device.preempt;
        let path = "device.preempt";
        if !preempt.is_on() {
            let because = "device.preempt.program and device.preempt.erase are \"none\"";
            let keys = &[
                "suspensions",
                "safe_point",
                "progress",
                "under_backlog",
                "resets",
                "wear_budget",
                "when_quicker",
            ];
            return add(found, path, keys, because);
        }
        if preempt.program == Handling::None {
            let because = "no program is preempted: set device.preempt.program";
            add(found, path, &["under_backlog"], because);
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
                "reads are of class {class} and wait: set {key} = 2, with which they suspend, or 1, with \
                    which they reset"
            );
            let keys = &["program", "erase", "suspensions", "resets", "wear_budget", "when_quicker"];
            add(found, path, keys, &because);
            let times = &["program_suspend", "program_resume", "erase_suspend", "erase_resume"];
            add(found, TIMING, times, &because);
            add(found, TIMING, RESETS, &because);
        } else if class == 2 {
            let because = format!("only reads of class 1 reset ({key} is 2)");
            add(found, path, &["resets", "wear_budget"], &because);
            add(found, TIMING, RESETS, &because);
        }
    }

    /// The lowest class of any read (1 may reset, 2 may suspend), and the key that sets it.
    fn most_urgent_reads(&self) -> (u32, String) {
        if self.lsm.enabled {
            let (gets, compaction) = (self.lsm.get_class, self.lsm.compaction_read_class);
            return if compaction < gets {
                (compaction, String::from("lsm.compaction_read_class"))
            } else {
                (gets, String::from("lsm.get_class"))
            };
        }
        let classes = self.synthetic().map(|(name, source)| (source.read_class, name));
        let (class, name) = classes.min_by_key(|(class, _)| *class).unwrap_or((5, "workload"));
        (class, format!("{name}.read_class"))
    }
}

/// The section of the times of cells and bus.
const TIMING: &str = "device.timing";
/// The times of resets.
const RESETS: &[&str] = &["program_reset", "erase_reset"];

/// Keys of `section` that its distribution does not use.
fn add_idle_addresses(found: &mut Vec<Ineffective>, section: &str, addresses: &AddressConfig) {
    use Distribution::{HotCold, Normal, Pareto, Zipf, ZipfianYcsb, Zoned};
    let users: [(&[&str], &[Distribution]); 6] = [
        (&["theta"], &[Zipf, ZipfianYcsb]),
        (&["h"], &[Pareto]),
        (&["deviation", "centre"], &[Normal]),
        (&["hot_space", "hot_access"], &[HotCold]),
        (&["zones"], &[Zoned]),
        (&["scatter"], &[Zipf, ZipfianYcsb, Pareto]),
    ];
    let chosen = addresses.distribution;
    for (keys, users) in users.iter().filter(|(_, users)| !users.contains(&chosen)) {
        let names: Vec<String> = users.iter().map(|user| format!("\"{user}\"")).collect();
        let because = format!("{section}.distribution is \"{chosen}\": set it to {}", names.join(" or "));
        add(found, section, keys, &because);
    }
}

/// Where reads or writes go that a synthetic source does not issue.
fn add_idle_places(found: &mut Vec<Ineffective>, path: &str, source: &SyntheticConfig) {
    let (reads, writes) = (format!("{path}.addresses"), format!("{path}.write_addresses"));
    let mut idle = |path: String, because: String| {
        found.push(Ineffective { path, except: &[], because });
    };
    if source.read >= 1_000_000 {
        idle(writes.clone(), format!("there are no writes or trims: lower {path}.read"));
    }
    if source.read == 0 && source.write_addresses.distribution != Distribution::Same {
        idle(reads.clone(), format!("there are no reads: raise {path}.read"));
    }
    add_idle_addresses(found, &reads, &source.addresses);
    add_idle_addresses(found, &writes, &source.write_addresses);
}

/// Whether some of its requests are writes.
fn has_writes(source: &SyntheticConfig) -> bool {
    source.read.saturating_add(source.trim) < 1_000_000
}

/// Keys of a synthetic source that others of its keys leave without effect.
fn add_idle_keys(found: &mut Vec<Ineffective>, path: &str, source: &SyntheticConfig) {
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
    add_idle_places(found, path, source);
    let is_sequential = source.addresses.distribution == Distribution::Sequential
        && matches!(source.write_addresses.distribution, Distribution::Same | Distribution::Sequential);
    if is_sequential {
        let because = format!("all requests follow their predecessors ({path}.addresses.distribution)");
        add(found, path, &["sequential"], &because);
    }
    if source.read == 0 {
        add(found, path, &["read_size", "read_class"], &format!("there are no reads ({path}.read)"));
    }
    if !has_writes(source) {
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
    }));
}

#[cfg(test)]
mod tests;
