//! Dispatch of a client's commands: bytes in, effects out.
//!
//! The session decides, its owner carries out:
//!
//! ```text
//! while let Some(effect) = dispatch.next_effect() {
//!     match effect {
//!         Effect::Request { shard, request, .. } => dispatch.note(/* its progress on that shard */),
//!         Effect::Prefetch(keys) => { /* fetch them into the processor's cache */ }
//!         Effect::Tell(told) => { /* add what only the server knows */ }
//!     }
//! }
//! let input = dispatch.rest();
//! ```

use super::clients::Tally;
use super::commands::Next;
use super::latency::Kind;
use super::operation::Operation;
use super::prefetch::Prefetch;
use super::shard_request::{Progress, Requester, ShardRequest};
use super::{AROUND_OPERATION, ForAll, Group, MOST_KEPT, ReplyState, Session, Ways};
use crate::wire::memcached::receiver::Step;
use crate::wire::memcached::{Key, Receiver, Refusal, reply};

/// What a session asks of its owner.
#[derive(Debug)]
pub enum Effect<'a> {
    /// Execute a request on its shard, and report to [`Dispatch::note`] how far it has come. Requests of one
    /// requester for one item are to be executed in order, unless [`Progress::Later`] has `is_open` set.
    Request {
        /// The shard.
        shard: u32,
        /// Address of the reply, if it follows later.
        requester: Requester,
        /// The request.
        request: ShardRequest<'a>,
        /// Buffer that an immediate reply is appended to.
        out: &'a mut Vec<u8>,
    },
    /// Prefetch keys that are likely to be requested next, or do nothing; see
    /// [`Engine::prefetch`](crate::kv::Engine::prefetch).
    Prefetch(&'a [&'a [u8]]),
    /// Add to the reply to `stats` what only the server knows, if there is any.
    Tell(&'a mut ServerNews),
}

/// What `stats` tells beside the counters of shards and of this thread's clients.
#[derive(Debug, Default)]
pub struct ServerNews {
    is_about_connections: bool,
    elsewhere: Tally,
    lines: Vec<u8>,
}

impl ServerNews {
    /// Adds the counters of clients of other threads that share the shards.
    pub fn add_clients(&mut self, tally: &Tally) {
        self.elsewhere.add(tally);
    }

    /// True if the lines are to be about the connections (`stats conns`), and not about the disk and the
    /// process.
    pub fn is_about_connections(&self) -> bool {
        self.is_about_connections
    }

    pub(super) fn for_connections(is_about_connections: bool) -> ServerNews {
        ServerNews { is_about_connections, ..ServerNews::default() }
    }

    /// Buffer for the lines.
    pub fn lines(&mut self) -> &mut Vec<u8> {
        &mut self.lines
    }

    pub(super) fn read(&self) -> (&Tally, &[u8]) {
        (&self.elsewhere, &self.lines)
    }
}

/// Dispatches a client's commands from its input, until that is used up or something must come first.
///
/// Its owner calls [`Dispatch::next_effect`] until there is no effect left; a dispatch that is dropped before
/// is not complete.
#[derive(Debug)]
pub struct Dispatch<'c, 'i> {
    session: &'c mut Option<Session>,
    receiver: &'c mut Receiver,
    ways: Ways<'c>,
    input: &'i [u8],
    /// The input before the last command.
    front: &'i [u8],
    /// Bytes of the input, and of memory for replies, at the beginning.
    input_before: usize,
    replies_before: usize,
    /// Data of a value that have come in one piece: they are not copied.
    whole: &'i [u8],
    prefetch: Prefetch<'i>,
    /// The state before a command that may turn out not to be permitted.
    unread: Option<Receiver>,
    /// The last request: its shard; its kind if it was for one item; the bytes of its data.
    shard: u32,
    kind: Option<Kind>,
    data_bytes: usize,
    /// Nothing further is taken from the input.
    is_over: bool,
}

