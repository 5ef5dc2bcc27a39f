//! Rows of a table: columns found by the name in the header, fields that say where they stand when they are wrong.

use super::error::{Excerpt, Faults, TraceError};
use super::field;
use super::input::Lines;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// One column that a format knows.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its name in the header.
    pub name: &'static str,
    /// Another name that means the same, or "".
    pub alias: &'static str,
    /// Whether a file without it is refused.
    pub needed: bool,
}

impl Column {
    /// A column that must be there.
    pub const fn needed(name: &'static str) -> Column {
        Column { name, alias: "", needed: true }
    }
    /// A column that may be absent.
    pub const fn optional(name: &'static str) -> Column {
        Column { name, alias: "", needed: false }
    }
    /// The same column, known by a second name.
    pub const fn or(mut self, alias: &'static str) -> Column {
        self.alias = alias;
        self
    }
    fn is_named(&self, name: &str) -> bool {
        self.name == name || (!self.alias.is_empty() && self.alias == name)
    }
}

/// How a line is cut into fields.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Cut {
    /// At commas outside quotes.
    Commas,
    /// At runs of white space.
    Spaces,
    /// At each such text; quotes mean nothing.
    At(Box<[u8]>),
}

/// A file read row by row.
pub struct Table {
    lines: Lines,
    cut: Cut,
    columns: &'static [Column],
    /// One entry a column: its place in a row.
    places: Vec<Option<usize>>,
    /// How many fields a row has; for lines cut at spaces, at least.
    width: usize,
    unknown: Vec<String>,
    /// The place of a column that may hold what the lines are cut at, and how many rows had fields to spare for it.
    spill: Option<usize>,
    spilled: u64,
    /// The fields of the current row within `text`.
    fields: Vec<Range<usize>>,
    /// The fields' text when the row holds quotes; the line itself otherwise.
    text: Vec<u8>,
}

