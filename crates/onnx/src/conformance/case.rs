use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use oneir_array::Device;

use super::compare::{Rule, differs};
use super::randomness::random_outputs;
use super::verdict::DataFault;
use super::{ConformanceError, Difference, Refusal, Verdict, value};
use crate::file::not_a_file;
use crate::{Model, Term, ValueInfo};

/// One case: a model with its data sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// The folder's path from where the search began, with `/`.
    pub name: String,
    /// The folder.
    pub folder: PathBuf,
}

/// How a model is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Traced to graphs first: [`Model::call_on`].
    Traced,
    /// Node by node: [`Model::eager`].
    Eager,
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Way::Traced => "traced",
            Way::Eager => "eager",
        })
    }
}

impl Case {
    /// The case in a folder.
    pub fn at(folder: impl Into<PathBuf>) -> Case {
        let folder = folder.into();
        let name = folder.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        Case { name, folder }
    }

    /// All cases below a folder, sorted by name. Links to folders are not
    /// followed.
    ///
    /// # Errors
    /// When a folder cannot be read, or there is no case.
    pub fn find(folder: &Path) -> Result<Vec<Case>, ConformanceError> {
        let mut cases = Vec::new();
        if is_case(folder) {
            cases.push(Case::at(folder));
            if !data_sets(folder).map_err(unreadable(folder))?.is_empty() {
                return Ok(cases);
            }
        }
        let mut open = vec![(String::new(), folder.to_owned())];
        while let Some((name, folder)) = open.pop() {
            for (inner, path) in folders(&folder).map_err(unreadable(&folder))? {
                let name = if name.is_empty() { inner } else { format!("{name}/{inner}") };
                if is_case(&path) {
                    cases.push(Case { name: name.clone(), folder: path.clone() });
                }
                // A case may stand beside others, but not in a data set.
                if !is_case(&path) || data_sets(&path).is_ok_and(|sets| sets.is_empty()) {
                    open.push((name, path));
                }
            }
        }
        if cases.is_empty() {
            return Err(ConformanceError::NoCases { path: folder.to_owned() });
        }
        cases.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(cases)
    }

    /// Runs every data set on each device, in each way, and compares the
    /// outputs.
    pub fn run(&self, devices: &[Device], ways: &[Way]) -> Verdict {
        self.verdict(devices, ways).unwrap_or_else(Verdict::Refused)
    }

    fn verdict(&self, devices: &[Device], ways: &[Way]) -> Result<Verdict, Refusal> {
        let refused = |source| Refusal::Model { source: Box::new(source) };
        let model = Model::open(self.folder.join("model.onnx")).map_err(refused)?;
        let mut random = false;
        let no_sets = |fault| Refusal::Data { file: "test_data_set_0".into(), fault };
        let sets = data_sets(&self.folder).map_err(|e| no_sets(DataFault::Io { source: Arc::new(e) }))?;
        let (inputs, outputs) = (model.inputs().len(), model.outputs().len());
        // A model that takes and gives nothing has nothing to be wrong.
        if sets.is_empty() && inputs + outputs > 0 {
            return Err(no_sets(DataFault::NoSets { inputs, outputs }));
        }
        for set in &sets {
            for device in devices {
                for way in ways {
                    match self.set(&model, set, device, *way)? {
                        Verdict::Pass => {}
                        Verdict::Random => random = true,
                        other => return Ok(other),
                    }
                }
            }
        }
        Ok(if random { Verdict::Random } else { Verdict::Pass })
    }

