//! The header matches the libraries.

use super::{Library, installed, is_there, root, run};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::mem::offset_of;
use std::process::Command;
use tailcut_capi::failure::{ABI, Status};
use tailcut_capi::queue::CompletionRecord;
use tailcut_capi::statistics::Figures;
use tailcut_capi::store::Write as How;

fn header() -> String {
    std::fs::read_to_string(root().join("include/tailcut.h")).expect("it is there")
}

/// The names of functions in the header, without its comments.
fn declared() -> BTreeSet<String> {
    let text = header();
    let mut code = String::new();
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once("/*") {
        code += before;
        rest = after.split_once("*/").expect("comments end").1;
    }
    code += rest;
    let is_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let before = |(at, _)| code[..at].rsplit(|character| !is_name(character)).next().unwrap_or_default();
    let names = code.match_indices('(').map(before);
    names.filter(|name| name.starts_with("tailcut_")).map(String::from).collect()
}

#[test]
fn every_function_of_the_header_is_exported_and_nothing_else() {
    let Some(installed) = installed(Library::Shared).filter(|_| is_there("nm")) else { return };
    let library = installed.library_folder().join("libtailcut.so");
    let output = run(Command::new("nm").args(["--dynamic", "--defined-only"]).arg(library));
    let symbols = String::from_utf8_lossy(&output.stdout);
    let exported: BTreeSet<String> =
        symbols.lines().filter_map(|line| Some(line.split_whitespace().nth(2)?.to_string())).collect();
    assert_eq!(exported, declared());
    assert!(exported.len() > 30, "{exported:?}");
}

/// A program that compiles only if numbers and structures are the same on both sides.
fn comparison() -> String {
    let mut text = String::from("#include <stddef.h>\n#include <tailcut.h>\n");
    let mut same = |what: String, number: i64| {
        writeln!(text, "_Static_assert((long long)({what}) == {number}LL, \"{what}\");")
            .expect("a text takes all");
    };
    same("TAILCUT_ABI".into(), ABI.into());
    same("TAILCUT_MOST_KEY".into(), tailcut_rt::embedded::MOST_KEY as i64);
    for status in Status::ALL {
        let mut name = String::new();
        for character in format!("{status:?}").chars() {
            let gap = if character.is_ascii_uppercase() && !name.is_empty() { "_" } else { "" };
            write!(name, "{gap}{}", character.to_ascii_uppercase()).expect("a text takes all");
        }
        let kind = if (status as i32) < 0 { "ERROR_" } else { "" };
        same(format!("TAILCUT_{kind}{name}"), i64::from(status as i32));
    }
    macro_rules! alike {
        ($kind:ty, $name:literal: $($field:ident),+) => {
            same(format!("sizeof({})", $name), size_of::<$kind>() as i64);
            $(same(format!("offsetof({}, \
                {})", $name, stringify!($field)), offset_of!($kind, $field) as i64);)+
        };
    }
    alike!(How, "tailcut_write": size, flags, lifetime, when, reserved, version);
    alike!(CompletionRecord, "tailcut_completion": user_data, value, version, status, reserved);
    alike!(Figures, "tailcut_statistics": size, hits, misses, sets, not_stored, deletes, touches, errors, items,
        index_bytes, waiting, drive_bytes, hits_on_flash, evicted, expired, written, copied, damaged);
    text + "int main(void) { return 0; }\n"
}

#[test]
fn numbers_and_structures_are_those_of_the_header() {
    let Some(installed) = installed(Library::Shared) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("comparison.c");
    std::fs::write(&source, comparison()).expect("it can be written");
    installed.compile(Library::Shared, &source, folder.path(), &[]);
}

#[test]
fn the_header_is_understood_as_cpp_and_by_old_compilers() {
    let Some(installed) = installed(Library::Shared).filter(|_| is_there("c++")) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    for (compiler, standard, name) in [("c++", "c++11", "a.cpp"), ("cc", "c99", "a.c")] {
        let source = folder.path().join(name);
        let text = "#include <tailcut.h>\nint main(void) { return tailcut_abi() == TAILCUT_ABI ? 0 : 1; }\n";
        std::fs::write(&source, text).expect("it can be written");
        let mut command = Command::new(compiler);
        command.args(["-Wall", "-Wextra", "-Werror", "-pedantic", &format!("-std={standard}")]);
        command.arg("-I").arg(installed.include_folder()).arg(&source);
        command.arg("-L").arg(installed.library_folder()).arg("-ltailcut");
        let program = folder.path().join("program");
        run(command.arg("-o").arg(&program));
        run(&mut installed.command(&program));
    }
}

#[test]
fn the_library_has_the_version_of_its_interface_in_its_name() {
    let Some(installed) = installed(Library::Shared).filter(|_| is_there("readelf")) else { return };
    let library = installed.library_folder().join("libtailcut.so");
    let output = run(Command::new("readelf").arg("--dynamic").arg(library));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains(&format!("soname: [libtailcut.so.{ABI}]")), "{text}");
}
