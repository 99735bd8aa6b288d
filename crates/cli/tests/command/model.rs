//! Models of one node, written field by field.

use crate::Folder;

pub(crate) const FLOAT: u8 = 1;
pub(crate) const UINT8: u8 = 2;
pub(crate) const INT16: u8 = 5;
pub(crate) const INT32: u8 = 6;
pub(crate) const INT64: u8 = 7;
pub(crate) const STRING: u8 = 8;

fn varint(mut n: usize) -> Vec<u8> {
    let mut out = Vec::new();
    while n > 0x7f {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
    out
}

/// A protobuf field with a length.
pub(crate) fn field(number: u8, content: &[u8]) -> Vec<u8> {
    [&[number << 3 | 2][..], &varint(content.len()), content].concat()
}

pub(crate) fn number(field: u8, value: usize) -> Vec<u8> {
    [&[field << 3][..], &varint(value)].concat()
}

/// A value's name and type; an open size is 0.
pub(crate) fn value(name: &str, elem: u8, dims: &[usize]) -> Vec<u8> {
    let size = |&n: &usize| if n == 0 { field(1, &field(2, b"n")) } else { field(1, &number(1, n)) };
    let shape: Vec<u8> = dims.iter().flat_map(size).collect();
    let tensor = [number(1, elem.into()), field(2, &shape)].concat();
    [field(1, name.as_bytes()), field(2, &field(1, &tensor))].concat()
}

/// The file of a graph with one node `fold`, which gives `y`, and a list of
/// letters beside it.
pub(crate) fn one_node(operator: &str, reads: &[&str], inputs: &[Vec<u8>], output: &[u8]) -> Vec<u8> {
    let mut node: Vec<u8> = reads.iter().flat_map(|name| field(1, name.as_bytes())).collect();
    node.extend([field(2, b"y"), field(3, b"fold"), field(4, operator.as_bytes())].concat());
    let mut graph = [field(1, &node), field(2, b"folding")].concat();
    graph.extend(inputs.iter().flat_map(|input| field(11, input)));
    graph.extend(field(12, output));
    let metadata = [field(1, b"letters"), field(2, b"a\nb")].concat();
    [number(1, 8), field(7, &graph), field(8, &number(2, 17)), field(14, &metadata)].concat()
}

/// y = x, of a type and shape.
pub(crate) fn identity(folder: &Folder, elem: u8, dims: &[usize]) -> String {
    let name = format!("identity_{elem}_{}.onnx", dims.iter().map(|n| format!("{n}_")).collect::<String>());
    let path = folder.file(&name);
    let model = one_node("Identity", &["x"], &[value("x", elem, dims)], &value("y", elem, dims));
    std::fs::write(&path, model).unwrap();
    path
}