impl Table {
    /// A table whose first line is a header of names.
    ///
    /// - Errors: a needed column is missing or a known one is there twice; all such faults at once.
    pub fn with_header(mut lines: Lines, columns: &'static [Column], faults: &mut Faults) -> Option<Table> {
        let (number, line) = match lines.next() {
            Ok(Some((number, line))) => (number, line.to_owned()),
            Ok(None) => {
                faults.push(TraceError::Empty { file: lines.file().to_path_buf() });
                return None;
            }
            Err(fault) => {
                faults.push(fault);
                return None;
            }
        };
        let header = header_names(&line);
        Table::of(lines, Cut::Commas, columns, (number, &line), &header, Column::is_named, faults)
    }
    /// A table cut at `delimiter`, whose columns go by name in any case: those of its first line, or `names` for a file without a
    /// header. Fields to spare belong to the column `spill`, if it is there.
    ///
    /// - Errors: as [`Table::with_header`].
    pub fn delimited(
        mut lines: Lines,
        columns: &'static [Column],
        delimiter: &[u8],
        names: Option<Vec<String>>,
        spill: Option<usize>,
        faults: &mut Faults,
    ) -> Option<Table> {
        let cut = Cut::At(delimiter.into());
        let (number, line, names) = match names {
            Some(names) => (0, names.join(&String::from_utf8_lossy(delimiter)).into_bytes(), names),
            None => match lines.next() {
                Ok(line) => {
                    let (number, line) = line?;
                    let names = names_of(line, &cut);
                    (number, line.to_owned(), names)
                }
                Err(fault) => {
                    faults.push(fault);
                    return None;
                }
            },
        };
        let any_case = |column: &Column, name: &str| {
            column.name.eq_ignore_ascii_case(name) || (!column.alias.is_empty() && column.alias.eq_ignore_ascii_case(name))
        };
        let mut table = Table::of(lines, cut, columns, (number, &line), &names, any_case, faults)?;
        table.spill = spill.and_then(|column| table.places[column]);
        Some(table)
    }
    fn of(
        lines: Lines,
        cut: Cut,
        columns: &'static [Column],
        (number, line): (u64, &[u8]),
        header: &[String],
        is_named: impl Fn(&Column, &str) -> bool,
        faults: &mut Faults,
    ) -> Option<Table> {
        let file = lines.file().clone();
        let mut places = vec![None; columns.len()];
        let mut unknown = Vec::new();
        let mut sound = true;
        for (place, name) in header.iter().enumerate() {
            match columns.iter().position(|column| is_named(column, name)) {
                Some(column) if places[column].is_none() => places[column] = Some(place),
                Some(_) => {
                    let (at, row) = Excerpt::new(&file, number, line, raw_range(line, &cut, place));
                    let span = row.span();
                    faults.push(TraceError::DoubleColumn { at, column: name.clone(), row, span });
                    sound = false;
                }
                // A delimiter at the end of the header has nothing behind it.
                None if name.is_empty() && place + 1 == header.len() && cut != Cut::Commas => {}
                None => unknown.push(name.clone()),
            }
        }
        for (column, place) in columns.iter().zip(&places) {
            if column.needed && place.is_none() {
                faults.push(missing_column(&file, number, line, column, columns, &unknown));
                sound = false;
            }
        }
        let width = header.len();
        let (fields, text) = (Vec::new(), Vec::new());
        sound.then_some(Table { lines, cut, columns, places, width, unknown, spill: None, spilled: 0, fields, text })
    }
    /// A table without a header, cut at white space, its columns in the order given; more fields than columns are allowed.
    pub fn by_position(lines: Lines, columns: &'static [Column]) -> Table {
        let places = (0..columns.len()).map(Some).collect();
        let (fields, text) = (Vec::new(), Vec::new());
        let (width, unknown) = (columns.len(), Vec::new());
        Table { lines, cut: Cut::Spaces, columns, places, width, unknown, spill: None, spilled: 0, fields, text }
    }
    /// Columns of the file that the format does not know.
    pub fn unknown(&self) -> &[String] {
        &self.unknown
    }
    /// Rows with fields to spare, which went to the column that may hold what the lines are cut at.
    pub fn spilled(&self) -> u64 {
        self.spilled
    }
    /// Whether the file has a column.
    pub fn has(&self, column: usize) -> bool {
        self.places[column].is_some()
    }
    /// The next row; malformed ones become faults. Lines that start with `comment` go to `heard` instead.
    pub fn next(&mut self, faults: &mut Faults, comment: Option<u8>, heard: &mut dyn FnMut(&[u8])) -> Option<Row<'_>> {
        loop {
            let line = match self.lines.next() {
                Ok(Some((_, line))) => line,
                Ok(None) => return None,
                Err(fault) => {
                    faults.push(fault);
                    return None;
                }
            };
            if let Some(mark) = comment
                && line.trim_ascii_start().first() == Some(&mark)
            {
                heard(line);
                continue;
            }
            if let Err((found, expected)) = split(line, &self.cut, &mut self.fields, &mut self.text) {
                faults.push(self.bad_row(found, expected));
                continue;
            }
            if let Some(place) = self.spill
                && let Some(more) = self.fields.len().checked_sub(self.width).filter(|&more| 0 < more)
            {
                self.fields[place].end = self.fields[place + more].end;
                self.fields.drain(place + 1..=place + more);
                self.spilled += 1;
            }
            let n = self.fields.len();
            let fits = if self.cut == Cut::Spaces { self.width <= n } else { n == self.width };
            if !fits {
                let fields = |n: usize| if n == 1 { "1 field".to_owned() } else { format!("{n} fields") };
                faults.push(self.bad_row(format!("the row has {}", fields(n)), fields(self.width)));
                continue;
            }
            let quoted = !self.text.is_empty();
            return Some(Row { table: self, quoted, faults: Vec::new() });
        }
    }
    fn bad_row(&self, found: String, expected: String) -> TraceError {
        TraceError::bad_row(self.lines.file(), self.lines.number(), self.lines.line(), None, found, expected)
    }
}

/// One row of a table. Its faults are collected; see [`Row::finish`].
pub struct Row<'t> {
    table: &'t Table,
    quoted: bool,
    faults: Vec<TraceError>,
}

