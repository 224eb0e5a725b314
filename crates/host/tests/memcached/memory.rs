//! Memory that clients can make a server hold for them.

use super::{NOW, in_memory};
use std::collections::VecDeque;
use tailcut_base::Time;
use tailcut_host::kv::session::hand_over::ThreadOf;
use tailcut_host::kv::session::shard_request::{
    Content, Division, OwnedShardRequest, Progress, Reply, Requester, ShardRequest,
};
use tailcut_host::kv::session::{Clients, Dispatch, Effect, ServiceSettings, Shard};

const SETTINGS: ServiceSettings =
    ServiceSettings { most_item: 1 << 20, is_durable: false, client_memory: 16 << 20, process: 1 };
const LARGE: usize = 1_000_000;

/// A shard that another thread holds from time to time.
struct Busy {
    shard: Shard,
    is_taken: bool,
    left: VecDeque<(Requester, OwnedShardRequest)>,
}

impl Busy {
    fn new() -> Busy {
        let mut shard = in_memory(SETTINGS, 1);
        shard.tick(Time(1), NOW);
        Busy { shard, is_taken: false, left: VecDeque::new() }
    }

    /// The other thread executes the deferred requests.
    fn replies(&mut self) -> Vec<Reply> {
        let mut replies = Vec::new();
        for (requester, kept) in self.left.drain(..) {
            let mut text = Vec::new();
            match self.shard.receive(requester, kept.request(), &mut text) {
                Progress::Done(source) => {
                    replies.push(Reply { requester, content: Content::Text(text, source) });
                }
                progress => panic!("everything is in memory: {progress:?}"),
            }
        }
        replies
    }
}

impl Busy {
    fn carry_out(&mut self, requester: Requester, request: ShardRequest<'_>, out: &mut Vec<u8>) -> Progress {
        if self.is_taken && !request.can_be_deferred() {
            return Progress::Taken;
        }
        if self.is_taken {
            self.left.push_back((requester, request.keep()));
            return Progress::Deferred { is_recovering: false };
        }
        self.shard.receive(requester, request, out)
    }

    /// Carries out the effects of a turn.
    fn serve<'i>(&mut self, mut dispatch: Dispatch<'_, 'i>) -> &'i [u8] {
        while let Some(effect) = dispatch.next_effect() {
            if let Effect::Request { requester, request, out, .. } = effect {
                let progress = self.carry_out(requester, request, out);
                dispatch.note(progress);
            }
        }
        dispatch.rest()
    }

    /// Gives a client its turn, and advances past what it takes from the input.
    fn receive(&mut self, clients: &mut Clients, client: u32, input: &mut &[u8]) {
        *input = self.serve(clients.receive(client, input));
    }
}

fn clients_with_a_large_item() -> (Clients, Busy) {
    let (mut clients, mut busy) = (Clients::new(ThreadOf::ONLY, Division::WHOLE, SETTINGS), Busy::new());
    clients.tick(NOW);
    let writer = clients.open();
    let set = [format!("set big 0 0 {LARGE}\r\n").as_bytes(), &vec![b'x'; LARGE], b"\r\n"].concat();
    busy.receive(&mut clients, writer, &mut &set[..]);
    assert_eq!(sent(&mut clients, writer), b"STORED\r\n");
    (clients, busy)
}

/// Everything sent to a client that reads.
fn sent(clients: &mut Clients, client: u32) -> Vec<u8> {
    let all = clients.send_queue(client).pieces().flatten().copied().collect::<Vec<_>>();
    clients.note_sent(client, all.len());
    all
}

fn hit() -> Vec<u8> {
    [format!("VALUE big 0 {LARGE}\r\n").as_bytes(), &vec![b'x'; LARGE], b"\r\nEND\r\n"].concat()
}

#[test]
fn what_waits_for_a_shard_is_charged_with_the_largest_item() {
    let (mut clients, mut busy) = clients_with_a_large_item();
    busy.is_taken = true;
    let client = clients.open();
    let gets = b"get big\r\n".repeat(1000);
    let mut input = &gets[..];
    busy.receive(&mut clients, client, &mut input);
    assert!((1..=4).contains(&busy.left.len()), "{} operations wait", busy.left.len());
    // All of them are answered eventually.
    let (mut heard, mut rounds) = (0, 0);
    while heard < 1000 * hit().len() {
        for reply in busy.replies() {
            busy.serve(clients.take(reply));
        }
        heard += sent(&mut clients, client).len();
        busy.receive(&mut clients, client, &mut input);
        assert!(clients.tally().client_memory <= clients.memory_limit());
        rounds += 1;
        assert!(rounds < 2000, "it goes on");
    }
    assert!(input.is_empty() && clients.is_answered(client));
    assert_eq!(clients.tally().client_memory, 0);
}

