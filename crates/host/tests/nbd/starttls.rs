//! `NBD_OPT_STARTTLS` in the three modes of the standard ("TLS support", server-side requirements).

use crate::nbd::{cuts, offer};
use proptest::prelude::*;
use tailcut_base::random::Stream;
use tailcut_host::wire::nbd::standard::*;
use tailcut_host::wire::nbd::{Handshake, Offer, Step, Terms, Tls};

fn offering(tls: Tls) -> Offer {
    Offer { tls, ..offer() }
}

fn option(number: u32, data: &[u8]) -> Vec<u8> {
    [&IHAVEOPT.to_be_bytes()[..], &number.to_be_bytes(), &(data.len() as u32).to_be_bytes(), data].concat()
}

fn string(text: &[u8]) -> Vec<u8> {
    [&(text.len() as u32).to_be_bytes(), text].concat()
}

fn go(export: &[u8]) -> Vec<u8> {
    option(NBD_OPT_GO, &[string(export), vec![0; 2]].concat())
}

fn starttls() -> Vec<u8> {
    option(NBD_OPT_STARTTLS, &[])
}

/// A client and the server's reactions: each step except [`Step::More`], with the number of input bytes left
/// at that point, and the replies as (option, kind).
struct Talk {
    handshake: Handshake,
    offer: Offer,
    steps: Vec<(Step, usize)>,
    sent: Vec<u8>,
}

impl Talk {
    /// A handshake after the greeting and the client's flags.
    fn new(tls: Tls, flags: u32) -> Talk {
        let handshake = Handshake::begin(&mut Vec::new());
        let mut talk = Talk { handshake, offer: offering(tls), steps: Vec::new(), sent: Vec::new() };
        talk.say(&flags.to_be_bytes());
        talk
    }

    /// Sends bytes; those left when TLS begins are sent again afterwards.
    fn say(&mut self, mut input: &[u8]) {
        while !input.is_empty() {
            let step = self.handshake.receive(&mut input, &self.offer, &mut self.sent);
            match step {
                Step::More => {}
                Step::Encrypt => self.steps.push((step, input.len())),
                Step::Go(_) | Step::Close => return self.steps.push((step, input.len())),
            }
        }
    }

    fn answers(&self) -> Vec<(u32, u32)> {
        let (mut rest, mut answers) = (&self.sent[..], Vec::new());
        while !rest.is_empty() {
            let word = |at: usize| u32::from_be_bytes(rest[at..at + 4].try_into().expect("four bytes"));
            answers.push((word(8), word(12)));
            rest = &rest[20 + word(16) as usize..];
        }
        answers
    }

    fn ended(&self) -> Option<Step> {
        self.steps.last().map(|&(step, _)| step)
    }
}

/// Replies to a client that sends all of this, and the final step.
fn told(tls: Tls, words: &[Vec<u8>]) -> (Vec<(u32, u32)>, Option<Step>) {
    let mut talk = Talk::new(tls, 3);
    talk.say(&words.concat());
    (talk.answers(), talk.ended())
}

const PLAIN: Terms = Terms { export: 0, has_structured_replies: false, has_allocation: false };

#[test]
fn without_tls_it_is_unknown_and_nothing_is_required() {
    let (answers, end) = told(Tls::Absent, &[starttls(), go(b"disk")]);
    assert_eq!(answers[0], (NBD_OPT_STARTTLS, NBD_REP_ERR_UNSUP));
    assert_eq!(end, Some(Step::Go(PLAIN)));
}

