//! A scenario that is to be run, and what it is known by.

use crate::failure::Failure;
use crate::run::Scenario;
use crate::scenario::{self, Comments};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use tailcut_sim::scenario::InputError;
use tailcut_workload::trace::TraceError;
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

/// A resolved scenario with its identity.
#[derive(Clone, Debug)]
pub struct Point {
    /// The resolved scenario, which alone determines the result.
    pub scenario: Scenario,
    /// 32 hexadecimal digits: equal for equal scenarios, versions and contents of the trace.
    pub digest: String,
}

/// Looks through the trace or job file of a scenario once, before it is run many times.
///
/// # Errors
/// What is wrong with the workload.
pub fn check_workload(scenario: &Scenario) -> Result<(), Failure> {
    if scenario.is_synthetic() {
        return Ok(());
    }
    let sectors = scenario.sectors().map_err(|error| Failure::Input(error.in_full()))?;
    match scenario.sources(sectors, false) {
        Ok(_) => Ok(()),
        Err(InputError::Trace(error @ TraceError::BadRecords { .. })) => Err(Failure::Input(format!(
            "{error}\nto leave such lines out, write the trace anew: tailcut trace convert IN OUT --to \
                FORMAT --skip-bad-lines"
        ))),
        Err(error) => Err(Failure::Input(error.in_full())),
    }
}

/// Makes points, and reads each file that scenarios replay once.
#[derive(Default)]
pub struct Identities {
    files: BTreeMap<String, String>,
}

impl Identities {
    /// The identity of a scenario: a digest over this program's version and the scenario as
    /// `--resolved` prints it, with the content of its trace or job file in the place of the file's name, so
    /// that a copy of the trace is the same trace.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn point(&mut self, scenario: Scenario) -> Result<Point, Failure> {
        let mut named = scenario.clone();
        for file in [&mut named.trace.file, &mut named.fio.file] {
            if !file.is_empty() {
                *file = self.content_of(file)?;
            }
        }
        let text = scenario::write(&mut named, Comments::Left);
        let whole = format!("tailcut {}\n{text}", env!("CARGO_PKG_VERSION"));
        Ok(Point { scenario, digest: format!("{:032x}", xxh3_128(whole.as_bytes())) })
    }

    fn content_of(&mut self, file: &str) -> Result<String, Failure> {
        if let Some(known) = self.files.get(file) {
            return Ok(known.clone());
        }
        let digest = digest_of(Path::new(file))
            .map_err(|error| Failure::Input(format!("cannot read {file}: {error}")))?;
        self.files.insert(file.to_owned(), digest.clone());
        Ok(digest)
    }
}

/// The length of a file and a digest of its content.
///
/// # Errors
/// A file that cannot be read.
pub fn digest_of(file: &Path) -> io::Result<String> {
    let mut reader = File::open(file)?;
    let (mut hash, mut bytes) = (Xxh3::new(), 0);
    let mut piece = vec![0; 1 << 16];
    loop {
        match reader.read(&mut piece) {
            Ok(0) => return Ok(format!("{bytes} bytes, xxh3 {:032x}", hash.digest128())),
            Ok(count) => {
                hash.update(&piece[..count]);
                bytes += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(scenario: Scenario) -> String {
        Identities::default().point(scenario).expect("its files can be read").digest
    }

    #[test]
    fn equal_scenarios_are_the_same_point_and_others_are_not() {
        let base = Scenario::default();
        assert_eq!(digest(base.clone()), digest(Scenario::default()));
        assert_ne!(digest(base.clone()), digest(Scenario { seed: 2, ..base.clone() }));
        let mut slower = base.clone();
        slower.device.timing.endurance += 1;
        assert_ne!(digest(base), digest(slower));
    }

    #[test]
    fn a_copy_of_a_trace_is_the_same_trace_and_a_longer_one_is_not() {
        let folder = tempfile::TempDir::new().expect("a folder");
        let with = |name: &str, content: &str| {
            let file = folder.path().join(name);
            std::fs::write(&file, content).expect("the folder is writable");
            let mut scenario = Scenario::default();
            scenario.trace.file = file.to_str().expect("a plain name").to_owned();
            digest(scenario)
        };
        let first = with("a.csv", "1,2,3\n");
        assert_eq!(first, with("b.csv", "1,2,3\n"));
        assert_ne!(first, with("a.csv", "1,2,3\n4,5,6\n"));
    }
}
