//! Flushes and compactions: read ahead, merge, write behind.

use super::plan::{Plan, READS_AHEAD};
use super::space::{Extent, Space};
use super::tree::{Tree, Work};
use std::collections::VecDeque;

/// The purpose of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobPurpose {
    /// The oldest sealed memtable becomes a file.
    Flush,
    /// Files of two levels are merged.
    Compaction(Work),
}

/// A piece of the input, in the order in which it is merged.
#[derive(Clone, Copy, Debug)]
struct Piece {
    blocks: u64,
    has_arrived: bool,
}

/// Input files whose keys follow each other, and how far they have been read.
#[derive(Clone, Debug)]
struct Run {
    files: Vec<u32>,
    at: usize,
    block: u64,
}

/// A flush or compaction at work. It reads its inputs in the order of their keys, a piece ahead of the
/// merge; the merge takes processor time; its output is written behind it, with a bounded number of writes
/// in flight, and the merge waits for them to keep up.
#[derive(Clone, Debug)]
pub struct Job {
    /// Whether the job flushes a memtable or compacts files.
    pub purpose: JobPurpose,
    /// Numbers of the files that the job writes.
    pub outputs: Vec<u32>,
    runs: Vec<Run>,
    pieces: VecDeque<Piece>,
    /// Number of the first of the pieces.
    first_piece: u32,
    /// Blocks of the inputs (of the memtable: those of its file), and how many have been merged.
    input: u64,
    merged: u64,
    /// Blocks of the piece that is being merged.
    merging: Option<u64>,
    /// Blocks of the outputs, and how many have been handed to the device.
    output: u64,
    written: u64,
    /// The output that is written, and how much of it has been.
    file: usize,
    file_written: u64,
    writes: u32,
}

/// There is no room for a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRoom;

impl Job {
    /// The level of the files that the job writes.
    pub fn level(&self) -> usize {
        match &self.purpose {
            JobPurpose::Flush => 0,
            JobPurpose::Compaction(work) => work.level + 1,
        }
    }

    /// A flush into the file `output`.
    pub fn flush(output: u32, tree: &Tree) -> Job {
        let blocks = tree.table(output).blocks;
        Job::new(JobPurpose::Flush, Vec::new(), blocks, vec![output], tree)
    }

    /// A compaction of the files of `work` into the files `outputs`.
    pub fn compaction(work: Work, outputs: Vec<u32>, tree: &Tree) -> Job {
        let run = |files: Vec<u32>| Run { files, at: 0, block: 0 };
        let [upper, lower] = work.inputs.clone();
        // Files of level 0 share keys, so each is a run of its own.
        let mut runs: Vec<Run> = upper.into_iter().map(|file| run(vec![file])).collect();
        if !lower.is_empty() {
            runs.push(run(lower));
        }
        let files = runs.iter().flat_map(|run| &run.files);
        let input = files.map(|&id| tree.table(id).data_blocks).sum();
        Job::new(JobPurpose::Compaction(work), runs, input, outputs, tree)
    }

    fn new(purpose: JobPurpose, runs: Vec<Run>, input: u64, outputs: Vec<u32>, tree: &Tree) -> Job {
        Job {
            purpose,
            runs,
            pieces: VecDeque::new(),
            first_piece: 0,
            input,
            merged: 0,
            merging: None,
            output: outputs.iter().map(|&id| tree.table(id).blocks).sum(),
            written: 0,
            file: 0,
            file_written: 0,
            writes: 0,
            outputs,
        }
    }

    /// Number of blocks that the job reads.
    pub fn input_blocks(&self) -> u64 {
        if self.purpose == JobPurpose::Flush { 0 } else { self.input }
    }

    /// Number of blocks that the job writes.
    pub fn output_blocks(&self) -> u64 {
        self.output
    }

