//! Replies of shards: gathered, and sent in the order of the commands.

use super::about::ServerProperties;
use super::shard_request::{Content, Requester, ShardRequest, Shards};
use super::{GatheredReply, ReplyState, Session, Waiting, Ways, ask_all, carry_out};
use crate::wire::memcached::refusal::SHARD_FAILED;
use crate::wire::memcached::{Reason, flush_moment, reply};
use tailcut_base::cast::to_usize;

impl Session {
    /// Sends a request to all shards.
    pub(super) fn ask_all<S: Shards>(
        &mut self,
        request: &ShardRequest<'_>,
        then: GatheredReply,
        ways: &mut Ways<'_, S>,
    ) {
        let requester = self.next_requester(ways);
        let (left, bytes) = ask_all(request, requester, ways);
        self.awaited += bytes;
        self.wait(ReplyState::All { left, bytes, then }, ways);
        self.advance(ways);
    }

    pub(super) fn wait<S>(&mut self, what: ReplyState, ways: &mut Ways<'_, S>) {
        if let Some(last) = self.waiting.back_mut() {
            // No further reply is appended behind this one.
            if last.behind.is_empty() {
                ways.texts.give_back(std::mem::take(&mut last.behind));
            }
            self.set_aside += last.behind.capacity();
        }
        self.waiting.push_back(Waiting { what, reply: Vec::new(), behind: ways.texts.take() });
    }

    /// A reply from a shard has arrived.
    pub fn note_reply<S: Shards>(&mut self, number: u64, content: Content, ways: &mut Ways<'_, S>) {
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
                    ways.watch.note_late(kind, source, since);
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

    /// Completes pending replies from the front.
    pub(super) fn advance<S: Shards>(&mut self, ways: &mut Ways<'_, S>) {
        while let Some(waiting) = self.waiting.front_mut() {
            match &waiting.what {
                ReplyState::Others => {}
                ReplyState::Flush(flush) => {
                    let moment = flush_moment(ways.about.unix, flush.delay);
                    let requester = Requester { group: ways.group, client: ways.client, number: self.first };
                    let (left, bytes) = ask_all(&ShardRequest::Flush(moment), requester, ways);
                    let then = GatheredReply::Flushed { noreply: flush.noreply, refused: None };
                    self.awaited += bytes;
                    waiting.what = ReplyState::All { left, bytes, then };
                    continue;
                }
                ReplyState::All { left: 0, bytes, then } => {
                    self.awaited -= bytes;
                    let about = ways.about.with(&ways.shards.elsewhere());
                    then.write_stats(&about, |out| ways.shards.tell_of_server(out), self.out.tail());
                }
                _ => break,
            }
            let Waiting { reply, behind, .. } = self.waiting.pop_front().expect("it is at the front");
            let is_last = self.waiting.is_empty();
            self.set_aside -= reply.capacity() + if is_last { 0 } else { behind.capacity() };
            self.out.push(reply, ways.texts);
            self.out.push(behind, ways.texts);
            self.first += 1;
        }
        if self.waiting.iter().all(|waiting| matches!(waiting.what, ReplyState::Others)) {
            self.is_blocked = false;
        }
    }

    /// A shard has failed: if a reply from it is pending, the session ends with an error, since later replies
    /// would be out of order.
    pub fn fail_shard(&mut self, failed: u32) {
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
    fn write_stats(
        &self,
        about: &ServerProperties,
        tell_of_server: impl FnOnce(&mut Vec<u8>),
        out: &mut Vec<u8>,
    ) {
        match self {
            GatheredReply::Flushed { refused: Some(why), .. } => reply::server_error(out, why),
            GatheredReply::Flushed { noreply, .. } => reply::ok(out, *noreply),
            GatheredReply::Reset => reply::reset(out),
            GatheredReply::DetailSet => reply::ok(out, false),
            GatheredReply::Prefixes(prefixes) => prefixes.write(out),
            GatheredReply::Told { stats, sums } => about.write_stats(*stats, sums, tell_of_server, out),
        }
    }
}
