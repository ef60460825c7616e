//! Bundles that others made by hand: each is refused whole, in words, with little memory.

use std::path::PathBuf;

use checkpoint::store::objects::object_hash::{ObjectKind, hash_object, trailer_of};

use crate::bench::{Run, Sandbox};

const WHO: &str = "checkpoint <checkpoint@localhost> 1774353600 +0000";

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

    /// A tree of one file.
    fn tree_of(&mut self, name: &str, content: &[u8]) -> String {
        let blob = self.add(ObjectKind::Blob, content);
        self.tree(&[("100644", name, &blob)])
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
        let text = format!(
            "tree {tree}\nauthor {WHO}\ncommitter {WHO}\n\n\
             made | 2026-03-24 12:00:00 | cli\n\n{lines}"
        );
        self.add(ObjectKind::Commit, text.as_bytes())
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

/// Asserts that a bundle is refused whole, whose pack and refs are made so.
#[track_caller]
fn refused(why: &str, make: impl FnOnce(&mut Pack) -> String) {
    let mut pack = Pack::default();
    let refs = make(&mut pack);
    assert_refused(&Sandbox::new(), &pack.bundle(&refs), why);
}

const NOWHERE: &str = "1234567890123456789012345678901234567890";

#[test]
fn a_bundle_made_by_hand_is_taken() {
    let (sandbox, mut pack) = (Sandbox::new(), Pack::default());
    let tree = pack.tree_of("file", b"x");
    let id = pack.commit(&tree, &[]);
    import(&sandbox, &pack.bundle(&named(&id))).success();
    sandbox.restore("made").success();
    assert_eq!(sandbox.read("file"), "x");
}

#[test]
fn forbidden_names_in_a_tree_are_refused() {
    for name in [".git", ".GIT", "git~1", "..", ".", "", "a/b", "/etc"] {
        refused("forbidden name", |pack| {
            let below = pack.tree_of(name, b"x");
            let tree = pack.tree(&[("40000", "d", &below)]);
            named(&pack.commit(&tree, &[]))
        });
    }
    refused("out of order", |pack| {
        let blob = pack.add(ObjectKind::Blob, b"x");
        let tree = pack.tree(&[("100644", "a", &blob), ("100644", "a", &blob)]);
        named(&pack.commit(&tree, &[]))
    });
}

#[test]
fn what_is_missing_or_of_another_kind_is_refused() {
    refused("file: ", |pack| {
        let tree = pack.tree(&[("100644", "file", NOWHERE)]);
        named(&pack.commit(&tree, &[]))
    });
    for which in 0..3 {
        refused("damaged", |pack| {
            let blob = pack.add(ObjectKind::Blob, b"x");
            let id = pack.commit(&blob, &[]);
            named([&*id, &*blob, NOWHERE][which])
        });
    }
    refused("its meta", |pack| {
        let tree = pack.tree(&[]);
        named(&pack.commit(&tree, &[("Meta", NOWHERE)]))
    });
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

/// Rows of refs, with ID for a sound checkpoint and TREE for its tree, and why they are refused.
#[test]
fn refs_that_are_none_of_checkpoints_lead_nowhere_or_stand_there_twice_are_refused() {
    for (refs, why) in [
        ("ID --upload-pack=touch x", "none of checkpoints"),
        ("ID refs/heads/other", "none of checkpoints"),
        ("ID refs/checkpoints/../../../x", "none of checkpoints"),
        ("ID refs/workflows/../../x", "none of checkpoints"),
        ("ID refs/remotes/origin/main", "none of checkpoints"),
        ("GOOD\nID refs/origin/a/b_c", "none of checkpoints"),
        ("ID refs/workflows/run", "its workflow run is damaged"),
        ("GOOD\nNOWHERE refs/pins/NOWHERE", "leads nowhere"),
        ("GOOD\nTREE refs/meta/ID", "leads nowhere"),
        ("GOOD\nNOWHERE refs/origin/a/b", "leads nowhere"),
        ("GOOD\nGOOD", "a ref twice"),
        (
            "GOOD\nID refs/origin/a/b\nID refs/origin/a/c",
            "two origins",
        ),
    ] {
        refused(why, |pack| {
            let tree = pack.tree(&[]);
            let id = pack.commit(&tree, &[]);
            let refs = refs.replace("GOOD", "ID refs/checkpoints/ID");
            let refs = refs.replace("ID", &id).replace("TREE", &tree);
            refs.replace("NOWHERE", NOWHERE) + "\n"
        });
    }
}

#[test]
fn few_bytes_that_become_many_are_refused_by_their_header() {
    // The start of a delta says what it would make of a base.
    refused("bytes of memory", |pack| {
        let base = pack.add(ObjectKind::Blob, b"x");
        let instructions = [size(1), size(4 << 30)].concat();
        let mut entry = entry_header(7, instructions.len() as u64);
        entry.extend(bytes_of(&base));
        entry.extend(stored(&instructions));
        pack.entries.push(entry);
        named(NOWHERE)
    });
    refused("bytes of memory", |pack| {
        let mut tree = entry_header(2, 1 << 30);
        tree.extend(stored(b"x"));
        pack.entries.push(tree);
        named(NOWHERE)
    });
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

/// Directories within each other.
fn deep(pack: &mut Pack, levels: usize) -> String {
    let tree = pack.tree(&[]);
    (0..levels).fold(tree, |tree, _| pack.tree(&[("40000", "d", &tree)]))
}

#[test]
fn a_few_trees_that_stand_for_more_files_than_any_disk_holds_are_refused() {
    refused("over 4000000 entries", |pack| {
        let mut below = ("100644", pack.add(ObjectKind::Blob, b"x"));
        for _ in 0..10 {
            let names = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];
            below = (
                "40000",
                pack.tree(&names.map(|name| (below.0, name, &*below.1))),
            );
        }
        named(&pack.commit(&below.1, &[]))
    });
    refused("2000 levels", |pack| {
        let tree = deep(pack, 3000);
        named(&pack.commit(&tree, &[]))
    });
}

#[test]
fn what_lies_beside_the_files_is_checked_too() {
    refused("beside its files", |pack| {
        let tree = pack.tree(&[]);
        let meta = pack.add(ObjectKind::Blob, b"checkpoint-meta 1\n");
        let beside = pack.tree(&[("100644", "meta", &meta), ("40000", "zzz", NOWHERE)]);
        named(&pack.commit(&tree, &[("Meta", &beside)]))
    });
}

#[test]
fn the_state_of_a_workflow_is_read_before_it_is_taken() {
    for content in [&b"junk"[..], b"", b"{}", br#"{"id": "../../evil"}"#] {
        refused("its workflow run is damaged", |pack| {
            let tree = pack.tree_of("state.json", content);
            let text = format!(
                "tree {tree}\nauthor {WHO}\ncommitter {WHO}\n\nbegun\n\n\
                 Workflow: run\nTime-Ms: 1774353600000\nWorkflow-Format: 1\n"
            );
            let tip = pack.add(ObjectKind::Commit, text.as_bytes());
            format!("{tip} refs/workflows/run\n")
        });
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
    refused("absurd time", |pack| {
        let tree = pack.tree(&[]);
        named(&pack.commit(&tree, &[("Time-Ms", "253402300800000")]))
    });
    assert_refused(&sandbox, &[whole, vec![0]].concat(), "pack");
    sandbox.fails(1, "import nowhere");
    sandbox.fails(1, "import .");
}

/// A good checkpoint, and one that no store can restore.
#[test]
fn one_bad_checkpoint_does_not_bar_the_others() {
    type Make = fn(&mut Pack) -> String;
    let bad: [(&str, Make); 5] = [
        ("over 255", |pack| {
            let tree = pack.tree_of(&"x".repeat(300), b"y");
            pack.commit(&tree, &[])
        }),
        ("2000 levels", |pack| {
            let tree = deep(pack, 2010);
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
        let tree = pack.tree_of("file", b"x");
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
