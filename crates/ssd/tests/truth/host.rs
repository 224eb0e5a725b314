//! A host that keeps a fixed number of commands in flight.

use tailcut_base::{Command, CommandId, Completion, Device, Op, Status, Submit, Time};
use tailcut_ssd::precondition::PreparedState;
use tailcut_ssd::{Precondition, Ssd, SsdConfig};

/// A drive in the given prepared state, with all of its pages.
pub(crate) fn prepared(config: &SsdConfig, state: PreparedState) -> Ssd {
    config.check_space().expect("a drive with room to work");
    let mut ssd = Ssd::new(config, 1, true);
    ssd.precondition(&Precondition { state, fill: 1_000_000 }, 1);
    ssd
}

/// A command for some sectors.
pub(crate) fn command(op: Op, sector: u64, sectors: u32) -> Command {
    let id = CommandId(0);
    Command {
        id,
        op,
        fua: false,
        class: Default::default(),
        fail_fast: false,
        stream: 0,
        queue: 0,
        sector,
        sectors,
        content: 77,
    }
}

/// Sends all commands, `depth` in flight at a time. Returns the completions in order.
pub(crate) fn serve(
    ssd: &mut Ssd,
    depth: usize,
    commands: impl IntoIterator<Item = Command>,
) -> Vec<Completion> {
    let mut done: Vec<Completion> = Vec::new();
    let (mut now, mut sent) = (Time::ZERO, 0);
    let mut commands = commands.into_iter().peekable();
    loop {
        while sent - done.len() < depth && commands.peek().is_some() {
            let mut next = commands.next().expect("there is one");
            next.id = CommandId(sent as u32);
            sent += 1;
            assert_eq!(ssd.submit(now, &next), Submit::Accepted);
        }
        if done.len() == sent {
            return done;
        }
        now = ssd.next_event();
        assert!(now != Time::NEVER, "{}", ssd.why_stuck());
        let before = done.len();
        ssd.advance(now, &mut done);
        assert!(done[before..].iter().all(|completion| completion.status == Status::Success));
    }
}
