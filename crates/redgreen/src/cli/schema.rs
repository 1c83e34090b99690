//! `redgreen schema`.

use anyhow::Result;

use super::CommandContext;
use crate::failure::Code;
use crate::ops::schema;

/// Print the JSON Schema of an input file or of JSON output
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  redgreen schema spec > spec.schema.json")]
pub(super) struct Args {
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(schema::SCHEMAS.iter().map(|(name, _)| *name)))]
    name: String,
}

impl Args {
    pub(super) fn perform(&self, desk: &CommandContext) -> Result<Code> {
        desk.printer.raw(schema::schema(&self.name).unwrap_or_default());
        Ok(Code::Done)
    }
}
