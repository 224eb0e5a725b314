//! What a probe that writes would destroy, and whether it may.

use crate::failure::Failure;
use std::os::fd::OwnedFd;
use std::path::Path;
use tailcut_base::quantity::show_bytes;
use tailcut_rt::probe::Holdings;

/// What is on a device and who uses it.
pub struct Danger {
    holdings: Holdings,
    name: String,
}

impl Danger {
    /// Looks at the device.
    ///
    /// # Errors
    /// When it cannot be read, or is no file and no block device.
    pub fn of(device: &Path) -> Result<Danger, Failure> {
        let name = device.display().to_string();
        match Holdings::of(device) {
            Ok(holdings) => Ok(Danger { holdings, name }),
            Err(why) => Err(Failure::Input(format!(
                "probe: {name}: {why}; give a file or a block device that you may read, such as /dev/nvme0n1"
            ))),
        }
    }

    /// Refuses a device that somebody uses, and keeps others away from it as long as what is returned is open.
    ///
    /// # Errors
    /// Says who uses it.
    pub fn claim(&self) -> Result<Option<OwnedFd>, Failure> {
        let refused = |who: &str| {
            Failure::Input(format!(
                "probe: {} is in use: {who}; nothing was written. Take it out of use first, or probe it without \
                 --destroy-data",
                self.name
            ))
        };
        if !self.holdings.users.is_empty() {
            return Err(refused(&self.holdings.users.join(", ")));
        }
        self.holdings.claim().map_err(|why| refused(&why.to_string()))
    }

    /// What is about to happen.
    pub fn sentence(&self) -> String {
        format!("--destroy-data: destroying all {}: {}", self.subject(), self.contents())
    }

    /// What is worth knowing of it.
    pub fn notes(&self, is_destroyed: bool) -> Vec<String> {
        let mut notes = Vec::new();
        if is_destroyed {
            notes.push(format!("what was on it is destroyed: {}", self.contents()));
        } else {
            notes.push(format!(
                "writes, write cliff and collection were not measured: --destroy-data does, and destroys all {}: {}",
                self.subject(),
                self.contents()
            ));
            let users = self.holdings.users.iter();
            notes.extend(
                users.map(|user| format!("{user}: what others do with it meanwhile is measured as well")),
            );
        }
        if !self.holdings.is_device {
            notes.push("a file: what is measured is the file system and what lies under it".into());
        }
        notes
    }

    fn subject(&self) -> String {
        let kind = if self.holdings.is_device { "the block device" } else { "the file" };
        let size = show_bytes(self.holdings.bytes as f64);
        format!("{size} of {kind} {}", self.holdings.path.display())
    }

    fn contents(&self) -> String {
        let holdings = &self.holdings;
        match holdings.signatures.as_slice() {
            [] if holdings.is_written => String::from("data of no known kind"),
            [] => String::from("its first MiB is empty, and nothing known is on it"),
            names => names.join(", "),
        }
    }
}
