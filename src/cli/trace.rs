//! `schedlab trace`.

use super::args::{TraceArgs, TraceCommand};
use super::{output, run, wire};
use crate::error::Error;
use crate::scenario::Scenario;

/// Looks at a trace, converts it, or makes one.
pub fn trace(args: &TraceArgs) -> Result<(), Error> {
    match &args.command {
        TraceCommand::Info { file, format, nodes, max_gpus_per_task, json } => {
            output::print(&wire::trace_info(file, format.as_deref(), nodes.as_deref(), *max_gpus_per_task, *json)?)
        }
        TraceCommand::Convert { input, output: to, format, max_gpus_per_task } => {
            let (text, bytes) = wire::trace_convert(input, format.as_deref(), *max_gpus_per_task)?;
            output::write_file(to, |out| out.write_all(&bytes))?;
            output::print(&text)
        }
        TraceCommand::Synth { scenario, output: to, seed, settings } => {
            let settings = run::settings(settings)?;
            let scenario = Scenario::load(scenario, &run::for_scenario(&settings))?;
            let case = scenario.case(seed.unwrap_or(scenario.seed))?;
            output::write_file(to, |out| wire::write_native(&case, out))?;
            output::print(&format!("{} jobs written to {}\n", case.workload.jobs.len(), to.display()))
        }
    }
}
