//! Where a key-value server is asked how it is.

use super::arguments::KvArguments;
use crate::failure::Failure;
use crate::serve::cannot_listen;
use std::path::PathBuf;
use tailcut_rt::ctl::{ControlSocket, MetricsPage};
use tailcut_rt::serve::{Address, Windows};

/// The open control socket and metrics address, for display.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Open {
    /// Path of the operator's control socket; `None` if none is open.
    pub control: Option<PathBuf>,
    /// Address of the page for Prometheus; `None` if none is open.
    pub metrics: Option<Address>,
    /// A note about a default socket that could not be opened, in a sentence.
    pub note: Option<String>,
}

/// Opens the control socket and the metrics address.
///
/// # Errors
/// A requested socket or address that cannot be opened. If the default control socket cannot be opened, the
/// server runs without it, with a note: memcached can be started in a folder that it may not write to.
pub fn open(arguments: &KvArguments) -> Result<(Windows, Open), Failure> {
    let path = arguments.control.clone().unwrap_or_else(|| arguments.usual_control());
    let mut note = None;
    let control = match ControlSocket::bind(&path) {
        Ok(control) => Some((control, path)),
        Err(why) if arguments.control.is_none() => {
            let other = arguments.other_control();
            let other = other.and_then(|path| Some((ControlSocket::bind(&path).ok()?, path)));
            if other.is_none() {
                note = Some(format!("no control socket: {why}; --control PATH chooses another place"));
            }
            other
        }
        Err(why) => return Err(cannot_listen(why, "--control")),
    };
    let (control, path) = control.unzip();
    let page = |address| {
        MetricsPage::bind(address, arguments.allow_network).map_err(|why| cannot_listen(why, "--metrics"))
    };
    let metrics = arguments.metrics.map(page).transpose()?;
    let open = Open { control: path, metrics: metrics.as_ref().map(|page| page.address().clone()), note };
    Ok((Windows { control, metrics }, open))
}
