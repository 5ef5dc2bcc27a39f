//! Words as shells, `sbatch` and YAML read them again.

/// Characters that no reader takes for more than themselves.
fn is_plain(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|it| it.is_ascii_alphanumeric() || "_+=:,./-@".contains(it))
}

/// One word of a POSIX shell: nothing is special between single quotes, and a single quote stands outside of them.
pub(super) fn shell(word: &str) -> String {
    if is_plain(word) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// One word of an `#SBATCH` line.
///
/// Between double quotes a backslash takes the next character as it is, and neither `$` nor `#` is special.
///
/// - Source: `_get_argument` in `src/sbatch/opt.c` of Slurm 22.05.
pub(super) fn sbatch(word: &str) -> String {
    if is_plain(word) { word.to_owned() } else { format!("\"{}\"", escaped(word)) }
}

/// A scalar of YAML between double quotes.
///
/// - Source: YAML 1.2.2, sections 5.7 (escapes) and 7.3.1.
pub(super) fn yaml(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            ' '..='~' => out.push(letter),
            // Letters of all scripts stay readable; breaks, marks and what is not printed are escaped.
            _ if letter.is_alphanumeric() => out.push(letter),
            _ => out.push_str(&format!("\\U{:08x}", u32::from(letter))),
        }
    }
    out.push('"');
    out
}

fn escaped(word: &str) -> String {
    word.replace('\\', r"\\").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// What a careless quote would lose, run or cut short.
    const HOSTILE: [&str; 14] = [
        "",
        " ",
        "a b",
        "it's",
        "say \"it\"",
        "$HOME",
        "${IFS}",
        "$(touch /tmp/x)",
        "`touch /tmp/x`",
        "a;b|c&d>e<f",
        "#comment",
        "*?[a]~!{1,2}",
        r"back\slash\",
        "grün 日本",
    ];

    #[test]
    fn a_shell_reads_each_word_as_it_was() {
        for word in HOSTILE {
            let out = Command::new("sh").arg("-c").arg(format!("printf '%s' {}", shell(word))).output().unwrap();
            assert_eq!(String::from_utf8(out.stdout).unwrap(), word);
        }
        assert_eq!(shell("--over=order.lookback=1d,7d"), "--over=order.lookback=1d,7d");
        assert_eq!(shell("it's $x"), r"'it'\''s $x'");
    }

    #[test]
    fn sbatch_reads_each_word_as_it_was() {
        // Its rules, from its source: quotes hide blanks and each other, a backslash everywhere takes the next as it is, `#` ends it.
        let read = |line: &str| {
            let (mut word, mut quote, mut letters) = (String::new(), None, line.chars());
            while let Some(letter) = letters.next() {
                match (letter, quote) {
                    ('\\', _) => word.extend(letters.next()),
                    (_, Some(open)) if letter == open => quote = None,
                    ('"' | '\'', None) => quote = Some(letter),
                    ('#' | ' ', None) => return word,
                    _ => word.push(letter),
                }
            }
            word
        };
        for word in HOSTILE {
            assert_eq!(read(&sbatch(word)), word);
        }
    }

    #[test]
    fn yaml_scalars_are_escaped() {
        assert_eq!(yaml("a \"b\" \\ $c: #d"), r##""a \"b\" \\ $c: #d""##);
        assert_eq!(yaml("grün\u{85}\u{2028}"), "\"grün\\U00000085\\U00002028\"");
    }
}
