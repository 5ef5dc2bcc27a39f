//! The multiple-choice knapsack: of each group at most one item, in all no more than fits, the most worth.
//!
//! Dynamic programming over capacity in units of the weights' greatest common divisor. Whole numbers only; of equal choices the one with
//! lighter items in later groups stands, so that the same question has the same answer.

/// One item of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    /// What it takes of the capacity; at least 1.
    pub weight: u32,
    /// What it is worth.
    pub value: u64,
}

/// What to take.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// Which item of each group, from 1; 0: none.
    pub picks: Vec<u32>,
    /// What they are worth together.
    pub value: u64,
    /// Cells of the table that were filled, each with a look at the items of its group: 0 where everything fits.
    pub cells: u64,
}

/// The most worth that fits.
///
/// Cost: cells x items of a group. Of (capacity / unit) x groups cells, where the unit is the greatest common divisor of all weights, those are
/// filled from which the answer can be reached: no more room than the groups so far can use, and no less than the later ones cannot. None
/// where everything fits.
pub fn solve(groups: &[Vec<Item>], capacity: u32) -> Choice {
    let unit = groups.iter().flatten().fold(0, |unit, item| gcd(unit, item.weight));
    if unit == 0 {
        return Choice { picks: vec![0; groups.len()], ..Choice::default() };
    }
    let heaviest = |group: &Vec<Item>| group.iter().map(|item| (item.weight / unit) as usize).max().unwrap_or(0);
    let mut later: usize = groups.iter().map(heaviest).sum();
    let slots = (capacity / unit) as usize;
    if later <= slots {
        return everything(groups);
    }
    // Rooms of the row before, from 0: of those above `top` the worth is that of `top`.
    let (mut before, mut top, mut so_far) = (vec![0_u64; slots + 1], 0, 0);
    let mut now = vec![0_u64; slots + 1];
    let mut rows: Vec<(usize, Vec<u16>)> = Vec::with_capacity(groups.len());
    for group in groups {
        so_far += heaviest(group);
        later -= heaviest(group);
        let (low, high) = (slots.saturating_sub(later), so_far.min(slots));
        let mut taken = vec![0_u16; high + 1 - low.min(high)];
        let low = low.min(high);
        for room in low..=high {
            now[room] = before[room.min(top)];
        }
        for (at, item) in (1..).zip(group) {
            let weight = (item.weight / unit) as usize;
            let first = low.max(weight);
            if high < first {
                continue;
            }
            // Rooms from which the row before is looked up one by one, then those past its top.
            let split = (top + weight + 1).clamp(first, high + 1);
            let old = &before[first - weight..split - weight];
            let cells = now[first..split].iter_mut().zip(&mut taken[first - low..split - low]).zip(old);
            for ((best, choice), old) in cells {
                let worth = old + item.value;
                if *best < worth {
                    (*best, *choice) = (worth, at);
                }
            }
            let worth = before[top] + item.value;
            for (best, choice) in now[split..=high].iter_mut().zip(&mut taken[split - low..]) {
                if *best < worth {
                    (*best, *choice) = (worth, at);
                }
            }
        }
        std::mem::swap(&mut before, &mut now);
        top = high;
        rows.push((low, taken));
    }
    let cells = rows.iter().map(|(_, taken)| taken.len() as u64).sum();
    let mut room = slots;
    let mut picks = vec![0; groups.len()];
    for (row, (low, taken)) in rows.iter().enumerate().rev() {
        let at = taken[room.min(low + taken.len() - 1) - low];
        room = room.min(low + taken.len() - 1);
        if 0 < at {
            picks[row] = u32::from(at);
            room -= (groups[row][usize::from(at) - 1].weight / unit) as usize;
        }
    }
    Choice { picks, value: before[top], cells }
}

