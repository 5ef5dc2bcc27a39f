//! Manifests held against the published schema of a Job, and against the rules of the API reference that no schema says.

use serde_json::{Value, json};

/// The published schema of the fields that are written here.
const PUBLISHED: &str = include_str!("job.schema.json");

/// What of a Job is not as Kubernetes takes it.
pub(super) fn check(job: &Value) -> Vec<String> {
    let schema: Value = serde_json::from_str(PUBLISHED).unwrap();
    let mut out = Vec::new();
    faults(&schema, &schema, job, "Job", &mut out);
    if out.is_empty() {
        rules(job, &mut out);
    }
    out
}

/// The keywords of JSON Schema that the published one uses here.
fn faults(root: &Value, schema: &Value, value: &Value, at: &str, out: &mut Vec<String>) {
    for (keyword, says) in schema.as_object().unwrap() {
        let is = |kind: &str| match kind {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "integer" => value.is_i64() || value.is_u64(),
            "number" => value.is_number(),
            other => panic!("no type {other}"),
        };
        match keyword.as_str() {
            "$comment" | "$defs" => {}
            "$ref" => {
                let name = says.as_str().unwrap().strip_prefix("#/$defs/").unwrap();
                faults(root, &root["$defs"][name], value, at, out);
            }
            "type" if !is(says.as_str().unwrap()) => out.push(format!("{at}: {value} is no {says}")),
            "format" if value.as_i64().is_some_and(|it| i32::try_from(it).is_err()) => {
                out.push(format!("{at}: {value} is no {says}"))
            }
            "enum" if !says.as_array().unwrap().contains(value) => out.push(format!("{at}: {value} is none of {says}")),
            "oneOf" => {
                let fits = says.as_array().unwrap().iter().filter(|one| {
                    let mut own = Vec::new();
                    faults(root, one, value, at, &mut own);
                    own.is_empty()
                });
                if fits.count() != 1 {
                    out.push(format!("{at}: {value} is not one of {says}"));
                }
            }
            "required" => {
                let missing = says.as_array().unwrap().iter().filter(|key| value.get(key.as_str().unwrap()).is_none());
                out.extend(missing.map(|key| format!("{at}.{key}: it is missing")));
            }
            "items" => {
                let items = value.as_array().into_iter().flatten().enumerate();
                items.for_each(|(row, item)| faults(root, says, item, &format!("{at}[{row}]"), out));
            }
            "properties" | "additionalProperties" => {
                let named = &schema["properties"];
                for (key, below) in value.as_object().into_iter().flatten() {
                    let at = format!("{at}.{key}");
                    match (keyword.as_str(), named.get(key)) {
                        ("properties", Some(own)) => faults(root, own, below, &at, out),
                        ("additionalProperties", None) if *says == json!(false) => {
                            out.push(format!("{at}: there is no such field"))
                        }
                        ("additionalProperties", None) => faults(root, says, below, &at, out),
                        _ => {}
                    }
                }
            }
            "type" | "format" | "enum" => {}
            other => panic!("no keyword {other}"),
        }
    }
}

/// What the server refuses though the schema takes it.
///
/// Source: the API reference, kubernetes.io/docs/reference/kubernetes-api (1.33), "Job" (`completionMode`, `backoffLimitPerIndex`),
/// "Container" (`name`), "VolumeMount" (`mountPath`), "Object Names and IDs" (RFC 1123 labels).
fn rules(job: &Value, out: &mut Vec<String>) {
    let (spec, pod) = (&job["spec"], &job["spec"]["template"]["spec"]);
    let mut must = |is_right: bool, said: &str| {
        if !is_right {
            out.push(said.to_owned());
        }
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let is_label = |value: &Value| {
        let text = text(value);
        let inner = |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-';
        (1..=63).contains(&text.len()) && text.bytes().all(inner) && !text.starts_with('-') && !text.ends_with('-')
    };
    let indexed = spec["completionMode"] == "Indexed";
    must(indexed || spec["completionMode"].is_null() || spec["completionMode"] == "NonIndexed", "an unknown completion mode");
    must(!indexed || !spec["completions"].is_null(), "an Indexed Job without completions");
    must(indexed || spec["backoffLimitPerIndex"].is_null(), "retries of an index without any");
    must(pod["restartPolicy"] == "Never" || pod["restartPolicy"] == "OnFailure", "a restart policy that Jobs do not have");
    must(
        spec["backoffLimitPerIndex"].is_null() || pod["restartPolicy"] == "Never",
        "retries of an index with another restart policy",
    );
    let counts = ["completions", "parallelism", "backoffLimit", "backoffLimitPerIndex"];
    must(counts.iter().all(|key| spec[key].is_null() || 0 <= spec[key].as_i64().unwrap()), "a count below zero");
    must(is_label(&job["metadata"]["name"]), "a name of a Job that is no label");
    for container in pod["containers"].as_array().unwrap() {
        must(is_label(&container["name"]), "a name of a container that is no label");
        must(!text(&container["image"]).is_empty(), "no image");
        let cpu = text(&container["resources"]["requests"]["cpu"]);
        must(!cpu.is_empty() && cpu.bytes().all(|it| it.is_ascii_digit()), "no quantity of cores");
        for mount in container["volumeMounts"].as_array().unwrap() {
            let path = text(&mount["mountPath"]);
            must(path.starts_with('/') && !path.contains(':'), "no path of a mount");
            let volumes = pod["volumes"].as_array().unwrap();
            must(volumes.iter().any(|it| it["name"] == mount["name"]), "a mount of no volume");
        }
    }
}
