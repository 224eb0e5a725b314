//! The estimated drive as a scenario file.

use super::ProbeOutcome;
use super::form::how;
use crate::scenario::keys;
use crate::scenario::spelling::quoted;
use crate::terminal::wrapped;
use tailcut_base::config::Choice;
use tailcut_base::quantity::show_bytes;
use tailcut_rt::probe::{Comparison, Estimate, Origin};
use tailcut_study::TOLERANCE;

/// A file that `tailcut run` takes: every key that was estimated, with how; everything else is the preset's.
pub(super) fn scenario(found: &ProbeOutcome, estimate: &Estimate) -> String {
    let mut text = head(found, estimate);
    text += "\n[device]\n";
    text += &format!("preset = {}\n", quoted(estimate.preset.name()));
    let values = keys::list(&mut estimate.config.clone());
    let mut section = "";
    for key in values.iter().filter(|key| !key.is_section()) {
        let Some(origin) = estimate.origins.iter().find(|origin| origin.key == key.path) else { continue };
        let (of, name) = key.path.rsplit_once('.').expect("estimated keys stand in sections");
        if of != section {
            text += &format!("\n[device.{of}]\n");
            section = of;
        }
        text += &reason(origin);
        text += &format!("{name} = {}\n", spelled(key));
    }
    text + WORKLOAD
}

fn head(found: &ProbeOutcome, estimate: &Estimate) -> String {
    let identity = &found.measured.identity;
    let paragraphs = [
        format!("{}, {}, as `tailcut probe` found it.", identity.model, show_bytes(identity.bytes() as f64)),
        format!(
            "measured: what was seen. derived: follows from it if the drive works as docs/decisions/probe.md \
             says. assumed: cannot be seen from outside, or was not looked at. All that is not named here is \
             that of preset {}, the nearest by latency and bandwidth of reads.",
            estimate.preset.name()
        ),
        worst(found),
    ];
    paragraphs
        .iter()
        .filter(|text| !text.is_empty())
        .map(|text| comment(text))
        .collect::<Vec<_>>()
        .join("#\n")
}

/// How far the simulated drive is off where it is furthest off.
fn worst(found: &ProbeOutcome) -> String {
    let off = |ratio: f64| if ratio > 1.0 { ratio } else { 1.0 / ratio };
    let worst = found.comparison.iter().max_by(|a, b| off(a.ratio()).total_cmp(&off(b.ratio())));
    let is_within = |row: &&Comparison| (row.ratio() - 1.0).abs() <= TOLERANCE;
    let within = found.comparison.iter().filter(is_within).count();
    worst.map_or(String::new(), |row| {
        format!(
            "The same probe of this simulated drive: {within} of {} figures within a quarter (±25 %) of what \
             was measured; furthest off are {} ({:.2} times).",
            found.comparison.len(),
            row.what,
            row.ratio()
        )
    })
}

fn comment(text: &str) -> String {
    wrapped("# ", text, PAGE)
        .lines()
        .map(|line| format!("# {}\n", line.trim_start_matches('#').trim_start()))
        .collect()
}

fn reason(origin: &Origin) -> String {
    comment(&format!("{}: {}", how(origin.how), origin.why))
}

/// As TOML wants it: what is no number and no yes or no stands in quotes.
fn spelled(key: &keys::Key) -> String {
    match key.kind {
        "count" | "number" | "true or false" => key.default.clone(),
        _ => quoted(&key.default),
    }
}

/// Columns of a comment.
const PAGE: usize = 98;

/// Something to run: as many requests at a time as a busy program has.
const WORKLOAD: &str = "
# What runs on it by default; 'tailcut run --keys' explains all keys.
[workload]
pace = \"closed\"
depth = 16

[run]
ramp = \"1s\"
duration = \"11s\"
round = \"1s\"
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::measure;
    use crate::run::Scenario;
    use crate::scenario::{self, Source};
    use tailcut_rt::EmulatedSsd;
    use tailcut_rt::probe::{MeasurementLimits, Prober, Unwatched, VirtualTime};
    use tailcut_ssd::precondition::PreparedState;
    use tailcut_ssd::{Precondition, Preset, Ssd};

    fn found(preset: Preset, is_destroying: bool) -> ProbeOutcome {
        let mut ssd = Ssd::new(&preset.config(), 1, false);
        let state = if is_destroying { PreparedState::Empty } else { PreparedState::Sequential };
        ssd.precondition(&Precondition { state, fill: 1_000_000 }, 1);
        let effort = MeasurementLimits { ios: 1000, ..MeasurementLimits::QUICK };
        let mut prober = Prober::new(EmulatedSsd::inline(ssd), VirtualTime::default(), effort, 1, &Unwatched);
        let measured = measure(&mut prober, is_destroying);
        let estimate = Estimate::of(&measured);
        ProbeOutcome {
            name: preset.to_string(),
            notes: Vec::new(),
            measured,
            estimate,
            comparison: Vec::new(),
        }
    }

    /// All deviations from the preset are in the file, with a reason: reading it back gives the estimated
    /// values.
    #[test]
    fn the_file_is_the_estimated_drive() {
        for (preset, is_destroying) in [(Preset::G, true), (Preset::Zssd, false), (Preset::SwanSata, false)] {
            let found = found(preset, is_destroying);
            let estimate = found.estimate.as_ref().expect("it was read");
            let text = scenario(&found, estimate);
            let mut read = Scenario::default();
            let done = scenario::read(&mut read, Some(Source::file("estimated.toml", text.clone())), &[]);
            assert!(
                done.is_ok(),
                "{}\n{text}",
                done.expect_err("problems").render(crate::terminal::ColorMode::Plain)
            );
            assert_eq!(read.device, estimate.config, "{text}");
            assert!(text.lines().all(|line| line.chars().count() <= PAGE), "{text}");
        }
    }
}
