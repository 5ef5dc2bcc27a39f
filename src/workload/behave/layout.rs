//! Who there is: streams, laid out over accounts and users of one cluster and account tree.

use super::Behaviour;
use super::season::Season;
use super::spec::{ClassPlan, Conduct, Spec};
use super::squat::Hold;
use crate::accounts::AccountTree;
use crate::ids::{AccountId, ClassId, ShapeId, UserId};
use crate::seed::{self, Purpose};
use crate::units::{MilliGpu, SimSpan, SimTime};
use crate::workload::Catalog;
use crate::workload::class::ClassIds;
use std::collections::BTreeMap;

/// Most jobs that all streams together may submit if nobody ever waits.
const JOBS_MAX: f64 = 5e6;

/// Most streams.
const STREAMS_MAX: usize = 1_000_000;

/// What users are laid out over.
pub struct Ground<'a> {
    /// The seed of every draw.
    pub seed: u64,
    /// GPUs of the cluster, all nodes up.
    pub capacity: MilliGpu,
    /// Nothing is submitted later.
    pub last: SimTime,
    /// The account tree.
    pub tree: &'a AccountTree,
    /// The account that a name charges, if it can charge one.
    pub account: &'a dyn Fn(&Catalog, &str) -> Option<AccountId>,
}

/// Users who react, ready to act.
#[derive(Clone, Debug, PartialEq)]
pub struct Users {
    pub(super) seed: u64,
    pub(super) last: SimTime,
    pub(super) behave: bool,
    pub(super) classes: Vec<Class>,
    pub(super) streams: Vec<Stream>,
    /// In `AccountId` order.
    pub(super) seasons: Vec<Season>,
    people: usize,
    /// By class label.
    labels: BTreeMap<ClassId, Behaviour>,
    /// The stream of each user who squats.
    desks: BTreeMap<UserId, u32>,
}

/// A class with its words looked up.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Class {
    pub(super) plan: ClassPlan,
    pub(super) ids: ClassIds,
    /// What its squatters park.
    pub(super) hold: Option<Hold>,
}

/// One stream.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stream {
    /// The row of its class.
    pub(super) class: u32,
    pub(super) account: AccountId,
    pub(super) user: UserId,
    /// What its jobs are called, before their number.
    pub(super) label: String,
    /// Names its draws.
    pub(super) key: u64,
    /// Larger jobs do not opt out of preemption.
    pub(super) protected_max: Option<MilliGpu>,
}

impl Spec {
    /// Lays the streams out.
    ///
    /// - Errors: a sentence: too many streams or names, or nobody to lay them out over.
    pub fn settle(&self, ground: &Ground<'_>, catalog: &mut Catalog) -> Result<Users, String> {
        let mut users = Users {
            seed: ground.seed,
            last: ground.last,
            behave: self.behave,
            classes: Vec::new(),
            streams: Vec::new(),
            seasons: catalog.accounts.rows().iter().map(|path| self.seasons.of(path, ground.seed)).collect(),
            people: 0,
            labels: BTreeMap::new(),
            desks: BTreeMap::new(),
        };
        let crowds = self.crowds(ground, catalog)?;
        let before = catalog.users.len();
        let mut expected = 0.0;
        for plan in &self.classes {
            let ids = plan.spec.look_up(self.per_task, catalog)?;
            let behaviour = plan.conduct.behaviour();
            users.labels.insert(ids.id, behaviour);
            let hold = match &plan.conduct {
                Conduct::Squat(squat) => Some(squat.settle(&plan.spec, self.per_task, catalog)?),
                _ => None,
            };
            users.labels.extend(hold.as_ref().map(|hold| (hold.class, behaviour)));
            let factor = if plan.spec.is_allocated() { self.allocated } else { self.filler };
            let numbers = self.numbers(plan, ground, catalog)?;
            let whole = whole(&numbers.iter().map(|(_, number)| number * factor).collect::<Vec<f64>>());
            let class = u32::try_from(users.classes.len()).map_err(|_| "more than 2^32 classes".to_owned())?;
            for ((account, _), count) in numbers.iter().zip(whole) {
                if STREAMS_MAX < users.streams.len() + count {
                    return Err(format!("more than {STREAMS_MAX} streams"));
                }
                let crowd = crowds.get(account).copied().unwrap_or(self.users_per_account);
                let place = Place { class, account: *account, ground, crowd };
                let shortest = plan.spec.work_min().min(plan.gives_up.unwrap_or(SimSpan::FOREVER)).as_millis() as f64;
                expected += count as f64 * ground.last.as_millis() as f64 / (plan.think_ms + shortest).max(1.0);
                if JOBS_MAX < expected {
                    return Err(format!("users may submit more than {JOBS_MAX} jobs: longer thinking or longer work is needed"));
                }
                (0..count as u32).for_each(|nth| users.add(plan, &place, nth, catalog));
            }
            users.classes.push(Class { plan: plan.clone(), ids, hold });
        }
        if users.streams.is_empty() {
            return Err("no class has a whole stream of jobs: larger numbers of streams are needed".into());
        }
        users.people = catalog.users.len() - before;
        Ok(users)
    }

