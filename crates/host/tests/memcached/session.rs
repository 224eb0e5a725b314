//! A connection to the reference store: bytes in, bytes out.

use super::reference::{Reference, Wish};
use tailcut_host::wire::memcached::meta::StoredItem;
use tailcut_host::wire::memcached::receiver::BUFFER_BYTES;
use tailcut_host::wire::memcached::reply::Stored;
use tailcut_host::wire::memcached::{
    Command, Expiry, MetaFlags, MetaStore, Reason, Receiver, Refusal, Step, Store, StoreMode, meta, reply,
};

/// A connection.
pub(super) struct Session {
    receiver: Receiver,
    store: Reference,
    /// Bytes received but not consumed.
    buffer: Vec<u8>,
    pending: Option<(Wish, Answer)>,
    data: Vec<u8>,
    /// Data goes directly to its destination, bypassing the receive buffer.
    is_direct: bool,
    /// Replies sent.
    pub sent: Vec<u8>,
    /// Why the connection was closed.
    pub closed: Option<Reason>,
}

/// How a storage command is answered.
enum Answer {
    Classic { noreply: bool },
    Meta(Box<MetaFlags>),
}

impl Session {
    /// A connection to a store at time `now`.
    pub(super) fn new(now: u64, is_direct: bool) -> Session {
        Session::with_cas(now, is_direct, 0)
    }

    /// A connection to a store that assigns CAS values as memcached does, which uses up one for every attempt
    /// to store.
    pub(super) fn as_program(now: u64) -> Session {
        let mut session = Session::with_cas(now, false, 1);
        session.store.counts_attempts = true;
        session
    }

    /// A connection to a store whose first item gets the CAS value after `cas`.
    pub(super) fn with_cas(now: u64, is_direct: bool, cas: u64) -> Session {
        Session {
            receiver: Receiver::default(),
            store: Reference::new(now, cas),
            buffer: Vec::new(),
            pending: None,
            data: Vec::new(),
            is_direct,
            sent: Vec::new(),
            closed: None,
        }
    }

    /// The server has restarted: the next item gets the CAS value after `cas`.
    pub(super) fn start_again(&mut self, cas: u64) {
        (self.receiver, self.closed) = (Receiver::default(), None);
        self.buffer.clear();
        self.store.set_cas(cas);
    }

    /// Receives bytes and executes all complete commands.
    pub(super) fn receive(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() && self.closed.is_none() {
            let room = BUFFER_BYTES - self.buffer.len();
            assert!(room > 0, "the receiver wants more than it said");
            let (piece, behind) = rest.split_at(rest.len().min(room));
            self.buffer.extend_from_slice(piece);
            rest = behind;
            self.work();
        }
    }

    fn work(&mut self) {
        let buffer = std::mem::take(&mut self.buffer);
        let mut input = &buffer[..];
        let mut receiver = std::mem::take(&mut self.receiver);
        loop {
            if self.is_direct {
                self.put(&mut receiver, &mut input);
            }
            match receiver.next(&mut input) {
                Step::More => break,
                Step::Command(command) => {
                    if !self.carry_out(command) {
                        receiver.refuse();
                    }
                }
                Step::Data(data) => self.data.extend_from_slice(data),
                Step::End { is_sound } => self.end(is_sound),
                Step::Refused(refusal) => self.sent.extend_from_slice(refusal.line()),
                Step::Close(reason) => {
                    self.closed = Some(reason);
                    break;
                }
            }
        }
        self.receiver = receiver;
        self.buffer = input.to_vec();
    }

    fn put(&mut self, receiver: &mut Receiver, input: &mut &[u8]) {
        let taken = input.len().min(receiver.outstanding() as usize);
        if taken > 0 {
            self.data.extend_from_slice(&input[..taken]);
            *input = &input[taken..];
            receiver.received(taken as u32);
        }
    }

