//! Prints what outgrew its room: functions over 60 lines, files over 400. Informs, never fails a build.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};

const FUNCTION: usize = 60;
const FILE: usize = 400;

pub(crate) fn run() -> anyhow::Result<()> {
    let mut sizes = Sizes::default();
    let mut files = Vec::new();
    sources(crate::root(), &mut files)?;
    files.sort();
    for file in &files {
        let text =
            fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
        let name = file.strip_prefix(crate::root()).unwrap_or(file);
        sizes.read(&name.display().to_string(), &text);
    }
    for line in &sizes.large {
        println!("sizes: {line}");
    }
    println!(
        "sizes: {} files, {} functions, {} over the guide",
        files.len(),
        sizes.functions,
        sizes.large.len()
    );
    Ok(())
}

/// Every `.rs` file below the folder that is ours.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))? {
        let path = entry?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if path.is_dir() {
            if !name.starts_with('.') && name != "target" && name != "node_modules" {
                sources(&path, found)?;
            }
        } else if name.ends_with(".rs") {
            found.push(path);
        }
    }
    Ok(())
}

#[derive(Debug, Default)]
struct Sizes {
    file: String,
    functions: usize,
    large: Vec<String>,
}

impl Sizes {
    fn read(&mut self, name: &str, text: &str) {
        name.clone_into(&mut self.file);
        let lines = text.lines().count();
        if lines > FILE {
            self.large.push(format!("{name}: {lines} lines"));
        }
        match syn::parse_file(text) {
            Ok(parsed) => self.visit_file(&parsed),
            Err(error) => self.large.push(format!("{name}: not read, {error}")),
        }
    }

    fn function(&mut self, signature: &syn::Signature, body: &syn::Block) {
        self.functions += 1;
        let first = signature.span().start().line;
        let lines = body.span().end().line - first + 1;
        if lines > FUNCTION {
            self.large.push(format!(
                "{}:{first}: fn {}, {lines} lines",
                self.file, signature.ident
            ));
        }
    }
}

impl<'ast> Visit<'ast> for Sizes {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(body) = &item.default {
            self.function(&item.sig, body);
        }
        visit::visit_trait_item_fn(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_measured_from_signature_to_brace() {
        let of = |lines: usize| {
            format!(
                "/// Doc.\nfn long() {{\n{}}}\n",
                "    step();\n".repeat(lines - 2)
            )
        };
        let mut sizes = Sizes::default();

        sizes.read("fits.rs", &of(60));
        sizes.read("over.rs", &of(61));

        assert_eq!(sizes.large, ["over.rs:2: fn long, 61 lines"]);
    }
}