#[test]
fn where_it_is_required_nothing_else_is_answered_before() {
    let query = [string(b"disk"), vec![0; 4]].concat();
    let asked = [
        option(NBD_OPT_LIST, &[]),
        option(NBD_OPT_INFO, &[string(b"disk"), vec![0; 2]].concat()),
        option(NBD_OPT_GO, &[string(b"nowhere"), vec![0; 2]].concat()),
        option(NBD_OPT_STRUCTURED_REPLY, &[]),
        option(NBD_OPT_LIST_META_CONTEXT, &query),
        option(NBD_OPT_SET_META_CONTEXT, &query),
        // Malformed, unknown or too long: the reply is the same and does not reveal the difference.
        option(NBD_OPT_INFO, b"?"),
        option(NBD_OPT_LIST, &[0; 20_000]),
        option(4, &[]),
        option(12_345, &[1; 999]),
    ];
    let (answers, end) = told(Tls::Required, &asked);
    let numbers = [3, 6, 7, 8, 9, 10, 6, 3, 4, 12_345];
    assert_eq!(answers, numbers.map(|number| (number, NBD_REP_ERR_TLS_REQD)));
    assert_eq!(end, None, "the client may still begin with it");
}

#[test]
fn where_it_is_required_a_name_alone_ends_the_connection() {
    for flags in [0, 2, 3] {
        let mut talk = Talk::new(Tls::Required, flags);
        talk.say(&option(NBD_OPT_EXPORT_NAME, b"disk"));
        assert_eq!((talk.ended(), talk.answers()), (Some(Step::Close), Vec::new()));
    }
}

#[test]
fn who_goes_away_is_let_go_without_it() {
    let (answers, end) = told(Tls::Required, &[option(NBD_OPT_ABORT, &[])]);
    assert_eq!((answers, end), (vec![(NBD_OPT_ABORT, NBD_REP_ACK)], Some(Step::Close)));
}

#[test]
fn under_tls_everything_is_as_without() {
    for tls in [Tls::Allowed, Tls::Required] {
        let mut talk = Talk::new(tls, 3);
        talk.say(&starttls());
        assert_eq!(talk.steps, [(Step::Encrypt, 0)]);
        talk.say(&[option(NBD_OPT_LIST, &[]), option(12_345, &[]), go(b"nowhere"), go(b"disk")].concat());
        let kinds: Vec<u32> = talk.answers().iter().map(|&(_, kind)| kind).collect();
        let after = [NBD_REP_SERVER, NBD_REP_SERVER, NBD_REP_ACK, NBD_REP_ERR_UNSUP, NBD_REP_ERR_UNKNOWN];
        let go = [NBD_REP_INFO, NBD_REP_INFO, NBD_REP_ACK];
        assert_eq!(kinds, [&[NBD_REP_ACK], &after[..], &go[..]].concat());
        assert_eq!(talk.ended(), Some(Step::Go(PLAIN)));
    }
    let mut talk = Talk::new(Tls::Required, 3);
    talk.say(&starttls());
    talk.sent.clear();
    talk.say(&option(NBD_OPT_EXPORT_NAME, b"disk"));
    assert_eq!((talk.ended(), talk.sent.len()), (Some(Step::Go(PLAIN)), 10));
}

#[test]
fn it_begins_once() {
    for tls in [Tls::Allowed, Tls::Required] {
        let (answers, end) = told(tls, &[starttls(), starttls(), option(NBD_OPT_ABORT, &[])]);
        let again = (NBD_OPT_STARTTLS, NBD_REP_ERR_INVALID);
        assert_eq!(answers, [(NBD_OPT_STARTTLS, NBD_REP_ACK), again, (NBD_OPT_ABORT, NBD_REP_ACK)]);
        assert_eq!(end, Some(Step::Close));
    }
}

#[test]
fn it_has_no_data() {
    let (answers, end) = told(Tls::Required, &[option(NBD_OPT_STARTTLS, b"now")]);
    assert_eq!((answers, end), (vec![(NBD_OPT_STARTTLS, NBD_REP_ERR_INVALID)], None));
}

#[test]
fn where_it_is_allowed_it_can_be_done_without() {
    let (answers, end) = told(Tls::Allowed, &[option(NBD_OPT_STRUCTURED_REPLY, &[]), go(b"disk")]);
    assert_eq!(answers[0], (NBD_OPT_STRUCTURED_REPLY, NBD_REP_ACK));
    assert_eq!(end, Some(Step::Go(Terms { has_structured_replies: true, ..PLAIN })));
}