    /// Executes a command; false if unwanted data follows it.
    fn carry_out(&mut self, command: Command<'_>) -> bool {
        let (out, store) = (&mut self.sent, &mut self.store);
        let now = store.now();
        match command {
            Command::Get(get) => {
                if let Some(item) = store.get(get.key.as_bytes(), get.exptime) {
                    let cas = get.with_cas.then_some(item.cas);
                    let (client_flags, length) = (item.client_flags, item.value.len() as u32);
                    reply::value(out, get.key, reply::Hit { client_flags, length, cas });
                    out.extend_from_slice(&item.value);
                    out.extend_from_slice(reply::TAIL);
                }
            }
            Command::GetEnd => reply::end(out),
            Command::Store(header) => return self.begin(&header),
            Command::MetaStore(header) => return self.begin_meta(&header),
            Command::Count(count) => {
                let counted = store.count(count.key.as_bytes(), count.delta);
                reply::counted(out, counted, count.noreply);
            }
            Command::Touch(touch) => {
                let was_there = store.touch(touch.key.as_bytes(), touch.exptime);
                reply::touched(out, was_there, touch.noreply);
            }
            Command::Delete(delete) => {
                let was_there = store.delete(delete.key.as_bytes());
                reply::deleted(out, was_there, delete.noreply);
            }
            Command::MetaGet(get) => match store.meta_get(get.key.as_bytes(), &get.flags) {
                None => meta::miss(out, &get.flags, get.key),
                Some((item, value)) => {
                    meta::hit(out, &get.flags, get.key, &item, now);
                    if get.flags.returns_value(item.cas) {
                        out.extend_from_slice(&value);
                        out.extend_from_slice(reply::TAIL);
                    }
                }
            },
            Command::MetaDelete(delete) => {
                let deleted = store.meta_delete(delete.key.as_bytes(), &delete.flags);
                meta::deleted(out, &delete.flags, delete.key, deleted);
            }
            Command::MetaCount(count) => {
                let key = count.key.as_bytes();
                let counted = store.meta_count(key, &count.flags, count.delta);
                meta::counted(out, &count.flags, count.key, counted, now);
            }
            Command::MetaDebug(debug) => match store.debug(debug.key.as_bytes()) {
                None => meta::debug_miss(out),
                Some(item) => meta::debug(out, debug.key, &item, now),
            },
            Command::MetaNoop => meta::noop(out),
            Command::FlushAll(flush) => {
                store.flush(flush.delay);
                reply::ok(out, flush.noreply);
            }
            Command::Verbosity(verbosity) => reply::ok(out, verbosity.noreply),
            Command::Shutdown(shutdown) => {
                let line = Refusal::Shutdown.line();
                out.extend_from_slice(if shutdown.noreply { b"" } else { line });
            }
            Command::Version => reply::version(out, "1.6.45"),
            Command::Stats(stats) => statistics(out, stats),
            Command::MemoryLimit(limit) => reply::memory_limit(out, true, limit.noreply),
        }
        true
    }

    fn begin(&mut self, header: &Store<'_>) -> bool {
        let (key, answer) = (header.key.as_bytes(), Answer::Classic { noreply: header.noreply });
        let replaces = header.mode == StoreMode::Set;
        let wish = Wish {
            key: key.to_vec(),
            mode: header.mode,
            client_flags: header.client_flags,
            expiry: Expiry::new(self.store.now(), header.exptime),
            autovivify: None,
            cas: 0,
            new_cas: None,
            invalidates: false,
            has_base64_key: false,
            is_meta: false,
        };
        self.admit(wish, answer, header.length, replaces)
    }

    fn begin_meta(&mut self, header: &MetaStore<'_>) -> bool {
        let (key, flags, now) = (header.key.as_bytes(), header.flags, self.store.now());
        let wish = Wish {
            key: key.to_vec(),
            mode: header.mode,
            client_flags: flags.client_flags,
            expiry: flags.exptime.map_or(Expiry::Never, |exptime| Expiry::new(now, exptime)),
            autovivify: flags.autovivify.map(|exptime| Expiry::new(now, exptime)),
            cas: flags.cas.unwrap_or(0),
            new_cas: flags.new_cas,
            invalidates: flags.invalidates(),
            has_base64_key: flags.has_base64_key(),
            is_meta: true,
        };
        self.admit(wish, Answer::Meta(Box::new(flags)), header.length, true)
    }

    fn admit(&mut self, wish: Wish, answer: Answer, length: u32, replaces: bool) -> bool {
        if self.store.admits(&wish.key, wish.client_flags, length, replaces) {
            self.pending = Some((wish, answer));
            return true;
        }
        self.answer(&wish, &answer, Stored::TooLarge, StoredItem::default());
        false
    }

    fn end(&mut self, is_sound: bool) {
        let (wish, answer) = self.pending.take().expect("data follow a command");
        let data = std::mem::take(&mut self.data);
        let (stored, item) = match is_sound {
            true => self.store.store(&wish, &data),
            false => {
                self.store.note_unsound(&wish);
                (Stored::Unsound, StoredItem::default())
            }
        };
        self.answer(&wish, &answer, stored, item);
    }

    fn answer(&mut self, wish: &Wish, answer: &Answer, stored: Stored, item: StoredItem) {
        let key = tailcut_host::wire::memcached::Key::new(&wish.key).expect("it came as a key");
        match answer {
            Answer::Classic { noreply } => reply::stored(&mut self.sent, stored, *noreply),
            Answer::Meta(flags) => meta::stored(&mut self.sent, flags, key, stored, item),
        }
    }
}

fn statistics(out: &mut Vec<u8>, stats: tailcut_host::wire::memcached::Stats) {
    use tailcut_host::wire::memcached::Stats;
    match stats {
        Stats::Reset => reply::reset(out),
        Stats::Detail(_) => reply::ok(out, false),
        Stats::General => {
            reply::stat(out, "version", "1.6.45");
            reply::stat_number(out, "threads", 1);
            reply::end(out);
        }
        Stats::Sizes => {
            reply::stat(out, "sizes_status", "disabled");
            reply::end(out);
        }
        _ => reply::end(out),
    }
}
