//! `tailcut generate`: what packagers ship beside the binary, made from the one definition of the
//! command line.

use crate::arguments::{Arguments, GenerateCommand};
use crate::failure::Failure;
use crate::output::{Folder, OutputError};
use crate::run::Scenario;
use crate::scenario::keys;
use clap::CommandFactory;
use std::io::Write;
use std::path::Path;

/// Prints to `out`, or writes the manual pages into their folder.
pub fn generate(what: &GenerateCommand, out: &mut dyn Write) -> Result<(), Failure> {
    let mut text = Vec::new();
    match what {
        GenerateCommand::Completions { shell } => {
            clap_complete::generate(*shell, &mut Arguments::command(), "tailcut", &mut text);
        }
        GenerateCommand::Man { folder: Some(folder) } => return manual(folder),
        GenerateCommand::Man { folder: None } => {
            clap_mangen::Man::new(Arguments::command()).render(&mut text)?
        }
        GenerateCommand::Keys => text = keys::markdown(&keys::list(&mut Scenario::default())).into_bytes(),
    }
    out.write_all(&text)?;
    Ok(out.flush()?)
}

fn manual(folder: &Path) -> Result<(), Failure> {
    let folder = Folder::create(folder)?;
    let refused = |cause| OutputError { path: folder.path().to_owned(), cause };
    clap_mangen::generate_to(Arguments::command(), folder.path()).map_err(refused)?;
    Ok(())
}
