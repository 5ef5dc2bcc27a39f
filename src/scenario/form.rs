//! The keys of a scenario file, each described once.

use crate::form::{Form, Part};
use crate::policy::CONTRACT_KNOBS;
use crate::registry::{Kind, Knob, SPAN_MAX};
use crate::trace;
use crate::units::SimSpan;
use crate::workload::{behave, flags, shape, synth};

const NAMES: Kind = Kind::List(&Kind::Text);
const POSITIVE: Kind = Kind::Float { min: 1e-9, max: f64::MAX };
const NOT_NEGATIVE: Kind = Kind::Float { min: 0.0, max: f64::MAX };
const SPAN_POSITIVE: Kind = Kind::Span { min: SimSpan::from_millis(1), max: SPAN_MAX };

/// A scenario file.
pub const SCENARIO: Form = Form {
    about: "what is simulated: cluster, work, accounts, contract, and the policies compared",
    knobs: &[Knob::optional("about", "one line on what the scenario shows", Kind::Text)],
    required: &[],
    parts: &[
        ("run", Part::One(&RUN)),
        ("engine", Part::One(&ENGINE)),
        ("failures", Part::One(&super::failures::FAILURES)),
        ("power", Part::One(&super::failures::POWER)),
        ("contract", Part::One(&CONTRACT)),
        ("cluster", Part::One(&CLUSTER)),
        ("accounts", Part::One(&ACCOUNTS)),
        ("workload", Part::One(&WORKLOAD)),
        ("job", Part::Many(&JOB)),
        ("gate", Part::One(&GATE)),
        ("evolve", Part::One(&super::evolve::EVOLVE)),
    ],
    free: None,
};

const RUN: Form = Form::of(
    "what is run, how often, and what is measured",
    &[
        Knob::new(
            "policies",
            "names or files of the policies compared; a name is looked up in `policies/` beside the scenario, in that of the project, \
             and among those that ship. `--policy` replaces them",
            NAMES,
            "fcfs",
        ),
        Knob::new("seed", "the first seed", Kind::COUNT, "1"),
        Knob::new("seeds", "how many seeds, counted up from the first", Kind::Int { min: 1, max: 100_000 }, "1"),
        Knob::optional("until", "the run is cut at this time; unset: it goes on until nothing is left to happen", SPAN_POSITIVE),
        Knob::optional("warm_up", "jobs submitted earlier are not measured", Kind::SPAN),
        Knob::optional("cool_down", "nor jobs submitted in the last stretch of the submissions (or of the cut)", Kind::SPAN),
        Knob::new(
            "lookback",
            "the trailing span over which the figures set what was delivered against what was owed",
            Kind::Span { min: SimSpan::HOUR, max: SPAN_MAX },
            "7d",
        ),
        Knob::new(
            "session_classes",
            "class labels of interactive sessions, whose interruptions are told apart",
            NAMES,
            "interactive",
        ),
    ],
);

const ENGINE: Form = Form::of(
    "what the machinery itself takes",
    &[
        Knob::new("startup", "from the grant of GPUs to the first work of an attempt", Kind::SPAN, "0"),
        Knob::new("eviction_latency", "from telling a victim to go to its GPUs being free", Kind::SPAN, "0"),
        Knob::new("scale_pause", "pause of a job whose workers change, or that is moved to other GPUs", Kind::SPAN, "0"),
        Knob::new("pass_interval", "how often a policy that watches the clock is asked; 0: at events only", Kind::SPAN, "60s"),
        Knob::new("passes_max", "most policy passes of one instant", Kind::Int { min: 1, max: 10_000 }, "16"),
        Knob::new(
            "unresumable",
            "what becomes of a preempted job that cannot be continued",
            Kind::Choice(&["resubmit", "abandon"]),
            "resubmit",
        ),
        Knob::optional(
            "retries",
            "how often a job whose node failed is tried again; unset: always",
            Kind::Int { min: 0, max: 1 << 31 },
        ),
        Knob::optional("repair", "how long a drained node is down; unset: until an event says it is up", Kind::SPAN),
        Knob::new(
            "human_after",
            "a drain that work still holds after this long counts as one that people had to see to",
            Kind::SPAN,
            "8h",
        ),
        Knob::new(
            "drop_on_deadline",
            "whether a job that has not started by its start deadline is withdrawn, as its user would",
            Kind::Bool,
            "false",
        ),
    ],
);

