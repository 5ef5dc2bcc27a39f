//! Slurm: a job array of shards, and a job after it that merges them.
//!
//! Options stand as `#SBATCH` lines, so that a script is the whole of a job and can be kept, read and submitted by hand.
//!
//! - Source: `sbatch(1)` of Slurm 22.05; all options are older.

use super::quote::{sbatch, shell};
use super::{Batch, check_word};
use crate::form::{Fault, Faults};
use crate::sweep::folder::LOGS;

/// A sweep as jobs of Slurm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slurm {
    /// What is run.
    pub batch: Batch,
    /// `--partition`; the cluster's default without.
    pub partition: Option<String>,
    /// `--time` of each job, as Slurm writes it; the partition's default without.
    pub time: Option<String>,
}

impl Slurm {
    /// Refuses what cannot stand in a script.
    pub fn check(&self, faults: &mut Faults) {
        self.batch.check(faults);
        if let Some(partition) = &self.partition {
            check_word(partition, faults);
            if partition.split(',').any(|name| name.trim().is_empty()) {
                let fault = Fault::new(format!("`{}` is no partition of Slurm", partition.escape_debug()));
                faults.push(
                    fault.help("expected a name, or several with commas between; without `--partition` it is the cluster's own"),
                );
            }
        }
        if self.batch.out.contains('\\') {
            let fault =
                Fault::new(format!("`{}` holds a backslash, which Slurm does not take in the name of a log", self.batch.out));
            faults.push(fault.help("name another directory with `--out`"));
        }
        if let Some(time) = self.time.as_ref().filter(|time| !is_time(time)) {
            let fault = Fault::new(format!("`{}` is no time limit of Slurm", time.escape_debug()));
            faults.push(fault.help("expected minutes, `HH:MM:SS`, `DAYS-HH:MM:SS` or `infinite`"));
        }
    }

    /// Names of both jobs in the queue: that of shards, and that which merges.
    pub fn names(&self) -> [String; 2] {
        ["", "-merge"].map(|of_name| format!("schedlab-{}{of_name}", self.batch.name))
    }

    /// The folder of logs, which must be there before a job begins: Slurm does not make it.
    pub fn logs(&self) -> String {
        format!("{}/{LOGS}", self.batch.out)
    }

    /// The job array; `None` if no shard has anything to run.
    pub fn shards(&self) -> Option<String> {
        let batch = &self.batch;
        if batch.missing.is_empty() {
            return None;
        }
        let [name, _] = self.names();
        let mut text = self.head(&name, "%A_%a.log");
        text.push_str(&format!("#SBATCH --array={}\n", ranges(&batch.missing)));
        let words: Vec<String> = batch.arguments.iter().map(|word| shell(word)).collect();
        text.push_str(&format!(
            "{}exec {} sweep {} \\\n  --shard=\"$SLURM_ARRAY_TASK_ID/{}\" --resume --threads=\"$SLURM_CPUS_PER_TASK\" {}\n",
            self.begin(),
            shell(&batch.program),
            words.join(" \\\n  "),
            batch.shards,
            shell(&format!("--out={}", batch.out)),
        ));
        Some(text)
    }

    /// The job that merges, to be submitted with [`Slurm::after`].
    pub fn merge(&self) -> String {
        let [_, name] = self.names();
        let mut text = self.head(&name, "%j-merge.log");
        let (program, out) = (shell(&self.batch.program), shell(&self.batch.out));
        let begin = self.begin();
        text.push_str(&format!("{begin}exec {program} sweep merge --threads=\"$SLURM_CPUS_PER_TASK\" -- {out}\n"));
        text
    }

    /// Options that let a job wait for all tasks of an array, and end it if one of them fails.
    pub fn after(id: &str) -> [String; 2] {
        [format!("--dependency=afterok:{id}"), "--kill-on-invalid-dep=yes".into()]
    }

    /// A shell script that submits both.
    pub fn submission(&self) -> String {
        let logs = shell(&self.logs());
        let mut text = format!("#!/bin/sh\nset -eu\nmkdir -p {logs}\n");
        let mut options = String::new();
        if let Some(shards) = self.shards() {
            text.push_str(&format!("id=$(sbatch --parsable <<'END_OF_SHARDS'\n{shards}END_OF_SHARDS\n)\n"));
            options = format!(" {}", Self::after("\"${id%%;*}\"").join(" "));
        }
        text.push_str(&format!("sbatch --parsable{options} <<'END_OF_MERGE'\n{}END_OF_MERGE\n", self.merge()));
        text
    }

