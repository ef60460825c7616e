//! `push`: sends checkpoints to a remote, as the next carrier of the line of this store.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::{Code, Error, Result, Sentence};
use crate::model::json::{JsonSchema, Serialize};
use crate::model::{Checkpoint, CheckpointId, ObjectId};
use crate::ops::transfer::{bundle, remote};
use crate::ops::{Context, ExportBundleOptions, GitLimits, Pushed, RemoteGit, Warning, session};
use crate::store::transfer::carrier::{self, CarrierParts};
use crate::store::transfer::check_incoming;
use crate::store::transfer::transport::{OwnCarrier, PUSHED};
use crate::store::{BundleRef, CheckOptions, LineName, LineState, Remote, Store};

/// Tries, if other processes push for this store, or evict what is being pushed.
const TRIES: usize = 5;

#[derive(Clone, Debug)]
pub struct PushOptions {
    pub name: Option<String>,
    /// Begins the line anew, without what was evicted here.
    pub prune: bool,
    pub with_prompts: bool,
    /// Name of this machine, for the receiver.
    pub host: String,
    pub limits: GitLimits,
}

/// What was pushed.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct PushOutcome {
    pub remote: String,
    /// Those that were sent, oldest first.
    pub checkpoints: Vec<Checkpoint>,
    /// Number of checkpoints of this store that are there.
    pub checkpoint_count: usize,
    pub workflow_count: usize,
    /// Ids of checkpoints left out because they have the text of a prompt.
    pub left_out_for_prompts: Vec<ObjectId>,
    /// Number of former lines of this store that were removed there.
    pub removed_lines: usize,
    /// True if all was there already.
    pub nothing_to_do: bool,
}

/// Sends what is new, and what changed in pins, reasons and workflows.
///
/// # Errors
/// There is no such remote or nothing to push, git is missing or fails. What arrived is whole.
pub fn push(context: &Context, options: &PushOptions) -> Result<(PushOutcome, Vec<Warning>)> {
    let store = context.require_store()?;
    let remote = remote::named(&store, options.name.as_deref())?;
    let git = RemoteGit::open(context, &store, &remote, options.limits)?;
    let mut push = Push {
        context,
        options,
        store: &store,
        remote,
        git,
        refused: BTreeMap::new(),
    };
    // Another process may have begun another line while this one waited.
    push.remote = remote::named(&store, Some(&push.remote.name))?;
    if options.prune {
        return push.prune();
    }
    let mut known = push.git.transport.last(&push.line(0)?);
    for _ in 0..TRIES {
        match push.send(known.as_ref())? {
            Some(outcome) => return Ok(outcome),
            None => known = push.recognize()?,
        }
    }
    Err(Error::unexpected(format!(
        "other processes came first {TRIES} times at the remote {}; nothing was pushed",
        push.remote.name
    )))
}

struct Push<'p> {
    context: &'p Context,
    options: &'p PushOptions,
    store: &'p Store,
    remote: Remote,
    git: RemoteGit<'p>,
    /// Checkpoints that the server refused, and why.
    refused: BTreeMap<ObjectId, String>,
}

/// What is to be on the line.
struct Wanted {
    state: LineState,
    /// Oldest first.
    checkpoints: Vec<Checkpoint>,
    outcome: PushOutcome,
    warnings: Vec<Warning>,
}

/// What was done, and what did not stop it.
type Sent = (PushOutcome, Vec<Warning>);

