//! Recorded cases: one safetensors file per operation, whose metadata holds
//! what the tensors are for.

use std::collections::BTreeMap;
use std::path::Path;

use oneir_array::{Array, HostTensor};
use serde_json::Value;

/// The cases of one operation.
pub(crate) struct Cases {
    pub(crate) cases: Vec<Case>,
    /// How results are compared, by dtype: exactly where nothing is said.
    pub(crate) compare: BTreeMap<String, Rule>,
    pub(crate) kind: Value,
}

/// How far a result may be from the one wanted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Rule {
    /// The same bits; all NaN are alike.
    Exact,
    /// So many representable numbers away.
    Ulps(u64),
    /// So far away, against the largest number of the result.
    Scale(f64),
}

/// One call and what comes of it.
pub(crate) struct Case {
    pub(crate) args: Vec<Value>,
    inputs: Vec<(HostTensor, String, Vec<usize>)>,
    /// Nothing where the call must be refused.
    pub(crate) wanted: Option<Vec<HostTensor>>,
    pub(crate) dtype: String,
    pub(crate) scale: f64,
    pub(crate) kind: Option<Value>,
}

impl Cases {
    pub(crate) fn read(file: &Path) -> Cases {
        let contents = oneir_io::safetensors::read(file).unwrap();
        let tensors: BTreeMap<String, HostTensor> = contents.tensors.into_iter().collect();
        let manifest: Value = serde_json::from_str(&contents.metadata["manifest"]).unwrap();
        let rule = |v: &Value| match (v[0].as_str(), v[1].as_f64()) {
            (Some("ulps"), Some(n)) => Rule::Ulps(n as u64),
            (Some("scale"), Some(x)) => Rule::Scale(x),
            _ => panic!("a rule {v}"),
        };
        let compare = manifest["compare"].as_object().unwrap();
        let tensor = |name: &Value| tensors[name.as_str().unwrap()].clone();
        let case = |v: &Value| Case {
            args: v["args"].as_array().unwrap().clone(),
            inputs: listed(&v["inputs"])
                .iter()
                .map(|input| (tensor(&input[0]), input[1].as_str().unwrap().to_owned(), sizes(&input[2])))
                .collect(),
            wanted: v["outputs"].as_array().map(|names| names.iter().map(tensor).collect()),
            dtype: v["dtype"].as_str().unwrap().to_owned(),
            scale: v["scale"].as_f64().unwrap_or(0.0),
            kind: v.get("kind").cloned(),
        };
        Cases {
            cases: listed(&manifest["cases"]).iter().map(case).collect(),
            compare: compare.iter().map(|(dtype, v)| (dtype.clone(), rule(v))).collect(),
            kind: manifest["kind"].clone(),
        }
    }
}

fn listed(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn sizes(value: &Value) -> Vec<usize> {
    listed(value).iter().map(|n| n.as_u64().unwrap() as usize).collect()
}

impl Case {
    /// The operands, each a view of what is stored.
    pub(crate) fn given(&self) -> Vec<Array> {
        self.inputs.iter().map(|(base, layout, shape)| viewed(base, layout, shape)).collect()
    }

    /// The operands as they are seen.
    pub(crate) fn operands(&self) -> Vec<HostTensor> {
        self.given().iter().map(|x| x.to_host().unwrap()).collect()
    }

    /// One of them.
    pub(crate) fn seen(&self, k: usize) -> HostTensor {
        self.given()[k].to_host().unwrap()
    }

    /// The call in one line.
    pub(crate) fn shown(&self) -> String {
        let inputs: Vec<String> = self
            .inputs
            .iter()
            .map(|(base, layout, _)| format!("{}{:?} {layout}", base.dtype(), base.shape().to_vec()))
            .collect();
        format!("({}) of {}", Value::from(self.args.clone()), inputs.join(", "))
    }
}

/// The view of a stored tensor that its layout says.
fn viewed(base: &HostTensor, layout: &str, shape: &[usize]) -> Array {
    let x = Array::from_host(base.clone());
    let rank = base.rank();
    let all = base.shape().to_vec();
    match layout {
        "plain" => x,
        "transposed" => x.transpose((0..rank as isize).rev().collect::<Vec<_>>()),
        "reversed" => {
            let last: Vec<usize> = all.iter().map(|n| n.saturating_sub(1)).collect();
            x.strided_slice(&last, &vec![-1; rank], &all)
        }
        "spread" => {
            let (mut step, mut len) = (vec![1; rank], all);
            (step[rank - 1], len[rank - 1]) = (2, len[rank - 1] / 2);
            x.strided_slice(&vec![0; rank], &step, &len)
        }
        "broadcast" => x.broadcast_to(shape),
        "offset" => {
            let (mut start, mut len) = (vec![0; rank], all);
            (start[0], len[0]) = (1, len[0] - 1);
            x.strided_slice(&start, &vec![1; rank], &len)
        }
        other => panic!("layout {other}"),
    }
}
