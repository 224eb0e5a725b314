//! memcached: its flags as a command of `tailcut serve kv`.

use crate::failure::Failure;
use crate::scenario::nearest::nearest;
use std::io::Write;

/// A flag of memcached (1.6).
struct Flag {
    short: char,
    long: &'static str,
    takes_value: bool,
    translation: Translation,
}

/// The translation of a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Translation {
    /// It is the same.
    Same,
    /// It is left out, for this reason.
    LeftOut(&'static str),
    /// It cannot be left out, for this reason.
    Refused(&'static str),
    /// Addresses to listen on.
    Listen,
    /// `-o`: a list of options.
    Extended,
}

use Translation::{Extended, LeftOut, Listen, Refused, Same};

const FLAGS: &[Flag] = &[
    flag('p', "port", true, Same),
    flag('U', "udp-port", true, Same),
    flag('s', "unix-socket", true, Same),
    flag('a', "unix-mask", true, Same),
    flag('A', "enable-shutdown", false, Same),
    flag('l', "listen", true, Listen),
    flag('d', "daemon", false, Same),
    flag('r', "enable-coredumps", false, LeftOut("the limit of the shell counts")),
    flag('u', "user", true, Same),
    flag('m', "memory-limit", true, Same),
    flag('M', "disable-evictions", false, Same),
    flag('c', "conn-limit", true, Same),
    flag('k', "lock-memory", false, LeftOut("memory is not locked")),
    flag('v', "verbose", false, Same),
    flag('P', "pidfile", true, Same),
    flag('f', "slab-growth-factor", true, LeftOut("there are no slab classes")),
    flag('n', "slab-min-size", true, LeftOut("there are no slab classes")),
    flag('L', "enable-largepages", false, LeftOut("the system chooses the size of pages")),
    flag('D', "stat-delimiter", true, LeftOut("statistics by prefix have the delimiter ':'")),
    flag('t', "threads", true, Same),
    flag('R', "max-reqs-per-event", true, LeftOut("clients are served by turns of 64 KiB")),
    flag('C', "disable-cas", false, Same),
    flag('b', "listen-backlog", true, LeftOut("the system's own limit counts")),
    flag('B', "protocol", true, Same),
    flag('I', "max-item-size", true, Same),
    flag('Y', "auth-file", true, Same),
    flag(
        'S',
        "enable-sasl",
        false,
        Refused("name the users with -Y FILE, which requires authentication of all clients"),
    ),
    flag('F', "disable-flush-all", false, Same),
    flag('X', "disable-dumping", false, LeftOut("there is no dump of keys")),
    flag('W', "disable-watch", false, LeftOut("there is no watch")),
    flag('e', "memory-file", true, Refused("with --durable and --device a cache outlives a restart")),
    flag('o', "extended", true, Extended),
    flag('N', "napi-ids", true, LeftOut("threads are not bound to receive queues")),
    flag('Z', "enable-ssl", false, Same),
];

const fn flag(short: char, long: &'static str, takes_value: bool, translation: Translation) -> Flag {
    Flag { short, long, takes_value, translation }
}

/// The command under translation.
#[derive(Debug, Default)]
struct Command {
    /// Commands before it.
    before: Vec<String>,
    devices: Vec<String>,
    words: Vec<String>,
    notes: Vec<String>,
    refusals: Vec<String>,
    listens: bool,
}

/// Prints the command with the effect of memcached's flags on `out`, and notes on flags that are left out on
/// standard error.
///
/// # Errors
/// Flags that memcached does not have, or that have no counterpart and cannot be left out.
pub(super) fn translate(flags: &[String], out: &mut dyn Write) -> Result<(), Failure> {
    let command = Command::parse(flags)?;
    for note in &command.notes {
        crate::tell!("note: {note}");
    }
    for line in command.lines() {
        writeln!(out, "{line}")?;
    }
    Ok(out.flush()?)
}

impl Command {
    fn parse(flags: &[String]) -> Result<Command, Failure> {
        let mut command = Command::default();
        let mut words = flags.iter().map(String::as_str).peekable();
        if words.peek().is_some_and(|word| word.rsplit('/').next() == Some("memcached")) {
            words.next();
        }
        while let Some(word) = words.next() {
            if let Some(name) = word.strip_prefix("--") {
                let (name, value) = match name.split_once('=') {
                    Some((name, value)) => (name, Some(value)),
                    None => (name, None),
                };
                let flag = FLAGS.iter().find(|flag| flag.long == name).ok_or_else(|| unknown_long(name))?;
                let value = if flag.takes_value { value.or_else(|| words.next()) } else { None };
                command.add(flag, value)?;
            } else if let Some(cluster) = word.strip_prefix('-').filter(|cluster| !cluster.is_empty()) {
                command.add_cluster(cluster, &mut words)?;
            } else {
                return Err(Failure::Input(format!(
                    "'{word}' is no flag of memcached; flags begin with '-'"
                )));
            }
        }
        if !command.refusals.is_empty() {
            return Err(Failure::Input(command.refusals.join("\n")));
        }
        command.finish();
        Ok(command)
    }

    /// Short flags in one word, as in `-vvp 11211` or `-m1024`.
    fn add_cluster<'w>(
        &mut self,
        cluster: &'w str,
        words: &mut impl Iterator<Item = &'w str>,
    ) -> Result<(), Failure> {
        let mut rest = cluster;
        while let Some(short) = rest.chars().next() {
            rest = &rest[short.len_utf8()..];
            let Some(flag) = FLAGS.iter().find(|flag| flag.short == short) else {
                return Err(Failure::Input(format!("memcached has no flag -{short}; see memcached -h")));
            };
            if flag.takes_value {
                let value = if rest.is_empty() { words.next() } else { Some(rest) };
                return self.add(flag, value);
            }
            self.add(flag, None)?;
        }
        Ok(())
    }

    fn add(&mut self, flag: &Flag, value: Option<&str>) -> Result<(), Failure> {
        if flag.takes_value && value.is_none() {
            return Err(Failure::Input(format!("-{} needs a value", flag.short)));
        }
        let value = value.unwrap_or_default();
        let written = format!("-{} {value}", flag.short);
        let written = written.trim_end();
        match flag.translation {
            Same => self.push(flag, value),
            Listen => {
                self.listens = true;
                self.push(flag, value);
                let is_local = |address: &str| {
                    address.starts_with("127.") || address.starts_with("localhost") || address.contains("::1")
                };
                let allow = String::from("--allow-network");
                if !value.split(',').all(is_local) && !self.words.contains(&allow) {
                    self.words.push(allow);
                }
            }
            LeftOut(why) => self.notes.push(format!("{written} is left out: {why}")),
            Refused(why) => self.refusals.push(format!("{written}: {why}")),
            Extended => value.split(',').for_each(|option| self.extend(option)),
        }
        Ok(())
    }

    fn push(&mut self, flag: &Flag, value: &str) {
        self.words.push(format!("-{}", flag.short));
        if flag.takes_value {
            self.words.push(quoted(value));
        }
    }

    /// One option of `-o`.
    fn extend(&mut self, option: &str) {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        match name {
            "" => {}
            "ext_path" => {
                let (file, size) = value.rsplit_once(':').unwrap_or((value, ""));
                // A bucket of pages may follow the size.
                let (file, size) = match size.chars().next().is_some_and(|c| c.is_ascii_digit()) {
                    true => (file, size),
                    false => file.rsplit_once(':').unwrap_or((file, size)),
                };
                let is_size = |size: &str| {
                    let digits = size.trim_end_matches(['m', 'M', 'g', 'G', 't', 'T', 'p', 'P']);
                    size.len() - digits.len() == 1 && digits.parse::<u64>().is_ok_and(|size| size > 0)
                };
                if file.is_empty() || !is_size(size) {
                    self.refusals
                        .push(format!("-o {option}: it must be ext_path=FILE:SIZE, such as /data/file:64G"));
                    return;
                }
                self.before.push(format!("truncate --size={} {}", size.to_uppercase(), quoted(file)));
                self.devices.push(quoted(file));
            }
            "idle_timeout" | "ssl_chain_cert" | "ssl_key" | "ssl_ca_cert" | "ssl_verify_mode" => {
                self.words.extend([String::from("-o"), quoted(option)])
            }
            "resp_obj_mem_limit" | "read_buf_mem_limit" => {
                self.notes.push(format!(
                    "-o {option} is left out: memory for clients has one limit, --client-memory"
                ));
            }
            _ if name.starts_with("ext_") => {
                self.notes.push(format!("-o {option} is left out: the flash tier is organised otherwise"));
            }
            _ if name.starts_with("ssl_") => {
                self.notes.push(format!("-o {option} is left out: TLS 1.2 and 1.3 have their usual suites"));
            }
            _ if name.starts_with("proxy") => {
                self.refusals.push(format!("-o {option}: there is no proxy here"));
            }
            _ => self.notes.push(format!("-o {option} is left out: memory is organised otherwise")),
        }
    }

    fn finish(&mut self) {
        match self.devices.len() {
            0 => self.words.insert(0, String::from("--memory-only")),
            1 => {}
            count => {
                let array =
                    ["--set", &format!("array.drives={count}"), "--set", "array.layout=raid0", "--create"];
                self.words.splice(0..0, array.map(String::from));
                self.notes.push(String::from(
                    "--create is for the first start only; afterwards the array is found on its files",
                ));
            }
        }
        for device in self.devices.iter().rev() {
            self.words.splice(0..0, [String::from("--device"), device.clone()]);
        }
        let is_unix = self.words.iter().any(|word| word == "-s");
        if !self.listens && !is_unix {
            self.notes.push(String::from(
                "memcached listens on every address without -l, tailcut on 127.0.0.1: add -l 0.0.0.0 \
                 --allow-network if other machines connect",
            ));
        }
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = self.before.clone();
        lines.push([String::from("tailcut serve kv"), self.words.join(" ")].join(" ").trim_end().to_string());
        lines
    }
}

