//! The threads that flush and compact.

use super::job::{Job, JobPurpose, NoRoom};
use super::merge::{Span, merge};
use super::store::{FLUSH, Owner, Store};
use super::tree::Work;
use tailcut_base::{Nanos, Op, Time};

/// Flushes and compactions.
impl Store {
    pub(super) fn begin_flush(&mut self, now: Time) {
        if self.background[FLUSH].is_some() {
            return;
        }
        let Some(memtable) = self.sealed.front() else { return };
        let entries = memtable.entries(self.plan.keys, &self.law);
        let output = self.tree.make(
            Span { lo: 0, hi: self.plan.places() - 1, entries },
            memtable.births(),
            &self.law,
            &self.plan,
        );
        self.background[FLUSH] = Some(Job::flush(output, &self.tree));
        self.work(FLUSH, now);
    }

    pub(super) fn begin_compactions(&mut self, now: Time) {
        while let Some(thread) = (1..self.background.len()).find(|&thread| self.background[thread].is_none())
        {
            let Some(work) = self.next_compaction() else { return };
            if work.level > 0 && work.inputs[1].is_empty() {
                self.tree.descend(&work);
                self.figures.moved_files += u64::from(self.counts(now));
                continue;
            }
            let inputs = work.inputs.iter().flatten().map(|&id| self.tree.table(id).span);
            let spans = merge(&inputs.collect::<Vec<Span>>(), self.plan.file_entries(), &self.law);
            let outputs = spans.into_iter().map(|span| {
                let births = self.tree.births(&work, &span);
                self.tree.make(span, births, &self.law, &self.plan)
            });
            let outputs = outputs.collect();
            self.background[thread] = Some(Job::compaction(work, outputs, &self.tree));
            self.work(thread, now);
        }
    }

    /// Blocks that a new compaction can write: what is free, less what those at work will write and what
    /// memtables and their logs may need.
    fn room_for_compactions(&self) -> u64 {
        let unplaced = |job: &Job| job.unplaced_blocks(&self.tree);
        let promised: u64 = self.background.iter().flatten().map(unplaced).sum();
        self.space.free_blocks().saturating_sub(promised + self.memtable_reserve())
    }

    /// The next compaction. One that has no room waits for others to give theirs back; where there are
    /// none it takes all that is free, and the store fails when that is not enough.
    fn next_compaction(&mut self) -> Option<Work> {
        let work = self.tree.pick(&self.plan, self.room_for_compactions());
        let at_rest = self.background.iter().all(Option::is_none) && !self.is_discarding();
        if work.is_some() || !at_rest {
            return work;
        }
        let last = self.tree.pick(&self.plan, self.space.free_blocks());
        if last.is_none() && self.tree.pick(&self.plan, u64::MAX).is_some() {
            self.fail();
        }
        last
    }

    /// What memtables become: a file each, with a log.
    fn memtable_reserve(&self) -> u64 {
        let memtable = 2 * self.plan.blocks(self.plan.memtable_puts()) + self.plan.log_piece();
        u64::from(self.plan.write_buffers) * memtable
    }

    /// Lets a background thread do what it can: read ahead, merge, write behind.
    pub(super) fn work(&mut self, thread: usize, now: Time) {
        let Some(mut job) = self.background[thread].take() else { return };
        while let Some((extent, piece)) = job.next_read(&self.tree, &self.plan) {
            if self.page_cache.touch(extent) {
                job.has_read(piece);
                continue;
            }
            // Read-ahead leaves it there.
            self.page_cache.insert(extent);
            let owner = Owner::Input(thread as u32, piece);
            self.ask(now, Op::Read, self.plan.compaction_read_class, extent, owner);
        }
        let is_flush = job.purpose == JobPurpose::Flush;
        let class = if is_flush { self.plan.flush_class } else { self.plan.compaction_write_class };
        let marks = (class, self.plan.stream_of_level(job.level()));
        loop {
            match job.next_write(&mut self.tree, &mut self.space, &self.plan) {
                Ok(Some(extent)) => {
                    self.page_cache.insert(extent);
                    self.ask_in_stream(now, Op::Write, marks, extent, Owner::Output(thread as u32));
                }
                Ok(None) => break,
                Err(NoRoom) => return self.fail(),
            }
        }
        if let Some(blocks) = job.begin_merge(&self.plan) {
            let time = Nanos::for_bytes(blocks * self.plan.block, self.plan.merge_rate);
            let timer = self.readers.len() + 1 + thread;
            self.timers.set(timer, now + time);
        }
        self.background[thread] = Some(job);
    }

    pub(super) fn has_merged(&mut self, thread: usize, now: Time) {
        self.background[thread].as_mut().expect("a thread that merges has a job").end_merge();
        self.work(thread, now);
    }

    pub(super) fn has_read_input(&mut self, thread: usize, piece: u32, now: Time) {
        self.background[thread].as_mut().expect("a thread that reads has a job").has_read(piece);
        self.work(thread, now);
    }

    pub(super) fn has_written_output(&mut self, thread: usize, now: Time) {
        let job = self.background[thread].as_mut().expect("a thread that writes has a job");
        if !job.has_written() {
            return self.work(thread, now);
        }
        let job = self.background[thread].take().expect("it has just been there");
        self.count(&job, now);
        match &job.purpose {
            JobPurpose::Flush => {
                self.tree.add(0, job.outputs[0]);
                let flushed = self.sealed.pop_front().expect("a memtable was flushed");
                self.release(flushed.log, now);
            }
            JobPurpose::Compaction(work) => {
                for file in self.tree.replace(work, &job.outputs) {
                    self.release_file(file, now);
                }
            }
        }
        self.set_reserve();
        self.begin_flush(now);
        self.begin_compactions(now);
        self.end_stall(now);
    }

    pub(super) fn count(&mut self, job: &Job, now: Time) {
        if !self.counts(now) {
            return;
        }
        let written = job.output_blocks() * self.plan.block;
        if job.purpose == JobPurpose::Flush {
            self.figures.flushes += 1;
            self.figures.flushed_bytes += written;
        } else {
            self.figures.compactions += 1;
            self.figures.compaction_read_bytes += job.input_blocks() * self.plan.block;
            self.figures.compaction_written_bytes += written;
        }
    }

    /// What flushes and compactions may need before they give anything back: level 0 is merged with
    /// all of level 1, and every memtable becomes a file with a log.
    pub(super) fn set_reserve(&mut self) {
        self.reserve =
            self.tree.blocks(0) + self.tree.blocks(1) + self.plan.job_blocks() + self.memtable_reserve();
    }
}
