//! Packs that we write, read by plain git; packs that plain git writes, read by us; damage; giving
//! space back.

use std::collections::HashSet;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use checkpoint::model::state::object_id::ObjectId;
use checkpoint::store::gc::repack::{RepackOutcome, repack};
use checkpoint::store::gc::repack_plan::{Effort, RepackPlan, plan, survey};
use checkpoint::store::objects::id_set::ObjectIds;
use checkpoint::store::objects::object_hash::ObjectKind;
use checkpoint::store::objects::odb::{ObjectError, Objects};
use checkpoint::store::objects::pack::pack_list::read_back;
use checkpoint::store::objects::pack::pack_writer::{PackError, PackWriter};
use checkpoint::store::refs::commit_codec;
use checkpoint::store::trees::tree_codec::{
    self, MODE_DIRECTORY, MODE_EXECUTABLE, MODE_FILE, MODE_SYMLINK, TreeEntry,
};

use crate::bench::{given, limit};

struct Repo {
    place: tempfile::TempDir,
}

impl Repo {
    /// A bare repository; `None`, with a printed line, where git is not installed.
    fn new() -> Option<Self> {
        let repo = Self {
            place: tempfile::tempdir().unwrap(),
        };
        if limit::output(Command::new("git").arg("--version")).is_err() {
            crate::bench::skipped("needs git");
            return None;
        }
        repo.git(&["init", "-q", "--bare", "."]);
        Some(repo)
    }

    fn objects_dir(&self) -> PathBuf {
        self.place.path().join("objects")
    }

    fn objects(&self) -> Objects {
        Objects::open(&self.objects_dir()).unwrap()
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new("git");
        command
            .args(args)
            .current_dir(self.place.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap());
        for (key, value) in [
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("HOME", "/nonexistent"),
            ("GIT_DIR", "."),
        ] {
            command.env(key, value);
        }
        for who in ["AUTHOR", "COMMITTER"] {
            command
                .env(format!("GIT_{who}_NAME"), "t")
                .env(format!("GIT_{who}_EMAIL"), "t@t");
        }
        command
    }

    fn git(&self, args: &[&str]) -> Vec<u8> {
        let done = limit::output(&mut self.command(args)).unwrap();
        assert!(
            done.status.success(),
            "git {args:?}: {}",
            String::from_utf8_lossy(&done.stderr)
        );
        done.stdout
    }

    fn git_line(&self, args: &[&str]) -> String {
        String::from_utf8(self.git(args)).unwrap().trim().to_owned()
    }

    /// Asserts that git finds nothing wrong.
    fn check(&self) {
        let done =
            limit::output(&mut self.command(&["fsck", "--full", "--strict", "--no-dangling"]))
                .unwrap();
        let said = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
        let complaints: Vec<_> = said
            .lines()
            .filter(|line| !line.starts_with("notice: "))
            .collect();
        assert!(done.status.success() && complaints.is_empty(), "{said}");
        for index in self.files("idx") {
            self.git(&["verify-pack", index.to_str().unwrap()]);
        }
    }

    fn files(&self, ending: &str) -> Vec<PathBuf> {
        let listing = fs::read_dir(self.objects_dir().join("pack")).unwrap();
        let mut files: Vec<_> = listing.map(|entry| entry.unwrap().path()).collect();
        files.retain(|path| path.extension().is_some_and(|e| e == ending));
        files.sort();
        files
    }

    fn write(&self, blobs: &[Vec<u8>]) -> Vec<ObjectId> {
        let known = self.objects();
        let mut writer = PackWriter::begin(&self.objects_dir(), &known).unwrap();
        let ids = blobs
            .iter()
            .map(|blob| writer.add(ObjectKind::Blob, blob).unwrap())
            .collect();
        writer.finish().unwrap();
        ids
    }

    fn repack(&self, live: &ObjectIds, cheap: bool) -> (RepackPlan, RepackOutcome) {
        let objects = self.objects();
        let survey = survey(&objects, live, &HashSet::new()).unwrap();
        let effort = if cheap { Effort::Cheap } else { Effort::Usual };
        let plan = plan(&survey.facts(), effort);
        let outcome = repack(&objects, &survey, &plan, live, &|| false).unwrap();
        (plan, outcome)
    }

    fn has_all(&self, ids: &ObjectIds) {
        let objects = self.objects();
        for id in ids {
            objects.read(id).unwrap();
        }
    }
}

fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let words = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    });
    words.flatten().take(len).collect()
}

