//! The file's rows, as they stand there.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

pub(super) type Condition = BTreeMap<String, String>;

/// One line of the file.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) id: u32,
    /// What it is, as in `mind`, and its name.
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) organ: String,
    pub(super) actions: Vec<String>,
    /// What kind of thing it is about, and its name.
    pub(super) sort: String,
    pub(super) thing: String,
    pub(super) conditions: Vec<Condition>,
    pub(super) is_denied: bool,
    pub(super) code: String,
}

/// Splits a line at its commas, but for those within quotes.
fn columns(line: &str) -> Vec<String> {
    let (mut columns, mut is_quoted) = (vec![String::new()], false);
    for c in line.chars() {
        match c {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => columns.push(String::new()),
            c => columns.last_mut().unwrap().push(c),
        }
    }
    columns
}

fn pair(text: &str) -> (String, String) {
    let (kind, name) = text.split_once(':').unwrap_or((text, ""));
    (kind.to_owned(), name.to_owned())
}

fn condition(text: &str) -> Condition {
    let pairs = text.split(';').filter_map(|pair| pair.split_once('='));
    pairs
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

fn row(line: &str) -> Row {
    let columns = columns(line);
    let ((kind, name), (sort, thing)) = (pair(&columns[1]), pair(&columns[4]));
    Row {
        id: columns[0].parse().unwrap(),
        kind,
        name,
        organ: columns[2].clone(),
        actions: columns[3].split(" | ").map(str::to_owned).collect(),
        sort,
        thing,
        conditions: columns[5].split(" | ").map(condition).collect(),
        is_denied: columns[6] == "deny",
        code: columns[7].clone(),
    }
}

/// All of them; none where the file is absent.
pub(super) fn rows() -> Option<Vec<Row>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/cases/authority.csv");
    let file = fs::read_to_string(path).ok()?;
    Some(file.lines().skip(1).map(row).collect())
}
