//! HTML pages, written to a path given by Python.

use crate::refusal::raised;
use pyo3::prelude::*;
use std::path::Path;
use tailcut::failure::Failure;
use tailcut::html::{self, Page};

/// Writes a page, and its data as JSON beside it.
pub(crate) fn write(path: &Path, page: &Page) -> PyResult<()> {
    let name = path.display().to_string();
    let file = html::page_file(&name).map_err(|why| raised(Failure::Input(format!("'{name}': {why}"))))?;
    html::write(&file, page, None).map_err(raised)
}
