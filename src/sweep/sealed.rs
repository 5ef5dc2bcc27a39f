//! Files that are believed only whole: JSON objects whose first field is a hash of the rest, so that what was cut short, or changed by
//! hand, is told from what a sweep wrote. Only regular files are read, up to a size: a pipe or a device would never end.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// Largest file that is read (our choice: far above the figures of a run with a hundred thousand accounts, and the largest grid).
const BYTES_MAX: u64 = 1 << 30;

/// The field of the hash.
const FIELD: &str = "content";

/// What a sealed file holds.
#[derive(Debug)]
pub(super) enum Sealed<T> {
    /// There is none.
    Absent,
    /// It is no regular file.
    InTheWay,
    /// It cannot be read, is cut short or was changed.
    Damaged,
    /// As it was written.
    Whole(T),
}

impl<T: DeserializeOwned> Sealed<T> {
    /// Reads a file.
    pub(super) fn read(path: &Path) -> Sealed<T> {
        match fs::metadata(path) {
            // A link that leads nowhere can be replaced by a rename.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Sealed::Absent,
            Err(_) => Sealed::Damaged,
            Ok(found) if !found.is_file() => Sealed::InTheWay,
            Ok(_) => match regular(path).ok().and_then(|bytes| unseal(&bytes)) {
                Some(value) => Sealed::Whole(value),
                None => Sealed::Damaged,
            },
        }
    }

    /// The value, if it is whole.
    pub(super) fn whole(self) -> Option<T> {
        match self {
            Sealed::Whole(value) => Some(value),
            Sealed::Absent | Sealed::InTheWay | Sealed::Damaged => None,
        }
    }
}

/// The bytes of a regular file.
///
/// - Errors: it cannot be read, is something else, or too large.
pub(super) fn regular(path: &Path) -> io::Result<Vec<u8>> {
    let refused = |what: &str| io::Error::new(io::ErrorKind::InvalidInput, what.to_owned());
    let found = fs::metadata(path)?;
    if found.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !found.is_file() {
        return Err(refused("it is a pipe or a device, and a regular file is expected"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if BYTES_MAX < bytes.len() as u64 { Err(refused("it is larger than 1 GiB")) } else { Ok(bytes) }
}

/// The text of an object, sealed.
pub(super) fn seal(value: &impl Serialize, is_pretty: bool) -> String {
    let made = if is_pretty { serde_json::to_string_pretty(value) } else { serde_json::to_string(value) };
    let mut body = made.expect("grids and parts have text keys and finite numbers");
    body.push('\n');
    let hash = blake3::hash(body.as_bytes()).to_hex();
    format!("{}{hash}\",{}", head(is_pretty), &body[1..])
}

/// What stands before the hash.
fn head(is_pretty: bool) -> String {
    if is_pretty { format!("{{\n  \"{FIELD}\": \"") } else { format!("{{\"{FIELD}\":\"") }
}

fn unseal<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    let text = std::str::from_utf8(bytes).ok()?;
    let rest = [false, true].into_iter().find_map(|is_pretty| text.strip_prefix(&head(is_pretty)))?;
    let (hash, body) = rest.split_once("\",")?;
    let body = format!("{{{body}");
    (blake3::hash(body.as_bytes()).to_hex().as_str() == hash).then(|| serde_json::from_str(&body).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn one_byte_more_less_or_other_is_told() {
        for is_pretty in [false, true] {
            let value = json!({"a": [1, 0.1], "b": "\"x\","});
            let text = seal(&value, is_pretty);
            assert!(serde_json::from_str::<Value>(&text).is_ok(), "{text}");
            assert_eq!(unseal::<Value>(text.as_bytes()), Some(value));
            for at in 0..text.len() {
                assert_eq!(unseal::<Value>(&text.as_bytes()[..at]), None, "cut at {at}");
                let mut other = text.clone().into_bytes();
                other[at] ^= 1;
                assert_eq!(unseal::<Value>(&other), None, "changed at {at}: {text}");
            }
            assert_eq!(unseal::<Value>(format!("{text} ").as_bytes()), None);
        }
    }

    #[cfg(unix)]
    #[test]
    fn only_regular_files_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for path in [pipe.as_path(), dir.path(), Path::new("/dev/zero")] {
            assert!(regular(path).is_err(), "{}", path.display());
            assert!(matches!(Sealed::<Value>::read(path), Sealed::InTheWay), "{}", path.display());
        }
        assert!(matches!(Sealed::<Value>::read(&dir.path().join("none")), Sealed::Absent));
    }
}
