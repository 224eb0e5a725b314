//! The command line of `tailcut serve kv`: memcached's own options, and ours.

use super::super::arguments::short_time;
use super::super::log::{LogArguments, LogLevel};
use clap::{ArgAction, Args, ValueEnum};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use tailcut_base::{BadValue, Nanos};
use tailcut_host::kv::AdmissionSettings;

/// `tailcut serve kv`.
#[derive(Debug, Args)]
#[command(version)]
pub struct KvArguments {
    /// Scenario (TOML) of the drive or array; default: four small SSDs in an epochs array
    pub scenario: Option<PathBuf>,
    /// Override a scenario key, such as array.drives=4
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// Store items on this file or block device instead of an emulated drive; two are a mirror
    ///
    /// Repeat it for each drive of an array. Two empty ones become a mirror, members of an array are that
    /// array, and others need --create, for three or more with --set array.layout=LAYOUT.
    #[arg(long = "device", value_name = "PATH")]
    pub devices: Vec<PathBuf>,
    /// Create a new store on the devices, which destroys what they hold
    ///
    /// Creates the array as well if the scenario has one. Refuses devices with a store or an array.
    #[arg(long, requires = "devices")]
    pub create: bool,
    /// Assemble the array even if the missing drives hold a complete copy, which may be in use elsewhere.
    /// With fewer missing drives it is assembled anyway
    #[arg(hide_short_help = true, long, requires = "devices", conflicts_with = "create")]
    pub degraded: bool,
    /// Create on devices that hold something else, such as a file system, never on a device in use; or open a
    /// store (-M) as a cache, which evicts its items
    #[arg(hide_short_help = true, long, requires = "devices")]
    pub force: bool,
    /// Store items in memory only
    #[arg(long, conflicts_with_all = ["scenario", "sets", "devices", "create", "durable"])]
    pub memory_only: bool,
    /// Acknowledge a change once it is durable
    ///
    /// Without -M an item may still be evicted later.
    #[arg(long)]
    pub durable: bool,
    /// TCP port; 0: none, -1: any free port
    #[arg(short = 'p', long, value_name = "PORT", default_value_t = 11211, allow_negative_numbers = true,
          value_parser = clap::value_parser!(i32).range(-1..=65535))]
    pub port: i32,
    /// UDP port; 0: none
    ///
    /// A reply is at most one datagram of 1400 bytes, because senders can be forged.
    #[arg(hide_short_help = true, short = 'U', long, value_name = "PORT", default_value_t = 0)]
    pub udp_port: u16,
    /// Addresses to listen on, such as 127.0.0.1,127.0.0.2:11212
    ///
    /// Each may have its own port.
    #[arg(short = 'l', long, value_name = "ADDR", value_delimiter = ',', default_value = "127.0.0.1", value_parser = listen)]
    pub listen: Vec<Listen>,
    /// Allow connections from other machines
    #[arg(long)]
    pub allow_network: bool,
    /// Enable TLS for TCP clients, with server-cert.pem and server-key.pem in DIR
    ///
    /// The same as memcached's -Z -o ssl_chain_cert=FILE,ssl_key=FILE. Clients of an address notls:ADDR in -l
    /// use none.
    #[arg(hide_short_help = true, long, value_name = "DIR")]
    tls_certificates: Option<PathBuf>,
    /// Require a client certificate signed by ca-cert.pem in DIR
    ///
    /// Revoked ones are refused if DIR has a ca-crl.pem.
    #[arg(hide_short_help = true, long, requires = "tls_certificates")]
    tls_verify_peer: bool,
    /// Listen on a unix socket instead of the network
    #[arg(short = 's', long, value_name = "PATH")]
    pub unix_socket: Option<PathBuf>,
    /// Permissions of the unix socket, in octal
    #[arg(hide_short_help = true, short = 'a', long = "unix-mask", value_name = "MASK", default_value = "700", value_parser = octal)]
    pub mask: u32,
    /// Memory for items, in MiB; other items are on flash
    ///
    /// At least 4 times the largest item (-I) is used, and 16 times with -M.
    #[arg(short = 'm', long, value_name = "MIB", default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..=1 << 30))]
    pub memory_limit: u64,
    /// Memory for clients, such as 256m; default: 32 MiB per thread
    ///
    /// For unread replies, partly received values and waiting commands. When it is used up, stalled clients
    /// are disconnected. The server takes at most -m, the index (15 bytes per item), this, 96 KiB per
    /// connection (-c), 40 MiB per thread (-t), and 32 MiB.
    #[arg(hide_short_help = true, long, value_name = "SIZE", value_parser = client_memory)]
    pub client_memory: Option<u64>,
    /// Maximum number of connections
    #[arg(short = 'c', long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub conn_limit: u32,
    /// Number of worker threads; default: half the cores, from 1 to 4
    #[arg(short = 't', long, value_name = "N", default_value_t = some_threads(), hide_default_value = true, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub threads: u32,
    /// Pin each of several threads to a core, if there are as many threads as cores
    ///
    /// Faster where nothing else needs the cores. Beside other work, such as clients that compute, a pinned
    /// thread waits for its core while others are idle.
    #[arg(hide_short_help = true, long)]
    pub pin: bool,
    /// Maximum size of an item with its key and header, such as 512k
    ///
    /// At most half of -m.
    #[arg(short = 'I', long, value_name = "SIZE", default_value = "1m", value_parser = item_size)]
    pub max_item_size: u64,
    /// Keep items smaller than this off flash, such as 512
    ///
    /// The same as memcached's -o ext_item_size=BYTES.
    #[arg(hide_short_help = true, long, value_name = "SIZE", value_parser = flash_item)]
    flash_item_size: Option<u64>,
    /// Keep items off flash that expire in less than this many seconds
    #[arg(hide_short_help = true, long, value_name = "SECONDS")]
    flash_ttl: Option<u32>,
    /// Write at most this much to flash in a day, such as 500g: drive life in exchange for hits
    ///
    /// Copies that make room count. A minute's share may be written at once.
    #[arg(hide_short_help = true, long, value_name = "SIZE", value_parser = daily)]
    flash_writes: Option<u64>,
    /// Return an error instead of evicting items when memory is full
    #[arg(short = 'M', long)]
    pub disable_evictions: bool,
    /// Require authentication with a NAME:PASSWORD of this file, one per line
    #[arg(short = 'Y', long, value_name = "FILE")]
    pub auth_file: Option<PathBuf>,
    /// Run in the background: the command ends once clients are served
    #[arg(short = 'd', long)]
    pub daemon: bool,
    /// As root, run as this user, from before anything is opened
    #[arg(short = 'u', long, value_name = "USER")]
    pub user: Option<String>,
    /// Write the number of the process to a file, which is removed at the end
    #[arg(short = 'P', long, value_name = "FILE")]
    pub pidfile: Option<PathBuf>,
    /// Refuse flush_all
    #[arg(hide_short_help = true, short = 'F', long)]
    pub disable_flush_all: bool,
    /// Show no CAS values: all are 0, and cas stores nothing
    #[arg(hide_short_help = true, short = 'C', long)]
    pub disable_cas: bool,
    /// Let clients stop the server with shutdown
    #[arg(hide_short_help = true, short = 'A', long)]
    pub enable_shutdown: bool,
    /// Extended options of memcached: idle_timeout=SECONDS, and those of TLS (ssl_chain_cert, ssl_key,
    /// ssl_ca_cert, ssl_verify_mode). Others are reported and ignored
    #[arg(hide_short_help = true, short = 'o', long, value_name = "OPTION", value_delimiter = ',')]
    pub extended: Vec<String>,
    /// Busy-poll this long before sleeping, such as 20us: lower latency at the cost of processor time
    #[arg(hide_short_help = true, long, value_name = "TIME", default_value = "0us", value_parser = short_time)]
    pub busy_poll: Nanos,
    /// Control socket for `tailcut status` and `tailcut ctl`
    ///
    /// Default: beside the unix socket, as in socket.ctl, or named after the port, as in tailcut-11211.ctl.
    #[arg(long, value_name = "PATH")]
    pub control: Option<PathBuf>,
    /// Export Prometheus metrics at http://ADDR/metrics, such as 127.0.0.1:9100
    #[arg(long, value_name = "ADDR")]
    pub metrics: Option<SocketAddr>,
    /// Record a history of the counters for 'tailcut report'
    ///
    /// The size of the file is bounded.
    #[arg(long, value_name = "FILE")]
    pub history: Option<PathBuf>,
    /// Log more: -v slow reads (as --log-level debug), -vv connections (trace)
    #[arg(short = 'v', long, action = ArgAction::Count)]
    pub verbose: u8,
    /// The log.
    #[command(flatten)]
    pub log: LogArguments,
    /// Write the final counters as JSON to a file
    ///
    /// With '-', to standard output instead of the table. drive_writes_completed is false if the drive failed
    /// before the last writes were durable, and null with --memory-only; whether items survive depends on -M,
    /// --durable and --device.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Hide the status line
    #[arg(long, short)]
    pub quiet: bool,
    /// Options of memcached without effect here, or refused.
    #[command(flatten)]
    pub others: Others,
}

