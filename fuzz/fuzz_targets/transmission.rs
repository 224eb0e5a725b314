//! Anything as a client's side of the transmission, through the machine that widens requests, onto a disk in
//! memory. The first byte says how the stream is cut, and whether data goes straight into blocks. What comes
//! out does not depend on it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tailcut_base::{Op, Status};
use tailcut_host::unaligned::{Answer, Ask, Kind};
use tailcut_host::wire::nbd::standard::{NBD_CMD_FLAG_FUA, NBD_CMD_FLAG_NO_HOLE};
use tailcut_host::wire::nbd::{Command, Incoming, Receiver, Reply, Rules};
use tailcut_host::{BLOCK_BYTES, Bytes, Disk, Pool, Response, Unaligned};

const BLOCKS: u64 = 16;

fuzz_target!(|input: &[u8]| {
    let Some((&mode, stream)) = input.split_first() else { return };
    let whole = feed(stream, stream.len(), false);
    assert!(whole == feed(stream, usize::from(mode >> 1) + 1, mode & 1 == 1));
});

/// Replies, and the content of the disk.
fn feed(stream: &[u8], cut: usize, direct: bool) -> (Vec<u8>, Vec<Bytes>) {
    let mut session = Session::new();
    for mut input in stream.chunks(cut.max(1)) {
        if !session.receive(&mut input, direct) {
            break;
        }
    }
    (session.sent, session.blocks)
}

struct Session {
    receiver: Receiver,
    machine: Unaligned,
    pool: Pool,
    blocks: Vec<Bytes>,
    sent: Vec<u8>,
}

impl Session {
    fn new() -> Session {
        let disk =
            Disk { blocks: BLOCKS, depth: 2, most_blocks: 3, volatile_cache: true, copies: 1, handles: 1 };
        let rules = Rules {
            bytes: BLOCKS * BLOCK_BYTES,
            is_read_only: false,
            zeroes_fast: true,
            has_structured_replies: true,
            has_allocation: true,
        };
        Session {
            receiver: Receiver::new(rules),
            machine: Unaligned::new(disk, true),
            pool: Pool::default(),
            blocks: vec![Bytes::default(); BLOCKS as usize],
            sent: Vec::new(),
        }
    }

    /// False when nothing more is understood.
    fn receive(&mut self, input: &mut &[u8], direct: bool) -> bool {
        loop {
            if direct {
                self.put(input);
            }
            match self.receiver.next(input, &mut self.pool, |_, _| true) {
                Err(_) => return false,
                Ok(Some(incoming)) => self.carry_out(incoming),
                Ok(None) if input.is_empty() => return true,
                Ok(None) => {}
            }
        }
    }

    fn put(&mut self, input: &mut &[u8]) {
        let mut taken = 0;
        self.receiver.vacant(2, &mut self.pool, |mut place| {
            let bytes = place.len().min(input.len());
            place[..bytes].copy_from_slice(&input[..bytes]);
            *input = &input[bytes..];
            taken += bytes;
        });
        if taken > 0 {
            self.receiver.received(taken);
        }
    }

    fn carry_out(&mut self, incoming: Incoming) {
        let Incoming { header, command, data } = incoming;
        let kind = match command {
            Err(refusal) => return self.send(&Reply::error(&header, refusal, true)),
            Ok(Command::Read) => Kind::Read,
            Ok(Command::Write) => Kind::Write,
            Ok(Command::Zero) => Kind::Zero { takes_room: header.has(NBD_CMD_FLAG_NO_HOLE) },
            Ok(Command::Trim) => Kind::Trim,
            Ok(Command::Flush) => Kind::Flush,
            Ok(Command::Status) => return self.send(&Reply::status(&header, &[(header.length, 0)])),
            Ok(Command::Cache | Command::Disconnect) => return self.send(&Reply::done(&header)),
        };
        let (offset, bytes, fua) = (header.offset, u64::from(header.length), header.has(NBD_CMD_FLAG_FUA));
        self.machine.submit(Ask { name: 7, kind, fua, class: Default::default(), offset, bytes, data });
        let answer = self.answer();
        match kind {
            Kind::Read => self.send(&Reply::content(&header, answer.data, true)),
            _ => self.send(&Reply::done(&header)),
        }
    }

    fn answer(&mut self) -> Answer {
        loop {
            if let Some(answer) = self.machine.next_answer() {
                return answer;
            }
            let mut request = self.machine.next_request(&mut self.pool).expect("there is something to do");
            let range = request.block as usize..(request.block + u64::from(request.blocks)) as usize;
            match request.op {
                Op::Read => request.data.extend_from_slice(&self.blocks[range]),
                Op::Write => self.blocks[range].swap_with_slice(&mut request.data),
                Op::Trim => self.blocks[range].fill(Bytes::default()),
                Op::Flush => {}
            }
            let response = Response {
                id: request.id,
                status: Status::Success,
                data: request.data,
                busy_for: Default::default(),
                spans: Default::default(),
            };
            self.machine.respond(response, &mut self.pool);
        }
    }

    fn send(&mut self, reply: &Reply) {
        assert!(reply.slices(0, |slice| {
            self.sent.extend_from_slice(&slice);
            true
        }));
    }
}
