//! The program under the name of memcached: in place of `/usr/bin/memcached`, with the arguments of that.

use std::ffi::{OsStr, OsString};
use std::path::Path;

/// What the arguments of the process ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Invocation {
    /// The command line of `tailcut`, with the name of the program.
    Arguments(Vec<OsString>),
    /// The version, as memcached prints it.
    Version(String),
}

/// Reads the arguments of the process. Under the name `memcached` they are those of `serve kv`: items are in
/// memory only unless drives are named, and an address that is given to listen on may be reached from other
/// machines, as with memcached.
pub fn read(given: impl Iterator<Item = OsString>) -> Invocation {
    let mut given: Vec<OsString> = given.collect();
    let name = given.first().map(|program| Path::new(program).file_name().unwrap_or(program));
    if name != Some(OsStr::new(NAME)) {
        return Invocation::Arguments(given);
    }
    let rest = given.split_off(1);
    let has = |beginnings: &[&str]| {
        let begins = |word: &OsString| {
            let word = word.to_string_lossy();
            beginnings.iter().any(|beginning| word.starts_with(beginning))
        };
        rest.iter().any(begins)
    };
    if rest.iter().any(|word| word == "-V" || word == "--version") {
        return Invocation::Version(format!("{NAME} {}", tailcut_host::kv::session::VERSION));
    }
    let mut all: Vec<OsString> = ["tailcut", "serve", "kv", "--quiet"].map(OsString::from).to_vec();
    if !has(&["--device", "--set", "--memory-only", "--durable"]) {
        all.push("--memory-only".into());
    }
    if has(&["-l", "--listen"]) && !has(&["--allow-network"]) {
        all.push("--allow-network".into());
    }
    all.extend(rest);
    Invocation::Arguments(all)
}

const NAME: &str = "memcached";

#[cfg(test)]
mod tests {
    use super::*;

    fn read_words(words: &[&str]) -> Invocation {
        read(words.iter().map(OsString::from))
    }

    #[test]
    fn under_the_name_of_memcached_its_arguments_serve_from_memory() {
        let arguments = |words: &[&str]| Invocation::Arguments(words.iter().map(OsString::from).collect());
        let debian = ["/usr/bin/memcached", "-m", "64", "-u", "memcache", "-l", "127.0.0.1"];
        let served = ["tailcut", "serve", "kv", "--quiet", "--memory-only", "--allow-network"];
        assert_eq!(read_words(&debian), arguments(&[&served[..], &debian[1..]].concat()));
        let drive = ["memcached", "--device", "/dev/sdb"];
        let served = ["tailcut", "serve", "kv", "--quiet", "--device", "/dev/sdb"];
        assert_eq!(read_words(&drive), arguments(&served));
        assert_eq!(read_words(&["tailcut", "run"]), arguments(&["tailcut", "run"]));
        let Invocation::Version(version) = read_words(&["memcached", "-V"]) else { panic!("a version") };
        assert!(version.starts_with("memcached 1.6."), "{version}");
    }
}
