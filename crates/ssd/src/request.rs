//! Memory requests: the page-sized pieces that the controller hands to the chips.

use crate::flash::{LogicalPage, LunId, PhysicalPage, PlaneId};
use tailcut_base::cast::{low_u32, to_u8};
use tailcut_base::{Nanos, Time, id};

id! {
    /// A memory request in [`Requests`].
    pub struct RequestId;
}

impl RequestId {
    /// No request.
    pub const NONE: RequestId = RequestId(u32::MAX);
}

id! {
    /// A place in the device queue.
    pub struct Tag;
}

impl Tag {
    /// No tag.
    pub const NONE: Tag = Tag(u32::MAX);
}

id! {
    /// A page in the DRAM buffer ([`Buffer`](crate::frontend::buffer::Buffer)).
    pub struct EntryId;
}

impl EntryId {
    /// No entry.
    pub const NONE: EntryId = EntryId(u32::MAX);
}

id! {
    /// Pages that one operation programs, on their way to a superblock
    /// ([`Superblocks`](crate::mapping::superblock::Superblocks)).
    pub struct UnitId;
}

id! {
    /// A page of a command that waits for something to end.
    pub struct WaiterId;
}

impl WaiterId {
    /// No waiter.
    pub const NONE: WaiterId = WaiterId(u32::MAX);
}

id! {
    /// A slot for a page in the read cache ([`ReadCache`](crate::frontend::cache::ReadCache)).
    pub struct SlotId;
}

impl SlotId {
    /// No slot.
    pub const NONE: SlotId = SlotId(u32::MAX);
}

/// What a memory request does, as the chips keep it apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Read for the host, or of the rest of a page that the host writes in part.
    UserRead,
    /// Read of garbage collection or wear levelling.
    GcRead,
    /// Program of data of the host.
    UserWrite,
    /// Program of garbage collection or wear levelling.
    GcWrite,
    /// Erase of a block.
    Erase,
    /// Read of a page that the host is expected to want.
    ReadAhead,
}

impl Kind {
    /// Every kind, in the order of their numbers.
    pub const ALL: [Kind; 6] =
        [Kind::UserRead, Kind::GcRead, Kind::UserWrite, Kind::GcWrite, Kind::Erase, Kind::ReadAhead];

    /// True for reads, whose data goes out after the cells are done.
    #[inline]
    pub fn is_read(self) -> bool {
        matches!(self, Kind::UserRead | Kind::GcRead | Kind::ReadAhead)
    }

    /// The name in reports and timelines.
    pub fn label(self) -> &'static str {
        match self {
            Kind::UserRead => "user read",
            Kind::GcRead => "gc read",
            Kind::UserWrite => "user write",
            Kind::GcWrite => "gc program",
            Kind::Erase => "erase",
            Kind::ReadAhead => "read ahead",
        }
    }
}

/// A line of requests at a chip. Reads of different classes stand in different lines, everything
/// else in one for each [`Kind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lane(u8);

impl Lane {
    /// Reads of class 1, which may reset a program or erase.
    pub const URGENT: Lane = Lane(0);
    /// Reads of class 2, which may suspend one.
    pub const PROMPT: Lane = Lane(1);
    /// Reads of class 3.
    pub const READ: Lane = Lane(2);
    /// Reads of garbage collection.
    pub const GC_READ: Lane = Lane(3);
    /// Programs of the host's data.
    pub const USER_WRITE: Lane = Lane(4);
    /// Programs of garbage collection.
    pub const GC_WRITE: Lane = Lane(5);
    /// Erases.
    pub const ERASE: Lane = Lane(6);
    /// Reads ahead of the host, which let everything else go first.
    pub const AHEAD: Lane = Lane(7);
    /// How many there are.
    pub const COUNT: usize = 8;
    /// The line of user reads of a rank: the latency class less one, 0 to [`REGULAR`].
    #[inline(always)]
    pub fn of_rank(rank: u8) -> Lane {
        debug_assert!(rank <= REGULAR);
        Lane(rank)
    }

    /// All lines but that of reads ahead, as a mask.
    pub const ALL_BUT_AHEAD: u8 = !Lane::AHEAD.mask();
    /// The lines of garbage collection, as a mask.
    pub const COLLECTION: u8 = Lane::GC_READ.mask() | Lane::GC_WRITE.mask() | Lane::ERASE.mask();
    /// The lines of user reads, the most important first.
    pub const READS: [Lane; 3] = [Lane::URGENT, Lane::PROMPT, Lane::READ];

