//! A shard that other threads hold from time to time: deferred requests execute in order, transparently to
//! the client.

use super::requests::any_requests;
use super::service::{bytes_of, compare};
use super::session::Session;
use super::{NOW, in_memory};
use proptest::prelude::*;
use std::collections::VecDeque;
use tailcut_base::Time;
use tailcut_base::random::Stream;
use tailcut_host::kv::session::hand_over::ThreadOf;
use tailcut_host::kv::session::shard_request::{
    Content, Division, OwnedShardRequest, Progress, Reply, Requester, ShardRequest,
};
use tailcut_host::kv::session::{Clients, Dispatch, Effect, ServiceSettings, Shard};

/// A shard, and the requests deferred while another thread held it.
struct Taken {
    shard: Shard,
    left: VecDeque<(Requester, OwnedShardRequest)>,
    replies: VecDeque<Reply>,
    random: Stream,
}

impl Taken {
    /// The shard's holder executes the deferred requests in order.
    fn do_what_was_left(&mut self) {
        for (requester, kept) in std::mem::take(&mut self.left) {
            let mut text = Vec::new();
            if let Progress::Done(source) = self.shard.receive(requester, kept.request(), &mut text) {
                self.replies.push_back(Reply { requester, content: Content::Text(text, source) });
            }
        }
        self.shard.turn();
        self.replies.extend(std::iter::from_fn(|| self.shard.next_reply()));
    }
}

impl Taken {
    fn carry_out(&mut self, requester: Requester, request: ShardRequest<'_>, out: &mut Vec<u8>) -> Progress {
        if self.random.below(3) == 0 {
            self.left.push_back((requester, request.keep()));
            return Progress::Deferred { is_recovering: false };
        }
        self.do_what_was_left();
        self.shard.receive(requester, request, out)
    }

    fn serve<'i>(&mut self, mut dispatch: Dispatch<'_, 'i>) -> &'i [u8] {
        while let Some(effect) = dispatch.next_effect() {
            if let Effect::Request { requester, request, out, .. } = effect {
                let progress = self.carry_out(requester, request, out);
                dispatch.note(progress);
            }
        }
        dispatch.rest()
    }
}

fn check(requests: &[Vec<u8>], seed: u64) -> Result<(), TestCaseError> {
    let settings =
        ServiceSettings { most_item: 1 << 20, is_durable: false, client_memory: 64 << 20, process: 1 };
    let shard = in_memory(settings, seed);
    let (left, replies, random) = (VecDeque::new(), VecDeque::new(), Stream::new(seed, "others"));
    let mut taken = Taken { shard, left, replies, random };
    let (mut clients, mut session) = (
        Clients::new(ThreadOf { number: 0, of: 2 }, Division::WHOLE, settings),
        Session::with_cas(NOW, false, 0),
    );
    clients.tick(NOW);
    taken.shard.tick(Time(1), NOW);
    let client = clients.open();
    let (mut input, mut received, mut closed) = (Vec::new(), Vec::new(), None);
    for request in requests {
        session.receive(request);
        input.extend_from_slice(request);
    }
    for _ in 0..100_000 {
        let mut rest = &input[..];
        if closed.is_none() && clients.can_accept(client) {
            rest = taken.serve(clients.receive(client, rest));
        }
        let is_at_rest = rest.len() == input.len() && taken.left.is_empty() && taken.replies.is_empty();
        input = rest.to_vec();
        if taken.random.below(2) == 0 {
            taken.do_what_was_left();
        }
        while let Some(reply) = taken.replies.pop_front() {
            taken.serve(clients.take(reply));
        }
        clients.send_queue(client).empty_into(&mut received);
        closed = closed.or(clients.closing(client));
        if is_at_rest && clients.is_answered(client) && (clients.can_accept(client) || closed.is_some()) {
            return compare((&received, closed), &session);
        }
    }
    panic!("a client is answered");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_shard_that_is_taken_now_and_then_answers_as_the_reference(requests in any_requests(), seed in any::<u64>()) {
        check(&bytes_of(requests), seed)?;
    }
}