    /// Users of accounts where their number is given.
    fn crowds(&self, ground: &Ground<'_>, catalog: &Catalog) -> Result<BTreeMap<AccountId, u32>, String> {
        let mut crowds = BTreeMap::new();
        for (name, number) in &self.users {
            let account = (ground.account)(catalog, name).ok_or_else(|| format!("no work can charge an account `{name}`"))?;
            crowds.insert(account, (*number as u32).clamp(1, 10_000));
        }
        Ok(crowds)
    }

    /// Streams of a class by account, in the order named, not whole yet.
    fn numbers(&self, plan: &ClassPlan, ground: &Ground<'_>, catalog: &Catalog) -> Result<Vec<(AccountId, f64)>, String> {
        let mut numbers: Vec<(AccountId, f64)> = Vec::new();
        match plan.accounts.as_ref().or(self.accounts.as_ref()) {
            Some(named) => {
                for (name, number) in named {
                    let account = (ground.account)(catalog, name);
                    let account = account.ok_or_else(|| format!("no work can charge an account `{name}`"))?;
                    match numbers.iter_mut().find(|(it, _)| *it == account) {
                        Some((_, sum)) => *sum += number,
                        None => numbers.push((account, *number)),
                    }
                }
            }
            None => {
                let rows = (0..ground.tree.accounts.len()).map(AccountId::from_index);
                numbers.extend(rows.filter(|&it| ground.tree.is_leaf(it)).map(|it| (it, 1.0)));
            }
        }
        if let Some(streams) = plan.streams {
            let all: f64 = numbers.iter().map(|(_, weight)| weight).sum();
            numbers.iter_mut().for_each(|(_, number)| *number *= streams / all);
        }
        if numbers.is_empty() { Err("there is no account for users to charge".into()) } else { Ok(numbers) }
    }
}

/// Where a stream goes.
struct Place<'a> {
    class: u32,
    account: AccountId,
    ground: &'a Ground<'a>,
    /// Users of the account.
    crowd: u32,
}

