//! Fits to rows that the model itself has made.

use super::*;
use crate::drives::{Load, MeasuredRow, PERCENTILES, RandomWrites, RequestRate, TestRun};
use tailcut_base::Nanos;
use tailcut_sim::keys;
use tailcut_ssd::Preset;
use tailcut_ssd::config::{PacingMode, SsdConfig};

/// Two parameters that rows of any drive pin, and one that none does.
fn parameters() -> Vec<Parameter> {
    let parameter = |key, low, high| Parameter {
        key,
        unit: "ns",
        low,
        high,
        reach: 1e6,
        scale: Scale::Log,
        source: "a test",
        from: Start::Drive,
    };
    vec![
        parameter("device.timing.read", 5_000.0, 100_000.0),
        parameter("device.timing.program", 20_000.0, 1_000_000.0),
        parameter("device.timing.program_reset", 10_000.0, 1_000_000.0),
    ]
}

/// The base drive's own values.
fn start(problem: &Problem) -> Candidate {
    let own = [75e3, 750e3, 30e3];
    problem.parameters.iter().zip(own).map(|(parameter, value)| parameter.share(value)).collect()
}

fn run_all(trials: &[Trial]) -> Result<Vec<Option<Measurement>>, Stopped> {
    Ok(trials.iter().map(|trial| trial.run(&|| false).ok()).collect())
}

fn brief() -> TestRun {
    TestRun { warm_up: Nanos::millis(100), measured: Nanos::millis(300), ..TestRun::default() }
}

/// What the model measures of `device` at a rate.
fn made(device: &SsdConfig, offered: u64) -> MeasuredRow {
    let load = Load::RandomWrites(RandomWrites { offered: RequestRate(offered) });
    // Another seed than the fit's: rows of a real drive have none of the model's.
    let found = load.run(device, &TestRun { seed: 77, ..brief() }, &|| false).expect("a run");
    MeasuredRow {
        drive: "synthetic".into(),
        load,
        reads: found.reads.micros.map(Some),
        writes: found.writes.micros.map(Some),
        reads_per_s: Some(found.reads_per_s),
        writes_per_s: Some(found.writes_per_s),
        write_amplification: None,
        filled_ppm: None,
    }
}

/// A small drive whose programs and erases are suspended for reads.
fn base() -> SsdConfig {
    let mut device = Preset::G.config();
    let values = [
        ("schedule.chip", "reads-first"),
        ("schedule.classes", "equal"),
        ("preempt.program", "suspend"),
        ("preempt.erase", "suspend"),
        ("timing.program_suspend", "5us"),
        ("timing.erase_suspend", "5us"),
    ];
    keys::set(&mut device, &values.map(|(key, text)| (key, keys::KeyValue::Text(text)))).expect("keys");
    device
}

/// A drive with known read and program times, and a fit that begins far from both.
fn problem() -> Problem {
    let mut real = base();
    let values =
        [("timing.read", keys::KeyValue::Number(20e3)), ("timing.program", keys::KeyValue::Number(100e3))];
    keys::set(&mut real, &values).expect("keys");
    let rows = vec![made(&real, 10_000), made(&real, 400_000)];
    Problem { base: base(), parameters: parameters(), rows, test: brief() }
}

#[test]
fn a_fit_recovers_the_parameters_of_a_drive_that_the_model_is() {
    let problem = problem();
    problem.check().expect("a good problem");
    let start = start(&problem);
    assert_eq!(
        problem.values(&start).iter().map(|value| value.round()).collect::<Vec<_>>(),
        [75e3, 750e3, 30e3]
    );
    let mut search = Search::new(start.clone(), 0.2, 3);
    search.run(&problem, 136, &mut run_all, &mut |_| {}).expect("nobody stops it");
    let best = search.best().expect("a best one");
    let values = problem.values(&best.candidate);
    // Rows of a third of a second and another seed pin the rate within 5 %.
    assert!((values[0] / 20e3 - 1.0).abs() < 0.15, "read {values:?}, cost {}", best.cost);
    assert!((values[1] / 100e3 - 1.0).abs() < 0.15, "program {values:?}, cost {}", best.cost);

    let found = sensitivity(&problem, &best.candidate, &mut run_all).expect("nobody stops it");
    assert!(found[0].is_pinned() && found[1].is_pinned(), "{found:?}");
    assert!(!found[2].is_pinned(), "nothing is reset: {found:?}");
    let settled = search.settled(&found).expect("one is not pinned");
    assert_eq!(settled, [best.candidate[0], best.candidate[1], start[2]]);
    assert!(found[1].moved[1] > found[2].moved[1], "programs decide the saturated row: {found:?}");
}

#[test]
fn a_search_that_is_resumed_is_the_one_that_was_stopped() {
    let problem = problem();
    let start = start(&problem);
    let mut whole = Search::new(start.clone(), 0.2, 3);
    whole.run(&problem, 24, &mut run_all, &mut |_| {}).expect("nobody stops it");

    let mut stopped = Search::new(start.clone(), 0.2, 3);
    let mut left = 40;
    let mut stopping = |trials: &[Trial]| {
        left -= trials.len() as i32;
        if left < 0 { Err(Stopped) } else { run_all(trials) }
    };
    assert_eq!(stopped.run(&problem, 24, &mut stopping, &mut |_| {}), Err(Stopped));
    let text = serde_json::to_string(stopped.record()).expect("plain data");
    let record: Record = serde_json::from_str(&text).expect("what was written can be read");
    assert_eq!(record.evaluations(), 16);
    let mut resumed = Search::resume(start, 0.2, 3, &record).expect("the same problem");
    resumed.run(&problem, 24, &mut run_all, &mut |_| {}).expect("nobody stops it");
    assert_eq!((resumed.best(), resumed.record()), (whole.best(), whole.record()));
    assert!(Search::resume(vec![0.5; 40], 0.2, 3, &record).is_none(), "a record of another problem");
}

