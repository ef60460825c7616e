//! Finds the calls of this program in a command line for which an agent has to ask the user.
//!
//! No shell is imitated: every word counts, wherever it stands, and quoted text is read as a command
//! line too. So `echo checkpoint restore` and a commit message with these words are taken for a
//! call, and what a variable or an alias hides is not found.

/// Commands that change the directory, or remove checkpoints that were not to go.
const VERBS: [&str; 6] = ["restore", "undo", "redo", "rewind", "delete", "rm"];
/// Options before a command that take the next word.
const OPTIONS_WITH_VALUE: [&str; 7] = [
    "-C",
    "--dir",
    "--base",
    "--color",
    "--lock-timeout",
    "-w",
    "--workflow",
];
/// Options of other programs whose value is a directory, which may have our name.
const OPTIONS_WITH_DIRECTORY: [&str; 5] = ["-C", "--directory", "--prefix", "--cwd", "--git-dir"];
/// Upper bound on the words in which an option is looked for that makes a call harmless.
const LONGEST_CALL: usize = 256;
/// Upper bound on the depth of quoted text.
const DEEPEST: usize = 16;

/// Returns the command, such as `restore`, for which a command line of a POSIX shell or PowerShell
/// needs the user's consent. A dry run changes nothing and needs none.
pub fn asks_consent(command: &str) -> Option<&'static str> {
    [Dialect::Posix, Dialect::PowerShell]
        .into_iter()
        .find_map(|dialect| scan(command, dialect, DEEPEST))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Dialect {
    Posix,
    PowerShell,
}

/// One word without its quotes.
#[derive(Debug, Default)]
struct CallWord {
    text: String,
    /// The number of parentheses around it.
    depth: usize,
    is_quoted: bool,
}

impl CallWord {
    /// Whether the word names this program, by any path.
    fn is_this_program(&self) -> bool {
        let last = self
            .text
            .rsplit(|c: char| c.is_whitespace() || c == '/' || c == '\\');
        let name = last.into_iter().next().unwrap_or_default();
        // `"$(which checkpoint)"`
        let name = name.trim_end_matches([')', '`']).to_ascii_lowercase();
        name == "checkpoint" || name == "checkpoint.exe"
    }
}

fn scan(text: &str, dialect: Dialect, depth: usize) -> Option<&'static str> {
    let mut lexer = Lexer {
        signs: text.chars().peekable(),
        dialect,
        depth: 0,
        in_backticks: false,
    };
    while let Some(words) = lexer.next_command() {
        for (at, word) in words.iter().enumerate() {
            let is_directory = at > 0 && OPTIONS_WITH_DIRECTORY.contains(&&*words[at - 1].text);
            let call = &words[at + 1..];
            let found = (word.is_this_program() && !is_directory)
                .then(|| verb(call, word.depth))
                .flatten();
            let may_be_a_command = word.is_quoted && word.text.contains("checkpoint") && depth > 0;
            let within = || may_be_a_command.then(|| scan(&word.text, dialect, depth - 1))?;
            if let Some(found) = found.or_else(within) {
                return Some(found);
            }
        }
    }
    None
}

/// Returns the command of a call that needs consent, given the words behind our name.
fn verb(words: &[CallWord], depth: usize) -> Option<&'static str> {
    let mut rest = words.iter();
    // PowerShell's `Start-Process` takes the arguments as one text.
    let mut next = || loop {
        let word = rest
            .next()?
            .text
            .split_whitespace()
            .next()
            .unwrap_or_default();
        if OPTIONS_WITH_VALUE.contains(&word) {
            rest.next();
        } else if !word.starts_with('-') && word != "$" && word != "@" {
            return Some(word);
        }
    };
    let mut first = next()?;
    let is_of_workflow = first == "workflow";
    if is_of_workflow {
        first = next().filter(|second| *second == "rewind")?;
    }
    let verb = VERBS.into_iter().find(|verb| *verb == first)?;
    let is_harmless = |word: &CallWord| {
        let is_of_call = word.depth == depth;
        let is_dry = match &*word.text {
            "--dry-run" | "--help" | "-h" => true,
            "-n" => is_of_workflow,
            "--list" => verb == "undo" || verb == "redo",
            _ => false,
        };
        is_of_call && is_dry
    };
    let mut options = words
        .iter()
        .take(LONGEST_CALL)
        .take_while(|word| word.text != "--");
    (!options.any(is_harmless)).then_some(verb)
}

