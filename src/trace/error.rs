//! What can be wrong with a trace, said with file, line, columns, the text itself and what was expected.

use crate::registry::nearest;
use miette::{Diagnostic, MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents};
use std::fmt;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where in an input file a problem lies. Lines and columns count from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The file as it was named.
    pub file: Arc<Path>,
    /// The line of the text, after decompression.
    pub line: u64,
    /// The columns, in characters, if they are known.
    pub columns: Option<Range<u64>>,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)?;
        match &self.columns {
            Some(columns) => write!(f, ":{}", columns.start),
            None => Ok(()),
        }
    }
}

/// One line of a file, or the part of it around the fault, for messages that show it.
#[derive(Clone, Debug)]
pub struct Excerpt(Arc<Shown>);

#[derive(Debug)]
struct Shown {
    file: String,
    line: u64,
    text: String,
    /// The fault within `text`, in bytes.
    span: Range<usize>,
    /// Bytes of the line that were cut off before `text`.
    cut: usize,
}

impl Excerpt {
    /// Most bytes of a line that a message shows.
    const WIDTH: usize = 160;

    /// The excerpt of `line`, whose bytes `range` are at fault (`None`: all of it), and the place it shows.
    pub(crate) fn new(file: &Arc<Path>, number: u64, line: &[u8], range: Option<Range<usize>>) -> (Location, Excerpt) {
        let range = range.map(|it| it.start.min(line.len())..it.end.min(line.len()));
        let whole = range.clone().unwrap_or(0..line.len());
        let cut = if line.len() <= Excerpt::WIDTH { 0 } else { whole.start.saturating_sub(Excerpt::WIDTH / 2) };
        let end = line.len().min(cut + Excerpt::WIDTH);
        // Bytes that are no text, and control characters, are shown as one mark each so that lengths stay right.
        let shown = |bytes: &[u8]| -> String {
            let text = String::from_utf8_lossy(bytes);
            text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
        };
        let before = shown(&line[cut..whole.start.clamp(cut, end)]);
        let fault = shown(&line[whole.start.clamp(cut, end)..whole.end.clamp(cut, end)]);
        let after = shown(&line[whole.end.clamp(cut, end)..end]);
        let columns = range.map(|it| {
            let start = String::from_utf8_lossy(&line[..it.start]).chars().count() as u64 + 1;
            start..start + String::from_utf8_lossy(&line[it.start..it.end]).chars().count() as u64
        });
        let span = before.len()..before.len() + fault.len();
        let text = format!("{before}{fault}{after}");
        let excerpt = Excerpt(Arc::new(Shown { file: file.display().to_string(), line: number, text, span, cut }));
        (Location { file: file.clone(), line: number, columns }, excerpt)
    }
    /// The faulty part, for a label.
    pub(crate) fn span(&self) -> SourceSpan {
        self.0.span.clone().into()
    }
}

impl SourceCode for Excerpt {
    fn read_span<'a>(&'a self, _: &SourceSpan, _: usize, _: usize) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let Shown { file, line, text, cut, .. } = &*self.0;
        let all = SourceSpan::from(0..text.len());
        let row = line.saturating_sub(1) as usize;
        Ok(Box::new(MietteSpanContents::new_named(file.clone(), text.as_bytes(), all, row, *cut, 1)))
    }
}

