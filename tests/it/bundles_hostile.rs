//! Bundles that others made by hand: each is refused whole, in words, with little memory.

use std::path::PathBuf;

use checkpoint::store::objects::object_hash::{ObjectKind, hash_object, trailer_of};

use crate::bench::{Run, Sandbox};

/// A pack in the making, entry by entry.
#[derive(Default)]
struct Pack {
    entries: Vec<Vec<u8>>,
}

/// The header of an entry: kind and size, seven bits at a time after the first four.
fn entry_header(kind: u8, mut size: u64) -> Vec<u8> {
    let mut header = vec![kind << 4 | low_bits(size & 15)];
    size >>= 4;
    while size > 0 {
        let last = header.len() - 1;
        header[last] |= 0x80;
        header.push(low_bits(size));
        size >>= 7;
    }
    header
}

fn bytes_of(id: &str) -> Vec<u8> {
    let digits = |at: usize| &id[2 * at..2 * at + 2];
    (0..20)
        .map(|at| u8::from_str_radix(digits(at), 16).expect("hex digits"))
        .collect()
}

/// The lowest seven bits of a number.
fn low_bits(number: u64) -> u8 {
    u8::try_from(number & 0x7f).expect("seven bits")
}

/// A zlib stream of stored blocks.
fn stored(content: &[u8]) -> Vec<u8> {
    let mut stream = vec![0x78, 1];
    let mut blocks = content.chunks(60_000).peekable();
    if content.is_empty() {
        stream.extend([1, 0, 0, 0xff, 0xff]);
    }
    while let Some(block) = blocks.next() {
        let len = u16::try_from(block.len()).expect("a short block");
        stream.push(u8::from(blocks.peek().is_none()));
        stream.extend(len.to_le_bytes());
        stream.extend((!len).to_le_bytes());
        stream.extend(block);
    }
    let (mut a, mut b) = (1_u32, 0_u32);
    for byte in content {
        a = (a + u32::from(*byte)) % 65_521;
        b = (b + a) % 65_521;
    }
    stream.extend((b << 16 | a).to_be_bytes());
    stream
}

impl Pack {
    fn add(&mut self, kind: ObjectKind, content: &[u8]) -> String {
        let number = match kind {
            ObjectKind::Commit => 1,
            ObjectKind::Tree => 2,
            ObjectKind::Blob => 3,
            ObjectKind::Tag => 4,
        };
        let mut entry = entry_header(number, content.len() as u64);
        entry.extend(stored(content));
        self.entries.push(entry);
        hash_object(kind, content).expect("no collision").to_hex()
    }

    fn tree(&mut self, entries: &[(&str, &str, &str)]) -> String {
        let mut tree = Vec::new();
        for (mode, name, id) in entries {
            tree.extend(format!("{mode} {name}\0").bytes());
            tree.extend(bytes_of(id));
        }
        self.add(ObjectKind::Tree, &tree)
    }

    fn commit(&mut self, tree: &str, trailers: &[(&str, &str)]) -> String {
        let usual = [
            ("Checkpoint-Format", "1"),
            ("Sequence", "7"),
            ("Time-Ms", "1774353600000"),
            ("Kind", "checkpoint"),
            ("Coverage", "complete"),
            ("Files", "1"),
            ("Bytes", "1"),
            ("Reason", "made"),
            ("Source", "cli"),
            ("Meta", "none"),
        ];
        let value = |(key, usual): &(&str, &str)| {
            let other = trailers.iter().find(|(other, _)| other == key);
            format!("{key}: {}\n", other.map_or(*usual, |(_, value)| value))
        };
        let lines: String = usual.iter().map(value).collect();
        let who = "checkpoint <checkpoint@localhost> 1774353600 +0000";
        self.add(
            ObjectKind::Commit,
            format!(
                "tree {tree}\nauthor {who}\ncommitter {who}\n\n\
                 made | 2026-03-24 12:00:00 | cli\n\n{lines}"
            )
            .as_bytes(),
        )
    }

    fn bundle(&self, refs: &str) -> Vec<u8> {
        let mut pack = b"PACK\0\0\0\x02".to_vec();
        let count = u32::try_from(self.entries.len()).expect("few");
        pack.extend(count.to_be_bytes());
        pack.extend(self.entries.concat());
        let trailer = trailer_of(&pack);
        pack.extend(trailer);
        let mut bundle = format!("# v2 git bundle\n{refs}\n").into_bytes();
        bundle.extend(pack);
        bundle
    }
}

