//! The one form of a text. What is an id today may be a word to somebody else: the rules are part of `VERSION`.

use unicode_normalization::UnicodeNormalization as _;

/// From so many characters on, a word that holds a digit is an id.
const ID: usize = 8;
/// The same for a word of hexadecimal digits, as the parts of a UUID are.
const HEX_ID: usize = 4;

/// NFKC and lower case; numbers and ids become `#`, punctuation a space, and spaces one.
pub(super) fn normalise(text: &str) -> String {
    // Composed again: some letters have a composed form in lower case alone.
    let lower: String = text.nfkc().collect::<String>().to_lowercase();
    let folded: String = lower.nfkc().collect();
    let mut normal = String::with_capacity(folded.len());
    let words = folded.split(|c: char| !(c.is_alphanumeric() || c == '#'));
    for word in words.filter(|word| !word.is_empty()) {
        if !normal.is_empty() {
            normal.push(' ');
        }
        push_word(&mut normal, word);
    }
    normal
}

fn push_word(normal: &mut String, word: &str) {
    if is_id(word) {
        normal.push('#');
        return;
    }
    for c in word.chars() {
        match c {
            _ if !(c.is_numeric() || c == '#') => normal.push(c),
            _ if normal.ends_with('#') => {}
            _ => normal.push('#'),
        }
    }
}

fn is_id(word: &str) -> bool {
    let length = word.chars().count();
    let is_hex = length >= HEX_ID && word.chars().all(|c| c.is_ascii_hexdigit());
    (length >= ID || is_hex) && word.chars().any(char::is_numeric)
}
