//! Kubernetes: an Indexed Job whose pods are shards, and a suspended Job that merges them.
//!
//! A Job cannot wait for another, so the second one is let go by hand (or by what applied it) once the first is complete.
//!
//! - Source: the API reference of `batch/v1` Job; `backoffLimitPerIndex` is on by default since Kubernetes 1.29.

use super::yaml::document;
use super::{Batch, check_word};
use crate::form::{Fault, Faults};
use serde_json::{Value, json};
use std::path::{Component, Path, PathBuf};

/// How often a shard is begun again before it is given up (our choice: enough for an eviction or two; what it has run stays).
const RETRIES: u32 = 3;

/// Longest name of a Job whose pods have room for their index in theirs, which a host name limits to 63.
const NAME_MAX: usize = 50;

/// A sweep as Jobs of Kubernetes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kubernetes {
    /// What is run; its program is looked up in the image.
    pub batch: Batch,
    /// The image, which holds the program in the same version.
    pub image: String,
    /// The persistent volume claim that holds the inputs and takes the results.
    pub claim: String,
    /// Where it is mounted: the same paths lead to the inputs here and there.
    pub mount: String,
    /// Shards at a time.
    pub parallelism: usize,
    /// Tells sweeps of one scenario apart: lower-case letters and digits.
    pub tag: String,
}

impl Kubernetes {
    /// Refuses what cannot stand in a manifest, and paths that the volume does not hold.
    pub fn check(&self, faults: &mut Faults) {
        self.batch.check(faults);
        [&self.image, &self.mount].into_iter().for_each(|word| check_word(word, faults));
        let label = |text: &str| {
            let ends =
                text.starts_with(|it: char| it.is_ascii_alphanumeric()) && text.ends_with(|it: char| it.is_ascii_alphanumeric());
            ends && text.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || b"-.".contains(&it))
                && text.len() <= 253
        };
        if !label(&self.claim) {
            let fault = Fault::new(format!("`{}` is no name of a volume claim", self.claim.escape_debug()));
            faults.push(fault.help("expected lower-case letters, digits, `-` and `.`"));
        }
        if self.image.trim().is_empty() {
            faults.push(Fault::new("`--image` is empty"));
        }
        if self.mount.contains(':') {
            faults.push(Fault::new(format!("`{}` holds a colon, which Kubernetes does not take in a mount path", self.mount)));
        }
    }

    /// Refuses a path outside of the volume.
    pub fn check_path(&self, what: &str, path: &str, faults: &mut Faults) {
        if !plain(path).starts_with(plain(&self.mount)) {
            let fault = Fault::new(format!("{what} `{path}` is not on the volume, which is mounted at `{}`", self.mount));
            faults.push(fault.help("`--mount` names a folder above it"));
        }
    }

    /// Name of the Job of shards.
    pub fn name(&self) -> String {
        let plain = |it: char| if it.is_ascii_alphanumeric() { it.to_ascii_lowercase() } else { '-' };
        let mut name: String = format!("schedlab-{}", self.batch.name).chars().map(plain).collect();
        name.truncate(NAME_MAX - 1 - self.tag.len());
        format!("{}-{}", name.trim_end_matches('-'), self.tag)
    }

    /// The Job of shards.
    pub fn shards(&self) -> Value {
        let batch = &self.batch;
        let shard = format!(r#"--shard="$((JOB_COMPLETION_INDEX + 1))/{}""#, batch.shards);
        let mut job = self.job(&self.name(), &format!("exec \"$0\" sweep \"$@\" {shard}"), {
            let own = [format!("--threads={}", batch.cpus), format!("--out={}", batch.out)];
            batch.arguments.iter().cloned().chain(["--resume".into()]).chain(own).collect()
        });
        job["spec"]["completionMode"] = json!("Indexed");
        job["spec"]["completions"] = json!(batch.shards);
        job["spec"]["parallelism"] = json!(self.parallelism);
        job["spec"]["backoffLimitPerIndex"] = json!(RETRIES);
        job
    }

    /// The Job that merges.
    pub fn merge(&self) -> Value {
        let own = vec![format!("--threads={}", self.batch.cpus), "--".into(), self.batch.out.clone()];
        let mut job = self.job(&format!("{}-merge", self.name()), "exec \"$0\" sweep merge \"$@\"", own);
        job["spec"]["backoffLimit"] = json!(RETRIES);
        job["spec"]["suspend"] = json!(true);
        job
    }

    fn job(&self, name: &str, script: &str, arguments: Vec<String>) -> Value {
        // `$(NAME)` is replaced before a container starts; two dollar signs are one.
        let words = |words: Vec<String>| -> Vec<String> { words.iter().map(|it| it.replace('$', "$$")).collect() };
        let command = words(vec!["/bin/sh".into(), "-c".into(), script.into(), self.batch.program.clone()]);
        json!({
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": { "name": name, "labels": { "app": "schedlab" } },
            "spec": {
                "template": {
                    "metadata": { "labels": { "app": "schedlab" } },
                    "spec": {
                        "restartPolicy": "Never",
                        "containers": [{
                            "name": "schedlab",
                            "image": self.image,
                            "command": command,
                            "args": words(arguments),
                            "workingDir": self.batch.directory,
                            "resources": { "requests": { "cpu": self.batch.cpus.to_string() } },
                            "volumeMounts": [{ "name": "sweep", "mountPath": self.mount }],
                        }],
                        "volumes": [{ "name": "sweep", "persistentVolumeClaim": { "claimName": self.claim } }],
                    },
                },
            },
        })
    }
}

