//! The array of several devices where no setting describes one: two are a mirror, and members of an array are
//! that array.

use crate::failure::Failure;
use crate::output::shell_word;
use crate::run::Scenario;
use crate::scenario::{self, Source};
use std::path::PathBuf;
use tailcut_rt::probe::DeviceUse;

/// Devices that a server is started with, and what is to happen to them.
#[derive(Clone, Copy, Debug)]
pub struct Devices<'a> {
    paths: &'a [PathBuf],
    create: bool,
    degraded: bool,
    command: &'static str,
}

impl<'a> Devices<'a> {
    /// These files and block devices, served by a command such as `serve kv`.
    pub fn new(paths: &'a [PathBuf], command: &'static str) -> Devices<'a> {
        Devices { paths, create: false, degraded: false, command }
    }

    /// Whether a new array is to be created (`--create`).
    pub fn create(self, create: bool) -> Devices<'a> {
        Devices { create, ..self }
    }

    /// Whether an array may be assembled without some of its members (`--degraded`).
    pub fn degraded(self, degraded: bool) -> Devices<'a> {
        Devices { degraded, ..self }
    }
}

/// Settings that follow from the devices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrangement {
    sets: Vec<String>,
    is_new: bool,
}

impl Arrangement {
    /// Settings of the array, in the form of `--set`, in addition to those of the user.
    pub fn sets(&self) -> &[String] {
        &self.sets
    }

    /// True if the devices are empty, and become a new array without `--create`.
    pub fn is_new(&self) -> bool {
        self.is_new
    }
}

/// The array of these devices, as far as the settings of the user do not describe it.
///
/// # Errors
/// Three or more devices, of which there are several sensible arrays, or two that hold something else than an
/// array.
pub fn infer(file: Option<&Source>, sets: &[String], devices: Devices<'_>) -> Result<Arrangement, Failure> {
    let is_written = |path: &str| scenario::is_written(path, file.cloned(), sets);
    if devices.paths.is_empty() || is_written("array.drives") {
        return Ok(Arrangement::default());
    }
    // Devices that cannot be examined cannot be opened either; opening them reports why.
    let uses: Vec<DeviceUse> = devices.paths.iter().filter_map(|path| DeviceUse::of(path).ok()).collect();
    let given = devices.paths.len();
    if !devices.create
        && (given > 1 || devices.degraded)
        && let Some((drives, layout, groups)) = uses.iter().find_map(DeviceUse::array)
    {
        let mut sets = vec![format!("array.drives={}", drives.max(given))];
        if !is_written("array.layout") && !is_written("array.groups") {
            sets.extend([format!("array.layout={layout}"), format!("array.groups={groups}")]);
        }
        return Ok(Arrangement { sets, is_new: false });
    }
    if given == 1 {
        return Ok(Arrangement::default());
    }
    let mut arrangement = Arrangement { sets: vec![format!("array.drives={given}")], is_new: false };
    let is_chosen = is_written("array.layout");
    if !is_chosen && given > 2 {
        return Err(Failure::Input(proposal(devices)));
    }
    if !is_chosen {
        arrangement.sets.push("array.layout=mirror".into());
        let is_empty = uses.len() == given && uses.iter().all(is_empty);
        if !devices.create && !is_empty {
            return Err(Failure::Input(occupied(devices)));
        }
        arrangement.is_new = !devices.create;
    }
    let is_mirrored = !is_chosen || {
        let mut asked = Box::<Scenario>::default();
        scenario::read_leniently(&mut *asked, file.cloned(), sets);
        asked.array.layout.is_mirrored()
    };
    if is_mirrored && !is_written("array.groups") {
        arrangement.sets.push("array.groups=2".into());
    }
    Ok(arrangement)
}

/// True if nothing is known to be lost when the device is overwritten.
fn is_empty(device: &DeviceUse) -> bool {
    !device.is_written && device.signatures.is_empty() && device.users.is_empty()
}

/// The choice for three or more devices, with the command.
fn proposal(devices: Devices<'_>) -> String {
    format!(
        "{} devices can be several arrays: choose one with --set array.layout=LAYOUT, raid5 (one drive may \
         fail), mirror (two copies of everything) or raid0 (no drive may fail). It is created once with\n  \
         {}{}",
        devices.paths.len(),
        command(devices, "raid5"),
        separately(devices),
    )
}

/// Why two devices do not become a mirror by themselves.
fn occupied(devices: Devices<'_>) -> String {
    format!(
        "two devices are a mirror, and these hold data, but no array: to overwrite them, create it \
         with\n  {}{}",
        command(devices, "mirror"),
        separately(devices),
    )
}

fn command(Devices { paths, command, .. }: Devices<'_>, layout: &str) -> String {
    let devices: Vec<String> = paths.iter().map(|path| format!("--device {}", shell_word(path))).collect();
    format!("tailcut {command} --set array.layout={layout} --create {}", devices.join(" "))
}

fn separately(devices: Devices<'_>) -> &'static str {
    match devices.command {
        "serve block" => "\nor export each on its own with --separate",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn infer_with(sets: &[&str], names: &[&str], create: bool) -> Result<Arrangement, String> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &&str| {
            let path = folder.path().join(name);
            let content: &[u8] = if name.starts_with("full") { b"photographs" } else { &[0; 4096] };
            std::fs::write(&path, content).expect("it is ours");
            path
        };
        let paths: Vec<PathBuf> = names.iter().map(path).collect();
        let sets: Vec<String> = sets.iter().map(|set| set.to_string()).collect();
        let devices = Devices::new(&paths, "serve kv").create(create);
        infer(None, &sets, devices).map_err(|why| format!("{why:?}"))
    }

    #[test]
    fn two_are_a_mirror_and_one_is_one() {
        let mirror = ["array.drives=2", "array.layout=mirror", "array.groups=2"].map(String::from).to_vec();
        let two = infer_with(&[], &["a", "b"], false).expect("they are empty");
        assert_eq!(two, Arrangement { sets: mirror.clone(), is_new: true });
        let asked = infer_with(&[], &["a", "full"], true).expect("they may be overwritten");
        assert_eq!(asked, Arrangement { sets: mirror, is_new: false });
        assert_eq!(infer_with(&[], &["a"], false), Ok(Arrangement::default()));
        assert_eq!(infer_with(&["array.drives=4"], &["a", "b", "c"], false), Ok(Arrangement::default()));
        let full = infer_with(&[], &["a", "full"], false).expect_err("they hold data");
        assert!(full.contains("--set array.layout=mirror --create --device"), "{full}");
    }

    #[test]
    fn more_are_what_is_chosen() {
        let three = infer_with(&[], &["a", "b", "c d"], false).expect_err("there are several");
        let command = "tailcut serve kv --set array.layout=raid5 --create --device ";
        assert!(three.contains(command) && three.contains("c d'"), "{three}");
        for (layout, sets) in
            [("raid5", &["array.drives=3"][..]), ("raid10", &["array.drives=3", "array.groups=2"])]
        {
            let set = format!("array.layout={layout}");
            let chosen = infer_with(&[&set], &["a", "b", "c"], true).expect("it is chosen");
            assert_eq!(chosen.sets, sets.iter().map(|set| set.to_string()).collect::<Vec<_>>());
        }
    }
}