/// Takes a text apart into commands of words. Parentheses and backticks only part words: what they
/// hold may become the name of a program.
struct Lexer<'t> {
    signs: std::iter::Peekable<std::str::Chars<'t>>,
    dialect: Dialect,
    depth: usize,
    in_backticks: bool,
}

impl Lexer<'_> {
    /// Returns the words up to the next sign that ends a command.
    fn next_command(&mut self) -> Option<Vec<CallWord>> {
        self.signs.peek()?;
        let mut words = Vec::new();
        let mut word: Option<CallWord> = None;
        while let Some(sign) = self.signs.next() {
            let is_posix = self.dialect == Dialect::Posix;
            match sign {
                sign if sign == self.escape() && self.signs.next_if_eq(&'\n').is_some() => {}
                '&' if self.signs.peek() == Some(&'>') => {}
                '\n' | '\r' | ';' | '|' | '&' => break,
                '#' if word.is_none() => {
                    while self.signs.next_if(|sign| *sign != '\n').is_some() {}
                }
                '<' | '>' => {
                    // A number before it is that of a stream.
                    word.take_if(|word| word.text.bytes().all(|byte| byte.is_ascii_digit()));
                    words.extend(word.take());
                    self.skip_target();
                }
                '(' | ')' | '`' if is_posix || sign != '`' => {
                    words.extend(word.take());
                    self.enter_or_leave(sign);
                }
                ',' if !is_posix => words.extend(word.take()),
                sign if sign.is_whitespace() => words.extend(word.take()),
                sign => {
                    let depth = self.depth;
                    let word = word.get_or_insert_with(|| CallWord {
                        depth,
                        ..CallWord::default()
                    });
                    self.add(word, sign);
                }
            }
        }
        words.extend(word);
        Some(words)
    }

    fn escape(&self) -> char {
        match self.dialect {
            Dialect::Posix => '\\',
            Dialect::PowerShell => '`',
        }
    }

    fn enter_or_leave(&mut self, sign: char) {
        let enters = match sign {
            '(' => true,
            ')' => false,
            _ => {
                self.in_backticks = !self.in_backticks;
                self.in_backticks
            }
        };
        self.depth = if enters {
            self.depth + 1
        } else {
            self.depth.saturating_sub(1)
        };
    }

    /// Passes over the rest of a redirection and the file that it names.
    fn skip_target(&mut self) {
        while self
            .signs
            .next_if(|sign| "<>&|- \t".contains(*sign))
            .is_some()
        {}
        let mut target = CallWord::default();
        let is_end = |sign: &char| sign.is_whitespace() || ";|&()<>`".contains(*sign);
        while let Some(sign) = self.signs.next_if(|sign| !is_end(sign)) {
            self.add(&mut target, sign);
        }
    }

    /// Adds a sign, or the quoted text that it opens, to a word.
    fn add(&mut self, word: &mut CallWord, sign: char) {
        let escape = self.escape();
        match sign {
            // `$'…'`
            '$' if self.signs.peek().is_some_and(|next| "'\"".contains(*next)) => {}
            '\'' | '"' => {
                word.is_quoted = true;
                self.add_quoted(word, sign, escape);
            }
            sign if sign == escape => {
                word.text.extend(self.signs.next());
            }
            sign => word.text.push(sign),
        }
    }

    fn add_quoted(&mut self, word: &mut CallWord, quote: char, escape: char) {
        while let Some(sign) = self.signs.next() {
            if sign == quote {
                let is_doubled = self.dialect == Dialect::PowerShell;
                if !is_doubled || self.signs.next_if_eq(&quote).is_none() {
                    return;
                }
            } else if sign == escape && quote == '"' {
                // Before other signs a backslash stands for itself.
                let next = self
                    .signs
                    .next_if(|next| escape == '`' || "$`\"\\\n".contains(*next));
                match next {
                    Some('\n') => continue,
                    Some(next) => word.text.push(next),
                    None => word.text.push(sign),
                }
                continue;
            }
            word.text.push(sign);
        }
    }
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
            // Only named, but no shell is imitated here.
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
            "# checkpoint restore",
            "ls # checkpoint undo",
            "cat restore > checkpoint",
            "cat < checkpoint undo",
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