/// A path without `.` and `..`, which may lead out of a folder by whose name it begins.
fn plain(path: &str) -> PathBuf {
    let mut out = PathBuf::new();
    for part in Path::new(path).components() {
        match part {
            Component::ParentDir => _ = out.pop(),
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => out.push(part),
        }
    }
    out
}

/// Both Jobs, with what to do with them.
pub fn manifest(sweep: &Kubernetes) -> String {
    let name = sweep.name();
    format!(
        "# kubectl apply -f FILE\n\
         # kubectl wait --for=condition=complete --timeout=-1s job/{name}\n\
         # kubectl patch job/{name}-merge --patch '{{\"spec\":{{\"suspend\":false}}}}'\n\
         ---\n{}---\n{}",
        document(&sweep.shards()),
        document(&sweep.merge())
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::batch::tests::batch;
    use crate::sweep::batch::yaml::read;
    use std::process::Command;

    fn kubernetes() -> Kubernetes {
        Kubernetes {
            batch: Batch { program: "schedlab".into(), ..batch() },
            image: "registry.example/schedlab:0.1.0".into(),
            claim: "lab".into(),
            mount: "/data".into(),
            parallelism: 2,
            tag: "0a1b2c3d".into(),
        }
    }

    /// Fields of the objects used here, with their types, and whether they must be there: a part of the `batch/v1` and `v1` schemas.
    ///
    /// Source: the public API reference, kubernetes.io/docs/reference/kubernetes-api (v1.33): "Job", "PodTemplateSpec", "Container",
    /// "PersistentVolumeClaimVolumeSource". `restartPolicy` of a Job's pods is `Never` or `OnFailure`, and with `backoffLimitPerIndex`
    /// must be `Never`; that field needs `completionMode: Indexed`, and `Indexed` needs `completions`.
    const SCHEMA: &str = r#"{
        "Job": {"apiVersion!": "=batch/v1", "kind!": "=Job", "metadata!": "Meta", "spec!": "JobSpec"},
        "Meta": {"name": "label", "namespace": "label", "labels": "Labels", "annotations": "Labels"},
        "Labels": {"*": "string"},
        "JobSpec": {"template!": "PodTemplate", "parallelism": "count", "completions": "count", "completionMode": "=NonIndexed|Indexed",
            "backoffLimit": "count", "backoffLimitPerIndex": "count", "maxFailedIndexes": "count", "activeDeadlineSeconds": "count",
            "suspend": "bool", "ttlSecondsAfterFinished": "count"},
        "PodTemplate": {"metadata": "Meta", "spec!": "PodSpec"},
        "PodSpec": {"containers!": "[Container", "restartPolicy!": "=Never|OnFailure", "volumes": "[Volume", "nodeSelector": "Labels"},
        "Container": {"name!": "label", "image!": "string", "command": "[string", "args": "[string", "workingDir": "string",
            "resources": "Resources", "volumeMounts": "[Mount"},
        "Resources": {"requests": "Quantities", "limits": "Quantities"},
        "Quantities": {"cpu": "quantity", "memory": "quantity"},
        "Mount": {"name!": "label", "mountPath!": "path", "readOnly": "bool", "subPath": "string"},
        "Volume": {"name!": "label", "persistentVolumeClaim": "Claim"},
        "Claim": {"claimName!": "label", "readOnly": "bool"}
    }"#;

    /// What of `value` is not as the schema has it.
    fn faults(schema: &Value, kind: &str, value: &Value, at: &str, out: &mut Vec<String>) {
        let mut say = |what: &str| out.push(format!("{at}: {value} is {what}"));
        let text = value.as_str().unwrap_or("\u{0}");
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
        match kind {
            "string" if !value.is_string() => say("no text"),
            "bool" if !value.is_boolean() => say("no truth value"),
            "count" if value.as_i64().is_none_or(|it| !(0..=i64::from(i32::MAX)).contains(&it)) => say("no count"),
            "path" if !text.starts_with('/') || text.contains(':') => say("no path of a mount"),
            "quantity" if !digits(text) => say("no quantity"),
            "label"
                if !text.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-') || 63 < text.len() =>
            {
                say("no label of RFC 1123");
            }
            "string" | "bool" | "count" | "path" | "quantity" | "label" => {}
            _ if kind.starts_with('=') => {
                if !kind[1..].split('|').any(|it| it == text) {
                    say(kind);
                }
            }
            _ if kind.starts_with('[') => match value.as_array() {
                Some(items) => items.iter().for_each(|item| faults(schema, &kind[1..], item, &format!("{at}[]"), out)),
                None => say("no list"),
            },
            _ => {
                let fields = schema[kind].as_object().unwrap();
                let Some(entries) = value.as_object() else { return say("no object") };
                for (key, value) in entries {
                    let below = fields.get(key).or_else(|| fields.get(&format!("{key}!"))).or_else(|| fields.get("*"));
                    match below {
                        Some(below) => faults(schema, below.as_str().unwrap(), value, &format!("{at}.{key}"), out),
                        None => out.push(format!("{at}.{key}: there is no such field")),
                    }
                }
                let needed = fields.keys().filter_map(|key| key.strip_suffix('!')).filter(|key| !entries.contains_key(*key));
                out.extend(needed.map(|key| format!("{at}.{key}: it is missing")));
            }
        }
    }

    fn check(job: &Value) -> Vec<String> {
        let mut out = Vec::new();
        faults(&serde_json::from_str(SCHEMA).unwrap(), "Job", job, "", &mut out);
        let spec = &job["spec"];
        let indexed = spec["completionMode"] == "Indexed";
        if indexed && spec["completions"].is_null() || !spec["backoffLimitPerIndex"].is_null() && !indexed {
            out.push("fields of an Indexed Job without the rest".into());
        }
        if !spec["backoffLimitPerIndex"].is_null() && spec["template"]["spec"]["restartPolicy"] != "Never" {
            out.push("retries of an index with another restart policy".into());
        }
        out
    }

    fn documents(text: &str) -> Vec<Value> {
        let parts: Vec<&str> = text.split("---\n").collect();
        assert!(parts[0].lines().all(|line| line.starts_with("# ")), "{}", parts[0]);
        parts[1..].iter().map(|part| read::document(part)).collect()
    }

    #[test]
    fn a_manifest_is_two_valid_jobs() {
        let jobs = documents(&manifest(&kubernetes()));
        assert_eq!(jobs, [kubernetes().shards(), kubernetes().merge()]);
        for job in &jobs {
            assert_eq!(check(job), [""; 0]);
        }
        let spec = &jobs[0]["spec"];
        assert_eq!((&spec["completions"], &spec["parallelism"]), (&json!(4), &json!(2)));
        assert_eq!(jobs[1]["spec"]["suspend"], json!(true));
        let container = &spec["template"]["spec"]["containers"][0];
        assert_eq!(container["args"][0], "/data/quickstart.toml");
        assert_eq!(jobs[0]["metadata"]["name"], "schedlab-quickstart-0a1b2c3d");
    }

    #[test]
    fn the_schema_tells_a_wrong_manifest() {
        let wrong = |change: fn(&mut Value)| {
            let mut job = kubernetes().shards();
            change(&mut job);
            check(&job).len()
        };
        assert_eq!(wrong(|job| job["spec"]["completions"] = json!("4")), 1);
        assert_eq!(wrong(|job| job["spec"]["completionMode"] = json!("indexed")), 2);
        assert_eq!(wrong(|job| job["spec"]["shards"] = json!(4)), 1);
        assert_eq!(wrong(|job| job["spec"]["template"]["spec"]["restartPolicy"] = json!("OnFailure")), 1);
        assert_eq!(wrong(|job| job["metadata"]["name"] = json!("Quick_start")), 1);
        // It is missing, and so is the restart policy in it.
        assert_eq!(wrong(|job| _ = job["spec"].as_object_mut().unwrap().remove("template")), 2);
    }

    /// The command of a pod, as Kubernetes hands it over, run by a shell with a program that prints its arguments.
    #[test]
    fn a_pod_runs_its_own_shard_with_hostile_words() {
        let dir = tempfile::tempdir().unwrap();
        let arguments: Vec<String> =
            ["/data/it's.toml", "--over=a=$(HOME),$(id),`id`", "--policy=say \"$0\" \\ $$x"].map(Into::into).into();
        let hostile = Kubernetes { batch: Batch { arguments: arguments.clone(), ..kubernetes().batch }, ..kubernetes() };
        let job = &documents(&manifest(&hostile))[0];
        assert_eq!(check(job), [""; 0]);
        let program = dir.path().join("schedlab");
        std::fs::write(&program, "#!/bin/sh\nprintf '%s\\n' \"$@\"\n").unwrap();
        assert!(Command::new("chmod").arg("+x").arg(&program).status().unwrap().success());
        let container = &job["spec"]["template"]["spec"]["containers"][0];
        let words = |key: &str| -> Vec<String> {
            container[key].as_array().unwrap().iter().map(|it| expanded(it.as_str().unwrap())).collect()
        };
        let (command, args) = (words("command"), words("args"));
        let path = format!("{}:{}", dir.path().display(), std::env::var("PATH").unwrap());
        let mut pod = Command::new(&command[0]);
        let out = pod.args(&command[1..]).args(&args).env("PATH", path).env("JOB_COMPLETION_INDEX", "2").output().unwrap();
        let mut expected = vec!["sweep".to_owned()];
        expected.extend(arguments);
        expected.extend(["--resume", "--threads=2", "--out=/data/out", "--shard=3/4"].map(String::from));
        let printed = String::from_utf8(out.stdout).unwrap();
        assert_eq!(printed.lines().collect::<Vec<_>>(), expected, "{}", String::from_utf8_lossy(&out.stderr));
    }

    /// What Kubernetes makes of a word: `$$` is `$`, `$(NAME)` a variable, of which none is set here but `HOME`.
    ///
    /// Source: "Container" in the API reference, `command`.
    fn expanded(word: &str) -> String {
        let pieces: Vec<String> = word.split("$$").map(|piece| piece.replace("$(HOME)", "/root")).collect();
        pieces.join("$")
    }

    #[test]
    fn names_are_those_of_hosts_and_paths_lie_on_the_volume() {
        let named = |name: &str| Kubernetes { batch: Batch { name: name.into(), ..batch() }, ..kubernetes() };
        let long = named(&"AI2 after – the 2nd ".repeat(9));
        assert!(long.name().len() <= NAME_MAX && check(&long.shards()).is_empty(), "{}", long.name());
        assert_eq!(named("").name(), "schedlab-0a1b2c3d");
        let mut faults = Faults::new();
        long.check_path("the scenario", "/data/x.toml", &mut faults);
        assert!(faults.is_empty());
        long.check_path("the scenario", "/database/x.toml", &mut faults);
        long.check_path("the scenario", "/data/a/../../x.toml", &mut faults);
        Kubernetes { claim: "Lab_1".into(), image: " ".into(), mount: "/a:b".into(), ..kubernetes() }.check(&mut faults);
        assert_eq!(faults.len(), 5, "{faults:?}");
    }
}