impl<'t> Row<'t> {
    /// The number of its line.
    pub fn line(&self) -> u64 {
        self.table.lines.number()
    }
    /// How many fields it has.
    pub fn width(&self) -> usize {
        self.table.fields.len()
    }
    /// A field without the white space around it; `None` if its column is absent or the field is empty.
    #[inline]
    pub fn get(&self, column: usize) -> Option<&'t [u8]> {
        match self.table.places[column] {
            None => None, // most columns, in most files
            Some(place) => self.at(place),
        }
    }
    fn at(&self, place: usize) -> Option<&'t [u8]> {
        let range = self.table.fields[place].clone();
        let text = if self.quoted { &self.table.text[..] } else { self.table.lines.line() };
        let value = field::trim(&text[range]);
        (!value.is_empty()).then_some(value)
    }
    /// A field read by `read`; `None` if it is empty, or wrong, which is a fault.
    #[inline]
    pub fn parse<T>(&mut self, column: usize, expected: &'static str, read: impl FnOnce(&'t [u8]) -> Option<T>) -> Option<T> {
        let value = read(self.get(column)?);
        if value.is_none() {
            self.fault(column, expected);
        }
        value
    }
    /// A field that must not be empty.
    pub fn need<T>(&mut self, column: usize, expected: &'static str, read: impl FnOnce(&'t [u8]) -> Option<T>) -> Option<T> {
        if self.get(column).is_none() {
            self.fault(column, expected);
            return None;
        }
        self.parse(column, expected, read)
    }
    /// Says that a field is wrong.
    pub fn fault(&mut self, column: usize, expected: &'static str) {
        let line = self.table.lines.line();
        let range = self.table.places[column].and_then(|place| match &self.table.cut {
            Cut::At(_) => self.table.fields.get(place).map(|range| without_spaces(line, range.clone())),
            cut => raw_range(line, cut, place),
        });
        let value: String = String::from_utf8_lossy(self.get(column).unwrap_or_default()).chars().take(60).collect();
        let value = value.replace(char::is_control, "\u{fffd}").into_boxed_str();
        let (at, row) = Excerpt::new(self.table.lines.file(), self.line(), line, range);
        let span = row.span();
        let field = self.table.columns[column].name;
        self.faults.push(TraceError::BadField { at, field, value, expected, row, span });
    }
    /// Whether nothing was wrong so far.
    pub fn is_sound(&self) -> bool {
        self.faults.is_empty()
    }
    /// Hands the faults over; says whether there were none.
    pub fn finish(self, faults: &mut Faults) -> bool {
        let sound = self.faults.is_empty();
        for fault in self.faults {
            faults.push(fault);
        }
        sound
    }
}

/// The names of a header line, trimmed.
pub fn header_names(line: &[u8]) -> Vec<String> {
    names_of(line, &Cut::Commas)
}

/// The names of a header line cut at `delimiter`, trimmed.
pub fn names_at(line: &[u8], delimiter: &[u8]) -> Vec<String> {
    names_of(line, &Cut::At(delimiter.into()))
}

fn names_of(line: &[u8], cut: &Cut) -> Vec<String> {
    let (mut fields, mut text) = (Vec::new(), Vec::new());
    if split(line, cut, &mut fields, &mut text).is_err() {
        return Vec::new();
    }
    let text = if text.is_empty() { line } else { &text };
    fields.iter().map(|range| String::from_utf8_lossy(field::trim(&text[range.clone()])).into_owned()).collect()
}

/// Whether a header line names every needed column.
pub fn is_header_of(line: &[u8], columns: &[Column]) -> bool {
    missing_of(line, columns).is_empty()
}

/// The needed columns that a header line does not name.
pub fn missing_of(line: &[u8], columns: &[Column]) -> Vec<&'static str> {
    let names = header_names(line);
    let missing = columns.iter().filter(|column| column.needed && !names.iter().any(|name| column.is_named(name)));
    missing.map(|column| column.name).collect()
}

