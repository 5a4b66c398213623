//! Reads the help of every command, as people do, and finds its examples.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use crate::stage::{run, shell};

const BOUND: Duration = Duration::from_secs(30);

/// Every example of every command that is shown, without the remark behind it.
pub(super) async fn examples() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut unread = vec!["cambium".to_owned()];
    while let Some(command) = unread.pop() {
        let help = help(&command).await;
        let own = section(&help, &["Example:", "Examples:"]);
        assert!(!own.is_empty(), "`{command} --help` has no example");
        found.extend(own.iter().map(|line| without_remark(line)));
        let inner = section(&help, &["Commands:"]);
        let inner = inner
            .iter()
            .filter_map(|line| line.split_whitespace().next());
        let inner = inner.filter(|name| *name != "help");
        unread.extend(inner.map(|name| format!("{command} {name}")));
    }
    found
}

/// On lines wide enough for every example.
async fn help(command: &str) -> String {
    let mut asked = shell(Path::new("/"), &format!("{command} --help"));
    asked.env("COLUMNS", "10000");
    run(asked, BOUND).await.well().stdout
}

/// The lines under a heading, up to the next empty one.
fn section<'a>(help: &'a str, headings: &[&str]) -> Vec<&'a str> {
    let lines = help.lines().skip_while(|line| !headings.contains(line));
    let lines = lines.skip(1).take_while(|line| !line.is_empty());
    lines.map(str::trim).collect()
}

fn without_remark(line: &str) -> String {
    let example = line.split_once("  #").map_or(line, |(example, _)| example);
    example.trim_end().to_owned()
}
