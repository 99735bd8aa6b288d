//! What the command line takes.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use oneir::passes::PASSES;

use crate::conformance::ConformanceArgs;

/// Runs ONNX models, and shows what becomes of them
///
/// `oneir run` alone shows that it works: a small model that comes with the
/// command reads handwritten digits.
#[derive(Debug, Parser)]
#[command(name = "oneir", version, after_help = EXIT_CODES, after_long_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 when all went well, 1 when something failed, 2 when the command line is wrong.
Results go to the standard output, all else to the standard error.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Runs a model and prints or saves its outputs
    ///
    /// Without a model, a small one that comes with the command reads
    /// handwritten digits.
    #[command(after_long_help = RUN_EXAMPLES)]
    Run(RunArgs),
    /// Shows a model: what its file says, and the graph and plan made of it
    Inspect(InspectArgs),
    /// Measures a model: times of loading and running, memory, each kind of op
    ///
    /// Inputs that are not given are random, with 1 for each open size.
    Bench(BenchArgs),
    /// Explains how inputs are written
    #[command(long_about = INPUTS)]
    Inputs,
    /// Prints a script that completes this command's words in a shell
    ///
    /// For bash: oneir completions bash > ~/.local/share/bash-completion/completions/oneir
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Runs cases in the layout of the standard's own tests
    ///
    /// A case is a folder with model.onnx and test_data_set_0/input_0.pb,
    /// output_0.pb and so on. One without a data set, or with more files than the
    /// model has inputs or outputs, is refused. The exit code is 1 when a result
    /// is wrong or a case takes its process down.
    Conformance(ConformanceArgs),
    /// Lists the ONNX operators that are there, with the versions at which each
    /// changed
    Operators,
}

const RUN_EXAMPLES: &str = "\
Examples:
  oneir run
  oneir run model.onnx --input x=random:1x3x224x224
  oneir run model.onnx --input image=cat.png --top 5 --labels classes.txt
  oneir run model.onnx --inputs all.npz --save outputs.safetensors --time
  oneir run model.onnx --input x=0 --output scores --full";

/// How inputs are written.
pub(crate) const INPUTS: &str = include_str!("inputs.txt");

/// The model and what it is given.
#[derive(Debug, Args)]
pub(crate) struct GivenArgs {
    /// The ONNX file
    pub(crate) model: Option<PathBuf>,

    /// One input, as a value or a file; NAME= may be left out for the only one
    ///
    /// A value is a number, a nested list such as [[1,2],[3,4]], or one of
    /// zeros, ones and random, with a shape or without: random:2x3.
    /// A file is .npy, .npz or .safetensors with one tensor, a picture (.png, .jpg,
    /// .bmp, .tif, .webp, .jp2, .pnm and its like) or a sound (.wav).
    /// picture,size=224:FILE and the like say how a file is read.
    /// `oneir help inputs` explains all forms, with examples.
    #[arg(long, value_name = "NAME=VALUE|NAME=FILE", allow_negative_numbers = true, verbatim_doc_comment)]
    pub(crate) input: Vec<String>,

    /// A .npz or .safetensors file with the inputs under their names
    #[arg(long, value_name = "FILE")]
    pub(crate) inputs: Option<PathBuf>,

    /// The seed of random inputs: the same one gives the same numbers
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub(crate) seed: u64,

    /// The device: cpu (unless named), cpu-exact (sums in a fixed order),
    /// cpu-unfused, cpu-reference (no fast kernels) or mock
    #[arg(long, value_name = "NAME")]
    pub(crate) device: Option<String>,

    /// The most threads that the device may use
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,

    /// Writes the time of each launch as a Chrome trace, for ui.perfetto.dev
    #[arg(long, value_name = "FILE")]
    pub(crate) profile: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) given: GivenArgs,

    /// Prints or saves this output only; may be given again for more of them
    #[arg(long, value_name = "NAME")]
    pub(crate) output: Vec<String>,

    /// Prints all values, however many there are
    ///
    /// Without it, of long outputs the least, the mean, the largest and some of
    /// the values are printed.
    #[arg(long, conflicts_with_all = ["top", "labels", "softmax", "save", "quiet"], verbatim_doc_comment)]
    pub(crate) full: bool,

    /// Saves the outputs under their names (.npz, .safetensors; .npy for one)
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,

    /// Prints the NUMBER largest of each row instead of all values
    #[arg(long, value_name = "NUMBER")]
    pub(crate) top: Option<NonZeroUsize>,

    /// Names for the places in a row: a line each, or JSON
    ///
    /// JSON is a list of names, or an object of names by place, such as
    /// {"0": "cat"}; FILE#KEY is what an object in a file has under a key, as
    /// in config.json#id2label. metadata:KEY takes the lines that the model's
    /// file has under a key. Without --top, the 5 largest are printed. A note
    /// says so where there are fewer names than places, or more.
    #[arg(long, value_name = "FILE", verbatim_doc_comment)]
    pub(crate) labels: Option<String>,

    /// Turns each row into probabilities before the largest are taken
    #[arg(long)]
    pub(crate) softmax: bool,

    /// Prints rows as a text of --labels: the largest of each, as CTC has it
    ///
    /// Place 0 of a row is a blank, which parts letters that repeat; labels count
    /// from place 1, and a place past the last is a space.
    #[arg(long, requires = "labels", conflicts_with_all = ["top", "softmax"], verbatim_doc_comment)]
    pub(crate) ctc: bool,

    /// Prints times to the standard error: loading, first run, further runs
    #[arg(long)]
    pub(crate) time: bool,

    /// Says on the standard error how files become inputs
    #[arg(long, short, conflicts_with = "quiet")]
    pub(crate) verbose: bool,

    /// Prints no outputs and no notes
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    #[command(flatten)]
    pub(crate) given: GivenArgs,

    /// How many runs are measured; as many as fit a second or two otherwise
    #[arg(long, value_name = "NUMBER")]
    pub(crate) runs: Option<NonZeroUsize>,

    /// Prints the figures as JSON
    #[arg(long)]
    pub(crate) json: bool,
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

    /// The device: cpu (unless named), cpu-exact (sums in a fixed order),
    /// cpu-unfused, cpu-reference (no fast kernels) or mock
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
