//! Plans are carried out whole or not at all, whatever happens meanwhile.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use checkpoint::base::interrupt::Interrupt;
use checkpoint::error::{Code, More};
use checkpoint::model::state::entry::{Entry, Kind, Stat};
use checkpoint::model::state::object_id::ObjectId;
use checkpoint::model::state::rel_path::RelPath;
use checkpoint::worktree::apply::apply_steps::{ApplyPlan, Expect, Removal, WriteStep};
use checkpoint::worktree::apply::materialize::WantedTree;
use checkpoint::worktree::apply::stage::Stage;
use checkpoint::worktree::apply::transaction::{ApplyError, apply};
use checkpoint::worktree::tree_handle::WorkTree;

use crate::bench::os::{MetadataExt, PermissionsExt, symlink};

use super::path;

const HEX: &str = "00112233445566aa";
/// Number of places above which one call flushes the whole file system.
const SYNCED_SINGLY: usize = 64;

/// A root with some files, and a stage to be filled.
struct Scene {
    temp: tempfile::TempDir,
    work: WorkTree,
    stage: Stage,
    staged: usize,
}

/// Kind, permission bits, inode (not of directories, which may be new) and content of each path.
type Picture = BTreeMap<PathBuf, (u32, u64, Vec<u8>)>;

impl Scene {
    fn new(build: impl FnOnce(&Path)) -> Self {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().join("root");
        fs::create_dir(&root).unwrap();
        build(&root);
        let work = WorkTree::open(&root).unwrap();
        let stage = Stage::create(&work, HEX).unwrap();
        Self {
            temp,
            work,
            stage,
            staged: 0,
        }
    }

    fn root(&self) -> PathBuf {
        self.temp.path().join("root")
    }

    fn stage(&mut self, kind: Kind, perm: u32, text: &str) -> usize {
        let index = self.staged;
        self.staged += 1;
        let entry = Entry {
            kind,
            perm,
            id: ObjectId::from_bytes([0; 20]),
            size_bytes: 0,
        };
        let wanted = WantedTree {
            top: None,
            dirs: &BTreeMap::new(),
            files: &[(path(&index.to_string()), entry)],
            special_bits: false,
        };
        let content = |_: usize, out: &mut dyn io::Write| {
            out.write_all(text.as_bytes()).unwrap();
            Ok(text.len() as u64)
        };
        let filled = self.stage.fill(&wanted, &content, &Interrupt::default());
        filled.unwrap();
        index
    }

    fn write(&mut self, at: &str, text: &str, expect: Expect) -> WriteStep {
        WriteStep {
            path: path(at),
            staged: self.stage(Kind::File, 0o644, text),
            expect,
        }
    }

    fn expect(&self, at: &str) -> Stat {
        self.work.stat(&path(at)).unwrap().unwrap()
    }

    fn present(&self, at: &str) -> Expect {
        Expect::Present(self.expect(at))
    }

    fn removal(&self, at: &str) -> Removal {
        Removal {
            path: path(at),
            expect: self.expect(at),
        }
    }

    fn picture(&self) -> Picture {
        let mut picture = Picture::new();
        take_picture(&self.root(), &mut picture);
        picture
    }

    /// Applies, and drops the stage of a success as a caller does.
    fn apply(self, plan: &ApplyPlan) -> (tempfile::TempDir, Result<Vec<RelPath>, ApplyError>) {
        let Self {
            temp, work, stage, ..
        } = self;
        let ended = apply(&work, stage, plan, &Interrupt::default()).map(|applied| {
            applied.sync().unwrap();
            let left_alone = applied.left_alone().to_vec();
            applied.discard().unwrap();
            left_alone
        });
        assert!(
            !temp
                .path()
                .join(format!("root/.checkpoint-stage-{HEX}"))
                .exists(),
            "{ended:?}"
        );
        (temp, ended)
    }

    /// Applies a plan that must fail, and compares the directory with its former state.
    fn apply_and_expect_all_as_before(self, plan: &ApplyPlan) -> ApplyError {
        let mut before = self.picture();
        before.retain(|at, _| !at.to_string_lossy().contains(".checkpoint-stage-"));
        let root = self.root();
        let (_temp, ended) = self.apply(plan);
        let mut after = Picture::new();
        take_picture(&root, &mut after);
        assert_eq!(after, before);
        ended.unwrap_err()
    }
}

