//! The source of random edits: kinds, contents, modes, hostile names, ignore rules, from one seed.

use crate::bench::os::OsStrExt as _;
use crate::bench::os::PermissionsExt as _;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::bench::{fixtures, tree};

#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::VariantArray)]
pub enum Kind {
    Absent,
    File,
    Executable,
    Symlink,
    EmptyDir,
    FullDir,
    NestedRepository,
    Fifo,
    Socket,
}

pub const KINDS: &[Kind] = <Kind as strum::VariantArray>::VARIANTS;

/// Lines of random `.gitignore` files; the judge reads exactly these forms.
const RULES: [&str; 8] = [
    "ign1",
    "ign2/",
    "*.log",
    "!keep.log",
    "/a",
    "*.tmp",
    "b/",
    "!b",
];

const NAMES: [&[u8]; 16] = [
    b"a",
    b"b",
    b"c",
    b"ign1",
    b"ign2",
    b"x.log",
    b"keep.log",
    b"k.tmp",
    b"d e ",
    b"a.b",
    b"a-",
    b"new\nline",
    b"\xff\xfe",
    b"-x",
    b"pi|pe",
    b"\xc3\xa9",
];

const LINK_TARGETS: [&[u8]; 5] = [b"a", b"../..", b"/etc/passwd", b"\xff", b"no/where"];

pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// Seeded by `CHECKPOINT_SEED` or by the clock; the seed is printed.
    pub fn from_environment() -> Self {
        let by_clock = || {
            let since = SystemTime::now()
                .duration_since(SystemTime::UNIX_EPOCH)
                .expect("a clock after 1970");
            u64::from(since.subsec_nanos()) ^ since.as_secs()
        };
        let given = std::env::var("CHECKPOINT_SEED")
            .ok()
            .and_then(|seed| seed.parse().ok());
        let seed = given.unwrap_or_else(by_clock);
        println!("CHECKPOINT_SEED={seed}");
        Self::new(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16
    }

    /// A number below `end`, which is not zero.
    pub fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end).expect("a small number");
        usize::try_from(self.next() % end).expect("a small number")
    }

    pub fn pick<'i, T>(&mut self, items: &'i [T]) -> &'i T {
        &items[self.below(items.len())]
    }

    /// Makes one random edit below `root`; returns a line that describes it.
    pub fn edit(&mut self, root: &Path) -> String {
        match self.below(10) {
            0 => self.change_rules(root),
            1 => self.change_mode(root),
            _ => {
                let path = self.path();
                let kind = self.kind();
                place(root, &path, kind, self);
                format!("{} becomes {kind:?}", tree::shown(&path))
            }
        }
    }

    fn kind(&mut self) -> Kind {
        // Ordinary kinds more often, or hardly any restore would succeed.
        match self.below(16) {
            at @ 0..=8 => KINDS[at],
            9 | 10 => Kind::FullDir,
            11 => Kind::Absent,
            _ => Kind::File,
        }
    }

    fn path(&mut self) -> Vec<u8> {
        let depth = 1 + self.below(3);
        let names: Vec<Vec<u8>> = (0..depth).map(|_| self.name()).collect();
        names.join(&b'/')
    }

    fn name(&mut self) -> Vec<u8> {
        let name = self.any_name();
        if cfg!(windows) {
            return windows_name(&name);
        }
        name
    }

    fn any_name(&mut self) -> Vec<u8> {
        if self.below(12) > 0 {
            return self.pick(&NAMES).to_vec();
        }
        let len = 1 + self.below(12);
        let bytes: Vec<u8> = (0..len).map(|_| self.next().to_le_bytes()[0]).collect();
        let legal = |bytes: &[u8]| {
            !bytes.starts_with(b".") && !bytes.iter().any(|byte| matches!(byte, 0 | b'/'))
        };
        if legal(&bytes) { bytes } else { b"c".to_vec() }
    }

    fn bytes(&mut self) -> Vec<u8> {
        let len = match self.below(6) {
            0 => 0,
            1 => self.below(20_000),
            _ => self.below(40),
        };
        fixtures::noise(self.next(), len)
    }

    fn change_rules(&mut self, root: &Path) -> String {
        let file = root.join(".gitignore");
        fixtures::remove(&file);
        if self.below(4) == 0 {
            return "no rules".to_owned();
        }
        let lines: Vec<&str> = (0..=self.below(4)).map(|_| *self.pick(&RULES)).collect();
        fs::write(&file, lines.join("\n")).expect("rules can be written");
        format!("rules {lines:?}")
    }

    fn change_mode(&mut self, root: &Path) -> String {
        let picture = tree::Tree::capture(root).without_dot_git();
        let plain =
            |node: &tree::Node| matches!(node.kind, tree::Kind::File { .. } | tree::Kind::Dir);
        let candidates: Vec<(&Vec<u8>, bool)> = picture
            .nodes
            .iter()
            .filter(|(path, node)| !path.is_empty() && plain(node))
            .map(|(path, node)| (path, node.is_dir()))
            .collect();
        if candidates.is_empty() {
            return "nothing to chmod".to_owned();
        }
        let (path, is_dir) = *self.pick(&candidates);
        let modes: &[u32] = if is_dir {
            &[0o755, 0o700, 0o750, 0o775]
        } else {
            &[0o644, 0o600, 0o755, 0o444, 0o700, 0o664]
        };
        let mode = *self.pick(modes);
        set_mode(&on_disk(root, path), mode);
        format!("{} gets {mode:o}", tree::shown(path))
    }
}

