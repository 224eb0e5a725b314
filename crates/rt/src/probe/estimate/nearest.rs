//! Finds the preset most similar to a drive.

use tailcut_ssd::Preset;
use tailcut_ssd::config::SsdConfig;

/// Presets that an estimate can start from. The others model special cases that a measured drive does not
/// have: a bus that takes no time, a single chip, planes that are quarters of a page.
const BASES: [Preset; 7] = [
    Preset::M,
    Preset::G,
    Preset::Sprinkler64,
    Preset::PaReset,
    Preset::Femu,
    Preset::SwanSata,
    Preset::Zssd,
];

/// The preset of [`BASES`] nearest in read latency (ns) and read bandwidth (bytes per second), by the ratio
/// of both.
pub(super) fn to(latency: f64, bandwidth: f64) -> Preset {
    let distance = |preset: Preset| {
        let config = preset.config();
        let (l, b) =
            ((bare_latency(&config) / latency).ln(), (bare_bandwidth(&config) / bandwidth.max(1.0)).ln());
        l * l + b * b
    };
    BASES.into_iter().min_by(|&a, &b| distance(a).total_cmp(&distance(b))).expect("there are presets")
}

/// Unloaded latency of a read of one page, in ns.
pub(super) fn bare_latency(config: &SsdConfig) -> f64 {
    let timing = &config.timing;
    let read: u64 = timing.read.iter().map(|time| time.0).sum::<u64>() / timing.read.len() as u64;
    let page = config.geometry.page_bytes as f64;
    let fixed = config.queue.firmware + timing.cycle * 7 + config.link.command;
    read as f64 + fixed.0 as f64 + page * 1e9 / timing.bus as f64 + page * 1e9 / config.link.rate as f64
}

/// Sequential read bandwidth in bytes per second: the minimum of its link, its channels and its chips.
fn bare_bandwidth(config: &SsdConfig) -> f64 {
    let (geometry, timing) = (&config.geometry, &config.timing);
    let page = geometry.page_bytes as f64;
    let bus = (timing.cycle * 7).0 as f64 + page * 1e9 / timing.bus as f64;
    let places = f64::from(geometry.places_per_lun());
    let channels = f64::from(geometry.channels) * page * 1e9 / bus;
    let chips = f64::from(geometry.luns()) * places * page * 1e9 / (timing.read[0].0 as f64 + places * bus);
    (config.link.rate as f64).min(channels).min(chips)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preset_is_nearest_to_itself() {
        for preset in BASES {
            let config = preset.config();
            let nearest = to(bare_latency(&config), bare_bandwidth(&config));
            let found = nearest.config();
            // Several share their cells and their bus.
            assert!(
                (bare_latency(&found) / bare_latency(&config) - 1.0).abs() < 1e-9,
                "{preset} and {nearest}"
            );
        }
    }
}