/// What comes next.
enum NextStep<'i> {
    /// A request for the item with this key.
    Item(KeyAt<'i>),
    /// A request for a shard, one of all.
    Shard(ShardRequest<'static>, u64),
    /// The news of the server.
    Server,
    /// Keys to be prefetched.
    Prefetch,
    /// Nothing.
    End,
}

/// Where the key of an operation is.
#[derive(Clone, Copy)]
pub(super) enum KeyAt<'i> {
    /// In the input.
    Sent(Key<'i>),
    /// With the receiver if it was sent in base64, otherwise in the input.
    Meta(Key<'i>),
    /// With the session, while it receives data.
    Kept,
}

impl<'i> KeyAt<'i> {
    /// The key, if it is not with the session.
    #[inline]
    pub(super) fn sent<'a>(self, receiver: &'a Receiver) -> Option<Key<'a>>
    where
        'i: 'a,
    {
        match self {
            KeyAt::Sent(key) => Some(key),
            KeyAt::Meta(key) => Some(receiver.decoded().unwrap_or(key)),
            KeyAt::Kept => None,
        }
    }
}

impl<'c, 'i> Dispatch<'c, 'i> {
    /// Dispatches the commands of this input.
    #[inline]
    pub(super) fn new(
        session: &'c mut Option<Session>,
        receiver: &'c mut Receiver,
        (group, client): (&'c mut Group, u32),
        input: &'i [u8],
    ) -> Dispatch<'c, 'i> {
        let (mut charged, mut replies_before) = (0, 0);
        if let Some(session) = session {
            (charged, replies_before) = (session.charged, session.reply_memory());
        }
        let (room, is_rationed) = (group.pool.room_beside(charged), group.ration == 0);
        Dispatch {
            session,
            receiver,
            ways: Ways { group, client, room, is_rationed, is_short: false, all: None, operation: None },
            input,
            front: input,
            input_before: input.len(),
            replies_before,
            whole: &[],
            prefetch: Prefetch::new(),
            unread: None,
            shard: 0,
            kind: None,
            data_bytes: 0,
            is_over: false,
        }
    }

    /// Takes nothing from the input: `work` has given the session something to go on with.
    pub(super) fn after(mut self, work: impl FnOnce(&mut Session, &mut Ways<'c>)) -> Dispatch<'c, 'i> {
        self.is_over = true;
        if let Some(session) = self.session {
            work(session, &mut self.ways);
        }
        self
    }

    /// What was not taken from the input: it must be passed again.
    pub fn rest(self) -> &'i [u8] {
        self.input
    }

    /// The next effect; None at the end.
    #[expect(clippy::missing_panics_doc, reason = "the parser hands out a key after its operation only")]
    pub fn next_effect(&mut self) -> Option<Effect<'_>> {
        let found = self.find();
        let Dispatch { session, receiver, ways, .. } = self;
        let session = session.as_mut()?;
        let (group, client) = (ways.group.number, ways.client);
        match found {
            NextStep::Item(at) => {
                let operation = ways.operation.as_ref().expect("an operation was found");
                let key = at.sent(receiver).unwrap_or_else(|| session.key.key());
                let mut data: &[u8] = &[];
                if let KeyAt::Kept = at {
                    data = std::mem::take(&mut self.whole);
                    if data.is_empty() {
                        data = &session.data;
                    }
                }
                let requester = Requester { group, client, number: session.next_number() };
                (self.shard, self.kind) =
                    (ways.group.division.home(key.as_bytes()), Some(Kind::of(operation)));
                self.data_bytes = data.len();
                let request = if ways.is_short || ways.is_rationed {
                    ShardRequest::SmallItem { key, operation, data }
                } else {
                    ShardRequest::Item { key, operation, data }
                };
                let out = match session.waiting.back_mut() {
                    Some(waiting) => &mut waiting.behind,
                    None => session.out.tail(),
                };
                Some(Effect::Request { shard: self.shard, requester, request, out })
            }
            NextStep::Shard(request, number) => {
                self.kind = None;
                let requester = Requester { group, client, number };
                Some(Effect::Request { shard: self.shard, requester, request, out: session.tail() })
            }
            NextStep::Prefetch => Some(Effect::Prefetch(self.prefetch.keys())),
            NextStep::Server => Some(Effect::Tell(session.news())),
            NextStep::End => None,
        }
    }

    /// Executes commands up to the next effect, or to the end of the input.
    fn find(&mut self) -> NextStep<'i> {
        let Dispatch { session: place, receiver, ways, .. } = self;
        let Some(session) = place else { return NextStep::End };
        loop {
            match &mut ways.all {
                None => {}
                Some(ForAll::Shards { request, number, next }) if *next < ways.group.division.shards() => {
                    self.shard = *next;
                    *next += 1;
                    return NextStep::Shard(*request, *number);
                }
                Some(ForAll::Server) => {
                    ways.all = Some(ForAll::Asked);
                    return NextStep::Server;
                }
                Some(ForAll::Shards { .. } | ForAll::Asked) => {
                    ways.all = None;
                    session.advance(ways);
                    continue;
                }
            }
            // A few bytes behind a value that had room.
            if !self.is_over && receiver.takes_end() {
                reply::end(session.tail());
                continue;
            }
            let replies = session.reply_memory();
            let held = session.memory_beside(replies);
            ways.is_short = !session.has_room(ways.room, held);
            let is_ready =
                session.is_ready_with(replies) && (!ways.is_short || session.has_small_room(ways.room, held));
            if self.is_over || !is_ready {
                break;
            }
            if self.prefetch.scan(self.input, receiver) {
                return NextStep::Prefetch;
            }
            if ways.is_short || ways.is_rationed {
                self.unread = Some(receiver.clone());
            }
            session.begin_answer(&mut ways.group.texts);
            self.front = self.input;
            match receiver.step(&mut self.input) {
                Step::More => break,
                Step::Command(command) => match session.command(&command, receiver, ways) {
                    Next::Any => session.needs_memory = false,
                    Next::Item(key) => {
                        session.needs_memory = false;
                        return NextStep::Item(key);
                    }
                    Next::Unread => {
                        self.put_back(false);
                        break;
                    }
                },
                Step::Data(data) if session.data.is_empty() && self.whole.is_empty() => {
                    self.whole = &self.front[..data.len()];
                }
                Step::Data(data) => {
                    session.collect(std::mem::take(&mut self.whole));
                    session.collect(data);
                }
                Step::End { is_sound } => {
                    let store = session.storing.take().expect("data follow a command");
                    session.incoming = 0;
                    ways.operation = Some(match is_sound {
                        true => Operation::Store(store),
                        false => Operation::Unsound(store.answer),
                    });
                    return NextStep::Item(KeyAt::Kept);
                }
                Step::Refused(refusal) => session.tail().extend_from_slice(refusal.line()),
                Step::Close(reason) => {
                    session.closing = Some(reason);
                    break;
                }
            }
        }
        self.end();
        NextStep::End
    }

    /// Reports the progress of the request that [`Dispatch::next_effect`] returned last.
    #[inline]
    pub fn note(&mut self, progress: Progress) {
        match (progress, self.kind) {
            (Progress::Done(source), Some(kind)) => self.ways.group.watch.note(kind, source),
            (Progress::Done(_), None) => {}
            _ => self.note_not_done(progress),
        }
    }
    #[inline(never)]
    fn note_not_done(&mut self, progress: Progress) {
        let Some(session) = self.session else { return };
        let Some(kind) = self.kind else {
            let is_pending = matches!(progress, Progress::Later { .. } | Progress::Deferred { .. });
            if let (Some(ForAll::Shards { number, .. }), true) = (self.ways.all, is_pending) {
                session.note_asked(number);
            }
            return;
        };
        let operation = self.ways.operation.as_ref().expect("it was requested");
        let (is_open, bytes) = match progress {
            Progress::Later { is_open, bytes } => (is_open, bytes),
            Progress::Deferred { is_recovering } => {
                let most_item = self.ways.group.settings.most_item;
                (is_recovering || !operation.only_looks(), operation.most_memory(self.data_bytes, most_item))
            }
            Progress::Failed if matches!(operation, Operation::Get { .. }) => {
                return self.receiver.fail_line();
            }
            Progress::Failed => {
                if !operation.is_silent() {
                    session.tail().extend_from_slice(Refusal::ShardFailed.line());
                }
                return;
            }
            Progress::TooLong => return self.put_back(false),
            Progress::Taken => return self.put_back(true),
            Progress::Done(_) => return,
        };
        session.is_blocked |= is_open;
        let (bytes, since) = (u64::from(bytes) + AROUND_OPERATION, self.ways.group.watch.received());
        session.awaited += bytes;
        let what = ReplyState::Reply { shard: self.shard, bytes, kind, since };
        session.wait(what, &mut self.ways.group.texts);
    }

    /// Takes the last command back: it is not small, or the shard `is_taken` and the command cannot be
    /// deferred to it.
    #[cold]
    fn put_back(&mut self, is_taken: bool) {
        let Some(session) = self.session else { return };
        session.has_yielded = is_taken || !self.ways.is_short;
        session.needs_memory = !session.has_yielded;
        self.input = self.front;
        *self.receiver = self.unread.take().expect("only a restricted command is put back");
        self.is_over = true;
    }

    fn end(&mut self) {
        self.is_over = true;
        let Ways { group, client, .. } = &mut self.ways;
        let Some(session) = self.session else { return };
        session.collect(std::mem::take(&mut self.whole));
        if session.storing.is_none() && session.data.capacity() > MOST_KEPT {
            session.data = Vec::new();
        }
        let produced = session.reply_memory().saturating_sub(self.replies_before);
        group.ration = group.ration.saturating_sub(produced);
        group.tally.sockets.received += (self.input_before - self.input.len()) as u64;
        self.input_before = self.input.len();
        group.watch.end_batch();
        group.charge(session);
        group.forget_if_over(*client, self.session);
    }
}
