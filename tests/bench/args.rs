//! Command line of the benchmark.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Parser;

use crate::contender::Who;

/// Measures checkpoint against the shell recipe and its peers.
#[derive(Debug, Parser)]
#[command(name = "contest")]
pub struct Args {
    /// Which trees: a project, b 50,000 files, c 1 GB in 20 files, d 300,000 files
    #[arg(long, value_delimiter = ',', default_value = "a,b,c,d")]
    pub trees: Vec<char>,
    /// Which paths: cold, warm, ten, restore, prune, text, list, start, series
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "cold,warm,ten,restore,prune,text,list,start"
    )]
    pub paths: Vec<String>,
    /// Which contenders besides checkpoint and recipe: best, libgit2, stepback, restic
    #[arg(long, value_delimiter = ',')]
    pub only: Option<Vec<String>>,
    /// Runs of each row; small trees get more, slow contenders fewer
    #[arg(long, default_value_t = 5)]
    pub runs: usize,
    /// Where everything is made; it is never emptied
    #[arg(long)]
    pub work: Option<PathBuf>,
    /// Any directory as tree b
    #[arg(long)]
    pub tree_b: Option<PathBuf>,
    /// An installed `node_modules` of tree-b/package.json, so that nothing is downloaded
    #[arg(long)]
    pub npm_modules: Option<PathBuf>,
    /// Where `pip install --target DIR stepback` put it, if python does not find it by itself
    #[arg(long)]
    pub stepback: Option<PathBuf>,
    /// Small trees and two runs: a test of the benchmark itself, its times mean nothing
    #[arg(long)]
    pub small: bool,
    /// The figures as JSON too
    #[arg(long)]
    pub json: Option<PathBuf>,
    /// Given by cargo
    #[arg(long, hide = true)]
    pub bench: bool,
}

/// Every path there is.
const PATHS: [&str; 9] = [
    "cold", "warm", "ten", "restore", "prune", "text", "list", "start", "series",
];

impl Args {
    pub fn read() -> Result<Self> {
        let mut args = Self::parse();
        for tree in &args.trees {
            if !('a'..='d').contains(tree) {
                bail!("there is no tree {tree}: a, b, c, d");
            }
        }
        for path in &args.paths {
            if !PATHS.contains(&path.as_str()) {
                bail!("there is no path {path}: {}", PATHS.join(", "));
            }
        }
        for name in args.only.iter().flatten() {
            if !Who::ALL.iter().any(|who| who.name() == name) {
                bail!("there is no contender {name}");
            }
        }
        if args.small {
            args.runs = args.runs.min(2);
        }
        if args.runs == 0 {
            bail!("--runs is at least 1");
        }
        Ok(args)
    }

    pub fn wants(&self, path: &str) -> bool {
        self.paths.iter().any(|wanted| wanted == path)
    }

    /// Rounds of a row that takes milliseconds: enough of them for a steady median.
    pub fn quick_rounds(&self) -> usize {
        if self.small {
            self.runs
        } else {
            self.runs * 10
        }
    }

    /// Checkpoint and recipe always take part: each ratio needs both.
    pub fn admits(&self, who: Who) -> bool {
        let always = matches!(who, Who::Checkpoint | Who::Recipe | Who::Walk);
        always
            || self
                .only
                .as_ref()
                .is_none_or(|only| only.iter().any(|name| name == who.name()))
    }
}
