//! The process of a server: in the background, as another user, with a PID file.

use super::arguments::KvArguments;
use super::options::is_root;
use crate::failure::Failure;
use crate::serve::log::LogLevel;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tailcut_rt::{become_user, silence_output};

/// Set for a process that another one has started in the background.
const BACKGROUND: &str = "TAILCUT_IN_BACKGROUND";

/// True if this process was started in the background.
pub fn is_in_background() -> bool {
    std::env::var_os(BACKGROUND).is_some()
}

/// Runs this command again as a process in the background, waits until it serves clients, and prints what it
/// has to say. A process with threads cannot be forked safely, so the program is started anew.
///
/// # Errors
/// If the process does not come to serve; it has reported why.
#[expect(clippy::missing_panics_doc, reason = "the output of the child is a pipe")]
pub fn start_in_background(out: &mut dyn Write) -> Result<(), Failure> {
    let cannot = |why: std::io::Error| Failure::Operation(format!("-d: cannot start the process: {why}"));
    let mut command = Command::new(std::env::current_exe().map_err(cannot)?);
    let mut words = std::env::args_os();
    // The name decides what the arguments mean.
    if let Some(name) = words.next() {
        command.arg0(name);
    }
    command.args(words).env(BACKGROUND, "1");
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(cannot)?;
    let mut greeting = Vec::new();
    // The process closes its output when it serves, or ends.
    child.stdout.take().expect("its output is ours").read_to_end(&mut greeting).map_err(cannot)?;
    if !greeting.is_empty() {
        out.write_all(&greeting)?;
        return Ok(());
    }
    let status = child.wait().map_err(cannot)?;
    let why = String::from("-d: the server in the background did not start");
    Err(if status.code() == Some(2) { Failure::Input(why) } else { Failure::Operation(why) })
}

/// Leaves the terminal's session, if the process is in the background.
///
/// # Errors
/// If the system refuses.
pub fn leave_session(arguments: &KvArguments) -> Result<(), Failure> {
    if arguments.daemon {
        tailcut_rt::leave_session().map_err(|why| Failure::Operation(format!("-d: {why}")))?;
    }
    Ok(())
}

/// Closes standard output, and standard error as well unless more is logged than by default (`-v`).
///
/// # Errors
/// If the system refuses.
pub fn leave_output(arguments: &KvArguments) -> Result<(), Failure> {
    let cannot = |why| Failure::Operation(format!("-d: /dev/null: {why}"));
    silence_output(arguments.log_level() <= LogLevel::Info).map_err(cannot)
}

/// Becomes the user of `-u`, if the process is root's.
///
/// # Errors
/// If there is no such user, or the system refuses.
pub fn change_user(arguments: &KvArguments) -> Result<(), Failure> {
    let Some(user) = arguments.user.as_deref().filter(|_| is_root()) else { return Ok(()) };
    if user == "root" {
        return Ok(());
    }
    become_user(user).map_err(|why| Failure::Input(format!("-u {user}: {why}")))
}

/// A file with the number of this process, removed when it is dropped.
#[derive(Debug)]
pub struct PidFile(Option<PathBuf>);

impl PidFile {
    /// Writes the file, if there is to be one. As for memcached, one that cannot be written is no reason not
    /// to serve.
    pub fn write(path: Option<&Path>, warn: impl FnOnce(&str)) -> PidFile {
        let Some(path) = path else { return PidFile(None) };
        match std::fs::write(path, format!("{}\n", std::process::id())) {
            Ok(()) => PidFile(Some(path.into())),
            Err(why) => {
                warn(&format!("-P {}: {why}", path.display()));
                PidFile(None)
            }
        }
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            // Ignored: the folder may not permit it to this user, as for memcached.
            let _ = std::fs::remove_file(path);
        }
    }
}
