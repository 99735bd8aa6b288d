//! Changes to a model that keep its file readable: what libFuzzer does to bytes
//! seldom leaves the lengths in it right.

use std::sync::LazyLock;

use oneir_onnx::proto::{AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto};
use prost::Message;

/// Small numbers, and those at which arithmetic breaks.
const NUMBERS: &[i64] = &[
    0,
    1,
    2,
    3,
    4,
    5,
    7,
    8,
    11,
    13,
    16,
    17,
    64,
    100,
    255,
    1000,
    65536,
    -1,
    -2,
    -3,
    -4,
    -100,
    1 << 20,
    1 << 31,
    1 << 32,
    1 << 40,
    i64::MAX,
    i64::MIN,
    i64::MIN + 1,
    i32::MAX as i64,
    i32::MIN as i64,
];
const FLOATS: &[f32] = &[
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    2.0,
    1e-30,
    1e30,
    -1e30,
    f32::MAX,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
];

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        if n == 0 { 0 } else { (self.next() % n as u64) as usize }
    }

    fn of<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        all.get(self.below(all.len()))
    }

    fn number(&mut self, was: i64) -> i64 {
        match self.below(4) {
            0 => was.wrapping_add(self.below(5) as i64 - 2),
            1 => self.below(6) as i64 - 1,
            _ => NUMBERS[self.below(NUMBERS.len())],
        }
    }
}

/// The file with one or a few things changed; `None` where it cannot be read.
pub(crate) fn model(bytes: &[u8], seed: u32) -> Option<Vec<u8>> {
    let mut random = Random(seed.into());
    let mut model = ModelProto::decode(bytes).ok()?;
    for _ in 0..=random.below(3) {
        if random.below(12) == 0 {
            let version = random.below(27) as i64;
            let domain = ["", "ai.onnx.ml", "ai.onnx.preview.training"][random.below(3)].to_owned();
            match model.opset_import.first_mut() {
                Some(first) if domain.is_empty() => first.version = Some(version),
                _ => model.opset_import.push(oneir_onnx::proto::OperatorSetIdProto {
                    domain: Some(domain),
                    version: Some(version.min(5)),
                }),
            }
        } else if !model.functions.is_empty() && random.below(3) == 0 {
            let at = random.below(model.functions.len());
            nodes(&mut model.functions[at].node, &[], &mut random);
        } else if let Some(main) = &mut model.graph {
            graph(main, &[], &mut random);
        }
    }
    Some(model.encode_to_vec())
}

fn graph(graph: &mut GraphProto, outer: &[String], random: &mut Random) {
    match random.below(10) {
        0 | 1 if !graph.initializer.is_empty() => {
            let at = random.below(graph.initializer.len());
            tensor(&mut graph.initializer[at], random);
        }
        2 if !graph.input.is_empty() => {
            use oneir_onnx::proto::{TensorShapeProto, tensor_shape_proto, type_proto::Value};
            let at = random.below(graph.input.len());
            let ty = graph.input[at].r#type.as_mut().and_then(|t| t.value.as_mut());
            let Some(Value::TensorType(ty)) = ty else { return };
            match random.below(4) {
                0 => ty.elem_type = Some(random.below(27) as i32),
                1 => {
                    let shape = ty.shape.get_or_insert_with(TensorShapeProto::default);
                    shape.dim.push(size(random));
                }
                2 => {
                    if let Some(shape) = &mut ty.shape {
                        shape.dim.pop();
                    }
                }
                _ => {
                    if let Some(shape) = &mut ty.shape
                        && !shape.dim.is_empty()
                    {
                        let at = random.below(shape.dim.len());
                        shape.dim[at] = size(random);
                    }
                }
            }
            fn size(random: &mut Random) -> tensor_shape_proto::Dimension {
                let n = [0, 1, 2, 3, 4, 5, 8, 16, 33, -1, 1 << 40][random.below(11)];
                tensor_shape_proto::Dimension {
                    denotation: None,
                    value: Some(tensor_shape_proto::dimension::Value::DimValue(n)),
                }
            }
        }
        3 => {
            // An input becomes a stored tensor, whose value is known.
            let count = random.below(4);
            let Some(name) = random.of(&graph.input).and_then(|i| i.name.clone()) else { return };
            if graph.initializer.iter().any(|t| t.name.as_deref() == Some(&*name)) {
                return;
            }
            let elem = [7, 7, 6, 1, 9][random.below(5)];
            let mut data = TensorProto { name: Some(name), data_type: Some(elem), ..TensorProto::default() };
            if random.below(3) > 0 {
                data.dims = vec![count as i64];
            }
            let count = if data.dims.is_empty() { 1 } else { count };
            match elem {
                7 => data.int64_data = (0..count).map(|_| random.number(1)).collect(),
                1 => data.float_data = (0..count).map(|_| FLOATS[random.below(FLOATS.len())]).collect(),
                _ => data.int32_data = (0..count).map(|_| random.below(3) as i32).collect(),
            }
            let name = data.name.clone();
            graph.initializer.push(data);
            if random.below(2) == 0 {
                graph.input.retain(|i| i.name != name);
            }
        }
        4 => {
            let made: Vec<String> = graph.node.iter().flat_map(|n| n.output.iter().cloned()).collect();
            let name = random.of(&made).cloned();
            if let Some(name) = name {
                graph
                    .output
                    .push(oneir_onnx::proto::ValueInfoProto { name: Some(name), ..Default::default() });
            }
        }
        _ => {
            let mut names: Vec<String> = outer.to_vec();
            names.extend(graph.input.iter().filter_map(|i| i.name.clone()));
            names.extend(graph.initializer.iter().filter_map(|i| i.name.clone()));
            nodes(&mut graph.node, &names, random);
        }
    }
}

