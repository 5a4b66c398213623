//! Lists that come a page at a time.

use crate::context::{Context, hint};

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Page {
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) page_size: i32,
    #[arg(
        long,
        value_name = "TOKEN",
        default_value = "",
        hide_default_value = true
    )]
    pub(crate) page_token: String,
}

/// Says how to see the next page of what `command` lists, if there is one.
pub(crate) fn more(next: &str, command: &str, context: &Context) {
    if !next.is_empty() && !context.globals.json {
        let flags = context.globals.again();
        hint(&format!("more: {command} --page-token {next}{flags}"));
    }
}
