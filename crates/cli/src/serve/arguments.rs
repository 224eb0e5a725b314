//! The command line of `tailcut serve`.

use super::expectation::Expectation;
use super::kv::arguments::KvArguments;
use super::log::LogArguments;
use clap::builder::NonEmptyStringValueParser;
use clap::{ArgGroup, Args, Subcommand, ValueEnum};
use std::net::SocketAddr;
use std::path::PathBuf;
use tailcut_base::quantity::{parse_bytes, parse_time};
use tailcut_base::{BadValue, Nanos};
use tailcut_host::BLOCK_BYTES;
use tailcut_rt::serve::budget;
use tailcut_ssd::presets::Personality;

/// `tailcut serve`.
#[derive(Debug, Subcommand)]
pub enum ServeCommand {
    /// Export drives as block devices over NBD or ublk
    Block(Box<BlockArguments>),
    /// Serve memcached clients from memory and flash
    Kv(Box<KvArguments>),
}

/// `tailcut serve block`.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("where").args(["unix", "tcp"])))]
pub struct BlockArguments {
    /// Scenario (TOML) of the drive or array to emulate; default: the built-in one
    pub scenario: Option<PathBuf>,
    /// Override a scenario key, such as array.drives=4
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// Export this file or block device instead of an emulated drive; two are a mirror
    ///
    /// Repeat it for each drive of an array. Two empty ones become a mirror, members of an array are that
    /// array, and others need --create, for three or more with --set array.layout=LAYOUT.
    #[arg(long = "device", value_name = "PATH")]
    pub devices: Vec<PathBuf>,
    /// Export each of several devices on its own
    #[arg(hide_short_help = true, long, requires = "devices", conflicts_with_all = ["create", "degraded"])]
    separate: bool,
    /// Export N independent emulated drives
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64), conflicts_with = "devices")]
    pub drives: Option<u32>,
    /// Create a new array on the devices, which destroys what they hold
    ///
    /// Refuses members of an array.
    #[arg(long, requires = "devices")]
    pub create: bool,
    /// Assemble the array even if the missing drives hold a complete copy, which may be in use elsewhere.
    /// With fewer missing drives it is assembled anyway
    #[arg(hide_short_help = true, long, requires = "devices", conflicts_with = "create")]
    pub degraded: bool,
    /// Open devices whose content would be overwritten: a file system where an array is created, or a member
    /// of an array or a key-value store exported as a plain device. Never a device in use
    #[arg(hide_short_help = true, long, requires = "devices")]
    pub force: bool,
    /// Export memory of this size without latency, or a --personality
    ///
    /// Such as 10GiB. It is allocated as it is written.
    #[arg(long, value_name = "SIZE", value_parser = size, conflicts_with_all = ["scenario", "devices"])]
    pub size: Option<u64>,
    /// Emulate a drive in a state, such as collecting or pm9a3-960
    ///
    /// One of fresh, collecting, worn, thermal-stall and the calibrated presets. Scaled to --size (default:
    /// 1GiB), or to the next larger that such a drive can have.
    #[arg(
        long,
        value_name = "NAME",
        value_parser = personality,
        conflicts_with_all = ["scenario", "devices"]
    )]
    pub personality: Option<Personality>,
    /// Let emulated drives stall or become slow, as in '30s stall 2s'
    ///
    /// Several are separated by semicolons: '30s stall 2s; 60s delay 1ms; 90s delay 0s'. Times count from the
    /// start. Of several drives each is named by its number: 'stall 0 2s'.
    #[arg(
        long,
        value_name = "SCRIPT",
        value_parser = NonEmptyStringValueParser::new(),
        conflicts_with = "devices"
    )]
    pub incidents: Option<String>,
    /// Run the clock of emulated drives N times slower
    ///
    /// For clients and machines that are too slow for them. Figures of the server are those of the drives:
    /// divide those of clients by N.
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=1000),
        conflicts_with_all = ["devices", "history"]
    )]
    pub time_scale: Option<u32>,
    /// Run a shell command as client of $uri, and stop when it ends
    ///
    /// Exits with 1 if the command fails. $unixsocket and $exportname are as nbdkit has them.
    #[arg(long, value_name = "COMMAND", value_parser = NonEmptyStringValueParser::new())]
    pub run: Option<String>,
    /// Exit with 1 unless this holds at the end: 'p99.9(read) < 5ms'
    ///
    /// Percentiles, median, mean and max of read, write, trim, flush or all, and the lateness of emulated
    /// drives as a share of their latency: 'late < 5%'.
    #[arg(long, value_name = "TERM,…", value_parser = Expectation::parse)]
    pub expect: Option<Expectation>,
    /// Listen on a unix socket
    #[arg(long, value_name = "PATH", default_value = "tailcut.sock")]
    pub unix: PathBuf,
    /// Listen on a TCP address instead, such as 127.0.0.1:10809
    #[arg(long, value_name = "ADDR")]
    pub tcp: Option<SocketAddr>,
    /// Allow connections from other machines
    ///
    /// NBD has no passwords; --tls-verify-peer authenticates clients.
    #[arg(long)]
    pub allow_network: bool,
    /// Enable TLS with server-cert.pem and server-key.pem in DIR
    #[arg(long, value_name = "DIR")]
    pub tls_certificates: Option<PathBuf>,
    /// Whether TLS is required or optional for clients
    #[arg(
        hide_short_help = true,
        long,
        value_name = "MODE",
        requires = "tls_certificates",
        default_value = "require"
    )]
    pub tls: TlsMode,
    /// Require a client certificate signed by ca-cert.pem in DIR
    ///
    /// Revoked ones are refused if DIR has a ca-crl.pem.
    #[arg(long, requires = "tls_certificates")]
    pub tls_verify_peer: bool,
    /// Name of the export
    ///
    /// NAME/fast and NAME/background give reads a higher or lower priority. Several drives are NAME0, NAME1
    /// and so on.
    #[arg(long, value_name = "NAME", default_value = "disk", value_parser = name)]
    pub export: String,
    /// Control socket for `tailcut status` and `tailcut ctl`
    ///
    /// Default: beside the socket, as in tailcut.ctl.
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
    /// Also attach the drive to this kernel as /dev/ublkbN
    ///
    /// Several drives are attached from N on. Requires root and Linux 6.5 or later with the module ublk_drv.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..1_000_000))]
    pub ublk: Option<u32>,
    /// Export read-only
    ///
    /// A file or device is not written; an array still writes to its members what its recovery, repairs and
    /// membership need.
    #[arg(long)]
    pub read_only: bool,
    /// Busy-poll this long before sleeping
    ///
    /// The default is about the cost of a sleep; more, such as 200us, lowers latency on a core with nothing
    /// else to do; 0us sleeps at once. Polling stops where it does not pay.
    #[arg(hide_short_help = true, long, value_name = "TIME", default_value = "20us", value_parser = short_time)]
    pub busy_poll: Nanos,
    /// Maximum number of connections
    #[arg(hide_short_help = true, long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub connections: u32,
    /// Maximum memory for requests and replies in flight, at least 128MiB; a connection may take another 128
    /// KiB
    #[arg(hide_short_help = true, long, value_name = "SIZE", default_value = "1GiB", value_parser = memory)]
    pub memory: u64,
    /// Write the final counters as JSON to a file
    ///
    /// With '-', to standard output instead of the tables.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// The log.
    #[command(flatten)]
    pub log: LogArguments,
    /// Hide the status line
    #[arg(long, short)]
    pub quiet: bool,
}

