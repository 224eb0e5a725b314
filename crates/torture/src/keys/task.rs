//! A request of the host under way, and the items that it writes and reads.

use super::super::stamp::{Content as Block, Stamp};
use super::{MOST_KEY, Progress, Task};
use tailcut_base::random::mix64;
use tailcut_base::{Nanos, Op, Status};
use tailcut_host::kv::{Change, Content, Engine, Fetched, Item, Keep, Lookup, Put, Refused, Settings, State};
use tailcut_host::{Bytes, Response};

impl Task {
    /// Does what can be done, and returns the answer when all of it is.
    pub(super) fn advance(
        &mut self,
        engine: &mut Engine,
        keys: u64,
        tickets: &mut u32,
    ) -> Option<Response<Bytes>> {
        let is_all = self.request.op == Op::Trim && u64::from(self.request.blocks) == keys;
        if is_all && self.done == 0 {
            if engine.flush_all().is_err() {
                return Some(self.answer(Status::WriteProtected));
            }
            self.done = self.request.blocks;
        }
        while self.done < self.request.blocks {
            if self.ticket.is_some() {
                return None;
            }
            match self.key(engine, tickets) {
                Progress::Done => self.done += 1,
                Progress::Evicted => {}
                // No room comes here, so it must not wait for it.
                Progress::Waits if engine.is_full() && self.request.op != Op::Read => {
                    return Some(self.answer(Status::WriteProtected));
                }
                // A server ends where its drive is gone.
                Progress::Waits if engine.unreadable().is_some() && self.request.op != Op::Read => {
                    return Some(self.answer(Status::MediaError));
                }
                Progress::Waits => return None,
                Progress::Failed(status) => return Some(self.answer(status)),
            }
        }
        let is_durable = self.request.op == Op::Flush || self.request.fua && self.request.op != Op::Read;
        if is_durable {
            let point = *self.point.get_or_insert_with(|| engine.sync());
            if engine.durable() < point {
                return engine.has_failed().then(|| self.answer(Status::MediaError));
            }
        }
        Some(self.answer(Status::Success))
    }

    pub(super) fn is_finished(&self) -> bool {
        self.request.id == OVER
    }

    pub(super) fn answer(&mut self, status: Status) -> Response<Bytes> {
        let id = std::mem::replace(&mut self.request.id, OVER);
        let data = if status == Status::Success { std::mem::take(&mut self.found) } else { Vec::new() };
        Response { id, status, data, busy_for: Nanos::ZERO, spans: Default::default() }
    }

    /// The next key.
    pub(super) fn key(&mut self, engine: &mut Engine, tickets: &mut u32) -> Progress {
        let number = self.request.block + u64::from(self.done);
        let key = key(number);
        let change = match self.request.op {
            Op::Read => return self.look_up(engine, &key, tickets),
            Op::Write => {
                let Block::Written(stamp) = Stamp::read(&self.request.data[self.done as usize]) else {
                    panic!("a write has the content of its version")
                };
                let value = value(stamp, engine.settings().most_item);
                return changed(put(engine, &key, stamp, &value));
            }
            Op::Trim if number % 3 == 1 && matches!(engine.find(&key, false), Lookup::Item(_)) => {
                Change::Amend { expires: LONG_AGO, state: State::default() }
            }
            Op::Trim => Change::Remove,
            Op::Flush => panic!("a flush names no keys"),
        };
        changed(engine.change(&key, None, change))
    }

    fn look_up(&mut self, engine: &mut Engine, key: &[u8], tickets: &mut u32) -> Progress {
        let (most, may_miss) = (engine.settings().most_item, engine.settings().keep == Keep::WhatIsUsed);
        let block = match engine.find(key, true) {
            Lookup::Item(item) => {
                let (block, header) = (content(&item, most), item.header);
                if header.expires != 0 {
                    // A disk that is behind, or full, leaves it as it was.
                    let expires = FAR_AWAY + header.expires % 2 + 1;
                    let _ = engine.change(key, None, Change::Amend { expires, state: header.state });
                }
                block
            }
            Lookup::Nothing => Bytes::default(),
            Lookup::Unknown if may_miss => Bytes::default(),
            Lookup::Unknown | Lookup::OnFlash => {
                *tickets += 1;
                self.ticket = Some(*tickets);
                engine.fetch(key, *tickets, true);
                return Progress::Waits;
            }
        };
        self.found.push(block);
        Progress::Done
    }

