//! The command line of `tailcut serve`.

use super::kv::arguments::KvArguments;
use clap::{ArgGroup, Args, Subcommand, ValueEnum};
use std::net::SocketAddr;
use std::path::PathBuf;
use tailcut_base::Nanos;
use tailcut_base::quantity::{parse_bytes, parse_time};
use tailcut_host::BLOCK_BYTES;
use tailcut_rt::serve::budget;

/// `tailcut serve`.
#[derive(Debug, Subcommand)]
pub enum ServeCommand {
    /// Serve a drive as a block device, by NBD: for file systems, virtual machines and databases
    Block(Box<BlockArguments>),
    /// Serve items with keys, from memory and flash, to clients of memcached
    Kv(Box<KvArguments>),
}

/// `tailcut serve block`.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("where").args(["unix", "tcp"])))]
pub struct BlockArguments {
    /// The scenario whose drive or array is emulated, a TOML file; the built-in one when it is left out
    pub scenario: Option<PathBuf>,
    /// Set a key of the scenario, such as device.preset=femu-16g or array.drives=4; wins over the file
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// Serve this file or block device instead of an emulated drive; more than one for the drives of the
    /// scenario's array (array.drives), or without an array to serve each for itself
    #[arg(long = "device", value_name = "PATH")]
    pub devices: Vec<PathBuf>,
    /// Serve so many emulated drives, each for itself
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64), conflicts_with = "devices")]
    pub drives: Option<u32>,
    /// Make a new array on the devices: whatever they hold is lost, unless they belong to an array
    #[arg(long, requires = "devices")]
    pub create: bool,
    /// Open the array although drives are missing that hold all its data, and could be in use as the same
    /// array elsewhere; with fewer missing it is opened in any case
    #[arg(long, requires = "devices", conflicts_with = "create")]
    pub degraded: bool,
    /// Open devices that hold what would be overwritten: a file system or the like for a new array, a member
    /// of an array or a key-value store served as it is. Never one that the system uses
    #[arg(long, requires = "devices")]
    pub force: bool,
    /// Serve memory of this size without a delay instead, such as 10GiB; it takes room as it is written
    #[arg(long, value_name = "SIZE", value_parser = size, conflicts_with_all = ["scenario", "sets", "devices", "drives"])]
    pub size: Option<u64>,
    /// Listen on a unix socket
    #[arg(long, value_name = "PATH", default_value = "tailcut.sock")]
    pub unix: PathBuf,
    /// Listen on an address and port of this machine instead, such as 127.0.0.1:10809
    #[arg(long, value_name = "ADDR")]
    pub tcp: Option<SocketAddr>,
    /// Let other machines connect, too; there are no passwords, but --tls-verify-peer asks who they are
    #[arg(long)]
    pub allow_network: bool,
    /// Encrypt, with server-cert.pem and server-key.pem of this folder
    #[arg(long, value_name = "DIR")]
    pub tls_certificates: Option<PathBuf>,
    /// Whether clients have to encrypt, or may
    #[arg(long, value_name = "MODE", requires = "tls_certificates", default_value = "require")]
    pub tls: TlsMode,
    /// Serve only clients with a certificate that is signed by ca-cert.pem of the same folder (and not
    /// revoked by its ca-crl.pem, where there is one)
    #[arg(long, requires = "tls_certificates")]
    pub tls_verify_peer: bool,
    /// Name of the export; its variants NAME/fast and NAME/background say how much their reads matter.
    /// Several drives are NAME0, NAME1 and so on
    #[arg(long, value_name = "NAME", default_value = "disk", value_parser = name)]
    pub export: String,
    /// Where `tailcut status` and `tailcut ctl` reach it; beside its socket when left out, as in tailcut.ctl
    #[arg(long, value_name = "PATH")]
    pub control: Option<PathBuf>,
    /// Show counters to Prometheus at http://ADDR/metrics, such as 127.0.0.1:9100
    #[arg(long, value_name = "ADDR")]
    pub metrics: Option<SocketAddr>,
    /// Keep a history of the counters in a file, for 'tailcut report'; it covers the whole time and does not
    /// grow for ever
    #[arg(long, value_name = "FILE")]
    pub history: Option<PathBuf>,
    /// Let this kernel have it as a block device, too: /dev/ublkbN. Several drives get the numbers from there
    /// on. Wants root and Linux 6.5 or later with the module ublk_drv
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..1_000_000))]
    pub ublk: Option<u32>,
    /// Let nobody write
    #[arg(long)]
    pub read_only: bool,
    /// Look out for requests for so long before sleeping: about what a sleep costs when left out; longer,
    /// such as 200us, for quicker answers on a core that does nothing else; 0us to sleep at once. It is given
    /// up where it does not pay
    #[arg(long, value_name = "TIME", default_value = "20us", value_parser = short_time)]
    pub busy_poll: Nanos,
    /// Most connections at a time
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub connections: u32,
    /// Most memory for requests and replies under way, from 128MiB; each connection may take 128 KiB beside
    /// it
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = memory)]
    pub memory: u64,
    /// Write the final figures as JSON to a file, or with '-' to standard output instead of the tables
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Show no status line
    #[arg(long, short)]
    pub quiet: bool,
}

impl BlockArguments {
    /// As which block device of this kernel a drive is there, by its place among those that are served.
    pub fn ublk(&self, place: usize) -> Option<u32> {
        self.ublk.map(|first| first + place as u32)
    }

    /// Where the control socket is: as asked for, or beside the socket.
    pub fn control(&self) -> PathBuf {
        let beside = || match self.tcp {
            Some(address) => PathBuf::from(format!("tailcut-{}.ctl", address.port())),
            None => self.unix.with_extension("ctl"),
        };
        self.control.clone().unwrap_or_else(beside)
    }
}

/// Whether clients encrypt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TlsMode {
    /// Nobody is served in the clear
    Require,
    /// Clients are served as they wish
    Allow,
}

fn name(text: &str) -> Result<String, String> {
    let is_good = (1..=255).contains(&text.len()) && !text.contains(char::is_control);
    if is_good { Ok(text.into()) } else { Err(String::from("write a name of 1 to 255 bytes, such as disk")) }
}

fn size(text: &str) -> Result<u64, String> {
    let bytes = parse_bytes(text).map_err(|bad| bad.message)?;
    let is_good = bytes > 0 && bytes % BLOCK_BYTES == 0 && bytes <= MOST_BYTES;
    if is_good {
        Ok(bytes)
    } else {
        Err(String::from("write a multiple of 4 KiB up to 64 TiB, such as 10GiB"))
    }
}

fn memory(text: &str) -> Result<u64, String> {
    let bytes = parse_bytes(text).map_err(|bad| bad.message)?;
    if bytes >= budget::LEAST { Ok(bytes) } else { Err(String::from("write at least 128MiB")) }
}

pub(super) fn short_time(text: &str) -> Result<Nanos, String> {
    let time = parse_time(text).map_err(|bad| bad.message)?;
    if time <= Nanos::millis(10) {
        Ok(time)
    } else {
        Err(String::from("write a time of at most 10ms, such as 50us"))
    }
}

const MOST_BYTES: u64 = 64 << 40;
