//! Finds the calls of this program in a command line for which an agent has to ask the user.
//!
//! No shell is imitated: the words are looked at, wherever they stand, in quotes and comments too. So
//! `echo checkpoint restore` and a commit message with these words are taken for a call, and what a
//! variable or an alias hides is not found.

/// Commands that change the directory, or remove checkpoints that were not to go.
const VERBS: [&str; 6] = ["restore", "undo", "redo", "rewind", "delete", "rm"];
/// Options before a command that take the next word.
const OPTIONS_WITH_VALUE: &str = "-C --dir --base --color --lock-timeout -w --workflow";
/// Options of other programs whose value is a directory, which may have our name.
const OPTIONS_WITH_DIRECTORY: [&str; 5] = ["-C", "--directory", "--prefix", "--cwd", "--git-dir"];
/// Upper bound on the words in which an option is looked for that makes a call harmless.
const LONGEST_CALL: usize = 256;
/// Stands for a quote.
const QUOTE: char = '\u{1}';

/// Returns the command, such as `restore`, for which a command line of a POSIX shell or PowerShell
/// needs the user's consent. A dry run changes nothing and needs none.
pub fn asks_consent(command: &str) -> Option<&'static str> {
    let quoted = command.replace(['\'', '"'], "\u{1}");
    let joined = quoted.replace("\\\n", " ").replace("`\n", " ");
    // A redirection is no end of a command. A backtick begins one, or hides a letter from PowerShell.
    let lines = joined.replace("&>", ">");
    ["(", ""].into_iter().find_map(|tick| {
        let lines = lines.replace('`', tick);
        let mut commands = lines.split([';', '|', '&', '\n', '\r']);
        commands.find_map(in_command)
    })
}

fn in_command(command: &str) -> Option<&'static str> {
    let spaced = command.replace('(', " ( ");
    let words: Vec<&str> = spaced
        .split(|c: char| c.is_whitespace() || matches!(c, ')' | '{' | '}' | ',' | '$'))
        .filter(|word| !word.is_empty())
        .collect();
    (0..words.len()).find_map(|at| {
        let is_directory = at > 0 && OPTIONS_WITH_DIRECTORY.contains(&words[at - 1]);
        let is_call = is_this_program(words[at]) && !is_directory;
        is_call.then(|| verb(&words[at + 1..])).flatten()
    })
}

/// Whether a word names this program, by any path.
fn is_this_program(word: &str) -> bool {
    let word = word.replace(QUOTE, "").to_ascii_lowercase();
    let is_name = |word: &str| {
        let name = word.rsplit(['/', '\\', '=']).next();
        matches!(name, Some("checkpoint" | "checkpoint.exe"))
    };
    is_name(&word) || is_name(&word.replace('\\', ""))
}

