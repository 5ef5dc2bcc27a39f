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
        if !is_image(&self.image) {
            let fault = Fault::new(format!("`{}` is no name of an image", self.image.escape_debug()));
            faults.push(fault.help("expected [HOST[:PORT]/]PATH[:TAG][@DIGEST], such as `registry.example/schedlab:0.1.0`"));
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

/// Whether an image can be called so.
///
/// Source: the grammar of `reference` in github.com/distribution/reference (`reference.go`), which container runtimes read names by; IPv6
/// hosts in brackets are left out.
fn is_image(text: &str) -> bool {
    let is_word = |it: u8| it.is_ascii_alphanumeric() || it == b'_';
    let (rest, digest) = text.split_once('@').map_or((text, None), |(rest, digest)| (rest, Some(digest)));
    let is_digest = |digest: &str| {
        digest.split_once(':').is_some_and(|(kind, hex)| {
            kind.starts_with(|it: char| it.is_ascii_alphabetic())
                && kind.bytes().all(|it| it.is_ascii_alphanumeric() || b"+._-".contains(&it))
                && 32 <= hex.len()
                && hex.bytes().all(|it| it.is_ascii_hexdigit())
        })
    };
    // A colon after the last slash is of a tag, one before it of a port.
    let (name, tag) = match rest.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => (name, Some(tag)),
        _ => (rest, None),
    };
    let is_tag = |tag: &str| {
        let first = tag.bytes().next().is_some_and(is_word);
        first && tag.len() <= 128 && tag.bytes().all(|it| is_word(it) || b".-".contains(&it))
    };
    let is_host = |host: &str| {
        let (host, port) = host.split_once(':').map_or((host, None), |(host, port)| (host, Some(port)));
        let is_part = |part: &str| {
            let is_inner = |it: u8| it.is_ascii_alphanumeric() || it == b'-';
            !part.is_empty() && part.bytes().all(is_inner) && !part.starts_with('-') && !part.ends_with('-')
        };
        host.split('.').all(is_part) && port.is_none_or(|port| !port.is_empty() && port.bytes().all(|it| it.is_ascii_digit()))
    };
    let is_path = |part: &str| {
        // Words of small letters and digits, with one of `.`, `_`, `__` or hyphens between.
        let is_plain = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit();
        let between = part.split(is_plain).filter(|piece| !piece.is_empty());
        let ends = part.starts_with(is_plain) && part.ends_with(is_plain);
        ends && between.into_iter().all(|piece| [".", "_", "__"].contains(&piece) || piece.bytes().all(|it| it == b'-'))
    };
    let host = name.split_once('/').filter(|(host, _)| host.contains(['.', ':']) || *host == "localhost" || !is_path(host));
    let (host, path) = host.map_or((None, name), |(host, path)| (Some(host), path));
    host.is_none_or(is_host)
        && path.split('/').all(is_path)
        && name.len() <= 255
        && tag.is_none_or(is_tag)
        && digest.is_none_or(is_digest)
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
    use crate::sweep::batch::schema::check;
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
        assert_eq!(wrong(|_| {}), 0);
        assert_eq!(wrong(|job| job["spec"]["completions"] = json!("4")), 1);
        assert_eq!(wrong(|job| job["spec"]["completions"] = json!(4_000_000_000_u64)), 1);
        assert_eq!(wrong(|job| job["apiVersion"] = json!("batch/v2")), 1);
        assert_eq!(wrong(|job| job["spec"]["template"]["spec"]["containers"][0]["args"][0] = json!(3)), 1);
        assert_eq!(wrong(|job| job["metadata"]["labels"]["a"] = json!(true)), 1);
        assert_eq!(wrong(|job| job["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!([])), 1);
        assert_eq!(wrong(|job| job["spec"]["template"]["spec"]["volumes"][0]["name"] = json!("other")), 1);
        // An unknown mode, and retries of an index without one.
        assert_eq!(wrong(|job| job["spec"]["completionMode"] = json!("indexed")), 2);
        assert_eq!(wrong(|job| job["spec"]["shards"] = json!(4)), 1);
        assert_eq!(wrong(|job| job["spec"]["template"]["spec"]["restartPolicy"] = json!("OnFailure")), 1);
        assert_eq!(wrong(|job| job["metadata"]["name"] = json!("Quick_start")), 1);
        assert_eq!(wrong(|job| _ = job["spec"].as_object_mut().unwrap().remove("template")), 1);
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
    fn images_are_called_as_runtimes_read_them() {
        let digest = format!("lab@sha256:{}", "0a".repeat(32));
        for image in
            ["lab", "lab:1", "a/b_c/d--e:V1.0", "registry.example:5000/x/schedlab:0.1.0", "localhost/lab", "UP/lab", &digest]
        {
            assert!(is_image(image), "{image}");
        }
        let long = "a".repeat(256);
        for image in [
            "",
            " ",
            "Lab",
            "lab:",
            "lab:-1",
            "a b",
            "lab@sha256:12",
            "-x",
            "a//b",
            "a/b:c/d",
            "a..b",
            "a/",
            "/a",
            "x:y:z",
            &long,
        ] {
            assert!(!is_image(image), "{image}");
        }
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