/// Why a trace or a node list cannot be read.
#[derive(Debug, thiserror::Error, Diagnostic)]
pub enum TraceError {
    /// It is missing or not readable.
    #[error("cannot open `{}`", file.display())]
    #[diagnostic(code(trace::open), help("where public traces come from: traces/README.md"))]
    Open {
        /// The file.
        file: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// It is a directory.
    #[error("`{}` is a directory, expected a file", file.display())]
    #[diagnostic(code(trace::directory))]
    Directory {
        /// What was named.
        file: PathBuf,
    },
    /// It has no line of data or header.
    #[error("`{}` is empty, expected a trace", file.display())]
    #[diagnostic(code(trace::empty))]
    Empty {
        /// The file.
        file: PathBuf,
    },
    /// Reading stopped: a truncated or damaged compressed file, or a failing disk.
    #[error("{at}: cannot read on after this line")]
    #[diagnostic(code(trace::read), help("a compressed file may be cut short or damaged: fetch it again"))]
    Read {
        /// The last line that was read whole.
        at: Location,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// It is no text.
    #[error("{at}: not a text file: {found}")]
    #[diagnostic(code(trace::not_text), help("traces are UTF-8 text, plain or compressed with gzip or zstd"))]
    NotText {
        /// Where that shows.
        at: Location,
        /// What it looks like.
        found: &'static str,
    },
    /// No registered format has this name.
    #[error("unknown trace format `{name}`, expected one of {known}")]
    #[diagnostic(code(trace::format))]
    UnknownFormat {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
        /// The name that may be meant.
        #[help]
        help: Option<String>,
    },
    /// The first line belongs to no known format.
    #[error("{at}: no known trace format starts like this")]
    #[diagnostic(code(trace::unrecognised))]
    Unrecognised {
        /// The first line.
        at: Location,
        /// The line.
        #[source_code]
        row: Excerpt,
        /// All of it.
        #[label("expected a header of one of the formats")]
        span: SourceSpan,
        /// What comes nearest.
        #[help]
        help: String,
    },
    /// A needed column is not in the header.
    #[error("{at}: the column `{column}` is missing")]
    #[diagnostic(code(trace::missing_column))]
    MissingColumn {
        /// The header.
        at: Location,
        /// What is needed.
        column: &'static str,
        /// The header's text.
        #[source_code]
        row: Excerpt,
        /// All of it.
        #[label("the header")]
        span: SourceSpan,
        /// The nearest column that is there, and what all formats need.
        #[help]
        help: Option<String>,
    },
    /// A column stands twice in the header.
    #[error("{at}: the column `{column}` stands twice in the header")]
    #[diagnostic(code(trace::double_column))]
    DoubleColumn {
        /// The second of them.
        at: Location,
        /// Its name.
        column: String,
        /// The header's text.
        #[source_code]
        row: Excerpt,
        /// The second of them.
        #[label("the second")]
        span: SourceSpan,
    },
    /// A row is not shaped like the header.
    #[error("{at}: {found}, expected {expected}")]
    #[diagnostic(code(trace::row))]
    Row {
        /// The row.
        at: Location,
        /// What it is.
        found: String,
        /// What it should be.
        expected: String,
        /// Its text.
        #[source_code]
        row: Excerpt,
        /// All of it, or the part at fault.
        #[label("expected {expected}")]
        span: SourceSpan,
    },
    /// One field cannot be read.
    #[error("{at}: `{field}` is `{value}`, expected {expected}")]
    #[diagnostic(code(trace::bad_field), help("traces/README.md describes the columns of each format"))]
    BadField {
        /// The field.
        at: Location,
        /// Its column.
        field: &'static str,
        /// What it holds.
        value: Box<str>,
        /// What it should hold.
        expected: &'static str,
        /// The row's text.
        #[source_code]
        row: Excerpt,
        /// The field in it.
        #[label("expected {expected}")]
        span: SourceSpan,
    },
    /// The text is no JSON, or not of the form that is read.
    #[error("{at}: {message}")]
    #[diagnostic(code(trace::json), help("traces/README.md describes the fields of each format"))]
    Json {
        /// Where that shows.
        at: Location,
        /// What is wrong.
        message: String,
    },
    /// One field of a JSON text cannot be read.
    #[error("{at}: `{path}` is {value}, expected {expected}")]
    #[diagnostic(
        code(trace::json_field),
        help("the line is that on which the job ends; traces/README.md describes the fields of each format")
    )]
    JsonField {
        /// The job.
        at: Location,
        /// The field in it.
        path: Box<str>,
        /// What it holds.
        value: Box<str>,
        /// What it should hold.
        expected: &'static str,
    },
    /// Two rows have one id.
    #[error("{at}: the id `{name}` was already used at line {first}")]
    #[diagnostic(code(trace::double_id), help("every {what} needs an id of its own"))]
    DoubleId {
        /// The second row.
        at: Location,
        /// What the rows stand for.
        what: &'static str,
        /// The id.
        name: String,
        /// The line of the first row.
        first: u64,
    },
    /// A dependency names a job that is not there.
    #[error("{at}: `{name}` waits for the job `{after}`, which is not in the trace")]
    #[diagnostic(code(trace::unknown_dependency))]
    UnknownDependency {
        /// The row.
        at: Location,
        /// The job.
        name: String,
        /// What it names.
        after: String,
    },
    /// A recorded order names what is not there.
    #[error("{at}: the order names a {what} `{name}`, which is not in {list}")]
    #[diagnostic(code(trace::unknown_name))]
    UnknownName {
        /// The row.
        at: Location,
        /// `node` or `pod`.
        what: &'static str,
        /// The name.
        name: String,
        /// Where it should be.
        list: &'static str,
    },
    /// Jobs wait for each other in a circle.
    #[error("{at}: `{name}` waits, through others, for itself")]
    #[diagnostic(code(trace::circle))]
    Circle {
        /// A row of the circle.
        at: Location,
        /// Its job.
        name: String,
    },
    /// Nothing is left to replay.
    #[error("`{}` holds no job to replay: {why}", file.display())]
    #[diagnostic(code(trace::no_jobs))]
    NoJobs {
        /// The file.
        file: PathBuf,
        /// What became of its rows.
        why: String,
    },
    /// The trace lacks what the way it is used needs.
    #[error("`{}`: {message}", file.display())]
    #[diagnostic(code(trace::lacks))]
    Lacks {
        /// The file.
        file: PathBuf,
        /// What is missing.
        message: String,
        /// What can be done.
        #[help]
        help: Option<String>,
    },
    /// A knob of the format cannot be.
    #[error("`{}`: knob `{knob}` is `{value}`, expected {expected}", file.display())]
    #[diagnostic(code(trace::knob))]
    Knob {
        /// The file.
        file: PathBuf,
        /// The knob.
        knob: &'static str,
        /// What it says.
        value: String,
        /// What it should say.
        expected: &'static str,
    },
    /// The trace is larger than the tables that hold it.
    #[error("{at}: too many {what}, at most {most} are supported")]
    #[diagnostic(code(trace::too_many))]
    TooMany {
        /// The row that is one too many.
        at: Location,
        /// Of what.
        what: &'static str,
        /// The bound.
        most: u64,
    },
    /// More faults than a message should hold.
    #[error("`{}`: and {more} more faults like these", file.display())]
    #[diagnostic(code(trace::more))]
    More {
        /// The file.
        file: PathBuf,
        /// How many are not shown.
        more: u64,
    },
}