/// Whether all is as before, because paths differed from the plan.
fn is_changed(error: &ApplyError) -> bool {
    error.error.code == Code::CHANGED_MEANWHILE && error.problems.is_empty()
}

fn take_picture(at: &Path, picture: &mut Picture) {
    let stat = fs::symlink_metadata(at).unwrap();
    let mut content = Vec::new();
    let mut inode = stat.ino();
    if stat.is_symlink() {
        content = fs::read_link(at)
            .unwrap()
            .into_os_string()
            .into_encoded_bytes();
    } else if stat.is_dir() {
        inode = 0;
        for entry in fs::read_dir(at).unwrap() {
            take_picture(&entry.unwrap().path(), picture);
        }
    } else {
        content = fs::read(at).unwrap();
    }
    picture.insert(at.to_path_buf(), (stat.mode(), inode, content));
}

fn set_mode(at: impl AsRef<Path>, perm: u32) {
    fs::set_permissions(at, fs::Permissions::from_mode(perm)).unwrap();
}

fn mode(at: impl AsRef<Path>) -> u32 {
    fs::metadata(at).unwrap().mode() & 0o7777
}

/// Fills the root for `plan_some`: a file replaced, one new in a new directory, one deleted with
/// its directory, modes.
fn build_some(root: &Path) {
    for dir in ["old", "keep", "ro", "old/empty"] {
        fs::create_dir(root.join(dir)).unwrap();
    }
    for (name, text) in [
        ("a", "old a"),
        ("old/gone", "gone"),
        ("keep/m", "mode"),
        ("ro/f", "read only"),
    ] {
        fs::write(root.join(name), text).unwrap();
    }
    symlink("nowhere", root.join("link")).unwrap();
    set_mode(root.join("ro/f"), 0o400);
    set_mode(root.join("ro"), 0o555);
    set_mode(root.join("old"), 0o500);
}

/// A file with another name outside.
fn build_linked(root: &Path) {
    fs::write(root.join("f"), "shared").unwrap();
    fs::hard_link(root.join("f"), root.parent().unwrap().join("outside")).unwrap();
}

fn plan_some(scene: &mut Scene) -> ApplyPlan {
    let (a, link, ro) = (
        scene.present("a"),
        scene.present("link"),
        scene.present("ro/f"),
    );
    ApplyPlan {
        make_dirs: vec![(path("new"), 0o750), (path("new/deep"), 0o500)],
        writes: vec![
            scene.write("a", "new a", a),
            scene.write("link", "no link now", link),
            scene.write("new/deep/x", "x", Expect::Absent),
            scene.write("ro/f", "written anew", ro),
        ],
        chmods: vec![(path("keep/m"), 0o711, scene.expect("keep/m"))],
        deletes: vec![scene.removal("old/gone")],
        remove_dirs: vec![path("old/empty"), path("old")],
        dir_modes: vec![(path("keep"), 0o700)],
        ..ApplyPlan::default()
    }
}

#[test]
fn a_plan_is_carried_out_whole() {
    let mut scene = Scene::new(build_some);
    let plan = plan_some(&mut scene);
    let (temp, ended) = scene.apply(&plan);
    assert_eq!(ended.unwrap(), []);
    let root = temp.path().join("root");
    let read = |name: &str| fs::read_to_string(root.join(name)).unwrap();
    assert_eq!(read("a"), "new a");
    assert!(
        !fs::symlink_metadata(root.join("link"))
            .unwrap()
            .is_symlink()
    );
    assert_eq!(read("new/deep/x"), "x");
    assert_eq!(read("ro/f"), "written anew");
    assert!(!root.join("old").exists());
    let modes: Vec<u32> = ["new", "new/deep", "ro", "keep", "keep/m"]
        .iter()
        .map(|at| mode(root.join(at)))
        .collect();
    assert_eq!(modes, [0o750, 0o500, 0o555, 0o700, 0o711]);
}

#[test]
fn a_failure_at_the_very_end_leaves_all_as_before() {
    let mut scene = Scene::new(build_some);
    let mut plan = plan_some(&mut scene);
    plan.dir_modes.insert(0, (path("a"), 0o700)); // a file: the last step of all cannot be done
    let error = scene.apply_and_expect_all_as_before(&plan);
    assert!(is_changed(&error), "{error:?}");
}

