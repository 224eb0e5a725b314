use crate::nbd::cuts;
use proptest::prelude::*;
use tailcut_base::random::Stream;
use tailcut_host::Pool;
use tailcut_host::wire::nbd::standard::{Error, NBD_CMD_WRITE};
use tailcut_host::wire::nbd::{Command, Header, Receiver, Rules, WrongMagic};

const RULES: Rules = Rules {
    bytes: 1 << 20,
    is_read_only: false,
    zeroes_fast: true,
    has_structured_replies: true,
    has_allocation: true,
};

/// A parsed request: its header, its validation result, and the data of a write.
type Seen = (Header, Result<Command, Error>, Vec<u8>);

/// Feeds a stream in pieces. With `direct`, the data of writes goes directly into blocks; with `hesitates`,
/// requests are admitted only every second time.
fn feed(stream: &[u8], cuts: &[usize], direct: bool, hesitates: bool) -> (Vec<Seen>, Option<WrongMagic>) {
    let (mut receiver, mut pool, mut seen) = (Receiver::new(RULES), Pool::default(), Vec::new());
    let (mut from, mut asked) = (0, 0u32);
    for &cut in cuts {
        let mut input = &stream[from..from + cut];
        from += cut;
        loop {
            if direct {
                put(&mut receiver, &mut input, &mut pool);
            }
            let admits = |_: &Header, _| {
                asked += 1;
                !hesitates || asked % 2 == 0
            };
            match receiver.next(&mut input, &mut pool, admits) {
                Err(wrong) => return (seen, Some(wrong)),
                Ok(Some(incoming)) => {
                    let skip = (incoming.header.offset % 4096) as usize;
                    let bytes = incoming.data.iter().flat_map(|block| *block.as_slice());
                    let length = if incoming.data.is_empty() { 0 } else { incoming.header.length as usize };
                    let bytes = bytes.skip(skip).take(length).collect();
                    assert!(incoming.data.len() <= (skip + length).div_ceil(4096));
                    pool.recycle(incoming.data);
                    seen.push((incoming.header, incoming.command.map_err(|refusal| refusal.error), bytes));
                }
                Ok(None) if receiver.is_waiting() => {}
                Ok(None) if input.is_empty() => break,
                Ok(None) => {}
            }
        }
    }
    (seen, None)
}

fn put(receiver: &mut Receiver, input: &mut &[u8], pool: &mut Pool) {
    let mut places = Vec::new();
    receiver.vacant(3, pool, |place| places.push(place));
    let mut taken = 0;
    for place in &mut places {
        let bytes = place.len().min(input.len());
        place[..bytes].copy_from_slice(&input[..bytes]);
        *input = &input[bytes..];
        taken += bytes;
    }
    drop(places);
    if taken > 0 {
        receiver.received(taken);
    }
}

fn request(header: &Header, fill: u8) -> Vec<u8> {
    let data = (0..header.payload()).map(|at| fill.wrapping_add(at as u8));
    header.encode().into_iter().chain(data).collect()
}

