//! Prefetching covers exactly the keys of the commands to come, and affects no results.

use super::{NOW, in_memory};
use proptest::prelude::*;
use tailcut_base::Time;
use tailcut_host::kv::PREFETCH_MAX;
use tailcut_host::kv::session::hand_over::ThreadOf;
use tailcut_host::kv::session::shard_request::{Division, ShardRequest};
use tailcut_host::kv::session::{Clients, Dispatch, Effect, ServiceSettings, Shard};
use tailcut_host::wire::memcached::Ahead;

/// A shard that records prefetched and requested keys.
struct Told {
    shard: Shard,
    prefetched: Vec<Vec<u8>>,
    asked: Vec<Vec<u8>>,
    /// The largest lead of prefetched over requested keys.
    farthest: usize,
}

impl Told {
    fn serve(&mut self, mut dispatch: Dispatch<'_, '_>) {
        while let Some(effect) = dispatch.next_effect() {
            match effect {
                Effect::Request { requester, request, out, .. } => {
                    if let ShardRequest::Item { key, .. } = request {
                        self.asked.push(key.as_bytes().to_vec());
                    }
                    self.farthest = self.farthest.max(self.prefetched.len().saturating_sub(self.asked.len()));
                    let progress = self.shard.receive(requester, request, out);
                    dispatch.note(progress);
                }
                Effect::Prefetch(keys) => {
                    assert!((2..=PREFETCH_MAX).contains(&keys.len()), "{} keys at a time", keys.len());
                    self.prefetched.extend(keys.iter().map(|key| key.to_vec()));
                    self.shard.engine().prefetch(keys.iter().copied());
                }
                Effect::Tell(_) => {}
            }
        }
    }
}

/// Executes the input.
fn told(input: &[u8]) -> Told {
    let settings =
        ServiceSettings { most_item: 1 << 20, is_durable: false, client_memory: 64 << 20, process: 1 };
    let shard = in_memory(settings, 1);
    let mut told = Told { shard, prefetched: Vec::new(), asked: Vec::new(), farthest: 0 };
    let mut clients = Clients::new(ThreadOf::ONLY, Division::WHOLE, settings);
    clients.tick(NOW);
    told.shard.tick(Time(1), NOW);
    let client = clients.open();
    told.serve(clients.receive(client, input));
    told
}

/// A well-formed command.
fn any_command() -> impl Strategy<Value = Vec<u8>> {
    let key = || "[a-z]{1,30}";
    let line = |text: String| (text + "\r\n").into_bytes();
    let stored = |line: String, data: Vec<u8>| [line.as_bytes(), b"\r\n", &data, b"\r\n"].concat();
    let data = || prop::collection::vec(any::<u8>(), 0..300);
    prop_oneof![
        prop::collection::vec(key(), 1..40).prop_map(move |keys| line(format!("get {}", keys.join(" ")))),
        prop::collection::vec(key(), 1..9).prop_map(move |keys| line(format!("gats 0 {}", keys.join(" ")))),
        (prop::sample::select(vec!["set", "add", "replace", "append", "prepend"]), key(), data())
            .prop_map(move |(name, key, data)| stored(format!("{name} {key} 0 0 {}", data.len()), data)),
        (key(), data()).prop_map(move |(key, data)| stored(format!("cas {key} 1 0 {} 7", data.len()), data)),
        (key(), data()).prop_map(move |(key, data)| stored(format!("ms {key} {} c", data.len()), data)),
        key().prop_map(move |key| line(format!("mg {key} v c"))),
        key().prop_map(move |key| line(format!("md {key} q"))),
        key().prop_map(move |key| line(format!("incr {key} 3"))),
        key().prop_map(move |key| line(format!("delete {key}"))),
        key().prop_map(move |key| line(format!("touch {key} 9"))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_keys_of_what_comes_are_foreseen_once_each(commands in prop::collection::vec(any_command(), 1..60)) {
        let Told { prefetched, mut asked, farthest, .. } = told(&commands.concat());
        prop_assert!(farthest <= PREFETCH_MAX, "{} keys before they are needed", farthest);
        // A single remaining key is not worth a prefetch.
        if asked.len() % PREFETCH_MAX == 1 {
            asked.pop();
        }
        prop_assert_eq!(prefetched, asked);
    }

    #[test]
    fn whatever_is_sent_a_look_ahead_ends(input in prop::collection::vec(prop::sample::select(b"get ms1 \
        9\r\n\0".to_vec()), 0..500)) {
        let keys = Ahead::new(&input).count();
        prop_assert!(keys <= input.len());
        told(&input);
    }
}

#[test]
fn lengths_that_nobody_can_send_end_the_look() {
    for length in ["18446744073709551615", "99999999999999999999", "-1", "x"] {
        let input = format!("set a 0 0 {length}\r\nget b\r\n");
        assert_eq!(Ahead::new(input.as_bytes()).skip(1).count(), 0, "{length}");
    }
}
