//! Times of the kernels: `cargo bench -p oneir-cpu -- [part of a name]`.

use std::sync::Arc;
use std::time::Instant;

use oneir_cpu::{CpuBackend, Kernels};
use oneir_ir::fast::{Activation, FastOp, LayerNorm, Linear, RmsNorm, Softmax};
use oneir_ir::primitive::ScanOp;
use oneir_ir::{Cut, Place, Primitive, Real, ReduceOp, UnaryOp, Value};
use oneir_runtime::{Device, DeviceOptions, Evaluated, Given, Numerics};
use oneir_tensor::{DType, HostTensor, Layout, Values};

/// What a run moves or computes.
enum Work {
    Bytes(f64),
    Flops(f64),
}

struct Bench {
    device: Device,
    filter: Option<String>,
    /// Whether the reference evaluation is what is measured.
    reference: bool,
}

impl Bench {
    fn run(&self, name: &str, work: Work, inputs: &[Evaluated], record: impl Fn(&[Value]) -> Value) {
        if self.filter.as_ref().is_some_and(|f| !name.contains(f.as_str())) {
            return;
        }
        let arguments: Vec<Value> = inputs.iter().map(|x| Value::placeholder(x.spec())).collect();
        let outputs = [record(&arguments)];
        let lifted = match Cut::new(&arguments, &outputs).lift() {
            Ok(lifted) => lifted,
            Err(why) => return println!("{name}: {why}"),
        };
        let given = inputs.iter().map(Given::of).collect();
        let executable = match self.device.executable(&lifted.graph, given) {
            Ok(executable) => executable,
            Err(why) => return println!("{name}: {why}"),
        };
        let kernels: Vec<&str> = executable.plan().launches.iter().map(|l| l.prepared.kernel).collect();
        if kernels.contains(&"reference") != self.reference {
            return println!("{name:34} runs {kernels:?}");
        }
        let mut times = Vec::new();
        let begin = Instant::now();
        while times.len() < 3 || (begin.elapsed().as_secs_f64() < 1.0 && times.len() < 200) {
            let start = Instant::now();
            if let Err(why) = executable.run(&self.device, inputs, None) {
                return println!("{name}: {why}");
            }
            times.push(start.elapsed().as_secs_f64());
        }
        times.sort_by(f64::total_cmp);
        let time = times[times.len() / 2];
        let rate = match work {
            Work::Bytes(bytes) => format!("{:8.1} GB/s", bytes / time / 1e9),
            Work::Flops(flops) => format!("{:8.1} GFLOP/s", flops / time / 1e9),
        };
        println!("{name:34} {:9.3} ms (least {:.3}) {rate}  {kernels:?}", time * 1e3, times[0] * 1e3);
    }

    fn random(&self, dtype: DType, shape: &[usize]) -> Evaluated {
        let count: usize = shape.iter().product();
        let mut state = 1u64;
        let numbers = (0..count)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 40) as f64 / f64::from(1 << 23) - 1.0
            })
            .collect();
        let host = HostTensor::from_values(dtype, shape, &Values::Float(numbers));
        match host.map_err(|e| e.to_string()).and_then(|h| self.device.put(&h).map_err(|e| e.to_string())) {
            Ok(value) => value,
            Err(why) => panic!("an input of a benchmark: {why}"),
        }
    }
}

fn one(primitive: Primitive, inputs: &[Value]) -> Value {
    match Value::record(primitive, &inputs.iter().collect::<Vec<_>>(), Place::Internal) {
        Ok(value) => value,
        Err(why) => panic!("a benchmark: {why}"),
    }
}

fn fast(op: impl Into<FastOp>, inputs: &[Value]) -> Value {
    one(Primitive::Fast(op.into()), inputs)
}

/// The chain of GELU by tanh.
fn gelu(x: &Value) -> Result<Value, oneir_ir::Invalid> {
    let cube = x.multiply(x)?.multiply(x)?;
    let inner = cube.multiply(&x.filled_like(0.044_715)?)?.add(x)?;
    let t = inner.multiply(&x.filled_like(0.797_884_56)?)?.unary(UnaryOp::Tanh)?;
    let half = x.multiply(&x.filled_like(0.5)?)?;
    half.multiply(&t.add(&x.filled_like(1.0)?)?)
}