impl TraceError {
    /// A fault of one field, or of all of the row where `range` is `None`.
    pub(crate) fn bad_row(
        file: &Arc<Path>,
        number: u64,
        line: &[u8],
        range: Option<Range<usize>>,
        found: String,
        expected: String,
    ) -> TraceError {
        let (at, row) = Excerpt::new(file, number, line, range);
        let span = row.span();
        TraceError::Row { at, found, expected, row, span }
    }
    /// The help that names the nearest of `candidates`, if one is near.
    pub(crate) fn did_you_mean<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
        nearest(name, candidates).map(|near| format!("did you mean `{near}`?"))
    }
}

/// Faults of one file: the first few are kept, the others counted.
#[derive(Debug, Default)]
pub struct Faults {
    kept: Vec<TraceError>,
    more: u64,
}

impl Faults {
    /// How many are shown.
    pub const SHOWN: usize = 20;

    /// Adds one.
    pub fn push(&mut self, fault: TraceError) {
        if self.kept.len() < Faults::SHOWN {
            self.kept.push(fault);
        } else {
            self.more += 1;
        }
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }
    /// All that are shown, with the number of the others; `Ok` if there is none.
    pub fn into_result(mut self, file: &Path) -> Result<(), Vec<TraceError>> {
        if 0 < self.more {
            self.kept.push(TraceError::More { file: file.to_owned(), more: self.more });
        }
        if self.kept.is_empty() { Ok(()) } else { Err(self.kept) }
    }
}