#[test]
fn each_prefix_of_a_plan_can_be_taken_back() {
    for deletes_before in 0..8 {
        let mut scene = Scene::new(build_some);
        let mut plan = plan_some(&mut scene);
        let missing = WriteStep {
            path: path("zz"),
            staged: 999,
            expect: Expect::Absent,
        };
        plan.writes
            .insert(deletes_before.min(plan.writes.len()), missing);
        let error = scene.apply_and_expect_all_as_before(&plan);
        assert!(error.problems.is_empty(), "{error:?}");
    }
}

#[test]
fn a_file_changed_after_the_plan_is_not_touched_and_all_such_are_named() {
    let mut scene = Scene::new(build_some);
    let plan = plan_some(&mut scene);
    fs::write(scene.root().join("a"), "edited since, longer").unwrap();
    fs::write(scene.root().join("keep/m"), "edited too").unwrap();
    let error = scene.apply_and_expect_all_as_before(&plan);
    let More::Paths(obstacles) = &error.error.more else {
        panic!("{error:?}")
    };
    let paths: Vec<String> = obstacles
        .iter()
        .map(|obstacle| obstacle.path.to_string())
        .collect();
    assert_eq!(paths, ["a", "keep/m"]);
    assert!(is_changed(&error), "{error:?}");
}

#[test]
fn a_file_that_appeared_is_not_touched() {
    let mut scene = Scene::new(|_| {});
    let plan = ApplyPlan {
        writes: vec![scene.write("f", "ours", Expect::Absent)],
        ..ApplyPlan::default()
    };
    fs::write(scene.root().join("f"), "theirs").unwrap();
    let error = scene.apply_and_expect_all_as_before(&plan);
    assert!(is_changed(&error), "{error:?}");
}

#[test]
fn a_directory_swapped_for_a_symlink_is_never_written_through() {
    let mut scene = Scene::new(|root| fs::create_dir(root.join("d")).unwrap());
    let plan = ApplyPlan {
        writes: vec![scene.write("d/f", "ours", Expect::Absent)],
        deletes: vec![],
        ..ApplyPlan::default()
    };
    let outside = scene.temp.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::remove_dir(scene.root().join("d")).unwrap();
    symlink(&outside, scene.root().join("d")).unwrap();
    scene.apply_and_expect_all_as_before(&plan);
    assert!(!outside.join("f").exists());
}

#[test]
fn the_other_name_of_a_hard_link_keeps_its_bytes() {
    let mut scene = Scene::new(build_linked);
    let expect = scene.present("f");
    let plan = ApplyPlan {
        writes: vec![scene.write("f", "new", expect)],
        ..ApplyPlan::default()
    };
    let (temp, ended) = scene.apply(&plan);
    ended.unwrap();
    let read = |name: &str| fs::read_to_string(temp.path().join(name)).unwrap();
    assert_eq!(
        (read("outside"), read("root/f")),
        ("shared".into(), "new".into())
    );
}

#[test]
fn the_mode_of_a_file_with_another_hard_link_is_not_changed() {
    let scene = Scene::new(build_linked);
    let plan = ApplyPlan {
        chmods: vec![(path("f"), 0o600, scene.expect("f"))],
        ..ApplyPlan::default()
    };
    let error = scene.apply_and_expect_all_as_before(&plan);
    assert!(
        !is_changed(&error) && error.problems.is_empty(),
        "{error:?}"
    );
}

#[test]
fn files_directories_and_links_take_each_others_places() {
    for must_fail in [true, false] {
        let mut scene = Scene::new(|root| {
            fs::create_dir_all(root.join("dir/sub")).unwrap();
            fs::write(root.join("dir/sub/f"), "in").unwrap();
            fs::write(root.join("file"), "file").unwrap();
            symlink("file", root.join("link")).unwrap();
        });
        let link = scene.present("link");
        let to_link = WriteStep {
            path: path("dir"),
            staged: scene.stage(Kind::Symlink, 0o777, "dangling"),
            expect: Expect::Absent,
        };
        let below = scene.write("file/below", "b", Expect::Absent);
        let plan = ApplyPlan {
            displaced: vec![scene.removal("dir/sub/f"), scene.removal("file")],
            displaced_dirs: vec![path("dir/sub"), path("dir")],
            make_dirs: vec![(path("file"), 0o755)],
            writes: vec![to_link, below, scene.write("link", "a file", link)],
            // A file, so that the last step of all cannot be done.
            dir_modes: must_fail
                .then(|| (path("link"), 0o700))
                .into_iter()
                .collect(),
            ..ApplyPlan::default()
        };
        if must_fail {
            scene.apply_and_expect_all_as_before(&plan);
            continue;
        }
        let (temp, ended) = scene.apply(&plan);
        ended.unwrap();
        let root = temp.path().join("root");
        assert_eq!(
            fs::read_link(root.join("dir")).unwrap(),
            Path::new("dangling")
        );
        assert_eq!(fs::read_to_string(root.join("file/below")).unwrap(), "b");
        assert!(fs::symlink_metadata(root.join("link")).unwrap().is_file());
    }
}

