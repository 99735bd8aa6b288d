//! Files that nobody's exporter wrote: refused or read, never a panic, and
//! never more memory than they justify.

use oneir_onnx::proto::attribute_proto::AttributeType;
use oneir_onnx::proto::*;
use oneir_onnx::{AttributeValue, ElemType, Graph, OnnxError, OnnxFile, TensorData};
use prost::Message;

use crate::build::*;

/// A model with some of everything.
fn everything() -> ModelProto {
    let sparse = SparseTensorProto {
        values: Some(floats("s", &[2], &[5.0, 6.0])),
        indices: Some(longs(&[2, 2], &[0, 1, 1, 2])),
        dims: vec![2, 3],
    };
    let mut words = raw(ElemType::String, &[2], &[]);
    words.string_data = vec![b"a".to_vec(), b"b".to_vec()];
    words.name = Some("words".into());
    let mut packed = raw(ElemType::Int4, &[3], &[0x12, 0x03]);
    packed.name = Some("packed".into());
    let mut aside = raw(ElemType::Float, &[2], &[]);
    aside.name = Some("aside".into());
    aside.data_location = Some(1);
    aside.external_data = vec![entry("location", "w"), entry("offset", "0"), entry("length", "8")];

    let body = graph(&[], vec![node("Add", "", &["x", "w"], &["t"])], &["t"]);
    let choice = with(node("If", "choice", &["x"], &["p"]), graph_attribute("then_branch", body));
    let mut called = with(node("F", "", &["p"], &["y"]), int("axis", 1));
    called.domain = Some("own".into());
    let constant = with(node("Constant", "", &[], &["c"]), tensor_attribute("value", longs(&[1], &[3])));
    let mut g = graph(&["x"], vec![called, choice, constant], &["y", "c"]);
    g.initializer = vec![floats("w", &[2], &[1.0, 2.0]), words, packed, aside];
    g.sparse_initializer = vec![sparse];
    g.input[0].r#type = Some(TypeProto {
        denotation: None,
        value: Some(type_proto::Value::SequenceType(Box::new(type_proto::Sequence {
            elem_type: Some(Box::new(TypeProto {
                denotation: None,
                value: Some(type_proto::Value::TensorType(type_proto::Tensor {
                    elem_type: Some(1),
                    shape: Some(TensorShapeProto { dim: vec![Default::default(); 2] }),
                })),
            })),
        }))),
    });

    let mut m = model(g);
    m.functions = vec![FunctionProto {
        name: Some("F".into()),
        domain: Some("own".into()),
        input: vec!["a".into()],
        output: vec!["b".into()],
        attribute: vec!["axis".into()],
        node: vec![with(node("Elu", "", &["a"], &["b"]), reference("axis", "axis", AttributeType::Int))],
        ..Default::default()
    }];
    m.metadata_props = vec![entry("k", "v")];
    m
}

/// Reads whatever the model lets one read.
fn read_all(file: &OnnxFile) {
    read_graph(file, &file.graph);
    for function in &file.functions {
        read_graph(file, &function.body);
    }
}

fn read_graph(file: &OnnxFile, graph: &Graph) {
    let read = |t: &TensorData| {
        let _ = (t.to_host(), t.strings(), t.dtype(), format!("{t:?}"));
    };
    graph.initializers.iter().for_each(|(_, t)| read(t));
    for node in &graph.nodes {
        if let Some(function) = file.function(node) {
            function.bind(node);
        }
        for (_, value) in node.attributes.iter() {
            match value {
                AttributeValue::Tensor(t) | AttributeValue::SparseTensor(t) => read(t),
                AttributeValue::Tensors(t) | AttributeValue::SparseTensors(t) => t.iter().for_each(read),
                AttributeValue::Graph(g) => read_graph(file, g),
                AttributeValue::Graphs(g) => g.iter().for_each(|g| read_graph(file, g)),
                _ => {}
            }
        }
    }
}

fn try_bytes(bytes: Vec<u8>) -> bool {
    match OnnxFile::from_bytes(bytes, None) {
        Ok(file) => {
            read_all(&file);
            true
        }
        Err(e) => {
            assert!(!e.to_string().is_empty());
            false
        }
    }
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}

#[test]
fn truncated_models_are_refused_or_read() {
    for bytes in [everything().encode_to_vec(), crate::models::mlp_bytes()] {
        assert!(try_bytes(bytes.clone()));
        for end in 0..bytes.len() {
            try_bytes(bytes[..end].to_vec());
        }
    }
}