    fn head(&self, name: &str, log: &str) -> String {
        let batch = &self.batch;
        // A percent sign stands for more than itself in names of logs.
        let log = format!("{}/{log}", self.logs().replace('%', "%%"));
        let mut options = vec![
            ("job-name", name.to_owned()),
            ("ntasks", "1".into()),
            ("cpus-per-task", batch.cpus.to_string()),
            ("output", log),
            // A shard that is begun again keeps what it has run, so that its log goes on too.
            ("open-mode", "append".into()),
        ];
        options.extend(self.partition.iter().map(|it| ("partition", it.clone())));
        options.extend(self.time.iter().map(|it| ("time", it.clone())));
        let lines = options.into_iter().map(|(key, value)| format!("#SBATCH --{key}={}\n", sbatch(&value)));
        format!("#!/bin/sh\n{}#SBATCH --requeue\n", lines.collect::<String>())
    }

    fn begin(&self) -> String {
        format!("\nset -eu\ncd {}\n", shell(&self.batch.directory))
    }
}

/// The id in what `sbatch --parsable` printed: `ID` or `ID;CLUSTER`.
pub fn job_id(printed: &str) -> Option<&str> {
    let id = printed.trim().split(';').next()?;
    (!id.is_empty() && id.bytes().all(|it| it.is_ascii_digit())).then_some(id)
}

/// Task numbers as Slurm writes them: `1-3,7`.
fn ranges(numbers: &[usize]) -> String {
    let pieces = numbers.chunk_by(|one, next| one + 1 == *next).map(|piece| match piece {
        [one] => one.to_string(),
        _ => format!("{}-{}", piece[0], piece[piece.len() - 1]),
    });
    pieces.collect::<Vec<_>>().join(",")
}

