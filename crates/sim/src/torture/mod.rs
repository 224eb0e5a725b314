//! Crash and fault search: everything that stores data, run against everything that may happen to it.
//!
//! A seed draws a [`Plan`] ([`seeds`]): what is tortured, what is asked of it, what goes wrong
//! and when the power goes. [`mod@run`] carries a plan out on simulated [`drive`]s, whose fault model
//! stands at the top of that module, while checkers look on that know nothing of the subject:
//!
//! - *content* ([`history`]): what was acknowledged and made durable is there; no read is stale, of two
//!   minds within a block, or of what nobody wrote; what was trimmed stays so;
//! - *honesty*: an error is answered only where the fault model allows one;
//! - *progress*: every request is answered, every rebuild and scrub ends, nothing is left over;
//! - *redundancy*: at the end everything is repaired, a second scrub finds nothing, and after one more power cut
//!   everything can be read without one drive of each group.
//!
//! | subject | what it is | it stands on |
//! | --- | --- | --- |
//! | `arrays`, or a layout | [`arrays`] | drives |
//! | `kv` | [`keys`]: the key-value engine, as a store, a cache, and a cache that writes at once | an array, or a drive without protection information |
//! | `block` | [`block`]: connections, the codec of NBD, and the machine for bytes on blocks | an array, or a drive |
//! | `ssd` | [`flash`]: a simulated SSD with its content, with a capacitor, without, and without a write buffer | |
//!
//! A plan that shows a violation is made smaller ([`mod@shrink`]) and can be run again from its text.
//! [`Canary`]s are bugs that the checkers must find, beside rules that the code itself can be made to break
//! (`tailcut_host::planted`). The first seed that finds each, from 1 on; `tests/torture.rs` and `tests/torture_above.rs` look for it:
//!
//! | planted bug | `kv` | `block` | `ssd` |
//! | --- | --- | --- | --- |
//! | `lies-about-flush` | 1 | 1 | the SSD has no such bug to plant |
//! | `tears-blocks` | 60 | 13 | likewise |
//! | `drops-writes` | 1 | 1 | likewise |
//! | `flushes-early` | 16 | 5 | 5 |
//! | `forgets-fua` | 1 | 1 | 1 |
//! | `forgets-trims` | 1 | 2 | 1 |
//! | `reads-stale`, `fails-reads`, `never-answers` | 1 | 1 | 1 |
//! | `TombstonesAreWritten` | 1 | | |
//! | `CopiesAreDurable` | not known to be found within 300 | | |
//! | `OverlapsKeepOrder` | | 2 | |
//! | `RestsOfBlocksStay` | | 1 | |
//! | `TrimsAreFlushed` | | 130 | |

pub mod arrays;
pub mod below;
pub mod block;
pub mod canary;
pub mod drive;
pub mod every_step;
pub mod fault;
pub mod flash;
pub mod history;
pub mod keys;
pub mod plan;
pub mod planted;
pub mod rig;
pub mod run;
pub mod seeds;
pub mod shrink;
pub mod stamp;
pub mod subject;
pub mod tally;
pub mod wrong;

pub use canary::Canary;
pub use every_step::EveryStep;
pub use fault::{Fault, FaultKind};
pub use flash::Backend;
pub use plan::{KvKeep, Plan, PlanError, Step, SubjectKind};
pub use run::{Outcome, attempt, run};
pub use shrink::shrink;
pub use subject::Subject;
pub use tally::{Reached, Tally};
pub use wrong::{Wrong, WrongKind};
