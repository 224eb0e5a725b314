//! Parsed commands.

use super::flags::MetaFlags;
use super::key::Key;

/// One command; for a command with several keys, one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command<'a> {
    /// `get`, `gets`, `gat`, `gats`: one of their keys.
    Get(Get<'a>),
    /// The end of a line of `get` or its variants: `END` follows the replies for its keys.
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
    /// `mn`: send all replies so far.
    MetaNoop,
    /// `flush_all`.
    FlushAll(FlushAll),
    /// `verbosity`.
    Verbosity(Verbosity),
    /// `shutdown`.
    Shutdown(Shutdown),
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
    /// The key to retrieve.
    pub key: Key<'a>,
    /// `gets`, `gats`: return the CAS value as well.
    pub with_cas: bool,
    /// `gat`, `gats`: new expiry time (see [`super::Expiry::new`]).
    pub exptime: Option<i64>,
}

/// The line of a storage command, before its data.
///
/// If the data are too long or there is no room, call [`super::Receiver::refuse`] and reply accordingly.
/// memcached then also deletes the item that a `set` or an `ms` would have replaced, so that no client reads
/// outdated data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Store<'a> {
    /// The key to store under.
    pub key: Key<'a>,
    /// What happens to an existing and to a missing item, such as replacing the one and creating the other.
    pub mode: StoreMode,
    /// The client's flags: 32 bits that are stored with the item and not interpreted.
    pub client_flags: u32,
    /// Expiry time as the client sent it (see [`super::Expiry::new`]).
    pub exptime: i64,
    /// Length of the data in bytes, at most [`MOST_VALUE_BYTES`].
    pub length: u32,
    /// Whether the client asked for no reply.
    pub noreply: bool,
}

/// Longest data in bytes that a command can announce.
pub const MOST_VALUE_BYTES: u32 = i32::MAX as u32 - 2;

/// Storage mode: the effect on an existing and on a missing item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreMode {
    /// Replace an existing item or create a missing one.
    Set,
    /// Create a missing item; fail if it exists.
    Add,
    /// Replace an existing item; fail if it is missing.
    Replace,
    /// Append data to an existing item, whose attributes stay; fail if it is missing.
    Append,
    /// Prepend data to an existing item, whose attributes stay; fail if it is missing.
    Prepend,
    /// Replace an existing item with this CAS value, which is never 0; fail otherwise.
    Cas(u64),
}

/// `incr` or `decr`. The value begins with the number, see [`super::number::of_value`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count<'a> {
    /// The key of the item whose number changes.
    pub key: Key<'a>,
    /// By how much the number changes, and in which direction.
    pub delta: Delta,
    /// Whether the client asked for no reply.
    pub noreply: bool,
}

/// Direction of a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Increment, wrapping around to 0.
    Up,
    /// Decrement, down to 0 at most.
    Down,
}

/// By how much a count changes, and in which direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delta {
    /// Whether the amount is added or subtracted.
    pub direction: Direction,
    /// The amount by which the number changes.
    pub amount: u64,
}

impl Delta {
    /// The result of counting from `number`.
    pub fn apply(self, number: u64) -> u64 {
        match self.direction {
            Direction::Up => number.wrapping_add(self.amount),
            Direction::Down => number.saturating_sub(self.amount),
        }
    }
}

/// A `touch` command: changes the expiry time of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch<'a> {
    /// The key of the item whose expiry time changes.
    pub key: Key<'a>,
    /// New expiry time as the client sent it (see [`super::Expiry::new`]).
    pub exptime: i64,
    /// Whether the client asked for no reply.
    pub noreply: bool,
}

/// A `delete` command: deletes an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delete<'a> {
    /// The key of the item to delete.
    pub key: Key<'a>,
    /// Whether the client asked for no reply.
    pub noreply: bool,
}

/// An `mg` or `md` command: retrieves or deletes an item as its flags say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meta<'a> {
    /// The key of the item, decoded if it was sent in base64.
    pub key: Key<'a>,
    /// The command's meta flags, in the order in which they were sent.
    pub flags: MetaFlags,
}

/// `ms`. Its data can be refused like those of [`Store`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetaStore<'a> {
    /// The key to store under, decoded if it was sent in base64.
    pub key: Key<'a>,
    /// Its flags. `exptime` is the expiry time (never, if absent). With a CAS value, appending and prepending
    /// require that value (0 is any).
    pub flags: MetaFlags,
    /// What happens to an existing and to a missing item, such as replacing the one and creating the other.
    pub mode: StoreMode,
    /// Length of the data in bytes, at most [`MOST_VALUE_BYTES`].
    pub length: u32,
}

/// An `ma` command: adds to or subtracts from the number in an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetaCount<'a> {
    /// The key of the item whose number changes, decoded if it was sent in base64.
    pub key: Key<'a>,
    /// The command's meta flags, in the order in which they were sent.
    pub flags: MetaFlags,
    /// By how much the number changes, and in which direction.
    pub delta: Delta,
}

/// An `me` command: shows the metadata of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetaDebug<'a> {
    /// The key of the item to show, decoded if it was sent in base64.
    pub key: Key<'a>,
}

/// A `flush_all` command: expires all items, now or later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlushAll {
    /// Delay or time of the flush (see [`super::flush_moment`]).
    pub delay: i64,
    /// Whether the client asked for no reply.
    pub noreply: bool,
}

/// A `verbosity` command: sets how much the server logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verbosity {
    /// Verbosity level of the server.
    pub level: u32,
    /// Whether the client asked for no reply.
    pub noreply: bool,
}

/// `shutdown`: stop the server, if that is permitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shutdown {
    /// Whether the command is well-formed: it has no further word, or `graceful`.
    pub is_valid: bool,
    /// Whether the client asked for no reply.
    pub noreply: bool,
}

/// A `cache_memlimit` command: asks for another memory limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryLimit {
    /// Memory limit, 8 to 1,000,000,000 MiB.
    pub mebibytes: u32,
    /// Whether the client asked for no reply.
    pub noreply: bool,
}

/// A variant of `stats`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stats {
    /// `stats` without a word: the general counters.
    General,
    /// Reset all counters; the reply is `RESET`.
    Reset,
    /// `stats settings`: the settings of the server.
    Settings,
    /// Items by slab class.
    Items,
    /// Memory by slab class.
    Slabs,
    /// Histogram of item sizes.
    Sizes,
    /// `stats conns`: the connections of the server.
    Connections,
    /// Enable or disable counters by key prefix; the reply is `OK`.
    Detail(bool),
    /// Counters by key prefix.
    DetailDump,
}
