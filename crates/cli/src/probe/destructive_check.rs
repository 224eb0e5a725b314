//! The data that a command would destroy on a device, and whether it may.

use crate::failure::Failure;
use std::os::fd::OwnedFd;
use std::path::Path;
use tailcut_base::quantity::show_bytes;
use tailcut_rt::probe::DeviceUse;

/// The content of a device and its users.
pub struct DestructiveCheck {
    device_use: DeviceUse,
    name: String,
    /// The command that asks.
    command: &'static str,
    /// What its user can do instead if the device is in use, as the end of a sentence.
    instead: &'static str,
}

impl DestructiveCheck {
    /// Looks at the device, for a command of that name. `instead` ends the sentence on what to do if the
    /// device is in use.
    ///
    /// # Errors
    /// When it cannot be read, or is no file and no block device.
    pub fn of(
        device: &Path,
        command: &'static str,
        instead: &'static str,
    ) -> Result<DestructiveCheck, Failure> {
        let name = device.display().to_string();
        match DeviceUse::of(device) {
            Ok(device_use) => Ok(DestructiveCheck { device_use, name, command, instead }),
            Err(why) => Err(Failure::Input(format!(
                "{command}: {name}: {why}; give a file or a block device that you may read, such as \
                    /dev/nvme0n1"
            ))),
        }
    }

    /// Refuses a device that is in use, and claims it exclusively for as long as the returned descriptor is
    /// open.
    ///
    /// # Errors
    /// A message that names the user of the device.
    pub fn claim(&self) -> Result<Option<OwnedFd>, Failure> {
        let refused = |who: &str| {
            Failure::Input(format!(
                "{}: {} is in use: {who}; nothing was written. Take it out of use first{}",
                self.command, self.name, self.instead
            ))
        };
        if !self.device_use.users.is_empty() {
            return Err(refused(&self.device_use.users.join(", ")));
        }
        self.device_use.claim().map_err(|why| refused(&why.to_string()))
    }

    /// True for a block device, false for a file.
    pub fn is_device(&self) -> bool {
        self.device_use.is_device
    }

    /// The announcement of what will be destroyed.
    pub fn sentence(&self) -> String {
        format!("--destroy-data: destroying all {}: {}", self.subject(), self.contents())
    }

    /// Notes about the device for the results, which depend on whether its data `is_destroyed`.
    pub fn notes(&self, is_destroyed: bool) -> Vec<String> {
        let mut notes = Vec::new();
        if is_destroyed {
            notes.push(format!("what was on it is destroyed: {}", self.contents()));
        } else {
            notes.push(format!(
                "writes, write cliff and collection were not measured: --destroy-data does, and destroys all \
                    {}: {}",
                self.subject(),
                self.contents()
            ));
            let users = self.device_use.users.iter();
            notes.extend(
                users.map(|user| format!("{user}: what others do with it meanwhile is measured as well")),
            );
        }
        if !self.device_use.is_device {
            notes.push("a file: what is measured is the file system and what lies under it".into());
        }
        notes
    }

    /// The refusal to destroy data without consent: what would be lost, and the option that gives consent.
    pub fn refuse(&self) -> Failure {
        Failure::Input(format!(
            "{}: it destroys all {}: {}; nothing was written. Say --destroy-data if that is meant",
            self.command,
            self.subject(),
            self.contents()
        ))
    }

    fn subject(&self) -> String {
        let kind = if self.device_use.is_device { "the block device" } else { "the file" };
        let size = show_bytes(self.device_use.bytes as f64);
        format!("{size} of {kind} {}", self.device_use.path.display())
    }

    fn contents(&self) -> String {
        let device_use = &self.device_use;
        match device_use.signatures.as_slice() {
            [] if device_use.is_written => String::from("data of no known kind"),
            [] => String::from("its first MiB is empty, and nothing known is on it"),
            names => names.join(", "),
        }
    }
}