#[test]
fn a_directory_that_is_not_empty_stays() {
    let scene = Scene::new(|root| {
        fs::create_dir_all(root.join("d/e")).unwrap();
        fs::write(root.join("d/kept"), "x").unwrap();
    });
    let plan = ApplyPlan {
        remove_dirs: vec![path("d/e"), path("d")],
        ..ApplyPlan::default()
    };
    let (temp, ended) = scene.apply(&plan);
    assert_eq!(ended.unwrap(), [path("d")]);
    assert!(temp.path().join("root/d/kept").exists());
    assert!(!temp.path().join("root/d/e").exists());
}

#[cfg(unix)]
#[test]
fn special_bits_of_directories_stay_unless_they_are_asked_for() {
    for (special_bits, expected) in [(false, 0o3755), (true, 0o1755)] {
        let scene = Scene::new(|root| {
            fs::create_dir(root.join("d")).unwrap();
            set_mode(root.join("d"), 0o3700);
        });
        let plan = ApplyPlan {
            dir_modes: vec![(path("d"), 0o1755)],
            special_bits,
            ..ApplyPlan::default()
        };
        let (temp, ended) = scene.apply(&plan);
        ended.unwrap();
        assert_eq!(mode(temp.path().join("root/d")), expected);
    }
}

#[test]
fn a_signal_takes_everything_back() {
    let mut scene = Scene::new(build_some);
    let plan = plan_some(&mut scene);
    let interrupt = Interrupt::default();
    interrupt.set(2);
    let before = scene.picture().len();
    let Scene {
        temp, work, stage, ..
    } = scene;
    let error = apply(&work, stage, &plan, &interrupt).unwrap_err();
    assert!(error.problems.is_empty(), "{error:?}");
    assert_eq!(error.error.code.exit, 130);
    let mut after = Picture::new();
    take_picture(&temp.path().join("root"), &mut after);
    assert_eq!(after.len(), before - 1 - 4); // the stage and the four files in it
}

#[test]
fn more_places_than_are_made_durable_singly() {
    let mut scene = Scene::new(|root| {
        for index in 0..SYNCED_SINGLY + 5 {
            fs::create_dir(root.join(index.to_string())).unwrap();
        }
    });
    let writes = (0..SYNCED_SINGLY + 5)
        .map(|index| scene.write(&format!("{index}/f"), "x", Expect::Absent))
        .collect();
    let (_temp, ended) = scene.apply(&ApplyPlan {
        writes,
        ..ApplyPlan::default()
    });
    ended.unwrap();
}

#[cfg(unix)]
#[test]
fn a_directory_closed_to_its_owner_is_opened_up_for_the_change_alone() {
    for must_fail in [false, true] {
        let mut scene = Scene::new(|root| {
            fs::create_dir_all(root.join("shut/in")).unwrap();
            fs::write(root.join("shut/in/f"), "old").unwrap();
        });
        let expect = scene.present("shut/in/f");
        let mut plan = ApplyPlan {
            writes: vec![scene.write("shut/in/f", "new", expect)],
            ..ApplyPlan::default()
        };
        if must_fail {
            plan.remove_dirs.push(path("shut/in/f"));
        }
        let shut = scene.root().join("shut");
        set_mode(shut.join("in"), 0o000);
        set_mode(&shut, 0o000);
        let Scene {
            temp, work, stage, ..
        } = scene;
        let ended = apply(&work, stage, &plan, &Interrupt::default());
        assert_eq!(ended.is_err(), must_fail);
        assert_eq!(mode(&shut), 0o000);
        set_mode(&shut, 0o700);
        assert_eq!(mode(shut.join("in")), 0o000);
        set_mode(shut.join("in"), 0o700);
        let expected = if must_fail { "old" } else { "new" };
        assert_eq!(fs::read_to_string(shut.join("in/f")).unwrap(), expected);
        drop(temp);
    }
}
