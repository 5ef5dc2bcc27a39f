//! A ledger as a file: a head (magic, version, counts, hash), then the packed facts under zstd.

use super::Ledger;
use super::pack::Codec;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 8] = b"SLABLDGR";

/// Why a ledger cannot be written or read.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum LedgerError {
    /// The file cannot be made or written.
    #[error("cannot write ledger `{}`", file.display())]
    #[diagnostic(code(ledger::write))]
    Write {
        /// Which.
        file: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The file cannot be opened or read.
    #[error("cannot read ledger `{}`", file.display())]
    #[diagnostic(code(ledger::read))]
    Read {
        /// Which.
        file: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It does not begin as a ledger does.
    #[error("`{}` is not a ledger", file.display())]
    #[diagnostic(code(ledger::magic), help("a run writes its ledger to POLICY/SEED/ledger in its output directory"))]
    NotALedger {
        /// Which.
        file: PathBuf,
    },
    /// It is of another version.
    #[error("ledger `{}` has version {version}, expected {}", file.display(), Ledger::VERSION)]
    #[diagnostic(code(ledger::version), help("run the scenario again with this schedlab"))]
    Version {
        /// Which.
        file: PathBuf,
        /// The version it names.
        version: u32,
    },
    /// Its contents are not what its head promises.
    #[error("ledger `{}` is damaged: {what}", file.display())]
    #[diagnostic(code(ledger::damaged), help("run the scenario again; equal inputs give an equal ledger"))]
    Damaged {
        /// Which.
        file: PathBuf,
        /// What is wrong.
        what: &'static str,
    },
}

impl Ledger {
    /// Writes the ledger to `path`, compressed.
    pub fn save(&self, path: &Path) -> Result<(), LedgerError> {
        let wrong = |source| LedgerError::Write { file: path.into(), source };
        let mut file = BufWriter::new(File::create(path).map_err(wrong)?);
        self.write_to(&mut file).and_then(|()| file.flush()).map_err(wrong)
    }

    /// Reads a ledger that [`Ledger::save`] wrote. Its hash is checked and every fact is decoded once.
    pub fn load(path: &Path) -> Result<Ledger, LedgerError> {
        let wrong = |source| LedgerError::Read { file: path.into(), source };
        let damaged = |what| LedgerError::Damaged { file: path.into(), what };
        let mut file = BufReader::new(File::open(path).map_err(wrong)?);
        let mut head = Vec::new();
        file.by_ref().take(HEAD as u64).read_to_end(&mut head).map_err(wrong)?;
        if head.first_chunk() != Some(MAGIC) {
            return Err(LedgerError::NotALedger { file: path.into() });
        }
        let Some(head) = head.first_chunk::<HEAD>() else {
            return Err(damaged("it ends within its head"));
        };
        let version = u32::from_le_bytes(part(head, 8));
        if version != Ledger::VERSION {
            return Err(LedgerError::Version { file: path.into(), version });
        }
        let (len, bytes) = (u64::from_le_bytes(part(head, 12)), u64::from_le_bytes(part(head, 20)));
        let mut packed = Vec::new();
        let decoder = zstd::Decoder::new(file).map_err(wrong)?;
        // One byte more than promised, so that too long is told from right without reading all of it.
        if decoder.take(bytes.saturating_add(1)).read_to_end(&mut packed).is_err() {
            return Err(damaged("its compressed part cannot be read"));
        }
        if packed.len() as u64 != bytes {
            return Err(damaged("its length is not the one in its head"));
        }
        let mut codec = Codec::default();
        let mut ledger = Ledger { chunks: vec![packed], len, bytes, codec: Codec::default() };
        if *ledger.digest().as_bytes() != part(head, 28) {
            return Err(damaged("its hash is not the one in its head"));
        }
        let mut rest: &[u8] = &ledger.chunks[0];
        let mut facts = 0;
        while !rest.is_empty() {
            codec.decode(&mut rest).ok_or_else(|| damaged("it holds something that is not a fact"))?;
            facts += 1;
        }
        if facts != len {
            return Err(damaged("its number of facts is not the one in its head"));
        }
        ledger.codec = codec;
        Ok(ledger)
    }

    fn write_to(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(MAGIC)?;
        out.write_all(&Ledger::VERSION.to_le_bytes())?;
        out.write_all(&self.len.to_le_bytes())?;
        out.write_all(&self.bytes.to_le_bytes())?;
        out.write_all(self.digest().as_bytes())?;
        let mut packer = zstd::Encoder::new(out, 1)?;
        for chunk in &self.chunks {
            packer.write_all(chunk)?;
        }
        packer.finish().map(|_| ())
    }
}

/// Bytes of the head: magic, version, facts, bytes, hash.
const HEAD: usize = 8 + 4 + 8 + 8 + 32;

fn part<const N: usize>(head: &[u8; HEAD], from: usize) -> [u8; N] {
    *head[from..].first_chunk().expect("fields lie within the head")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Fact;
    use crate::ids::JobId;
    use crate::units::SimTime;

    fn story(jobs: u32) -> Ledger {
        let mut ledger = Ledger::default();
        for row in 0..jobs {
            ledger.push(SimTime::from_secs(u64::from(row)), &Fact::Submitted { job: JobId(row) });
        }
        ledger
    }

    #[test]
    fn a_saved_ledger_reads_back_and_goes_on() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ledger");
        for jobs in [0, 1, 5000] {
            let mut ledger = story(jobs);
            ledger.save(&path).unwrap();
            let mut read = Ledger::load(&path).unwrap();
            assert_eq!(read.hash(), ledger.hash());
            assert_eq!(read.len(), u64::from(jobs));
            assert!(read.iter().eq(ledger.iter()));
            let at = SimTime::from_secs(1_000_000);
            ledger.push(at, &Fact::Cut);
            read.push(at, &Fact::Cut);
            assert_eq!(read.hash(), ledger.hash());
        }
    }

    #[test]
    fn a_damaged_ledger_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ledger");
        story(300).save(&path).unwrap();
        let whole = std::fs::read(&path).unwrap();
        for cut in 0..whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            assert!(Ledger::load(&path).is_err(), "cut after {cut} bytes");
        }
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x10;
            std::fs::write(&path, &bytes).unwrap();
            if let Ok(read) = Ledger::load(&path) {
                // A few bits of a zstd frame carry nothing; what is read must still be right.
                assert_eq!(read.hash(), story(300).hash(), "byte {at}");
            }
        }
        std::fs::write(&path, "job,gpus\n1,8\n").unwrap();
        let message = Ledger::load(&path).unwrap_err().to_string();
        assert!(message.ends_with("is not a ledger"), "{message}");
        assert!(matches!(Ledger::load(&dir.path().join("none")), Err(LedgerError::Read { .. })));
    }
}
