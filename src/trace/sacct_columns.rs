//! The columns of `sacct`, and how a file's are found: by its header, whatever delimits it, or in a known order.

use super::error::{Excerpt, TraceError};
use super::input::Lines;
use super::intake::Intake;
use super::table::{Column, Table, names_at};
use crate::registry::Knobs;

pub const JOB_ID: usize = 0;
pub const JOB_ID_RAW: usize = 1;
pub const JOB_NAME: usize = 2;
pub const CLUSTER: usize = 3;
pub const ACCOUNT: usize = 4;
pub const USER: usize = 5;
pub const UID: usize = 6;
pub const PARTITION: usize = 7;
pub const QOS: usize = 8;
pub const SUBMIT: usize = 9;
pub const ELIGIBLE: usize = 10;
pub const START: usize = 11;
pub const END: usize = 12;
pub const ELAPSED: usize = 13;
pub const ELAPSED_RAW: usize = 14;
pub const STATE: usize = 15;
pub const TIMELIMIT: usize = 16;
pub const TIMELIMIT_RAW: usize = 17;
pub const NNODES: usize = 18;
pub const ALLOC_NODES: usize = 19;
pub const REQ_NODES: usize = 20;
pub const NCPUS: usize = 21;
pub const ALLOC_CPUS: usize = 22;
pub const REQ_CPUS: usize = 23;
pub const ALLOC_TRES: usize = 24;
pub const REQ_TRES: usize = 25;
pub const ALLOC_GRES: usize = 26;
pub const REQ_GRES: usize = 27;
pub const REQ_MEM: usize = 28;
pub const NODE_LIST: usize = 29;
pub const PRIORITY: usize = 30;
static COLUMNS: [Column; 40] = [
    Column::optional("JobID"),
    Column::optional("JobIDRaw"),
    Column::optional("JobName"),
    Column::optional("Cluster"),
    Column::optional("Account"),
    Column::optional("User"),
    Column::optional("UID"),
    Column::optional("Partition"),
    Column::optional("QOS"),
    Column::needed("Submit"),
    Column::optional("Eligible"),
    Column::needed("Start"),
    Column::optional("End"),
    Column::optional("Elapsed"),
    Column::optional("ElapsedRaw"),
    Column::optional("State"),
    Column::optional("Timelimit"),
    Column::optional("TimelimitRaw"),
    Column::optional("NNodes"),
    Column::optional("AllocNodes"),
    Column::optional("ReqNodes"),
    Column::optional("NCPUS"),
    Column::optional("AllocCPUS"),
    Column::optional("ReqCPUS"),
    Column::optional("AllocTRES"),
    Column::optional("ReqTRES"),
    Column::optional("AllocGRES"),
    Column::optional("ReqGRES"),
    Column::optional("ReqMem"),
    Column::optional("NodeList"),
    Column::optional("Priority"),
    // Known, and of no use to a replay.
    Column::optional("Group"),
    Column::optional("GID"),
    Column::optional("ExitCode"),
    Column::optional("DerivedExitCode"),
    Column::optional("Reservation"),
    Column::optional("Reason"),
    Column::optional("Flags"),
    Column::optional("Constraints"),
    Column::optional("Suspended"),
];

/// The order in which Open XDMoD asks for a dump without a header.
///
/// - Source: open.xdmod.org, "Slurm Resource Manager": `xdmod-slurm-helper`. Before version 9.5 it did not ask for `qos`.
const XDMOD: &str = "jobid,jobidraw,cluster,partition,qos,account,group,gid,user,uid,submit,eligible,start,end,elapsed,exitcode,state,\
                     nnodes,ncpus,reqcpus,reqmem,reqtres,alloctres,timelimit,nodelist,jobname";

fn names(list: &str) -> Vec<String> {
    let apart = |c: char| c == ',' || c == '|' || c.is_whitespace();
    list.split(apart).filter(|name| !name.is_empty()).map(|name| name.split('%').next().unwrap_or(name).to_owned()).collect()
}

/// The delimiter of a header line: what stands between its first name and the next, since names are letters and digits alone.
fn delimiter_of(line: &[u8]) -> Option<&[u8]> {
    let line = line.trim_ascii_start();
    let start = line.iter().position(|b| !b.is_ascii_alphanumeric())?;
    let len = line[start..].iter().take_while(|b| !b.is_ascii_alphanumeric()).count();
    let found = &line[start..start + len];
    (start != 0 && found.iter().any(|&b| b != b' ')).then_some(found)
}

/// Whether a line is a header of `sacct`, or a row in XDMoD's order.
pub fn is_sacct(line: &[u8]) -> bool {
    // Names apart by spaces are what it prints without `-P`: of the format, if not readable, which its reader says.
    is_header(line, delimiter_of(line).unwrap_or(b" ")) || xdmod_order(line).is_some()
}

