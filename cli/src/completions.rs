//! `cambium completions`: what a shell needs to complete our commands.

use clap::CommandFactory as _;
use clap_complete::Shell;
use serde::Serialize;

use crate::command::Cli;
use crate::context::Context;
use crate::exit::Exit;

/// Print a shell's completion script
#[derive(Debug, clap::Args)]
#[command(after_help = INSTALL)]
pub(crate) struct Args {
    shell: Shell,
}

/// How each shell finds it. A new shell knows the commands.
const INSTALL: &str = "\
Examples:
  cambium completions bash
  mkdir -p ~/.local/share/bash-completion/completions && cambium completions bash > ~/.local/share/bash-completion/completions/cambium
  mkdir -p ~/.zfunc && cambium completions zsh > ~/.zfunc/_cambium
  mkdir -p ~/.config/fish/completions && cambium completions fish > ~/.config/fish/completions/cambium.fish
  cambium completions powershell >> $PROFILE
  mkdir -p ~/.config/elvish && cambium completions elvish >> ~/.config/elvish/rc.elv

bash needs the package bash-completion. zsh looks into ~/.zfunc where ~/.zshrc says `fpath+=~/.zfunc` before `compinit`. The others read these files by themselves. Do it again after an update.";

#[derive(Serialize)]
struct Printed {
    script: String,
}

pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<Exit> {
    let printed = Printed {
        script: script(args.shell)?,
    };
    context.print_value(&printed, |printed| printed.script.clone())?;
    Ok(Exit::Done)
}

fn script(shell: Shell) -> anyhow::Result<String> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "cambium", &mut script);
    Ok(String::from_utf8(script)?)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::{Command, Stdio};

    use super::*;

    fn is_here(program: &str) -> bool {
        let tried = Command::new(program)
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        let is_here = tried.is_ok();
        if !is_here {
            println!("skipped: {program} is not installed");
        }
        is_here
    }

    /// Has the shell read the script without running it.
    fn is_read_by(shell: Shell, program: &str, words: impl Fn(&Path) -> Vec<String>) {
        if !is_here(program) {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("script");
        std::fs::write(&path, script(shell).unwrap()).unwrap();

        let read = Command::new(program).args(words(&path)).output().unwrap();

        assert!(read.status.success(), "{program}: {read:?}");
        assert_eq!(String::from_utf8_lossy(&read.stderr), "", "{program}");
    }

    fn unrun(flag: &'static str) -> impl Fn(&Path) -> Vec<String> {
        move |path| vec![flag.to_owned(), path.display().to_string()]
    }

    #[test]
    fn bash_reads_its_script() {
        is_read_by(Shell::Bash, "bash", unrun("-n"));
    }

    #[test]
    fn zsh_reads_its_script() {
        is_read_by(Shell::Zsh, "zsh", unrun("-n"));
    }

    #[test]
    fn fish_reads_its_script() {
        is_read_by(Shell::Fish, "fish", unrun("--no-execute"));
    }

    #[test]
    fn powershell_reads_its_script() {
        is_read_by(Shell::PowerShell, "pwsh", |path| {
            let line = format!(
                "[ScriptBlock]::Create((Get-Content -Raw '{}')) | Out-Null",
                path.display()
            );
            vec!["-NoProfile".to_owned(), "-Command".to_owned(), line]
        });
    }

    #[test]
    fn bash_completes_a_command() {
        if !is_here("bash") {
            return;
        }
        let line = format!(
            "{}\nCOMP_WORDS=(cambium rer) COMP_CWORD=1\n_cambium cambium rer cambium\necho \"${{COMPREPLY[@]}}\"",
            script(Shell::Bash).unwrap()
        );

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("line"); // too long for an argument
        std::fs::write(&path, line).unwrap();

        let said = Command::new("bash").arg(&path).output().unwrap();

        let said = String::from_utf8(said.stdout).unwrap();
        assert_eq!(said.trim(), "rerun");
    }

    #[test]
    fn every_shell_has_its_line() {
        for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
            assert!(
                INSTALL.contains(&format!("completions {shell} >")),
                "{shell}"
            );
        }
    }
}
