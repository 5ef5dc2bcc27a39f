//! JSON Schema of a form, for editors that complete and check TOML.

use super::describe::{Form, Part};
use crate::registry::{Info, Kind, Knob};
use serde_json::{Map, Value, json};

/// The schema of a whole file.
pub fn schema(title: &str, form: &Form) -> Value {
    let mut root = form_schema(form);
    root.insert("$schema".into(), json!("https://json-schema.org/draft/2020-12/schema"));
    root.insert("title".into(), json!(title));
    Value::Object(root)
}

fn form_schema(form: &Form) -> Map<String, Value> {
    let mut properties: Map<String, Value> = form.knobs.iter().map(|knob| (knob.name.to_owned(), knob_schema(knob))).collect();
    for (name, part) in form.parts {
        properties.insert((*name).to_owned(), part_schema(part));
    }
    let mut object = object(form.about, properties);
    if !form.required.is_empty() {
        object.insert("required".into(), json!(form.required));
    }
    if form.free.is_some() {
        object.insert("additionalProperties".into(), json!(true));
    }
    object
}

fn part_schema(part: &Part) -> Value {
    match part {
        Part::One(form) => Value::Object(form_schema(form)),
        Part::Many(form) => json!({"type": "array", "description": form.about, "items": form_schema(form)}),
        Part::Pick { about, infos, default } => {
            let infos = infos();
            let names: Vec<&str> = infos.iter().map(|info| info.name).collect();
            let mut choices = vec![json!({"type": "string", "enum": names})];
            choices.extend(infos.iter().map(|info| pick_schema(info, default)));
            let mut schema = json!({"description": about, "anyOf": choices});
            if !default.is_empty() {
                schema["default"] = json!(default);
            }
            schema
        }
    }
}

fn pick_schema(info: &Info, default: &str) -> Value {
    let mut properties = Map::new();
    properties.insert("name".into(), json!({"const": info.name}));
    for knob in info.knobs {
        properties.insert(knob.name.to_owned(), knob_schema(knob));
    }
    let mut object = object(info.about, properties);
    if info.name != default {
        object.insert("required".into(), json!(["name"]));
    }
    Value::Object(object)
}

fn object(about: &str, properties: Map<String, Value>) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert("type".into(), json!("object"));
    object.insert("description".into(), json!(about));
    object.insert("properties".into(), Value::Object(properties));
    object.insert("additionalProperties".into(), json!(false));
    object
}

fn knob_schema(knob: &Knob) -> Value {
    let mut schema = kind_schema(&knob.kind);
    let unit = if knob.unit.is_empty() { String::new() } else { format!(" ({})", knob.unit) };
    schema.insert("description".into(), json!(format!("{}{unit}; {}", knob.about, knob.takes())));
    if let Some(default) = knob.default {
        schema.insert("default".into(), default_json(&knob.kind, default));
    }
    Value::Object(schema)
}

fn default_json(kind: &Kind, text: &str) -> Value {
    match kind {
        Kind::Bool | Kind::Int { .. } | Kind::Float { .. } => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
        Kind::List(kind) => {
            let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
            Value::Array(parts.map(|part| default_json(kind, part)).collect())
        }
        _ => json!(text),
    }
}

fn kind_schema(kind: &Kind) -> Map<String, Value> {
    const SPAN: &str = r"^(0|unlimited|(\s*[0-9.]+(ms|s|sec|m|min|h|d|w))+)$";
    let value = match kind {
        Kind::Bool => json!({"type": "boolean"}),
        Kind::Int { min, max } if *max == 1 << 40 => json!({"type": "integer", "minimum": min}),
        Kind::Int { min, max } => json!({"type": "integer", "minimum": min, "maximum": max}),
        Kind::Float { min, max } if *max == f64::MAX => json!({"type": "number", "minimum": min}),
        Kind::Float { min, max } => json!({"type": "number", "minimum": min, "maximum": max}),
        Kind::Span { .. } => json!({"anyOf": [{"type": "string", "pattern": SPAN}, {"const": 0}]}),
        Kind::Size => json!({"anyOf": [{"type": "string"}, {"type": "integer", "minimum": 0}]}),
        Kind::Choice(words) => json!({"type": "string", "enum": words}),
        Kind::Text | Kind::Path => json!({"type": "string"}),
        Kind::List(kind) => {
            let items = Value::Object(kind_schema(kind));
            json!({"anyOf": [{"type": "array", "items": items}, {"type": "string"}]})
        }
    };
    match value {
        Value::Object(map) => map,
        _ => unreachable!("each arm above is an object"),
    }
}

/// One line a key: its name, what it takes, its default and what it does; for lists and help.
pub fn describe_values(knobs: &[Knob]) -> Vec<[String; 4]> {
    let line = |knob: &Knob| {
        let default = knob.default.unwrap_or("").to_owned();
        let unit = if knob.unit.is_empty() { String::new() } else { format!(" ({})", knob.unit) };
        [knob.name.to_owned(), knob.takes(), default, format!("{}{unit}", knob.about)]
    };
    knobs.iter().map(line).collect()
}
