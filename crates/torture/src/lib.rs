//! Crash and fault search: everything that stores data, run against everything that may happen to it.
//!
//! A seed draws a [`Plan`] ([`seeds`]): the subject, its requests, the faults and the power cuts.
//! [`mod@run`] carries a plan out on simulated [`drive`]s, whose fault model is at the top of that module,
//! while checkers observe that know nothing of the subject:
//!
//! - *content* ([`history`]): acknowledged and durable data is there; no read is stale, mixed from two
//!   versions within a block, or of data that was never written; trimmed blocks stay trimmed;
//! - *honesty*: an error is answered only where the fault model allows one;
//! - *progress*: every request is answered, every rebuild and scrub ends, nothing is left over;
//! - *redundancy*: at the end everything is repaired, a second scrub finds nothing, and after one more power
//!   cut everything can be read without one drive of each group.
//!
//! | subject | what it is | it stands on |
//! | --- | --- | --- |
//! | `arrays`, or a layout | [`arrays`] | drives |
//! | `kv` | [`keys`]: the key-value engine, as a store, a cache, and a cache that writes at once | an array, or a drive without protection information |
//! | | [`served`]: its server, with clients of several simulated threads that share shards | the same |
//! | `block` | [`block`]: connections, the codec of NBD, and the machine for bytes on blocks | an array, or a drive |
//! | `ssd` | [`drive::flash`]: a simulated SSD with its content, with a capacitor, without, and without a write buffer | |
//!
//! A plan that shows a violation is made smaller ([`mod@shrink`]) and can be run again from its text.
//! [`Mutant`]s are bugs that the checkers must find, beside rules that the code itself can be made to break
//! (`mutation` in `tailcut_host`, its arrays and layouts). The numbers are the first seeds that find them,
//! from 1 on; the tests in `torture/tests` look for them within 300.
//!
//! | planted bug | in place: `raid0`, `raid4`, `raid5` | `log-raid0`, `log-raid4`, `log-raid5` | `swan0`, `swan4`, `swan5` | `epochs` | `kv` | `block` | `ssd` |
//! | --- | --- | --- | --- | --- | --- | --- | --- |
//! | `lies-about-flush` | 1, 1, 1 | 2, 1, 1 | 1, 1, 1 | 2 | 1 | 1 | an SSD with its content has no such bug to plant |
//! | `tears-blocks` | 7, 43, 318 | withstood | withstood | 16 | withstood | 13 | likewise |
//! | `drops-writes` | 1, 1, 1 | 1, 1, 1 | 1, 1, 1 | 1 | 1 | 1 | likewise |
//! | `flushes-early` | 5, 3, 3 | 1, 3, 3 | 3, 2, 2 | 4 | 1 | 5 | 5 |
//! | `forgets-fua` | 1, 36, 36 | 7, 1, 1 | 1, 4, 4 | 1 | 1 | 1 | 1 |
//! | `forgets-trims` | 2, 2, 2 | 1, 2, 2 | 2, 2, 2 | 2 | 1 | 2 | 1 |
//! | `reads-stale` | 1, 2, 2 | 3, 1, 1 | 1, 2, 2 | 1 | 1 | 1 | 1 |
//! | `fails-reads`, `never-answers` | 1, 1, 1 | 1, 1, 1 | 1, 1, 1 | 1 | 1 | 1 | 1 |
//!
//! Nothing is promised on drives that tear blocks. A log has checksums over what it wrote last, so what is
//! torn is a write that never happened (seed 220 of `kv` shows the bug in the array below it); the journal of
//! RAID 4 and 5 writes again what was torn, and only their bitmap (`write_hole = "resync"`) is at the mercy
//! of the drive, if it tears two blocks of one row, which takes more than 300 seeds of `raid5`.
//!
//! | broken rule | what it is found in |
//! | --- | --- |
//! | `StaleIsLeftOut` | `raid4` 38, `raid5` 38, `log-raid4` 28, `log-raid5` 28, `swan4` 38, `swan5` 38, `epochs` 29, by the fault `return`; nothing is ever replaced in the other layouts |
//! | `DivergedIsRefused` | `epochs` 1, by the fault `halves`; two parts of any other layout cannot both serve |
//! | `FailedFlushesAreFinal` | `raid0` 7 |
//! | `ReadAfterWrite`, `ParityFollows`, `Replay`, `WriteWhileRebuilding`, `RebuildUnderLock`, `JournalFirst`, `ReclaimWhenDurable`, `ParityOfIntact`, `WholeWay` | `raid5` 2, 1, 12, 2, 8, 8, 8, 53, 1 |
//! | `DrainBeforeInSync`, `ScrubTheJournal`, `RowHeld` | `raid5` 1, 130, 12 |
//! | `BarrierBeforeTrim`, `BarrierBeforeHeader`, `TrimsAreLogged`, `VictimsAreCovered`, `ReadFromMemory`, `BatchesAreWhole`, `ReadersKeepRows`, `MovesAreConditional` | `log-raid0` 5, 1, 1, 8, 2, 4, 10, 185 |
//! | `CopiesAreRebuilt`, `EpochsAreFlushed` | `log-raid5` 16, 2 |
//! | `ChecksumsAreCompared`, `ChecksumsAreRestored`, `OldChecksumsAreForgotten`, `DamageIsNoEnd`, `ParitiesAreRepaired`, `DescriptorsAreChecked` | `log-raid5` 4, 19, 4, 94, 139, 264, on drives without protection information (`sealed=no`) |
//! | `DirtyBeforeWrite`, `DataBeforeClean` | `raid0` 7, 131, `raid5` 8, 19, `epochs` 7, 19, with `sealed=no` |
//! | `ReadFromCache`, `ListFirst`, `Reconcile`, `FlushBoth`, `FlushEpochs`, `WriteWhileRebuilding`, `FillInCache`, `ListEverywhere`, `ListedUntilAgreed` | `epochs` 1, 1, 1, 10, 2, 1, 2, 30, 155 |
//! | `TombstonesAreWritten`, `CopiesAreDurable` | `kv` 2, 109 |
//! | `DeferredKeepOrder`, `RepliesGoToTheirThread` | `kv` 297, 3, in the server |
//! | `DamagedHeadsAreNotFree`, `DamagedRecordsCount`, `HolesCastDoubt`, `DurableIsMarked`, `WritesAreFlushedInTime`, `OtherCopiesAreRead`, `SuperblocksAreTwo`, `DurableSuperblockStays` | `kv-damage` 171, 19, 171, 4, 101, 45, 155, 165 |
//! | `OverlapsKeepOrder`, `RestsOfBlocksStay`, `TrimsAreFlushed` | `block` 2, 1, 130 |
//!
//! `kv-damage` is `kv` with single blocks that become something else while the store is at rest.
//!
//! Five rules are found only by scripts in `crates/host/tests`. Not within 300 seeds: `RecordFirst` of epochs
//! (the ring of descriptors has to go round between the loss of a drive and the superblocks that record it),
//! `LossesAreRecorded` and `DurableIsMarkedTwice` of the key-value log. Two promise a host nothing:
//! `NewestCounts` chooses between copies of data that is not durable, where either would do;
//! `ClearDescriptors` spares comparisons.
//!
//! Without protection information (files, devices) a block can change undetected. Seeds reach only a part
//! of that:
//!
//! | what changes | promised | by seed | otherwise |
//! | --- | --- | --- | --- |
//! | a bit below `kv` on a drive by itself | the item is missed or an error, never older | `flip`, with the log at rest | `host/tests/kv/damage` |
//! | a block there that becomes another one, zeros or noise | the same, for two blocks of a segment: a record that is not in its summary yet has two marks that it was durable, and one of them must be whole | `kv-damage`, with the log at rest | `host/tests/kv/damage`, up to a dozen blocks of a stopped store |
//! | a bit or block below `kv` on copies | nothing is lost: the other copy is read, and the bad one written again | `kv-damage` with `sealed=no`, several of one drive at a time, before power cuts at rest as well | `host/tests/kv/damage` |
//! | the same, listed in a descriptor when the power goes | recovery keeps a copy whose checksum the descriptor has; if it has none of them, the copies stay as they are | `kv-damage` with `sealed=no` | no |
//! | a block there that keeps or gets back an older version of itself | nothing of a whole segment; of one block it is not stated | no | no |
//! | a bit below an array that keeps block checksums | repaired, or an error without redundancy; in place only if the last power cut came at rest, or since a scrub | `sealed=no` | `host/tests/{raid,epoch,log}/checksums.rs` |
//! | a bit below any other array | served, until a scrub or a reader with checksums finds it | no: drives keep seals there | `host/tests/{raid,epoch,log}/copies.rs` |
//! | the last descriptor of a log layout | nothing: it is taken for the end of what was written | no | no |

pub mod arrays;
pub mod backed;
pub mod below;
pub mod block;
pub mod drive;
pub mod every_step;
pub mod fault;
pub mod harness;
pub mod history;
pub mod keys;
pub mod mutant;
pub mod mutated;
pub mod plan;
pub mod run;
pub mod seeds;
pub mod served;
pub mod shrink;
pub mod stamp;
pub mod subject;
pub mod tally;
pub mod wrong;

pub use drive::Backend;
pub use every_step::EveryStep;
pub use fault::{Fault, FaultKind};
pub use mutant::Mutant;
pub use plan::{KvKeep, Metadata, Plan, PlanError, Step, SubjectKind};
pub use run::{Outcome, attempt, run};
pub use shrink::shrink;
pub use subject::Subject;
pub use tally::{Reached, Tally};
pub use wrong::{Violation, ViolationKind};