fn missing_column(
    file: &Arc<Path>,
    number: u64,
    line: &[u8],
    column: &Column,
    columns: &[Column],
    unknown: &[String],
) -> TraceError {
    let (at, row) = Excerpt::new(file, number, line, None);
    let span = row.span();
    let needed: Vec<&str> = columns.iter().filter(|it| it.needed).map(|it| it.name).collect();
    let near = TraceError::did_you_mean(column.name, unknown.iter().map(String::as_str));
    let near = near.map(|it| it.replace("did you mean", "is it")).map(|it| format!("{it} "));
    let help = Some(format!("{}needed: {}", near.unwrap_or_default(), needed.join(", ")));
    TraceError::MissingColumn { at, column: column.name, row, span, help }
}

/// Cuts a line. A quoted field ends on its own line, unlike in RFC 4180: so a stray quote is a fault of its line and does not
/// swallow the rest of the file.
fn split(line: &[u8], cut: &Cut, fields: &mut Vec<Range<usize>>, text: &mut Vec<u8>) -> Result<(), (String, String)> {
    fields.clear();
    text.clear();
    match cut {
        Cut::Spaces => {
            let mut start = None;
            for (at, byte) in line.iter().enumerate() {
                match (byte.is_ascii_whitespace(), start) {
                    (false, None) => start = Some(at),
                    (true, Some(from)) => {
                        fields.push(from..at);
                        start = None;
                    }
                    _ => {}
                }
            }
            fields.extend(start.map(|from| from..line.len()));
        }
        Cut::At(delimiter) => {
            let mut start = 0;
            if let [mark] = **delimiter {
                for (at, _) in line.iter().enumerate().filter(|(_, byte)| **byte == mark) {
                    fields.push(start..at);
                    start = at + 1;
                }
            } else {
                while let Some(at) = line[start..].windows(delimiter.len()).position(|text| *text == **delimiter) {
                    fields.push(start..start + at);
                    start += at + delimiter.len();
                }
            }
            fields.push(start..line.len());
        }
        Cut::Commas => {
            let mut start = 0;
            let mut quotes = 0_usize;
            for (at, &byte) in line.iter().enumerate() {
                if byte == b',' {
                    fields.push(start..at);
                    start = at + 1;
                } else if byte == b'"' {
                    quotes += 1;
                }
            }
            fields.push(start..line.len());
            if quotes != 0 {
                if !quotes.is_multiple_of(2) {
                    return Err(("a quote is not closed on its line".into(), "quotes in pairs".into()));
                }
                unquote(line, fields, text);
            }
        }
    }
    Ok(())
}

/// Cuts a line with quotes; the fields' text goes to `text`.
fn unquote(line: &[u8], fields: &mut Vec<Range<usize>>, text: &mut Vec<u8>) {
    fields.clear();
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).buffer_capacity(line.len()).from_reader(line);
    let mut record = csv::ByteRecord::new();
    // Reading from memory cannot fail, and rows of any width are allowed.
    if reader.read_byte_record(&mut record).unwrap_or(false) {
        for part in &record {
            let start = text.len();
            text.extend_from_slice(part);
            fields.push(start..text.len());
        }
    }
    text.push(b'\n'); // not empty, so that it is known to hold the fields
}

/// Where field `place` stands in the raw line.
fn raw_range(line: &[u8], cut: &Cut, place: usize) -> Option<Range<usize>> {
    let mut fields = Vec::new();
    match cut {
        Cut::Spaces | Cut::At(_) => split(line, cut, &mut fields, &mut Vec::new()).ok()?,
        Cut::Commas => {
            let (mut start, mut quoted) = (0, false);
            for (at, &byte) in line.iter().enumerate() {
                match byte {
                    b'"' => quoted = !quoted,
                    b',' if !quoted => {
                        fields.push(start..at);
                        start = at + 1;
                    }
                    _ => {}
                }
            }
            fields.push(start..line.len());
        }
    }
    Some(without_spaces(line, fields.get(place)?.clone()))
}

/// The part of `range` without the white space around it; all of it if there is nothing else.
fn without_spaces(line: &[u8], range: Range<usize>) -> Range<usize> {
    let text = &line[range.clone()];
    let lead = text.len() - text.trim_ascii_start().len();
    let len = text.trim_ascii().len();
    if len == 0 { range } else { range.start + lead..range.start + lead + len }
}