fn blobs(seed: u64, count: u64, len: usize) -> Vec<Vec<u8>> {
    (0..count).map(|at| noise(seed * 1000 + at, len)).collect()
}

fn entry(mode: u32, name: &[u8], id: ObjectId) -> TreeEntry {
    TreeEntry {
        mode,
        name: name.into(),
        id,
    }
}

#[test]
fn plain_git_reads_every_object_of_a_pack_of_ours() {
    let repo = given!(Repo::new());
    let known = repo.objects();
    let mut writer = PackWriter::begin(&repo.objects_dir(), &known).unwrap();
    let mut entries = Vec::new();
    for number in 0..20_000 {
        let content = format!("object {number}\n").repeat(number % 90);
        let id = writer.add(ObjectKind::Blob, content.as_bytes()).unwrap();
        entries.push(entry(MODE_FILE, format!("f{number}").as_bytes(), id));
    }
    let empty = writer.add(ObjectKind::Blob, b"").unwrap();
    let random = noise(1, 20 << 20);
    let text = b"the quick brown fox jumps over the lazy dog 0123\n".repeat((20 << 20) / 49);
    let large = [&random, &text].map(|content| {
        writer
            .add_stream(content.len() as u64, &mut &content[..])
            .unwrap()
    });
    let many = tree_codec::encode(&mut entries);
    let many = writer.add(ObjectKind::Tree, &many).unwrap();
    let mut odd = vec![
        entry(MODE_FILE, b"a0", empty),
        entry(MODE_DIRECTORY, b"a", many),
        entry(MODE_FILE, b"a.b", large[0]),
        entry(MODE_EXECUTABLE, b"\xff\xfe", large[1]),
        entry(MODE_SYMLINK, b"b", empty),
    ];
    let tree = tree_codec::encode(&mut odd);
    let tree = writer.add(ObjectKind::Tree, &tree).unwrap();
    let commit = commit_codec::encode(tree, 1_700_000_000, "hello\n");
    let commit = writer.add(ObjectKind::Commit, &commit).unwrap();
    let stamp = writer.finish().unwrap().unwrap();

    repo.git(&["update-ref", "refs/heads/main", &commit.to_hex()]);
    repo.check();
    assert_eq!(repo.git(&["cat-file", "blob", &large[0].to_hex()]), random);
    assert_eq!(repo.git(&["cat-file", "blob", &large[1].to_hex()]), text);
    assert_eq!(repo.git_line(&["rev-parse", "main^{tree}"]), tree.to_hex());
    let listed = repo.git_line(&["ls-tree", "-r", "main", "a"]);
    assert_eq!(listed.lines().count(), 20_000);
    // Text shrinks, and random bytes hardly grow.
    assert!(stamp.size_bytes < 24 << 20, "{}", stamp.size_bytes);

    let fresh = repo.objects();
    let found = fresh.read(&large[0]).unwrap();
    assert_eq!(found, (ObjectKind::Blob, random.clone()));
    let mut streamed = Vec::new();
    let found = fresh.stream_blob(&large[1], &mut streamed).unwrap();
    assert_eq!(found, text.len() as u64);
    assert_eq!(streamed, text);
    assert_eq!(fresh.commits(), [commit]);
    assert_eq!(fresh.by_prefix(&commit.to_hex()[..12]), [commit]);
    assert_eq!(fresh.packs(), [stamp]);
    let again = repo.write(&[b"".to_vec(), random]);
    let found = (again, repo.files("pack").len());
    assert_eq!(found, (vec![empty, large[0]], 1));
}

#[test]
fn a_pack_is_private_and_an_empty_one_leaves_nothing() {
    let repo = given!(Repo::new());
    repo.write(&[]);
    let known = repo.objects();
    let mut dropped = PackWriter::begin(&repo.objects_dir(), &known).unwrap();
    dropped.add(ObjectKind::Blob, &noise(3, 12 << 20)).unwrap();
    drop(dropped);
    assert_eq!(
        fs::read_dir(repo.objects_dir().join("pack"))
            .unwrap()
            .count(),
        0
    );
    repo.write(&[b"x".to_vec()]);
    #[cfg(unix)]
    for path in repo.files("pack").iter().chain(&repo.files("idx")) {
        use crate::bench::os::PermissionsExt as _;
        let found = fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(found, 0o600);
    }
}

