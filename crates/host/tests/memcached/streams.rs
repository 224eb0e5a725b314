//! Splitting a stream makes no difference, and garbage does no harm.

use super::NOW;
use super::requests::{Request, any_requests};
use super::session::Session;
use proptest::prelude::*;
use tailcut_base::random::Stream;
use tailcut_host::wire::memcached::Reason;
use tailcut_host::wire::memcached::receiver::LINE_BYTES;

/// Replies to a stream that arrives in pieces, and the reason if the connection was closed.
fn answers(stream: &[u8], is_direct: bool, mut cut: impl FnMut() -> usize) -> (Vec<u8>, Option<Reason>) {
    let (mut session, mut rest) = (Session::new(NOW, is_direct), stream);
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at(cut().clamp(1, rest.len()));
        session.receive(piece);
        rest = behind;
    }
    (session.sent, session.closed)
}

fn check(stream: &[u8], seed: u64) -> Result<(), TestCaseError> {
    let whole = answers(stream, false, || stream.len());
    prop_assert_eq!(&whole, &answers(stream, true, || stream.len()));
    prop_assert_eq!(&whole, &answers(stream, false, || 1));
    let mut random = Stream::new(seed, "cuts");
    for scale in [3, 30, 1000, 5000] {
        let is_direct = random.below(2) == 0;
        prop_assert_eq!(&whole, &answers(stream, is_direct, || 1 + random.below(scale) as usize));
    }
    Ok(())
}

/// A line of many keys, some of them too long.
fn long_gets() -> impl Strategy<Value = Vec<u8>> {
    let key = prop_oneof![40 => 1usize..30, 3 => 245usize..255, 1 => 1000usize..3000];
    let word =
        (key, 1usize..4).prop_map(|(length, spaces)| ["k".repeat(length), " ".repeat(spaces)].concat());
    let end = prop::sample::select(vec!["\r\n", "\n", " \r\n", "\0x\r\n", "\r\r\n", ""]);
    let name =
        prop::sample::select(vec!["get ", "gets ", "  get  ", "gat 100 ", "gats  7 ", "gat x ", "set "]);
    (name, prop::collection::vec(word, 0..300), end)
        .prop_map(|(name, words, end)| [name, &words.concat(), end].concat().into_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn cuts_make_no_difference(requests in any_requests(), seed in any::<u64>()) {
        let stream: Vec<u8> = requests.into_iter().flat_map(|Request(bytes)| bytes).collect();
        check(&stream, seed)?;
    }

    #[test]
    fn cuts_of_long_lines_make_no_difference(lines in prop::collection::vec(long_gets(), 1..4), seed in any::<u64>()) {
        check(&[b"set kkk 0 0 1\r\nv\r\n", &lines.concat()[..]].concat(), seed)?;
    }

    #[test]
    fn garbage_does_no_harm(garbage in prop::collection::vec(any::<u8>(), 1..6000), seed in any::<u64>()) {
        check(&garbage, seed)?;
        let mostly_words: Vec<u8> = garbage.iter().map(|byte| b"mgsetadck bTNvq01\r\n \
            \x00\x80"[usize::from(byte % 22)]).collect();
        check(&mostly_words, seed)?;
    }
}

#[test]
fn thousands_of_keys_come_one_by_one() {
    let keys = 20_000;
    let line = format!("get{}\r\n", " key".repeat(keys));
    let stream = [&b"set key 0 0 1\r\nv\r\n"[..], line.as_bytes(), b"mn\r\n"].concat();
    let (sent, closed) = answers(&stream, false, || 1500);
    let expected = format!("STORED\r\n{}END\r\nMN\r\n", "VALUE key 0 1\r\nv\r\n".repeat(keys));
    assert!(sent == expected.as_bytes());
    assert_eq!(closed, None);
}

#[test]
fn a_line_is_too_long_with_its_2049th_byte() {
    let key = "k".repeat(LINE_BYTES - "mg \n".len());
    for cut in [1, 100_000] {
        let (sent, closed) = answers(format!("mg {key}\nmn\r\n").as_bytes(), false, || cut);
        assert_eq!((&sent[..], closed), (&b"CLIENT_ERROR bad command line format\r\nMN\r\n"[..], None));
        let (sent, closed) = answers(format!("mg {key}k\nmn\r\n").as_bytes(), false, || cut);
        assert_eq!((&sent[..], closed), (&b""[..], Some(Reason::LongLine)));
    }
}