impl BlockArguments {
    /// As which block device of this kernel a drive is there, by its place among those that are served.
    pub fn ublk(&self, place: usize) -> Option<u32> {
        self.ublk.map(|first| first + place as u32)
    }

    /// True if each of several devices is exported on its own, and not as an array.
    pub fn is_separate(&self) -> bool {
        self.separate
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
    /// Reject clients without TLS
    Require,
    /// Accept clients with and without TLS
    Allow,
}

fn name(text: &str) -> Result<String, BadValue> {
    let is_good = (1..=255).contains(&text.len()) && !text.contains(char::is_control);
    if is_good { Ok(text.into()) } else { Err(BadValue::new("write a name of 1 to 255 bytes, such as disk")) }
}

fn personality(text: &str) -> Result<Personality, String> {
    text.parse()
}

fn size(text: &str) -> Result<u64, BadValue> {
    let bytes = parse_bytes(text)?;
    let is_good = bytes > 0 && bytes % BLOCK_BYTES == 0 && bytes <= MOST_BYTES;
    if is_good {
        Ok(bytes)
    } else {
        Err(BadValue::new("write a multiple of 4 KiB up to 64 TiB, such as 10GiB"))
    }
}

fn memory(text: &str) -> Result<u64, BadValue> {
    let bytes = parse_bytes(text)?;
    if bytes >= budget::LEAST { Ok(bytes) } else { Err(BadValue::new("write at least 128MiB")) }
}

pub(super) fn short_time(text: &str) -> Result<Nanos, BadValue> {
    let time = parse_time(text)?;
    if time <= Nanos::millis(10) {
        Ok(time)
    } else {
        Err(BadValue::new("write a time of at most 10ms, such as 50us"))
    }
}

const MOST_BYTES: u64 = 64 << 40;
