//! Facts of one run, packed: what metrics, audit and explanations read. It does not know what the facts mean; [`crate::audit`] does.
//!
//! A fact takes 3 to 12 bytes in append-only chunks, so that growth never copies and a run of a million jobs stays small.

mod file;
mod pack;
#[cfg(test)]
pub(crate) mod story;

pub use file::LedgerError;

use crate::facts::Fact;
use crate::units::SimTime;
use pack::Codec;

/// All facts of one run, in order.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// Whole facts each, so that a reader never looks across two of them.
    chunks: Vec<Vec<u8>>,
    len: u64,
    bytes: u64,
    codec: Codec,
}

impl Ledger {
    /// The version of the packed form; another version is another hash and is not read.
    pub const VERSION: u32 = 1;

    const CHUNK_MIN: u64 = 4 << 10;
    const CHUNK_MAX: u64 = 1 << 20;

    /// Appends a fact.
    ///
    /// Panics if `at` lies before the last fact: the engine's time never goes back.
    pub fn push(&mut self, at: SimTime, fact: &Fact) {
        if self.chunks.last().is_none_or(|chunk| chunk.capacity() - chunk.len() < pack::FACT_MAX) {
            let capacity = self.bytes.clamp(Ledger::CHUNK_MIN, Ledger::CHUNK_MAX);
            self.chunks.push(Vec::with_capacity(capacity as usize));
        }
        let chunk = self.chunks.last_mut().expect("one was pushed if there was none");
        let before = chunk.len();
        self.codec.encode(chunk, at, fact);
        self.bytes += (chunk.len() - before) as u64;
        self.len += 1;
    }
    /// All facts with their instants, in order.
    pub fn iter(&self) -> impl Iterator<Item = (SimTime, Fact)> + '_ {
        let mut codec = Codec::default();
        let mut chunks = self.chunks.iter();
        let mut rest: &[u8] = &[];
        std::iter::from_fn(move || {
            while rest.is_empty() {
                rest = chunks.next()?;
            }
            Some(codec.decode(&mut rest).expect("what `push` packed and `load` checked can be read"))
        })
    }
    /// How many facts.
    pub fn len(&self) -> u64 {
        self.len
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// Bytes they take.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
    /// BLAKE3 of the version and the packed facts, in hexadecimal: equal runs have equal hashes.
    pub fn hash(&self) -> String {
        self.digest().to_hex().to_string()
    }

    fn digest(&self) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"schedlab ledger");
        hasher.update(&Ledger::VERSION.to_le_bytes());
        for chunk in &self.chunks {
            hasher.update(chunk);
        }
        hasher.finalize()
    }
}