impl KvArguments {
    /// The least severe level that is logged: of --log-level and -v the one that logs more.
    pub fn log_level(&self) -> LogLevel {
        let verbose = match self.verbose {
            0 => LogLevel::Error,
            1 => LogLevel::Debug,
            _ => LogLevel::Trace,
        };
        verbose.max(self.log.log_level)
    }

    /// The folder of the certificates for TLS, and whether clients must present one.
    pub fn tls_certificates(&self) -> Option<(&Path, bool)> {
        self.tls_certificates.as_deref().map(|folder| (folder, self.tls_verify_peer))
    }

    /// Bounds on what a cache writes to flash, and the option that sets one.
    pub fn admission(&self) -> (AdmissionSettings, Option<&'static str>) {
        let extended = self.extended.iter().find_map(|option| option.strip_prefix("ext_item_size="));
        let extended = extended.and_then(|bytes| bytes.parse().ok());
        let settings = AdmissionSettings {
            least_item: self.flash_item_size.or(extended).unwrap_or(0),
            least_ttl: self.flash_ttl.unwrap_or(0),
            daily_bytes: self.flash_writes.unwrap_or(0),
        };
        let given = [
            (self.flash_item_size.is_some(), "--flash-item-size"),
            (self.flash_ttl.is_some(), "--flash-ttl"),
            (self.flash_writes.is_some(), "--flash-writes"),
        ];
        (settings, given.into_iter().find_map(|(is_given, option)| is_given.then_some(option)))
    }