#[test]
fn a_reader_that_ends_early_costs_only_its_own_object() {
    let repo = given!(Repo::new());
    let known = repo.objects();
    let mut writer = PackWriter::begin(&repo.objects_dir(), &known).unwrap();
    let before = writer.add(ObjectKind::Blob, b"before").unwrap();
    for len in [100, 30 << 20] {
        let answer = writer.add_stream(len, &mut std::io::repeat(7).take(len - 1));
        assert!(matches!(answer, Err(PackError::Source(_))));
    }
    let mut sevens = || {
        let added = writer.add_stream(30 << 20, &mut std::io::repeat(7));
        added.unwrap()
    };
    let twice = [sevens(), sevens()];
    assert_eq!((twice[0], writer.new_object_count()), (twice[1], 2));
    writer.finish().unwrap().unwrap();
    repo.check();
    assert_eq!(repo.objects().read(&before).unwrap().1, b"before");
    assert_eq!(repo.objects().size(&twice[0]).unwrap(), 30 << 20);
}

/// Twenty versions of a file, packed by git with deltas, and one more that stays loose.
fn repo_of_git() -> Option<(Repo, Vec<String>)> {
    let repo = Repo::new()?;
    let mut versions = Vec::new();
    for version in 0..21 {
        let text = (0..2000).map(|line| format!("line {line} of {}\n", u8::from(line == version)));
        let text = text.collect::<Vec<_>>().concat();
        let path = repo.place.path().join("scratch");
        fs::write(&path, &text).unwrap();
        let blob = repo.git_line(&["hash-object", "-w", path.to_str().unwrap()]);
        let entry = format!("100644 blob {blob}\tf\n");
        let made = limit::output_fed(&mut repo.command(&["mktree"]), entry.as_bytes()).unwrap();
        let tree = String::from_utf8(made.stdout).unwrap();
        let commit = repo.git_line(&["commit-tree", "-m", "x", tree.trim()]);
        repo.git(&["update-ref", &format!("refs/checkpoints/{commit}"), &commit]);
        versions.push(blob);
        if version == 19 {
            repo.git(&["gc", "-q"]);
        }
    }
    Some((repo, versions))
}

fn reachable(repo: &Repo) -> ObjectIds {
    let listed = repo.git_line(&["rev-list", "--objects", "--all"]);
    listed
        .lines()
        .map(|line| ObjectId::from_hex(&line[..40]).unwrap())
        .collect()
}

#[test]
fn deltas_and_loose_objects_of_git_are_read_and_repacked() {
    let (repo, versions) = given!(repo_of_git());
    let verified = repo.git_line(&["verify-pack", "-v", repo.files("idx")[0].to_str().unwrap()]);
    assert!(verified.contains("chain length"), "git made no delta");
    let objects = repo.objects();
    for hex in &versions {
        let id = ObjectId::from_hex(hex).unwrap();
        let content = repo.git(&["cat-file", "blob", hex]);
        assert_eq!(objects.size(&id).unwrap(), content.len() as u64);
        let mut streamed = Vec::new();
        objects.stream_blob(&id, &mut streamed).unwrap();
        let found = (objects.read(&id).unwrap().1, objects.contains(&id));
        assert_eq!(found, (content, true));
    }
    assert_eq!(objects.commits().len(), 21);

    let live = reachable(&repo);
    let (_, outcome) = repo.repack(&live, false);
    assert_eq!((outcome.loose_removed, outcome.no_space), (3, None));
    repo.has_all(&live);
    repo.check();
}

#[test]
fn an_object_that_two_packs_hold_as_a_delta_survives_their_merge() {
    let (repo, _) = given!(repo_of_git());
    repo.git(&["gc", "-q"]);
    let live = reachable(&repo);
    let copy = tempfile::tempdir().unwrap();
    let pack = repo.files("pack")[0].clone();
    fs::copy(&pack, copy.path().join("p.pack")).unwrap();
    fs::copy(pack.with_extension("idx"), copy.path().join("p.idx")).unwrap();
    fs::copy(
        copy.path().join("p.pack"),
        pack.with_file_name("pack-0.pack"),
    )
    .unwrap();
    fs::copy(copy.path().join("p.idx"), pack.with_file_name("pack-0.idx")).unwrap();
    repo.repack(&live, false);
    repo.has_all(&live);
    repo.repack(&live, true);
    repo.has_all(&live);
    repo.check();
}