fn nodes(nodes: &mut Vec<NodeProto>, outer: &[String], random: &mut Random) {
    if nodes.is_empty() {
        return;
    }
    let mut names = outer.to_vec();
    names.extend(nodes.iter().flat_map(|n| n.input.iter().chain(&n.output).cloned()));
    let at = random.below(nodes.len());
    match random.below(12) {
        0 => {
            // One more node, which reads what an old one makes.
            let mut more = nodes[at].clone();
            if random.below(2) == 0 {
                operator(&mut more, random);
            }
            if let (Some(input), Some(output)) = (more.input.first_mut(), more.output.first()) {
                *input = output.clone();
            }
            for output in &mut more.output {
                *output = format!("{output}'");
            }
            nodes.push(more);
        }
        1 => operator(&mut nodes[at], random),
        2 if !nodes[at].input.is_empty() => {
            let slot = random.below(nodes[at].input.len());
            nodes[at].input[slot] = if random.below(4) == 0 {
                String::new()
            } else {
                random.of(&names).cloned().unwrap_or_default()
            };
        }
        3 => nodes[at].input.push(random.of(&names).cloned().unwrap_or_default()),
        4 => {
            nodes[at].input.pop();
        }
        5 => {
            let mine = nodes[at].output.len();
            if random.below(3) == 0 {
                nodes[at].output.pop();
            } else {
                nodes[at].output.push(format!("{}{mine}", names.len()));
            }
        }
        6 if !nodes[at].attribute.is_empty() => {
            let slot = random.below(nodes[at].attribute.len());
            nodes[at].attribute.remove(slot);
        }
        _ => {
            if nodes[at].attribute.is_empty() || random.below(8) == 0 {
                let name =
                    ["axis", "axes", "keepdims", "to", "pads", "strides", "dilations", "group", "mode"];
                let name = name[random.below(9)].to_owned();
                let plain = AttributeProto { name: Some(name), ..AttributeProto::default() };
                let value = random.number(0);
                nodes[at].attribute.push(if random.below(2) == 0 {
                    AttributeProto { r#type: Some(2), i: Some(value), ..plain }
                } else {
                    AttributeProto { r#type: Some(7), ints: vec![value; 1 + random.below(4)], ..plain }
                });
                return;
            }
            let slot = random.below(nodes[at].attribute.len());
            attribute(&mut nodes[at].attribute[slot], &names, random);
        }
    }
}

fn operator(node: &mut NodeProto, random: &mut Random) {
    static ALL: LazyLock<Vec<(&str, &str)>> =
        LazyLock::new(|| oneir_onnx::operators().map(|(domain, name, _)| (domain, name)).collect());
    if let Some((domain, name)) = random.of(&ALL) {
        node.domain = Some((*domain).to_owned());
        node.op_type = Some((*name).to_owned());
    }
}

fn attribute(attribute: &mut AttributeProto, names: &[String], random: &mut Random) {
    if let Some(i) = &mut attribute.i {
        *i = random.number(*i);
    }
    if attribute.f.is_some() {
        attribute.f = Some(FLOATS[random.below(FLOATS.len())]);
    }
    list(&mut attribute.ints, random, |was, random| random.number(was));
    list(&mut attribute.floats, random, |_, random| FLOATS[random.below(FLOATS.len())]);
    if let Some(text) = &mut attribute.s {
        let words: &[&[u8]] = &[
            b"",
            b"nearest",
            b"linear",
            b"cubic",
            b"SAME_UPPER",
            b"SAME_LOWER",
            b"VALID",
            b"reflect",
            b"edge",
            b"wrap",
            b"constant",
            b"bidirectional",
            b"reverse",
            b"ij,jk->ik",
            b"...ii->...i",
            b"sum",
            b"mean",
            b"none",
            b"align_corners",
            b"asymmetric",
            b"tf_crop_and_resize",
            b"add",
            b"mul",
            b"\xff",
            b"(",
        ];
        *text = words[random.below(words.len())].to_vec();
    }
    if let Some(data) = &mut attribute.t {
        tensor(data, random);
    }
    if let Some(inner) = &mut attribute.g {
        graph(inner, names, random);
    }
}

fn list<T: Copy + Default>(all: &mut Vec<T>, random: &mut Random, change: impl Fn(T, &mut Random) -> T) {
    if all.is_empty() {
        return;
    }
    match random.below(6) {
        0 => {
            all.pop();
        }
        1 => {
            let last = all.last().copied().unwrap_or_default();
            all.push(last);
        }
        _ => {
            let at = random.below(all.len());
            all[at] = change(all[at], random);
        }
    }
}

fn tensor(data: &mut TensorProto, random: &mut Random) {
    match random.below(6) {
        0 => data.data_type = Some(random.below(28) as i32),
        1 => list(&mut data.dims, random, |was, random| random.number(was)),
        2 if data.dims.iter().all(|&n| n == 1) => {
            if data.dims.pop().is_none() {
                data.dims.push(1);
            }
        }
        _ => {
            list(&mut data.int64_data, random, |was, random| random.number(was));
            list(&mut data.int32_data, random, |was, random| random.number(was.into()) as i32);
            list(&mut data.float_data, random, |_, random| FLOATS[random.below(FLOATS.len())]);
            if let Some(stored) = &mut data.raw_data {
                let mut raw = stored.to_vec();
                if data.data_type == Some(7) && raw.len() >= 8 {
                    let at = random.below(raw.len() / 8) * 8;
                    raw[at..at + 8].copy_from_slice(&random.number(1).to_le_bytes());
                } else if !raw.is_empty() {
                    let at = random.below(raw.len());
                    raw[at] = random.next() as u8;
                }
                *stored = raw.into();
            }
        }
    }
}
