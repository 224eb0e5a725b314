//! What holds of reads of stored blocks.

use super::Reads;
use super::read::Direct;
use crate::Block;
use crate::check::ensure;

impl<B: Block> Reads<B> {
    /// A read in progress waits for a drive.
    pub(in crate::array) fn check(&self) -> Result<(), String> {
        for (id, read) in self.reads.allocated() {
            let waits = read.pending > 0 || read.direct == Direct::Pending;
            ensure!(waits, "read {id} waits for no drive");
        }
        Ok(())
    }

    /// No read is in progress.
    pub(in crate::array) fn check_at_rest(&self) -> Result<(), String> {
        ensure!(self.reads.is_empty(), "{} reads are in progress", self.reads.len());
        ensure!(self.done.is_empty(), "results of reads have not been delivered");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::array::LayoutKind;
    use crate::array::check::tests::Served;
    use tailcut_base::{Op, Time};

    #[test]
    fn a_read_that_no_drive_will_answer_is_found() {
        let mut served = Served::rested(LayoutKind::Raid5);
        served.submit(Op::Read, 3);
        let reads = &mut served.array.core.reads;
        let (id, _) = reads.reads.allocated().next().expect("one is in progress");
        let wanted = reads.reads[id].wanted;
        reads.check().expect("it waits");
        reads.open(Time::ZERO, wanted);
        assert!(reads.check().expect_err("it waits for nothing").contains("waits for no drive"));
    }
}
