//! What becomes of memcached's options that are not simply done.

use super::arguments::{KvArguments, Protocol};
use crate::failure::Failure;
use tailcut_base::Nanos;

/// Settings and notes from the compatibility options.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// How long a connection may be idle.
    pub idle: Option<Nanos>,
    /// Options that have no effect, in sentences.
    pub notes: Vec<String>,
}

impl Options {
    /// Looks at all of them.
    ///
    /// # Errors
    /// All options whose meaning differs here, each with what would be right.
    pub fn read(arguments: &KvArguments) -> Result<Options, Failure> {
        let mut options = Options::default();
        let mut refusals: Vec<String> = refused(arguments).map(String::from).collect();
        for option in &arguments.extended {
            if let Err(refusal) = options.extend(option) {
                refusals.push(refusal);
            }
        }
        options.notes.extend(harmless(arguments).map(String::from));
        match refusals.is_empty() {
            true => Ok(options),
            false => Err(Failure::Input(refusals.join("\n"))),
        }
    }

    /// One of `-o`.
    fn extend(&mut self, option: &str) -> Result<(), String> {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        match name {
            "idle_timeout" => {
                let seconds: u32 = value
                    .parse()
                    .map_err(|_| String::from("-o idle_timeout: write seconds, such as idle_timeout=60"))?;
                self.idle = (seconds > 0).then(|| Nanos::secs(seconds.into()));
            }
            "maxconns_fast" => {}
            "resp_obj_mem_limit" | "read_buf_mem_limit" => {
                return Err(format!(
                    "-o {name}: memory for clients has one limit here; take --client-memory SIZE"
                ));
            }
            _ if name.starts_with("ext_") => {
                return Err(format!(
                    "-o {name}: items on flash are the rule here; say where with --device PATH"
                ));
            }
            _ if ABOUT_MEMORY.contains(&name.strip_prefix("no_").unwrap_or(name)) => {
                self.notes.push(format!("-o {name} changes nothing: memory is organised otherwise here"));
            }
            _ => {
                return Err(format!(
                    "-o {name} is not known; there are idle_timeout=SECONDS, maxconns_fast, and without effect {}",
                    ABOUT_MEMORY.join(", ")
                ));
            }
        }
        Ok(())
    }
}

/// Options whose meaning differs here.
fn refused(arguments: &KvArguments) -> impl Iterator<Item = &'static str> {
    let others = &arguments.others;
    let all = [
        (
            others.protocol == Protocol::Binary,
            "-B binary: the binary protocol is not spoken (memcached gives it up, too); set clients to ascii",
        ),
        (others.enable_sasl, "-S: SASL belongs to the binary protocol, which is not spoken; take -Y FILE"),
        (others.enable_ssl, "-Z: there is no TLS here; put a proxy that encrypts in front of it"),
        (others.daemon, "-d: it stays in the foreground; let systemd run it, or add & to the command"),
        (others.disable_flush_all, "-F: flush_all is always understood; leave out -F"),
        (others.disable_cas, "-C: items always have CAS values; leave out -C"),
        (others.enable_shutdown, "-A: the command shutdown is not carried out; a signal stops the server"),
        (
            others.memory_file.is_some(),
            "-e: memory is not kept in a file; with -M and --device PATH items outlive the server",
        ),
        (
            others.user.is_some() && is_root(),
            "-u: it does not change its user; start it as that one, with sudo -u or systemd's User=",
        ),
    ];
    all.into_iter().filter_map(|(is_asked, refusal)| is_asked.then_some(refusal))
}

/// Options without effect.
fn harmless(arguments: &KvArguments) -> impl Iterator<Item = &'static str> {
    let others = &arguments.others;
    let slabs = others.slab_growth_factor.is_some() || others.slab_min_size.is_some();
    let all = [
        (others.max_reqs_per_event.is_some(), "-R changes nothing: clients are served by turns of 64 KiB"),
        (others.listen_backlog.is_some(), "-b changes nothing: the system's own limit counts"),
        (slabs, "-f and -n change nothing: there are no slab classes"),
        (others.enable_largepages, "-L changes nothing: the system chooses the size of pages"),
        (others.lock_memory, "-k changes nothing: memory is not locked"),
        (others.enable_coredumps, "-r changes nothing: the limit of the shell counts"),
        (others.user.is_some() && !is_root(), "-u changes nothing: only root can become somebody else"),
        (others.pidfile.is_some(), "-P changes nothing: it is for servers in the background"),
    ];
    all.into_iter().filter_map(|(is_asked, note)| is_asked.then_some(note))
}

/// True if the process's files in /proc belong to root (proc(5)).
fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|data| data.uid() == 0)
}

/// Of memcached's memory: its hash table, slabs and queues.
const ABOUT_MEMORY: [&str; 17] = [
    "modern",
    "hashpower",
    "hash_algorithm",
    "hashexpand",
    "tail_repair_time",
    "lru_crawler",
    "lru_crawler_sleep",
    "lru_crawler_tocrawl",
    "lru_maintainer",
    "lru_segmented",
    "hot_lru_pct",
    "warm_lru_pct",
    "hot_max_factor",
    "warm_max_factor",
    "slab_reassign",
    "slab_automove",
    "temporary_ttl",
];
