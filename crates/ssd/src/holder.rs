//! What holds a LUN, and for how long.

/// What holds a LUN, as the accounts see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Holder {
    /// No operation holds the LUN.
    Idle,
    /// A transaction that waits for the bus to start.
    BusWait,
    /// A read for the host.
    UserRead,
    /// A read of garbage collection.
    GcRead,
    /// A program of the host's data.
    UserWrite,
    /// A program of garbage collection.
    GcWrite,
    /// An erase of a block.
    Erase,
    /// Nothing can: the waiting writes have no erased page.
    Space,
    /// A program or erase that is being suspended.
    Suspend,
    /// A program or erase that is being reset.
    Reset,
    /// A read ahead of the host.
    ReadAhead,
}

/// How many kinds of holders there are.
pub const HOLDERS: usize = Holder::ALL.len();

impl Holder {
    /// Every kind, in the order of their numbers.
    pub const ALL: [Holder; 11] = [
        Holder::Idle,
        Holder::BusWait,
        Holder::UserRead,
        Holder::GcRead,
        Holder::UserWrite,
        Holder::GcWrite,
        Holder::Erase,
        Holder::Space,
        Holder::Suspend,
        Holder::Reset,
        Holder::ReadAhead,
    ];
}

/// Time per holder, cumulative: what a waiting request saw is the difference of two of these. A multiple of
/// four, so that copying and subtracting them fills the processor's vectors.
pub type Account = [u64; HOLDERS.next_multiple_of(4)];
