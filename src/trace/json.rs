//! Histories in JSON: a list of jobs, at the top or under a key, one element in memory at a time; and fields found by their path.

use super::error::{Location, TraceError};
use super::input::Lines;
use super::intake::Intake;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use std::cell::Cell;
use std::fmt;
use std::io::Read;
use std::rc::Rc;
use std::sync::Arc;

/// Shows every element of the list to `take`, with its number from 0, as long as the text is JSON. `key`: where the list stands in an object; a list at the
/// top will do, too.
///
/// - Errors: go to the intake: of the text at its line and column, and that there is no list.
pub fn each(lines: Lines, key: &'static str, intake: &mut Intake<'_>, take: &mut dyn FnMut(&mut Intake<'_>, Element<'_>)) {
    let file = lines.file().clone();
    let line = Rc::new(Cell::new(1));
    let reader = Counted { inner: lines.into_reader(), line: line.clone() };
    let mut text = serde_json::Deserializer::from_reader(reader);
    let seed = List { key, line: &line, file: &file, intake, take };
    let read = seed.deserialize(&mut text).and_then(|found| text.end().map(|()| found));
    match read {
        Ok(true) => {}
        Ok(false) => {
            let at = Location { file, line: 1, columns: None };
            intake.faults.push(TraceError::Json { at, message: format!("there is no list `{key}`") });
        }
        Err(error) => {
            let column = error.column() as u64;
            let at = Location { file, line: (error.line() as u64).max(1), columns: (0 < column).then_some(column..column + 1) };
            // The message ends in line and column, which are said already.
            let message = error.to_string();
            let message = message.rsplit_once(" at line ").map_or(message.clone(), |(before, _)| before.to_owned());
            intake.faults.push(TraceError::Json { at, message });
        }
    }
}

/// Counts the lines that were read.
struct Counted<R> {
    inner: R,
    line: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let n = self.inner.read(out)?;
        let lines = out[..n].iter().filter(|&&byte| byte == b'\n').count() as u64;
        self.line.set(self.line.get() + lines);
        Ok(n)
    }
}

/// One element of the list.
pub struct Element<'a> {
    /// Its number, from 0.
    pub number: u64,
    /// The line that it ends on.
    pub line: u64,
    /// It.
    pub value: &'a Value,
    file: &'a Arc<std::path::Path>,
    key: &'static str,
}

impl Element<'_> {
    /// The value at a path such as `status.startTime`; `None` if it is not there, or null.
    pub fn at(&self, path: &str) -> Option<&Value> {
        path.split('.').try_fold(self.value, |value, key| value.get(key)).filter(|value| !value.is_null())
    }
    /// The text at a path.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.at(path)?.as_str()
    }
    /// The list at a path; nothing there is an empty one.
    pub fn list(&self, path: &str) -> &[Value] {
        self.at(path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }
    /// What `read` makes of the text at a path; a fault if it makes nothing of what is there.
    pub fn parse<T>(
        &self,
        path: &str,
        expected: &'static str,
        intake: &mut Intake<'_>,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let value = self.at(path)?;
        let found = match value {
            Value::String(text) => read(text),
            Value::Number(number) => read(&number.to_string()),
            _ => None,
        };
        if found.is_none() {
            self.fault(path, value, expected, intake);
        }
        found
    }
    /// The same; a fault, too, if nothing is there.
    pub fn need<T>(
        &self,
        path: &str,
        expected: &'static str,
        intake: &mut Intake<'_>,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        if self.at(path).is_none() {
            self.fault(path, &Value::Null, expected, intake);
            return None;
        }
        self.parse(path, expected, intake, read)
    }
    /// Says that something at a path is not what it should be.
    pub fn fault(&self, path: &str, value: &Value, expected: &'static str, intake: &mut Intake<'_>) {
        let at = Location { file: self.file.clone(), line: self.line, columns: None };
        let mut value = value.to_string();
        if 60 < value.chars().count() {
            value = value.chars().take(60).chain("…".chars()).collect();
        }
        let path = format!("{}[{}].{path}", self.key, self.number).into();
        intake.faults.push(TraceError::JsonField { at, path, value: value.into(), expected });
    }
}

struct List<'a, 'c> {
    key: &'static str,
    line: &'a Rc<Cell<u64>>,
    file: &'a Arc<std::path::Path>,
    intake: &'a mut Intake<'c>,
    take: &'a mut dyn FnMut(&mut Intake<'_>, Element<'_>),
}

impl<'de> DeserializeSeed<'de> for List<'_, '_> {
    type Value = bool;
    fn deserialize<D: serde::Deserializer<'de>>(self, text: D) -> Result<bool, D::Error> {
        text.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for List<'_, '_> {
    /// Whether there was a list.
    type Value = bool;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list, or an object with a list `{}`", self.key)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<bool, A::Error> {
        let mut number = 0;
        while let Some(value) = list.next_element::<Value>()? {
            let element = Element { number, line: self.line.get(), value: &value, file: self.file, key: self.key };
            (self.take)(self.intake, element);
            number += 1;
        }
        Ok(true)
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<bool, A::Error> {
        let List { key, line, file, intake, take } = self;
        let mut found = false;
        while let Some(name) = map.next_key::<String>()? {
            if name == key && !found {
                found = map.next_value_seed(List { key, line, file, intake: &mut *intake, take: &mut *take })?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}