fn main() {
    let filter = std::env::args().skip(1).find(|a| !a.starts_with('-'));
    let backend = Arc::new(CpuBackend::new(Kernels::All));
    let options = |numerics| DeviceOptions { numerics, ..DeviceOptions::default() };
    let device = Device::new("cpu", backend.clone(), options(Numerics::Fast));
    let exact = Bench {
        device: Device::new("cpu", backend, options(Numerics::Exact)),
        filter: filter.clone(),
        reference: false,
    };
    let bench = Bench { device, filter, reference: false };
    let f32 = DType::F32;
    let mega = f64::from(1 << 20);

    let x = bench.random(f32, &[16 << 20]);
    let flat = std::slice::from_ref(&x);
    bench.run("copy 16M", Work::Bytes(128.0 * mega), flat, |x| one(Primitive::Copy, x));
    bench.run("gelu chain 16M", Work::Bytes(128.0 * mega), flat, |x| {
        gelu(&x[0]).unwrap_or_else(|e| panic!("{e}"))
    });
    for op in [UnaryOp::Exp, UnaryOp::Log, UnaryOp::Tanh, UnaryOp::Sigmoid, UnaryOp::Erf, UnaryOp::Sin] {
        bench.run(&format!("{} 16M", op.name()), Work::Bytes(128.0 * mega), flat, |x| {
            one(Primitive::Unary(op), x)
        });
    }
    bench.run("add 16M", Work::Bytes(192.0 * mega), &[x.clone(), bench.random(f32, &[16 << 20])], |x| {
        one(Primitive::Binary(oneir_ir::BinaryOp::Add), x)
    });
    bench.run("sum 16M", Work::Bytes(64.0 * mega), flat, |x| {
        one(Primitive::Reduce { op: ReduceOp::Sum, axes: vec![0] }, x)
    });
    let square = Evaluated { layout: Layout::contiguous(&[4096, 4096]), ..x.clone() };
    let square = std::slice::from_ref(&square);
    for axis in [0, 1] {
        bench.run(&format!("sum 4096² axis {axis}"), Work::Bytes(64.0 * mega), square, |x| {
            one(Primitive::Reduce { op: ReduceOp::Sum, axes: vec![axis] }, x)
        });
        bench.run(&format!("max 4096² axis {axis}"), Work::Bytes(64.0 * mega), square, |x| {
            one(Primitive::Reduce { op: ReduceOp::Max, axes: vec![axis] }, x)
        });
        bench.run(&format!("softmax 4096² axis {axis}"), Work::Bytes(128.0 * mega), square, |x| {
            fast(Softmax { axis }, x)
        });
    }
    let transposed = |x: &[Value]| one(Primitive::Copy, &[one(Primitive::Transpose(vec![1, 0]), x)]);
    bench.run("transpose copy 4096²", Work::Bytes(128.0 * mega), square, transposed);
    bench.run("add of a transpose 4096²", Work::Bytes(192.0 * mega), square, |x| {
        let across = one(Primitive::Transpose(vec![1, 0]), x);
        one(Primitive::Binary(oneir_ir::BinaryOp::Add), &[x[0].clone(), across])
    });
    let eps = Real::new(1e-5);
    let rows = Evaluated { layout: Layout::contiguous(&[4096, 1024]), ..x.clone() };
    let weight = bench.random(f32, &[1024]);
    let norm = [rows, weight.clone(), weight];
    bench.run("layer norm 4096×1024", Work::Bytes(32.0 * mega), &norm, |x| fast(LayerNorm { eps }, x));
    bench.run("rms norm 4096×1024", Work::Bytes(32.0 * mega), &norm[..2], |x| fast(RmsNorm { eps }, x));

    for dtype in [DType::F32, DType::F64, DType::BF16] {
        let size = dtype.size().unwrap_or(1) as f64;
        let n = 1024;
        let (a, b) = (bench.random(dtype, &[n, n]), bench.random(dtype, &[n, n]));
        let flops = 2.0 * (n * n * n) as f64;
        let pair = [a, b];
        bench
            .run(&format!("matmul 1024³ {dtype}"), Work::Flops(flops), &pair, |x| one(Primitive::Matmul, x));
        exact.run_exact(&format!("matmul 1024³ {dtype}"), flops, &pair);
        let w = bench.random(dtype, &[4096, 4096]);
        let across =
            Evaluated { layout: w.layout.transpose(&[1, 0]).unwrap_or_else(|e| panic!("{e}")), ..w.clone() };
        for m in [1, 4, 16] {
            let x = bench.random(dtype, &[m, 4096]);
            for (name, w) in [("", &w), (" (B transposed)", &across)] {
                let name = format!("gemv {m}×4096² {dtype}{name}");
                bench.run(&name, Work::Bytes(16.0 * mega * size), &[x.clone(), w.clone()], |x| {
                    one(Primitive::Matmul, x)
                });
            }
        }
    }
    let w = bench.random(f32, &[4096, 4096]);
    let tall = [w.clone(), bench.random(f32, &[4096, 1])];
    bench.run("matvec 4096²×1", Work::Bytes(64.0 * mega), &tall, |x| one(Primitive::Matmul, x));
    for m in [32, 128] {
        let rows = [bench.random(f32, &[m, 4096]), w.clone()];
        let flops = 2.0 * m as f64 * 16.0 * mega;
        bench.run(&format!("matmul {m}×4096²"), Work::Flops(flops), &rows, |x| one(Primitive::Matmul, x));
        exact.run_exact(&format!("matmul {m}×4096²"), flops, &rows);
    }
    let many = [bench.random(f32, &[64, 128, 64]), bench.random(f32, &[64, 64, 128])];
    bench
        .run("matmul 64×128×64×128", Work::Flops(2.0 * 64.0 * mega), &many, |x| one(Primitive::Matmul, x));
    let layer =
        [bench.random(f32, &[512, 1024]), bench.random(f32, &[1024, 1024]), bench.random(f32, &[1024])];
    bench.run("linear relu 512×1024×1024", Work::Flops(1024.0 * mega), &layer, |x| {
        fast(Linear { activation: Activation::Relu }, x)
    });
    along_an_axis(&bench);
    for (kernels, reference) in [(Kernels::All, false), (Kernels::Reference, true)] {
        let backend = Arc::new(CpuBackend::with_threads(kernels, 1));
        let device = Device::new("cpu", backend, options(Numerics::Fast));
        along_an_axis(&Bench { device, filter: bench.filter.clone(), reference });
    }
}

