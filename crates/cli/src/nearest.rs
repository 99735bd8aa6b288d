//! The name that somebody may have meant.

/// The name that is most like a wrong one, if one is like it at all.
pub(crate) fn nearest<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let most = (wrong.chars().count() / 3).max(1);
    let apart = names.into_iter().map(|name| (distance(wrong, name), name));
    let near = apart.filter(|(distance, _)| *distance <= most);
    near.min_by_key(|(distance, _)| *distance).map(|(_, name)| name)
}

/// How many letters are to be put in, left out, changed, or changed with the
/// next one, to make one name of another; upper case is as good as lower case.
/// One where one name begins or ends the other (`x` and `x:0`).
fn distance(a: &str, b: &str) -> usize {
    let letters = |text: &str| text.to_lowercase().chars().collect::<Vec<char>>();
    let (a, b) = (letters(a), letters(b));
    let within = |short: &[char], long: &[char]| {
        short.len() >= 3 && (long.starts_with(short) || long.ends_with(short)) && short != long
    };
    // Names are short, and a file's may be long: then they are not alike.
    if a.len().max(b.len()) > 200 {
        return usize::MAX;
    }
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for (i, letter) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, other) in b.iter().enumerate() {
            let changed = rows[i][j] + usize::from(letter != other);
            let mut least = changed.min(row[j] + 1).min(rows[i][j + 1] + 1);
            if i > 0 && j > 0 && *letter == b[j - 1] && a[i - 1] == *other {
                least = least.min(rows[i - 1][j - 1] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    let apart = rows[a.len()][b.len()];
    if within(&a, &b) || within(&b, &a) { apart.min(1) } else { apart }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_alike_name_is_found() {
        let names = ["pixel_values", "input_ids", "attention_mask", "x"];
        let found = |wrong: &str| nearest(wrong, names);
        assert_eq!(found("pixel_value"), Some("pixel_values"));
        assert_eq!(found("Pixle_Values"), Some("pixel_values"));
        assert_eq!(found("input_ids:0"), Some("input_ids"));
        assert_eq!(found("mask"), Some("attention_mask"));
        assert_eq!(found("X"), Some("x"));
        assert_eq!(found("labels"), None);
        assert_eq!(nearest("y", []), None);
        assert_eq!(distance("abcd", "acbd"), 1);
    }
}
