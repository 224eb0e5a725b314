//! The command line of `tailcut serve kv`: memcached's own options, and ours.

use super::log::Form;
use crate::serve::arguments::short_time;
use clap::{ArgAction, Args, ValueEnum};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use tailcut_base::Nanos;

/// `tailcut serve kv`.
#[derive(Debug, Args)]
#[command(version)]
pub struct KvArguments {
    /// The scenario whose drive or array is emulated, a TOML file; when it is left out, four small SSDs in an
    /// array of the layout epochs
    pub scenario: Option<PathBuf>,
    /// Set a key of the scenario, such as device.preset=femu-16g or array.drives=4; wins over the file
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// Keep items on this file or block device instead of an emulated drive; more than one for the drives of
    /// the scenario's array (array.drives)
    #[arg(long = "device", value_name = "PATH")]
    pub devices: Vec<PathBuf>,
    /// Make a new store, and a new array if there is to be one, on the devices: whatever they hold is lost,
    /// unless that is a store or an array
    #[arg(long, requires = "devices")]
    pub create: bool,
    /// Open the array although drives are missing that hold all its data, and could be in use as the same
    /// array elsewhere; with fewer missing it is opened in any case
    #[arg(long, requires = "devices", conflicts_with = "create")]
    pub degraded: bool,
    /// Make a store, or an array, on devices that hold something else, such as a file system; never on one
    /// that the system uses
    #[arg(long, requires = "devices")]
    pub force: bool,
    /// Keep items in memory only
    #[arg(long, conflicts_with_all = ["scenario", "sets", "devices", "create", "durable"])]
    pub memory_only: bool,
    /// Acknowledge what is changed when it is durable; without -M it may be given up for others later
    #[arg(long)]
    pub durable: bool,
    /// TCP port; 0 for none, -1 for any that is free
    #[arg(short = 'p', long, value_name = "PORT", default_value_t = 11211, allow_negative_numbers = true,
          value_parser = clap::value_parser!(i32).range(-1..=65535))]
    pub port: i32,
    /// UDP port; 0 for none. A reply is one datagram of 1400 bytes at most: senders can be forged
    #[arg(short = 'U', long, value_name = "PORT", default_value_t = 0, conflicts_with_all = ["unix_socket", "auth_file"])]
    pub udp_port: u16,
    /// Addresses to listen on, each with a port if it is another one: 127.0.0.1,127.0.0.2:11212
    #[arg(short = 'l', long, value_name = "ADDR", value_delimiter = ',', default_value = "127.0.0.1", value_parser = listen)]
    pub listen: Vec<Listen>,
    /// Let other machines connect, too
    #[arg(long)]
    pub allow_network: bool,
    /// Listen on a unix socket, and not on the network
    #[arg(short = 's', long, value_name = "PATH")]
    pub unix_socket: Option<PathBuf>,
    /// Who may use the unix socket, as file permissions in octal
    #[arg(short = 'a', long = "unix-mask", value_name = "MASK", default_value = "700", value_parser = octal)]
    pub mask: u32,
    /// Memory for items, in MiB; what has no room there is on flash
    #[arg(short = 'm', long, value_name = "MIB", default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..=1 << 30))]
    pub memory_limit: u64,
    /// Memory for clients, such as 256m: replies that they have not read, values that they have half sent,
    /// and commands that wait; when it is used up, clients that neither read nor finish are disconnected. By
    /// default 32 MiB for each thread. The server takes at most -m, the index (15 bytes an item), this, 96
    /// KiB for each connection of -c, 16 MiB for each thread of -t, and 32 MiB
    #[arg(long, value_name = "SIZE", value_parser = client_memory)]
    pub client_memory: Option<u64>,
    /// Most connections at a time
    #[arg(short = 'c', long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub conn_limit: u32,
    /// Threads that serve; by default half as many as there are cores, from one to four
    #[arg(short = 't', long, value_name = "N", default_value_t = some_threads(), hide_default_value = true, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub threads: u32,
    /// Let the system move threads from core to core; by default each of several stays on its own where there
    /// are as many as cores
    #[arg(long)]
    pub no_pin: bool,
    /// Size of the largest item, with its key, such as 512k or 2m
    #[arg(short = 'I', long, value_name = "SIZE", default_value = "1m", value_parser = item_size)]
    pub max_item_size: u64,
    /// Give up no items for others: say that there is no room
    #[arg(short = 'M', long)]
    pub disable_evictions: bool,
    /// Serve only who says a name and a password of this file first; a line for each, NAME:PASSWORD
    #[arg(short = 'Y', long, value_name = "FILE")]
    pub auth_file: Option<PathBuf>,
    /// Further options of memcached: idle_timeout=SECONDS
    #[arg(short = 'o', long, value_name = "OPTION", value_delimiter = ',')]
    pub extended: Vec<String>,
    /// Look out for commands for so long before sleeping, such as 20us: for quicker answers where there is a
    /// core to spare for it
    #[arg(long, value_name = "TIME", default_value = "0us", value_parser = short_time)]
    pub busy_poll: Nanos,
    /// Where `tailcut status` and `tailcut ctl` reach it; when left out, beside its unix socket, as in
    /// socket.ctl, or by its port, as in tailcut-11211.ctl
    #[arg(long, value_name = "PATH")]
    pub control: Option<PathBuf>,
    /// Show counters to Prometheus at http://ADDR/metrics, such as 127.0.0.1:9100
    #[arg(long, value_name = "ADDR")]
    pub metrics: Option<SocketAddr>,
    /// Keep a history of the counters in a file, for 'tailcut report'; it covers the whole time and does not
    /// grow for ever
    #[arg(long, value_name = "FILE")]
    pub history: Option<PathBuf>,
    /// Say more on standard error: -v slow reads, -vv clients that come and go
    #[arg(short = 'v', long, action = ArgAction::Count)]
    pub verbose: u8,
    /// How events are told on standard error
    #[arg(long, value_name = "FORM", default_value = "human")]
    pub log: Form,
    /// Write the final figures as JSON to a file, or with '-' to standard output instead of the table
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Show no status line
    #[arg(long, short)]
    pub quiet: bool,
    /// What is not done here, or done anyway.
    #[command(flatten)]
    pub others: Others,
}

