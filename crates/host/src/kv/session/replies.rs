//! Replies of shards: gathered, and sent in the order of the commands.

use super::about::ServerProperties;
use super::dispatch::ServerNews;
use super::send_queue::Texts;
use super::shard_request::{Content, ShardRequest};
use super::statistics::Sums;
use super::{AROUND_OPERATION, ForAll, GatheredReply, ReplyState, Session, Waiting, Ways, carry_out};
use crate::wire::memcached::refusal::SHARD_FAILED;
use crate::wire::memcached::{Reason, Stats, flush_moment, reply};
use tailcut_base::cast::to_usize;

impl Session {
    /// Sends a request to all shards.
    pub(super) fn ask_all(
        &mut self,
        request: ShardRequest<'static>,
        then: GatheredReply,
        ways: &mut Ways<'_>,
    ) {
        let (number, bytes) = (self.next_number(), memory_of_all(ways));
        self.awaited += bytes;
        self.wait(ReplyState::All { left: 0, bytes, then }, &mut ways.group.texts);
        ways.all = Some(ForAll::Shards { request, number, next: 0 });
    }

    /// Number of the reply to the next command.
    #[inline]
    pub(super) fn next_number(&self) -> u64 {
        self.first + self.waiting.len() as u64
    }

    pub(super) fn wait(&mut self, what: ReplyState, texts: &mut Texts) {
        if let Some(last) = self.waiting.back_mut() {
            // No further reply is appended behind this one.
            if last.behind.is_empty() {
                texts.give_back(std::mem::take(&mut last.behind));
            }
            self.set_aside += last.behind.capacity();
        }
        self.waiting.push_back(Waiting { what, reply: Vec::new(), behind: texts.take() });
    }

    /// A shard replies later to the request that was sent to all.
    pub(super) fn note_asked(&mut self, number: u64) {
        if let ReplyState::All { left, .. } = &mut self.waiting[to_usize(number - self.first)].what {
            *left += 1;
        }
    }

    /// What the server has to tell, to be filled in.
    pub(super) fn news(&mut self) -> &mut ServerNews {
        match self.waiting.front_mut().map(|waiting| &mut waiting.what) {
            Some(ReplyState::All { then: GatheredReply::Told { news, stats, .. }, .. }) => {
                let is_about_connections = *stats == Stats::Connections;
                news.get_or_insert_with(|| Box::new(ServerNews::for_connections(is_about_connections)))
            }
            _ => panic!("the server is asked for the first reply"),
        }
    }

    /// A reply from a shard has arrived.
    pub(super) fn note_reply(&mut self, number: u64, content: Content, ways: &mut Ways<'_>) {
        // A pending reply keeps its position until it is complete, unless all are dropped.
        let Some(at) = number.checked_sub(self.first).map(to_usize) else { return };
        let waiting = &mut self.waiting[at];
        match (&mut waiting.what, content) {
            (_, Content::Failed) => return self.abandon("the disk has failed"),
            (ReplyState::All { left, then, .. }, content) => {
                *left -= 1;
                match (then, content) {
                    (GatheredReply::Told { sums, .. }, Content::Sums(more)) => sums.add(&more),
                    (GatheredReply::Prefixes(prefixes), Content::Prefixes(more)) => prefixes.add(&more),
                    (GatheredReply::Flushed { refused, .. }, Content::Refused { why }) => {
                        *refused = Some(why);
                    }
                    (GatheredReply::MemoryLimited { was_set, .. }, Content::Refused { .. }) => {
                        *was_set = false
                    }
                    (GatheredReply::Flushed { refused, .. }, Content::NotDurable { .. }) => {
                        *refused = Some(carry_out::DRIVE_FULL);
                    }
                    _ => {}
                }
            }
            (what, Content::NotDurable { is_silent }) => {
                if let ReplyState::Reply { bytes, .. } = *what {
                    self.awaited -= bytes;
                }
                *what = ReplyState::Others;
                if !is_silent {
                    reply::server_error(&mut waiting.reply, carry_out::DRIVE_FULL);
                }
                self.set_aside += waiting.reply.capacity();
            }
            (what, Content::Text(text, source)) => {
                if let ReplyState::Reply { bytes, kind, since, .. } = *what {
                    self.awaited -= bytes;
                    ways.group.watch.note_late(kind, source, since);
                }
                *what = ReplyState::Others;
                self.set_aside += text.capacity();
                waiting.reply = text;
            }
            (_, Content::Sums(_) | Content::Prefixes(_) | Content::Refused { .. }) => {
                panic!("all shards answer what all were asked")
            }
        }
        self.advance(ways);
    }

