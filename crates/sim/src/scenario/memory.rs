//! Checks, before anything is allocated, that a scenario fits into memory: the kernel kills a process that
//! runs out, without an error message.

use super::{InputError, Scenario};
use crate::array::Members;
use crate::kv::KvConfig;
use std::fmt;
use std::path::Path;
use tailcut_base::quantity::show_bytes;
use tailcut_host::BLOCK_BYTES;
use tailcut_ssd::precondition::PreparedState;
use tailcut_workload::Problem;

/// The share of the available memory that advice fills at most, in per cent: other processes allocate
/// meanwhile.
const ADVISED: u64 = 80;

/// Half of the address space of a process on today's processors, in bytes.
const ADDRESS_SPACE: u64 = 1 << 46;

/// The most that is mapped for a page of a drive, in bytes: map, record, valid bit, and the content checker's
/// or the array's contents and checksums.
const BYTES_MAPPED: u64 = 8 + 12 + 1 + 12;

/// Memory that a run allocates, and memory that is available, in bytes.
#[derive(Clone, Copy)]
struct Demand {
    needed: u64,
    available: u64,
}

impl Demand {
    fn is_met(self) -> bool {
        self.needed <= self.available
    }

    /// Bytes that advice fills at most.
    fn advised(self) -> u64 {
        self.available / 100 * ADVISED
    }
}

impl fmt::Display for Demand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Demand { needed, available } = *self;
        let [least, most] = [needed, available].map(|bytes| show_bytes(bytes as f64));
        write!(f, "at least {least} ({needed} bytes) of memory, and {most} ({available} bytes) are available")
    }
}

impl Scenario {
    /// The number of simulated drives, and the key that sets it, if there is one.
    fn drives_and_key(&self) -> (u64, Option<&'static str>) {
        if self.array.drives > 0 {
            return (u64::from(Members::drives(&self.array)), Some("array.drives"));
        }
        match self.host.is_on() {
            true => (u64::from(self.host.drives.max(1)), Some("host.drives")),
            false => (1, None),
        }
    }

    /// A lower bound of the memory of the drives and of the content checker, in bytes.
    pub fn memory_least(&self) -> u64 {
        let (drives, _) = self.drives_and_key();
        let how = &self.precondition;
        // Drives of an array keep no content of their own; those of a layout that is no place for each block
        // are filled by writing, block by block.
        let is_array = self.array.drives > 0;
        let mut how_drives = how.clone();
        if is_array && !self.array.layout.is_in_place() {
            how_drives.state = PreparedState::Empty;
        }
        let checked = match (self.content, how_drives.state) {
            (false, _) | (_, PreparedState::Empty) => 0,
            _ => {
                let pages = self.device.ftl.logical_pages(&self.device.geometry);
                pages * u64::from(how.fill) / 1_000_000 * size_of::<u32>() as u64
            }
        };
        let checkers = if is_array { 1 } else { drives };
        let drive = self.device.memory_least(&how_drives, self.content && !is_array);
        drives.saturating_mul(drive).saturating_add(checkers.saturating_mul(checked))
    }

    /// Refuses drives for which there is no memory, as far as that can be known.
    pub(super) fn check_memory(&self) -> Result<(), InputError> {
        available(Path::new("/")).map_or(Ok(()), |available| self.fits(available))
    }

    /// Tables of drives are mapped as a whole, whatever part of them is used.
    ///
    /// # Errors
    /// The address space has no room for them.
    fn fits_address_space(&self) -> Result<(), InputError> {
        let (drives, key) = self.drives_and_key();
        let pages = self.device.geometry.page_count();
        let most = ADDRESS_SPACE / BYTES_MAPPED / pages.max(1);
        if drives <= most {
            return Ok(());
        }
        let message = format!(
            "the tables of {drives} drives of {pages} pages each do not fit the address space: at most \
             {most} of them do, or set fewer device.geometry.blocks"
        );
        Err(InputError::Memory(vec![Problem { key: key.unwrap_or("device.geometry.blocks"), message }]))
    }

    /// # Errors
    /// The drives need more memory than is available.
    fn fits(&self, available: u64) -> Result<(), InputError> {
        self.fits_address_space()?;
        let demand = Demand { needed: self.memory_least(), available };
        if demand.is_met() {
            return Ok(());
        }
        let (drives, key) = self.drives_and_key();
        let blocks = u64::from(self.device.geometry.blocks);
        let share_of = |count: u64| {
            (u128::from(count) * u128::from(demand.advised()) / u128::from(demand.needed.max(1))) as u64
        };
        // A minimum of two drives and four blocks is worth naming.
        let fewer = key.filter(|_| share_of(drives) >= 2).map(|key| format!("{key} = {}", share_of(drives)));
        let smaller =
            (share_of(blocks) >= 4).then(|| format!("device.geometry.blocks = {}", share_of(blocks)));
        let ways: Vec<String> = fewer.into_iter().chain(smaller).collect();
        let advice = match ways.as_slice() {
            [] => String::from("use fewer drives with fewer pages"),
            ways => format!("set {}", ways.join(", or ")),
        };
        let what = if drives == 1 { "a drive".into() } else { format!("{drives} drives") };
        let message = format!(
            "{what} of {} pages{} need{} {demand}: {advice}",
            self.device.geometry.page_count(),
            if drives == 1 { "" } else { " each" },
            if drives == 1 { "s" } else { "" },
        );
        let key = key.filter(|_| drives > 1).unwrap_or("device.geometry.blocks");
        Err(InputError::Memory(vec![Problem { key, message }]))
    }
}