    /// Bytes of memory for clients.
    pub fn client_memory(&self) -> u64 {
        self.client_memory.unwrap_or(u64::from(self.threads) * CLIENT_MEMORY_OF_THREAD)
    }

    /// The path of the control socket where the default one cannot be created: beside the PID file.
    pub fn other_control(&self) -> Option<PathBuf> {
        self.pidfile.as_ref().map(|file| file.with_extension("ctl"))
    }

    /// The default path of the control socket.
    pub fn usual_control(&self) -> PathBuf {
        match (&self.unix_socket, self.port) {
            (Some(socket), _) => socket.with_extension("ctl"),
            (None, port @ 1..) => PathBuf::from(format!("tailcut-{port}.ctl")),
            (None, _) => PathBuf::from("tailcut-kv.ctl"),
        }
    }
}

/// Options of memcached that have no effect here, or are refused.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of memcached without effect, or refused with a message")]
pub struct Others {
    /// Protocol; always negotiated by the client's first byte
    #[arg(hide_short_help = true, short = 'B', long, value_name = "NAME", default_value = "auto")]
    pub protocol: Protocol,
    /// Maximum number of consecutive commands of one client
    #[arg(hide_short_help = true, short = 'R', long, value_name = "N")]
    pub max_reqs_per_event: Option<u32>,
    /// Length of the listen backlog
    #[arg(hide_short_help = true, short = 'b', long, value_name = "N")]
    pub listen_backlog: Option<u32>,
    /// Growth factor of slab classes
    #[arg(hide_short_help = true, short = 'f', long, value_name = "FACTOR")]
    pub slab_growth_factor: Option<String>,
    /// Minimum bytes of an item
    #[arg(hide_short_help = true, short = 'n', long, value_name = "BYTES")]
    pub slab_min_size: Option<u64>,
    /// Delimiter of key prefixes in 'stats detail'
    #[arg(hide_short_help = true, short = 'D', long, value_name = "CHAR")]
    stat_delimiter: Option<char>,
    /// Disable stats cachedump and lru_crawler metadump
    #[arg(hide_short_help = true, short = 'X', long)]
    disable_dumping: bool,
    /// Disable watch
    #[arg(hide_short_help = true, short = 'W', long)]
    disable_watch: bool,
    /// Assign connections to threads by their receive queue (NAPI)
    #[arg(hide_short_help = true, short = 'N', long, value_name = "N")]
    napi_ids: Option<u32>,
    /// Use large pages
    #[arg(hide_short_help = true, short = 'L', long)]
    pub enable_largepages: bool,
    /// Lock memory
    #[arg(hide_short_help = true, short = 'k', long)]
    pub lock_memory: bool,
    /// Raise the core file limit
    #[arg(hide_short_help = true, short = 'r', long)]
    pub enable_coredumps: bool,
    /// Require authentication by SASL (PLAIN) or with a set: refused without -Y
    #[arg(hide_short_help = true, short = 'S', long)]
    pub enable_sasl: bool,
    /// Enable TLS, with the certificate of -o ssl_chain_cert=FILE,ssl_key=FILE
    #[arg(hide_short_help = true, short = 'Z', long)]
    pub enable_ssl: bool,
    /// Memory-mapped file that survives a restart
    #[arg(hide_short_help = true, short = 'e', long, value_name = "FILE")]
    pub memory_file: Option<PathBuf>,
}

