//! Behaviour on cases small enough to work by hand: a row per GPU, a column per second.

use super::bench::{Bench, check, check_timeline, policy};

#[test]
fn a_stuck_head_blocks_under_strict_fifo() {
    let jobs = "A at 0: 3 gpus 4 s | B at 0: 4 gpus 2 s | C at 0: 1 gpus 3 s";
    check_timeline(4, jobs, &policy("fifo", "strict", "first-fit", "nobody"), "AAAABBCCC\nAAAABB...\nAAAABB...\n....BB...");
}

#[test]
fn easy_backfill_leaves_the_head_alone() {
    let jobs = "A at 0: 3 gpus 4 s | B at 0: 4 gpus 2 s | C at 0: 1 gpus 3 s";
    check_timeline(4, jobs, &policy("fifo", "easy", "first-fit", "nobody"), "AAAABB\nAAAABB\nAAAABB\nCCC.BB");
}

#[test]
fn easy_uses_what_the_head_leaves() {
    // D outlasts the head's start, and fits beside it; C would delay it.
    let jobs = "A at 0: 3 gpus 4 s | B at 0: 3 gpus 2 s | C at 0: 2 gpus 9 s | D at 0: 1 gpus 9 s";
    check_timeline(
        4,
        jobs,
        &policy("fifo", "easy", "first-fit", "nobody"),
        "AAAABBCCCCCCCCC\nAAAABBCCCCCCCCC\nAAAABB.........\nDDDDDDDDD......",
    );
}

#[test]
fn greedy_lets_everyone_past_a_stuck_head() {
    let jobs = "A at 0: 3 gpus 4 s | B at 0: 4 gpus 2 s | C at 0: 1 gpus 6 s";
    check_timeline(4, jobs, &policy("fifo", "greedy", "first-fit", "nobody"), "AAAA..BB\nAAAA..BB\nAAAA..BB\nCCCCCCBB");
}

#[test]
fn a_fixture_that_a_well_known_simulator_gets_wrong() {
    let bench = Bench::new(4, 1).jobs("A at 0: 3 gpus 100 s | B at 1: 4 gpus 10 s | C at 2: 1 gpus 1000 s");
    let starts = |fill: &str| {
        let outcome = bench.run(&policy("fifo", fill, "first-fit", "nobody"));
        let mut starts = [0; 3];
        for (at, fact) in outcome.ledger.iter() {
            if let schedlab::facts::Fact::Started { job, .. } = fact {
                starts[job.index()] = at.as_millis() / 1000;
            }
        }
        starts
    };
    assert_eq!(starts("easy"), [0, 100, 110]);
    assert_eq!(starts("greedy"), [0, 1002, 2]);
    assert_eq!(starts("strict"), [0, 100, 110]);
    assert_eq!(starts("conservative"), [0, 100, 110]);
    assert_eq!(starts("k-reservations"), [0, 100, 110]);
}

#[test]
fn whole_node_gangs_are_reserved_by_node() {
    // At 2 s four GPUs are free, two on each node: by counts B would start. By nodes it starts when A leaves the first, and C, which
    // outlasts that, goes to the second.
    let bench = Bench::new(2, 4).jobs(
        "A at 0: 2 gpus 6 s | E at 0: 2 gpus 2 s | D at 0: 2 gpus 8 s | F at 0: 2 gpus 2 s | B at 1: 4 gpus 2 s | C at 1: 2 gpus 9 s",
    );
    for fill in ["easy", "conservative", "k-reservations"] {
        check(
            &bench,
            &policy("fifo", fill, "first-fit", "nobody"),
            "
            AAAAAABB...
            AAAAAABB...
            EE....BB...
            EE....BB...
            DDDDDDDD...
            DDDDDDDD...
            FFCCCCCCCCC
            FFCCCCCCCCC
            ",
        );
    }
}

#[test]
fn a_higher_level_takes_the_place_of_the_fewest_it_needs() {
    // C needs two GPUs: B, the later of the two that are low enough, would do alone. A stays.
    let jobs = "A at 0: 2 gpus 6 s | B at 1: 2 gpus 6 s | C at 2: 2 gpus 2 s priority 1";
    check_timeline(4, jobs, &policy("priority", "greedy", "first-fit", "priority"), "AAAAAA...\nAAAAAA...\n.BCCBBBBB\n.BCCBBBBB");
}

#[test]
fn nobody_leaves_for_a_job_that_would_not_fit_all_the_same() {
    // Only when A is done does B's leaving make room for C.
    let jobs = "A at 0: 2 gpus 6 s pinned | B at 1: 2 gpus 6 s | C at 2: 4 gpus 2 s priority 1";
    check_timeline(4, jobs, &policy("priority", "strict", "first-fit", "priority"), "AAAAAACCB\nAAAAAACCB\n.BBBBBCC.\n.BBBBBCC.");
}

