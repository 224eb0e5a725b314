//! The block server's contract as a subject: several connections, and between them and the drive the codec of
//! NBD and the machine that lets requests of any offset and length through to whole blocks ([`Unaligned`]).
//!
//! A block of the host is a *cell*: the block server's unit of 512 to 4096 bytes, several of which share a
//! block of the drive. Requests of the host are dealt out to connections by their number; each is encoded as
//! its client would, received in two pieces, carried out, and its reply is decoded again. Trims of whole
//! blocks are `NBD_CMD_TRIM`, others `NBD_CMD_WRITE_ZEROES`, with and without `NBD_CMD_FLAG_NO_HOLE`.
//!
//! What is promised is what the export's flags say (`NBD_FLAG_SEND_FLUSH`, `NBD_FLAG_SEND_FUA`,
//! `NBD_FLAG_CAN_MULTI_CONN`): a flush on one connection covers what was answered on any before it was sent;
//! a write or trim with force unit access is durable when it is answered; a write changes no byte beside its
//! own, acknowledged or not, before and after a power cut.

use super::backed::{Backed, Backing};
use super::plan::Plan;
use super::stamp::{Content, Stamp};
use super::subject::Subject;
use tailcut_base::{Class, Nanos, Op, Status, Time};
use tailcut_host::unaligned::{self, Answer, Ask};
use tailcut_host::wire::nbd::standard::*;
use tailcut_host::wire::nbd::{Command, Header, Receiver, Refusal, Reply, Rules};
use tailcut_host::{BLOCK_BYTES, Bytes, Disk, Pool, Request, Response, Unaligned};

/// Connections to an export over an array or a drive.
#[derive(Debug)]
pub struct BlockServer {
    backing: Backing,
    /// Bytes of a cell.
    cell: u64,
    connections: u32,
    trims_to_zeros: bool,
    export: Option<Export>,
}

#[derive(Debug)]
struct Export {
    machine: Unaligned,
    pool: Pool,
    receivers: Vec<Receiver>,
    pending: Vec<Option<Pending>>,
}

/// A request that is with the machine.
#[derive(Clone, Copy, Debug)]
struct Pending {
    header: Header,
    command: Command,
}

impl Export {
    fn new(disk: Disk, connections: u32, trims_to_zeros: bool) -> Export {
        let rules = Rules {
            bytes: disk.blocks * BLOCK_BYTES,
            is_read_only: false,
            zeroes_fast: trims_to_zeros,
            has_structured_replies: false,
            has_allocation: false,
        };
        Export {
            machine: Unaligned::new(disk, trims_to_zeros),
            pool: Pool::default(),
            receivers: (0..connections).map(|_| Receiver::new(rules)).collect(),
            pending: Vec::new(),
        }
    }

    /// A request of the host, as its client sends it and as the server receives it.
    fn take(&mut self, request: &Request<Bytes>, cell: u64) {
        let header = header(request, cell);
        let mut stream = header.encode().to_vec();
        for block in &request.data {
            stream.extend_from_slice(&block.as_slice()[..cell as usize]);
        }
        let connection = request.id as usize % self.receivers.len();
        let (first, second) = stream.split_at(request.id as usize * 97 % stream.len());
        for mut piece in [first, second] {
            loop {
                let received = self.receivers[connection].next(&mut piece, &mut self.pool, |_, _| true);
                match received.expect("a client sends requests") {
                    Some(incoming) => {
                        let command = incoming.command.expect("a client sends what it may");
                        self.hand_in(incoming.header, command, incoming.data);
                    }
                    None if piece.is_empty() => break,
                    None => {}
                }
            }
        }
    }

    /// Hands a request to the machine, as the server does.
    fn hand_in(&mut self, header: Header, command: Command, data: Vec<Bytes>) {
        let kind = match command {
            Command::Read => unaligned::Kind::Read,
            Command::Write => unaligned::Kind::Write,
            Command::Zero => unaligned::Kind::Zero { takes_room: header.has(NBD_CMD_FLAG_NO_HOLE) },
            Command::Trim => unaligned::Kind::Trim,
            _ => unaligned::Kind::Flush,
        };
        let vacant = self.pending.iter().position(Option::is_none);
        let name = vacant.unwrap_or(self.pending.len());
        if name == self.pending.len() {
            self.pending.push(None);
        }
        self.pending[name] = Some(Pending { header, command });
        let (fua, class) = (header.has(NBD_CMD_FLAG_FUA), Class::DEFAULT);
        let (offset, bytes) = (header.offset, u64::from(header.length));
        self.machine.submit(Ask { name: name as u32, kind, fua, class, offset, bytes, data });
    }