/// Sorting and running sums, as `scripts/bench_axis.py` reads them.
fn along_an_axis(bench: &Bench) {
    let long = bench.random(DType::F32, &[1_000_000]);
    let square = Evaluated { layout: Layout::contiguous(&[1000, 1000]), ..long.clone() };
    let threads = bench.device.backend().threads();
    let on = if bench.reference { "reference".to_owned() } else { format!("threads {threads}") };
    let sum = |axis| Primitive::Scan { op: ScanOp::Sum, axis, reverse: false, inclusive: true };
    for (shape, axis, x) in [("1M", 0, &long), ("1000² axis 0", 0, &square), ("1000² axis 1", 1, &square)] {
        for (name, primitive) in [
            ("sort", Primitive::Sort { axis }),
            ("argsort", Primitive::ArgSort { axis }),
            ("cumsum", sum(axis)),
        ] {
            let name = format!("axis: {name} {shape}, {on}");
            bench.run(&name, Work::Bytes(8e6), std::slice::from_ref(x), |x| one(primitive.clone(), x));
        }
    }
}

impl Bench {
    /// A product with fixed sums, on this bench's device.
    fn run_exact(&self, name: &str, flops: f64, pair: &[Evaluated]) {
        let own: Vec<Evaluated> =
            pair.iter().map(|x| Evaluated { device: self.device.clone(), ..x.clone() }).collect();
        self.run(&format!("{name} exact"), Work::Flops(flops), &own, |x| one(Primitive::Matmul, x));
    }
}
