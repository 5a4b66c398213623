//! What people are told: lists of names, and what an importer left out.

/// How many names a sentence holds before it says how many more there are.
const SHOWN: usize = 12;

/// Names in backquotes, joined by commas.
pub(crate) fn listed(names: &[String]) -> String {
    let shown: Vec<_> = names
        .iter()
        .take(SHOWN)
        .map(|name| format!("`{name}`"))
        .collect();
    match names.len().checked_sub(SHOWN) {
        None | Some(0) => shown.join(", "),
        Some(more) => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Gathers the parts of tasks that were not translated, so that each part is one warning.
#[derive(Debug, Default)]
pub(crate) struct LeftOut(Vec<(String, Vec<String>)>);

impl LeftOut {
    pub(crate) fn note(&mut self, part: &str, task: &str) {
        if let Some((_, tasks)) = self.0.iter_mut().find(|(known, _)| known == part) {
            tasks.push(task.to_owned());
        } else {
            self.0.push((part.to_owned(), vec![task.to_owned()]));
        }
    }

    /// One sentence for each part, in the order in which the parts were met.
    pub(crate) fn into_warnings(self) -> impl Iterator<Item = String> {
        self.0.into_iter().map(|(part, tasks)| {
            let noun = if tasks.len() == 1 { "task" } else { "tasks" };
            format!(
                "`{part}` is not translated and was left out: {noun} {}",
                listed(&tasks)
            )
        })
    }
}