    /// Number of the lane, from 0 to [`Lane::COUNT`] - 1.
    #[inline]
    pub fn index(self) -> usize {
        // The mask tells the compiler the range: no check where an array of `COUNT` is indexed.
        usize::from(self.0) % Lane::COUNT
    }

    /// The bit of the lane in a mask of lanes.
    #[inline]
    pub const fn mask(self) -> u8 {
        1 << self.0
    }

    /// The lines of a mask, the most important first.
    #[inline]
    pub fn of_mask(mut mask: u8) -> impl Iterator<Item = Lane> {
        std::iter::from_fn(move || {
            if mask == 0 {
                return None;
            }
            let lane = Lane(to_u8(mask.trailing_zeros()));
            mask &= mask - 1;
            Some(lane)
        })
    }

    /// The kind of all requests in this lane.
    #[inline]
    pub fn kind(self) -> Kind {
        const KINDS: [Kind; Lane::COUNT] = [
            Kind::UserRead,
            Kind::UserRead,
            Kind::UserRead,
            Kind::GcRead,
            Kind::UserWrite,
            Kind::GcWrite,
            Kind::Erase,
            Kind::ReadAhead,
        ];
        KINDS[self.index()]
    }

    /// True for the lanes whose requests program pages, for the host or for collection.
    #[inline]
    pub fn is_program(self) -> bool {
        self == Lane::USER_WRITE || self == Lane::GC_WRITE
    }
}

/// The rank of user reads of class 3: see [`Lane::of_rank`].
pub const REGULAR: u8 = 2;

/// The purpose of a memory request, and which part of the drive gets its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A page of the host read with the request's tag.
    HostRead,
    /// The old rest of a page that is written in part, for a buffer entry.
    Merge(EntryId),
    /// A page of the buffer on its way to flash.
    Program(EntryId),
    /// A page that moves out of the victim of a plane.
    Copy(PlaneId),
    /// The erase of the victim of a plane.
    Erase(PlaneId),
    /// A page of a plane that is copied within its logical block, or padding.
    BlockCopy(PlaneId),
    /// The erase of a block of a plane that was replaced.
    BlockErase(PlaneId),
    /// The pages of a word line of a superblock, programmed at once.
    Unit(UnitId),
    /// The pages that one sensing of a block of a superblock makes available, for collection.
    Row,
    /// The erase of a block of a superblock.
    SuperblockErase,
    /// A page that is read ahead of the host into a slot of the cache.
    Ahead(SlotId),
}

/// A memory request: a page-sized part of a command, or of the controller's own work.
#[derive(Clone, Copy, Debug)]
pub struct MemoryRequest {
    /// When the request could have begun, had its chip been free.
    pub since: Time,
    /// Number of its commitment or arrival: smaller is older.
    pub order: u64,
    /// The next in whatever list it stands in.
    pub next: RequestId,
    /// The tag of the host command that it is a part of; [`Tag::NONE`] for the controller's own work.
    pub tag: Tag,
    /// Which page of that command; of a [`Role::Unit`] or [`Role::Row`] how many pages cross the bus.
    pub page: u32,
    /// The logical page that the request reads, programs or moves; of no meaning for an erase.
    pub logical: LogicalPage,
    /// Physical page; [`PhysicalPage::NONE`] for a program until its transaction is composed. For an
    /// erase any page of the block.
    pub physical: PhysicalPage,
    /// The physical page that a copy reads; see [`MemoryRequest::waiting_program`] for a merge.
    pub source: PhysicalPage,
    /// Fingerprint of the content to be programmed; of a copy from the moment at which its page has been
    /// read.
    pub content: u32,
    /// The LUN that carries out the request.
    pub lun: LunId,
    /// Time of its own data on the link since `since`, in ns (write-through only).
    pub link: u32,
    /// Number of the place (die and plane) behind the LUN, from 0.
    pub place: u8,
    /// Write frontier of a program: the stream, or the one of garbage collection.
    pub frontier: u8,
    /// How often its program or erase was reset; the most that there is for data taken back from a word
    /// line that the reset of another program has spoiled.
    pub resets: u8,
    /// The kind of the request and, for a user read, its latency class.
    pub lane: Lane,
    /// What the request is for, which determines what follows its completion.
    pub role: Role,
}

// Counted by cachegrind with 65,535 requests in flight and 8 MiB of cache: 64 bytes with page numbers of 32
// bits missed it 16.8 times for a request, these 16.9 times.
const _: () = assert!(size_of::<MemoryRequest>() == 80);

