//! What a client can ask for.

use super::flags::MetaFlags;
use super::key::Key;

/// One command; of those with several keys, one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command<'a> {
    /// `get`, `gets`, `gat`, `gats`: one of their keys.
    Get(Get<'a>),
    /// The end of such a line: after the answers to its keys `END` is due.
    GetEnd,
    /// `set`, `add`, `replace`, `append`, `prepend`, `cas`: the data follow.
    Store(Store<'a>),
    /// `incr`, `decr`.
    Count(Count<'a>),
    /// `touch`.
    Touch(Touch<'a>),
    /// `delete`.
    Delete(Delete<'a>),
    /// `mg`.
    MetaGet(Meta<'a>),
    /// `ms`: the data follow.
    MetaStore(MetaStore<'a>),
    /// `md`.
    MetaDelete(Meta<'a>),
    /// `ma`.
    MetaCount(MetaCount<'a>),
    /// `me`.
    MetaDebug(MetaDebug<'a>),
    /// `mn`: everything that was answered so far is to be sent.
    MetaNoop,
    /// `flush_all`.
    FlushAll(FlushAll),
    /// `verbosity`.
    Verbosity(Verbosity),
    /// `version`.
    Version,
    /// `stats`.
    Stats(Stats),
    /// `cache_memlimit`.
    MemoryLimit(MemoryLimit),
}

/// A key of a `get`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Get<'a> {
    /// The key.
    pub key: Key<'a>,
    /// `gets`, `gats`: the version is wanted, too.
    pub with_cas: bool,
    /// `gat`, `gats`: the value is to end then (see [`super::Expiry::new`]).
    pub exptime: Option<i64>,
}

/// The line in front of data that are to be stored.
///
/// If the data are too many, or there is no room, call [`super::Receiver::refuse`], and answer that. The
/// program then also deletes what a `set` or an `ms` would have replaced, so that nobody reads what is out of
/// date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Store<'a> {
    /// The key.
    pub key: Key<'a>,
    /// What is to be done.
    pub mode: StoreMode,
    /// The client's own flags.
    pub client_flags: u32,
    /// When the value is to end (see [`super::Expiry::new`]).
    pub exptime: i64,
    /// Bytes of data, at most [`MOST_VALUE_BYTES`].
    pub length: u32,
    /// No answer is wanted.
    pub noreply: bool,
}

/// The most data that a client can announce.
pub const MOST_VALUE_BYTES: u32 = i32::MAX as u32 - 2;

/// What becomes of a value that is there, and of one that is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreMode {
    /// It is replaced, or made.
    Set,
    /// It stays; or made.
    Add,
    /// It is replaced; nothing.
    Replace,
    /// Data are put behind it, all else stays; nothing.
    Append,
    /// Data are put in front of it, all else stays; nothing.
    Prepend,
    /// It is replaced if it has this version, which is never 0; nothing.
    Cas(u64),
}

/// `incr` or `decr`. The number is at the front of the value, see [`super::number::of_value`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count<'a> {
    /// The key.
    pub key: Key<'a>,
    /// Up or down.
    pub direction: Direction,
    /// By how much.
    pub delta: u64,
    /// No answer is wanted.
    pub noreply: bool,
}

/// Which way a number goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Up, from the greatest to 0 and on.
    Up,
    /// Down, to 0 and no further.
    Down,
}

impl Direction {
    /// The number after a step.
    pub fn apply(self, number: u64, delta: u64) -> u64 {
        match self {
            Direction::Up => number.wrapping_add(delta),
            Direction::Down => number.saturating_sub(delta),
        }
    }
}

/// `touch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch<'a> {
    /// The key.
    pub key: Key<'a>,
    /// When the value is to end (see [`super::Expiry::new`]).
    pub exptime: i64,
    /// No answer is wanted.
    pub noreply: bool,
}

/// `delete`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delete<'a> {
    /// The key.
    pub key: Key<'a>,
    /// No answer is wanted.
    pub noreply: bool,
}

/// `mg` or `md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meta<'a> {
    /// The key, decoded.
    pub key: Key<'a>,
    /// Its flags.
    pub flags: MetaFlags,
}

/// `ms`. As with [`Store`], data can be refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetaStore<'a> {
    /// The key, decoded.
    pub key: Key<'a>,
    /// Its flags. When the value is to end is their `exptime` (never, if there is none); if they have a
    /// version, values are appended and prepended only to that version (0 is any).
    pub flags: MetaFlags,
    /// What is to be done.
    pub mode: StoreMode,
    /// Bytes of data, at most [`MOST_VALUE_BYTES`].
    pub length: u32,
}

/// `ma`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetaCount<'a> {
    /// The key, decoded.
    pub key: Key<'a>,
    /// Its flags.
    pub flags: MetaFlags,
    /// Up or down.
    pub direction: Direction,
    /// By how much.
    pub delta: u64,
}

/// `me`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetaDebug<'a> {
    /// The key, decoded.
    pub key: Key<'a>,
}

/// `flush_all`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlushAll {
    /// When (see [`super::flush_moment`]).
    pub delay: i64,
    /// No answer is wanted.
    pub noreply: bool,
}

/// `verbosity`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verbosity {
    /// How much the server is to say.
    pub level: u32,
    /// No answer is wanted.
    pub noreply: bool,
}

/// `cache_memlimit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryLimit {
    /// 8 to 1,000,000,000 MiB.
    pub mebibytes: u32,
    /// No answer is wanted.
    pub noreply: bool,
}

/// What is to be counted up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stats {
    /// In general.
    General,
    /// Everything is counted from 0 again; `RESET`.
    Reset,
    /// What was configured.
    Settings,
    /// Values by class of size.
    Items,
    /// Memory by class of size.
    Slabs,
    /// How many values of which size.
    Sizes,
    /// Connections.
    Connections,
    /// Begin or cease to count by prefix of keys; `OK`.
    Detail(bool),
    /// What was counted by prefix.
    DetailDump,
}