fn is_header(line: &[u8], delimiter: &[u8]) -> bool {
    let found = names_at(line, delimiter);
    let has = |names: &[&str]| names.iter().any(|name| found.iter().any(|it| it.eq_ignore_ascii_case(name)));
    has(&["JobID", "JobIDRaw"]) && has(&["Submit"]) && has(&["Start", "End", "Elapsed", "ElapsedRaw", "State"])
}

/// The names of a row in XDMoD's order: as many fields, an id first, and dates where they belong.
fn xdmod_order(line: &[u8]) -> Option<Vec<String>> {
    let fields = names_at(line, b"|");
    let mut names = names(XDMOD);
    if fields.len() + 1 == names.len() {
        names.remove(4);
    }
    let submit = names.iter().position(|name| name == "submit")?;
    let is_id = super::slurm::job_row(fields.first()?.as_bytes()).is_some();
    let is_date = super::field::date(fields.get(submit)?.as_bytes()).is_some();
    (fields.len() == names.len() && is_id && is_date).then_some(names)
}

/// The table of a file.
///
/// - Errors: it has no header, or not the columns that are needed; `None`, and faults.
pub fn open(lines: Lines, knobs: &Knobs, intake: &mut Intake<'_>) -> Option<Table> {
    let head = lines.head().to_owned();
    let mut rows = head.split(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line)).enumerate();
    let (number, line) = rows.find(|(_, line)| !line.trim_ascii().is_empty())?;
    let set = knobs.opt_text("delimiter").filter(|text| !text.is_empty());
    let given = match knobs.opt_text("columns") {
        Some("xdmod") if names_at(line, b"|").len() == names(XDMOD).len() - 1 => xdmod_order(line).or(Some(names(XDMOD))),
        Some("xdmod") => Some(names(XDMOD)),
        Some(list) => Some(names(list)),
        None => {
            let found = xdmod_order(line);
            if found.is_some() {
                intake.report.assumed.push("no header: the columns are in the order of Open XDMoD (knob `columns`)".into());
            }
            found
        }
    };
    let delimiter = match (set, &given) {
        (Some(text), _) => text.as_bytes(),
        (None, Some(_)) => b"|",
        (None, None) => match delimiter_of(line) {
            Some(found) => found,
            None => {
                let found = "the header has no delimiter".to_owned();
                let expected = "what `sacct -P` prints, or the knob `delimiter`".to_owned();
                intake.faults.push(TraceError::bad_row(intake.file(), number as u64 + 1, line, None, found, expected));
                return None;
            }
        },
    };
    let header = given.as_ref().map_or_else(|| names_at(line, delimiter), Clone::clone);
    let has = |names: &[&str]| names.iter().any(|name| header.iter().any(|it| it.eq_ignore_ascii_case(name)));
    // The name of a job is the user's own text; where another such column stands, a field to spare could be of either.
    let free = ["Comment", "AdminComment", "SystemComment", "SubmitLine", "WorkDir", "StdOut", "StdErr", "StdIn", "Constraints"];
    let spill = (!has(&free)).then_some(JOB_NAME);
    let mut sound = true;
    if let Some(names) = &given {
        let double = names.iter().enumerate().any(|(at, name)| names[..at].iter().any(|it| it.eq_ignore_ascii_case(name)));
        if double || !has(&["Submit"]) || !has(&["Start"]) {
            let (file, value) = (intake.file().to_path_buf(), names.join(","));
            let expected = "names of columns, each once, with `Submit` and `Start` among them";
            intake.faults.push(TraceError::Knob { file, knob: "columns", value, expected });
            return None;
        }
    }
    let table = Table::delimited(lines, &COLUMNS, delimiter, given, spill, &mut intake.faults);
    let tres = ["AllocTRES", "ReqTRES", "AllocGRES", "ReqGRES"];
    let cpus = ["NCPUS", "AllocCPUS", "ReqCPUS", "AllocTRES", "ReqTRES"];
    let nodes = ["NNodes", "AllocNodes", "ReqNodes", "NodeList", "AllocTRES", "ReqTRES"];
    let (asked, by): (&[&str], _) = match knobs.text("gpus") {
        "tres" => (&tres, ", or a knob `gpus` that counts CPUs or nodes"),
        "cpus" => (&cpus, ""),
        _ => (&nodes, ""),
    };
    let one_of: [(&[&'static str], &str); 3] =
        [(&["JobID", "JobIDRaw"], ""), (&["Elapsed", "ElapsedRaw", "End"], ""), (asked, by)];
    for (columns, or) in one_of.into_iter().filter(|(columns, _)| !has(columns)) {
        let (at, row) = Excerpt::new(intake.file(), number as u64 + 1, line, None);
        let span = row.span();
        let help = Some(format!("expected one of {}{or}", columns.join(", ")));
        intake.faults.push(TraceError::MissingColumn { at, column: columns[0], row, span, help });
        sound = false;
    }
    table.filter(|_| sound)
}
