//! What a sweep is asked for: a request, its axes, and where each word stands if a sweep file says it.

use super::axes::Axis;
use super::request::Request;
use crate::form::{Fault, Faults, Place, Setting};
use std::collections::BTreeMap;

/// A request with its places.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// What is asked for; `over` is left to the axes.
    pub request: Request,
    /// The swept keys.
    pub axes: Vec<Axis>,
    /// Places of the policies and settings that a sweep file says, by their text; the others are options.
    pub places: BTreeMap<String, Place>,
}

impl Asked {
    /// The settings of all cells that can be read.
    pub(super) fn settings(&self, faults: &mut Faults) -> Vec<Setting> {
        let mut settings = Vec::new();
        for text in &self.request.settings {
            match (Setting::parse("--set", text), self.places.get(text)) {
                (Ok(setting), None) => settings.push(setting),
                (Ok(setting), Some(place)) => settings.push(moved(setting, place)),
                (Err(fault), None) => faults.push(fault),
                (Err(fault), Some(place)) => {
                    faults.push(Fault::new(fault.to_string()).at(place, "expected KEY=VALUE, such as `workload.load=0.9`"));
                }
            }
        }
        // What is set within a table must not give way to the table, whichever was said first.
        settings.sort_by_key(|setting| setting.path.len());
        settings
    }

    /// Policies with the places where they are named.
    pub(super) fn placed(&self, named: Vec<(String, Place)>) -> Vec<(String, Place)> {
        if self.request.policies.is_empty() {
            return named;
        }
        let placed = |(name, place): (String, Place)| {
            let place = self.places.get(&name).cloned().unwrap_or(place);
            (name, place)
        };
        named.into_iter().map(placed).collect()
    }
}

/// The setting with its places in the text at `to`, which says it.
fn moved(mut setting: Setting, to: &Place) -> Setting {
    let raw = &to.source.text[to.start..to.end];
    let in_text = |place: &Place| {
        let said = &place.source.text;
        // A text with escapes has other columns than what it says; then all of it is the place.
        let is_plain = raw.len() == said.len() + 2 && raw[1..].starts_with(said.as_str());
        if is_plain { Place::new(&to.source, to.start + 1 + place.start..to.start + 1 + place.end) } else { to.clone() }
    };
    setting.value.at = in_text(&setting.value.at);
    setting.path = setting.path.into_iter().map(|(name, place)| (name, in_text(&place))).collect();
    setting
}
