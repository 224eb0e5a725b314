//! The example and other programs, compiled and run.

use super::{Library, installed, is_there, root, run};
use std::process::Command;

const SAYS: &str = "\
greeting: hello, flags 7
changed: yes, no
deleted: there is no such item
batch: 1000 items, 0 wrong
statistics: 1002 sets, 1 hits, 1000 items
again: 1000 items, 0 wrong
";

/// The example prints what is expected, on its first and on its second run.
fn example(library: Library) {
    let Some(installed) = installed(library) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let program = installed.compile(library, &root().join("examples/store.c"), folder.path(), &[]);
    for _ in 0..2 {
        let output = run(installed.command(&program).arg(folder.path().join("items")));
        assert_eq!(String::from_utf8_lossy(&output.stdout), SAYS);
    }
}

#[test]
fn the_example_runs_with_the_shared_library() {
    example(Library::Shared);
}

#[test]
fn the_example_runs_with_the_static_library() {
    example(Library::Static);
}

#[test]
fn the_example_says_what_is_wrong() {
    let Some(installed) = installed(Library::Shared) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let program = installed.compile(Library::Shared, &root().join("examples/store.c"), folder.path(), &[]);
    let output = installed.command(&program).arg(folder.path()).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("neither a file nor a block device") || said.contains("directory"), "{said}");
}

/// A program of the tests runs without errors of its own, or of the compiler's sanitizers where available.
fn program(name: &str, library: Library, flags: &[&str]) {
    let Some(installed) = installed(library) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let source = root().join("tests/programs").join(name);
    let program = installed.compile(library, &source, folder.path(), flags);
    run(installed.command(&program).arg(folder.path()));
}

#[test]
fn misuse_is_an_error_and_harms_nothing() {
    program("misuse.c", Library::Shared, &[]);
}

#[test]
fn misuse_harms_nothing_that_the_compiler_checks() {
    program(
        "misuse.c",
        Library::Static,
        &["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
    );
}

#[test]
fn a_panic_ends_a_store_and_not_the_program() {
    for library in [Library::Shared, Library::Static] {
        program("bug.c", library, &[]);
    }
}

#[test]
fn threads_share_a_store_and_its_queues() {
    program("threads.c", Library::Shared, &["-pthread"]);
}

#[test]
fn signals_and_event_loops_stay_those_of_the_program() {
    program("signals.c", Library::Shared, &[]);
}

#[test]
fn nothing_is_lost_or_read_before_it_is_written() {
    let Some(installed) = installed(Library::Shared).filter(|_| is_there("valgrind")) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let source = root().join("tests/programs/memory.c");
    let program = installed.compile(Library::Shared, &source, folder.path(), &["-g"]);
    let mut command = Command::new("valgrind");
    command.env("LD_LIBRARY_PATH", installed.library_folder());
    command.args(["--quiet", "--error-exitcode=9", "--leak-check=full", "--errors-for-leak-kinds=definite"]);
    run(command.arg(program));
}

/// The commands of a section of the README.
fn commands(section: &str) -> Vec<String> {
    let text = std::fs::read_to_string(root().join("../../README.md")).expect("it is there");
    let rest = text.split_once(&format!("## {section}\n")).expect("it has the section").1;
    let lines = rest.lines().skip_while(|line| !line.starts_with("    "));
    lines.map_while(|line| Some(line.strip_prefix("    ")?.to_string())).collect()
}

#[test]
fn the_commands_of_the_readme_work() {
    let Some(installed) = installed(Library::Shared) else { return };
    let commands = commands("As a library");
    // The tests have already installed it, elsewhere.
    assert_eq!(commands[0], "crates/capi/install.sh /usr/local");
    let folder = tempfile::tempdir().expect("a folder");
    let crates = format!("{}/../", root().display());
    let mut said = String::new();
    for line in &commands[1..] {
        let mut shell = installed.command("sh".as_ref());
        shell.env("PKG_CONFIG_PATH", installed.library_folder().join("pkgconfig"));
        shell.current_dir(folder.path()).arg("-c").arg(line.replace("crates/", &crates));
        said += &String::from_utf8_lossy(&run(&mut shell).stdout);
    }
    assert_eq!((commands.len(), said.as_str()), (3, SAYS));
}