#[test]
fn models_with_flipped_bytes_are_refused_or_read() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let bytes = everything().encode_to_vec();
    let mut read = 0;
    for _ in 0..20_000 {
        let mut flipped = bytes.clone();
        for _ in 0..=random.below(4) {
            let at = random.below(flipped.len());
            flipped[at] = match random.below(3) {
                0 => flipped[at] ^ (1 << random.below(8)),
                1 => 0xff,
                _ => random.next() as u8,
            };
        }
        read += usize::from(try_bytes(flipped));
    }
    assert!((1..20_000).contains(&read));
}

#[test]
fn models_with_parts_moved_are_refused_or_read() {
    let mut random = Random(42);
    let bytes = everything().encode_to_vec();
    for _ in 0..5_000 {
        let mut moved = bytes.clone();
        let (from, len) = (random.below(bytes.len()), random.below(40));
        let part = bytes[from..bytes.len().min(from + len)].to_vec();
        let at = random.below(moved.len());
        let end = moved.len().min(at + random.below(40));
        moved.splice(at..end, part);
        try_bytes(moved);
    }
}

#[test]
fn other_files_are_no_models() {
    assert!(matches!(OnnxFile::from_bytes(vec![], None), Err(OnnxError::NoGraph)));
    for text in ["plain text\n", "\x7fELF\x02\x01\x01", "{\"a\": 1}", "PK\x03\x04"] {
        let error = OnnxFile::from_bytes(text.as_bytes().to_vec(), None).unwrap_err();
        assert!(error.to_string().starts_with("not an ONNX model"), "{error}");
    }
    let overlong = [&[0x08][..], &[0xff; 10]].concat();
    let error = OnnxFile::from_bytes(overlong, None).unwrap_err();
    assert_eq!(error.to_string(), "not an ONNX model: a number of more than 64 bits at byte 1");
    let endless = vec![0x3a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0x00];
    let error = OnnxFile::from_bytes(endless, None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "not an ONNX model: a field that goes past the end of its message at byte 0"
    );
}

fn field(number: u8, payload: Vec<u8>) -> Vec<u8> {
    let mut bytes = vec![number << 3 | 2];
    prost::encoding::encode_varint(payload.len() as u64, &mut bytes);
    bytes.extend(payload);
    bytes
}

#[test]
fn many_empty_messages_are_refused_before_they_take_memory() {
    let empty_attributes = [5 << 3 | 2, 0].repeat(4 << 20);
    let bomb = field(7, field(1, empty_attributes));
    let size = bomb.len();
    let error = OnnxFile::from_bytes(bomb, None).unwrap_err();
    assert!(
        matches!(error, OnnxError::Bomb { file, needed } if file == size && needed > 64 * size),
        "{error}"
    );
}

#[test]
fn names_that_pass_through_many_graphs_are_counted() {
    let names: Vec<String> = (0..100_000).map(|i| i.to_string()).collect();
    let mut g = graph(&[], vec![], &["o"]);
    g.node = vec![NodeProto { input: names, ..node("Op", "", &[], &["o"]) }];
    for _ in 0..25 {
        g = graph(&[], vec![with(node("If", "", &[], &["o"]), graph_attribute("b", g))], &["o"]);
    }
    let error = open_graph(g).unwrap_err();
    assert!(matches!(error, OnnxError::Bomb { .. }), "{error}");
}

#[test]
fn deep_messages_are_refused_before_they_take_stack() {
    let mut graph = Vec::new();
    for _ in 0..20_000 {
        graph = field(1, field(5, field(6, graph)));
    }
    let error = OnnxFile::from_bytes(field(7, graph), None).unwrap_err();
    assert!(matches!(error, OnnxError::TooDeep { .. }), "{error}");

    let mut ty = Vec::new();
    for _ in 0..20_000 {
        ty = field(4, field(1, ty));
    }
    let input = field(11, field(2, ty));
    let error = OnnxFile::from_bytes(field(7, input), None).unwrap_err();
    assert!(matches!(error, OnnxError::TooDeep { .. }), "{error}");
}

#[test]
fn sparse_tensors_share_one_allowance() {
    let sparse = |i: usize| SparseTensorProto {
        values: Some(floats(&format!("s{i}"), &[1], &[1.0])),
        indices: Some(longs(&[1], &[0])),
        dims: vec![4 << 20],
    };
    let mut g = graph(&["x"], vec![], &["x"]);
    g.sparse_initializer = (0..3).map(sparse).collect();
    open_graph(g.clone()).unwrap();
    g.sparse_initializer = (0..200).map(sparse).collect();
    assert!(refusal(g).contains("are left of what the file's size justifies"));
}
