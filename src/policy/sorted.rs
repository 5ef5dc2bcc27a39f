//! A sorted list in chunks: insert and remove move at most a chunk, iteration is in order, and each chunk knows its least weight, so
//! that "the first from here whose weight is at most x" skips chunks.

/// An entry of a [`Sorted`] list.
pub trait Item: Copy + Ord {
    /// What [`Sorted::first_within`] bounds; the least of a chunk is kept.
    fn weight(&self) -> u64;
}

const CHUNK_MAX: usize = 128;

/// The list.
#[derive(Clone, Debug)]
pub struct Sorted<T> {
    /// None is empty.
    chunks: Vec<Chunk<T>>,
    /// Emptied chunks, kept so that a steady list allocates nothing.
    spare: Vec<Vec<T>>,
    len: usize,
}

#[derive(Clone, Debug)]
struct Chunk<T> {
    all: Vec<T>,
    /// Entries before this one were taken off the front, which so costs nothing; the rest is never empty.
    start: usize,
    least: u64,
}

impl<T: Item> Chunk<T> {
    fn of(items: Vec<T>) -> Chunk<T> {
        Chunk { least: least(&items), all: items, start: 0 }
    }
    fn items(&self) -> &[T] {
        &self.all[self.start..]
    }
}

impl<T> Default for Sorted<T> {
    fn default() -> Self {
        Sorted { chunks: Vec::new(), spare: Vec::new(), len: 0 }
    }
}

impl<T: Item> Sorted<T> {
    /// How many items.
    pub fn len(&self) -> usize {
        self.len
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// The first item.
    pub fn first(&self) -> Option<T> {
        self.chunks.first().map(|chunk| chunk.items()[0])
    }
    /// All items, in order.
    pub fn iter(&self) -> impl Iterator<Item = T> + '_ {
        self.chunks.iter().flat_map(|chunk| chunk.items().iter().copied())
    }
    /// The chunk that `item` is in, or belongs into.
    fn chunk_of(&self, item: &T) -> usize {
        self.chunks.partition_point(|chunk| chunk.items()[0] <= *item).saturating_sub(1)
    }
    /// Adds an item that is not there.
    pub fn insert(&mut self, item: T) {
        self.len += 1;
        let weight = item.weight();
        if self.chunks.is_empty() {
            let mut items = self.spare.pop().unwrap_or_default();
            items.push(item);
            self.chunks.push(Chunk::of(items));
            return;
        }
        let at = self.chunk_of(&item);
        let chunk = &mut self.chunks[at];
        let place = chunk.start + chunk.items().partition_point(|it| *it < item);
        if place == chunk.start && 0 < place {
            chunk.start -= 1;
            chunk.all[place - 1] = item;
        } else {
            chunk.all.insert(place, item);
        }
        chunk.least = chunk.least.min(weight);
        if CHUNK_MAX <= chunk.all.len() {
            let last = place + 1 == chunk.all.len();
            chunk.all.drain(..std::mem::take(&mut chunk.start));
            let len = chunk.all.len();
            if len <= CHUNK_MAX / 2 {
                return;
            }
            let mut items = self.spare.pop().unwrap_or_default();
            // Appending at the end is the common case: it leaves a full chunk behind.
            items.extend(chunk.all.drain(if last { len - 1 } else { len / 2 }..));
            chunk.least = least(&chunk.all);
            self.chunks.insert(at + 1, Chunk::of(items));
        }
    }
    /// Removes an item. Returns whether it was there.
    pub fn remove(&mut self, item: &T) -> bool {
        if self.chunks.is_empty() {
            return false;
        }
        let at = self.chunk_of(item);
        let chunk = &mut self.chunks[at];
        let Ok(place) = chunk.items().binary_search(item) else { return false };
        if place == 0 {
            chunk.start += 1;
        } else {
            chunk.all.remove(chunk.start + place);
        }
        self.len -= 1;
        if chunk.items().is_empty() {
            let mut items = self.chunks.remove(at).all;
            items.clear();
            self.spare.push(items);
        } else if item.weight() == chunk.least {
            chunk.least = least(chunk.items());
        }
        true
    }
    /// The first item that is greater than `after` (if given) and whose weight is at most `most`.
    pub fn first_within(&self, after: Option<&T>, most: u64) -> Option<T> {
        let start = after.map_or(0, |item| self.chunk_of(item));
        for (n, chunk) in self.chunks.iter().enumerate().skip(start) {
            if chunk.least <= most {
                let from = if n == start { after.map_or(0, |item| chunk.items().partition_point(|it| it <= item)) } else { 0 };
                if let Some(item) = chunk.items()[from..].iter().find(|item| item.weight() <= most) {
                    return Some(*item);
                }
            }
        }
        None
    }
}

fn least<T: Item>(items: &[T]) -> u64 {
    items.iter().map(Item::weight).min().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    impl Item for (u32, u64) {
        fn weight(&self) -> u64 {
            self.1
        }
    }

    proptest! {
        #[test]
        fn agrees_with_a_plain_set(
            steps in proptest::collection::vec((0_u32..2000, 0_u64..50, any::<bool>()), 0..1500),
            after in 0_u32..2000,
            most in 0_u64..50,
        ) {
            let mut list = Sorted::default();
            let mut plain = BTreeSet::new();
            for (key, weight, add) in steps {
                if add && plain.insert((key, weight)) {
                    list.insert((key, weight));
                } else if !add {
                    prop_assert_eq!(list.remove(&(key, weight)), plain.remove(&(key, weight)));
                }
            }
            prop_assert_eq!(list.len(), plain.len());
            prop_assert_eq!(list.iter().collect::<Vec<_>>(), plain.iter().copied().collect::<Vec<_>>());
            prop_assert_eq!(list.first(), plain.first().copied());
            prop_assert_eq!(list.first_within(None, most), plain.iter().find(|it| it.1 <= most).copied());
            let bound = (after, 25);
            prop_assert_eq!(list.first_within(Some(&bound), most), plain.iter().find(|it| bound < **it && it.1 <= most).copied());
        }
    }
}