fn unknown_long(name: &str) -> Failure {
    let meant = nearest(name, FLAGS.iter().map(|flag| flag.long));
    let meant = meant.map_or(String::from("see memcached -h"), |near| format!("did you mean --{near}?"));
    Failure::Input(format!("memcached has no flag --{name}; {meant}"))
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=%+@[]".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_string();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::ColorMode;

    fn command(line: &str) -> Command {
        let words: Vec<String> = line.split_whitespace().map(String::from).collect();
        Command::parse(&words).unwrap_or_else(|error| panic!("{}", error.render(ColorMode::Plain)))
    }

    fn refusal(line: &str) -> String {
        let words: Vec<String> = line.split_whitespace().map(String::from).collect();
        Command::parse(&words).map(|_| ()).expect_err("refused").render(ColorMode::Plain)
    }

    #[test]
    fn flags_that_are_the_same_stay() {
        let line = "memcached -m1024 -t 4 -vvp 11212 -l 127.0.0.1 --conn-limit=2048 -M";
        let want = "tailcut serve kv --memory-only -m 1024 -t 4 -v -v -p 11212 -l 127.0.0.1 -c 2048 -M";
        assert_eq!(command(line).lines(), [want]);
        assert_eq!(command(line).notes, [""; 0]);
    }

    #[test]
    fn the_flash_tier_becomes_a_device() {
        let lines =
            command("-m 64 -o ext_path=/data/file:64G,ext_threads=4,idle_timeout=60 -l 10.0.0.1").lines();
        let want =
            "tailcut serve kv --device /data/file -m 64 -o idle_timeout=60 -l 10.0.0.1 --allow-network";
        assert_eq!(lines, ["truncate --size=64G /data/file", want]);
        let lines = command("-o ext_path=/a:1G -o ext_path=/b:1G -s m.sock").lines();
        assert!(lines[2].contains("--device /a --device /b --set array.drives=2"), "{lines:?}");
    }

    #[test]
    fn what_is_left_out_is_said_and_what_cannot_be_is_refused() {
        let notes = command("-f 1.25 -R 20 -o modern").notes;
        assert_eq!(notes.len(), 4, "{notes:?}");
        assert!(notes[0].starts_with("-f 1.25 is left out: "), "{notes:?}");
        assert!(refusal("-S").contains("-S: name the users with -Y FILE"));
        let tls = command("-Z -o ssl_chain_cert=c.pem,ssl_key=k.pem,ssl_ciphers=x -s a").lines();
        assert!(tls[0].contains("-Z -o ssl_chain_cert=c.pem -o ssl_key=k.pem"), "{tls:?}");
        assert!(refusal("-m").contains("-m needs a value"));
        assert!(refusal("--memory-limt 64").contains("did you mean --memory-limit?"));
        assert!(refusal("-q").contains("no flag -q"));
        assert!(refusal("64").contains("'64' is no flag"));
        for without_size in ["/data/file", "/data/file:64", "/data/file:64Q", ":64G"] {
            let line = format!("-o ext_path={without_size}");
            assert!(refusal(&line).contains("ext_path=FILE:SIZE"), "{line}");
        }
    }
}
