use tailcut_host::wire::nbd::standard::Error;
use tailcut_host::wire::nbd::{Header, Refusal, Reply};
use tailcut_host::{Block, Bytes};

const HEADER: Header =
    Header { flags: 0, command: 0, cookie: 0x0102_0304_0506_0708, offset: 4090, length: 10 };

/// The bytes of a reply; its remainder is read again from every offset.
fn bytes(reply: &Reply) -> Vec<u8> {
    let from = |sent: usize| {
        let mut bytes = Vec::new();
        assert!(reply.slices(sent, |slice| {
            bytes.extend_from_slice(&slice);
            true
        }));
        bytes
    };
    let whole = from(0);
    assert_eq!(whole.len(), reply.bytes());
    for sent in 0..=whole.len() {
        assert_eq!(from(sent), whole[sent..]);
    }
    whole
}

fn data() -> Vec<Bytes> {
    let mut first = Bytes::default();
    first.as_mut_slice()[4090..].copy_from_slice(b"abcdef");
    vec![first, Bytes::encode(b"ghijkl")]
}

#[test]
fn simple_replies() {
    let cookie = HEADER.cookie.to_be_bytes();
    let want = [&[0x67, 0x44, 0x66, 0x98, 0, 0, 0, 0][..], &cookie].concat();
    assert_eq!(bytes(&Reply::done(&HEADER)), want);
    assert_eq!(bytes(&Reply::content(&HEADER, data(), false)), [&want[..], b"abcdefghij"].concat());
    let refusal = Refusal { error: Error::NoSpace, text: "full" };
    let want = [&[0x67, 0x44, 0x66, 0x98, 0, 0, 0, 28][..], &cookie].concat();
    assert_eq!(bytes(&Reply::error(&HEADER, refusal, false)), want);
}

#[test]
fn structured_replies() {
    let cookie = HEADER.cookie.to_be_bytes();
    let front = |kind: [u8; 2], length: u8| {
        [&[0x66, 0x8e, 0x33, 0xef, 0, 1][..], &kind, &cookie, &[0, 0, 0, length]].concat()
    };
    let offset = 4090u64.to_be_bytes();
    let want = [&front([0, 1], 18)[..], &offset, b"abcdefghij"].concat();
    assert_eq!(bytes(&Reply::content(&HEADER, data(), true)), want);
    let want = [&front([0, 2], 12)[..], &offset, &[0, 0, 0, 10]].concat();
    assert_eq!(bytes(&Reply::content(&HEADER, vec![Bytes::default(); 2], true)), want);
    let refusal = Refusal { error: Error::Invalid, text: "no" };
    let want = [&front([0x80, 1], 8)[..], &[0, 0, 0, 22, 0, 2], b"no"].concat();
    assert_eq!(bytes(&Reply::error(&HEADER, refusal, true)), want);
    let want = [&front([0, 5], 20)[..], &[0, 0, 0, 1], &[0, 0, 0, 4, 0, 0, 0, 3], &[0, 0, 0, 6, 0, 0, 0, 0]]
        .concat();
    assert_eq!(bytes(&Reply::status(&HEADER, &[(4, 3), (6, 0)])), want);
}