/// Returns the command of a call that needs consent, given the words behind our name.
fn verb(words: &[&str]) -> Option<&'static str> {
    let mut rest = words.iter();
    let mut next = || loop {
        let word = rest.next()?.replace([QUOTE, '\\'], "");
        if OPTIONS_WITH_VALUE.split(' ').any(|option| option == word) || word.ends_with(['<', '>'])
        {
            rest.next();
        } else if !word.starts_with('-') && !word.contains(['<', '>', '(', '@']) && !word.is_empty()
        {
            return Some(word);
        }
    };
    let mut first = next()?;
    let is_workflow = first == "workflow";
    if is_workflow {
        first = next().filter(|second| second == "rewind")?;
    }
    let verb = VERBS.into_iter().find(|verb| *verb == first)?;
    for word in rest.take(LONGEST_CALL) {
        // What is in quotes, or comes out of another command, may be no option.
        let is_harmless = match word.trim_end_matches(QUOTE) {
            "--dry-run" | "--help" | "-h" => true,
            "-n" => is_workflow,
            "--list" => verb == "undo" || verb == "redo",
            "--" | "(" => break,
            _ => false,
        };
        if is_harmless {
            return None;
        }
        if word.contains(QUOTE) {
            break;
        }
    }
    Some(verb)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_change_files_or_the_store_ask() {
        for (line, verb) in [
            ("checkpoint restore", "restore"),
            ("checkpoint undo", "undo"),
            ("checkpoint redo --yes", "redo"),
            ("checkpoint rewind 2", "rewind"),
            ("checkpoint delete @", "delete"),
            ("checkpoint rm @", "rm"),
            ("checkpoint workflow rewind plan --files", "rewind"),
            ("checkpoint workflow -w x rewind plan", "rewind"),
            ("checkpoint restore @ src --yes", "restore"),
            ("/usr/local/bin/checkpoint restore @", "restore"),
            ("./target/debug/checkpoint restore @", "restore"),
            ("~/bin/checkpoint restore @", "restore"),
            ("\"$HOME/bin/checkpoint\" restore @", "restore"),
            ("'/opt/my tools/checkpoint' undo", "undo"),
            ("check\"point\" restore", "restore"),
            ("\\checkpoint restore", "restore"),
            ("checkpoint 'restore' @", "restore"),
            ("checkpoint \\\n  restore @", "restore"),
            ("checkpoint -C ../other restore @", "restore"),
            ("checkpoint --base /b --json restore @", "restore"),
            ("checkpoint --base=/b -qy restore @", "restore"),
            ("checkpoint --color never undo", "undo"),
            ("CHECKPOINT_HOME=/x checkpoint undo", "undo"),
            ("env A=b checkpoint undo", "undo"),
            ("sudo -u me checkpoint undo", "undo"),
            ("nohup checkpoint undo &", "undo"),
            ("timeout 5 checkpoint undo", "undo"),
            ("echo x | xargs checkpoint restore", "restore"),
            ("find . -exec checkpoint restore @ {} \\;", "restore"),
            ("sh -c 'checkpoint restore @'", "restore"),
            ("bash -lc \"cd x && checkpoint restore @\"", "restore"),
            ("sh -c \"sh -c \\\"checkpoint restore\\\"\"", "restore"),
            ("sh -c \"sh -c 'checkpoint restore @'\"", "restore"),
            ("eval 'checkpoint undo'", "undo"),
            ("eval \"$(echo checkpoint undo)\"", "undo"),
            ("ssh host 'checkpoint restore @ --yes'", "restore"),
            (
                "python3 -c \"import os; os.system('checkpoint undo')\"",
                "undo",
            ),
            ("x=$(checkpoint undo)", "undo"),
            ("x=`checkpoint undo`", "undo"),
            ("echo \"done: $(checkpoint undo)\"", "undo"),
            ("$(which checkpoint) undo", "undo"),
            ("\"$(command -v checkpoint)\" undo", "undo"),
            ("make && checkpoint undo || true", "undo"),
            ("make; checkpoint undo; ls", "undo"),
            ("make\ncheckpoint undo\nls", "undo"),
            ("(cd x; checkpoint undo)", "undo"),
            ("{ checkpoint undo; }", "undo"),
            ("if true; then checkpoint undo; fi", "undo"),
            ("cat <(checkpoint undo)", "undo"),
            ("bash <<'EOF'\nit isn't\ncheckpoint undo\nEOF", "undo"),
            ("checkpoint 2>/dev/null undo", "undo"),
            ("checkpoint &>log undo", "undo"),
            ("checkpoint undo --dry-run; checkpoint undo", "undo"),
            ("checkpoint undo $(echo --dry-run)", "undo"),
            ("checkpoint restore -- --dry-run", "restore"),
            ("checkpoint restore @ -n", "restore"),
            ("checkpoint restore @ --list", "restore"),
            ("# first\ncheckpoint undo", "undo"),
            ("$'checkpoint' undo", "undo"),
            ("cargo run --bin checkpoint -- restore @", "restore"),
            ("checkpoint.exe restore @", "restore"),
            ("C:\\tools\\checkpoint.exe restore @", "restore"),
            ("& 'C:\\my tools\\Checkpoint.exe' restore @", "restore"),
            ("& \"$env:USERPROFILE\\bin\\checkpoint\" undo", "undo"),
            ("if ($?) { checkpoint undo }", "undo"),
            ("check`point undo", "undo"),
            ("checkpoint `\n undo", "undo"),
            ("powershell -Command \"checkpoint undo\"", "undo"),
            ("Invoke-Expression 'checkpoint undo'", "undo"),
            (
                "Start-Process checkpoint -ArgumentList 'restore','@'",
                "restore",
            ),
            ("Start-Process checkpoint -ArgumentList @('undo')", "undo"),
            (
                "Start-Process checkpoint -ArgumentList \"restore @\"",
                "restore",
            ),
            ("cmd /c checkpoint undo", "undo"),
            ("checkpoint delete 'x --dry-run'", "delete"),
            ("checkpoint re\\store", "restore"),
            // Only named, but no shell is imitated here.
            ("ls # checkpoint undo", "undo"),
            ("cat < checkpoint undo", "undo"),
            ("echo checkpoint restore", "restore"),
            ("git commit -m 'Fix checkpoint restore'", "restore"),
        ] {
            assert_eq!(asks_consent(line), Some(verb), "{line}");
        }
    }

    #[test]
    fn other_calls_and_other_programs_do_not_ask() {
        for line in [
            "",
            "checkpoint",
            "checkpoint status",
            "checkpoint create 'before restore'",
            "checkpoint create -m restore",
            "checkpoint list --json",
            "checkpoint show undo",
            "checkpoint diff restore",
            "checkpoint find --text delete",
            "checkpoint verify --full",
            "checkpoint help restore",
            "checkpoint -C undo status",
            "checkpoint --base restore list",
            "checkpoint workflow next",
            "checkpoint workflow end x",
            "checkpoint workflow rewind plan -n",
            "checkpoint phase done undo",
            "checkpoint restore @ --dry-run",
            "checkpoint --json restore --dry-run @ src",
            "checkpoint undo --dry-run 2>&1 | head",
            "checkpoint delete @ --dry-run && ls",
            "checkpoint prune --dry-run",
            "checkpoint prune --keep 1",
            "checkpoint undo --list",
            "checkpoint restore --help",
            "checkpoint restore -h",
            "sh -c 'checkpoint restore @ --dry-run'",
            "git restore .",
            "git restore checkpoint",
            "git -C /src/checkpoint restore a.rs",
            "make -C checkpoint restore",
            "git stash && git undo",
            "restore",
            "undo",
            "cd checkpoint && git restore .",
            "cd checkpoint; ./restore",
            "ls checkpoint\nrestore x",
            "cat checkpoint.md restore",
            "checkpoints restore",
            "my-checkpoint restore",
            "checkpoint-restore now",
            "checkpoint_restore",
            "docker checkpoint-create restore",
            "cat restore > checkpoint",
            "pip install checkpoint==1 restore",
            "checkpoint statusline",
            "& checkpoint status; restore",
            "Get-Command checkpoint | Select restore",
        ] {
            assert_eq!(asks_consent(line), None, "{line}");
        }
    }

    #[test]
    fn long_lines_take_little_time() {
        for piece in [
            "checkpoint ",
            "checkpoint undo --dry-run ",
            "'",
            "\"",
            "(",
            "\\\"",
            "checkpoint \"",
            "-C ",
        ] {
            let line = piece.repeat((1 << 20) / piece.len());
            let started = std::time::Instant::now();
            let _ = asks_consent(&line);
            assert!(started.elapsed().as_secs() < 20, "{piece:?}");
        }
    }
}