    /// An item has come from flash. Returns the answer if it could not be read.
    pub(super) fn fetched(&mut self, fetched: &Fetched, settings: &Settings) -> Option<Response<Bytes>> {
        let is_cache = settings.keep == Keep::WhatIsUsed;
        if fetched.is_there() {
            self.found.push(content(&fetched.item(), settings.most_item));
        } else if fetched.is_lost && !is_cache {
            return Some(self.answer(Status::MediaError));
        } else if fetched.was_read() || fetched.is_lost {
            self.found.push(Bytes::default());
        } else {
            // It has come to memory meanwhile, or is gone: this key is looked for again.
            return None;
        }
        self.done += 1;
        None
    }
}

fn changed(result: Result<u64, Refused>) -> Progress {
    match result {
        Ok(_) => Progress::Done,
        Err(Refused::Busy) => Progress::Waits,
        Err(Refused::Evicted) => Progress::Evicted,
        Err(Refused::Full | Refused::TooLarge) => Progress::Failed(Status::WriteProtected),
    }
}

fn put(engine: &mut Engine, key: &[u8], stamp: Stamp, value: &[u8]) -> Result<u64, Refused> {
    let (content, flags) = (Content::New(value), stamp.version);
    let expires = if flags % 4 == 1 { FAR_AWAY } else { 0 };
    let put = Put { content, flags, expires, state: State::default(), cas: None };
    engine.change(key, None, Change::Put(put))
}

/// The name of a key; some have 250 bytes, as many as there may be.
pub(crate) fn key(number: u64) -> Vec<u8> {
    let mut key = format!("key-{number}-").into_bytes();
    let bytes = if number % 13 == 5 { MOST_KEY } else { 8 + (number * 7 % 90) as usize };
    key.resize(bytes.max(key.len()), b'x');
    key
}

/// The data that a version writes, where an item has at most `most` bytes.
pub(crate) fn value(stamp: Stamp, most: u64) -> Vec<u8> {
    let block = stamp.content();
    let bytes = value_bytes(stamp, most);
    block.as_slice().iter().copied().cycle().take(bytes).collect()
}

fn value_bytes(stamp: Stamp, most: u64) -> usize {
    let most = most - ROOM_FOR_KEY;
    let bits = mix64(stamp.block << 32 ^ u64::from(stamp.version));
    // Half of them are small.
    let most = if bits & 1 == 0 { most.min(SMALL) } else { most };
    (LEAST_VALUE + (bits >> 8) % (most - LEAST_VALUE)) as usize
}

fn content(item: &Item<'_>, most: u64) -> Bytes {
    let mut found = Vec::new();
    item.value.append_to(&mut found);
    content_of(&found, item.header.flags, most)
}

/// What the host gets to see of an item with this value and these flags: the block that its version has
/// written, if it is just what that version has written.
pub(crate) fn content_of(found: &[u8], flags: u32, most: u64) -> Bytes {
    let mut block = Bytes::default();
    let shown = found.len().min(tailcut_host::BLOCK_BYTES as usize);
    block.as_mut_slice()[..shown].copy_from_slice(&found[..shown]);
    let claims = Stamp::claimed(&block);
    let whole = claims.content();
    let is_whole = found.len() >= LEAST_VALUE as usize
        && found.len() == value_bytes(claims, most)
        && flags == claims.version
        && found.iter().eq(whole.as_slice().iter().cycle().take(found.len()));
    if is_whole {
        return whole;
    }
    // Whatever it is, it must not pass for the content of a version.
    block.as_mut_slice()[4095] ^= 0xFF;
    block
}

/// Times of expiry that are over, and that no run comes to.
const LONG_AGO: u32 = 1;

pub(crate) const FAR_AWAY: u32 = 1 << 30;

/// Names no request: of a task that is answered.
const OVER: u32 = u32::MAX;

/// The bytes of a block that name its version.
const LEAST_VALUE: u64 = 16;

const SMALL: u64 = 200;

/// The header of a record, the longest key, and what is filled up.
const ROOM_FOR_KEY: u64 = 40 + MOST_KEY as u64 + 16;