impl Push<'_> {
    fn line(&self, device: usize) -> Result<LineName> {
        let device = self.remote.devices.get(device);
        device
            .map(|device| RemoteGit::line(self.store, device))
            .ok_or_else(|| Error::unexpected("the remote has no line"))
    }

    /// Finds out what this store pushed to its line. If another wrote it, begins a line of its own.
    fn recognize(&mut self) -> Result<Option<OwnCarrier>> {
        let there = self.git.lines()?;
        let Some(tip) = there.get(&self.line(0)?) else {
            return Ok(None);
        };
        let known = self.git.transport.own(*tip);
        if known.is_none() {
            self.remote.devices.remove(0);
            self.begin_line()?;
        }
        Ok(known)
    }

    fn begin_line(&mut self) -> Result<()> {
        self.remote.begin_line();
        self.write_remote()
    }

    fn write_remote(&self) -> Result<()> {
        let session = session::begin(self.context, self.store)?;
        let mut all = remote::read(self.store)?;
        for one in &mut all {
            if one.name == self.remote.name {
                one.devices.clone_from(&self.remote.devices);
            }
        }
        session.locked.write_remotes(&all)
    }

    /// What is to be on the line after this state of it.
    fn wanted(&self, former: &LineState) -> Result<Wanted> {
        let there = former.checkpoints();
        let options = ExportBundleOptions {
            with_prompts: self.options.with_prompts,
            host: self.options.host.clone(),
            refused: self.refused.clone(),
            ..ExportBundleOptions::default()
        };
        let inventory = self.store.inventory()?;
        let (outcome, header) =
            bundle::contents(self.context, self.store, &inventory, &options, &there)?;
        if let ([], true, Some((id, why))) =
            (&*outcome.checkpoints, there.is_empty(), outcome.bad.first())
        {
            let short = id.short();
            if why.starts_with("is damaged") {
                return Err(self.damaged(&short));
            }
            let what = format!("checkpoint {short} {why}; nothing was pushed");
            let next = Sentence::new("'checkpoint show {}' shows what it has", &[&short]);
            return Err(Error::new(Code::REMOTE_FAILED, what).next(next));
        }
        Ok(Wanted {
            state: LineState::of(header.refs),
            outcome: PushOutcome {
                remote: self.remote.name.clone(),
                checkpoint_count: outcome.checkpoints.len(),
                workflow_count: outcome.workflow_count,
                left_out_for_prompts: outcome.left_out_for_prompts,
                nothing_to_do: true,
                ..PushOutcome::default()
            },
            warnings: outcome.warnings,
            checkpoints: outcome.checkpoints,
        })
    }

    /// Sends one carrier after `known`, without what the server refuses by its id. `None` if another
    /// process was faster.
    fn send(&mut self, known: Option<&OwnCarrier>) -> Result<Option<Sent>> {
        loop {
            match self.send_once(known) {
                Err(why) if why.code == Code::REMOTE_FAILED => {
                    let refused = self.refused_by(&why, known)?;
                    if refused.is_empty() {
                        return Err(why);
                    }
                    self.refused.extend(refused);
                }
                sent => return sent,
            }
        }
    }

    /// The new checkpoints with an object that the server names as it refuses them, and its words.
    fn refused_by(
        &self,
        why: &Error,
        known: Option<&OwnCarrier>,
    ) -> Result<Vec<(ObjectId, String)>> {
        let mut refused = Vec::new();
        if !why.what.contains("(unpacker error)") && !why.what.contains("hook declined)") {
            return Ok(refused);
        }
        let there = known.map(|known| known.state.checkpoints());
        let is_there = |c: &Checkpoint| there.as_ref().is_some_and(|there| there.contains(&c.id));
        let inventory = self.store.inventory()?;
        let mut left: Vec<Checkpoint> = inventory.checkpoints.iter().cloned().collect();
        left.retain(|c| !is_there(c) && !self.refused.contains_key(&c.id));
        for line in why.what.lines() {
            let Some(words) = line.trim().strip_prefix("remote: ") else {
                continue;
            };
            let ids = words.split(|letter: char| !letter.is_ascii_alphanumeric());
            let ids = ids.filter_map(ObjectId::from_hex).collect();
            for id in check_incoming::holders(self.store, &left, &ids) {
                left.retain(|c| c.id != id);
                refused.push((id, format!("is refused by {}: {words}", self.remote.name)));
            }
        }
        Ok(refused)
    }

    /// Sends one carrier after `known`. `None` if another process was faster.
    fn send_once(&self, known: Option<&OwnCarrier>) -> Result<Option<Sent>> {
        let former = known.map(|known| known.state.clone()).unwrap_or_default();
        let Wanted {
            state,
            checkpoints,
            mut outcome,
            warnings,
        } = self.wanted(&former)?;
        let pushed = former.checkpoints();
        outcome
            .left_out_for_prompts
            .retain(|id| !pushed.contains(id));
        if known.is_none() && checkpoints.is_empty() {
            return Err(nothing(&outcome));
        }
        let (there, new): (Vec<_>, Vec<_>) =
            (checkpoints.iter().cloned()).partition(|c: &Checkpoint| pushed.contains(&c.id));
        let next = match known.filter(|_| self.git.takes_increments()) {
            Some(known) => Next::after(known, state, there.last(), &new),
            None => Next::alone(state, &checkpoints),
        };
        let line = self.line(0)?;
        if next.state == former {
            // What is there may be gone: a server can be emptied.
            let there = self.git.lines()?.get(&line).copied();
            return Ok((there == known.map(|known| known.id)).then_some((outcome, warnings)));
        }
        let (carrier, parts) = self.write(&next)?;
        let before = known.map(|known| known.id);
        self.git.transport.prepare_push(carrier, before)?;
        outcome.checkpoints = new;
        if !self.deliver(&line, before, (&checkpoints, &outcome.checkpoints))? {
            return Ok(None);
        }
        self.git.transport.note_last(&line, carrier)?;
        // The carriers of former lines tell these from lines that others wrote.
        if self.remote.devices.len() == 1 {
            self.git.transport.drop_carriers(&parts)?;
        }
        outcome.nothing_to_do = false;
        Ok(Some((outcome, warnings)))
    }

    /// Pushes what was prepared. False if another process was faster, here or there.
    fn deliver(
        &self,
        line: &LineName,
        before: Option<ObjectId>,
        (checkpoints, new): (&[Checkpoint], &[Checkpoint]),
    ) -> Result<bool> {
        match self.git.push(line, PUSHED, before) {
            Ok(Pushed::Done) => Ok(true),
            Ok(Pushed::Stale) => Ok(false),
            Err(why) if why.signal().is_some() => Err(Error::interrupted_late(
                why.signal().unwrap_or_default(),
                "the push may have arrived; nothing was changed here",
                None,
            )),
            Err(why) if why.code == Code::REMOTE_FAILED => {
                if self.is_evicted(checkpoints.iter().map(|c| c.id))? {
                    return Ok(false);
                }
                // Git says of its own store what it says of the other.
                for Checkpoint { id, .. } in new {
                    self.refuse_damage(Some(*id), &BTreeSet::from([*id]))?;
                }
                Err(why)
            }
            Err(why) => Err(why),
        }
    }

    /// Writes a carrier. Returns its id and those of all its parts.
    fn write(&self, next: &Next) -> Result<(ObjectId, BTreeSet<ObjectId>)> {
        let mut metas = Vec::new();
        for one in next.state.refs() {
            if let BundleRef::Meta(checkpoint, meta) = one
                && next.sent.contains(checkpoint)
            {
                let (kind, _) = self.store.objects().read(meta).map_err(|why| {
                    Error::damaged(format!("the meta of {}", checkpoint.short()), why)
                })?;
                metas.push((*checkpoint, *meta, kind));
            }
        }
        let parts = CarrierParts {
            state: &next.state,
            parents: &next.parents,
            metas,
            host: &self.options.host,
            checkpoints: &next.sent,
            time_ms: self.context.now_ms,
        };
        let mut written = BTreeSet::new();
        let carrier = carrier::write(&parts, &mut |kind, content| {
            let id = self.git.transport.put(kind, content)?;
            written.insert(id);
            Ok(id)
        })?;
        Ok((carrier, written))
    }

    /// Whether one of these is here no more.
    fn is_evicted(&self, ids: impl IntoIterator<Item = ObjectId>) -> Result<bool> {
        let line = self.store.inventory()?.checkpoints;
        Ok(ids.into_iter().any(|id| !line.holds(id)))
    }

    /// Refuses damaged checkpoints among `named`: what is damaged here may be whole there.
    fn refuse_damage(&self, only: Option<ObjectId>, named: &BTreeSet<ObjectId>) -> Result<()> {
        let options = CheckOptions {
            full: false,
            check_interrupt: &|| self.context.check_interrupt(),
            progress: &self.context.progress,
        };
        let only = only.map(CheckpointId::from);
        let report = self.store.check(only.as_ref(), &options)?;
        let mut damaged = report.damaged.iter().map(|found| &found.id);
        let found = damaged.find(|id| id.commit().is_none_or(|id| named.contains(&id)));
        found.map_or(Ok(()), |id| Err(self.damaged(&id.short())))
    }

    fn damaged(&self, short: &str) -> Error {
        let name = &self.remote.name;
        let what = format!(
            "checkpoint {short} is damaged here, and may be whole at {name}; nothing was pushed"
        );
        let next = "'checkpoint fetch {} --refetch' brings what is there, 'checkpoint verify' lists the damage";
        Error::new(Code::DAMAGED, what).next(Sentence::new(next, &[name]))
    }

    /// Sends all to a new line, then removes the former ones, also those that an interrupted prune
    /// left; but none that another process wrote since: it may have what is nowhere else.
    fn prune(&mut self) -> Result<Sent> {
        if let Some(known) = self.recognize()? {
            self.refuse_damage(None, &known.state.checkpoints())?;
        }
        self.begin_line()?;
        let wanted = self.wanted(&LineState::default())?;
        let (mut outcome, warnings) =
            if wanted.checkpoints.is_empty() && !self.former_lines()?.is_empty() {
                (wanted.outcome, wanted.warnings)
            } else {
                self.send(None)?.ok_or_else(|| {
                    Error::unexpected("another process pushed to the new line; nothing was removed")
                })?
            };
        for (line, tip) in self.former_lines()? {
            if matches!(self.git.push(&line, "", Some(tip))?, Pushed::Done) {
                outcome.removed_lines += 1;
            }
        }
        self.remote.devices.truncate(1);
        self.write_remote()?;
        Ok((outcome, warnings))
    }

    /// The lines there that this store wrote before the present one.
    fn former_lines(&self) -> Result<Vec<(LineName, ObjectId)>> {
        let mut there = self.git.lines()?;
        let former = self.remote.devices.iter().skip(1);
        let former =
            former.filter_map(|device| there.remove_entry(&RemoteGit::line(self.store, device)));
        Ok(former
            .filter(|(_, tip)| self.git.transport.own(*tip).is_some())
            .collect())
    }
}

