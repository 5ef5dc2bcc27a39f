//! Who was stopped, when, and for whom.

use super::{Block, Section, View, each, heat, over_time, tells};
use crate::report::humane::number;

pub(super) static SECTION: Section =
    Section { id: "preemptions", title: "Who was stopped, and for whom", tables: &["Preemption", "Interactive sessions"], draw };

fn draw(view: &View<'_>) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let totals = view
        .drawn
        .iter()
        .filter(|it| tells(&it.curves.preempted))
        .map(|it| format!("{} {} times", it.policy, number(it.curves.preempted.iter().sum(), 0)));
    let about =
        format!("Attempts stopped by the scheduler, in each 480th of the span: {}.", totals.collect::<Vec<String>>().join("; "));
    blocks.extend(over_time(view, "attempts stopped", about, "attempts", |it| &it.curves.preempted, false));
    blocks.extend(each(view, |it| {
        let pairs = &it.pairs;
        if pairs.names.is_empty() {
            return None;
        }
        // Who left for nobody has a column only if there was one.
        let nobody = pairs.counts.iter().any(|row| row.last().is_some_and(|count| 0 < *count));
        let mut columns = pairs.names.clone();
        columns.extend(nobody.then(|| "nobody".to_owned()));
        let cell = |count: &u64| (0 < *count).then(|| (*count as f64, number(*count as f64, 0)));
        let cells: Vec<Vec<_>> = pairs.counts.iter().map(|row| row.iter().take(columns.len()).map(cell).collect()).collect();
        let most = pairs
            .counts
            .iter()
            .enumerate()
            .flat_map(|(row, counts)| counts.iter().enumerate().map(move |(column, count)| (count, row, column)));
        let said = most.max_by_key(|it| (it.0, std::cmp::Reverse((it.1, it.2)))).map_or(String::new(), |(count, row, column)| {
            let whom = columns.get(column).map_or("nobody", String::as_str);
            format!(" Most often {} for {whom}, {} times.", pairs.names[row], number(*count as f64, 0))
        });
        let about =
            format!("{}: attempts of the account of the row that were stopped for the account of the column.{said}", it.policy);
        Some(heat(&format!("victims and whom they left for, {}", it.policy), about, &pairs.names, &columns, &cells))
    }));
    blocks
}
