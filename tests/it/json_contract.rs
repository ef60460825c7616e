//! The JSON of every command, pinned by structures that list each field: an extra or a missing one
//! fails here.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::bench::{Run, Sandbox};

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct Done<D> {
    schema: String,
    ok: bool,
    exit: i32,
    data: D,
    warnings: Vec<Warning>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct Warning {
    code: String,
    message: String,
    path: Option<String>,
    path_hex: Option<String>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct Failed {
    schema: String,
    ok: bool,
    exit: i32,
    error: Failure,
    #[serde(default)]
    warnings: Vec<Warning>,
}

/// A failure that has `data` too.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct FailedWith<D> {
    schema: String,
    ok: bool,
    exit: i32,
    data: D,
    error: Failure,
    warnings: Vec<Warning>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct Failure {
    code: String,
    exit: i32,
    message: String,
    hint: Option<String>,
    candidates: Option<Vec<Candidate>>,
    paths: Option<Vec<PathOnly>>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct Candidate {
    id: String,
    short: String,
    reason: String,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct PathOnly {
    path: String,
    path_hex: Option<String>,
    why: Option<String>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct Create {
    id: String,
    short: String,
    alias: String,
    scope: Option<Vec<String>>,
    #[serde(rename = "type")]
    mechanism: Option<String>,
    expires: Option<String>,
    created: bool,
    skipped: Option<String>,
    reason: String,
    requested_reason: Option<String>,
    source: String,
    time: String,
    sequence: u64,
    coverage: String,
    kind: String,
    counts: CreateCounts,
    left_out: LeftOut,
    uncaptured: Vec<Uncaptured>,
    evicted: Vec<Evicted>,
    copies: Option<String>,
    databases: Vec<Database>,
    store: String,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct Database {
    kind: String,
    path: Option<String>,
    path_hex: Option<String>,
    name: Option<String>,
    blob: Option<String>,
    outcome: Option<String>,
    why: Option<String>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct CreateCounts {
    files: u64,
    directories: u64,
    bytes: u64,
    added: u64,
    changed: u64,
    deleted: u64,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct LeftOut {
    directories: Vec<PathOnly>,
    files: u64,
    secrets: Vec<PathOnly>,
    by_rule: Vec<RuleCount>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct RuleCount {
    rule: String,
    count: u64,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct Uncaptured {
    path: String,
    path_hex: Option<String>,
    why: String,
    detail: Option<String>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct Named {
    id: String,
    short: String,
    reason: Option<String>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct List {
    checkpoints: Vec<Row>,
    damaged: Vec<serde_json::Value>,
    store: String,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct Row {
    id: String,
    short: String,
    alias: String,
    scope: Option<Vec<String>>,
    #[serde(rename = "type")]
    mechanism: Option<String>,
    expires: Option<String>,
    sequence: u64,
    time: String,
    reason: String,
    source: String,
    kind: String,
    coverage: String,
    pinned: bool,
    damaged: bool,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct Show {
    checkpoint: Details,
    before: Option<String>,
    changes: Changes,
    databases: Vec<Database>,
    uncaptured: Vec<Uncaptured>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct Details {
    id: String,
    short: String,
    alias: String,
    scope: Option<Vec<String>>,
    #[serde(rename = "type")]
    mechanism: Option<String>,
    expires: Option<String>,
    sequence: u64,
    time: String,
    reason: String,
    source: String,
    kind: String,
    coverage: String,
    pinned: bool,
    damaged: bool,
    tree: String,
    files: u64,
    bytes: u64,
    operation: Option<Operation>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct Operation {
    verb: String,
    target: String,
    paths: Vec<PathOnly>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct Changes {
    added: u64,
    changed: u64,
    deleted: u64,
    paths: Vec<ChangedPath>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct ChangedPath {
    path: String,
    path_hex: Option<String>,
    change: String,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct Restore {
    verb: String,
    restored_from: Named,
    safety: Option<Named>,
    counts: RestoreCounts,
    databases: Vec<Database>,
    left_alone: Vec<PathOnly>,
    unreadable: Vec<PathOnly>,
    nothing_to_do: bool,
    since: Option<Vec<PathOnly>>,
    dry_run: bool,
    paths: Vec<PathOnly>,
    resumed: bool,
    evicted: Vec<Evicted>,
    plan: Option<Plan>,
    to: Option<String>,
    check: Option<Check>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct Check {
    command: String,
    exit: Option<i32>,
    ok: bool,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct Find {
    pattern: Option<String>,
    text: Option<String>,
    paths: Vec<FoundPath>,
    matches: Vec<TextMatch>,
    more: u64,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct FoundPath {
    path: String,
    path_hex: Option<String>,
    last_in: Named,
    deleted_by: Option<Named>,
    in_directory: bool,
    events: Vec<Event>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct Event {
    change: String,
    id: String,
    short: String,
    time: String,
    reason: String,
    kind: String,
    size: Option<u64>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct TextMatch {
    path: String,
    path_hex: Option<String>,
    blob: String,
    first_in: Named,
    last_in: Named,
    binary: bool,
    lines: Vec<Line>,
    more_lines: u64,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct Line {
    number: u64,
    text: String,
    cut: bool,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct Bisect {
    first_bad: Option<Row>,
    last_good: Row,
    candidates: Vec<Row>,
    tested: Vec<Tested>,
    skipped: Vec<Tested>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct Tested {
    id: String,
    short: String,
    reason: String,
    verdict: String,
    exit: Option<i32>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct RestoreCounts {
    written: u64,
    deleted: u64,
    chmod: u64,
    directories_made: u64,
    directories_removed: u64,
    unchanged: u64,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct Plan {
    write: Vec<PathOnly>,
    chmod: Vec<PathOnly>,
    delete: Vec<PathOnly>,
    make_directories: Vec<PathOnly>,
    remove_directories: Vec<PathOnly>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct Prune {
    evicted: Vec<Evicted>,
    kept: Vec<RetainedRow>,
    rows_removed: u64,
    bytes_before: u64,
    bytes_after: u64,
    packs_before: u64,
    packs_after: u64,
    dry_run: bool,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct Verify {
    content: Option<String>,
    exists: bool,
    checkpoints: u64,
    objects: u64,
    bytes: u64,
    damaged: Vec<DamagedState>,
    files: Vec<FileFinding>,
    derived: Vec<FileFinding>,
    repair: Option<Repair>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct DamagedState {
    id: String,
    short: String,
    reason: Option<String>,
    faults: Vec<Fault>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct Fault {
    path: Option<String>,
    path_hex: Option<String>,
    object: Option<String>,
    why: String,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct FileFinding {
    file: String,
    why: String,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct Repair {
    derived: Vec<FileFinding>,
    set_aside: Vec<String>,
    healed: u64,
    fetched: u64,
    salvaged: Option<Salvaged>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct Salvaged {
    kept_as: String,
    whole: u64,
    in_part: u64,
    lost: Vec<DamagedState>,
    lost_refs: Vec<String>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct Evicted {
    id: String,
    short: String,
    reason: String,
    why: String,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct RetainedRow {
    id: String,
    short: String,
    reason: String,
    why: Vec<String>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct Pin {
    id: String,
    short: String,
    reason: String,
    pinned: bool,
    changed: bool,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct Delete {
    deleted: Vec<Deleted>,
    whole_store: bool,
    dry_run: bool,
    store: String,
    bytes_before: u64,
    bytes_after: u64,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct Deleted {
    id: String,
    short: String,
    reason: Option<String>,
    time: Option<String>,
    damaged: bool,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct ListAll {
    stores: Vec<StoreRow>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct Orphaned {
    removed: Vec<StoreRow>,
    left: Vec<StoreRow>,
    dry_run: bool,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct StoreRow {
    root: Option<String>,
    root_hex: Option<String>,
    root_state: String,
    store: String,
    store_hex: Option<String>,
    kept_copy: bool,
    checkpoints: Option<u64>,
    damaged: u64,
    pinned: u64,
    bytes: u64,
    newest: Option<String>,
    problem: Option<String>,
    why: Option<String>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct Config {
    settings: Vec<Setting>,
    root: String,
    base: Option<String>,
    base_origin: Option<Origin>,
    store: Option<String>,
    files: Vec<LookedFor>,
    environment: Vec<Variable>,
    problems: Vec<String>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct Setting {
    name: String,
    value: serde_json::Value,
    unit: Option<String>,
    origins: Vec<Origin>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct Origin {
    from: String,
    place: Option<String>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct LookedFor {
    path: String,
    found: bool,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct Variable {
    name: String,
    value: Option<String>,
    set: bool,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct Status {
    root: String,
    store: String,
    manifest: String,
    dir_hash: String,
    base: String,
    exists: bool,
    checkpoints: u64,
    pinned: u64,
    safety: u64,
    damaged: u64,
    store_bytes: u64,
    latest: Option<Row>,
    baseline: Option<Row>,
    drift: Option<Drift>,
    pending: Option<serde_json::Value>,
    holds: Vec<Hold>,
    over_keep: bool,
    max_store_size: Option<u64>,
    over_max_store_size: Option<bool>,
    kept_copies: Vec<String>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct Hold {
    name: String,
    holder: String,
    from: String,
    until: String,
    renewed: Option<bool>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct Release {
    released: bool,
    hold: Option<Hold>,
    name: Option<String>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct Guard {
    id: String,
    short: String,
    alias: String,
    age_ms: u64,
    coverage: String,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct Drift {
    added: u64,
    changed: u64,
    deleted: u64,
}

/// Parses the document of a successful command and checks its schema and its frame.
#[track_caller]
fn pinned<D: DeserializeOwned>(command: &str, run: &Run) -> D {
    let document = run.json();
    assert_eq!(
        document["schema"],
        format!("checkpoint.{command}/1"),
        "{run}"
    );
    assert_eq!(
        run.stdout.trim_end_matches('\n').lines().count(),
        run.stdout.lines().count(),
        "{run}"
    );
    let done: Done<D> = serde_json::from_str(&run.stdout)
        .unwrap_or_else(|error| panic!("{command}: {error}\n{run}"));
    done.data
}

fn names(paths: &[PathOnly]) -> Vec<&str> {
    paths.iter().map(|one| one.path.as_str()).collect()
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct Diff {
    from: String,
    to: Option<String>,
    files: Vec<DiffFile>,
    other: DiffOther,
    not_compared: Vec<Uncaptured>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct DiffFile {
    path: String,
    path_hex: Option<String>,
    change: String,
    insertions: Option<u64>,
    deletions: Option<u64>,
    binary: bool,
    old_mode: Option<String>,
    new_mode: Option<String>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct DiffOther {
    modes: Vec<DiffMode>,
    empty_directories_added: Vec<PathOnly>,
    empty_directories_deleted: Vec<PathOnly>,
    uncaptured: Vec<DiffUncaptured>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct DiffMode {
    path: String,
    path_hex: Option<String>,
    old_mode: String,
    new_mode: String,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct DiffUncaptured {
    path: String,
    path_hex: Option<String>,
    before: Option<String>,
    after: Option<String>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the fields are there to be demanded, not to be read"
)]
struct Cat {
    id: String,
    blob: String,
    path: String,
    path_hex: Option<String>,
    size: u64,
    mode: String,
    text: Option<String>,
    hex: Option<String>,
}

fn rfc3339_utc(time: &str) -> bool {
    time.ends_with('Z') && chrono::DateTime::parse_from_rfc3339(time).is_ok()
}

fn full_of_everything() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    sandbox
        .write("a", "1")
        .write(".gitignore", "*.log\n")
        .write("x.log", "1")
        .write(".env", "K=1")
        .fifo("pipe");
    sandbox.write("dist/out", "1").mkdir("empty");
    let id = sandbox.create("first");
    sandbox.write("a", "2").write("b", "1");
    (sandbox, id)
}

#[test]
fn create_has_exactly_these_fields() {
    let (sandbox, _) = full_of_everything();
    let run = sandbox
        .run(&["create", "--json", "--reason", "second"])
        .success();
    let create: Create = pinned("create", &run);
    assert_eq!((create.id.len(), create.short.len()), (40, 8));
    assert!(
        create.id.starts_with(&create.short) && rfc3339_utc(&create.time),
        "{create:?}"
    );
    assert_eq!((create.sequence, create.coverage.as_str()), (2, "complete"));
    assert_ne!(create.kind, "safety");
    assert_eq!(names(&create.left_out.secrets), [".env"]);
    assert_eq!(names(&create.left_out.directories), ["dist"]);
    assert_eq!(
        (create.left_out.files, create.left_out.by_rule.len()),
        (1, 3)
    );
}

#[test]
fn list_and_show_have_exactly_these_fields() {
    let (sandbox, id) = full_of_everything();
    let list: List = pinned("list", &sandbox.run(&["list", "--json"]).success());
    assert_eq!(list.checkpoints.len(), 1);
    let show: Show = pinned("show", &sandbox.run(&["show", &id, "--json"]).success());
    assert_eq!((show.checkpoint.tree.len(), show.uncaptured.len()), (40, 1));
    assert!(rfc3339_utc(&show.checkpoint.time));
}

#[test]
fn restore_undo_and_redo_have_exactly_these_fields() {
    let (sandbox, id) = full_of_everything();
    let dry: Restore = pinned(
        "restore",
        &sandbox
            .run(&["restore", &id, "--dry-run", "--json"])
            .success(),
    );
    assert!(dry.plan.is_some() && dry.safety.is_none() && dry.dry_run);
    let done: Restore = pinned(
        "restore",
        &sandbox.run(&["restore", &id, "--yes", "--json"]).success(),
    );
    assert!(done.plan.is_none() && done.safety.is_some() && !done.dry_run);
    assert_eq!((done.counts.written, done.counts.deleted), (1, 1));
    for verb in ["undo", "redo"] {
        let _: Restore = pinned(verb, &sandbox.run(&[verb, "--yes", "--json"]).success());
    }
    let one: Restore = pinned(
        "restore",
        &sandbox
            .run(&["restore", &id, "a", "--yes", "--json"])
            .success(),
    );
    assert!(one.nothing_to_do && one.safety.is_none());
    sandbox.write("a", "an edit").write("since", "x");
    let undone: Restore = pinned("undo", &sandbox.run(&["undo", "--yes", "--json"]).success());
    assert_eq!(
        names(&undone.since.expect("it can be told")),
        ["a", "since"]
    );
    let one: Restore = pinned(
        "restore",
        &sandbox
            .run(&["restore", &id, "a", "--yes", "--json"])
            .success(),
    );
    assert_eq!(names(&one.paths), ["a"]);
    let shown: Show = pinned(
        "show",
        &sandbox
            .run(&["show", &sandbox.listed_ids()[0], "--json"])
            .success(),
    );
    assert!(
        shown
            .checkpoint
            .operation
            .is_some_and(|operation| names(&operation.paths) == ["a"])
    );
}

#[test]
fn restore_to_and_check_have_exactly_these_fields() {
    let (sandbox, id) = full_of_everything();
    let other = sandbox.top().join("other").display().to_string();
    let run = sandbox
        .run(&[
            "restore", &id, "--to", &other, "--check", "exit 3", "--json",
        ])
        .code(5);
    let done: Restore = pinned("restore", &run);
    assert_eq!(done.to.as_deref(), Some(other.as_str()));
    assert!(
        done.safety.is_none()
            && done
                .check
                .is_some_and(|check| check.exit == Some(3) && !check.ok)
    );
    let run = sandbox
        .run(&["restore", &id, "--yes", "--check", "true", "--json"])
        .success();
    let done: Restore = pinned("restore", &run);
    assert!(
        done.to.is_none()
            && done
                .check
                .is_some_and(|check| check.exit == Some(0) && check.ok)
    );
}

#[test]
fn find_has_exactly_these_fields() {
    let (sandbox, _) = full_of_everything();
    sandbox.create("second");
    let find: Find = pinned("find", &sandbox.run(&["find", "a", "--json"]).success());
    assert_eq!((find.paths.len(), find.paths[0].events.len()), (1, 2));
    assert!(
        find.paths[0]
            .events
            .iter()
            .all(|event| rfc3339_utc(&event.time))
    );
    let find: Find = pinned(
        "find",
        &sandbox.run(&["find", "--text", "2", "--json"]).success(),
    );
    assert_eq!((find.matches.len(), find.matches[0].lines.len()), (1, 1));
}

#[test]
fn bisect_has_exactly_these_fields() {
    let (sandbox, first) = full_of_everything();
    let second = sandbox.create("second");
    let run = sandbox
        .run(&[
            "bisect", &first, &second, "--json", "--", "grep", "-q", "1", "a",
        ])
        .success();
    let bisect: Bisect = pinned("bisect", &run);
    assert_eq!(
        (
            bisect.tested.len(),
            bisect.candidates.len(),
            bisect.skipped.len()
        ),
        (2, 1, 0)
    );
    assert!(bisect.first_bad.is_some_and(|bad| bad.short == second));
}

#[test]
fn prune_and_status_have_exactly_these_fields() {
    let (sandbox, _) = full_of_everything();
    sandbox.create("second");
    let status: Status = pinned("status", &sandbox.run(&["status", "--json"]).success());
    assert_eq!((status.checkpoints, status.over_keep), (2, false));
    let prune: Prune = pinned(
        "prune",
        &sandbox
            .run(&["prune", "--keep", "1", "--yes", "--json"])
            .success(),
    );
    assert_eq!((prune.evicted.len(), prune.dry_run), (1, false));
}

/// Damage is a failure, so `ok` is false; the findings are in `data` all the same.
#[test]
fn verify_has_exactly_these_fields_whether_damage_is_found_or_not() {
    let (sandbox, _) = full_of_everything();
    let good: Verify = pinned("verify", &sandbox.run(&["verify", "--json"]).success());
    assert!(good.exists && good.checkpoints == 1 && good.repair.is_none());
    std::fs::remove_file(sandbox.store().join("HEAD")).unwrap();
    let derived: Verify = pinned("verify", &sandbox.run(&["verify", "--json"]).success());
    assert_eq!(derived.derived[0].file, "HEAD");
    sandbox.remove("a");
    let pack = crate::bench::damaged::packs_of(&sandbox.store()).remove(0);
    crate::bench::damaged::put(&pack, &std::fs::read(&pack).unwrap()[..40]);
    for args in [&["verify", "--json"][..], &["verify", "--repair", "--json"]] {
        let run = sandbox.run(args).code(6);
        let failed: FailedWith<Verify> =
            serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}\n{run}"));
        assert!(
            !failed.ok && failed.error.code == "damaged" && failed.error.hint.is_some(),
            "{run}"
        );
        assert_eq!(
            failed
                .data
                .repair
                .is_some_and(|repair| repair.salvaged.is_some()),
            args.len() == 3,
            "{run}"
        );
    }
    let after: Verify = pinned(
        "verify",
        &sandbox.run(&["verify", "--repair", "--json"]).success(),
    );
    assert!(after.repair.is_some_and(|repair| repair.salvaged.is_none()));
}

#[test]
fn diff_and_cat_have_exactly_these_fields() {
    let (sandbox, id) = full_of_everything();
    sandbox
        .write("bin", b"\xff\0")
        .remove("pipe")
        .remove("empty")
        .mkdir("fresh")
        .chmod(".gitignore", 0o600);
    let diff: Diff = pinned("diff", &sandbox.run(&["diff", "--json"]).success());
    assert!(diff.from.starts_with(&id) && diff.to.is_none(), "{diff:?}");
    let told: Vec<_> = diff
        .files
        .iter()
        .map(|f| (f.path.as_str(), f.change.as_str(), f.insertions, f.binary))
        .collect();
    let expected = [
        ("a", "changed", Some(1), false),
        ("b", "added", Some(1), false),
        ("bin", "added", None, true),
    ];
    assert_eq!(told, expected);
    assert_eq!(
        (diff.other.modes.len(), diff.other.uncaptured.len()),
        (1, 1),
        "{diff:?}"
    );
    assert_eq!(names(&diff.other.empty_directories_added), ["fresh"]);
    sandbox.create("second");
    let diff: Diff = pinned(
        "diff",
        &sandbox.run(&["diff", &id, "second", "--json"]).success(),
    );
    assert_eq!(diff.to.map(|id| id.len()), Some(40));
    let cat: Cat = pinned(
        "cat",
        &sandbox.run(&["cat", "second:a", "--json"]).success(),
    );
    assert_eq!(
        (cat.text.as_deref(), cat.hex, cat.size, cat.mode.as_str()),
        (Some("2"), None, 1, "100644")
    );
    let cat: Cat = pinned(
        "cat",
        &sandbox.run(&["cat", "second:bin", "--json"]).success(),
    );
    assert_eq!((cat.text, cat.hex.as_deref()), (None, Some("ff00")));
}

#[test]
fn pin_and_delete_have_exactly_these_fields() {
    let (sandbox, id) = full_of_everything();
    let pinned_one: Pin = pinned("pin", &sandbox.run(&["pin", &id, "--json"]).success());
    assert!(pinned_one.pinned && pinned_one.changed);
    let _: Pin = pinned("unpin", &sandbox.run(&["unpin", &id, "--json"]).success());
    let one: Delete = pinned(
        "delete",
        &sandbox.run(&["delete", &id, "--yes", "--json"]).success(),
    );
    assert_eq!((one.deleted.len(), one.whole_store), (1, false));
    let all: Delete = pinned(
        "delete",
        &sandbox
            .run(&["delete", "--all", "--yes", "--json"])
            .success(),
    );
    assert_eq!(
        (all.deleted.len(), all.whole_store, all.bytes_after),
        (0, true, 0)
    );
}

#[test]
fn guard_hold_and_release_have_exactly_these_fields() {
    let (sandbox, id) = full_of_everything();
    let guard: Guard = pinned("guard", &sandbox.run(&["guard", "--json"]).success());
    assert_eq!((guard.short, guard.age_ms), (id, 1000));
    let hold: Hold = pinned("hold", &sandbox.run(&["hold", "wave", "--json"]).success());
    assert!(
        hold.renewed == Some(false) && rfc3339_utc(&hold.from) && rfc3339_utc(&hold.until),
        "{hold:?}"
    );
    let status: Status = pinned("status", &sandbox.run(&["status", "--json"]).success());
    assert!(status.holds.len() == 1 && status.holds[0].renewed.is_none());
    let release: Release = pinned("release", &sandbox.run(&["release", "--json"]).success());
    assert!(
        release.released
            && release.hold.is_some_and(|hold| hold.name == "wave")
            && release.name.is_none()
    );
}

#[test]
fn list_all_and_prune_orphaned_have_exactly_these_fields() {
    let (sandbox, _) = full_of_everything();
    let all: ListAll = pinned("list", &sandbox.run(&["list", "--all", "--json"]).success());
    assert_eq!(all.stores.len(), 1);
    let base = sandbox.base().display().to_string();
    sandbox.remove("");
    let args = ["prune", "--orphaned", "--base", &base, "--yes", "--json"];
    let orphaned: Orphaned = pinned("prune", &sandbox.run(&args).success());
    assert_eq!(
        (
            orphaned.removed.len(),
            orphaned.left.len(),
            orphaned.dry_run
        ),
        (1, 0, false)
    );
}

#[test]
fn config_has_exactly_these_fields() {
    let sandbox = Sandbox::new();
    let config: Config = pinned("config", &sandbox.run(&["config", "--json"]).success());
    assert!(config.settings.len() > 8 && config.files.len() == 2);
}

#[test]
fn a_failure_has_exactly_these_fields() {
    let (sandbox, _) = full_of_everything();
    for args in [
        &["show", "nothing", "--json"][..],
        &["restore", "first", "--json"],
        &["undo", "--yes", "--json"],
    ] {
        let run = sandbox.run(args);
        let failed: Failed =
            serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}\n{run}"));
        assert_eq!(failed.schema, format!("checkpoint.{}/1", args[0]));
        assert_eq!((failed.error.exit, failed.exit), (run.code, run.code));
        assert!(
            !failed.error.message.is_empty() && failed.error.hint.is_some(),
            "{run}"
        );
    }
}

#[test]
fn wrong_usage_with_json_is_a_document_too() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(&["create", "--reason", "", "--json"]).code(2);
    assert_eq!(run.error_code(), "usage");
    let run = sandbox.run(&["create", "--no-such-flag", "--json"]).code(2);
    assert_eq!(run.error_code(), "usage");
}

#[test]
fn a_name_that_is_not_utf_8_has_a_lossless_second_field() {
    use std::os::unix::ffi::OsStrExt as _;
    let sandbox = Sandbox::new();
    sandbox.write(std::ffi::OsStr::from_bytes(b"caf\xe9|\n"), "1");
    let id = sandbox.create("raw");
    let run = sandbox.run(&["show", &id, "--json"]).success();
    let change = &run.data()["changes"]["paths"][0];
    assert_eq!(change["path_hex"], "636166e97c0a");
    assert_eq!(change["path"], "caf\\xe9|\\x0a");
    sandbox.write("plain", "1");
    let change = sandbox
        .run(&["show", &sandbox.create("plain"), "--json"])
        .success()
        .data()["changes"]["paths"][0]
        .clone();
    assert_eq!(change.get("path_hex"), None);
}
