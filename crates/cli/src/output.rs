//! Result files: whole or not at all, and never in the way of what was already printed.

use crate::failure::{Failure, OutputError};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use tailcut_base::BadValue;

/// The folder that takes result files when no other is named.
pub const DEFAULT_FOLDER: &str = "tailcut-out";

/// Whether a file name stands for standard output.
pub fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// A path as a shell reads it.
pub fn shell_word(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@".contains(c);
    if text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

/// Writes JSON to a file, or to `out` where the file is `-`.
///
/// # Errors
/// The file or standard output cannot be written.
pub fn write_json(value: &serde_json::Value, file: &Path, out: &mut dyn Write) -> Result<(), Failure> {
    let text = format!("{value:#}\n");
    if is_stdout(file) {
        out.write_all(text.as_bytes())?;
        return Ok(out.flush()?);
    }
    Ok(write_file(file, text.as_bytes())?)
}

/// Records as CSV (RFC 4180, but lines end with a line feed): fields are quoted where they have to be. All
/// records must have equally many fields.
///
/// # Panics
/// If records have different numbers of fields.
pub fn csv<R>(records: impl IntoIterator<Item = R>) -> String
where
    R: IntoIterator<Item = String>,
{
    let mut writer = csv::Writer::from_writer(Vec::new());
    for record in records {
        writer.write_record(record).expect("records are equally long, and memory takes them");
    }
    let bytes = writer.into_inner().expect("memory takes everything");
    String::from_utf8(bytes).expect("it was made of texts")
}

/// Makes sure that results can be written before anything is run for them: creates `folder`, and tries a file
/// in it and in the folder of each of `files`. A pipe or device among them is only looked at.
///
/// # Errors
/// A sentence that names the path, the cause and the remedy.
pub fn check(folder: Option<&Path>, files: &[&Path]) -> Result<(), BadValue> {
    let refused = |path: &Path, cause: io::Error| {
        BadValue::new(format!(
            "cannot write {}: {cause}; nothing was run: name another place for the results",
            path.display()
        ))
    };
    if let Some(folder) = folder {
        Folder::create(folder).map_err(|error| refused(&error.path, error.cause))?;
        try_beside(&folder.join("results")).map_err(|cause| refused(folder, cause))?;
    }
    for file in files {
        match fs::metadata(file) {
            Ok(there) if there.is_dir() => {
                return Err(refused(file, io::Error::from(io::ErrorKind::IsADirectory)));
            }
            Ok(there) if !there.is_file() => {}
            _ => try_beside(file).map_err(|cause| refused(file, cause))?,
        }
    }
    Ok(())
}

/// Makes the temporary file of `path`, and takes it away again.
fn try_beside(path: &Path) -> io::Result<()> {
    let temporary = beside(path)?;
    File::create(&temporary)?;
    fs::remove_file(&temporary)
}

/// A folder for the files of one run. Print the results before it is created: everything here may
/// fail.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Creates the folder and those above it where they are missing.
    ///
    /// # Errors
    /// The system refuses a folder, or something else has its name.
    pub fn create(path: &Path) -> Result<Folder, OutputError> {
        fs::create_dir_all(path).map_err(|cause| OutputError { path: path.to_owned(), cause })?;
        Ok(Folder { path: path.to_owned() })
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the file `name` in this folder, replacing an older one of that name.
    ///
    /// # Errors
    /// The file cannot be written; an older one of that name stays.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<(), OutputError> {
        self.write_with(name, |file| file.write_all(content))
    }

    /// Like [`Folder::write`] for content that is made while it is written.
    ///
    /// # Errors
    /// The file cannot be written, or `fill` fails; an older one of that name stays.
    pub fn write_with(
        &self,
        name: &str,
        fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), OutputError> {
        write_file_with(&self.path.join(name), fill)
    }
}

/// Writes one file, replacing an older one. Its folder must exist.
///
/// # Errors
/// The file cannot be written; an older one stays.
pub fn write_file(path: &Path, content: &[u8]) -> Result<(), OutputError> {
    write_file_with(path, |file| file.write_all(content))
}

/// Like [`write_file`] for content that is made while it is written: goes to a temporary file in
/// the same folder that takes the name only when it is complete. A pipe or a device is written to
/// as it is.
///
/// # Errors
/// The file cannot be written, or `fill` fails; an older one stays.
pub fn write_file_with(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), OutputError> {
    let written = match fs::metadata(path) {
        Ok(old) if !old.is_file() && !old.is_dir() => write_through(path, fill),
        Ok(_) => fs::canonicalize(path).and_then(|path| replace(&path, fill)),
        Err(_) => replace(path, fill),
    };
    written.map_err(|cause| OutputError { path: path.to_owned(), cause })
}

