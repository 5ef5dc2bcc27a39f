//! What users who react got, by what they do, what it cost those beside them, and how much of what ran stood at the highest level.
//!
//! Squatters run tasks inside placeholders, of which no fact tells; but what they do follows from the facts about their jobs, so each
//! one's [`Desk`] is walked through them again.

use super::spread::Spans;
use super::{BehaviourFigures, Build, Life, Measured, Metric, Scene, Stage, TopLevel};
use crate::facts::{Amendment, EndReason, Fact};
use crate::ids::{AccountId, JobId, UserId};
use crate::registry::Entry;
use crate::units::{GpuTime, MilliGpu, SimSpan, SimTime};
use crate::workload::Job;
use crate::workload::behave::squat::Desk;
use crate::workload::behave::{Behaviour, Users};
use std::collections::{BTreeMap, BTreeSet};

/// Users by what they do.
pub(super) const ENTRY: Entry<Build> = Entry {
    name: "behaviour",
    about: "users who react, by what they do: what they got done, held and left idle, and what became of others in their accounts",
    source: "ours",
    knobs: &[],
    needs: &[],
    provides: &[],
    timed: false,
    build: |scene| {
        let users = scene.case.users.clone();
        let jobs = if users.is_some() { scene.lives.len() } else { 0 };
        let priorities = scene.workload.jobs.iter().take(jobs).map(|job| job.priority).collect();
        let (holding, running, days) = (BTreeMap::new(), vec![None; jobs], Vec::new());
        let levels = Levels { at: SimTime::ZERO, priorities, holding, running, days };
        Box::new(ByBehaviour { users, groups: BTreeMap::new(), desks: BTreeMap::new(), accounts: BTreeMap::new(), levels })
    },
};

#[derive(Default)]
struct Group {
    users: BTreeSet<UserId>,
    accounts: BTreeSet<AccountId>,
    figures: BehaviourFigures,
    waits: Spans,
    others: Spans,
    placeholders: GpuTime,
}

/// What became of jobs of one behaviour in one account.
#[derive(Default)]
struct Part {
    completed: u64,
    goodput: GpuTime,
    waits: Vec<(SimSpan, bool)>,
}

struct ByBehaviour {
    users: Option<std::sync::Arc<Users>>,
    groups: BTreeMap<Behaviour, Group>,
    /// Squatters, each with the account charged.
    desks: BTreeMap<UserId, (AccountId, Desk)>,
    accounts: BTreeMap<(AccountId, Behaviour), Part>,
    levels: Levels,
}

/// What attempts hold, by the level at which they started.
struct Levels {
    at: SimTime,
    /// Of each job, as its user last said.
    priorities: Vec<i32>,
    holding: BTreeMap<i32, MilliGpu>,
    /// Level and GPUs of each job that runs.
    running: Vec<Option<(i32, MilliGpu)>>,
    /// A map a day.
    days: Vec<BTreeMap<i32, GpuTime>>,
}

impl Levels {
    fn advance(&mut self, to: SimTime) {
        while self.at < to {
            let day = self.at.as_millis() / SimSpan::DAY.as_millis();
            let until = to.min(SimTime::from_millis((day + 1) * SimSpan::DAY.as_millis()));
            if self.days.len() <= day as usize {
                self.days.resize_with(day as usize + 1, BTreeMap::new);
            }
            for (level, holding) in &self.holding {
                *self.days[day as usize].entry(*level).or_default() += *holding * (until - self.at);
            }
            self.at = until;
        }
    }
    fn starts(&mut self, job: JobId, gpus: MilliGpu) {
        let level = self.priorities[job.index()];
        self.running[job.index()] = Some((level, gpus));
        *self.holding.entry(level).or_default() += gpus;
    }
    fn stops(&mut self, job: JobId) {
        if let Some((level, gpus)) = self.running[job.index()].take()
            && let Some(holding) = self.holding.get_mut(&level)
        {
            *holding -= gpus;
        }
    }
    /// Days of a run of many are too many to print.
    fn top(&self) -> Option<TopLevel> {
        const DAYS_MAX: usize = 400;
        let level = *self.holding.keys().next_back()?;
        let by_day = self.days.iter().take(DAYS_MAX).map(|day| {
            let all: GpuTime = day.values().copied().sum();
            super::capacity::share(day.get(&level).copied().unwrap_or_default(), all)
        });
        Some(TopLevel { level, by_day: by_day.collect() })
    }
}