/// The next carrier of the line.
struct Next {
    state: LineState,
    parents: Vec<ObjectId>,
    /// The checkpoints that it brings.
    sent: Vec<ObjectId>,
}

impl Next {
    /// Builds on the carrier before it, which has all that is there. A checkpoint that is there too
    /// gives git what the new ones differ from.
    fn after(
        known: &OwnCarrier,
        state: LineState,
        there: Option<&Checkpoint>,
        new: &[Checkpoint],
    ) -> Self {
        let sent: Vec<ObjectId> = new.iter().map(|c| c.id).collect();
        let state = state.after(&known.state);
        let before = std::iter::once(known.id).chain(there.map(|c| c.id));
        let mut parents: Vec<ObjectId> = before.chain(sent.iter().copied()).collect();
        parents.extend(run_tips(&state).difference(&run_tips(&known.state)));
        Self {
            state,
            parents,
            sent,
        }
    }

    /// Has everything, for the first of a line and for transports that need it whole.
    fn alone(state: LineState, checkpoints: &[Checkpoint]) -> Self {
        let sent: Vec<ObjectId> = checkpoints.iter().map(|c| c.id).collect();
        let parents = sent.iter().copied().chain(run_tips(&state)).collect();
        Self {
            state,
            parents,
            sent,
        }
    }
}

fn run_tips(state: &LineState) -> BTreeSet<ObjectId> {
    let run = |one: &BundleRef| match one {
        BundleRef::Run(_, tip) => Some(*tip),
        _ => None,
    };
    state.refs().filter_map(run).collect()
}

fn nothing(outcome: &PushOutcome) -> Error {
    let what = match outcome.left_out_for_prompts.len() {
        0 => "there is no checkpoint to push".to_owned(),
        left => format!(
            "all {left} checkpoints have the text of a prompt, which only --with-prompts pushes"
        ),
    };
    Error::new(Code::NOTHING_FOUND, what).advise("'checkpoint list' shows the checkpoints")
}
