//! Factory bad blocks, and a drive that has too many of them.

use tailcut_base::{BadValue, Nanos};
use tailcut_sim::Scenario;
use tailcut_sim::scenario::InputError;
use tailcut_ssd::Preset;
use tailcut_ssd::precondition::PreparedState;

fn scenario(factory_bad: f64, state: PreparedState) -> Scenario {
    let mut scenario = Scenario { device: Preset::G.config(), ..Scenario::default() };
    scenario.device.faults.factory_bad = factory_bad;
    scenario.precondition.state = state;
    scenario.precondition.fill = 1_000_000;
    scenario.run.ramp = Nanos(0);
    scenario.run.requests = 5_000;
    scenario
}

#[test]
fn a_drive_works_around_its_bad_blocks() {
    for state in [PreparedState::Empty, PreparedState::Sequential, PreparedState::Steady] {
        let mut world = scenario(0.1, state).world((), false).expect("there is room");
        world.run(&mut |_| std::ops::ControlFlow::Continue(()), &mut |_, _| {}).expect("it runs to its end");
        world.device.check();
        assert_eq!(world.stats.errors(), 0);
    }
}

#[test]
fn a_drive_with_too_many_bad_blocks_is_refused_with_a_remedy() {
    for state in [PreparedState::Sequential, PreparedState::Steady] {
        let mut scenario = scenario(0.2, state);
        scenario.device.ftl.spare = 80_000;
        let refused = scenario.world((), false).err();
        let Some(InputError::Drive(BadValue { message })) = refused else { panic!("it must be refused") };
        assert!(message.contains("good blocks") && message.contains("device.ftl.spare"), "{message}");
    }
}