#[test]
fn work_is_kept_up_to_the_last_checkpoint_and_a_restart_is_paid_for() {
    // B has done 3 s, of which 2 s are durable; it goes on at 5 s, pays 1 s, and has 4 s left: done at 10 s.
    let jobs = "B at 0: 1 gpus 6 s checkpoint 2 s restart 1 s | C at 3: 1 gpus 2 s priority 1";
    check_timeline(1, jobs, &policy("priority", "greedy", "first-fit", "priority"), "BBBCCBBBBB");
    let fragile = "B at 0: 1 gpus 4 s fragile | C at 3: 1 gpus 2 s priority 1";
    check_timeline(1, fragile, &policy("priority", "greedy", "first-fit", "priority"), "BBBCCBBBB");
}

#[test]
fn a_victim_holds_its_gpus_through_the_latency_and_they_go_to_the_newcomer() {
    // D arrives first in the latency and would fit what B leaves beyond C's need only once B has left.
    let bench = Bench::new(1, 4)
        .jobs("B at 0: 4 gpus 5 s | C at 1: 2 gpus 3 s priority 2 | D at 2: 1 gpus 1 s priority 1")
        .engine(|engine| engine.eviction_latency = schedlab::units::SimSpan::from_secs(2));
    check(
        &bench,
        &policy("priority", "greedy", "first-fit", "priority"),
        "
        BBBCCCBB
        BBBCCCBB
        BBBD..BB
        BBB...BB
        ",
    );
}

#[test]
fn a_time_limit_kills() {
    check_timeline(
        1,
        "A at 0: 1 gpus 9 s limit 3 s | B at 0: 1 gpus 1 s",
        &policy("fifo", "strict", "first-fit", "nobody"),
        "AAAB",
    );
}

#[test]
fn least_attained_service_lets_the_new_take_turns_with_the_old() {
    // With a threshold of 2 s on one GPU, A sinks at 2 s; B, new, takes its place until it sinks, too; then FIFO.
    let mut las = policy("las", "greedy", "first-fit", "priority");
    let span = schedlab::registry::Value::Span(schedlab::units::SimSpan::from_secs(2));
    las.stages[0].knobs.set("thresholds", schedlab::registry::Value::List(vec![span]));
    check_timeline(1, "A at 0: 1 gpus 5 s | B at 1: 1 gpus 4 s", &las, "AABBBBAAA");
}

#[test]
fn an_urgent_arrival_evicts_though_its_likes_are_stuck() {
    // B, of the same request, waits in vain; nothing starts or stops between its arrival and C's.
    let jobs = "A at 0: 2 gpus 9 s priority 1 | B at 1: 2 gpus 1 s | C at 3: 2 gpus 1 s priority 5";
    check_timeline(2, jobs, &policy("priority", "strict", "best-fit", "priority"), "AAACAAAAAAB\nAAACAAAAAAB\n");
}

#[test]
fn slurm_starts_in_order_at_events_and_backfills_at_intervals() {
    // With an interval of 5 s: B does not fit, and C, which would, waits for backfilling at 5. D comes after that, and waits until 10. E would
    // fit beside A, but not without delaying B, at any interval.
    let jobs = "A at 0: 3 gpus 20 s | B at 1: 4 gpus 4 s | C at 2: 1 gpus 3 s | D at 6: 1 gpus 3 s | E at 7: 1 gpus 14 s";
    let mut policy = policy("fifo", "slurm", "first-fit", "nobody");
    let knobs = &mut policy.stages[schedlab::policy::Stage::Fill as usize].knobs;
    knobs.set("bf_interval", schedlab::registry::Value::Span(schedlab::units::SimSpan::from_secs(5)));
    let rows = [
        "AAAAAAAAAAAAAAAAAAAABBBBEEEEEEEEEEEEEE",
        "AAAAAAAAAAAAAAAAAAAABBBB..............",
        "AAAAAAAAAAAAAAAAAAAABBBB..............",
        ".....CCC..DDD.......BBBB..............",
    ];
    check_timeline(4, jobs, &policy, &rows.join("\n"));
    // At every event: as conservative backfilling without promises.
    let knobs = &mut policy.stages[schedlab::policy::Stage::Fill as usize].knobs;
    knobs.set("bf_interval", schedlab::registry::Value::Span(schedlab::units::SimSpan::ZERO));
    let rows = [
        "AAAAAAAAAAAAAAAAAAAABBBBEEEEEEEEEEEEEE",
        "AAAAAAAAAAAAAAAAAAAABBBB..............",
        "AAAAAAAAAAAAAAAAAAAABBBB..............",
        "..CCC.DDD...........BBBB..............",
    ];
    check_timeline(4, jobs, &policy, &rows.join("\n"));
}