fn write_through(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut file = BufWriter::new(File::options().write(true).open(path)?);
    fill(&mut file)?;
    file.flush()
}

fn replace(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    if path.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory));
    }
    let temporary = beside(path)?;
    let written = write_new(&temporary, fill).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // The first failure is the one to report; the incomplete file is useless.
        let _ = fs::remove_file(&temporary);
    }
    written
}

fn write_new(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    fill(&mut file)?;
    let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
    // Some file systems find out that they are full only now.
    file.sync_all()
}

/// A name in the same folder that no other process uses.
fn beside(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidFilename))?;
    let mut temporary = std::ffi::OsString::from(".");
    temporary.push(name);
    temporary.push(format!(".{}.part", std::process::id()));
    Ok(path.with_file_name(temporary))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An empty folder of this test; removed on drop.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Scratch {
            let path = std::env::temp_dir().join(format!("tailcut-output-{}-{name}", std::process::id()));
            fs::create_dir_all(&path).expect("the temporary folder is writable");
            Scratch(path)
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(&self.0).expect("the folder exists");
            let name = |entry: io::Result<fs::DirEntry>| entry.map(|e| e.file_name().display().to_string());
            entries.map(|entry| name(entry).expect("a readable entry")).collect()
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn fields_with_commas_and_quotes_are_quoted() {
        let records = [["[60us, 90us]", "plain", ""], ["say \"b\"", "two\nlines", "\u{b5}s"]];
        let text = csv(records.map(|record| record.map(String::from)));
        assert_eq!(text, "\"[60us, 90us]\",plain,\n\"say \"\"b\"\"\",\"two\nlines\",\u{b5}s\n");
    }

    #[test]
    fn files_are_replaced_as_a_whole() {
        let scratch = Scratch::new("replace");
        let folder = Folder::create(&scratch.0.join("a/b")).expect("folders are made");
        folder.write("result.json", b"old").expect("the first one");
        folder.write("result.json", b"new").expect("the second one");
        assert_eq!(fs::read(folder.path().join("result.json")).expect("it is there"), b"new");
        let failed = folder.write_with("result.json", |file| {
            file.write_all(b"half")?;
            Err(io::Error::from(io::ErrorKind::StorageFull))
        });
        assert!(failed.unwrap_err().to_string().contains("make room"));
        assert_eq!(fs::read(folder.path().join("result.json")).expect("it is still there"), b"new");
        assert_eq!(
            fs::read_dir(folder.path()).expect("the folder exists").count(),
            1,
            "nothing is left over"
        );
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_an_error_with_its_name() {
        let scratch = Scratch::new("refused");
        write_file(&scratch.0.join("file"), b"x").expect("a plain file");
        let error = Folder::create(&scratch.0.join("file/out")).unwrap_err();
        assert!(error.to_string().contains("file/out"), "{error}");
        assert!(write_file(&scratch.0, b"x").is_err(), "a folder is no file");
        assert_eq!(scratch.names(), ["file"]);
    }

    #[test]
    fn places_for_results_are_tried_before_a_run() {
        let scratch = Scratch::new("early");
        write_file(&scratch.0.join("file"), b"x").expect("a plain file");
        assert_eq!(check(Some(&scratch.0.join("out")), &[&scratch.0.join("page.html")]), Ok(()));
        assert!(scratch.0.join("out").is_dir());
        let wrong = check(Some(&scratch.0.join("file/out")), &[]).unwrap_err();
        assert!(wrong.message.contains("file/out") && wrong.message.contains("nothing was run"), "{wrong}");
        let wrong = check(None, &[&scratch.0.join("none/page.html")]).unwrap_err();
        assert!(wrong.message.contains("none/page.html"), "{wrong}");
        assert!(check(None, &[&scratch.0]).is_err(), "a folder is no file");
        let mut names = scratch.names();
        names.sort();
        assert_eq!(names, ["file", "out"], "nothing is left over");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_an_error_and_a_device_stays_one() {
        let error = write_file(Path::new("/dev/full"), b"x").unwrap_err();
        assert_eq!(error.cause.kind(), io::ErrorKind::StorageFull);
        write_file(Path::new("/dev/null"), b"x").expect("the void takes everything");
    }
}
