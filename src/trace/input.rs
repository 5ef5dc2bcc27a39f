//! A file as lines of text: decompressed by its first bytes, not by its name, with exact line numbers.

use super::error::{Location, TraceError};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

/// The lines of one text file.
pub struct Lines {
    file: Arc<Path>,
    reader: BufReader<Head>,
    line: Vec<u8>,
    number: u64,
}

/// The first bytes of a stream, read ahead, and the rest of it.
struct Head {
    bytes: Vec<u8>,
    next: usize,
    /// What stopped the reading ahead; told when the bytes before it are used up.
    failed: Option<io::Error>,
    rest: Box<dyn Read>,
}

impl Head {
    fn new(mut rest: Box<dyn Read>, len: usize) -> Head {
        let mut bytes = Vec::new();
        // What was read before an error stays in `bytes`.
        let failed = rest.by_ref().take(len as u64).read_to_end(&mut bytes).err();
        Head { bytes, next: 0, failed, rest }
    }
}

impl Read for Head {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let left = &self.bytes[self.next..];
        if left.is_empty() {
            return match self.failed.take() {
                Some(error) => Err(error),
                None => self.rest.read(out),
            };
        }
        let n = left.len().min(out.len());
        out[..n].copy_from_slice(&left[..n]);
        self.next += n;
        Ok(n)
    }
}

impl Lines {
    /// Longest line of a text file; a longer one is no table of jobs.
    const LINE_MAX: usize = 1 << 20;
    /// How much is read ahead to tell what a file is.
    const HEAD: usize = 1 << 16;

    /// Opens a file, compressed or not.
    ///
    /// - Errors: it is missing, a directory, empty, or no text.
    pub fn open(path: &Path) -> Result<Lines, TraceError> {
        let owned = || path.to_owned();
        if path.is_dir() {
            return Err(TraceError::Directory { file: owned() });
        }
        let file = File::open(path).map_err(|source| TraceError::Open { file: owned(), source })?;
        Lines::new(path, Box::new(file))
    }
    /// The lines of a stream; `path` is its name in messages.
    ///
    /// - Errors: it is empty or no text.
    pub fn new(path: &Path, stream: Box<dyn Read>) -> Result<Lines, TraceError> {
        let mut head = Head::new(stream, 8);
        let magic = head.bytes.clone();
        let at = || Location { file: path.into(), line: 1, columns: None };
        let foreign = |found| Err(TraceError::NotText { at: at(), found });
        let packed: Box<dyn Read> = match magic.as_slice() {
            [0x1f, 0x8b, ..] => Box::new(flate2::read::MultiGzDecoder::new(BufReader::with_capacity(1 << 16, head))),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => match zstd::stream::read::Decoder::new(head) {
                Ok(decoder) => Box::new(decoder),
                Err(source) => return Err(TraceError::Read { at: at(), source }),
            },
            [b'P', b'K', 3, 4, ..] => return foreign("it looks like a zip archive"),
            [b'B', b'Z', b'h', ..] => return foreign("it looks like bzip2"),
            [0xfd, b'7', b'z', b'X', b'Z', ..] => return foreign("it looks like xz"),
            [b'P', b'A', b'R', b'1', ..] => return foreign("it looks like Parquet"),
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => return foreign("it looks like UTF-16"),
            _ => {
                if let Some(source) = head.failed.take() {
                    return Err(TraceError::Read { at: at(), source });
                }
                Box::new(head)
            }
        };
        let mut head = Head::new(packed, Lines::HEAD);
        if head.bytes.is_empty() {
            return Err(match head.failed.take() {
                Some(source) => TraceError::Read { at: at(), source },
                None => TraceError::Empty { file: path.to_owned() },
            });
        }
        if let Some(zero) = head.bytes.iter().position(|&byte| byte == 0) {
            let line = head.bytes[..zero].iter().filter(|&&byte| byte == b'\n').count() as u64 + 1;
            let tar = head.bytes.get(257..262) == Some(b"ustar");
            let found = if tar { "it looks like a tar archive" } else { "it holds a zero byte" };
            return Err(TraceError::NotText { at: Location { file: path.into(), line, columns: None }, found });
        }
        if head.bytes.starts_with(&[0xef, 0xbb, 0xbf]) {
            head.next = 3; // a byte-order mark
        }
        Ok(Lines { file: path.into(), reader: BufReader::with_capacity(1 << 17, head), line: Vec::new(), number: 0 })
    }
    /// The text as a stream, of which no line was taken.
    pub fn into_reader(self) -> impl Read {
        self.reader
    }
    /// The name of the file.
    pub fn file(&self) -> &Arc<Path> {
        &self.file
    }
    /// The start of the text, without taking it: what tells one format from another.
    pub fn head(&self) -> &[u8] {
        let head = self.reader.get_ref();
        let bytes = &head.bytes;
        let mark = if bytes.starts_with(&[0xef, 0xbb, 0xbf]) { 3 } else { 0 };
        &bytes[mark..]
    }
    /// The next line that is not blank, without its end, and its number.
    ///
    /// - Errors: the stream fails, or a line is longer than any table's.
    pub fn next(&mut self) -> Result<Option<(u64, &[u8])>, TraceError> {
        loop {
            self.line.clear();
            let mut limited = self.reader.by_ref().take(Lines::LINE_MAX as u64 + 1);
            match limited.read_until(b'\n', &mut self.line) {
                Ok(0) => return Ok(None),
                Ok(_) => self.number += 1,
                Err(source) => {
                    // The line that broke off is not counted: it was not read whole.
                    return Err(TraceError::Read { at: self.at(self.number.max(1)), source });
                }
            }
            if Lines::LINE_MAX < self.line.len() {
                return Err(TraceError::NotText { at: self.at(self.number), found: "a line is longer than 1 MiB" });
            }
            if self.line.last() == Some(&b'\n') {
                self.line.pop();
            }
            if self.line.last() == Some(&b'\r') {
                self.line.pop();
            }
            if self.line.iter().any(|byte| !byte.is_ascii_whitespace()) {
                return Ok(Some((self.number, &self.line)));
            }
        }
    }
    /// The line that `next` gave last.
    pub fn line(&self) -> &[u8] {
        &self.line
    }
    /// The number of the line that `next` gave last.
    pub fn number(&self) -> u64 {
        self.number
    }
    fn at(&self, line: u64) -> Location {
        Location { file: self.file.clone(), line, columns: None }
    }
}
