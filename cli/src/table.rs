//! Tables for people.

use comfy_table::{ContentArrangement, Table, presets};

/// A table without lines, headed in capitals.
pub(crate) fn table<const N: usize>(
    head: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(head.map(str::to_uppercase));
    for row in rows {
        table.add_row(row);
    }
    let lines: Vec<String> = table
        .lines()
        .map(|line| {
            line.strip_prefix(' ')
                .unwrap_or(&line)
                .trim_end()
                .to_owned()
        })
        .collect();
    lines.join("\n")
}

/// A moment for people, or a dash.
pub(crate) fn moment(at: Option<&prost_types::Timestamp>) -> String {
    at.map_or_else(
        || "-".to_owned(),
        |at| {
            let whole = prost_types::Timestamp { nanos: 0, ..*at };
            whole.to_string()
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_from_the_left_edge() {
        let rows = [["ada", "active"], ["grace", "active"]].map(|row| row.map(str::to_owned));

        assert_eq!(
            table(["name", "state"], rows),
            "NAME   STATE\nada    active\ngrace  active"
        );
    }
}
