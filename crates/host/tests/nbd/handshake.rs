use crate::nbd::{cuts, offer};
use proptest::prelude::*;
use tailcut_base::random::Stream;
use tailcut_host::wire::nbd::standard::*;
use tailcut_host::wire::nbd::{Handshake, Step, Terms};

/// Feeds a stream in pieces. Returns the final step, the bytes sent, and the number of bytes left unread.
fn feed(stream: &[u8], cuts: &[usize]) -> (Step, Vec<u8>, usize) {
    let (mut sent, mut out) = (Vec::new(), Vec::new());
    let mut handshake = Handshake::begin(&mut out);
    let (mut from, mut left) = (0, 0);
    for &cut in cuts {
        let mut input = &stream[from..from + cut];
        from += cut;
        loop {
            let step = handshake.receive(&mut input, &offer(), &mut out);
            assert!(out.len() < 64 << 10, "what is to be sent is bounded");
            assert!(handshake.held() <= 64 << 10, "what is kept is bounded");
            sent.append(&mut out);
            left = input.len() + stream.len() - from;
            if step != Step::More {
                return (step, sent, left);
            }
            if input.is_empty() {
                break;
            }
        }
    }
    (Step::More, sent, left)
}

fn option(number: u32, data: &[u8]) -> Vec<u8> {
    [&IHAVEOPT.to_be_bytes()[..], &number.to_be_bytes(), &(data.len() as u32).to_be_bytes(), data].concat()
}

fn string(text: &[u8]) -> Vec<u8> {
    [&(text.len() as u32).to_be_bytes(), text].concat()
}

fn session(options: &[Vec<u8>]) -> Vec<u8> {
    [&3u32.to_be_bytes()[..], &options.concat()].concat()
}

/// Replies after the greeting, as (option, kind, data).
fn answers(sent: &[u8]) -> Vec<(u32, u32, Vec<u8>)> {
    let (mut rest, mut answers) = (&sent[18..], Vec::new());
    while rest.len() >= 20 {
        let word = |at: usize| u32::from_be_bytes(rest[at..at + 4].try_into().expect("four bytes"));
        assert_eq!(rest[..8], 0x0003_e889_0455_65a9u64.to_be_bytes());
        let length = word(16) as usize;
        answers.push((word(8), word(12), rest[20..20 + length].to_vec()));
        rest = &rest[20 + length..];
    }
    assert!(rest.is_empty());
    answers
}

fn answers_to(options: &[Vec<u8>]) -> Vec<(u32, u32, Vec<u8>)> {
    let stream = session(options);
    answers(&feed(&stream, &[stream.len()]).1)
}

#[test]
fn go_ends_with_the_terms_that_were_agreed() {
    let query = [string(b"disk"), 1u32.to_be_bytes().to_vec(), string(b"base:allocation")].concat();
    let go = [string(b""), 0u16.to_be_bytes().to_vec()].concat();
    let stream = session(&[option(8, &[]), option(10, &query), option(7, &go), b"transmission".to_vec()]);
    let (step, sent, left) = feed(&stream, &[stream.len()]);
    assert_eq!(step, Step::Go(Terms { export: 0, has_structured_replies: true, has_allocation: true }));
    assert_eq!(left, "transmission".len(), "what follows is left");
    let answers = answers(&sent);
    let kinds: Vec<(u32, u32)> = answers.iter().map(|&(option, kind, _)| (option, kind)).collect();
    assert_eq!(kinds, [(8, 1), (10, 4), (10, 1), (7, 3), (7, 3), (7, 1)]);
    let flags = 1u16 | 4 | 8 | 32 | 64 | 128 | 256 | 1024 | 2048;
    assert_eq!(answers[3].2, [&[0, 0], &(1u64 << 20).to_be_bytes()[..], &flags.to_be_bytes()].concat());
    let sizes = [1u32, 4096, 32 << 20].map(u32::to_be_bytes).concat();
    assert_eq!(answers[4].2, [&[0u8, 3][..], &sizes].concat());
}

#[test]
fn contexts_hold_for_the_export_for_which_they_were_set() {
    let query = [string(b"disk"), 1u32.to_be_bytes().to_vec(), string(b"base:allocation")].concat();
    let go = [string(b"disk/fast"), 0u16.to_be_bytes().to_vec()].concat();
    let stream = session(&[option(8, &[]), option(10, &query), option(7, &go)]);
    let Step::Go(terms) = feed(&stream, &[stream.len()]).0 else { panic!("the export is there") };
    assert_eq!((terms.export, terms.has_allocation), (1, false));
}