#[test]
fn half_of_the_objects_go_and_the_rest_stays_readable() {
    let repo = given!(Repo::new());
    let mut live = ObjectIds::default();
    for seed in 0..6 {
        let ids = repo.write(&blobs(seed, 40, 20_000));
        match seed {
            0 => {}
            1 => live.extend(&ids[..30]),
            _ => live.extend(&ids[..20]),
        }
    }
    let large = repo.write(&blobs(50, 40, 200_000));
    live.extend(&large[..10]);
    let keep = repo.write(&blobs(60, 40, 200_000));
    live.extend(&keep);
    let (plan, outcome) = repo.repack(&live, false);
    assert_eq!(
        (
            plan.drop.len(),
            plan.merge.iter().flatten().count(),
            plan.keep.len()
        ),
        (1, 6, 1)
    );
    assert_eq!((outcome.packs_before, outcome.packs_after), (8, 2));
    assert!(
        outcome.bytes_after < outcome.bytes_before * 6 / 10,
        "{outcome:?}"
    );
    repo.has_all(&live);
    repo.check();
    assert!(!repo.objects().contains(&large[39]));
    let (again, _) = repo.repack(&live, false);
    assert!(again.keeps_all_packs(), "{again:?}");
}

#[test]
fn copies_in_two_packs_become_one_and_a_damaged_copy_is_not_the_one_that_stays() {
    let repo = given!(Repo::new());
    let many = blobs(1, 60, 50_000);
    let ids = repo.write(&many);
    let first = repo.files("pack")[0].clone();
    let mut damaged = fs::read(&first).unwrap();
    damaged[30_000] ^= 1;
    fs::write(&first, &damaged).unwrap();
    repo.write(&many);
    let packs = repo.files("pack").len();
    assert_eq!(packs, 2, "only the damaged object was written again");
    let live = ids.iter().copied().collect();
    repo.has_all(&live);
    repo.repack(&live, false);
    repo.has_all(&live);
    repo.write(&[many[7].clone()]);
    repo.has_all(&live);
}

#[test]
fn nothing_goes_while_a_live_object_cannot_be_read() {
    let repo = given!(Repo::new());
    let dead = repo.write(&blobs(1, 3, 5000));
    let ids = repo.write(&blobs(2, 3, 5000));
    let mut live: ObjectIds = ids.iter().copied().collect();
    let before = repo.files("pack");
    let torn = ObjectId::from_bytes([7; 20]);
    live.insert(torn);
    let loose = repo.objects_dir().join("07");
    fs::create_dir_all(&loose).unwrap();
    fs::write(loose.join(&torn.to_hex()[2..]), b"torn").unwrap();
    let objects = repo.objects();
    let found = survey(&objects, &live, &HashSet::new()).unwrap();
    assert_eq!(found.unclaimed.len(), 1);
    let planned = plan(&found.facts(), Effort::Usual);
    assert!(repack(&objects, &found, &planned, &live, &|| false).is_err());
    assert_eq!(repo.files("pack"), before);
    assert!(repo.objects().contains(&dead[0]));
    fs::remove_dir_all(&loose).unwrap();
    objects.refresh().unwrap();
    let found = survey(&objects, &live, &HashSet::new()).unwrap();
    assert!(
        found.unclaimed.is_empty(),
        "what is nowhere is no worse off"
    );

    let stopped = survey(&objects, &ids.iter().copied().collect(), &HashSet::new()).unwrap();
    let cheap = RepackPlan {
        merge: vec![stopped.facts().iter().map(|f| f.name.clone()).collect()],
        ..Default::default()
    };
    let outcome = repack(&objects, &stopped, &cheap, &live, &|| true).unwrap();
    assert!(outcome.stopped && repo.files("pack") == before);
}

fn damage(path: &Path, how: &str) {
    let good = fs::read(path).unwrap();
    let bad = match how {
        "empty" => Vec::new(),
        "half" => good[..good.len() / 2].to_vec(),
        "nul" => vec![0; good.len()],
        "garbage" => noise(9, good.len()),
        _ => {
            let mut bad = good.clone();
            let middle = good.len() / 2;
            bad[middle] ^= 0x55;
            bad
        }
    };
    fs::write(path, bad).unwrap();
}