impl ByBehaviour {
    fn group(&mut self, behaviour: Behaviour) -> &mut Group {
        self.groups.entry(behaviour).or_default()
    }
    /// A fact about one job.
    fn hear(&mut self, users: &Users, scene: &Scene<'_>, at: SimTime, job: JobId, fact: &Fact) {
        let row = scene.job(job);
        let Some(behaviour) = users.behaviour(row.class) else { return };
        match *fact {
            Fact::Amended { change: Amendment::Priority(level), .. } => {
                self.group(behaviour).figures.raised += 1;
                self.levels.priorities[job.index()] = level;
            }
            Fact::Started { .. } => {
                self.levels.advance(at);
                self.levels.starts(job, scene.life(job).holding);
            }
            Fact::Preempted { .. } | Fact::Broken { .. } | Fact::Ended { .. } => {
                self.levels.advance(at);
                self.levels.stops(job);
            }
            _ => {}
        }
        if behaviour == Behaviour::Squat {
            if !self.desks.contains_key(&row.user)
                && let Some(desk) = users.desk(row.user)
            {
                self.desks.insert(row.user, (row.account, desk));
            }
            if let Some((_, desk)) = self.desks.get_mut(&row.user) {
                desk.observe(users, at, fact, row.class);
            }
        }
    }
}

impl Metric for ByBehaviour {
    fn observe(&mut self, scene: &Scene<'_>, at: SimTime, fact: &Fact) {
        let Some(users) = self.users.clone() else { return };
        match *fact {
            Fact::Submitted { job }
            | Fact::Rejected { job, .. }
            | Fact::Queued { job, .. }
            | Fact::Amended { job, .. }
            | Fact::Started { job, .. }
            | Fact::Preempted { job, .. }
            | Fact::Broken { job, .. }
            | Fact::Ended { job, .. } => self.hear(&users, scene, at, job, fact),
            _ => {}
        }
    }

    fn job(&mut self, scene: &Scene<'_>, life: &Life, job: &Job) {
        let Some(behaviour) = self.users.as_ref().and_then(|users| users.behaviour(job.class)) else { return };
        let now = scene.at();
        let placeholder = scene.is_placeholder(job);
        let has_desk = self.desks.contains_key(&job.user);
        let part = self.accounts.entry((job.account, behaviour)).or_default();
        let waiting = matches!(life.stage, Stage::Queued | Stage::Submitted);
        if life.completed() && !placeholder {
            part.completed += 1;
            part.goodput += scene.work(job);
        }
        if life.counts() && !placeholder {
            part.waits.push((life.wait(now), waiting));
        }
        let group = self.groups.entry(behaviour).or_default();
        group.users.insert(job.user);
        group.accounts.insert(job.account);
        let figures = &mut group.figures;
        figures.jobs += 1;
        figures.held += life.held(now);
        figures.withdrawn += u64::from(life.stage == Stage::Over(EndReason::Cancelled));
        if placeholder {
            group.placeholders += life.held(now);
        } else if !has_desk {
            figures.completed += u64::from(life.completed());
            figures.goodput += if life.completed() { scene.work(job) } else { GpuTime::ZERO };
            if life.counts() {
                group.waits.push(life.wait(now), waiting);
            }
        }
    }

    fn close(&mut self, scene: &Scene<'_>, out: &mut Measured) {
        let Some(users) = self.users.take() else { return };
        let end = scene.at();
        let measured = |at: SimTime| scene.case.measured.is_none_or(|(from, until)| (from..until).contains(&at));
        for (account, mut desk) in std::mem::take(&mut self.desks).into_values() {
            desk.walk(&users, end);
            let group = self.groups.entry(Behaviour::Squat).or_default();
            let tally = &desk.tally;
            let figures = &mut group.figures;
            figures.inside += tally.inside;
            figures.interrupted += tally.interrupted;
            figures.completed += tally.inside + tally.queued;
            figures.goodput += tally.inside_time + tally.queued_time;
            figures.idle += tally.inside_time;
            for &(_, wait) in tally.waits.iter().filter(|(asked, _)| measured(*asked)) {
                group.waits.push(wait, false);
            }
            if let Some(asked) = desk.waiting_since().filter(|&asked| measured(asked)) {
                group.waits.push(end.since(asked), true);
            }
            // What ran inside is work done, of which no job tells.
            out.goodput += tally.inside_time;
            let name = scene.account_name(account);
            if let Some(row) = out.by_account.iter_mut().find(|row| row.account == name) {
                row.completed += tally.inside;
                row.goodput += tally.inside_time;
            }
        }
        for (behaviour, mut group) in std::mem::take(&mut self.groups) {
            let mut figures = std::mem::take(&mut group.figures);
            figures.behaviour = behaviour.name().to_owned();
            figures.users = group.users.len() as u64;
            // Up to here: what was used of what placeholders held.
            figures.idle = group.placeholders.beyond(figures.idle);
            figures.wait = group.waits.spread();
            let beside = |(account, other): &(AccountId, Behaviour)| group.accounts.contains(account) && *other != behaviour;
            for (_, part) in self.accounts.iter().filter(|(key, _)| behaviour.is_gaming() && beside(key)) {
                figures.others_completed += part.completed;
                figures.others_goodput += part.goodput;
                part.waits.iter().for_each(|&(wait, waiting)| group.others.push(wait, waiting));
            }
            figures.others_wait = group.others.spread();
            out.by_behaviour.push(figures);
        }
        self.levels.advance(end);
        out.scheduled_at_top = self.levels.top();
    }
}
