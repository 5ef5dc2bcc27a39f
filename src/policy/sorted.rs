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
    items: Vec<T>,
    least: u64,
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
        self.chunks.first().map(|chunk| chunk.items[0])
    }
    /// All items, in order.
    pub fn iter(&self) -> impl Iterator<Item = T> + '_ {
        self.chunks.iter().flat_map(|chunk| chunk.items.iter().copied())
    }
    /// The chunk that `item` is in, or belongs into.
    fn chunk_of(&self, item: &T) -> usize {
        self.chunks.partition_point(|chunk| chunk.items[0] <= *item).saturating_sub(1)
    }
    /// Adds an item that is not there.
    pub fn insert(&mut self, item: T) {
        self.len += 1;
        let weight = item.weight();
        if self.chunks.is_empty() {
            let mut items = self.spare.pop().unwrap_or_default();
            items.push(item);
            self.chunks.push(Chunk { items, least: weight });
            return;
        }
        let at = self.chunk_of(&item);
        let chunk = &mut self.chunks[at];
        let place = chunk.items.partition_point(|it| *it < item);
        chunk.items.insert(place, item);
        chunk.least = chunk.least.min(weight);
        if CHUNK_MAX <= chunk.items.len() {
            let mut items = self.spare.pop().unwrap_or_default();
            // Appending at the end is the common case: it leaves a full chunk behind.
            let cut = if place + 1 == CHUNK_MAX { CHUNK_MAX - 1 } else { CHUNK_MAX / 2 };
            items.extend(chunk.items.drain(cut..));
            chunk.least = least(&chunk.items);
            let new = Chunk { least: least(&items), items };
            self.chunks.insert(at + 1, new);
        }
    }
    /// Removes an item. Returns whether it was there.
    pub fn remove(&mut self, item: &T) -> bool {
        if self.chunks.is_empty() {
            return false;
        }
        let at = self.chunk_of(item);
        let chunk = &mut self.chunks[at];
        let Ok(place) = chunk.items.binary_search(item) else { return false };
        chunk.items.remove(place);
        self.len -= 1;
        if chunk.items.is_empty() {
            let chunk = self.chunks.remove(at);
            self.spare.push(chunk.items);
        } else if item.weight() == chunk.least {
            chunk.least = least(&chunk.items);
        }
        true
    }
    /// The first item that is greater than `after` (if given) and whose weight is at most `most`.
    pub fn first_within(&self, after: Option<&T>, most: u64) -> Option<T> {
        let start = after.map_or(0, |item| self.chunk_of(item));
        for (n, chunk) in self.chunks.iter().enumerate().skip(start) {
            if chunk.least <= most {
                let from = if n == start { after.map_or(0, |item| chunk.items.partition_point(|it| it <= item)) } else { 0 };
                if let Some(item) = chunk.items[from..].iter().find(|item| item.weight() <= most) {
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