/// Each group's item of most worth, the first of equal ones: where there is room for all.
fn everything(groups: &[Vec<Item>]) -> Choice {
    let mut worth = 0;
    let best = |group: &Vec<Item>| {
        let mut found = (0, 0);
        for (at, item) in (1..).zip(group) {
            if found.1 < item.value {
                found = (at, item.value);
            }
        }
        worth += found.1;
        found.0
    };
    let picks = groups.iter().map(best).collect();
    Choice { picks, value: worth, cells: 0 }
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::{Draws, Purpose};

    /// The items of a job that scales linearly: base, most, seconds at most, GPUs of a worker.
    fn job(base: u32, most: u32, seconds: u64, gpus: u32) -> Vec<Item> {
        let time = |workers: u32| seconds * u64::from(most) * 1000 / u64::from(workers);
        (1..=most - base).map(|more| Item { weight: more * gpus, value: (time(base) - time(base + more)) / 1000 }).collect()
    }

    /// Golden vectors M1 to M3 of the specification.
    #[test]
    fn the_vectors_of_the_specification() {
        let values = |items: &[Item]| items.iter().map(|item| item.value).collect::<Vec<u64>>();
        let m1 = [job(2, 6, 50, 1), job(2, 6, 20, 1)];
        assert_eq!((values(&m1[0]), values(&m1[1])), (vec![50, 75, 90, 100], vec![20, 30, 36, 40]));
        let solved = |groups: &[Vec<Item>], capacity| {
            let choice = solve(groups, capacity);
            (choice.picks, choice.value)
        };
        assert_eq!(solved(&m1, 4), (vec![3, 1], 110));
        assert_eq!(solved(&[job(2, 3, 100, 1), job(2, 6, 20, 1)], 3), (vec![1, 2], 80));
        assert_eq!(solved(&[job(1, 4, 30, 2), job(2, 4, 60, 1), job(1, 2, 500, 4)], 8), (vec![1, 2, 1], 620));
        assert_eq!(solved(&[], 8), (vec![], 0));
        assert_eq!(solved(&[Vec::new()], 8), (vec![0], 0));
    }

    #[test]
    fn it_is_what_trying_everything_finds() {
        let mut draws = Draws::new(1, Purpose::Sample, 0);
        for _ in 0..2000 {
            let group = |draws: &mut Draws| -> Vec<Item> {
                let item = |draws: &mut Draws| Item { weight: 1 + draws.index(6) as u32, value: draws.index(50) as u64 };
                (0..draws.index(4)).map(|_| item(draws)).collect()
            };
            let groups: Vec<Vec<Item>> = (0..1 + draws.index(4)).map(|_| group(&mut draws)).collect();
            let capacity = draws.index(15) as u32;
            let mut most = 0;
            let mut all = vec![(0_u32, 0_u64)];
            for group in &groups {
                all = all
                    .iter()
                    .flat_map(|&(w, v)| std::iter::once((w, v)).chain(group.iter().map(move |it| (w + it.weight, v + it.value))))
                    .collect();
            }
            all.iter().filter(|it| it.0 <= capacity).for_each(|it| most = most.max(it.1));
            let Choice { picks, value, .. } = solve(&groups, capacity);
            let item = |(at, pick): (usize, &u32)| (0 < *pick).then(|| groups[at][*pick as usize - 1]);
            let items: Vec<Item> = picks.iter().enumerate().filter_map(item).collect();
            assert_eq!((value, items.iter().map(|it| it.value).sum::<u64>()), (most, most), "{groups:?} {capacity}");
            assert!(items.iter().map(|it| it.weight).sum::<u32>() <= capacity);
        }
    }

    /// Where all workers have one GPU and each more saves less, it is worth the sum of the largest gains.
    #[test]
    fn equal_weights_and_falling_gains_are_taken_greedily() {
        let mut draws = Draws::new(2, Purpose::Sample, 0);
        for _ in 0..3000 {
            let mut gains: Vec<u64> = Vec::new();
            let groups: Vec<Vec<Item>> = (0..1 + draws.index(6))
                .map(|_| {
                    let base = 1 + draws.index(4) as u32;
                    let items = job(base, base + draws.index(7) as u32, 1 + draws.index(5000) as u64, 1);
                    let mut last = 0;
                    gains.extend(items.iter().map(|item| item.value - std::mem::replace(&mut last, item.value)));
                    items
                })
                .collect();
            let capacity = draws.index(20);
            gains.sort_unstable_by(|a, b| b.cmp(a));
            let best: u64 = gains.iter().take(capacity).sum();
            let found = solve(&groups, capacity as u32).value;
            // Times in whole seconds may make a gain a second larger than the one before.
            assert!(best.abs_diff(found) <= groups.len() as u64, "{best} {found}");
        }
    }

    /// The largest case of the specification: 7,704 GPUs, 200 jobs of 8 items. Weights are in units of what divides them all.
    #[test]
    fn it_fills_no_more_cells_than_it_must() {
        let groups = |gpus: u32| -> Vec<Vec<Item>> { (0..200).map(|row| job(8, 16, 100 + row, gpus)).collect() };
        let units = |gpus: u32, capacity: u32| {
            let cells = solve(&groups(gpus), capacity).cells;
            assert!(cells <= u64::from(capacity / gpus + 1) * 200);
            cells
        };
        // Half of 1,600 workers fit: three quarters of the table are out of reach at one end or the other.
        assert_eq!(units(8, 6400), units(1, 800));
        assert!(units(1, 800) <= 801 * 200 * 6 / 10, "{}", units(1, 800));
        // Nearly all fit: only what is left out is decided.
        assert!(units(1, 1500) <= 101 * 200, "{}", units(1, 1500));
        assert_eq!(units(1, 7704), 0, "all fit");
    }
}