impl KvArguments {
    /// Bytes of memory for clients.
    pub fn client_memory(&self) -> u64 {
        self.client_memory.unwrap_or(u64::from(self.threads) * CLIENT_MEMORY_OF_THREAD)
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

/// What memcached has and what is not done here, or done anyway.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of memcached that change nothing, or are refused in words")]
pub struct Others {
    /// Protocol: ascii or auto
    #[arg(short = 'B', long, value_name = "NAME", default_value = "auto")]
    pub protocol: Protocol,
    /// Refuse flush_all
    #[arg(short = 'F', long)]
    pub disable_flush_all: bool,
    /// Commands of one client in a row
    #[arg(short = 'R', long, value_name = "N")]
    pub max_reqs_per_event: Option<u32>,
    /// Connections that wait to be taken
    #[arg(short = 'b', long, value_name = "N")]
    pub listen_backlog: Option<u32>,
    /// Growth of slab classes
    #[arg(short = 'f', long, value_name = "FACTOR")]
    pub slab_growth_factor: Option<String>,
    /// Least bytes of an item
    #[arg(short = 'n', long, value_name = "BYTES")]
    pub slab_min_size: Option<u64>,
    /// Large pages
    #[arg(short = 'L', long)]
    pub enable_largepages: bool,
    /// Lock memory
    #[arg(short = 'k', long)]
    pub lock_memory: bool,
    /// Most core files
    #[arg(short = 'r', long)]
    pub enable_coredumps: bool,
    /// Go into the background
    #[arg(short = 'd', long)]
    pub daemon: bool,
    /// Become this user
    #[arg(short = 'u', long, value_name = "USER")]
    pub user: Option<String>,
    /// File for the number of a process in the background
    #[arg(short = 'P', long, value_name = "FILE")]
    pub pidfile: Option<PathBuf>,
    /// No CAS values
    #[arg(short = 'C', long)]
    pub disable_cas: bool,
    /// The command shutdown
    #[arg(short = 'A', long)]
    pub enable_shutdown: bool,
    /// SASL
    #[arg(short = 'S', long)]
    pub enable_sasl: bool,
    /// TLS
    #[arg(short = 'Z', long)]
    pub enable_ssl: bool,
    /// Memory in a file that outlives the server
    #[arg(short = 'e', long, value_name = "FILE")]
    pub memory_file: Option<PathBuf>,
}

/// What clients may speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Protocol {
    /// Lines of text
    Ascii,
    /// What the client speaks, which is text
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
}

/// Four, as memcached, where there are cores for them beside those that the network, drives and perhaps
/// clients need.
fn some_threads() -> u32 {
    std::thread::available_parallelism().map_or(1, |cores| (cores.get() / 2).clamp(1, 4) as u32)
}

fn listen(text: &str) -> Result<Listen, String> {
    if let Ok(address) = text.trim_matches(['[', ']']).parse() {
        return Ok(Listen { address, port: None });
    }
    let text = text.replace("localhost", "127.0.0.1");
    let with_port: Result<SocketAddr, _> = text.parse();
    match with_port {
        Ok(place) => Ok(Listen { address: place.ip(), port: Some(place.port()) }),
        Err(_) if text == "127.0.0.1" => Ok(Listen { address: Ipv4Addr::LOCALHOST.into(), port: None }),
        Err(_) => Err(String::from("write an address, or one with a port, such as 127.0.0.1 or [::1]:11212")),
    }
}

fn octal(text: &str) -> Result<u32, String> {
    let mask = u32::from_str_radix(text, 8).ok().filter(|&mask| mask <= 0o777);
    mask.ok_or_else(|| String::from("write permissions in octal, such as 700 or 770"))
}

fn item_size(text: &str) -> Result<u64, String> {
    let bytes = size(text).filter(|bytes| (1024..=1 << 30).contains(bytes));
    bytes.ok_or_else(|| String::from("write a size from 1k to 1024m, such as 512k or 2m"))
}

fn client_memory(text: &str) -> Result<u64, String> {
    let bytes = size(text).filter(|bytes| (1 << 20..=1 << 40).contains(bytes));
    bytes.ok_or_else(|| String::from("write a size from 1m to 1024g, such as 64m or 1g"))
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
