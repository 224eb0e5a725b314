//! The fitted drive as a scenario's section.

use super::results::{FittedParameter, Results};
use crate::scenario::{keys, spelling, version};
use std::collections::BTreeMap;
use std::fmt::Write;
use tailcut_sim::Scenario;
use tailcut_ssd::config::SsdConfig;

/// A scenario with this drive: its preset, and every key whose value is another; fitted keys below what pins
/// them.
pub(super) fn to_toml(device: &SsdConfig, results: &Results) -> String {
    let of_preset = keys_of(&device.preset.config());
    let mut sections: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for (path, value) in keys_of(device) {
        let is_preset = path == PRESET;
        let is_default = of_preset.iter().any(|(known, default)| *known == path && *default == value);
        let (section, key) = path.rsplit_once('.').expect("a key of a section");
        if is_preset || !is_default {
            sections.entry(section.to_string()).or_default().push((key.to_string(), value));
        }
    }
    let mut text = version::line();
    let median = |of: fn(&super::results::RowErrors) -> Option<f64>| {
        let mut errors: Vec<f64> = results.rows.iter().filter_map(|row| of(&row.fitted)).collect();
        errors.sort_by(f64::total_cmp);
        errors.get(errors.len() / 2).map_or(String::from("-"), |error| format!("{:.0} %", error * 100.0))
    };
    let loads: Vec<&str> = results.rows.iter().map(|row| row.load.as_str()).collect();
    let _ = writeln!(
        text,
        "\n# Fitted by 'tailcut calibrate' to the drive '{}' at {}\n# (seed {}, {} candidates): cost {:.3}, \
            median error of reads {}, of writes {}.",
        results.drive,
        loads.join(", "),
        results.seed,
        results.evaluations,
        results.cost,
        median(|row| row.reads),
        median(|row| row.writes)
    );
    if let Some(why) = results.draft() {
        let _ = writeln!(text, "# {why}");
    }
    for (section, keys) in sections {
        let _ = writeln!(text, "\n[{section}]");
        for (key, value) in keys {
            for parameter in fitted(results, &format!("{section}.{key}")) {
                let _ = writeln!(text, "# {}", comment(parameter));
            }
            let _ = writeln!(text, "{key} = {}", toml_value(&value));
        }
    }
    text
}

const PRESET: &str = "device.preset";

/// The keys of a drive with their values, spelled as for `--set`.
fn keys_of(device: &SsdConfig) -> Vec<(String, String)> {
    let mut scenario = Scenario { device: device.clone(), ..Scenario::default() };
    let all = keys::list(&mut scenario).into_iter();
    all.filter(|key| !key.is_section() && key.path.starts_with("device."))
        .map(|key| (key.path, key.default))
        .collect()
}

/// The parameters that are a key, or one of the values of a key.
fn fitted<'r>(results: &'r Results, path: &str) -> impl Iterator<Item = &'r FittedParameter> {
    let path = path.to_string();
    results.parameters.iter().filter(move |parameter| {
        let rest = parameter.key.strip_prefix(path.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('['))
    })
}

/// What a parameter was fitted to.
fn comment(parameter: &FittedParameter) -> String {
    let which = parameter.key.find('[').map_or(String::new(), |at| format!("{}: ", &parameter.key[at..]));
    match &parameter.pinned_by {
        Some((load, moved)) => {
            format!("{which}fitted; pinned most by the row {load}, which it moves by {:.1} %", moved * 100.0)
        }
        None => format!("{which}fitted, but no row pins it: any value within the bounds may be as good"),
    }
}

/// A value as TOML has it: lists stay lists, flags flags, and anything else is a text, which every other key
/// takes.
fn toml_value(value: &str) -> String {
    match value.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(list) => {
            let quoted: Vec<String> = list.split(',').map(|part| spelling::quoted(part.trim())).collect();
            format!("[{}]", quoted.join(", "))
        }
        None if value == "true" || value == "false" => value.to_string(),
        None => spelling::quoted(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Source, read};
    use tailcut_base::Nanos;
    use tailcut_ssd::Preset;

    #[test]
    fn the_drive_is_read_again_as_it_was_fitted() {
        let mut device = Preset::TlcNvme.config();
        device.timing.read = vec![Nanos(45_123), Nanos(60_000), Nanos(70_001)];
        device.timing.erase = Nanos::millis(7);
        device.ftl.spare = 171_234;
        device.buffer.size += 4096;
        device.faults.program_fail = 0.000_1;
        device.gc.background = !device.gc.background;
        let parameter = |key, pinned_by| FittedParameter {
            key,
            value: 1.0,
            unit: "ns",
            bounds: [0.0, 2.0],
            meaning: "",
            pinned_by,
            moves: Vec::new(),
        };
        let results = Results {
            version: "0",
            drive: "x".into(),
            seed: 1,
            evaluations: 8,
            cost: 0.25,
            parameters: vec![
                parameter("device.timing.read[1]", Some(("10000".into(), 0.125))),
                parameter("device.timing.erase", None),
            ],
            rows: Vec::new(),
        };
        let text = to_toml(&device, &results);
        assert!(
            text.contains("# [1]: fitted; pinned most by the row 10000, which it moves by 12.5 %\nread = ["),
            "{text}"
        );
        assert!(text.contains("# fitted, but no row pins it"), "{text}");
        let mut scenario = Scenario::default();
        let read = read(&mut scenario, Some(Source::file("drive.toml", text.clone())), &[]);
        assert!(
            read.is_ok(),
            "{text}\n{}",
            read.expect_err("not read").render(crate::terminal::ColorMode::Plain)
        );
        assert_eq!(scenario.device, device, "{text}");
    }
}
