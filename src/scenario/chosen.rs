//! What a command line chooses: settings, a scenario and its policies, all faults of them at once.

use super::{Folders, Scenario, find_policy, named_policies, policies};
use crate::error::{Error, problems};
use crate::form::{Fault, Faults, Place, Setting, SourceText};
use crate::policy::PolicySpec;
use std::path::Path;
use std::sync::Arc;

/// Reads all `--set` options, all faults at once.
pub fn settings(texts: &[String]) -> Result<Vec<Setting>, Error> {
    let (mut settings, mut faults) = (Vec::new(), Faults::new());
    for text in texts {
        match Setting::parse("--set", text) {
            Ok(setting) => settings.push(setting),
            Err(fault) => faults.push(fault),
        }
    }
    if faults.is_empty() { Ok(settings) } else { Err(faults.into()) }
}

/// The settings that are for the scenario; those of `[contract]` are for both, since a policy's own contract goes before it.
pub fn for_scenario(settings: &[Setting]) -> Vec<Setting> {
    settings.iter().filter(|it| !policies::is_for_policies(it) || it.head() == "contract").cloned().collect()
}

/// The scenario and its policies; the faults of both at once. Policies chosen by name or file go before those of the scenario.
pub fn choose(
    path: &Path,
    names: &[String],
    settings: &[Setting],
    notes: &mut Vec<String>,
) -> Result<(Scenario, Vec<PolicySpec>), Error> {
    let scenario = Scenario::load(path, &for_scenario(settings));
    let named = named(path, names, scenario.as_ref().ok(), settings);
    let policies = read_policies(&named, &Folders::of(path), settings, notes);
    match (scenario, policies) {
        (Ok(scenario), Ok(policies)) => Ok((scenario, policies)),
        (Err(Error::Input(mut all)), Err(Error::Input(more))) => {
            all.extend(more);
            Err(Error::Input(all))
        }
        (Err(error), _) | (_, Err(error)) => Err(error),
    }
}

/// The policies chosen, with the places that name them; `scenario` is `None` where it could not be read.
pub fn named(path: &Path, names: &[String], scenario: Option<&Scenario>, settings: &[Setting]) -> Vec<(String, Place)> {
    match scenario {
        _ if !names.is_empty() => names.iter().map(|name| (name.clone(), place("--policy", name))).collect(),
        Some(scenario) if !scenario.policies.is_empty() => scenario.policies.clone(),
        Some(_) => vec![("fcfs".to_owned(), place("(default policy)", "fcfs"))],
        None => named_policies(path, &for_scenario(settings)),
    }
}

/// The whole text of an option, as a place.
pub fn place(option: &str, text: &str) -> Place {
    Place::new(&Arc::new(SourceText { name: option.to_owned(), text: text.to_owned() }), 0..text.len())
}

/// Reads policies that are compared, changed by `settings`.
///
/// - Errors: all faults of all, and names that stand twice.
pub fn read_policies(
    named: &[(String, Place)],
    folders: &Folders,
    settings: &[Setting],
    notes: &mut Vec<String>,
) -> Result<Vec<PolicySpec>, Error> {
    let mut faults = Faults::new();
    let found = named.iter().map(|(name, place)| find_policy(name, place, folders, &mut faults));
    let drafts: Vec<policies::Draft> = found.collect::<Vec<_>>().into_iter().flatten().collect();
    let mut found = problems(faults);
    match policies::check_policies(drafts, settings, notes) {
        Ok(specs) if found.is_empty() => distinct(named, specs),
        Ok(_) => Err(Error::Input(found)),
        Err(Error::Input(more)) => {
            found.extend(more);
            Err(Error::Input(found))
        }
        Err(other) => Err(other),
    }
}

/// Results are told apart by the names of policies.
fn distinct(named: &[(String, Place)], specs: Vec<PolicySpec>) -> Result<Vec<PolicySpec>, Error> {
    let mut faults = Faults::new();
    for (row, spec) in specs.iter().enumerate() {
        if specs[..row].iter().any(|earlier| earlier.name == spec.name) {
            let fault = Fault::new(format!("two policies are called `{}`", spec.name));
            let fault = fault.at(&named[row].1, "expected another name; a policy file is called by its stem");
            faults.push(fault);
        }
    }
    if faults.is_empty() { Ok(specs) } else { Err(faults.into()) }
}
