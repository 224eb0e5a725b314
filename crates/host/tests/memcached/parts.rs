//! Parts of commands: numbers, base64 keys, times, passwords, datagrams.

use super::NOW;
use proptest::prelude::*;
use tailcut_host::wire::memcached::base64::{self, Decoded};
use tailcut_host::wire::memcached::login::AUTHENTICATION_FAILURE;
use tailcut_host::wire::memcached::udp::{self, CONTENT_BYTES, DATAGRAM_BYTES, FRAME_BYTES, Frame};
use tailcut_host::wire::memcached::{Attempt, Expiry, Login, Users, flush_moment, number};

#[test]
fn numbers_are_read_as_c_reads_them() {
    let top = u64::MAX.to_string();
    let unsigned = [
        ("0", Some(0)),
        ("+12", Some(12)),
        ("\t12\r", Some(12)),
        ("12\u{b}x", Some(12)),
        (&top, Some(u64::MAX)),
        ("18446744073709551616", None),
        ("-1", None),
        ("-18446744073709551615", Some(1)),
        ("12x", None),
        ("", None),
        ("-", None),
        ("\t", None),
        ("9223372036854775808", Some(1 << 63)),
        ("9223372036854775808\t-", None),
    ];
    for (word, number) in unsigned {
        assert_eq!(number::unsigned(word.as_bytes()), number, "{word:?}");
    }
    let signed = [
        ("-9223372036854775808", Some(i64::MIN)),
        ("-9223372036854775809", None),
        ("9223372036854775807", Some(i64::MAX)),
        ("9223372036854775808", None),
        ("-0", Some(0)),
    ];
    for (word, number) in signed {
        assert_eq!(number::signed(word.as_bytes()), number, "{word:?}");
    }
    assert_eq!(number::narrow(b"4294967297"), Some(1));
    assert_eq!(number::of_value(b"12  "), Some(12));
    assert_eq!(number::of_value(b"12\0x"), Some(12));
    assert_eq!(number::of_value(b""), None);
}

#[test]
fn numbers_of_words_are_digits_of_a_limited_range() {
    let signed = [
        ("7", Some(7)),
        ("-7", Some(-7)),
        ("-", Some(0)),
        ("+7", None),
        ("\t7", None),
        ("7x", None),
        ("2147483647", Some(i32::MAX)),
        ("2147483648", None),
        ("-2147483648", Some(i32::MIN)),
        ("-2147483649", None),
        ("00000000007", Some(7)),
        ("000000000007", None),
    ];
    for (word, number) in signed {
        assert_eq!(number::word_i32(word.as_bytes()), number, "{word:?}");
    }
    assert_eq!((number::word_u32(b"4294967295"), number::word_u32(b"4294967296")), (Some(u32::MAX), None));
    assert_eq!((number::word_u32(b"-1"), number::word_u32(b"000000000001")), (None, None));
    assert_eq!(number::word_u64(b"18446744073709551615"), Some(u64::MAX));
    assert_eq!(number::word_u64(b"18446744073709551616"), None);
    assert_eq!(number::word_u64(b"00000000000000000000001"), None);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn numbers_are_written_as_they_are_read(number in any::<u64>(), signed in any::<i64>()) {
        let mut out = Vec::new();
        number::append(&mut out, number);
        prop_assert_eq!(number::unsigned(&out), Some(number));
        prop_assert_eq!(number::signed(signed.to_string().as_bytes()), Some(signed));
    }

    #[test]
    fn base64_goes_there_and_back(key in prop::collection::vec(any::<u8>(), 1..187)) {
        let (mut out, mut decoded) = (Vec::new(), Decoded::default());
        base64::append(&mut out, &key);
        prop_assert!(out.len() <= 250 && decoded.set(&out));
        prop_assert_eq!(decoded.bytes(), &key[..]);
    }

    #[test]
    fn any_word_is_decoded_or_refused(word in prop::collection::vec(any::<u8>(), 0..=250)) {
        let mut decoded = Decoded::default();
        prop_assert_eq!(decoded.set(&word), !decoded.bytes().is_empty());
    }

    #[test]
    fn frames_go_there_and_back(request in any::<u16>(), sequence in any::<u16>(), total in any::<u16>()) {
        let frame = Frame { request, sequence, total };
        prop_assert_eq!(Frame::decode(&frame.encode()), frame);
    }

    #[test]
    fn an_answer_is_cut_without_loss(request in any::<u16>(), bytes in 0usize..200_000) {
        let mut next = 0;
        let cut = udp::cut(request, bytes).expect("that is not too much");
        let total = cut.len();
        for (at, (frame, range)) in cut.enumerate() {
            prop_assert_eq!(frame, Frame { request, sequence: at as u16, total: total as u16 });
            prop_assert!(range.start == next && !range.is_empty() && range.len() + FRAME_BYTES <= DATAGRAM_BYTES);
            next = range.end;
        }
        prop_assert_eq!(next, bytes);
    }
}

#[test]
fn base64_is_read_forgivingly() {
    let mut decoded = Decoded::default();
    for (word, key) in
        [("Zm9v", "foo"), ("Zm9vYg==", "foob"), ("Z-m9*v", "foo"), ("Zm9=", "fo"), ("Zm9vYg==AAAA", "foob")]
    {
        assert!(decoded.set(word.as_bytes()), "{word}");
        assert_eq!(decoded.bytes(), key.as_bytes(), "{word}");
    }
    for word in ["", "----", "Zm9", "Zm9vY", "Z===", "===="] {
        assert!(!decoded.set(word.as_bytes()) && decoded.bytes().is_empty(), "{word}");
    }
}

