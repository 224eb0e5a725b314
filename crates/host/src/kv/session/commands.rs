//! Commands: what each one asks of which shards.

use super::carry_out::counted_bytes;
use super::dispatch::KeyAt;
use super::operation::{Answer, Operation, Store};
use super::shard_request::ShardRequest;
use super::{GatheredReply, ReplyState, Session, VERSION, Ways};
use crate::wire::memcached::{Command, Expiry, Reason, Receiver, Refusal, Stats, StoreMode, meta, reply};

/// What follows a command.
pub(super) enum Next<'i> {
    /// The next command, or what is asked of all.
    Any,
    /// A request for the item with this key.
    Item(KeyAt<'i>),
    /// The command once more: it is not small, and only small ones have room.
    Unread,
}

impl Ways<'_> {
    /// The operation under way is this one.
    #[inline]
    fn ask<'i>(&mut self, operation: Operation, key: KeyAt<'i>) -> Next<'i> {
        self.operation = Some(operation);
        Next::Item(key)
    }
}

impl Session {
    /// Begins a command.
    pub(super) fn command<'i>(
        &mut self,
        command: &Command<'i>,
        receiver: &mut Receiver,
        ways: &mut Ways<'_>,
    ) -> Next<'i> {
        let unix = ways.group.unix;
        match *command {
            Command::Get(get) => {
                let operation = Operation::Get { with_cas: get.with_cas, exptime: get.exptime };
                return ways.ask(operation, KeyAt::Sent(get.key));
            }
            Command::GetEnd => reply::end(self.tail()),
            Command::Store(header) => {
                let store = Store {
                    mode: header.mode,
                    client_flags: header.client_flags,
                    expiry: Expiry::new(unix, header.exptime),
                    autovivify: None,
                    cas: 0,
                    new_cas: None,
                    invalidates: false,
                    has_base64_key: false,
                    answer: Answer::Classic { noreply: header.noreply },
                };
                let replaces = header.mode == StoreMode::Set;
                return self.begin_store(
                    KeyAt::Sent(header.key),
                    store,
                    (header.length, replaces),
                    receiver,
                    ways,
                );
            }
            Command::MetaStore(header) => {
                let flags = header.flags;
                let expiry = |exptime| Expiry::new(unix, exptime);
                let store = Store {
                    mode: header.mode,
                    client_flags: flags.client_flags,
                    expiry: flags.exptime.map_or(Expiry::Never, expiry),
                    autovivify: flags.autovivify.map(expiry),
                    cas: flags.cas.unwrap_or(0),
                    new_cas: flags.new_cas,
                    invalidates: flags.invalidates(),
                    has_base64_key: flags.has_base64_key(),
                    answer: Answer::Meta(flags),
                };
                return self.begin_store(
                    KeyAt::Meta(header.key),
                    store,
                    (header.length, true),
                    receiver,
                    ways,
                );
            }
            Command::Count(count) => {
                let operation = Operation::Count { delta: count.delta, noreply: count.noreply };
                return ways.ask(operation, KeyAt::Sent(count.key));
            }
            Command::Touch(touch) => {
                let (exptime, noreply) = (touch.exptime, touch.noreply);
                return ways.ask(Operation::Touch { exptime, noreply }, KeyAt::Sent(touch.key));
            }
            Command::Delete(delete) => {
                let operation = Operation::Delete { noreply: delete.noreply };
                return ways.ask(operation, KeyAt::Sent(delete.key));
            }
            Command::MetaGet(get) => {
                return ways.ask(Operation::MetaGet(get.flags), KeyAt::Meta(get.key));
            }
            Command::MetaDelete(delete) => {
                return ways.ask(Operation::MetaDelete(delete.flags), KeyAt::Meta(delete.key));
            }
            Command::MetaCount(count) => {
                let operation = Operation::MetaCount { flags: count.flags, delta: count.delta };
                return ways.ask(operation, KeyAt::Meta(count.key));
            }
            Command::MetaDebug(debug) => return ways.ask(Operation::MetaDebug, KeyAt::Meta(debug.key)),
            Command::MetaNoop => meta::noop(self.tail()),
            Command::FlushAll(flush) if !ways.group.permissions.flush_all => {
                self.answer_error(Refusal::FlushAll, flush.noreply);
            }
            Command::FlushAll(flush) => {
                self.is_blocked = true;
                self.wait(ReplyState::Flush(flush), &mut ways.group.texts);
                self.advance(ways);
            }
            Command::Verbosity(verbosity) => reply::ok(self.tail(), verbosity.noreply),
            Command::Shutdown(shutdown) if !ways.group.permissions.shutdown => {
                self.answer_error(Refusal::Shutdown, shutdown.noreply);
            }
            Command::Shutdown(shutdown) if !shutdown.is_valid => {
                self.answer_error(Refusal::ShutdownMode, shutdown.noreply);
            }
            Command::Shutdown(_) => self.closing = Some(Reason::Shutdown),
            Command::Version => reply::version(self.tail(), VERSION),
            Command::MemoryLimit(limit) => {
                let bytes = u64::from(limit.mebibytes) << 20;
                let request = ShardRequest::LimitMemory(bytes / u64::from(ways.group.division.shards()));
                let then = GatheredReply::MemoryLimited { noreply: limit.noreply, was_set: true };
                self.ask_all(request, then, ways);
            }
            Command::Stats(_) if ways.is_short => return Next::Unread,
            Command::Stats(Stats::Reset) => self.ask_all(ShardRequest::Reset, GatheredReply::Reset, ways),
            Command::Stats(Stats::Detail(is_on)) => {
                self.ask_all(ShardRequest::Detail(is_on), GatheredReply::DetailSet, ways);
            }
            Command::Stats(Stats::DetailDump) => {
                let prefixes = GatheredReply::Prefixes(Box::default());
                self.ask_all(ShardRequest::TellPrefixes, prefixes, ways);
            }
            Command::Stats(stats) => {
                let sums = Box::default();
                self.ask_all(ShardRequest::Tell, GatheredReply::Told { stats, sums, news: None }, ways);
            }
        }
        Next::Any
    }

    fn answer_error(&mut self, refusal: Refusal, noreply: bool) {
        if !noreply {
            self.tail().extend_from_slice(refusal.line());
        }
    }

    /// Prepares to receive the data of a storage command of `length` bytes. If they are too long, the
    /// existing item is removed where the command `replaces` it.
    fn begin_store<'i>(
        &mut self,
        key: KeyAt<'i>,
        store: Store,
        (length, replaces): (u32, bool),
        receiver: &mut Receiver,
        ways: &mut Ways<'_>,
    ) -> Next<'i> {
        let sent = key.sent(receiver).expect("a command is sent with its key");
        if counted_bytes(sent, store.client_flags, u64::from(length)) > ways.group.settings.most_item {
            receiver.refuse();
            return ways.ask(Operation::TooLarge { replaces, answer: store.answer }, key);
        }
        if u64::from(length) > ways.most_stored() {
            return Next::Unread;
        }
        self.key.set(sent);
        self.data.clear();
        self.incoming = length as usize;
        self.storing = Some(store);
        Next::Any
    }
}