    /// The reply of the server, as its client reads it.
    fn reply(&mut self, answer: Answer, cell: u64) -> Response<Bytes> {
        let Answer { name, status, data } = answer;
        let Pending { header, command } = self.pending[name as usize].take().expect("it was asked");
        let reply = match (status, command) {
            (Status::Success, Command::Read) => Reply::content(&header, data, false),
            (Status::Success, _) => Reply::done(&header),
            _ => Reply::error(&header, Refusal { error: Error::InputOutput, text: "" }, false),
        };
        let mut stream = Vec::new();
        reply.slices(0, |bytes| {
            stream.extend_from_slice(&bytes);
            true
        });
        let (head, data) = stream.split_at(SIMPLE_REPLY_BYTES);
        let word = |at: usize| u32::from_be_bytes(head[at..at + 4].try_into().expect("four bytes"));
        assert_eq!(word(0), NBD_SIMPLE_REPLY_MAGIC);
        let cookie = u64::from_be_bytes(head[8..].try_into().expect("eight bytes"));
        let status = if word(4) == 0 { Status::Success } else { status };
        let data = data.chunks(cell as usize).map(whole).collect();
        let id = u32::try_from(cookie).expect("cookies are names of requests");
        Response { id, status, data, busy_for: Nanos::ZERO, spans: Default::default() }
    }
}

fn header(request: &Request<Bytes>, cell: u64) -> Header {
    let (offset, bytes) = (request.block * cell, u64::from(request.blocks) * cell);
    let is_whole = offset % BLOCK_BYTES == 0 && bytes % BLOCK_BYTES == 0;
    let command = match request.op {
        Op::Read => NBD_CMD_READ,
        Op::Write => NBD_CMD_WRITE,
        Op::Trim if is_whole => NBD_CMD_TRIM,
        Op::Trim => NBD_CMD_WRITE_ZEROES,
        Op::Flush => NBD_CMD_FLUSH,
    };
    let mut flags = 0;
    if request.fua && !matches!(request.op, Op::Read | Op::Flush) {
        flags |= NBD_CMD_FLAG_FUA;
    }
    if command == NBD_CMD_WRITE_ZEROES && request.id.is_multiple_of(3) {
        flags |= NBD_CMD_FLAG_NO_HOLE;
    }
    let length = u32::try_from(bytes).expect("a request is short");
    Header { flags, command, cookie: u64::from(request.id), offset, length }
}

/// The block of the host whose cell this is.
fn whole(cell: &[u8]) -> Bytes {
    let mut block = Bytes::default();
    block.as_mut_slice()[..cell.len()].copy_from_slice(cell);
    if cell.iter().all(|&byte| byte == 0) {
        return Bytes::default();
    }
    let whole = Stamp::claimed(&block).content();
    if whole.as_slice()[..cell.len()] == *cell {
        return whole;
    }
    if let Content::Written(_) = Stamp::read(&block) {
        panic!("the content of a version is as long as a block");
    }
    block
}

impl Backed for BlockServer {
    const IN_ORDER: bool = true;

    fn over(plan: &Plan, backing: Backing, _: bool) -> BlockServer {
        BlockServer {
            backing,
            cell: u64::from(plan.cell),
            connections: plan.connections,
            trims_to_zeros: plan.seed.is_multiple_of(2),
            export: None,
        }
    }

    fn backing(&self) -> &Backing {
        &self.backing
    }

    fn backing_mut(&mut self) -> &mut Backing {
        &mut self.backing
    }

    fn resume(&mut self, now: Time) {
        let below = self.backing.below();
        if !below.is_ready() {
            return;
        }
        let (disk, connections, trims_to_zeros) = (below.disk(), self.connections, self.trims_to_zeros);
        let export = self.export.get_or_insert_with(|| Export::new(disk, connections, trims_to_zeros));
        loop {
            let mut has_moved = false;
            for response in self.backing.take_answers() {
                export.machine.respond(response, &mut export.pool);
                has_moved = true;
            }
            has_moved |= self.backing.submit(now, || export.machine.next_request(&mut export.pool));
            while let Some(answer) = export.machine.next_answer() {
                self.backing.answer([export.reply(answer, self.cell)]);
                has_moved = true;
            }
            if !has_moved {
                return;
            }
        }
    }

    fn is_serving(&self) -> bool {
        self.backing.below().is_ready()
    }

    fn export(&self) -> Disk {
        let disk = self.backing.below().disk();
        let cells = (disk.blocks * (BLOCK_BYTES / self.cell)).min(MOST_CELLS);
        Disk { blocks: cells, ..disk }
    }

    fn accept(&mut self, now: Time, request: Request<Bytes>) {
        self.resume(now);
        let export = self.export.as_mut().expect("it is ready");
        export.take(&request, self.cell);
    }
}

/// Cells that are used: few enough to be looked at again and again.
const MOST_CELLS: u64 = 512;

const SIMPLE_REPLY_BYTES: usize = 16;