#[test]
fn times_are_stretches_or_dates() {
    let month = 2_592_000;
    assert_eq!(Expiry::new(NOW, 0), Expiry::Never);
    assert_eq!(Expiry::new(NOW, 1), Expiry::At(NOW + 1));
    assert_eq!(Expiry::new(NOW, month), Expiry::At(NOW + 2_592_000));
    assert_eq!(Expiry::new(NOW, month + 1), Expiry::At(2_592_001));
    assert_eq!(Expiry::new(NOW, -1), Expiry::Past);
    assert_eq!(Expiry::new(NOW, i64::MIN), Expiry::Past);
    assert!(
        Expiry::new(NOW, month + 1).is_expired(NOW)
            && Expiry::Past.is_expired(0)
            && !Expiry::Never.is_expired(u64::MAX)
    );
    assert!(Expiry::At(NOW).is_expired(NOW) && !Expiry::At(NOW + 1).is_expired(NOW));
    assert_eq!(
        [Expiry::Past, Expiry::At(NOW + 5), Expiry::Never].map(|expiry| expiry.left(NOW)),
        [Some(0), Some(5), None]
    );
    assert_eq!(
        [-5, 0, 10, NOW as i64 + 7].map(|delay| flush_moment(NOW, delay)),
        [NOW, NOW, NOW + 10, NOW + 7]
    );
}

#[test]
fn datagrams_of_requests_in_pieces_are_dropped() {
    let datagram = |total: u16, content: &[u8]| {
        [&Frame { request: 7, sequence: 0, total }.encode()[..], content].concat()
    };
    let (frame, content) =
        Frame::request(&datagram(1, b"mn\r\n")).map(|(frame, content)| (frame, content.to_vec())).unwrap();
    assert_eq!((frame.request, &content[..]), (7, &b"mn\r\n"[..]));
    for dropped in [
        datagram(0, b"mn\r\n"),
        datagram(2, b"mn\r\n"),
        datagram(257, b"mn\r\n"),
        datagram(1, b""),
        vec![0; 7],
    ] {
        assert_eq!(Frame::request(&dropped), None);
    }
    assert!(
        udp::cut(0, CONTENT_BYTES * 65_535).is_some() && udp::cut(0, CONTENT_BYTES * 65_535 + 1).is_none()
    );
}

/// The outcome of a login whose stream arrives in pieces, and the number of bytes left.
fn attempt(stream: &[u8], cut: usize) -> (Vec<Attempt>, usize) {
    let users = Users::parse(b"root:secret\r\nguest:a:b c\n").expect("they are users");
    let (mut login, mut buffer, mut attempts) = (Login::default(), Vec::new(), Vec::new());
    for piece in stream.chunks(cut) {
        buffer.extend_from_slice(piece);
        let mut input = &buffer[..];
        loop {
            match login.next(&users, &mut input) {
                Attempt::More => break,
                Attempt::Refused(line) => attempts.push(Attempt::Refused(line)),
                attempt => {
                    attempts.push(attempt);
                    return (attempts, input.len());
                }
            }
        }
        buffer = input.to_vec();
    }
    (attempts, buffer.len())
}

#[test]
fn nobody_comes_in_without_a_password() {
    let long = vec![b'a'; 3000];
    let cases: [(&[u8], &[Attempt]); 11] = [
        (b"set x 0 0 11\r\nroot secret\r\n", &[Attempt::Welcome]),
        (b"set x 0 0 11 noreply\nguest a:b c\r\n", &[Attempt::Welcome]),
        (b"set x 0 0 12\r\n root secret\r\n", &[Attempt::Refused(AUTHENTICATION_FAILURE)]),
        (b"mn\r\n", &[Attempt::Close]),
        (b"get x\r\n", &[Attempt::Refused(b"CLIENT_ERROR unauthenticated\r\n")]),
        (b"set x 0 0 x\r\n", &[Attempt::Refused(b"CLIENT_ERROR unauthenticated\r\n")]),
        (b"set x 0 0 11\r\nroot secreT\r\n", &[Attempt::Refused(b"CLIENT_ERROR authentication failure\r\n")]),
        (
            b"set x 0 0 4\r\nroot\r\n",
            &[Attempt::Refused(b"CLIENT_ERROR bad authentication token format\r\n")],
        ),
        (
            b"set x 0 0 11\r\nroot secret!!",
            &[Attempt::Refused(b"CLIENT_ERROR bad command line termination\r\n")],
        ),
        (b"set x 0 0 16385\r\n", &[Attempt::Refused(b"CLIENT_ERROR auth token too long\r\n")]),
        (&long, &[Attempt::Close]),
    ];
    for (stream, attempts) in cases {
        for cut in [1, 7, 2000] {
            assert_eq!(attempt(stream, cut).0, attempts, "{}", stream.escape_ascii());
        }
    }
    let again = b"set x 0 0 1\r\nx\r\nset x 0 0 11\r\nroot secret\r\nmn\r\n";
    assert_eq!(attempt(again, 1000).1, 4);
}

#[test]
fn a_file_of_users_is_refused_by_its_line() {
    let wrong = |file: &[u8]| Users::parse(file).map(|_| ()).map_err(|wrong| wrong.line);
    assert_eq!(wrong(b"a:b\n\nc:d\n"), Err(2));
    assert_eq!(wrong(b"a:b\nc\n"), Err(2));
    assert_eq!(wrong(b"a b:c\n"), Err(1));
    assert_eq!(wrong(b"a:b c\n"), Ok(()));
    assert_eq!(wrong(b"a:\n"), Err(1));
    assert_eq!(wrong(b"a:b"), Ok(()));
    assert_eq!(format!("{:?}", Users::parse(b"a:b").unwrap()), "1 users");
}