/// Memory that a key-value server needs, in bytes.
struct ServerDemand {
    /// For items in memory.
    items: u64,
    /// For the content of the blocks of its log, which the simulation stores.
    log: u64,
}

/// Refuses a key-value server whose memory, or whose log of `blocks` blocks, the machine has no memory for.
///
/// # Errors
/// [`InputError::Kv`], with a `kv.memory` or `kv.space` that fits.
pub(super) fn check_server(kv: &KvConfig, blocks: u64) -> Result<(), InputError> {
    let demand = ServerDemand { items: kv.memory, log: blocks * BLOCK_BYTES };
    available(Path::new("/")).map_or(Ok(()), |available| demand.fits(available))
}

impl ServerDemand {
    fn fits(&self, available: u64) -> Result<(), InputError> {
        fits_as(Demand { needed: self.items, available }, "the server", "memory")?;
        let left = available - self.items;
        fits_as(Demand { needed: self.log, available: left }, "the content of the simulated log", "space")
    }
}

fn fits_as(demand: Demand, what: &str, key: &'static str) -> Result<(), InputError> {
    if demand.is_met() {
        return Ok(());
    }
    let most = demand.advised() >> 20;
    let message = format!("{what} needs {demand}: set kv.{key} = \"{most}MiB\"");
    Err(InputError::Kv(vec![Problem { key, message }]))
}

/// Bytes of memory that this process can still have, from the files of a system below `root`: what the
/// machine has available, or less where a control group or a limit of the process (`ulimit -v`) sets less.
/// `None` where that cannot be known.
fn available(root: &Path) -> Option<u64> {
    let machine = field(&root.join("proc/meminfo"), "MemAvailable:").map(|kilobytes| kilobytes * 1024);
    let groups = std::fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let groups = groups.lines().filter_map(|line| of_group(root, line));
    groups.chain(machine).chain(of_process(root)).min()
}

/// What the limit on the address space of this process leaves; `None` without a limit.
fn of_process(root: &Path) -> Option<u64> {
    let limits = std::fs::read_to_string(root.join("proc/self/limits")).ok()?;
    let soft =
        limits.lines().find_map(|line| line.strip_prefix("Max address space"))?.split_whitespace().next()?;
    let used = field(&root.join("proc/self/status"), "VmSize:")? * 1024;
    Some(soft.parse::<u64>().ok()?.saturating_sub(used))
}