    /// Completes pending replies from the front, until one has to wait: for a reply, or for what is asked of
    /// all.
    pub(super) fn advance(&mut self, ways: &mut Ways<'_>) {
        while let Some(waiting) = self.waiting.front_mut() {
            match &waiting.what {
                ReplyState::Others => {}
                ReplyState::Flush(flush) => {
                    let request = ShardRequest::Flush(flush_moment(ways.group.unix, flush.delay));
                    let then = GatheredReply::Flushed { noreply: flush.noreply, refused: None };
                    let bytes = memory_of_all(ways);
                    self.awaited += bytes;
                    waiting.what = ReplyState::All { left: 0, bytes, then };
                    ways.all = Some(ForAll::Shards { request, number: self.first, next: 0 });
                    return;
                }
                ReplyState::All { left: 0, then: GatheredReply::Told { news: None, .. }, .. } => {
                    ways.all = Some(ForAll::Server);
                    return;
                }
                ReplyState::All { left: 0, bytes, then } => {
                    self.awaited -= bytes;
                    then.write(ways, self.out.tail());
                }
                _ => break,
            }
            let Waiting { reply, behind, .. } = self.waiting.pop_front().expect("it is at the front");
            let is_last = self.waiting.is_empty();
            self.set_aside -= reply.capacity() + if is_last { 0 } else { behind.capacity() };
            self.out.push(reply, &mut ways.group.texts);
            self.out.push(behind, &mut ways.group.texts);
            self.first += 1;
        }
        if self.waiting.iter().all(|waiting| matches!(waiting.what, ReplyState::Others)) {
            self.is_blocked = false;
        }
    }

    /// A shard has failed: if a reply from it is pending, the session ends with an error, since later replies
    /// would be out of order.
    pub(super) fn fail_shard(&mut self, failed: u32) {
        let waits = |waiting: &Waiting| match waiting.what {
            ReplyState::Reply { shard, .. } => shard == failed,
            ReplyState::All { .. } => true,
            ReplyState::Others | ReplyState::Flush(_) => false,
        };
        if self.waiting.iter().any(waits) {
            self.abandon(SHARD_FAILED);
        }
    }

    /// Ends the session with an error: a requested item is unknown, or a change cannot be made durable, so
    /// neither can be acknowledged.
    fn abandon(&mut self, why: &str) {
        self.first += self.waiting.len() as u64;
        self.waiting.clear();
        (self.set_aside, self.awaited) = (0, 0);
        reply::server_error(self.out.tail(), why);
        self.closing = Some(Reason::Quit);
    }
}

impl GatheredReply {
    fn write(&self, ways: &Ways<'_>, out: &mut Vec<u8>) {
        match self {
            GatheredReply::Flushed { refused: Some(why), .. } => reply::server_error(out, why),
            GatheredReply::Flushed { noreply, .. } => reply::ok(out, *noreply),
            GatheredReply::MemoryLimited { noreply, was_set } => reply::memory_limit(out, *was_set, *noreply),
            GatheredReply::Reset => reply::reset(out),
            GatheredReply::DetailSet => reply::ok(out, false),
            GatheredReply::Prefixes(prefixes) => prefixes.write(out),
            GatheredReply::Told { stats, sums, news } => {
                let news = news.as_deref().expect("the server was asked");
                ServerProperties::new(ways.group, news).write_stats(*stats, sums, out);
            }
        }
    }
}

/// Upper bound of the memory of the replies of all shards, in bytes.
fn memory_of_all(ways: &Ways<'_>) -> u64 {
    u64::from(ways.group.division.shards() + 1) * size_of::<Sums>() as u64 + AROUND_OPERATION
}
