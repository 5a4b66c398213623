//! The part of a terminal that a picture takes up. Each picture is one write over the last one, so nothing flickers;
//! a picture that has not changed is not written.

use console::Term;

use super::frame::{self, Pen};
use super::picture::{Failure, View};

#[derive(Debug)]
pub(crate) struct Screen {
    term: Term,
    colours: bool,
    shown: Vec<String>,
}

impl Screen {
    /// Standard error, where it is a terminal on which a cursor can move.
    pub(crate) fn stderr() -> Option<Self> {
        Self::on(Term::buffered_stderr(), console::colors_enabled_stderr())
    }

    /// The same for standard output, for what is the command's own answer.
    pub(crate) fn stdout() -> Option<Self> {
        Self::on(Term::buffered_stdout(), console::colors_enabled())
    }

    fn on(term: Term, colours: bool) -> Option<Self> {
        (term.is_term() && !console::is_dumb()).then_some(Self {
            term,
            colours,
            shown: Vec::new(),
        })
    }

    /// Draws the view in place of the last one, and the failures above it.
    pub(super) fn paint(&mut self, failed: &[Failure], view: &View) {
        let (rows, columns) = self.term.size();
        let pen = Pen {
            colours: self.colours,
            width: columns.into(),
        };
        let mut lines = frame::lines(view, pen);
        // A picture higher than the terminal could not be drawn over.
        lines.truncate(usize::from(rows).saturating_sub(1));
        let above = frame::failures(failed, pen);
        if !above.is_empty() || lines != self.shown {
            self.write(&over(self.shown.len(), &above, &lines));
            self.shown = lines;
        }
    }

    /// Takes the picture away.
    pub(super) fn clear(&mut self) {
        self.write(&over(self.shown.len(), &[], &[]));
        self.shown.clear();
    }

    /// A terminal that has gone need not be told.
    fn write(&self, text: &str) {
        let _ = self.term.write_str(text).and_then(|()| self.term.flush());
    }
}

/// Goes up over the last picture, overwrites it line by line, and clears what is left of it.
fn over(height: usize, above: &[String], lines: &[String]) -> String {
    let mut text = String::new();
    if height > 0 {
        text.push_str(&format!("\x1b[{height}A"));
    }
    text.push('\r');
    for line in above.iter().chain(lines) {
        text.push_str(line);
        text.push_str("\x1b[K\n");
    }
    text.push_str("\x1b[J");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[&str]) -> Vec<String> {
        text.iter().map(|&line| line.to_owned()).collect()
    }

    #[test]
    fn a_picture_is_drawn_over_the_last_one_line_by_line() {
        let text = over(2, &lines(&["failed  a"]), &lines(&["one"]));

        assert_eq!(text, "\x1b[2A\rfailed  a\x1b[K\none\x1b[K\n\x1b[J");
    }

    #[test]
    fn the_first_picture_goes_over_nothing() {
        assert_eq!(over(0, &[], &lines(&["one"])), "\rone\x1b[K\n\x1b[J");
    }
}