/// The memory that a control group and its ancestors leave; `line` is one of `/proc/self/cgroup`
/// (cgroups(7)).
fn of_group(root: &Path, line: &str) -> Option<u64> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (controllers, path) = (parts.next()?, parts.next()?.trim_start_matches('/'));
    let (mount, limit, used, cache) = match controllers {
        "" => ("sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"),
        _ if controllers.split(',').any(|controller| controller == "memory") => {
            ("sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        }
        _ => return None,
    };
    let mount = root.join(mount);
    // Within a container the path may be that of the machine, and the group itself stand at the mount.
    let groups = Path::new(path).ancestors().map(|path| mount.join(path));
    let left = |group: std::path::PathBuf| {
        let number = |file: &str| std::fs::read_to_string(group.join(file)).ok()?.trim().parse::<u64>().ok();
        // Inactive page cache is reclaimed first.
        let cached = field(&group.join("memory.stat"), cache).unwrap_or(0);
        Some(number(limit)?.saturating_sub(number(used)?.saturating_sub(cached)))
    };
    groups.filter_map(left).min()
}

/// The number behind a name, on a line of its own.
fn field(file: &Path, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    let mut lines = text.lines().map(str::split_whitespace);
    lines.find_map(|mut words| (words.next() == Some(name)).then(|| words.next()?.parse().ok()).flatten())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_ssd::Preset;

    fn system(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a folder");
        for (path, text) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().expect("it is below the root")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        }
        root
    }

    const MACHINE: (&str, &str) = ("proc/meminfo", "MemTotal:  8000000 kB\nMemAvailable:  4000000 kB\n");

    #[test]
    fn what_is_available_is_that_of_the_machine_or_of_the_strictest_group() {
        assert_eq!(available(system(&[]).path()), None);
        assert_eq!(available(system(&[MACHINE]).path()), Some(4_096_000_000));
        let second = [
            MACHINE,
            ("proc/self/cgroup", "0::/user/job\n"),
            ("sys/fs/cgroup/user/job/memory.max", "max\n"),
            ("sys/fs/cgroup/user/job/memory.current", "1000\n"),
            ("sys/fs/cgroup/user/memory.max", "1000000\n"),
            ("sys/fs/cgroup/user/memory.current", "300000\n"),
            ("sys/fs/cgroup/user/memory.stat", "anon 5\ninactive_file 100000\n"),
        ];
        assert_eq!(available(system(&second).path()), Some(800_000));
        let first = [
            MACHINE,
            ("proc/self/cgroup", "4:memory:/docker/abc\n1:cpu:/\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "2000000\n"),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "500000\n"),
        ];
        assert_eq!(available(system(&first).path()), Some(1_500_000));
        let limits = "Max file size             unlimited            unlimited            bytes\n\
                      Max address space         7000000              unlimited            bytes\n";
        let process = [MACHINE, ("proc/self/limits", limits), ("proc/self/status", "VmSize:\t    1000 kB\n")];
        assert_eq!(available(system(&process).path()), Some(5_976_000));
        let limits = limits.replace("7000000  ", "unlimited");
        let process =
            [MACHINE, ("proc/self/limits", &*limits), ("proc/self/status", "VmSize:\t    1000 kB\n")];
        assert_eq!(available(system(&process).path()), Some(4_096_000_000));
    }

    #[test]
    fn a_server_that_does_not_fit_is_refused_with_the_key_that_makes_it_smaller() {
        let fits = |items, log| ServerDemand { items, log }.fits(10 << 30);
        assert!(fits(1 << 30, 9 << 30).is_ok());
        let refused = |items, log, wanted: &str| {
            let Err(InputError::Kv(problems)) = fits(items, log) else {
                panic!("{items} and {log} bytes do not fit")
            };
            let (key, message) = (problems[0].key, &problems[0].message);
            assert_eq!(key, wanted, "{message}");
            let advice = message.rsplit(&format!("kv.{key} = \"")).next().expect("advice");
            advice.trim_end_matches("MiB\"").parse::<u64>().expect("a number") << 20
        };
        let space = refused(1 << 30, 30 << 30, "space");
        assert!(fits(1 << 30, space).is_ok());
        let memory = refused(1 << 40, 1 << 30, "memory");
        assert!(fits(memory, 1 << 30).is_ok());
    }

    #[test]
    fn drives_that_do_not_fit_the_address_space_are_refused() {
        let mut scenario = Scenario { device: Preset::M.config(), ..Scenario::default() };
        scenario.device.geometry.blocks = 1 << 20;
        scenario.device.geometry.pages = 2047;
        scenario.precondition.state = PreparedState::Empty;
        assert!(scenario.fits_address_space().is_ok(), "{}", scenario.device.geometry.page_count());
        scenario.array.drives = 40;
        let Err(InputError::Memory(problems)) = scenario.fits_address_space() else {
            panic!("40 do not fit")
        };
        assert_eq!(problems[0].key, "array.drives");
        assert!(problems[0].message.contains("do not fit the address space"), "{}", problems[0].message);
    }

    #[test]
    fn drives_that_do_not_fit_are_refused_with_advice_that_helps() {
        let scenario = Scenario { device: Preset::M.config(), ..Scenario::default() };
        let needed = scenario.memory_least();
        assert!((80 << 20..200 << 20).contains(&needed), "{needed}: seven million pages of 16 to 20 bytes");
        assert!(scenario.fits(needed).is_ok());
        let refused = |scenario: &Scenario, there: u64| match scenario.fits(there) {
            Err(InputError::Memory(problems)) => (problems[0].key, problems[0].message.clone()),
            other => panic!("{other:?}"),
        };
        let (key, message) = refused(&scenario, needed - 1);
        assert_eq!(key, "device.geometry.blocks");
        assert!(message.contains(&format!("({needed} bytes)")), "{message}");
        assert!(message.contains(&format!("({} bytes)", needed - 1)), "{message}");
        let blocks = message.rsplit("device.geometry.blocks = ").next().expect("advice");
        let mut smaller = scenario.clone();
        smaller.device.geometry.blocks = blocks.parse().expect("a number");
        assert!(smaller.fits(needed - 1).is_ok(), "{message}");

        let mut array = scenario;
        array.array.drives = 16;
        let there = array.memory_least() / 2;
        let (key, message) = refused(&array, there);
        assert_eq!(key, "array.drives");
        assert!(message.contains("16 drives") && message.contains("set array.drives = 6,"), "{message}");
        array.array.drives = 6;
        assert!(array.fits(there).is_ok());
    }
}