    fn set(&self, model: &Model, set: &str, device: &Device, way: Way) -> Result<Verdict, Refusal> {
        let graph = &model.file().graph;
        // A data set need not give what has a default. One that does gives all.
        let required = model.inputs();
        let given_all = self.folder.join(set).join(file("input", required.len())).exists();
        let takes = if given_all { graph.inputs.iter().collect() } else { required };
        // Read anew for each run: what one knows must not leak into the next.
        let inputs = self.values(set, "input", takes)?;
        let expected = self.values(set, "output", model.outputs().iter().collect())?;
        if expected.len() < graph.outputs.len() {
            let missing = (0..).find(|k| !self.folder.join(set).join(file("output", *k)).exists());
            return Err(Refusal::Data {
                file: format!("{set}/{}", file("output", missing.unwrap_or(0))),
                fault: DataFault::Missing { outputs: graph.outputs.len() },
            });
        }
        let random = random_outputs(model.file(), &inputs);
        let exact = Rule::of(model.file());
        let arguments: Vec<(&str, Term)> = inputs.iter().map(|(n, v)| (n.as_str(), v.clone())).collect();
        let refused =
            |source| Refusal::Run { device: device.name().to_owned(), way, source: Box::new(source) };
        let outputs = match way {
            Way::Traced => model.call_on(device, &arguments),
            Way::Eager => model.eager(device, &arguments),
        }
        .map_err(refused)?;
        for (output, right) in &expected {
            let difference = match outputs.iter().find(|(name, _)| name == output) {
                None => Some(Difference::Missing),
                Some((_, found)) => {
                    let rule = random.get(output).map_or(exact, |range| Rule::Random(*range));
                    differs(device, found, right, rule).map_err(refused)?
                }
            };
            if let Some(difference) = difference {
                let (device, output) = (device.name().to_owned(), output.clone());
                return Ok(Verdict::Wrong { device, way, output, difference });
            }
        }
        Ok(if random.is_empty() { Verdict::Pass } else { Verdict::Random })
    }

    /// The values of one kind that a data set has, under their names.
    fn values(
        &self,
        set: &str,
        stem: &'static str,
        declared: Vec<&ValueInfo>,
    ) -> Result<Vec<(String, Term)>, Refusal> {
        let count = declared.len();
        let refused = |k, fault| Refusal::Data { file: format!("{set}/{}", file(stem, k)), fault };
        let io = |e| DataFault::Io { source: Arc::new(e) };
        let found = numbered(&self.folder.join(set), stem)
            .map_err(|e| Refusal::Data { file: set.into(), fault: io(e) })?;
        if let Some((_, name)) = found.iter().find(|(k, _)| k.is_none_or(|k| k >= count)) {
            let fault = DataFault::Surplus { stem, count };
            return Err(Refusal::Data { file: format!("{set}/{name}"), fault });
        }
        let mut values = Vec::new();
        for (k, name) in found {
            let Some((k, info)) = k.and_then(|k| Some((k, declared.get(k)?))) else { continue };
            let path = self.folder.join(set).join(name);
            let metadata = path.metadata().map_err(|e| refused(k, io(e)))?;
            // Opening a pipe would wait for its other end.
            if let Some(found) = not_a_file(&metadata) {
                return Err(refused(k, DataFault::NotAFile { found }));
            }
            let value = value::read(&path, &info.ty).map_err(|fault| refused(k, fault))?;
            values.push((info.name.clone(), value));
        }
        Ok(values)
    }
}

fn file(stem: &str, k: usize) -> String {
    format!("{stem}_{k}.pb")
}

/// What a data set has of one kind, by number, as names say it: `None` where
/// `stem_K.pb` has no number for a K that a model could have.
fn numbered(set: &Path, stem: &str) -> io::Result<Vec<(Option<usize>, String)>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(set)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let number = name.strip_prefix(stem).and_then(|rest| rest.strip_prefix('_')?.strip_suffix(".pb"));
        if let Some(number) = number {
            let k = number.parse().ok().filter(|&k| file(stem, k) == name);
            found.push((k, name));
        }
    }
    found.sort();
    Ok(found)
}

/// Whether a folder has a model. A folder of that name, or a pipe, is one that
/// cannot be read.
fn is_case(folder: &Path) -> bool {
    let model = folder.join("model.onnx");
    model.symlink_metadata().is_ok()
        && (!model.is_dir() || data_sets(folder).is_ok_and(|sets| !sets.is_empty()))
}

fn unreadable(folder: &Path) -> impl FnOnce(io::Error) -> ConformanceError {
    let path = folder.to_owned();
    move |source| ConformanceError::Io { path, source }
}

/// The names of a case's data sets, sorted.
fn data_sets(folder: &Path) -> io::Result<Vec<String>> {
    let inner = folders(folder)?.into_iter().map(|(name, _)| name);
    Ok(inner.filter(|name| name.starts_with("test_data_set_")).collect())
}

/// Names and paths of the folders in a folder, sorted.
fn folders(folder: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            found.push((entry.file_name().to_string_lossy().into_owned(), entry.path()));
        }
    }
    found.sort();
    Ok(found)
}