/// Whether it is written as a time limit: `M`, `M:S`, `H:M:S`, `D-H`, `D-H:M` or `D-H:M:S`, or without an end.
fn is_time(text: &str) -> bool {
    if ["infinite", "unlimited"].contains(&text.to_ascii_lowercase().as_str()) {
        return true;
    }
    let (days, rest) = text.split_once('-').map_or((None, text), |(days, rest)| (Some(days), rest));
    let is_number = |text: &str| !text.is_empty() && text.len() <= 9 && text.bytes().all(|it| it.is_ascii_digit());
    days.is_none_or(is_number) && rest.split(':').count() <= 3 && rest.split(':').all(is_number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::batch::tests::batch;
    use std::process::Command;

    fn slurm() -> Slurm {
        Slurm { batch: batch(), partition: Some("cpu".into()), time: Some("1-00:00:00".into()) }
    }

    #[test]
    fn a_script_holds_a_whole_job() {
        let expected = "#!/bin/sh
#SBATCH --job-name=schedlab-quickstart
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=2
#SBATCH --output=\"/data/out/slurm/%A_%a.log\"
#SBATCH --open-mode=append
#SBATCH --partition=cpu
#SBATCH --time=1-00:00:00
#SBATCH --requeue
#SBATCH --array=1-4

set -eu
cd /data
exec /opt/schedlab sweep /data/quickstart.toml \\
  --over=order.lookback=1d,7d \\
  --shard=\"$SLURM_ARRAY_TASK_ID/4\" --resume --threads=\"$SLURM_CPUS_PER_TASK\" --out=/data/out
";
        assert_eq!(slurm().shards().unwrap(), expected);
        assert!(
            slurm()
                .merge()
                .ends_with("cd /data\nexec /opt/schedlab sweep merge --threads=\"$SLURM_CPUS_PER_TASK\" -- /data/out\n")
        );
    }

    #[test]
    fn only_shards_with_something_to_run_are_submitted() {
        let with = |missing: &[usize]| Slurm { batch: Batch { missing: missing.to_vec(), ..batch() }, ..slurm() };
        assert!(with(&[2, 4]).shards().unwrap().contains("#SBATCH --array=2,4\n"));
        assert!(with(&[2, 4]).shards().unwrap().contains("$SLURM_ARRAY_TASK_ID/4\""));
        assert_eq!(with(&[]).shards(), None);
        assert!(!with(&[]).submission().contains("dependency"));
        assert_eq!(ranges(&[1, 2, 3, 7, 9, 10]), "1-3,7,9-10");
    }

    /// The scripts are run by a real shell, with a program that prints its arguments, and submitted to one that keeps them.
    #[test]
    fn hostile_names_reach_the_program_as_they_are() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("a b'c\"d$HOME`e`;%j#é");
        std::fs::create_dir(&root).unwrap();
        let path = |name: &str| root.join(name).to_str().unwrap().to_owned();
        let program = |name: &str, text: &str| {
            std::fs::write(path(name), text).unwrap();
            assert!(Command::new("chmod").args(["+x", &path(name)]).status().unwrap().success());
        };
        program("schedlab", "#!/bin/sh\npwd\nprintf '%s\\n' \"$@\"\n");
        // Runs what it is given, as Slurm would, and answers with an id.
        program(
            "sbatch",
            "#!/bin/sh\nSLURM_ARRAY_TASK_ID=3 SLURM_CPUS_PER_TASK=2 sh -s >>\"$SEEN\"\necho \"$@\" >>\"$SEEN\"\necho '17;here'\n",
        );
        let arguments = vec![path("x.toml"), "--over=a=$(touch x),`touch y`".into(), "--policy=it's \"$0\" \\".into()];
        let slurm = Slurm {
            batch: Batch {
                program: path("schedlab"),
                directory: path(""),
                out: path("out"),
                arguments: arguments.clone(),
                ..batch()
            },
            ..slurm()
        };
        let mut faults = Faults::new();
        slurm.check(&mut faults);
        assert!(faults.is_empty(), "{faults:?}");
        let out = Command::new("sh")
            .args(["-c", &slurm.submission()])
            .env("PATH", format!("{}:{}", root.display(), std::env::var("PATH").unwrap()))
            .env("SEEN", path("seen"))
            .output()
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&out.stderr), "");
        let seen = std::fs::read_to_string(path("seen")).unwrap();
        let seen: Vec<&str> = seen.lines().collect();
        let at = root.to_str().unwrap();
        let mut expected = vec![at.to_owned(), "sweep".into()];
        expected.extend(arguments);
        expected.extend(["--shard=3/4", "--resume", "--threads=2"].map(String::from));
        expected.extend([format!("--out={}", path("out")), "--parsable".into()]);
        expected.extend([at.into(), "sweep".into(), "merge".into(), "--threads=2".into(), "--".into(), path("out")]);
        expected.push("--parsable --dependency=afterok:17 --kill-on-invalid-dep=yes".into());
        assert_eq!(seen, expected);
        let mut left: Vec<_> =
            std::fs::read_dir(&root).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
        left.sort();
        assert_eq!(left, ["out", "sbatch", "schedlab", "seen"]);
    }

    #[test]
    fn what_no_script_can_hold_is_refused() {
        let hostile = Slurm {
            batch: Batch { out: "/a\\b".into(), directory: "/a\nb".into(), ..batch() },
            partition: Some("a\nb".into()),
            time: Some("soon".into()),
        };
        let mut faults = Faults::new();
        hostile.check(&mut faults);
        assert_eq!(faults.len(), 4, "{faults:?}");
        for partition in ["", " ", "a,,b", "a,"] {
            let mut faults = Faults::new();
            Slurm { partition: Some(partition.into()), ..slurm() }.check(&mut faults);
            assert_eq!(faults.len(), 1, "{partition:?}: {faults:?}");
        }
        for time in ["90", "5:00", "1:00:00", "2-0", "2-00:30", "2-0:0:0", "infinite", "UNLIMITED"] {
            assert!(is_time(time), "{time}");
        }
        for time in ["", "1h", "1:2:3:4", "-1", "1-", "a-1", "1:", " 1"] {
            assert!(!is_time(time), "{time}");
        }
    }

    #[test]
    fn ids_are_read_with_or_without_a_cluster() {
        assert_eq!((job_id("12\n"), job_id("12;east\n"), job_id("no\n"), job_id("")), (Some("12"), Some("12"), None, None));
    }
}