#[test]
fn each_row_is_predicted_from_the_others() {
    let problem = problem();
    let of = |rows| (Problem { rows, ..problem.clone() }, start(&problem));
    let found = cross_validation(&problem.rows, &of, 8, 1, &mut run_all).expect("nobody stops it");
    assert_eq!(found.iter().map(|left_out| left_out.row).collect::<Vec<_>>(), [0, 1]);
    let resolved = PERCENTILES.len() - 2;
    assert!(found.iter().all(|left_out| left_out.fit.figures.len() <= 2 * resolved + 2));
    assert!(found.iter().all(|left_out| left_out.fit.median_error(|_| true).is_some()));
    let none = cross_validation(&problem.rows[..1], &of, 8, 1, &mut run_all);
    assert_eq!(none, Ok(Vec::new()));
}

#[test]
fn a_problem_without_rows_or_keys_is_refused() {
    let none = Problem { base: base(), parameters: parameters(), rows: Vec::new(), test: brief() };
    assert_eq!(none.check(), Err(ProblemError::NoRows));
    let rows = problem().rows;
    let none = Problem { base: base(), parameters: Vec::new(), rows: rows.clone(), test: brief() };
    assert_eq!(none.check(), Err(ProblemError::NoParameters));
    let unknown = Parameter { key: "device.timing.raed", ..parameters()[0] };
    let wrong = Problem { base: base(), parameters: vec![unknown], rows, test: brief() };
    assert!(matches!(wrong.check(), Err(ProblemError::Key(_))));
}

#[test]
fn a_candidate_that_is_no_drive_is_the_worst_and_not_run() {
    let mut problem = problem();
    problem.parameters[0] =
        Parameter { key: "device.ftl.spare", low: 1.0, high: 10.0, unit: "ppm", ..problem.parameters[0] };
    let mut trials_run = 0;
    let mut counting = |trials: &[Trial]| {
        trials_run += trials.len();
        run_all(trials)
    };
    let fits = problem.evaluate(&[vec![0.5; 3]], &mut counting).expect("nobody stops it");
    assert_eq!(trials_run, 0);
    assert!(fits[0].iter().all(|fit| fit.figures.is_empty() && fit.cost > 5.0), "{fits:?}");
}

#[test]
fn a_row_of_few_requests_is_measured_longer_on_as_much_data_as_its_drive_held() {
    let mut problem = problem();
    problem.rows[0].reads_per_s = Some(5_000.0);
    problem.rows[0].writes_per_s = Some(25_000.0);
    problem.rows[1].reads_per_s = Some(10_000.0);
    problem.rows[1].writes_per_s = Some(990_000.0);
    problem.rows[1].filled_ppm = Some(400_000);
    let mut tests = Vec::new();
    let mut noting = |trials: &[Trial]| {
        tests.extend(trials.iter().map(|trial| (trial.test.measured, trial.test.fill_ppm)));
        Ok(trials.iter().map(|_| None).collect())
    };
    problem.evaluate(&[start(&problem)], &mut noting).expect("it runs to its end");
    // Half of the 60,000 requests a second for which the length is meant, and many times as many.
    assert_eq!(tests, [(Nanos::millis(600), 1_000_000), (Nanos::millis(180), 400_000)]);

    let pacing = &mut problem.base.pacing;
    (pacing.mode, pacing.growth, pacing.window) = (PacingMode::Even, 5000, Nanos::millis(20));
    let mut lengths = Vec::new();
    let mut noting = |trials: &[Trial]| {
        lengths.extend(trials.iter().map(|trial| (trial.test.warm_up, trial.test.measured)));
        Ok(trials.iter().map(|_| None).collect())
    };
    problem.evaluate(&[start(&problem)], &mut noting).expect("it runs to its end");
    assert_eq!(lengths[0], (Nanos::millis(300), Nanos::millis(600)));
    assert_eq!(lengths[1], (Nanos::millis(300), Nanos::millis(500)));
}

#[test]
fn a_drive_that_is_given_is_where_its_fit_begins() {
    let problem = problem();
    let first = |from| {
        let (around, start) = problem.clone().around(from, None);
        around.values(&start)[0].round()
    };
    assert_eq!(first(FirstValues::Drive), 75e3);
    assert_eq!(first(FirstValues::Rows), 75e3, "these parameters are the drive's in any case");
    let read_off =
        Parameter { from: Start::IdleRead { percentile: "50p", less_us: 10.0 }, ..parameters()[0] };
    let other = Problem { parameters: vec![read_off], ..problem.clone() };
    let (around, start) = other.around(FirstValues::Rows, None);
    assert!(around.values(&start)[0] < 60e3, "the rows are of a drive with reads of 20 µs");
}
