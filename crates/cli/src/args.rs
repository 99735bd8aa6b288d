//! What the command line takes.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use oneir::passes::PASSES;

use crate::conformance::{ConformanceArgs, WorkerArgs};

/// Runs ONNX models, and shows what becomes of them.
#[derive(Debug, Parser)]
#[command(name = "oneir", version)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Runs a model and prints or saves its outputs
    ///
    /// Without a model, a small one that comes with the command reads
    /// handwritten digits.
    Run(RunArgs),
    /// Shows a model: what its file says, and the graph and plan made of it
    Inspect(InspectArgs),
    /// Runs cases in the layout of the standard's own tests
    ///
    /// A case is a folder with model.onnx and test_data_set_0/input_0.pb,
    /// output_0.pb and so on. The exit code is 1 when a result is wrong or a
    /// case takes its process down.
    Conformance(ConformanceArgs),
    /// Lists the ONNX operators that are there, with the versions at which each
    /// changed
    Operators,
    #[command(hide = true)]
    ConformanceWorker(WorkerArgs),
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The ONNX file
    pub(crate) model: Option<PathBuf>,

    /// One input, as a value or a file
    ///
    /// A value is a number, a nested list such as [[1,2],[3,4]], or one of
    /// zeros, ones and random with a shape, such as zeros:2x3 (without one, the
    /// declared shape with 1 for each open size). Values get the declared
    /// type, and repeat to the declared shape. A file is .npy, or .npz or
    /// .safetensors with one tensor. NAME= may be left out when the model
    /// takes one input.
    #[arg(long, value_name = "NAME=VALUE|NAME=FILE", requires = "model", verbatim_doc_comment)]
    pub(crate) input: Vec<String>,

    /// A .npz or .safetensors file with the inputs under their names
    #[arg(long, value_name = "FILE", requires = "model")]
    pub(crate) inputs: Option<PathBuf>,

    /// Saves the outputs under their names (.npz, .safetensors; .npy for one)
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,

    /// The device that runs the model
    #[arg(long, value_name = "NAME")]
    pub(crate) device: Option<String>,

    /// Where the numbers of random inputs begin
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub(crate) seed: u64,

    /// Prints times to the standard error: loading, first run, further runs
    #[arg(long)]
    pub(crate) time: bool,

    /// Prints no outputs
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// The ONNX file
    pub(crate) model: PathBuf,

    /// Prints the report as JSON
    #[arg(long, conflicts_with_all = ["graph", "dump"])]
    pub(crate) json: bool,

    /// Prints the optimised graph instead
    #[arg(long, value_name = "FORM", conflicts_with = "dump")]
    pub(crate) graph: Option<GraphForm>,

    /// Prints the graph as it is after a pass, as text
    #[arg(long, value_name = "PASS", value_parser = PossibleValuesParser::new(dumps()))]
    pub(crate) dump: Option<String>,

    /// The shape of an input; open sizes are 1 where it is not given
    #[arg(long, value_name = "NAME=2x3", value_parser = named_shape)]
    pub(crate) shape: Vec<(String, Vec<usize>)>,

    /// The device that the plan is made for
    #[arg(long, value_name = "NAME")]
    pub(crate) device: Option<String>,
}

/// How a graph is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GraphForm {
    /// A picture
    Svg,
    /// For Graphviz
    Dot,
    /// The text form, which reads back as the same graph
    Text,
}

/// The graph before all passes, as `--dump` calls it.
pub(crate) const LIFTED: &str = "lifted";

fn dumps() -> Vec<&'static str> {
    std::iter::once(LIFTED).chain(PASSES).collect()
}

fn named_shape(text: &str) -> Result<(String, Vec<usize>), String> {
    let Some((name, sizes)) = text.rsplit_once('=').filter(|(name, _)| !name.is_empty()) else {
        return Err("expected the input's name, `=` and a shape such as 2x3".into());
    };
    let shape = parse_shape(sizes)
        .ok_or_else(|| format!("expected sizes with `x` between them, such as 2x3, found `{sizes}`"))?;
    Ok((name.to_owned(), shape))
}

/// Sizes with `x` between them; nothing is the shape of a single value.
pub(crate) fn parse_shape(text: &str) -> Option<Vec<usize>> {
    if text.is_empty() {
        return Some(Vec::new());
    }
    text.split('x').map(|size| size.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn shapes_are_sizes_with_x_between() {
        assert_eq!(parse_shape("2x30"), Some(vec![2, 30]));
        assert_eq!(parse_shape(""), Some(vec![]));
        for wrong in ["2x", "x", "-1", "2,3", "99999999999999999999"] {
            assert_eq!(parse_shape(wrong), None, "{wrong}");
        }
        assert_eq!(named_shape("a=b=2x3"), Ok(("a=b".into(), vec![2, 3])));
        assert!(named_shape("2x3").is_err());
        assert!(named_shape("=2x3").is_err());
    }
}
