//! The commits are the truth: files derived from them may be emptied, filled with NUL or deleted.

use std::path::{Path, PathBuf};

use crate::bench::{Sandbox, fixtures, tree::Tree};

/// A kind of damage: its name and how it is done.
type Harm = (&'static str, fn(&Path));

const HARMS: [Harm; 4] = [
    ("emptied", |path| {
        std::fs::write(path, "").expect("a file can be emptied");
    }),
    ("filled with NUL", |path| {
        let len = path.metadata().expect("a file").len();
        std::fs::write(path, vec![0; usize::try_from(len).expect("a size")])
            .expect("a file can be filled");
    }),
    ("garbled", |path| {
        std::fs::write(path, "\u{1}rubbish\n\n| x |").expect("a file can be garbled");
    }),
    ("deleted", |path| {
        std::fs::remove_file(path).expect("a file can be deleted");
    }),
];

struct Story {
    sandbox: Sandbox,
    first: String,
    tree: Tree,
    intact: PathBuf,
    ids: Vec<String>,
}

/// A store with two checkpoints and a restore with its safety checkpoint, and a copy of it.
fn story() -> Story {
    let sandbox = Sandbox::new();
    sandbox
        .write("a", "1")
        .mkdir("empty")
        .write("run", "x")
        .chmod("run", 0o700);
    let first = sandbox.create("first | with a bar");
    let tree = sandbox.tree();
    sandbox.write("a", "2").remove("empty").write("d/new", "n");
    sandbox.create("second");
    sandbox.write("a", "unsaved");
    sandbox.restore("second").success();
    let ids = sandbox.listed_ids();
    let intact = sandbox.top().join("intact");
    fixtures::copy_tree(&sandbox.store(), &intact);
    Story {
        sandbox,
        first,
        tree,
        intact,
        ids,
    }
}

impl Story {
    fn put_back(&self) {
        fixtures::remove(&self.sandbox.store());
        fixtures::copy_tree(&self.intact, &self.sandbox.store());
        for name in ["a", "d", "empty", "run"] {
            self.sandbox.remove(name);
        }
        self.sandbox
            .write("a", "2")
            .write("d/new", "n")
            .write("run", "x")
            .chmod("run", 0o700);
    }

    /// Runs every command in turn; nothing may be missing.
    fn nothing_is_lost(&self, harm: &str) {
        let sandbox = &self.sandbox;
        assert_eq!(sandbox.listed_ids(), self.ids, "{harm}");
        let listed = sandbox.ok("list --json");
        assert_eq!(listed.data()["damaged"], serde_json::json!([]), "{harm}");
        assert_eq!(
            sandbox.shown(&self.first)["reason"],
            "first | with a bar",
            "{harm}"
        );
        sandbox.write("a", "3");
        let before = sandbox.tree();
        sandbox.restore(&self.first).success();
        sandbox.tree().assert_is(&self.tree, harm);
        sandbox.undo().success();
        sandbox.tree().assert_is(&before, harm);
        let third = sandbox.create("third");
        let now = sandbox.listed_ids();
        assert_eq!(now[0], third, "{harm}");
        assert!(
            self.ids.iter().all(|id| now.contains(id)),
            "{harm}: {now:?}"
        );
        sandbox.ok("prune");
        assert_eq!(sandbox.listed_ids(), now, "{harm}, then pruned");
        let manifest = std::fs::read_to_string(sandbox.store().join("checkpoint-manifest.md"))
            .expect("a manifest");
        assert!(
            now.iter().all(|id| manifest.contains(id.as_str())),
            "{harm}: the manifest was not rebuilt\n{manifest}"
        );
    }
}

fn each_harm(files: &dyn Fn(&Path) -> Vec<PathBuf>) {
    let story = story();
    let top = story.sandbox.store();
    for file in files(&top) {
        for (name, harm) in HARMS {
            harm(&file);
            story.nothing_is_lost(&format!(
                "{} {name}",
                file.strip_prefix(&top).expect("in the store").display()
            ));
            story.put_back();
        }
    }
}

#[test]
fn the_manifest_head_main_and_config_may_go() {
    each_harm(&|store| {
        [
            "checkpoint-manifest.md",
            "HEAD",
            "refs/heads/main",
            "config",
        ]
        .map(|name| store.join(name))
        .into()
    });
}

#[test]
fn each_meta_ref_may_go() {
    each_harm(&|store| fixtures::files_below(&store.join("refs/meta")));
}

#[test]
fn each_file_of_our_own_folder_may_go() {
    each_harm(&|store| {
        let files = fixtures::files_below(&store.join("checkpoint"));
        assert!(!files.is_empty(), "our own folder is empty");
        files
    });
}

#[test]
fn our_own_folder_may_go_as_a_whole() {
    let story = story();
    fixtures::remove(&story.sandbox.store().join("checkpoint"));
    story.nothing_is_lost("checkpoint/ deleted");
}

#[test]
fn a_ref_that_is_gone_comes_back_while_the_manifest_names_it() {
    let story = story();
    let id = story.sandbox.shown(&story.first)["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    fixtures::remove(&story.sandbox.store().join("refs/checkpoints").join(&id));
    story.sandbox.write("a", "4");
    story.sandbox.create("writer");
    assert!(
        story
            .sandbox
            .store()
            .join("refs/checkpoints")
            .join(&id)
            .is_file(),
        "the ref is not back"
    );
    story.sandbox.restore(&story.first).success();
    story
        .sandbox
        .tree()
        .assert_is(&story.tree, "after the restore");
}

#[test]
fn refs_and_manifest_gone_together_drop_nothing() {
    let story = story();
    fixtures::remove(&story.sandbox.store().join("refs/checkpoints"));
    fixtures::remove(&story.sandbox.store().join("checkpoint-manifest.md"));
    story.sandbox.write("a", "4");
    story.sandbox.create("writer");
    story.sandbox.ok("prune");
    let now = story.sandbox.listed_ids();
    assert!(
        story.ids.iter().all(|id| now.contains(id)),
        "{now:?} lacks some of {:?}",
        story.ids
    );
}

#[test]
fn nobodys_edit_of_the_manifest_loses_a_checkpoint() {
    let story = story();
    let manifest = story.sandbox.store().join("checkpoint-manifest.md");
    let text = std::fs::read_to_string(&manifest).expect("a manifest");
    let edits = [
        text.replace('\n', "\r\n"),
        text.lines()
            .rev()
            .fold(String::new(), |all, line| all + line + "\n"),
        format!("notes of mine\n\n{text}\n<!-- -->"),
    ];
    for edit in edits {
        std::fs::write(&manifest, &edit).expect("the manifest can be written");
        story.nothing_is_lost(&edit);
        story.put_back();
    }
}

#[test]
fn readers_find_every_checkpoint_when_refs_and_manifest_are_gone() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").create("one");
    sandbox.write("a", "2").create("two");
    for kept in [&["refs/heads"][..], &[]] {
        let whole = sandbox.top().join("whole");
        crate::bench::fixtures::copy_tree(&sandbox.store(), &whole);
        let _ = std::fs::remove_file(sandbox.store().join("checkpoint-manifest.md"));
        std::fs::remove_dir_all(sandbox.store().join("refs/checkpoints")).expect("refs can go");
        if kept.is_empty() {
            std::fs::remove_dir_all(sandbox.store().join("refs")).expect("refs can go");
        }
        sandbox
            .ok("list")
            .stdout_has("one")
            .stdout_has("two")
            .stderr_has("lost refs, which the next create or prune restores: ");
        sandbox.ok("show one");
        sandbox
            .ok("verify --json")
            .stdout_has("\"checkpoint_count\":2");
        assert_eq!(sandbox.status()["checkpoint_count"], 2);
        crate::bench::fixtures::remove(&sandbox.store());
        std::fs::rename(&whole, sandbox.store()).expect("a rename");
    }
}

#[test]
fn one_bad_line_of_packed_refs_hides_no_other() {
    let story = story();
    let place = story.sandbox.store();
    let mut lines = "# pack-refs with: peeled fully-peeled sorted\n".to_owned();
    for path in fixtures::files_below(&place.join("refs/checkpoints")) {
        let id = path.file_name().expect("a name").display().to_string();
        lines.push_str(&format!(
            "{id} refs/checkpoints/{id}\nrubbish \0\u{1}\n{id} ../../escape\n"
        ));
        fixtures::remove(&path);
    }
    std::fs::write(place.join("packed-refs"), lines).expect("a file can be written");
    // No row of the manifest may help.
    fixtures::remove(&place.join("checkpoint-manifest.md"));
    story.nothing_is_lost("bad lines in packed-refs");
    assert!(!place.join("packed-refs").exists());
    story.sandbox.ok("verify --full");
}

#[test]
fn two_copies_of_a_store_that_went_their_own_ways_can_be_put_together() {
    let sandbox = Sandbox::new();
    let (store, other) = (sandbox.store(), sandbox.top().join("other"));
    sandbox.write("a", "1").create("one");
    fixtures::copy_tree(&store, &other);
    sandbox.write("a", "2").create("two");
    let (here, there) = (store.clone(), sandbox.top().join("with-two"));
    std::fs::rename(&here, &there).expect("it can be moved");
    std::fs::rename(&other, &here).expect("it can be moved");
    sandbox.write("a", "3").create("three");
    // What a sync service does that merges two machines: adds files that only one has, and
    // conflicts under other names.
    for file in fixtures::files_below(&there) {
        let place = here.join(file.strip_prefix(&there).expect("below it"));
        let beside = place.with_file_name(format!(
            "{}.sync-conflict",
            place.file_name().expect("a name").display()
        ));
        std::fs::create_dir_all(place.parent().expect("a parent"))
            .expect("a directory can be made");
        std::fs::copy(&file, if place.exists() { beside } else { place })
            .expect("a file can be copied");
    }
    for reason in ["one", "two", "three"] {
        sandbox.run(&["show", reason]).success();
    }
    sandbox.ok("verify --full");
    sandbox.write("a", "4").create("four");
    assert_eq!(sandbox.listed().len(), 4);
    for (reason, text) in [("one", "1"), ("two", "2"), ("three", "3"), ("four", "4")] {
        sandbox.restore(reason).success();
        assert_eq!(sandbox.read("a"), text);
    }
}
