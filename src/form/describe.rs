//! The description of a file or table: its keys, and the tables in it.

use crate::registry::{Info, Knob};

/// What a table may hold.
#[derive(Clone, Copy)]
pub struct Form {
    /// One line on what the table is for.
    pub about: &'static str,
    /// Its keys.
    pub knobs: &'static [Knob],
    /// Names of keys that must be there.
    pub required: &'static [&'static str],
    /// Tables in it. One of a knob's name stands in for that knob.
    pub parts: &'static [(&'static str, Part)],
    /// If it takes other keys too, what their names stand for, e.g. "account"; their values are handed on unread.
    pub free: Option<&'static str>,
}

/// A table in a table.
#[derive(Clone, Copy)]
pub enum Part {
    /// At most one, `[name]`.
    One(&'static Form),
    /// Any number, `[[name]]`.
    Many(&'static Form),
    /// A registered implementation with its knobs, or its bare name.
    Pick {
        /// The question it answers.
        about: &'static str,
        /// What is registered.
        infos: fn() -> Vec<Info>,
        /// The one that stands when the file names none; "" if none does.
        default: &'static str,
    },
}

impl Form {
    /// A form of keys alone.
    pub const fn of(about: &'static str, knobs: &'static [Knob]) -> Form {
        Form { about, knobs, required: &[], parts: &[], free: None }
    }
    /// All names that may stand in the table, knobs first.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        let plain = self.knobs.iter().map(|knob| knob.name).filter(|name| self.parts.iter().all(|(part, _)| part != name));
        plain.chain(self.parts.iter().map(|(name, _)| *name))
    }
}

impl Part {
    /// One line on what it is for.
    pub const fn about(&self) -> &'static str {
        match self {
            Part::One(form) | Part::Many(form) => form.about,
            Part::Pick { about, .. } => about,
        }
    }
}
