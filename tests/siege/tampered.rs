//! Every command against a forged checkpoint.

use std::sync::atomic::Ordering;

use super::choice::Choice;
use super::field::Field;
use super::forge::Forge;
use super::guard::{Guard, MARKER, Picture, copies};
use super::hostile::{Case, STAGED};
use super::scenario::{checkpoints, made};
use super::tally::Tally;
use super::tampered_judge::Trial;
use crate::bench::{Tree, fixtures};

/// Left out every other time, so that a seemingly interrupted restore is reverted instead.
const RESUME: &[&str] = &["restore", "--resume", "--yes"];

/// Commands, in which SEL, PATH, ITEM (`SEL:PATH`) and OUT stand for the forged checkpoint, its
/// content, and a place for a copy. Reading ones come first; a checkpoint that may be restored is
/// restored and undone, before the store is swept.
const COMMANDS: [&[&str]; 26] = [
    &["verify", "--full"],
    &["verify", "SEL"],
    &["list"],
    &["show", "SEL"],
    &["status", "-v"],
    &["diff", "SEL"],
    &["diff", "first", "SEL"],
    &["cat", "ITEM"],
    &["find", "PATH"],
    &["find", "--text", "planted"],
    &["restore", "SEL", "--dry-run"],
    &["restore", "SEL", "PATH", "--to", "OUT"],
    &["restore", "SEL", "--to", "OUT"],
    &["bisect", "first", "SEL", "--", "true"],
    RESUME,
    &["restore", "SEL", "PATH", "--yes"],
    &["undo", "--yes"],
    &["restore", "SEL", "--overlay", "--yes"],
    &["undo", "--yes"],
    &["restore", "SEL", "--restore-suid", "--yes"],
    &["undo", "--yes"],
    &["redo", "--yes"],
    &["create", "-r", "afterwards"],
    &["prune"],
    &["verify", "--repair"],
    &["delete", "SEL", "--yes"],
];

/// Sets up a project with a repository and a nested one, links that lead out, and a decoy.
pub fn field() -> Field {
    let field = Field::new();
    for at in 0..3 {
        field.write(&format!("d{at}/f"), format!("{at}"));
        field.write(&format!("d{at}/in/h"), format!("{at}"));
    }
    field.write("sub/x", "x");
    field.write(".gitignore", "*.log\n");
    let decoy = field.top().join("decoy");
    for (name, to) in [("out", &decoy), ("ignored.log", &decoy), ("link", &decoy)] {
        std::os::unix::fs::symlink(to, field.work().join(name)).expect("a link");
    }
    for place in [
        decoy,
        field.work().join(".git"),
        field.work().join("sub/.git"),
        field.home().join("theirs"),
    ] {
        for name in ["f", "d0/f", "d0/in/h", "in/h", "0", "1"] {
            std::fs::create_dir_all(place.join(name).parent().expect("above"))
                .expect("a directory");
            std::fs::write(place.join(name), MARKER).expect("a file");
        }
    }
    fixtures::decoy_git(&field.work().join(".git"));
    std::fs::create_dir(copies(&field)).expect("a directory");
    made(&field, "first");
    field.keep();
    field
}

/// Forges one case into the field as it was kept, and runs all commands on it.
pub fn besiege(field: &Field, case: &Case, choice: &mut Choice, tally: &Tally) {
    field.put_back();
    // Plain git knows no metas, trailers or journals.
    let is_ours = case.meta.is_some()
        || case.journal.is_some()
        || !case.trailers.is_empty()
        || choice.below(6) > 0;
    let mut forge = Forge::new();
    let id = case.forge(&mut forge, is_ours).to_string();
    let objects = field.store().join("objects");
    let form = choice.below(2);
    if form == 0 {
        forge.write_loose(&objects);
    } else {
        forge.write_pack(&objects);
    }
    let name = if is_ours {
        format!("checkpoints/{id}")
    } else {
        "heads/main".to_owned()
    };
    std::fs::write(field.store().join("refs").join(name), format!("{id}\n")).expect("a ref");
    if !is_ours {
        // The next writer adopts what plain git committed.
        let _ = field.cmd("create -r adopts -q");
    }
    let first = checkpoints(field).pop().unwrap_or_default().0;
    if let Some(journal) = case.journal(&id, &first) {
        std::fs::write(field.store().join("checkpoint/journal"), journal).expect("a journal");
        let stage = field.work().join(format!(".checkpoint-stage-{STAGED}"));
        std::os::unix::fs::symlink(field.top().join("decoy"), stage).expect("a link");
    }
    let resumes = choice.below(2) == 0;
    let trial = Trial {
        field,
        case,
        id: &id,
        is_ours,
        guard: Guard::over(field),
        root: Picture::of(field.work()),
        before: Tree::capture(&field.work()),
    };
    for command in COMMANDS
        .into_iter()
        .filter(|command| resumes || *command != RESUME)
    {
        let Some(args) = trial.filled_in(command) else {
            continue;
        };
        tally.escape_attempts.fetch_add(1, Ordering::Relaxed);
        tally.tampered.fetch_add(1, Ordering::Relaxed);
        let run = field.run(&[], &args.iter().map(String::as_str).collect::<Vec<_>>());
        let says = |why| {
            format!(
                "tampered, {} ({}), {command:?}: {why}\n{run}",
                case.what,
                if form == 0 { "loose" } else { "packed" }
            )
        };
        let judged = trial.nothing_escaped();
        if let Err(why) = judged.and_then(|()| trial.judge(command, &run)) {
            tally.escaped(says(why));
            return;
        }
    }
}