fn any_header() -> impl Strategy<Value = Header> {
    let offset = prop_oneof![0u64..20_000, (0u64..300).prop_map(|block| block * 4096), any::<u64>()];
    let length = prop_oneof![0u32..10_000, (0u32..4).prop_map(|blocks| blocks * 4096)];
    (0u16..40, 0u16..10, any::<u64>(), offset, length).prop_map(|(flags, command, cookie, offset, length)| {
        Header { flags: if flags < 32 { flags } else { 0 }, command, cookie, offset, length }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn cuts_make_no_difference(headers in prop::collection::vec(any_header(), 0..12), seed in any::<u64>()) {
        let mut random = Stream::new(seed, "cuts");
        let stream: Vec<u8> = headers.iter().flat_map(|header| request(header, random.bits() as u8)).collect();
        let whole = feed(&stream, &[stream.len()], false, false);
        let scales = [3, 100, 9000];
        let scale = scales[random.below(3) as usize];
        let cuts = cuts(stream.len(), || 1 + random.below(scale) as usize);
        prop_assert_eq!(&whole, &feed(&stream, &cuts, false, false));
        prop_assert_eq!(&whole, &feed(&stream, &cuts, true, false));
        prop_assert_eq!(&whole, &feed(&stream, &cuts, random.below(2) == 0, true));
        prop_assert_eq!(whole.0.len(), headers.len());
        for ((header, command, bytes), sent) in whole.0.iter().zip(&headers) {
            prop_assert_eq!(header, sent);
            let brings = *command == Ok(Command::Write);
            prop_assert_eq!(bytes.len(), if brings { sent.length as usize } else { 0 });
        }
    }

    #[test]
    fn garbage_does_no_harm(garbage in prop::collection::vec(any::<u8>(), 1..3000), writes in any::<bool>()) {
        let front = Header { command: NBD_CMD_WRITE, length: 512, ..Header::default() }.encode();
        let stream = if writes { [&front[..], &garbage].concat() } else { garbage };
        let whole = feed(&stream, &[stream.len()], false, false);
        prop_assert_eq!(&whole, &feed(&stream, &vec![1; stream.len()], false, false));
        prop_assert_eq!(&whole, &feed(&stream, &[stream.len()], true, false));
    }
}

#[test]
fn requests_are_refused_by_the_right_name() {
    let (read, write, flush, trim, cache, zero, status) = (0, 1, 3, 4, 5, 6, 7);
    let end = RULES.bytes;
    let strict = Rules { is_read_only: true, ..RULES };
    let simple = Rules { has_structured_replies: false, has_allocation: false, ..RULES };
    let slow = Rules { zeroes_fast: false, ..RULES };
    let huge = Rules { bytes: 1 << 40, ..RULES };
    // rules, flags, command, offset, length, verdict
    let cases = [
        (RULES, 0, read, 0, 1, Ok(Command::Read)),
        (RULES, 1, read, end - 1, 1, Ok(Command::Read)),
        (RULES, 4, read, 0, 4096, Ok(Command::Read)),
        (simple, 4, read, 0, 4096, Err(Error::Invalid)),
        (RULES, 2, read, 0, 4096, Err(Error::Invalid)),
        (RULES, 0, read, end, 1, Err(Error::Invalid)),
        (RULES, 0, read, u64::MAX, 2, Err(Error::Invalid)),
        (RULES, 0, read, 0, 0, Err(Error::Invalid)),
        (huge, 0, read, 0, 32 << 20, Ok(Command::Read)),
        (huge, 0, read, 0, (32 << 20) + 1, Err(Error::Invalid)),
        (huge, 4, read, 0, (32 << 20) + 1, Err(Error::Overflow)),
        (huge, 0, zero, 0, u32::MAX, Ok(Command::Zero)),
        (RULES, 1, write, 4095, 2, Ok(Command::Write)),
        (RULES, 0, write, end - 1, 2, Err(Error::NoSpace)),
        (strict, 0, write, 0, 512, Err(Error::NotPermitted)),
        (strict, 0, trim, 0, 512, Err(Error::NotPermitted)),
        (strict, 0, zero, 0, 512, Err(Error::NotPermitted)),
        (strict, 0, read, 0, 512, Ok(Command::Read)),
        (RULES, 0, trim, end, 512, Err(Error::Invalid)),
        (RULES, 0, flush, 0, 0, Ok(Command::Flush)),
        (RULES, 0, flush, 1, 0, Err(Error::Invalid)),
        (RULES, 0, cache, 0, 512, Ok(Command::Cache)),
        (RULES, 2 | 16, zero, 0, 512, Err(Error::NotSupported)),
        (RULES, 16, zero, 0, 512, Ok(Command::Zero)),
        (slow, 16, zero, 0, 512, Err(Error::NotSupported)),
        (slow, 0, zero, 0, 512, Ok(Command::Zero)),
        (RULES, 0, zero, end, 512, Err(Error::NoSpace)),
        (RULES, 8, status, 0, 512, Ok(Command::Status)),
        (simple, 0, status, 0, 512, Err(Error::Invalid)),
        (RULES, 0, 8, 0, 512, Err(Error::Invalid)),
        (RULES, 32, read, 0, 512, Err(Error::Invalid)),
    ];
    for (rules, flags, command, offset, length, want) in cases {
        let header = Header { flags, command, cookie: 1, offset, length };
        let verdict = rules.check(&header).map_err(|refusal| refusal.error);
        assert_eq!(verdict, want, "{header:?}");
    }
}

#[test]
fn blocks_are_made_as_their_bytes_come() {
    let rules = Rules { bytes: 1 << 40, ..RULES };
    let (mut receiver, mut pool) = (Receiver::new(rules), Pool::default());
    let header = Header { command: NBD_CMD_WRITE, length: 32 << 20, ..Header::default() }.encode();
    assert!(receiver.next(&mut &header[..], &mut pool, |_, _| true).expect("a good magic").is_none());
    assert_eq!(receiver.outstanding(), 32 << 20);
    let mut places = Vec::new();
    receiver.vacant(4, &mut pool, |place| places.push(place.len()));
    assert_eq!(places, [4096; 4]);
}