/// The nearest name that Windows has, in small letters, as it takes both for one.
fn windows_name(name: &[u8]) -> Vec<u8> {
    let legal = |sign: char| match sign {
        '<' | '>' | ':' | '"' | '\\' | '|' | '?' | '*' => '_',
        sign if sign.is_control() => '_',
        sign => sign,
    };
    let name = String::from_utf8_lossy(name).to_lowercase();
    let name: String = name.chars().map(legal).collect();
    let stem = name.trim_end_matches(['.', ' ']);
    format!("{stem}{}", "_".repeat(name.len() - stem.len())).into()
}

/// Makes a path be of this kind, whatever was there or in its way.
pub fn place(root: &Path, path: &[u8], kind: Kind, random: &mut Random) {
    for above in tree::ancestors_and_self(path).filter(|above| above.len() < path.len()) {
        let above = on_disk(root, above);
        if !above.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
            if kind == Kind::Absent {
                return;
            }
            fixtures::remove(&above);
            fs::create_dir(&above).expect("a directory can be made");
        }
    }
    let place = on_disk(root, path);
    fixtures::remove(&place);
    let is_of_unix = matches!(kind, Kind::Symlink | Kind::Fifo | Kind::Socket);
    match kind {
        _ if is_of_unix && cfg!(windows) => write(&place, random, 0o644),
        Kind::Absent => {}
        Kind::File => write(&place, random, 0o644),
        Kind::Executable => write(&place, random, 0o755),
        Kind::Symlink => {
            let target = OsStr::from_bytes(random.pick::<&[u8]>(&LINK_TARGETS));
            crate::bench::os::symlink(target, &place).expect("a link can be made");
        }
        Kind::EmptyDir => fs::create_dir(&place).expect("a directory can be made"),
        Kind::FullDir => fill(&place, random),
        Kind::NestedRepository => {
            fill(&place, random);
            fixtures::decoy_git(&place.join(".git"));
        }
        Kind::Fifo => fixtures::fifo(&place),
        Kind::Socket => fixtures::socket(&place),
    }
}

fn fill(place: &Path, random: &mut Random) {
    fs::create_dir_all(place.join("deep/empty")).expect("a directory can be made");
    for name in ["one", "deep/two", "deep/x.log"] {
        write(&place.join(name), random, 0o644);
    }
}

fn write(place: &Path, random: &mut Random, mode: u32) {
    fs::write(place, random.bytes())
        .unwrap_or_else(|error| panic!("cannot write {}: {error}", place.display()));
    set_mode(place, mode);
}

fn set_mode(place: &Path, mode: u32) {
    fs::set_permissions(place, fs::Permissions::from_mode(mode)).expect("a mode can be set");
}

fn on_disk(root: &Path, path: &[u8]) -> PathBuf {
    root.join(OsStr::from_bytes(path))
}
