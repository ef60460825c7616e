//! `checkpoint schema`.

/// Print the JSON Schema of a document
#[derive(Debug, clap::Args)]
pub struct SchemaArgs {
    /// Which document [default: their names]
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
}
