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

/// Which item of each group to take, from 1; 0: none. And what they are worth together.
pub fn solve(groups: &[Vec<Item>], capacity: u32) -> (Vec<u32>, u64) {
    let unit = groups.iter().flatten().fold(0, |unit, item| gcd(unit, item.weight));
    if unit == 0 {
        return (vec![0; groups.len()], 0);
    }
    // No more than everyone's heaviest item is ever of use.
    let most: u64 = groups.iter().map(|group| u64::from(group.iter().map(|item| item.weight).max().unwrap_or(0))).sum();
    let slots = (u64::from(capacity).min(most) / u64::from(unit)) as usize;
    let mut best = vec![0_u64; slots + 1];
    let mut taken = vec![0_u16; groups.len() * (slots + 1)];
    for (row, group) in groups.iter().enumerate() {
        let choice = &mut taken[row * (slots + 1)..][..slots + 1];
        // From the fullest down, so that what is looked up is still of the groups before.
        for room in (0..=slots).rev() {
            let mut found = best[room];
            for (at, item) in (1..).zip(group) {
                let weight = (item.weight / unit) as usize;
                if weight <= room && found < best[room - weight] + item.value {
                    found = best[room - weight] + item.value;
                    choice[room] = at;
                }
            }
            best[room] = found;
        }
    }
    let mut room = slots;
    let mut picks = vec![0; groups.len()];
    for row in (0..groups.len()).rev() {
        let at = taken[row * (slots + 1) + room];
        if 0 < at {
            picks[row] = u32::from(at);
            room -= (groups[row][usize::from(at) - 1].weight / unit) as usize;
        }
    }
    (picks, best[slots])
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
        assert_eq!(solve(&m1, 4), (vec![3, 1], 110));
        assert_eq!(solve(&[job(2, 3, 100, 1), job(2, 6, 20, 1)], 3), (vec![1, 2], 80));
        assert_eq!(solve(&[job(1, 4, 30, 2), job(2, 4, 60, 1), job(1, 2, 500, 4)], 8), (vec![1, 2, 1], 620));
        assert_eq!(solve(&[], 8), (vec![], 0));
        assert_eq!(solve(&[Vec::new()], 8), (vec![0], 0));
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
            let (picks, value) = solve(&groups, capacity);
            let item = |(at, pick): (usize, &u32)| (0 < *pick).then(|| groups[at][*pick as usize - 1]);
            let items: Vec<Item> = picks.iter().enumerate().filter_map(item).collect();
            assert_eq!((value, items.iter().map(|it| it.value).sum::<u64>()), (most, most), "{groups:?} {capacity}");
            assert!(items.iter().map(|it| it.weight).sum::<u32>() <= capacity);
        }
    }
}
