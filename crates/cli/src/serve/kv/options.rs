//! What becomes of memcached's options that are not simply done.

use super::arguments::{KvArguments, Protocol};
use super::tls::TlsOptions;
use crate::failure::Failure;
use tailcut_base::{BadValue, Nanos};

/// Settings and notes from the compatibility options.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// How long a connection may be idle.
    pub idle: Option<Nanos>,
    tls: TlsOptions,
    /// Notes about options that have no effect, each as a sentence.
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
                refusals.push(refusal.message);
            }
        }
        if arguments.others.enable_ssl && arguments.tls_certificates().is_none() {
            refusals.extend(options.tls.missing().map(String::from));
        }
        options.notes.extend(harmless(arguments).map(String::from));
        match refusals.is_empty() {
            true => Ok(options),
            false => Err(Failure::Input(refusals.join("\n"))),
        }
    }

    /// The options about TLS.
    pub fn tls(&self) -> &TlsOptions {
        &self.tls
    }

    /// One of `-o`.
    fn extend(&mut self, option: &str) -> Result<(), BadValue> {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        match name {
            "idle_timeout" => {
                let seconds: u32 = value
                    .parse()
                    .map_err(|_| BadValue::new("-o idle_timeout: write seconds, such as idle_timeout=60"))?;
                self.idle = (seconds > 0).then(|| Nanos::secs(seconds.into()));
            }
            _ if self.tls.extend(name, value, &mut self.notes)? => {}
            "maxconns_fast" => {}
            "resp_obj_mem_limit" | "read_buf_mem_limit" => {
                return Err(BadValue::new(format!(
                    "-o {name}: memory for clients has one limit here; take --client-memory SIZE"
                )));
            }
            "ext_item_size" if value.parse::<u64>().is_ok() => {}
            "ext_item_size" => {
                return Err(BadValue::new("-o ext_item_size: write bytes, such as ext_item_size=512"));
            }
            "ext_path" => return Err(BadValue::new(flash_file(value))),
            _ if name.starts_with("ext_") => {
                self.notes
                    .push(format!("-o {name} changes nothing: the flash tier is organised otherwise here"));
            }
            _ if ABOUT_MEMORY.contains(&name.strip_prefix("no_").unwrap_or(name)) => {
                self.notes.push(format!("-o {name} changes nothing: memory is organised otherwise here"));
            }
            _ => {
                self.notes.push(format!(
                    "-o {name} is not known and changes nothing; there are idle_timeout=SECONDS and \
                        maxconns_fast"
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
            others.enable_sasl && arguments.auth_file.is_none(),
            "-S: name the users with -Y FILE (NAME:PASSWORD), or clients would not have to authenticate",
        ),
        (
            arguments.udp_port != 0 && arguments.auth_file.is_some(),
            "-U: requests over UDP cannot be authenticated, so it cannot be used with -Y",
        ),
        (arguments.udp_port != 0 && arguments.unix_socket.is_some(), "-U: UDP cannot be used with -s"),
        (
            others.memory_file.is_some(),
            "-e: memory is not kept in a file; with -M and --device PATH items outlive the server",
        ),
    ];
    all.into_iter().filter_map(|(is_asked, refusal)| is_asked.then_some(refusal))
}

/// Options without effect.
fn harmless(arguments: &KvArguments) -> impl Iterator<Item = &'static str> {
    let others = &arguments.others;
    let slabs = others.slab_growth_factor.is_some() || others.slab_min_size.is_some();
    let all = [
        (
            others.protocol != Protocol::Auto,
            "-B changes nothing: the first byte of a client decides, text or binary",
        ),
        (others.max_reqs_per_event.is_some(), "-R changes nothing: clients are served by turns of 64 KiB"),
        (others.listen_backlog.is_some(), "-b changes nothing: the system's own limit counts"),
        (slabs, "-f and -n change nothing: there are no slab classes"),
        (others.enable_largepages, "-L changes nothing: the system chooses the size of pages"),
        (others.lock_memory, "-k changes nothing: memory is not locked"),
        (others.enable_coredumps, "-r changes nothing: the limit of the shell counts"),
        (arguments.user.is_some() && !is_root(), "-u changes nothing: only root can become another user"),
    ];
    let notes = all.into_iter().filter_map(|(is_asked, note)| is_asked.then_some(note));
    notes.chain(others.without_feature())
}

/// The command that has the effect of `-o ext_path=FILE:SIZE`.
fn flash_file(value: &str) -> String {
    let mut parts = value.split(':');
    let (file, size) = (parts.next().unwrap_or("FILE"), parts.next().unwrap_or("SIZE"));
    format!(
        "-o ext_path={value}: the flash tier is a file or device of --device here, which has its size \
         already: truncate -s {size} {file} && tailcut serve kv --device {file} …"
    )
}

/// True if the process's files in /proc belong to root (proc(5)).
pub fn is_root() -> bool {
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
