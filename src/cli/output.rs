//! Writing: to stdout without minding a closed pipe, to files whole or not at all.

use crate::error::Error;
use std::io::{self, Write};
use std::path::Path;

/// Prints to stdout.
pub fn print(text: &str) -> Result<(), Error> {
    let mut out = io::stdout().lock();
    let done = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    unless_closed(done).map_err(|source| Error::Write { path: "(stdout)".into(), source })
}

/// How many characters a line of stdout holds: of the terminal, else 80.
pub fn width() -> usize {
    comfy_table::Table::new().width().map_or(80, usize::from)
}

/// Says something on stderr; where that is closed there is nobody to tell.
pub fn say(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Writes a file whole or not at all: to a temporary file beside it, which then takes its name.
pub fn write_file(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Error> {
    let wrong = |source| Error::Write { path: path.to_path_buf(), source };
    if is_stdout(path) {
        let mut out = io::stdout().lock();
        return unless_closed(write(&mut out).and_then(|()| out.flush())).map_err(wrong);
    }
    // A pipe, a device or a link is written through, never replaced.
    if std::fs::symlink_metadata(path).is_ok_and(|found| !found.is_file()) {
        let through = std::fs::OpenOptions::new().write(true).truncate(true).open(path).and_then(|file| {
            let mut file = io::BufWriter::new(file);
            write(&mut file)?;
            file.flush()
        });
        return unless_closed(through).map_err(wrong);
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
        wrong(source)
    })
}

/// Whether a path means stdout.
pub fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-" || path == Path::new("/dev/stdout")
}

/// Whoever reads a pipe may have seen enough (`| head`): that is not an error.
fn unless_closed(done: io::Result<()>) -> io::Result<()> {
    done.or_else(|error| if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) })
}