#[test]
fn who_goes_while_a_shard_is_in_use_holds_nothing_once_that_has_answered() {
    let (mut clients, mut busy) = clients_with_a_large_item();
    busy.is_taken = true;
    let client = clients.open();
    busy.receive(&mut clients, client, &mut &b"get big\r\n"[..]);
    clients.close(client);
    assert!(clients.tally().client_memory > LARGE as u64);
    for reply in busy.replies() {
        busy.serve(clients.take(reply));
    }
    assert_eq!((clients.count(), clients.tally().client_memory), (1, 0));
}

#[test]
fn all_that_clients_do_not_read_is_within_the_limit_and_one_that_goes_makes_room() {
    for is_taken in [false, true] {
        let (mut clients, mut busy) = clients_with_a_large_item();
        busy.is_taken = is_taken;
        let gets = b"get big\r\n".repeat(1000);
        let greedy: Vec<u32> = (0..100).map(|_| clients.open()).collect();
        for &client in &greedy {
            busy.receive(&mut clients, client, &mut &gets[..]);
            for reply in busy.replies() {
                busy.serve(clients.take(reply));
            }
        }
        let tally = clients.tally();
        assert!(tally.most_client_memory <= clients.memory_limit(), "{tally:?}");
        let kept: usize = greedy.iter().map(|&client| clients.send_queue(client).bytes()).sum();
        assert!(kept as u64 <= clients.memory_limit() && kept > 10 * LARGE, "{kept}");
        // Another client waits until one of them disconnects, and is then served.
        busy.is_taken = false;
        let other = clients.open();
        let mut input = &b"get big\r\n"[..];
        busy.receive(&mut clients, other, &mut input);
        assert!(!input.is_empty() && clients.waits_for_memory(other) && clients.vacancies() == 0);
        let first = greedy.iter().copied().find(|&client| clients.holding(client).is_some());
        clients.close(first.expect("somebody holds memory"));
        assert!(clients.can_accept(other) && clients.vacancies() > 0);
        // The line ending follows once the value is sent: until then there is no room for more.
        let mut heard = Vec::new();
        for _ in 0..2 {
            busy.receive(&mut clients, other, &mut input);
            heard.extend(sent(&mut clients, other));
        }
        assert!(heard == hit(), "{} bytes", heard.len());
        greedy.into_iter().filter(|&client| Some(client) != first).for_each(|client| clients.close(client));
        assert_eq!(clients.tally().client_memory, 0);
    }
}

/// Clients that leave replies unread until none of them is served any more.
fn greedy(clients: &mut Clients, busy: &mut Busy) -> Vec<u32> {
    let gets = b"get big\r\n".repeat(1000);
    let greedy: Vec<u32> = (0..100).map(|_| clients.open()).collect();
    greedy.iter().for_each(|&client| busy.receive(clients, client, &mut &gets[..]));
    greedy
}

#[test]
fn small_commands_do_not_wait_for_clients_that_read_no_large_replies() {
    let (mut clients, mut busy) = clients_with_a_large_item();
    greedy(&mut clients, &mut busy);
    let other = clients.open();
    assert_eq!(clients.vacancies(), 0);
    let said = b"set small 0 0 5\r\nhello\r\nget small none\r\nmg small v\r\ndelete small\r\nget small\r\n";
    let mut input = &said[..];
    busy.receive(&mut clients, other, &mut input);
    let answers = b"STORED\r\nVALUE small 0 5\r\nhello\r\nEND\r\nVA 5\r\nhello\r\nDELETED\r\nEND\r\n";
    assert_eq!((input.len(), &sent(&mut clients, other)[..]), (0, &answers[..]));
    assert!(clients.tally().most_client_memory <= clients.memory_limit());
}