const CONTRACT: Form = Form::of("the scheduling contract; a policy's own `[contract]` goes before it", CONTRACT_KNOBS);

const CLUSTER: Form = Form {
    about: "the machines",
    knobs: &[
        Knob::optional("nodes", "a file with a list of nodes", Kind::Path),
        Knob::new("memory_scale", "factor on the memory of all nodes: what if they had less?", POSITIVE, "1"),
        Knob::optional(
            "scale_to_load",
            "keep so many nodes, in proportion by kind, that the offered load becomes this",
            POSITIVE,
        ),
        Knob::optional(
            "shuffle",
            "nodes stand in a random order of each seed, which decides between equals; unset: only with `workload.inflate`",
            Kind::Bool,
        ),
    ],
    required: &[],
    parts: &[
        ("node", Part::Many(&NODE)),
        ("model", Part::Many(&MODEL)),
        ("event", Part::Many(&EVENT)),
        ("drains", Part::One(&DRAINS)),
        ("window", Part::Many(&WINDOW)),
        ("demand", Part::Many(&DEMAND)),
        ("inference", Part::One(&super::inference::INFERENCE)),
    ],
    free: None,
};

const NODE: Form = Form::of(
    "equal nodes",
    &[
        Knob::new("count", "how many", Kind::Int { min: 1, max: 1_000_000 }, "1"),
        Knob::optional("name", "name of the node; of several, each has a number from 0 behind, such as `name-7`", Kind::Text),
        Knob::new("gpus", "GPUs of each", Kind::Int { min: 0, max: 64 }, "8"),
        Knob::optional("model", "model of its GPUs", Kind::Text),
        Knob::optional("cpu", "CPU of each; unset: plenty", NOT_NEGATIVE).unit("cores"),
        Knob::optional("memory", "memory of each; unset: plenty", Kind::Size),
        Knob::new("pool", "the pool that owns them", Kind::Text, "main"),
        Knob::new("domain", "number of the rack, switch or NVLink domain", Kind::Int { min: 0, max: u32::MAX as i64 }, "0"),
    ],
);

const MODEL: Form = Form {
    required: &["name"],
    ..Form::of(
        "what a GPU model is like",
        &[
            Knob::optional("name", "the model", Kind::Text),
            Knob::new("speed", "speed relative to the reference", POSITIVE, "1"),
            Knob::new("memory", "device memory", Kind::Size, "0"),
            Knob::optional("watts_idle", "power when idle; unset: that of a well-known model of this name, else 0", NOT_NEGATIVE)
                .unit("W"),
            Knob::optional(
                "watts_full",
                "power at full load; unset: that of a well-known model of this name, else 0",
                NOT_NEGATIVE,
            )
            .unit("W"),
            Knob::new("billing", "weight in billing", NOT_NEGATIVE, "1"),
            Knob::optional(
                "failure_factor",
                "how often it is believed to fail, relative to the reference; unset: that of a well-known model of this name, else 1",
                Kind::Float { min: 0.0, max: 1e6 },
            ),
        ],
    )
};

const EVENT: Form = Form {
    required: &["at", "node", "what"],
    ..Form::of(
        "a scheduled change of health",
        &[
            Knob::optional("at", "when", Kind::SPAN),
            Knob::optional("node", "which node, or nodes", NAMES),
            Knob::optional("what", "what happens", Kind::Choice(&["down", "up", "drain", "gpu-down", "gpu-up"])),
            Knob::optional("gpu", "which GPU of the node, from 0", Kind::Int { min: 0, max: 63 }),
            Knob::optional("for", "how long, after which it is up again", SPAN_POSITIVE),
        ],
    )
};