#[test]
fn damage_to_one_pack_hides_nothing_in_the_others() {
    for ending in ["pack", "idx"] {
        for how in ["empty", "half", "nul", "garbage", "flip"] {
            let repo = given!(Repo::new());
            let many = blobs(1, 20, 3000);
            let ids = repo.write(&many);
            let victim = repo.files(ending)[0].clone();
            let others = repo.write(&blobs(2, 20, 3000));
            damage(&victim, how);
            let objects = repo.objects();
            for id in &others {
                let read = objects.read(id);
                read.unwrap_or_else(|cause| panic!("{ending} {how}: {cause}"));
            }
            let lost = ids.iter().filter_map(|id| objects.read(id).err());
            let lost: Vec<_> = lost.collect();
            assert!(!lost.iter().any(|why| matches!(why, ObjectError::Io(_))));
            let count = lost.len();
            // A lost index costs nothing.
            assert!(ending != "idx" || count == 0, "{how}: {count}");
            assert!(
                ending == "idx" || how == "flip" || count >= 9,
                "{how}: {count}"
            );
            let packs = objects.pack_list();
            let is_noticed = count > 0 || packs.iter().any(|pack| pack.check_frame().is_err());
            assert!(is_noticed, "{ending} {how}");
            assert_eq!(repo.write(&many), ids);
            repo.has_all(&ids.iter().copied().collect());
            let live = ids.iter().copied().collect();
            let survey = survey(&repo.objects(), &live, &HashSet::new()).unwrap();
            let dropped = plan(&survey.facts(), Effort::Usual).drop;
            let victim = victim.to_str().unwrap();
            assert!(!dropped.iter().any(|name| victim.contains(name)));
        }
    }
}

#[test]
fn a_truncated_loose_object_is_written_anew() {
    let repo = given!(Repo::new());
    let path = repo.place.path().join("scratch");
    fs::write(&path, b"content\n").unwrap();
    let hex = repo.git_line(&["hash-object", "-w", path.to_str().unwrap()]);
    let id = ObjectId::from_hex(&hex).unwrap();
    let loose = repo.objects_dir().join(&hex[..2]).join(&hex[2..]);
    assert_eq!(repo.objects().read(&id).unwrap().1, b"content\n");
    let whole = fs::read(&loose).unwrap();
    fs::remove_file(&loose).unwrap();
    fs::write(&loose, b"").unwrap();
    assert!(matches!(
        repo.objects().read(&id),
        Err(ObjectError::Corrupt { .. })
    ));
    // Truncated in the middle, where libgit2 does not terminate.
    fs::write(&loose, &whole[..whole.len() / 2]).unwrap();
    assert!(matches!(
        repo.objects().read(&id),
        Err(ObjectError::Corrupt { .. })
    ));
    repo.write(&[b"content\n".to_vec()]);
    assert_eq!(repo.objects().read(&id).unwrap().1, b"content\n");
    repo.repack(&[id].into_iter().collect(), false);
    assert!(!loose.exists());
    repo.check();
}

#[test]
fn a_reader_finds_what_was_packed_after_it_looked() {
    let repo = given!(Repo::new());
    let early = repo.objects();
    let ids = repo.write(&blobs(1, 3, 100));
    assert!(early.contains(&ids[0]));
    assert!(matches!(
        early.read(&ObjectId::from_bytes([9; 20])),
        Err(ObjectError::Missing(_))
    ));
    repo.write(&blobs(2, 3, 100));
    early.refresh().unwrap();
    repo.repack(&ids.iter().copied().collect(), false);
    assert_eq!(early.read(&ids[1]).unwrap().1, noise(1001, 100));
    assert_eq!(
        early
            .pack_list()
            .iter()
            .filter(|pack| read_back(pack).is_ok())
            .count(),
        1
    );
}

#[test]
fn several_packs_can_be_written_at_once() {
    let repo = given!(Repo::new());
    let (known, objects_dir) = (repo.objects(), repo.objects_dir());
    std::thread::scope(|scope| {
        for worker in 0..3 {
            let (known, objects_dir) = (&known, &objects_dir);
            scope.spawn(move || {
                let mut writer = PackWriter::begin(objects_dir, known).unwrap();
                for blob in blobs(worker, 300, 50_000) {
                    writer.add(ObjectKind::Blob, &blob).unwrap();
                }
                writer.add(ObjectKind::Blob, b"in all of them").unwrap();
                writer.finish().unwrap();
            });
        }
    });
    repo.check();
    let listed = repo.objects().by_prefix("");
    assert_eq!((repo.files("pack").len(), listed.len()), (3, 901));
    repo.repack(&listed.iter().copied().collect(), false);
    repo.has_all(&listed.into_iter().collect());
}

#[test]
fn a_store_that_borrows_objects_is_refused() {
    let repo = given!(Repo::new());
    fs::write(repo.objects_dir().join("info/alternates"), "/elsewhere\n").unwrap();
    assert!(Objects::open(&repo.objects_dir()).is_err());
}