#[test]
fn a_large_reply_among_small_ones_waits_for_memory_where_it_is() {
    let (mut clients, mut busy) = clients_with_a_large_item();
    let greedy = greedy(&mut clients, &mut busy);
    let other = clients.open();
    let said = b"set small 0 0 5\r\nhello\r\nget small big small\r\nset big 0 0 9000\r\n";
    let mut input = &said[..];
    busy.receive(&mut clients, other, &mut input);
    assert_eq!(sent(&mut clients, other), b"STORED\r\nVALUE small 0 5\r\nhello\r\n");
    assert!(input.starts_with(b"big small\r\n"), "{}", input.escape_ascii());
    assert!(!clients.can_accept(other) && clients.waits_for_memory(other));
    assert!(clients.tally().most_client_memory <= clients.memory_limit());
    // A client that goes makes room for one reply.
    clients.close(greedy[0]);
    assert!(clients.can_accept(other));
    let mut heard = Vec::new();
    for _ in 0..4 {
        busy.receive(&mut clients, other, &mut input);
        heard.extend(sent(&mut clients, other));
    }
    let large = [format!("VALUE big 0 {LARGE}\r\n").as_bytes(), &vec![b'x'; LARGE], b"\r\n"].concat();
    assert!(heard == [&large[..], b"VALUE small 0 5\r\nhello\r\nEND\r\n"].concat(), "{} bytes", heard.len());
    assert!(clients.tally().most_client_memory <= clients.memory_limit());
}

#[test]
fn one_iteration_produces_few_large_replies_and_all_small_ones() {
    let (mut clients, mut busy) = clients_with_a_large_item();
    let [first, second, third] = [clients.open(), clients.open(), clients.open()];
    clients.begin_iteration(1_000_000);
    let (mut input, mut rest) = (&b"get big\r\n"[..], &b"get big\r\n"[..]);
    busy.receive(&mut clients, first, &mut input);
    busy.receive(&mut clients, second, &mut rest);
    assert!(!clients.has_yielded(first) && clients.has_yielded(second) && clients.can_accept(second));
    assert_eq!((rest, clients.holding(second)), (&b"get big\r\n"[..], None));
    busy.receive(&mut clients, third, &mut &b"set small 0 0 1\r\n1\r\nget small\r\n"[..]);
    assert_eq!(sent(&mut clients, third), b"STORED\r\nVALUE small 0 1\r\n1\r\nEND\r\n");
    clients.begin_iteration(1_000_000);
    busy.receive(&mut clients, second, &mut rest);
    assert!(!clients.has_yielded(second) && sent(&mut clients, second).len() > LARGE);
}

#[test]
fn a_small_read_whose_shard_is_taken_is_repeated_and_reserves_no_memory() {
    let (mut clients, mut busy) = clients_with_a_large_item();
    greedy(&mut clients, &mut busy);
    let other = clients.open();
    busy.is_taken = true;
    let mut input = &b"get big\r\n"[..];
    busy.receive(&mut clients, other, &mut input);
    assert!(clients.has_yielded(other) && clients.can_accept(other) && busy.left.is_empty());
    assert_eq!((input, clients.holding(other)), (&b"get big\r\n"[..], None));
    busy.is_taken = false;
    busy.receive(&mut clients, other, &mut input);
    assert!(!clients.has_yielded(other) && clients.waits_for_memory(other));
}

#[test]
fn values_that_have_come_in_part_are_within_the_limit_and_those_that_were_begun_can_be_ended() {
    let (mut clients, mut busy) = clients_with_a_large_item();
    let half = [format!("set big 0 0 {LARGE}\r\n").as_bytes(), &[b'y'; 1000]].concat();
    let senders: Vec<u32> = (0..100).map(|_| clients.open()).collect();
    let mut begun = Vec::new();
    for &client in &senders {
        let mut input = &half[..];
        busy.receive(&mut clients, client, &mut input);
        if input.is_empty() {
            begun.push(client);
        }
    }
    assert!((4..=16).contains(&begun.len()), "{} have begun", begun.len());
    assert!(clients.tally().client_memory <= clients.memory_limit());
    let rest = [&vec![b'y'; LARGE - 1000][..], b"\r\n"].concat();
    for client in begun {
        assert!(clients.can_accept(client));
        busy.receive(&mut clients, client, &mut &rest[..]);
        assert_eq!(sent(&mut clients, client), b"STORED\r\n");
    }
    assert_eq!(clients.tally().client_memory, 0);
}