const DRAINS: Form = Form {
    required: &["every"],
    ..Form::of(
        "nodes go bad at random: each is drained now and then until the run is cut, at the same times under every policy",
        &[
            Knob::optional("every", "mean time between two drains of one node, drawn exponentially", SPAN_POSITIVE),
            Knob::new("first", "no drain begins earlier", Kind::SPAN, "0"),
        ],
    )
};

const WINDOW: Form = Form {
    required: &["from", "until", "nodes"],
    ..Form::of(
        "maintenance, or a reservation made by people, known from the start",
        &[
            Knob::optional("from", "from when", Kind::SPAN),
            Knob::optional("until", "until when", Kind::SPAN),
            Knob::optional("nodes", "which nodes", NAMES),
            Knob::optional("account", "who may use them; unset: nobody", Kind::Text),
        ],
    )
};

const DEMAND: Form = Form {
    required: &["at", "pool", "gpus"],
    ..Form::of(
        "what the work that a pool serves for others (inference) needs from a time on",
        &[
            Knob::optional("at", "from when", Kind::SPAN),
            Knob::optional("pool", "the pool that serves it", Kind::Text),
            Knob::optional("gpus", "GPUs it needs", Kind::Float { min: 0.0, max: 1e9 }),
            Knob::optional(
                "forecast",
                "GPUs that are then believed to be needed from the next one on; unset: as many",
                Kind::Float { min: 0.0, max: 1e9 },
            ),
        ],
    )
};

const ACCOUNTS: Form = Form {
    about: "who is charged, and their shares: `name = share` or `name = { share = 60, child = … }`",
    knobs: &[
        Knob::optional("file", "a CSV file with columns `account` (a path such as `lab/team`) and `share`", Kind::Path),
        Knob::optional("others", "the account charged for work whose own account the tree does not name", Kind::Text),
    ],
    required: &[],
    parts: &[("change", Part::Many(&CHANGE))],
    free: Some("account"),
};

const CHANGE: Form = Form {
    required: &["at", "account", "share"],
    ..Form::of(
        "a change of a share",
        &[
            Knob::optional("at", "when", Kind::SPAN),
            Knob::optional("account", "whose", Kind::Text),
            Knob::optional(
                "share",
                "the new share, relative to siblings",
                Kind::Float { min: 0.0, max: super::accounts::SHARE_MAX },
            ),
        ],
    )
};

const WORKLOAD: Form = Form {
    about: "the work: a trace or a generator, and how it is shaped; or users who react",
    knobs: shape::KNOBS,
    required: &[],
    parts: &[("format", FORMAT), ("synth", Part::One(&SYNTH)), ("users", Part::One(&USERS)), ("flags", Part::One(&FLAGS))],
    free: None,
};

const FLAGS: Form =
    Form::of("which jobs are elastic, may go to loaned nodes, or may lie on several models; drawn for each seed", flags::KNOBS);

const FORMAT: Part =
    Part::Pick { about: "the format of the trace; unset: told by its content", infos: trace::infos, default: "" };

const SYNTH: Form = Form {
    about: "a seeded generator of jobs",
    knobs: synth::KNOBS,
    required: &[],
    parts: &[("class", Part::Many(&SYNTH_CLASS))],
    free: None,
};

const USERS: Form = Form {
    about: "users who react: each submits, waits, thinks and submits again, whatever the policy does",
    knobs: behave::KNOBS,
    required: &[],
    parts: &[("class", Part::Many(&USERS_CLASS))],
    free: None,
};

const USERS_CLASS: Form = Form::of("one class of their jobs", behave::CLASS_KNOBS);

const SYNTH_CLASS: Form = Form::of("one class of generated jobs", synth::CLASS_KNOBS);

