//! The options of those commands that can answer with a contract.

/// Flattened into `create` and `restore`.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct ContractArgs {
    /// Answer with a document that proves what was done
    #[arg(long)]
    pub contract: bool,
    /// Of that document [default: yaml]
    #[arg(long, value_name = "FORMAT", requires = "contract")]
    pub format: Option<Format>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    Yaml,
    Json,
}
