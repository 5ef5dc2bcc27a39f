//! Files that are written whole or not at all: under a temporary name beside their own, then renamed.
//!
//! Who writes a temporary file holds a lock on it, so that what killed processes left is told from what others are about to finish.

use crate::error::Error;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

const ENDING: &str = ".partial";

/// How often a file is begun again whose temporary one was taken away (between its making and its lock, or where there are no locks).
const ATTEMPTS: u32 = 4;

/// Whether a temporary file is called so.
pub(super) fn is_partial(name: &str) -> bool {
    name.starts_with('.') && name.ends_with(ENDING)
}

/// Lets `write` make a file under a temporary name, then lets `settle` give it its own.
pub(super) fn whole(
    file: &Path,
    write: impl Fn(&Path) -> Result<(), Error>,
    settle: impl Fn(&Path) -> io::Result<()>,
) -> Result<(), Error> {
    let wrong = |source| Error::Write { path: file.to_path_buf(), source };
    let mut attempt = 1;
    loop {
        let (partial, lock) = reserved(file).map_err(wrong)?;
        let settled = write(&partial).map(|()| settle(&partial));
        drop(lock);
        match settled {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) if error.kind() == io::ErrorKind::NotFound && attempt < ATTEMPTS => attempt += 1,
            other => {
                // Nothing more can be done about a leftover than to try.
                let _ = fs::remove_file(&partial);
                return other?.map_err(wrong);
            }
        }
    }
}

/// Makes a temporary file beside `file` that nobody else has: shards on other machines may have the same process id.
fn reserved(file: &Path) -> io::Result<(PathBuf, File)> {
    let last = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut attempt = 0_u64;
    loop {
        let partial = file.with_file_name(format!(".{last}.{}-{attempt}{ENDING}", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).open(&partial) {
            Ok(made) => {
                // A file system without locks has files that nobody removes.
                let _ = made.try_lock();
                return Ok((partial, made));
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => attempt += 1,
            Err(error) => return Err(error),
        }
    }
}

/// Removes the temporary files in `dir` that nobody writes, of files whose first word `ours` knows.
pub(super) fn sweep_up(dir: &Path, ours: impl Fn(&str) -> bool) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let word = name.strip_prefix('.').and_then(|name| name.split('.').next());
        if !is_partial(&name) || !word.is_some_and(&ours) || !entry.file_type().is_ok_and(|it| it.is_file()) {
            continue;
        }
        let path = entry.path();
        if let Ok(file) = File::open(&path)
            && file.try_lock().is_ok()
        {
            // What cannot be removed is only untidy.
            let _ = fs::remove_file(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(path: &Path, text: &str) -> Result<(), Error> {
        fs::write(path, text).map_err(|source| Error::Write { path: path.to_path_buf(), source })
    }

    #[test]
    fn what_is_being_written_is_left_and_what_is_left_behind_goes() {
        let dir = tempfile::tempdir().unwrap();
        let left = dir.path().join(".sweep.parquet.1-0.partial");
        fs::write(&left, "killed").unwrap();
        let other = dir.path().join(".000007.json.1-0.partial");
        fs::write(&other, "of another shard").unwrap();
        let file = dir.path().join("sweep.parquet");
        let write = |partial: &Path| {
            sweep_up(dir.path(), |word| word != "000007");
            assert!(partial.exists() && !left.exists() && other.exists());
            text(partial, "whole")
        };
        whole(&file, write, |partial| fs::rename(partial, &file)).unwrap();
        assert_eq!((fs::read(&file).unwrap(), fs::read_dir(dir.path()).unwrap().count()), (b"whole".to_vec(), 2));
    }

    #[test]
    fn what_is_taken_away_is_written_again() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("x");
        let calls = std::cell::Cell::new(0);
        let write = |partial: &Path| {
            calls.set(calls.get() + 1);
            if calls.get() < 3 {
                fs::remove_file(partial).unwrap();
                return Ok(());
            }
            text(partial, "whole")
        };
        whole(&file, write, |partial| fs::rename(partial, &file)).unwrap();
        assert_eq!(calls.get(), 3);
    }
}
