//! The printed JSON Schemas describe what ships, and refuse what the reader refuses.

use schedlab::form::schema;
use schedlab::scenario::{POLICY, SCENARIO};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Why `value` does not satisfy `schema`, of the words that our schemas use.
fn refused(schema: &Value, value: &Value, at: &str) -> Option<String> {
    if let Some(choices) = schema["anyOf"].as_array() {
        let reasons: Vec<String> = choices.iter().map(|choice| refused(choice, value, at)).collect::<Option<_>>()?;
        return Some(format!("{at}: none of: {}", reasons.join(" / ")));
    }
    let kind = match value {
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_i64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
        Value::Null => "null",
    };
    match schema["type"].as_str() {
        Some("number") if kind == "integer" => {}
        Some(wanted) if wanted != kind => return Some(format!("{at}: {kind}, not {wanted}")),
        _ => {}
    }
    if schema.get("const").is_some_and(|only| only != value) {
        return Some(format!("{at}: not {}", schema["const"]));
    }
    if schema["enum"].as_array().is_some_and(|words| !words.contains(value)) {
        return Some(format!("{at}: {value} is none of {}", schema["enum"]));
    }
    if let Some(number) = value.as_f64() {
        let (min, max) = (schema["minimum"].as_f64().unwrap_or(f64::MIN), schema["maximum"].as_f64().unwrap_or(f64::MAX));
        if number < min || max < number {
            return Some(format!("{at}: {number} is not from {min} to {max}"));
        }
    }
    if let Some(entries) = value.as_array() {
        let mut entries = entries.iter().enumerate();
        return entries.find_map(|(row, entry)| refused(&schema["items"], entry, &format!("{at}[{row}]")));
    }
    let entries = value.as_object()?;
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !entries.contains_key(name) {
            return Some(format!("{at}: `{name}` is missing"));
        }
    }
    entries.iter().find_map(|(key, entry)| match schema["properties"].get(key) {
        Some(inner) => refused(inner, entry, &format!("{at}.{key}")),
        None if schema["additionalProperties"] == json!(false) => Some(format!("{at}: unknown key `{key}`")),
        None => None,
    })
}

fn shipped(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.extension().is_some_and(|ending| ending == "toml")).collect()
}

fn check_shipped(folder: &str, schema: &Value) {
    let files = shipped(folder);
    assert!(5 < files.len(), "few files in {folder}");
    for file in files {
        let value: Value = toml::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        assert_eq!(refused(schema, &value, "file"), None, "{}", file.display());
    }
}

#[test]
fn what_ships_satisfies_the_schemas() {
    check_shipped("scenarios", &schema("scenario", &SCENARIO));
    check_shipped("policies", &schema("policy", &POLICY));
}

#[test]
fn the_schemas_refuse_what_the_reader_refuses() {
    let scenario = schema("scenario", &SCENARIO);
    let policy = schema("policy", &POLICY);
    let wrong = [
        (&scenario, "[run]\nsed = 1\n"),
        (&scenario, "[run]\nseeds = 0\n"),
        (&scenario, "[[job]]\nname = \"a\"\n"),
        (&scenario, "[job]\nname = \"a\"\nruntime = \"1h\"\n"),
        (&scenario, "[engine]\nstartup = 90\n"),
        (&policy, "order = \"fifi\"\n"),
        (&policy, "[fill]\nname = \"easy\"\nk = 3\n"),
        (&policy, "[contract]\nundeclared = \"maybe\"\n"),
    ];
    for (schema, text) in wrong {
        let value: Value = toml::from_str(text).unwrap();
        assert!(refused(schema, &value, "file").is_some(), "{text}");
    }
}

#[test]
fn a_policy_file_has_a_table_for_each_stage() {
    let tables: Vec<&str> = POLICY.parts.iter().map(|(key, _)| *key).filter(|key| *key != "contract").collect();
    assert_eq!(tables, schedlab::policy::Stage::ALL.map(schedlab::policy::Stage::key));
}

#[test]
fn shipped_policies_have_a_line_each_and_are_all_embedded() {
    let mut names: Vec<String> =
        shipped("policies").iter().map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect();
    names.sort();
    let embedded: Vec<&str> = schedlab::scenario::policies::SHIPPED.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, embedded);
    for (name, text) in schedlab::scenario::policies::SHIPPED {
        assert!(!schedlab::scenario::policies::about(text).is_empty(), "{name} has no `about`");
    }
}

/// The reference of scenario and policy files; `SCHEDLAB_UPDATE=1` rewrites it.
#[test]
fn the_reference_of_files_is_up_to_date() {
    for (file, title, form) in [("docs/scenario.md", "Scenario files", &SCENARIO), ("docs/policy.md", "Policy files", &POLICY)] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        let text = schedlab::form::reference(title, form);
        if std::env::var_os("SCHEDLAB_UPDATE").is_some() {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, &text).unwrap();
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text, "{file}: run this test with SCHEDLAB_UPDATE=1");
    }
}
