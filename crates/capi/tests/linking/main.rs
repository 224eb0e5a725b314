//! Programs in C with the installed libraries.

#![allow(clippy::disallowed_types, reason = "programs in C run in real time")]
#![allow(missing_docs)]

mod header;
mod programs;

// Linked so that its libraries are built before the tests.
use tailcut_capi as _;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use tempfile::TempDir;

/// The libraries, installed.
pub struct Installed {
    folder: TempDir,
}

/// The library to link a program with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Library {
    Shared,
    Static,
}

/// Installed once for all tests; `None` without a compiler or pkg-config.
pub fn installed(library: Library) -> Option<&'static Installed> {
    static SHARED: OnceLock<Option<Installed>> = OnceLock::new();
    static STATIC: OnceLock<Option<Installed>> = OnceLock::new();
    let place = if library == Library::Shared { &SHARED } else { &STATIC };
    place
        .get_or_init(|| ["cc", "pkg-config"].iter().all(|name| is_there(name)).then(|| install(library)))
        .as_ref()
}

/// True if the program exists; otherwise reports that a test is skipped.
pub fn is_there(name: &str) -> bool {
    let is_there = Command::new(name).arg("--version").output().is_ok();
    if !is_there {
        eprintln!("skipped: there is no {name}");
    }
    is_there
}

/// The directory of this crate.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn install(library: Library) -> Installed {
    let folder = tempfile::tempdir().expect("a folder");
    // Cargo leaves the libraries beside the tests that are linked with them. Others can be named, such as
    // those of a release.
    let test = std::env::current_exe().expect("this program has a name");
    let beside = || test.parent().expect("it is in a folder").to_path_buf();
    let built = std::env::var_os("TAILCUT_LIBRARIES").map_or_else(beside, PathBuf::from);
    run(Command::new(root().join("install.sh")).arg(folder.path()).arg(built));
    // The linker prefers a shared library.
    if library == Library::Static {
        let all = folder.path().join("lib").read_dir().expect("it was installed");
        let shared = all.filter_map(|file| Some(file.ok()?.path())).filter(|path| is_shared(path));
        shared.for_each(|path| std::fs::remove_file(path).expect("it can be removed"));
    }
    Installed { folder }
}

fn is_shared(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().contains(".so"))
}

/// Runs a command.
///
/// # Panics
/// If it cannot be started or fails.
pub fn run(command: &mut Command) -> Output {
    let output = command.output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{said}", output.status);
    output
}

impl Installed {
    /// The output of pkg-config.
    fn configured(&self, arguments: &[&str]) -> Vec<String> {
        let mut command = Command::new("pkg-config");
        command.env("PKG_CONFIG_PATH", self.folder.path().join("lib/pkgconfig")).args(arguments);
        let output = run(command.arg("tailcut"));
        String::from_utf8_lossy(&output.stdout).split_whitespace().map(String::from).collect()
    }

    /// Compiles a source into a program, in a folder.
    pub fn compile(&self, library: Library, source: &Path, folder: &Path, flags: &[&str]) -> PathBuf {
        let program = folder.join("program");
        let mut command = Command::new("cc");
        command.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-D_GNU_SOURCE"]).args(flags);
        command.arg(source).args(self.configured(&["--cflags"]));
        match library {
            Library::Shared => command.args(self.configured(&["--libs"])),
            Library::Static => command.args(self.configured(&["--static", "--libs"])),
        };
        run(command.arg("-o").arg(&program));
        program
    }

    /// A command that runs a program with the installed library.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env("LD_LIBRARY_PATH", self.library_folder());
        command
    }

    pub fn library_folder(&self) -> PathBuf {
        self.folder.path().join("lib")
    }

    pub fn include_folder(&self) -> PathBuf {
        self.folder.path().join("include")
    }
}
