//! Control sockets of the servers that run on this machine.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The control sockets of all processes of this program whose descriptors the user may see.
pub fn sockets() -> Vec<PathBuf> {
    let table = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let listening: BTreeMap<&str, &str> = table.lines().filter_map(listening).collect();
    let own = std::env::current_exe().unwrap_or_default();
    let mut found = BTreeSet::new();
    for process in fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path()) {
        if !runs(&process, &own) {
            continue;
        }
        let folder = fs::read_link(process.join("cwd")).unwrap_or_default();
        let all: Vec<PathBuf> = sockets_of(&process)
            .iter()
            .filter_map(|number| Some(folder.join(listening.get(number.as_str())?)))
            .collect();
        // Clients are not disturbed where the name of another socket shows which it is.
        let named: Vec<PathBuf> = all.iter().filter(|path| is_usual(path)).cloned().collect();
        found.extend(if named.is_empty() { all } else { named });
    }
    found.into_iter().filter(|path| answers(path)).collect()
}

/// Number and path of a socket that takes connections and has a path, by a line of proc_net_unix(5).
fn listening(line: &str) -> Option<(&str, &str)> {
    let mut rest = line;
    let mut fields = [""; 7];
    for field in &mut fields {
        let (first, more) = rest.trim_start().split_once(' ')?;
        (*field, rest) = (first, more);
    }
    // __SO_ACCEPTCON. Names in the abstract namespace begin with @.
    (fields[3] == "00010000" && !rest.is_empty() && !rest.starts_with('@')).then_some((fields[6], rest))
}

/// The numbers of the sockets that a process has open.
fn sockets_of(process: &Path) -> Vec<String> {
    let open = fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
    let number = |target: PathBuf| {
        let target = target.to_string_lossy();
        Some(target.strip_prefix("socket:[")?.strip_suffix(']')?.to_string())
    };
    open.filter_map(|entry| fs::read_link(entry.path()).ok().and_then(number)).collect()
}

/// True for a process, by its folder in proc(5), whose program has the same name as `program`.
fn runs(process: &Path, program: &Path) -> bool {
    let is_process = process.file_name().is_some_and(|name| name.to_string_lossy().parse::<u32>().is_ok());
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let other = fs::read_link(process.join("exe")).unwrap_or_default();
    // The file of a program that was replaced while it runs is marked.
    is_process && name(&other).trim_end_matches(" (deleted)") == name(program)
}

/// True for the names that control sockets have by default, and in the units for systemd.
fn is_usual(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "ctl") || path.ends_with("control")
}

/// True for a control socket: one for clients is of another protocol.
fn answers(path: &Path) -> bool {
    tailcut_rt::ctl::ask(path, "help").is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sockets_with_a_path_that_listen_count() {
        let table = "Num       RefCount Protocol Flags    Type St Inode Path\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 4711 /run/a.ctl\n\
            0000000000000000: 00000003 00000000 00000000 0001 03 4712 /run/a.ctl\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 4713 @abstract\n\
            0000000000000000: 00000002 00000000 00010000 0001 01  4714\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 4715 a folder/b.ctl\n";
        let found: Vec<_> = table.lines().filter_map(listening).collect();
        assert_eq!(found, [("4711", "/run/a.ctl"), ("4715", "a folder/b.ctl")]);
    }
}