#[test]
fn a_name_alone_is_enough() {
    let stream = [&0u32.to_be_bytes()[..], &option(1, b"disk/fast")].concat();
    let (step, sent, _) = feed(&stream, &[stream.len()]);
    assert_eq!(step, Step::Go(Terms { export: 1, has_structured_replies: false, has_allocation: false }));
    let flags = 1u16 | 2 | 4 | 8 | 256 | 1024;
    let want = [&(1u64 << 20).to_be_bytes()[..], &flags.to_be_bytes(), &[0; 124]].concat();
    assert_eq!(sent[18..], want);
}

#[test]
fn what_cannot_be_is_refused_by_the_right_name() {
    let unknown = [string(b"nowhere"), 0u16.to_be_bytes().to_vec()].concat();
    let cases = [
        (option(6, &unknown), 6, NBD_REP_ERR_UNKNOWN),
        (option(7, &unknown), 7, NBD_REP_ERR_UNKNOWN),
        (option(6, b"\0\0"), 6, NBD_REP_ERR_INVALID),
        (option(3, b"x"), 3, NBD_REP_ERR_INVALID),
        (option(8, b"x"), 8, NBD_REP_ERR_INVALID),
        // Metadata contexts require structured replies.
        (option(9, &[string(b"disk"), vec![0; 4]].concat()), 9, NBD_REP_ERR_INVALID),
        (option(5, &[]), 5, NBD_REP_ERR_UNSUP),
        (option(4, &[]), 4, NBD_REP_ERR_UNSUP),
        (option(11, &[]), 11, NBD_REP_ERR_UNSUP),
        (option(12_345, &[1; 999]), 12_345, NBD_REP_ERR_UNSUP),
        (option(6, &[string(&[b'x'; 4097]), vec![0; 2]].concat()), 6, NBD_REP_ERR_TOO_BIG),
        (option(3, &[0; 20_000]), 3, NBD_REP_ERR_TOO_BIG),
    ];
    for (asked, number, error) in cases {
        let answers = answers_to(&[asked, option(2, &[])]);
        assert_eq!((answers[0].0, answers[0].1), (number, error));
        assert_eq!((answers[1].0, answers[1].1), (2, NBD_REP_ACK), "the handshake goes on");
    }
}

#[test]
fn exports_are_listed_with_their_descriptions() {
    let answers = answers_to(&[option(3, &[])]);
    let entry = |name: &[u8], text: &[u8]| [string(name), text.to_vec()].concat();
    assert_eq!(answers[0], (3, NBD_REP_SERVER, entry(b"disk", b"this is disk")));
    assert_eq!(answers[1], (3, NBD_REP_SERVER, entry(b"disk/fast", b"this is disk/fast")));
    assert_eq!(answers[2], (3, NBD_REP_ACK, Vec::new()));
}

#[test]
fn strangers_are_hung_up_on() {
    let strangers: [&[u8]; 3] = [b"GET / HTTP/1.1\r\n\r\n", &[0, 0, 0, 4], &[0; 40]];
    for stream in strangers {
        assert_eq!(feed(stream, &[stream.len()]).0, Step::Close);
    }
    let many = session(&vec![option(12_345, &[]); 300]);
    assert_eq!(feed(&many, &[many.len()]).0, Step::Close, "a handshake is not endless");
}

fn any_option() -> impl Strategy<Value = Vec<u8>> {
    let data = prop_oneof![
        Just(Vec::new()),
        Just([string(b"disk"), vec![0, 1, 0, 3]].concat()),
        Just([string(b"disk"), vec![0, 0, 0, 1], string(b"base:")].concat()),
        Just([string(b"disk"), vec![0, 0, 0, 1], string(b"base:allocation")].concat()),
        prop::collection::vec(any::<u8>(), 0..64),
        Just(vec![7; 17_000]),
    ];
    (prop_oneof![2u32..13, any::<u32>()], data).prop_map(|(number, data)| option(number, &data))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn cuts_make_no_difference(options in prop::collection::vec(any_option(), 0..6), seed in any::<u64>()) {
        let stream = session(&options);
        let mut random = Stream::new(seed, "cuts");
        let cuts = cuts(stream.len(), || 1 + random.below(40) as usize);
        prop_assert_eq!(feed(&stream, &[stream.len()]), feed(&stream, &cuts));
    }

    #[test]
    fn garbage_does_no_harm(garbage in prop::collection::vec(any::<u8>(), 1..4000), starts_well in any::<bool>()) {
        let front: &[u8] = if starts_well { &[0, 0, 0, 3, b'I', b'H', b'A', b'V', b'E', b'O', b'P', b'T', 0, 0, 0] } else { &[] };
        let stream = [front, &garbage].concat();
        let ones = vec![1; stream.len()];
        prop_assert_eq!(feed(&stream, &[stream.len()]), feed(&stream, &ones));
    }
}
