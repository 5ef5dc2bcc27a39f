//! What is known of GPU models, from a table that ships: watts and how often they fail.

/// One line of the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Known {
    /// Watts when idle.
    pub watts_idle: f64,
    /// Watts at full load.
    pub watts_full: f64,
    /// Failures relative to the reference.
    pub failure_factor: f64,
    /// Where the watts come from.
    pub source: &'static str,
}

const TABLE: &str = include_str!("models.csv");

/// What is known of the model of that name, if a word of it is in the table.
pub fn known(model: &str) -> Option<Known> {
    let words = || model.split([' ', '-', '_']);
    let names_it = |names: &str| words().any(|word| names.split(' ').any(|name| name.eq_ignore_ascii_case(word)));
    lines().filter_map(parse).find(|(names, _)| names_it(names)).map(|(_, known)| known)
}

/// The lines of models: all but comments and the header.
fn lines() -> impl Iterator<Item = &'static str> {
    TABLE.lines().filter(|line| !line.starts_with('#')).skip(1)
}

/// The names and figures of a line; a test holds that every line has them.
fn parse(line: &'static str) -> Option<(&'static str, Known)> {
    let mut cells = line.splitn(5, ',');
    let names = cells.next()?;
    let mut number = || cells.next()?.parse().ok();
    let (watts_idle, watts_full, failure_factor) = (number()?, number()?, number()?);
    Some((names, Known { watts_idle, watts_full, failure_factor, source: cells.next()? }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_says_all_and_where_it_is_from() {
        assert_eq!(lines().count(), 9);
        for line in lines() {
            let (names, known) = parse(line).unwrap_or_else(|| panic!("cannot be read: {line}"));
            assert!(0.0 < known.watts_idle && known.watts_idle < known.watts_full && 1.0 <= known.failure_factor, "{line}");
            assert!(known.source.contains("published") || known.source.contains("our estimate"), "{line}");
            for name in names.split(' ') {
                assert_eq!(super::known(name), Some(known), "{name}");
            }
        }
    }

    #[test]
    fn a_word_of_a_longer_name_is_enough_and_another_model_is_unknown() {
        assert_eq!(known("NVIDIA A100-SXM4-80GB"), known("G3"));
        assert_eq!(known("v100m32").map(|it| (it.watts_idle, it.watts_full, it.failure_factor)), Some((30.0, 300.0, 1.3)));
        assert_eq!((known("MI300X"), known(""), known("A1000")), (None, None, None));
    }
}
