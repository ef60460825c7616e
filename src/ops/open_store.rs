//! Opens the store for a `create`: a missing one is created, an unusable one replaced.

use std::io::ErrorKind;
use std::path::Path;

use crate::base::text::escape_path;
use crate::error::{Code, Error, Result, Sentence};
use crate::ops::maintain::delete::clear_leftovers;
use crate::ops::maintain::repair::salvage_unusable;
use crate::ops::{Context, Warning};
use crate::store::damage::salvage::Unreadable;
use crate::store::repository::check_exclusion_list;
use crate::store::{Layout, Store};

/// Opens the store, replacing an unusable one by what can be read of it: a checkpoint now is worth
/// more than a repair that the user must request.
///
/// # Errors
/// The root is unsafe, or the store cannot be used, made or replaced; or its exclusion list cannot
/// be read.
pub fn open_usable(context: &Context, force: bool) -> Result<Store> {
    let store = match open_store(context, force) {
        Err(error) if error.code == Code::STORE_UNUSABLE => {
            check_exclusion_list(&Layout::new(context.store_dir()?))?;
            let _shield = context.interrupt.shield();
            let salvaged = salvage_unusable(context, &context.store_dir()?, Unreadable::Stops)?;
            if let Some(warning) = salvaged.map(Warning::reinitialized) {
                context.pending_warnings.add(warning);
            }
            open_store(context, force)
        }
        opened => opened,
    }?;
    check_exclusion_list(store.layout())?;
    Ok(store)
}

/// Refuses a base whose parent is missing: it is mistyped, or the home directory is not there.
fn refuse_base_out_of_nothing(base: &Path) -> Result<()> {
    let is_missing =
        |path: &Path| matches!(path.symlink_metadata(), Err(e) if e.kind() == ErrorKind::NotFound);
    if is_missing(base) && base.parent().is_some_and(is_missing) {
        let above = base.parent().unwrap_or(base).display();
        let base = base.display();
        let what = format!("the base {base} cannot be made: {above} does not exist");
        let hint = "CHECKPOINT_HOME or --base names another place; nothing was made";
        return Err(Error::new(Code::NO_PLACE_FOR_BASE, what).advise(hint));
    }
    Ok(())
}

/// Says that a store begins below a root whose checkpoints hold this one too, or, unless the
/// directory was named, below the top of a repository.
fn warn_below(context: &Context, dir: &Path) {
    if dir.exists() {
        return;
    }
    let root = context.root.path().to_path_buf();
    let warning = match context.root_above(true) {
        Some(above) => Some(Warning::BelowRoot { root, above }),
        None if context.is_named => None,
        None => {
            let top = context.root_search().repository_top(&root);
            top.map(|top| Warning::BelowTop { root, top })
        }
    };
    if let Some(warning) = warning {
        context.pending_warnings.add(warning);
    }
}

/// Refuses to bring other checkpoints into a directory that is merely a part of a repository and has
/// none: they are of the whole. `hint` has a place for the top.
///
/// # Errors
/// It is such a directory, and was not named.
pub fn refuse_below_top(context: &Context, hint: &'static str) -> Result<()> {
    let root = context.root.path();
    if context.is_named || !matches!(context.find_store(), Ok(None)) {
        return Ok(());
    }
    let Some(top) = context.root_search().repository_top(root) else {
        return Ok(());
    };
    let top_bytes = top.as_os_str().as_encoded_bytes();
    let (part, whole) = (escape_path(root), escape_path(&top));
    let what = format!("{part} is a part of the repository {whole}");
    Err(Error::usage(what).next(Sentence::new(hint, &[&top_bytes])))
}

/// Opens or creates the store unless the root is unsafe. `force` is needed only once: the store
/// remembers it.
fn open_store(context: &Context, force: bool) -> Result<Store> {
    let root = &context.root;
    let dir = context.store_dir()?;
    if !dir.exists() {
        // What the removal of a former one left.
        let _ = clear_leftovers(&dir);
    }
    let Some(why) = root.danger(&context.base, context.environment.account_home.as_deref()) else {
        refuse_base_out_of_nothing(&context.base)?;
        warn_below(context, &dir);
        return Store::open_or_create(dir, &context.description(false));
    };
    let known = Store::open(dir.clone())?.and_then(|store| store.description().ok()?);
    refuse_base_out_of_nothing(&context.base)?;
    if !force && !known.as_ref().is_some_and(|description| description.forced) {
        return Err(Error::unsafe_root(root.path(), &why));
    }
    let store = Store::open_or_create(dir, &context.description(true))?;
    if known.is_some_and(|description| !description.forced) {
        context.description(true).write(store.layout())?;
    }
    Ok(store)
}