    /// Blocks of the files that it will write and that have no place yet.
    pub fn unplaced_blocks(&self, tree: &Tree) -> u64 {
        let files = self.outputs[self.file..].iter().map(|&id| tree.table(id));
        files.filter(|table| table.extents.is_empty()).map(|table| table.blocks).sum()
    }

    /// The next piece to read, with its number, when there is one and not too many wait already.
    pub fn next_read(&mut self, tree: &Tree, plan: &Plan) -> Option<(Extent, u32)> {
        if self.pieces.len() >= READS_AHEAD as usize {
            return None;
        }
        let key = |run: &&mut Run| {
            let table = tree.table(run.files[run.at]);
            table.span.lo
                + (u128::from(table.span.keys()) * u128::from(run.block) / u128::from(table.data_blocks))
                    as u64
        };
        let run = self.runs.iter_mut().filter(|run| run.at < run.files.len()).min_by_key(key)?;
        let table = tree.table(run.files[run.at]);
        let here = table.locate(run.block);
        let blocks = (plan.read_ahead / plan.block).min(here.blocks).min(table.data_blocks - run.block);
        run.block += blocks;
        if run.block == table.data_blocks {
            (run.at, run.block) = (run.at + 1, 0);
        }
        let number = self.first_piece + self.pieces.len() as u32;
        self.pieces.push_back(Piece { blocks, has_arrived: false });
        Some((Extent { first: here.first, blocks }, number))
    }

    /// A piece has been read.
    pub fn has_read(&mut self, number: u32) {
        self.pieces[(number - self.first_piece) as usize].has_arrived = true;
    }

    /// Begins to merge the next piece, if it is there, the merge stands still, and what it has made
    /// is on its way. Returns the blocks to merge.
    pub fn begin_merge(&mut self, plan: &Plan) -> Option<u64> {
        let backlog = self.made() - self.written >= plan.write_size / plan.block;
        if self.merging.is_some() || self.merged == self.input || backlog {
            return None;
        }
        let blocks = if self.purpose == JobPurpose::Flush {
            (plan.read_ahead / plan.block).min(self.input - self.merged)
        } else {
            let piece = *self.pieces.front().filter(|piece| piece.has_arrived)?;
            self.pieces.pop_front();
            self.first_piece += 1;
            piece.blocks
        };
        self.merging = Some(blocks);
        self.merging
    }

    /// The piece has been merged.
    ///
    /// # Panics
    /// If no piece is being merged.
    pub fn end_merge(&mut self) {
        self.merged += self.merging.take().expect("a piece is being merged");
    }

    /// Blocks of output that the merge has made so far; rounded down until the end.
    fn made(&self) -> u64 {
        (u128::from(self.output) * u128::from(self.merged) / u128::from(self.input.max(1))) as u64
    }

    /// The next write, when there is enough for one and not too many are in flight.
    ///
    /// # Errors
    /// [`NoRoom`] if the region has no free blocks for the next output file.
    pub fn next_write(
        &mut self,
        tree: &mut Tree,
        space: &mut Space,
        plan: &Plan,
    ) -> Result<Option<Extent>, NoRoom> {
        let Some(&id) = self.outputs.get(self.file) else { return Ok(None) };
        if self.writes == plan.write_depth {
            return Ok(None);
        }
        if tree.table(id).extents.is_empty() && !tree.place(id, space) {
            return Err(NoRoom);
        }
        let here = tree.table(id).locate(self.file_written);
        let rest = tree.table(id).blocks - self.file_written;
        let blocks = (plan.write_size / plan.block).min(rest).min(here.blocks);
        if self.made() - self.written < blocks {
            return Ok(None);
        }
        self.writes += 1;
        self.written += blocks;
        self.file_written += blocks;
        if blocks == rest {
            (self.file, self.file_written) = (self.file + 1, 0);
        }
        Ok(Some(Extent { first: here.first, blocks }))
    }

    /// A write has been answered. True when it was the last of the job.
    pub fn has_written(&mut self) -> bool {
        self.writes -= 1;
        self.writes == 0 && self.written == self.output
    }
}