fn import(sandbox: &Sandbox, bundle: &[u8]) -> Run {
    let file: PathBuf = sandbox.top().join("made.bundle");
    sandbox.write(&file, bundle);
    sandbox.run(&["import", file.to_str().expect("a plain path")])
}

#[track_caller]
fn assert_refused(sandbox: &Sandbox, bundle: &[u8], why: &str) {
    let run = import(sandbox, bundle).code(6);
    assert!(run.stderr.contains(why), "not '{why}':\n{run}");
    assert!(run.stderr.contains("nothing of it was added"), "{run}");
    assert_eq!(sandbox.listed_ids(), [""; 0], "{run}");
    sandbox.ok("verify --full");
}

fn named(id: &str) -> String {
    format!("{id} refs/checkpoints/{id}\n")
}

#[test]
fn a_bundle_made_by_hand_is_taken() {
    let (sandbox, mut pack) = (Sandbox::new(), Pack::default());
    let blob = pack.add(ObjectKind::Blob, b"x");
    let tree = pack.tree(&[("100644", "file", &blob)]);
    let id = pack.commit(&tree, &[]);
    import(&sandbox, &pack.bundle(&named(&id))).success();
    sandbox.restore("made").success();
    assert_eq!(sandbox.read("file"), "x");
}

#[test]
fn forbidden_names_in_a_tree_are_refused() {
    for name in [".git", ".GIT", "git~1", "..", ".", "", "a/b", "/etc"] {
        let (sandbox, mut pack) = (Sandbox::new(), Pack::default());
        let blob = pack.add(ObjectKind::Blob, b"x");
        let below = pack.tree(&[("100644", name, &blob)]);
        let tree = pack.tree(&[("40000", "d", &below)]);
        let id = pack.commit(&tree, &[]);
        assert_refused(&sandbox, &pack.bundle(&named(&id)), "forbidden name");
    }
    let (sandbox, mut pack) = (Sandbox::new(), Pack::default());
    let blob = pack.add(ObjectKind::Blob, b"x");
    let tree = pack.tree(&[("100644", "a", &blob), ("100644", "a", &blob)]);
    let id = pack.commit(&tree, &[]);
    assert_refused(&sandbox, &pack.bundle(&named(&id)), "out of order");
}

#[test]
fn what_is_missing_or_of_another_kind_is_refused() {
    let nowhere = "1234567890123456789012345678901234567890";
    let (sandbox, mut pack) = (Sandbox::new(), Pack::default());
    let tree = pack.tree(&[("100644", "file", nowhere)]);
    let id = pack.commit(&tree, &[]);
    assert_refused(&sandbox, &pack.bundle(&named(&id)), "file: ");

    let mut pack = Pack::default();
    let blob = pack.add(ObjectKind::Blob, b"x");
    let id = pack.commit(&blob, &[]);
    assert_refused(&sandbox, &pack.bundle(&named(&id)), "damaged");
    assert_refused(&sandbox, &pack.bundle(&named(&blob)), "damaged");
    assert_refused(&sandbox, &pack.bundle(&named(nowhere)), "damaged");

    let mut pack = Pack::default();
    let tree = pack.tree(&[]);
    let id = pack.commit(&tree, &[("Meta", nowhere)]);
    assert_refused(&sandbox, &pack.bundle(&named(&id)), "its meta");
}

#[test]
fn what_would_block_the_store_for_ever_is_refused() {
    for (key, value, why) in [
        ("Checkpoint-Format", "99", "newer program"),
        ("Sequence", "18446744073709551615", "absurd"),
        ("Sequence", "-1", "damaged"),
        ("Coverage", "none", "damaged"),
    ] {
        let (sandbox, mut pack) = (Sandbox::new(), Pack::default());
        let tree = pack.tree(&[]);
        let id = pack.commit(&tree, &[(key, value)]);
        assert_refused(&sandbox, &pack.bundle(&named(&id)), why);
        sandbox.write("a", "a");
        sandbox.create("afterwards");
    }
}

#[test]
fn refs_that_are_none_of_checkpoints_are_refused() {
    let (sandbox, mut pack) = (Sandbox::new(), Pack::default());
    let tree = pack.tree(&[]);
    let id = pack.commit(&tree, &[]);
    for name in [
        "--upload-pack=touch x",
        "refs/heads/other",
        "refs/checkpoints/../../../x",
        "refs/workflows/../../x",
        "refs/remotes/origin/main",
    ] {
        let refs = format!("{id} {name}\n");
        assert_refused(&sandbox, &pack.bundle(&refs), "none of checkpoints");
    }
    let run = format!("{id} refs/workflows/run\n");
    assert_refused(&sandbox, &pack.bundle(&run), "its workflow run is damaged");
}