/// A page that a LUN served before the last page of the same command. A page of that command that waited for
/// the LUN or the bus meanwhile waited for the command's own pages.
#[derive(Clone, Copy, Debug)]
pub struct ServedPage {
    lun: LunId,
    command: (Time, Time),
    data: (Time, Time),
    gap: Nanos,
}

impl ServedPage {
    /// A transaction that held `lun` from the start of its bus command to the end of its data transfer, each
    /// given as start and end. The bus served other chips for `gap` of the data transfer.
    #[inline]
    pub fn new(lun: LunId, command: (Time, Time), data: (Time, Time), gap: Nanos) -> ServedPage {
        ServedPage { lun, command, data, gap }
    }

    /// The LUN that served the page.
    #[inline]
    pub fn lun(&self) -> LunId {
        self.lun
    }

    /// True if it was served by the same transaction.
    #[inline]
    pub fn is_with(&self, other: &ServedPage) -> bool {
        (self.lun, self.command.0) == (other.lun, other.command.0)
    }

    /// How long its transaction held its LUN in an interval.
    pub fn on_lun(&self, during: (Time, Time)) -> Nanos {
        overlap((self.command.0, self.data.1), during)
    }

    /// How long its transaction held its bus in an interval.
    pub fn on_bus(&self, during: (Time, Time)) -> Nanos {
        overlap(self.command, during) + Nanos(overlap(self.data, during).0.saturating_sub(self.gap.0))
    }
}

/// How long two intervals overlap.
fn overlap(one: (Time, Time), other: (Time, Time)) -> Nanos {
    Nanos(one.1.min(other.1).0.saturating_sub(one.0.max(other.0).0))
}

impl MemoryRequest {
    /// A request of the controller itself, with the fields that most of them leave alone.
    pub(crate) fn internal(now: Time, lane: Lane, role: Role, lun: LunId, place: u32) -> MemoryRequest {
        MemoryRequest {
            since: now,
            order: 0,
            next: RequestId::NONE,
            tag: Tag::NONE,
            page: 0,
            logical: LogicalPage::new(0),
            physical: PhysicalPage::NONE,
            source: PhysicalPage::NONE,
            content: 0,
            lun,
            link: 0,
            place: to_u8(place),
            frontier: 0,
            resets: 0,
            lane,
            role,
        }
    }

    /// The program that waits for a merge read ([`Role::Merge`]) to complete its page, or
    /// [`RequestId::NONE`]. Shares the field `source`, which a merge does not use.
    #[inline]
    pub fn waiting_program(&self) -> RequestId {
        debug_assert!(matches!(self.role, Role::Merge(_)));
        RequestId::new(low_u32(self.source.get()))
    }

    /// Sets the program that waits for this merge read to complete its page.
    #[inline]
    pub fn set_waiting_program(&mut self, program: RequestId) {
        debug_assert!(matches!(self.role, Role::Merge(_)));
        self.source = PhysicalPage::new(u64::from(program.get()));
    }

    /// The plane that a copy or an erase belongs to ([`Role::Copy`], [`Role::Erase`], [`Role::BlockCopy`],
    /// [`Role::BlockErase`]; panics for others).
    #[inline]
    pub fn plane(&self) -> PlaneId {
        match self.role {
            Role::Copy(plane) | Role::Erase(plane) | Role::BlockCopy(plane) | Role::BlockErase(plane) => {
                plane
            }
            role => unreachable!("{role:?} belongs to no plane"),
        }
    }

    /// The buffer entry that a program or the read for a merge belongs to ([`Role::Program`],
    /// [`Role::Merge`]; panics for others).
    #[inline]
    pub fn entry(&self) -> EntryId {
        match self.role {
            Role::Program(entry) | Role::Merge(entry) => entry,
            role => unreachable!("{role:?} belongs to no buffer entry"),
        }
    }

    /// How many pages of it cross the bus.
    #[inline]
    pub fn pages_on_bus(&self) -> u8 {
        match self.role {
            Role::Unit(_) | Role::Row => to_u8(self.page),
            _ => 1,
        }
    }

    /// The kind of operation, and for whom it is done.
    #[inline]
    pub fn kind(&self) -> Kind {
        self.lane.kind()
    }

    /// True for a user read of class 1 or 2, which may reset or suspend what its chip does.
    #[inline]
    pub fn is_ranked(&self) -> bool {
        self.lane < Lane::READ
    }
}