impl Users {
    /// The most that jobs of each stream ask for: whom they charge, GPUs, and the longest min runtime they declare.
    pub fn requests(&self) -> impl Iterator<Item = (AccountId, MilliGpu, Option<SimSpan>)> + '_ {
        self.streams.iter().map(|stream| {
            let class = &self.classes[stream.class as usize];
            let gpus = class.ids.shapes.iter().map(|(_, gpus)| *gpus).max().unwrap_or(MilliGpu::ZERO);
            let declared = match &class.plan.conduct {
                Conduct::Longest(longest) if self.behave => Some(longest.span()),
                _ => class.plan.spec.min_runtime_max(),
            };
            (stream.account, gpus, declared)
        })
    }
    /// The requests of the first `n` jobs of every stream, whenever they come: what kinds of task are to be expected.
    pub fn first_shapes(&self, n: u32) -> impl Iterator<Item = ShapeId> + '_ {
        (0..self.streams.len() as u32).flat_map(move |stream| (0..n).map(move |nth| self.job(stream, nth, 0).0.shape))
    }
    /// The highest priority that any of them may ask for; `None` of nobody.
    pub fn priority_max(&self) -> Option<i32> {
        let of = |class: &Class| match &class.plan.conduct {
            Conduct::Inflate(inflate) => class.plan.spec.priority_max().max(inflate.top()),
            _ => class.plan.spec.priority_max(),
        };
        self.classes.iter().map(of).max()
    }
    /// Adds the `nth` stream of a class in an account. Streams are dealt to its users in turn, each class from another one on; those
    /// who game have one each.
    fn add(&mut self, plan: &ClassPlan, place: &Place<'_>, nth: u32, catalog: &mut Catalog) {
        let behaviour = plan.conduct.behaviour();
        let class = &plan.spec.name;
        let path = &catalog.accounts.rows()[place.account.index()];
        let first = seed::text(class) % u64::from(place.crowd);
        let (name, own) = if behaviour.is_gaming() {
            (format!("{path}-{class}-{}", nth + 1), 0)
        } else {
            let user = (first + u64::from(nth)) % u64::from(place.crowd);
            (format!("{path}-u{}", user + 1), nth / place.crowd)
        };
        let key = seed::draw(seed::text(class), Purpose::Behaviour, seed::text(&name), u64::from(own));
        let user = catalog.user(&name);
        if behaviour == Behaviour::Squat {
            self.desks.insert(user, self.streams.len() as u32);
        }
        let share = place.ground.tree.share_of_whole(place.account) * place.ground.capacity.as_milli() as f64;
        let share = plan.protected_within_share.then(|| MilliGpu::from_milli(libm::floor(share + 1e-6) as u64));
        self.streams.push(Stream {
            class: place.class,
            account: place.account,
            user,
            label: format!("{name}.{class}.{own}"),
            key: seed::draw(self.seed, Purpose::Behaviour, key, 0),
            protected_max: [plan.protected_max, share].into_iter().flatten().min(),
        });
    }
    /// Streams in all.
    pub fn stream_count(&self) -> usize {
        self.streams.len()
    }
    /// Users in all.
    pub fn user_count(&self) -> usize {
        self.people
    }
    /// When the last submission can come.
    pub fn last(&self) -> SimTime {
        self.last
    }
    /// What users of jobs with that class label do, whether or not they may; `None` for a label that is not theirs.
    pub fn behaviour(&self, class: ClassId) -> Option<Behaviour> {
        self.labels.get(&class).copied()
    }
    /// Whether jobs with that class label hold GPUs and do nothing.
    pub fn is_placeholder(&self, class: ClassId) -> bool {
        self.classes.iter().filter_map(|it| it.hold.as_ref()).any(|hold| hold.class == class)
    }
    /// The stream of a user who squats.
    pub(super) fn desk_of(&self, user: UserId) -> Option<u32> {
        self.desks.get(&user).copied()
    }
    /// Everything that its jobs depend on, as text: equal where users are.
    pub fn fingerprint(&self) -> String {
        format!("{self:?}")
    }
    pub(super) fn class(&self, stream: u32) -> &Class {
        &self.classes[self.streams[stream as usize].class as usize]
    }
}

/// Whole numbers that add up to the rounded sum of `parts`, by largest remainder; ties go to the first.
fn whole(parts: &[f64]) -> Vec<usize> {
    // What a sum of products may be off by.
    const SLACK: f64 = 1e-9;
    let mut counts: Vec<usize> = parts.iter().map(|part| libm::floor(part + SLACK) as usize).collect();
    let total = libm::round(parts.iter().sum::<f64>()) as usize;
    let mut rows: Vec<usize> = (0..parts.len()).collect();
    let left = |row: usize| parts[row] - libm::floor(parts[row] + SLACK);
    rows.sort_by(|&a, &b| left(b).total_cmp(&left(a)).then(a.cmp(&b)));
    let missing = total.saturating_sub(counts.iter().sum());
    rows.into_iter().take(missing).for_each(|row| counts[row] += 1);
    counts
}

#[cfg(test)]
mod tests {
    use super::whole;

    #[test]
    fn fractions_become_whole_by_largest_remainder() {
        assert_eq!(whole(&[3.2, 1.5, 0.3]), [3, 2, 0]);
        assert_eq!(whole(&[0.5, 0.5, 0.5, 0.5]), [1, 1, 0, 0]);
        assert_eq!(whole(&[100.0 / 15.0; 15]).iter().sum::<usize>(), 100);
        assert_eq!(whole(&[]), [0; 0]);
    }
}