const JOB: Form = Form {
    about: "one job, written out",
    knobs: &[
        Knob::optional("name", "its name", Kind::Text),
        Knob::optional("runtime", "how long it runs, undisturbed", SPAN_POSITIVE),
        Knob::new("submit", "when it is submitted", Kind::SPAN, "0"),
        Knob::new("gpus", "GPUs in all; cut into tasks that fit a node", Kind::Int { min: 0, max: 1 << 24 }, "1"),
        Knob::optional("tasks", "number of equal tasks instead", Kind::Int { min: 1, max: 1 << 24 }),
        Knob::new(
            "gpu_milli",
            "thousandths of each GPU; below 1000 with one GPU a task",
            Kind::Int { min: 1, max: 1000 },
            "1000",
        ),
        Knob::new("cpu", "CPU of the job in all, spread over its tasks", Kind::Float { min: 0.0, max: 4e6 }, "0").unit("cores"),
        Knob::new("memory", "memory of the job in all, spread over its tasks", Kind::Size, "0"),
        Knob::optional("models", "GPU models it accepts; unset: any", NAMES),
        Knob::optional("pools", "pools it accepts; unset: any", NAMES),
        Knob::optional("account", "who is charged", Kind::Text),
        Knob::optional("user", "who submits it", Kind::Text),
        Knob::optional("class", "its label in reports", Kind::Text),
        Knob::optional("estimate", "run time that the scheduler is told; unset: the true one", Kind::SPAN_OR_UNLIMITED),
        Knob::optional("time_limit", "it is killed after running that long", SPAN_POSITIVE),
        Knob::new("priority", "larger is more urgent", Kind::Int { min: i32::MIN as i64, max: i32::MAX as i64 }, "0"),
        Knob::optional("min_runtime", "declared min runtime; unset: it declares none", Kind::SPAN),
        Knob::new("resumable", "whether a preempted attempt can be continued", Kind::Bool, "true"),
        Knob::new("preemptible", "whether priority policies may preempt it", Kind::Bool, "true"),
        Knob::new("checkpoint", "work is durable at each multiple of this; 0: always", Kind::SPAN, "0"),
        Knob::new("restart_cost", "paid at the start of an attempt that continues earlier work", Kind::SPAN, "0"),
        Knob::optional("after", "names of jobs that must complete first", NAMES),
        Knob::optional("not_before", "it does not enter the queue earlier", Kind::SPAN),
        Knob::optional("start_deadline", "a later start counts as a missed deadline", Kind::SPAN),
        Knob::new(
            "mixing",
            "its gang on GPUs of several models: runs at the speed of the `slowest`, `never` lies so, or keeps that part of their speed, such as 0.7",
            Kind::Text,
            "slowest",
        ),
        Knob::optional("running_for", "it is running at the start, for that long already", Kind::SPAN),
    ],
    required: &["name", "runtime"],
    parts: &[("elastic", Part::One(&ELASTIC))],
    free: None,
};

const ELASTIC: Form = Form {
    required: &["max"],
    ..Form::of(
        "how many workers (tasks) an elastic job may hold",
        &[
            Knob::optional("max", "most workers it can use", Kind::Int { min: 1, max: 1 << 24 }),
            Knob::optional(
                "reference",
                "workers for which `runtime` is stated; unset: the job's tasks",
                Kind::Int { min: 1, max: 1 << 24 },
            ),
            Knob::optional(
                "curve",
                "how its rate grows: `linear`, `power:A`, `loss:L`, or points as in `table:1=1 2=1.9 4=3.5`; unset: linear",
                Kind::Text,
            ),
            Knob::optional("alpha", "its rate is base (w / base)^alpha; unset: linear", Kind::FRACTION),
            Knob::optional("lambda", "or each worker beyond the base yields this much of a full one", Kind::FRACTION),
        ],
    )
};

const GATE: Form = Form {
    parts: &[("limit", Part::Many(&LIMIT))],
    ..Form::of("what a change of policy may do to the figures, for `schedlab check` (docs/gating.md)", &[])
};

const LIMIT: Form = Form { required: &["metric"], ..Form::of("one limit: `metric` and one other", super::gate::LIMIT_KNOBS) };