#[test]
fn few_bytes_that_become_many_are_refused_by_their_header() {
    let sandbox = Sandbox::new();
    // The start of a delta says what it would make of a base.
    let mut pack = Pack::default();
    let base = pack.add(ObjectKind::Blob, b"x");
    let mut instructions = size(1);
    instructions.extend(size(4 << 30));
    let mut entry = entry_header(7, instructions.len() as u64);
    entry.extend(bytes_of(&base));
    entry.extend(stored(&instructions));
    pack.entries.push(entry);
    let refs = named("1234567890123456789012345678901234567890");
    assert_refused(&sandbox, &pack.bundle(&refs), "bytes of memory");

    let mut pack = Pack::default();
    let mut tree = entry_header(2, 1 << 30);
    tree.extend(stored(b"x"));
    pack.entries.push(tree);
    assert_refused(&sandbox, &pack.bundle(&refs), "bytes of memory");
}

/// A size as deltas write it.
fn size(mut size: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while size > 0x7f {
        bytes.push(0x80 | low_bits(size));
        size >>= 7;
    }
    bytes.push(low_bits(size));
    bytes
}

#[test]
fn a_few_trees_that_stand_for_more_files_than_any_disk_holds_are_refused() {
    let sandbox = Sandbox::new();
    let mut pack = Pack::default();
    let blob = pack.add(ObjectKind::Blob, b"x");
    let names: Vec<String> = (0..10).map(|at| at.to_string()).collect();
    let level = |pack: &mut Pack, mode: &str, id: &str| {
        let entries: Vec<_> = names.iter().map(|name| (mode, name.as_str(), id)).collect();
        pack.tree(&entries)
    };
    let mut tree = level(&mut pack, "100644", &blob);
    for _ in 0..9 {
        tree = level(&mut pack, "40000", &tree);
    }
    let id = pack.commit(&tree, &[]);
    assert_refused(&sandbox, &pack.bundle(&named(&id)), "over 4000000 entries");

    let mut pack = Pack::default();
    let mut tree = pack.tree(&[]);
    for _ in 0..3000 {
        tree = pack.tree(&[("40000", "d", &tree)]);
    }
    let id = pack.commit(&tree, &[]);
    assert_refused(&sandbox, &pack.bundle(&named(&id)), "2000 levels");
}

#[test]
fn what_lies_beside_the_files_is_checked_too() {
    let nowhere = "1234567890123456789012345678901234567890";
    let (sandbox, mut pack) = (Sandbox::new(), Pack::default());
    let tree = pack.tree(&[]);
    let meta = pack.add(ObjectKind::Blob, b"checkpoint-meta 1\n");
    let beside = pack.tree(&[("100644", "meta", &meta), ("40000", "zzz", nowhere)]);
    let id = pack.commit(&tree, &[("Meta", &beside)]);
    assert_refused(&sandbox, &pack.bundle(&named(&id)), "beside its files");
}

#[test]
fn refs_that_lead_nowhere_or_stand_there_twice_are_refused() {
    let nowhere = "1234567890123456789012345678901234567890";
    let (sandbox, mut pack) = (Sandbox::new(), Pack::default());
    let tree = pack.tree(&[]);
    let id = pack.commit(&tree, &[]);
    for ref_of_it in [
        format!("{nowhere} refs/pins/{nowhere}\n"),
        format!("{tree} refs/meta/{id}\n"),
        format!("{nowhere} refs/origin/a/b\n"),
    ] {
        let refs = named(&id) + &ref_of_it;
        assert_refused(&sandbox, &pack.bundle(&refs), "leads nowhere");
    }
    let twice = named(&id).repeat(2);
    assert_refused(&sandbox, &pack.bundle(&twice), "a ref twice");
    let two = format!("{id} refs/origin/a/b\n{id} refs/origin/a/c\n");
    assert_refused(&sandbox, &pack.bundle(&(named(&id) + &two)), "two origins");
    let other = format!("{id} refs/origin/a/b_c\n");
    assert_refused(
        &sandbox,
        &pack.bundle(&(named(&id) + &other)),
        "none of checkpoints",
    );
}

