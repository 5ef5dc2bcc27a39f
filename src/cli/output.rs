//! Writing: to stdout without minding a closed pipe, to files whole or not at all.

use crate::error::Error;
use std::io::{self, Write};
use std::path::Path;

/// Prints to stdout. Whoever reads it may have seen enough (`| head`): that is not an error.
pub fn print(text: &str) -> Result<(), Error> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Error::Write { path: "(stdout)".into(), source: error }),
        _ => Ok(()),
    }
}

/// Says something on stderr; where that is closed there is nobody to tell.
pub fn say(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Writes a file whole or not at all: to a temporary file beside it, which then takes its name.
pub fn write_file(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Error> {
    // A pipe, a device or a link is written through, never replaced; `-` is stdout.
    let special = std::fs::symlink_metadata(path).is_ok_and(|found| !found.is_file());
    if special || path.as_os_str() == "-" {
        let through = |write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>| -> io::Result<()> {
            if path.as_os_str() == "-" {
                return write(&mut io::stdout().lock());
            }
            write(&mut io::BufWriter::new(std::fs::OpenOptions::new().write(true).truncate(true).open(path)?))
        };
        let mut write = Some(write);
        let mut once = |out: &mut dyn Write| -> io::Result<()> {
            match write.take() {
                Some(write) => write(out).and_then(|()| out.flush()),
                None => Ok(()),
            }
        };
        let done = through(&mut once);
        return done.or_else(|source| {
            let closed = source.kind() == io::ErrorKind::BrokenPipe;
            if closed { Ok(()) } else { Err(Error::Write { path: path.to_path_buf(), source }) }
        });
    }
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let partial = path.with_file_name(format!(".{name}.{}.partial", std::process::id()));
    let done = std::fs::File::create(&partial).and_then(|file| {
        let mut file = io::BufWriter::new(file);
        write(&mut file)?;
        file.flush()?;
        std::fs::rename(&partial, path)
    });
    done.map_err(|source| {
        // Nothing more can be done about a leftover than to try.
        let _ = std::fs::remove_file(&partial);
        Error::Write { path: path.to_path_buf(), source }
    })
}
