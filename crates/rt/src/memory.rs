//! A drive in memory without delay: measures the overhead of emulation, and serves as a fake in tests.

use crate::drive::{Answers, Drive, Extent};
use tailcut_base::control::{Control, ControlReply};
use tailcut_base::device::Identify;
use tailcut_base::{Nanos, Op, Spans, Status, Time};
use tailcut_host::{BLOCK_SECTORS, Bytes, Request, Response};

/// A drive in memory without delay. Blocks that were never written take no memory but their entry in the
/// table.
///
/// # Examples
/// ```
/// use tailcut_base::fdp::HandleId;
/// use tailcut_base::{Class, Op, Status, Time};
/// use tailcut_host::{Mirror, Request};
/// use tailcut_rt::{Answers, Drive, MemoryDrive};
///
/// let mut drive = MemoryDrive::new(100, 8);
/// let (op, class, mirror, data) = (Op::Read, Class::DEFAULT, Mirror::Any, Vec::new());
/// let (fua, fail_fast, handle) = (false, false, HandleId::FIRST);
/// let read = Request { id: 7, op, fua, class, fail_fast, mirror, handle, block: 9, blocks: 1, data };
/// drive.submit(Time::ZERO, read);
/// let mut answers = Answers::default();
/// drive.poll(Time::ZERO, &mut answers);
/// let response = &answers.responses[0];
/// assert_eq!((response.id, response.status), (7, Status::Success));
/// assert!(response.data[0].is_hole());
/// ```
#[derive(Debug)]
pub struct MemoryDrive {
    blocks: Vec<Bytes>,
    depth: u32,
    ready: Answers,
}

impl MemoryDrive {
    /// A drive of zeros with `blocks` blocks and queue depth `depth`.
    ///
    /// # Panics
    /// If `blocks` does not fit the address space.
    pub fn new(blocks: u64, depth: u32) -> MemoryDrive {
        let blocks = usize::try_from(blocks).expect("a drive in memory is smaller than the address space");
        MemoryDrive { blocks: vec![Bytes::default(); blocks], depth, ready: Answers::default() }
    }

    fn carry_out(&mut self, request: &mut Request<Bytes>) {
        let first = request.block as usize;
        let blocks = &mut self.blocks[first..first + request.blocks as usize];
        match request.op {
            Op::Read => {
                request.data.clear();
                request.data.extend_from_slice(blocks);
            }
            // The previous blocks return with the completion, for reuse.
            Op::Write => blocks.swap_with_slice(&mut request.data),
            Op::Trim => blocks.fill(Bytes::default()),
            Op::Flush => {}
        }
    }
}

impl Drive for MemoryDrive {
    fn identify(&self) -> Identify {
        Identify {
            model: "memory".into(),
            sectors: self.blocks.len() as u64 * BLOCK_SECTORS,
            page_sectors: BLOCK_SECTORS as u32,
            queue_depth: self.depth,
            max_sectors: 8192 * BLOCK_SECTORS as u32,
            block_sectors: BLOCK_SECTORS as u32,
            volatile_cache: false,
            handles: 1,
        }
    }

    fn trims_to_zeros(&self) -> bool {
        true
    }

    fn submit(&mut self, _: Time, mut request: Request<Bytes>) {
        self.carry_out(&mut request);
        let Request { id, data, .. } = request;
        let (status, busy_for, spans) = (Status::Success, Nanos::ZERO, Spans::new());
        self.ready.responses.push(Response { id, status, data, busy_for, spans });
    }

    fn control(&mut self, _: Time, call: Control) {
        self.ready.replies.push((call, ControlReply::Unsupported));
    }

    fn poll(&mut self, _: Time, answers: &mut Answers) {
        answers.responses.append(&mut self.ready.responses);
        answers.replies.append(&mut self.ready.replies);
    }

    fn next_event(&self) -> Time {
        if self.ready.responses.is_empty() && self.ready.replies.is_empty() {
            Time::NEVER
        } else {
            Time::ZERO
        }
    }

    fn extent(&self, block: u64, blocks: u64) -> Extent {
        let blocks = &self.blocks[block as usize..(block + blocks) as usize];
        let is_hole = blocks[0] == Bytes::default();
        let alike = blocks.iter().take_while(|&block| (*block == Bytes::default()) == is_hole).count();
        Extent { blocks: alike as u64, is_allocated: !is_hole, is_zero: is_hole }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_base::Class;
    use tailcut_base::fdp::HandleId;
    use tailcut_host::Block;
    use tailcut_host::Mirror;

    fn ask(drive: &mut MemoryDrive, op: Op, block: u64, data: Vec<Bytes>) -> Vec<Bytes> {
        let blocks = if op == Op::Write { data.len() as u32 } else { 1 };
        let (class, fua, fail_fast) = (Class::DEFAULT, false, false);
        drive.submit(
            Time::ZERO,
            Request {
                id: 7,
                op,
                fua,
                class,
                fail_fast,
                mirror: Mirror::Any,
                handle: HandleId::FIRST,
                block,
                blocks,
                data,
            },
        );
        let mut answers = Answers::default();
        drive.poll(Time::ZERO, &mut answers);
        let Some(answer) = answers.responses.pop() else { panic!("every request is answered") };
        assert_eq!((answer.id, answer.status), (7, Status::Success));
        answer.data
    }

    #[test]
    fn what_is_written_is_read_until_it_is_trimmed() {
        let mut drive = MemoryDrive::new(16, 4);
        let written = Bytes::encode(b"content");
        ask(&mut drive, Op::Write, 3, vec![written.clone()]);
        assert_eq!(ask(&mut drive, Op::Read, 3, Vec::new()), [written]);
        assert_eq!(drive.extent(0, 16), Extent { blocks: 3, is_allocated: false, is_zero: true });
        assert_eq!(drive.extent(3, 13), Extent { blocks: 1, is_allocated: true, is_zero: false });
        ask(&mut drive, Op::Trim, 3, Vec::new());
        assert_eq!(ask(&mut drive, Op::Read, 3, Vec::new()), [Bytes::default()]);
    }
}