#[test]
fn the_state_of_a_workflow_is_read_before_it_is_taken() {
    let state = |pack: &mut Pack, content: &[u8]| {
        let blob = pack.add(ObjectKind::Blob, content);
        let tree = pack.tree(&[("100644", "state.json", &blob)]);
        let who = "checkpoint <checkpoint@localhost> 1774353600 +0000";
        let text = format!(
            "tree {tree}\nauthor {who}\ncommitter {who}\n\nbegun\n\n\
             Workflow: run\nTime-Ms: 1774353600000\nWorkflow-Format: 1\n"
        );
        pack.add(ObjectKind::Commit, text.as_bytes())
    };
    for content in [&b"junk"[..], b"", b"{}", br#"{"id": "../../evil"}"#] {
        let (sandbox, mut pack) = (Sandbox::new(), Pack::default());
        let tip = state(&mut pack, content);
        let refs = format!("{tip} refs/workflows/run\n");
        assert_refused(&sandbox, &pack.bundle(&refs), "its workflow run is damaged");
    }
}

#[test]
fn what_does_not_begin_as_a_bundle_makes_no_store() {
    let sandbox = Sandbox::new();
    import(&sandbox, b"root:x:0:0\n").code(6);
    assert!(!sandbox.store().exists());
}

#[test]
fn what_is_no_bundle_is_refused_in_words() {
    let sandbox = Sandbox::new();
    let whole = Pack::default().bundle("");
    let said = import(&sandbox, &whole).success();
    assert!(said.stdout.starts_with("Imported 0 checkpoints"), "{said}");
    for (bytes, why) in [
        (&b""[..], "does not begin as a git bundle"),
        (b"# v3 git bundle\n", "does not begin as a git bundle"),
        (b"# v2 git bundle\n", "cut short"),
        (b"# v2 git bundle\n\n", "the pack has only 0 bytes"),
        (b"# v2 git bundle\r\n\r\n", "does not begin as a git bundle"),
    ] {
        assert_refused(&sandbox, bytes, why);
    }
    let absurd = "253402300800000";
    let mut pack = Pack::default();
    let tree = pack.tree(&[]);
    let id = pack.commit(&tree, &[("Time-Ms", absurd)]);
    assert_refused(&sandbox, &pack.bundle(&named(&id)), "absurd time");
    let mut longer = whole;
    longer.push(0);
    assert_refused(&sandbox, &longer, "pack");
    sandbox.fails(1, "import nowhere");
    sandbox.fails(1, "import .");
}

/// A good checkpoint, and one that no store can restore.
#[test]
fn one_bad_checkpoint_does_not_bar_the_others() {
    type Make = fn(&mut Pack) -> String;
    let bad: [(&str, Make); 5] = [
        ("over 255", |pack| {
            let blob = pack.add(ObjectKind::Blob, b"y");
            let tree = pack.tree(&[("100644", &"x".repeat(300), &blob)]);
            pack.commit(&tree, &[])
        }),
        ("2000 levels", |pack| {
            let mut tree = pack.tree(&[]);
            for _ in 0..2010 {
                tree = pack.tree(&[("40000", "d", &tree)]);
            }
            pack.commit(&tree, &[])
        }),
        ("makes no sense", |pack| {
            let (tree, blob) = (pack.tree(&[]), pack.add(ObjectKind::Blob, b"y"));
            let meta = pack.add(ObjectKind::Blob, b"checkpoint-meta 1\n");
            let databases = pack.tree(&[("100644", "file:..%2Foutside%2Fdb", &blob)]);
            let beside = pack.tree(&[
                ("40000", "databases", &databases),
                ("100644", "meta", &meta),
            ]);
            pack.commit(&tree, &[("Meta", &beside)])
        }),
        ("the state is not JSON", |pack| {
            let (tree, blob) = (pack.tree(&[]), pack.add(ObjectKind::Blob, b"{"));
            let meta = pack.add(ObjectKind::Blob, b"checkpoint-meta 1\n");
            let beside = pack.tree(&[("100644", "meta", &meta), ("100644", "state.json", &blob)]);
            pack.commit(&tree, &[("Meta", &beside)])
        }),
        ("absurd time", |pack| {
            let tree = pack.tree(&[]);
            pack.commit(&tree, &[("Time-Ms", "253402300800000")])
        }),
    ];
    for (why, make) in bad {
        let (sandbox, mut pack) = (Sandbox::new(), Pack::default());
        let blob = pack.add(ObjectKind::Blob, b"x");
        let tree = pack.tree(&[("100644", "file", &blob)]);
        let good = pack.commit(&tree, &[]);
        let id = make(&mut pack);
        let run = import(&sandbox, &pack.bundle(&(named(&good) + &named(&id)))).code(5);
        run.stderr_has(&format!("checkpoint {} was left out", &id[..8]))
            .stderr_has(why)
            .stdout_has("Imported 1 checkpoint");
        assert_eq!(sandbox.listed_ids(), [&good[..8]]);
        sandbox.ok("verify --full");
    }
}