/// An attacker could have sent it in the clear.
#[test]
fn what_was_agreed_on_before_does_not_hold() {
    let query = [string(b"disk"), 1u32.to_be_bytes().to_vec(), string(BASE_ALLOCATION.as_bytes())].concat();
    let before = [option(NBD_OPT_STRUCTURED_REPLY, &[]), option(NBD_OPT_SET_META_CONTEXT, &query)].concat();
    let (_, end) = told(Tls::Allowed, &[before.clone(), go(b"disk")]);
    assert_eq!(end, Some(Step::Go(Terms { export: 0, has_structured_replies: true, has_allocation: true })));
    let (_, end) = told(Tls::Allowed, &[before, starttls(), go(b"disk")]);
    assert_eq!(end, Some(Step::Go(PLAIN)));
}

/// The caller sees bytes injected behind the request; they have not been parsed.
#[test]
fn what_stands_behind_it_in_the_clear_is_left() {
    let mut talk = Talk::new(Tls::Required, 3);
    let mut input = &[starttls(), go(b"disk")].concat()[..];
    let step = talk.handshake.receive(&mut input, &talk.offer, &mut talk.sent);
    assert_eq!((step, input), (Step::Encrypt, &go(b"disk")[..]));
    assert_eq!(talk.answers(), [(NBD_OPT_STARTTLS, NBD_REP_ACK)]);
}

/// Such a client cannot parse option replies, so it cannot use TLS.
#[test]
fn who_does_not_speak_fixed_newstyle_does_without() {
    let mut talk = Talk::new(Tls::Allowed, 2);
    talk.say(&[starttls(), option(NBD_OPT_EXPORT_NAME, b"disk")].concat());
    assert_eq!(talk.ended(), Some(Step::Go(PLAIN)));
    assert_eq!(Talk::new(Tls::Required, 2).ended(), Some(Step::Close));
}

#[test]
fn options_before_and_after_are_counted_together() {
    let many = vec![option(12_345, &[]); 200].concat();
    let (_, end) = told(Tls::Required, &[many.clone(), starttls(), many]);
    assert_eq!(end, Some(Step::Close));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// If TLS is required, the server sends nothing in the clear except its consent to TLS, refusals, and the
    /// reply to an abort.
    #[test]
    fn nothing_gets_around_it(
        options in prop::collection::vec((0u32..13, prop_oneof![Just(vec![]), Just([string(b"disk"), vec![0; 2]].concat())]), 0..8),
        flags in 0u32..4,
        seed in any::<u64>(),
    ) {
        let words: Vec<u8> = options.iter().flat_map(|(number, data)| option(*number, data)).collect();
        let mut random = Stream::new(seed, "cuts");
        let (mut whole, mut cut) = (Talk::new(Tls::Required, flags), Talk::new(Tls::Required, flags));
        whole.say(&words);
        let mut from = 0;
        for length in cuts(words.len(), || 1 + random.below(20) as usize) {
            if !matches!(cut.ended(), Some(Step::Close | Step::Go(_))) {
                cut.say(&words[from..from + length]);
            }
            from += length;
        }
        prop_assert_eq!(&whole.sent, &cut.sent);
        prop_assert_eq!(whole.ended(), cut.ended());
        let is_encrypted = whole.steps.iter().any(|&(step, _)| step == Step::Encrypt);
        let is_served = matches!(whole.ended(), Some(Step::Go(_)));
        prop_assert!(is_encrypted || !is_served);
        if !is_encrypted {
            let harmless = [NBD_REP_ERR_TLS_REQD, NBD_REP_ERR_INVALID];
            prop_assert!(whole.answers().iter().all(|(option, kind)| *option == NBD_OPT_ABORT || harmless.contains(kind)));
        }
    }
}
