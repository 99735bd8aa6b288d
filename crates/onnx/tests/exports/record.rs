//! Models with their inputs and results in a file, for engines that are not ours.

use std::collections::BTreeMap;
use std::path::PathBuf;

use oneir_io::safetensors;
use oneir_onnx::Exported;
use oneir_tensor::{DType, HostTensor};

/// Where `scripts/test` has the files put.
const FOLDER: &str = "ONEIR_EXPORTS";

/// Models under way to a file; nothing where no one asks for them.
pub(crate) struct Recorder {
    path: Option<PathBuf>,
    tensors: Vec<(String, HostTensor)>,
    models: usize,
}

impl Recorder {
    pub(crate) fn new(name: &str) -> Recorder {
        let folder = std::env::var_os(FOLDER).map(PathBuf::from);
        let path = folder.map(|folder| folder.join(format!("{name}.safetensors")));
        Recorder { path, tensors: Vec::new(), models: 0 }
    }

    pub(crate) fn add(&mut self, exported: &Exported, inputs: &[HostTensor], results: &[HostTensor]) {
        if self.path.is_none() {
            return;
        }
        let bytes = exported.to_bytes().unwrap();
        let model = HostTensor::from_slice(&[bytes.len()], &bytes).unwrap();
        let number = self.models;
        self.models += 1;
        self.tensors.push((format!("{number}/model"), model));
        for (kind, all) in [("input", inputs), ("output", results)] {
            for (i, x) in all.iter().enumerate() {
                // Elements below a byte have no place in the file.
                let x = if x.dtype().bits() < 8 { x.cast(DType::F32).unwrap() } else { x.clone() };
                self.tensors.push((format!("{number}/{kind}_{i}"), x));
            }
        }
    }

    pub(crate) fn finish(self) {
        let Some(path) = self.path else { return };
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        safetensors::write(&path, &self.tensors, &BTreeMap::new()).unwrap();
    }
}