impl Others {
    /// Notes on options of memcached for features that are not there, or cannot be configured.
    pub fn without_feature(&self) -> impl Iterator<Item = &'static str> + use<> {
        let all = [
            (
                self.stat_delimiter.is_some_and(|delimiter| delimiter != ':'),
                "-D changes nothing: 'stats detail' counts by prefixes that end with ':'",
            ),
            (self.disable_dumping, "-X changes nothing: there is no dump of keys"),
            (self.disable_watch, "-W changes nothing: there is no watch"),
            (self.napi_ids.is_some(), "-N changes nothing: threads are not bound to receive queues"),
        ];
        all.into_iter().filter_map(|(is_asked, note)| is_asked.then_some(note))
    }
}

/// Protocols that clients may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Protocol {
    /// The text protocol
    Ascii,
    /// Negotiated per client
    Auto,
    /// The binary protocol
    Binary,
}

/// An address to listen on, with a port of its own if it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listen {
    /// The address.
    pub address: IpAddr,
    /// The port.
    pub port: Option<u16>,
    is_plain: bool,
}

impl Listen {
    /// True if its clients use no TLS (`notls:` of memcached).
    pub fn is_plain(&self) -> bool {
        self.is_plain
    }
}

/// Four, as memcached, where there are cores for them beside those that the network, drives and perhaps
/// clients need.
fn some_threads() -> u32 {
    std::thread::available_parallelism().map_or(1, |cores| (cores.get() / 2).clamp(1, 4) as u32)
}

fn listen(text: &str) -> Result<Listen, BadValue> {
    let (text, is_plain) = text.strip_prefix("notls:").map_or((text, false), |text| (text, true));
    if let Ok(address) = text.trim_matches(['[', ']']).parse() {
        return Ok(Listen { address, port: None, is_plain });
    }
    let text = text.replace("localhost", "127.0.0.1");
    let with_port: Result<SocketAddr, _> = text.parse();
    match with_port {
        Ok(place) => Ok(Listen { address: place.ip(), port: Some(place.port()), is_plain }),
        Err(_) if text == "127.0.0.1" => {
            Ok(Listen { address: Ipv4Addr::LOCALHOST.into(), port: None, is_plain })
        }
        Err(_) => {
            Err(BadValue::new("write an address, or one with a port, such as 127.0.0.1 or [::1]:11212"))
        }
    }
}

fn octal(text: &str) -> Result<u32, BadValue> {
    let mask = u32::from_str_radix(text, 8).ok().filter(|&mask| mask <= 0o777);
    mask.ok_or_else(|| BadValue::new("write permissions in octal, such as 700 or 770"))
}

fn item_size(text: &str) -> Result<u64, BadValue> {
    let bytes = size(text).filter(|bytes| (1024..=1 << 30).contains(bytes));
    bytes.ok_or_else(|| BadValue::new("write a size from 1k to 1024m, such as 512k or 2m"))
}

fn flash_item(text: &str) -> Result<u64, BadValue> {
    let bytes = size(text).filter(|bytes| (1..=1 << 30).contains(bytes));
    bytes.ok_or_else(|| BadValue::new("write a size from 1 to 1024m, such as 512 or 4k"))
}

fn daily(text: &str) -> Result<u64, BadValue> {
    let bytes = size(text).filter(|bytes| (1 << 20..=1 << 50).contains(bytes));
    bytes.ok_or_else(|| BadValue::new("write a size from 1m to 1048576g, such as 500g"))
}

fn client_memory(text: &str) -> Result<u64, BadValue> {
    let bytes = size(text).filter(|bytes| (1 << 20..=1 << 40).contains(bytes));
    bytes.ok_or_else(|| BadValue::new("write a size from 1m to 1024g, such as 64m or 1g"))
}

fn size(text: &str) -> Option<u64> {
    let (digits, scale) = match text.as_bytes().last() {
        Some(b'k' | b'K') => (&text[..text.len() - 1], 1 << 10),
        Some(b'm' | b'M') => (&text[..text.len() - 1], 1 << 20),
        Some(b'g' | b'G') => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1),
    };
    digits.parse().ok().and_then(|count: u64| count.checked_mul(scale))
}

/// As much as 30 clients need that are sent the largest items.
const CLIENT_MEMORY_OF_THREAD: u64 = 32 << 20;
