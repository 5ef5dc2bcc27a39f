//! `schedlab predict`: a model of refusals from runs of a scenario, and how good it is.

use super::args::PredictArgs;
use super::output;
use super::progress::Bars;
use super::spread::{cases, spread};
use crate::drive::{build, drive, under};
use crate::engine::Case;
use crate::error::Error;
use crate::policy::PolicySpec;
use crate::predict::{AHEAD, Bin, Counts, Model, OneSided, Provenance, Sample, Scores, samples, split, train};
use crate::report::{Part, inputs, set_terminal};
use crate::scenario::{Scenario, chosen};

/// Runs the scenario, learns, writes the model and says how good it is.
pub fn predict(args: &PredictArgs) -> Result<(), Error> {
    let settings = chosen::settings(&args.settings)?;
    let mut notes = Vec::new();
    let named: Vec<String> = args.policy.iter().cloned().collect();
    let (mut scenario, mut policies) = chosen::choose(&args.scenario, &named, &settings, &mut notes)?;
    scenario.seeds = args.seeds.unwrap_or(scenario.seeds);
    policies.truncate(1);
    let Some(spec) = policies.pop() else { return Err(Error::input("there is no policy to run")) };
    let bars = Bars::new(args.quiet);
    if !args.quiet {
        scenario.notes.iter().chain(&notes).for_each(|note| bars.note(note));
    }
    let threads = args.threads.map(usize::from);
    let cases = cases(&scenario, threads)?;
    build(&spec, &under(&spec, &cases[0]))?;
    let runs = spread(&cases, threads, |case| one(&spec, case, &bars))?;
    let provenance = provenance(args, &scenario, &spec, &cases);
    let model = train(&split(runs), provenance).map_err(|error| nothing(&error))?;
    output::write_file(&args.out, |it| it.write_all(model.text().as_bytes()))?;
    if args.json {
        let text = serde_json::to_string_pretty(&model.scores).expect("scores are finite numbers");
        return output::print(&format!("{text}\n"));
    }
    output::print(&set_terminal(parts(&model)))?;
    if !args.quiet {
        bars.note(&format!("written to {}", args.out.display()));
    }
    Ok(())
}

fn one(spec: &PolicySpec, case: &Case, bars: &Bars) -> Result<Vec<Sample>, Error> {
    let case = under(spec, case);
    let jobs = case.users.is_none().then_some(case.workload.jobs.len());
    let mut watch = bars.watch(&format!("{} {}", spec.name, case.seed), jobs);
    let outcome = drive(spec, &case, &mut watch)?;
    watch.finish();
    Ok(samples(&case, &outcome))
}

fn nothing(error: &OneSided) -> Error {
    let fault = crate::form::Fault::new(error.to_string());
    match error {
        OneSided::Part { counts, .. } if counts.refused == 0 => {
            fault.help("raise the load (`--set workload.load=0.9`), shrink the cluster, or run more seeds").into()
        }
        OneSided::Part { .. } => fault.help("lower the load (`--set workload.load=0.5`), or run more seeds").into(),
        OneSided::Trees(_) => fault.into(),
    }
}

fn provenance(args: &PredictArgs, scenario: &Scenario, spec: &PolicySpec, cases: &[Case]) -> Provenance {
    Provenance {
        schedlab: env!("CARGO_PKG_VERSION").into(),
        scenario: scenario.name.clone(),
        inputs: inputs(&cases.iter().collect::<Vec<&Case>>()),
        settings: args.settings.clone(),
        policy: spec.name.clone(),
        policy_hash: blake3::hash(format!("{spec:?}").as_bytes()).to_hex()[..32].to_owned(),
        seeds: cases.iter().map(|case| case.seed).collect(),
        ahead_s: AHEAD.as_millis() / 1000,
    }
}

/// What there is to say.
fn parts(model: &Model) -> Vec<Part> {
    let (from, scores) = (&model.provenance, &model.scores);
    let seeds = from.seeds.len();
    let opening = format!(
        "Is anyone who arrives within {} s refused at arrival? {} trees, from the first 70% of {}, judged by the last 30%.",
        from.ahead_s,
        model.trees(),
        if seeds == 1 { "the run".to_owned() } else { format!("{seeds} runs") },
    );
    vec![
        Part::Heading(format!("{} under {}: refusals within a minute", from.scenario, from.policy)),
        Part::Text(opening),
        counts(scores),
        Part::Table {
            labels: 1,
            head: ["", "model", "without"].map(String::from).to_vec(),
            rows: vec![
                vec!["AUC (without: of the mean load alone)".into(), figure(scores.auc), figure(scores.auc_load)],
                vec!["Brier (without: of the rate in training)".into(), figure(scores.brier), figure(scores.brier_base)],
            ],
        },
        Part::Text(format!("Above one half in {:.1}% of the test.", 100.0 * scores.fires)),
        calibration(&scores.calibration),
    ]
}

fn counts(scores: &Scores) -> Part {
    let row = |part: &str, counts: Counts| {
        vec![part.to_owned(), counts.samples.to_string(), counts.refused.to_string(), format!("{:.1}%", 100.0 * counts.rate())]
    };
    Part::Table {
        labels: 1,
        head: ["", "samples", "refusal follows", "rate"].map(String::from).to_vec(),
        rows: vec![row("training", scores.train), row("test", scores.test)],
    }
}

fn calibration(bins: &[Bin]) -> Part {
    let row = |bin: &Bin| {
        let of = |value: f64| if bin.counts.samples == 0 { "-".to_owned() } else { figure(value) };
        vec![
            format!("{:.1} to {:.1}", bin.from, bin.from + 0.1),
            bin.counts.samples.to_string(),
            of(bin.predicted),
            of(bin.counts.rate()),
        ]
    };
    Part::Table {
        labels: 1,
        head: ["predicted", "samples", "mean predicted", "observed"].map(String::from).to_vec(),
        rows: bins.iter().map(row).collect(),
    }
}

fn figure(value: f64) -> String {
    format!("{value:.4}")
}
