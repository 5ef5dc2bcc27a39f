//! Where the files that a scenario names lie, and where to get those that are missing.

use crate::form::{Fault, Faults, Place};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Written before a path, it means the folder of public traces: `$SCHEDLAB_SHARED/traces`, `traces/` of the project, or
/// `../shared/traces` beside the project, whichever has the file.
const SHARED: &str = "shared:";

/// Folders that paths of a scenario start from.
#[derive(Clone, Debug)]
pub struct Folders {
    here: PathBuf,
    root: PathBuf,
    /// What was found through these and their clones, each once.
    found: Arc<Mutex<Vec<PathBuf>>>,
}

impl Folders {
    /// The folders of a scenario file. The project is the folder above `scenarios/`, or else above the file's own.
    pub fn of(scenario: &Path) -> Folders {
        let here = scenario.parent().map_or_else(PathBuf::new, Path::to_path_buf);
        let under = scenario.ancestors().skip(1).find(|it| it.file_name().is_some_and(|name| name == "scenarios"));
        let root = match under {
            Some(folder) => folder.parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf),
            None => here.join(".."),
        };
        let root = if root.as_os_str().is_empty() { PathBuf::from(".") } else { root };
        Folders { here, root, found: Arc::default() }
    }
    /// Folders of policy files, the first one going before: `policies/` in the scenario's own folder, and that of the project.
    pub fn policies(&self) -> [PathBuf; 2] {
        [self.here.join("policies"), self.root.join("policies")]
    }
    /// The files that were found so far, in the order they were named first: all that a scenario reads besides itself.
    pub fn found(&self) -> Vec<PathBuf> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
    /// The file that `text` names, from the scenario's own folder.
    ///
    /// - Errors: a fault at `place` when there is no such file, saying where to get it if that is known.
    pub fn file(&self, text: &str, place: &Place, faults: &mut Faults) -> Option<PathBuf> {
        let mut candidates = self.candidates(text);
        if place.source.name.starts_with("--") && !text.starts_with(SHARED) {
            // A path given by an option starts where the command was typed.
            candidates.insert(0, PathBuf::from(text));
        }
        if let Some(found) = candidates.iter().find(|path| path.is_file()) {
            // A thread that panicked left a list that is whole: each push is.
            let mut all = self.found.lock().unwrap_or_else(PoisonError::into_inner);
            if !all.contains(found) {
                all.push(found.clone());
            }
            return Some(found.clone());
        }
        let fault = if candidates.iter().any(|path| path.is_dir()) {
            Fault::new(format!("`{text}` is a directory")).at(place, "expected a file")
        } else {
            let looked: Vec<String> = candidates.iter().map(|path| format!("`{}`", path.display())).collect();
            let fault = Fault::new(format!("there is no file `{text}`"));
            fault.at(place, format!("expected an existing file; looked for {}", looked.join(", ")))
        };
        faults.push(match origin(text) {
            Some(origin) => fault.help(format!(
                "get it from {origin}; put it where one of these paths says, SCHEDLAB_SHARED being a folder with `traces/` in it \
                 (traces/README.md says more)"
            )),
            None => fault.help("paths start at the folder of the scenario file; `shared:` before one means the public traces"),
        });
        None
    }

    fn candidates(&self, text: &str) -> Vec<PathBuf> {
        let Some(rest) = text.strip_prefix(SHARED) else { return vec![self.here.join(text)] };
        let named = std::env::var_os("SCHEDLAB_SHARED").map(|folder| Path::new(&folder).join("traces").join(rest));
        let beside = [self.root.join("traces").join(rest), self.root.join("../shared/traces").join(rest)];
        named.into_iter().chain(beside).collect()
    }
}

/// Where public traces come from, by how their file names begin.
const ORIGINS: &[(&str, &str)] = &[
    (
        "philly",
        "github.com/siasosp23/artifacts, `sia-simulator/traces/philly.csv` (Microsoft Philly, CC BY 4.0; gzip it as \
         `philly_sia.csv.gz`)",
    ),
    ("openb_", "github.com/alibaba/clusterdata, `cluster-trace-gpu-v2023/csv/` (gzip it or name it without `.gz`)"),
    ("SDSC-SP2", "the Parallel Workloads Archive, www.cs.huji.ac.il/labs/parallel/workload (log SDSC SP2)"),
    ("LCG", "the Parallel Workloads Archive, www.cs.huji.ac.il/labs/parallel/workload (log LCG)"),
    ("phillips", "github.com/ubccr/xdmod, `tests/artifacts/xdmod/referencedata/` (Open XDMoD; gzip it as `phillips.log.gz`)"),
    (
        "workload_week",
        "github.com/ubccr-slurm-simulator/slurm_sim_tools, `tutorials/medium_cluster/job_traces/` (gzip it as \
         `workload_week.events.gz`)",
    ),
    ("HPC2N", "the Parallel Workloads Archive, www.cs.huji.ac.il/labs/parallel/workload (log HPC2N)"),
];

fn origin(text: &str) -> Option<&'static str> {
    let name = text.rsplit(['/', ':']).next().unwrap_or(text);
    ORIGINS.iter().find(|(start, _)| name.starts_with(start)).map(|(_, origin)| *origin)
}
