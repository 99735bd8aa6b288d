//! Trains readers of handwritten digits, from the pictures to an ONNX file.
//!
//! ```sh
//! python3 scripts/digits.py        # 10,000 pictures in target/digits.npz
//! cargo run --release --example digits -- cnn
//! ```
//!
//! A network is a tree of arrays. One step of training (random distortions, the loss,
//! its gradient, AdamW) is one compiled function that writes the parameters and their
//! averages in place. The last 2,000 pictures of a fixed permutation are held out: they
//! are only read to measure.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use oneir::array::Traced;
use oneir::array::transforms::leaves;
use oneir::ir::Spec;
use oneir::onnx::{ExportOptions, Exported, export};
use oneir::{
    Array, ArrayError, DType, Tree, array, compile, compile_mut, fast, files, random, value_and_grad,
};

const SIDE: usize = 28;
const CLASSES: usize = 10;
const HELD_OUT: usize = 2000;
const BATCH: usize = 100;
/// How many of the held-out pictures are saved.
const SHOWN: usize = 16;
/// The seed of the permutation that splits the pictures.
const SPLIT: u64 = 0;

/// What reads digits: from pictures `[N, 28, 28]` of 0 to 1 to logits `[N, 10]`.
trait Reader: Tree {
    const NAME: &'static str;
    const EPOCHS: usize;
    const RATE: f64;

    fn new() -> Self;

    /// With noise that helps training, or without.
    fn logits(&self, x: &Array, training: bool) -> Array;
}

/// A product with weights, and what is added.
#[derive(Clone, Tree)]
struct Affine {
    weight: Array,
    bias: Array,
}

impl Affine {
    /// Weights `shape` spread by how many inputs meet in one output (He et al. 2015).
    fn new(shape: &[usize], outputs: usize) -> Affine {
        let inputs = shape.iter().product::<usize>() / outputs;
        let spread = (2.0 / inputs as f64).sqrt();
        Affine {
            weight: random::normal(shape, DType::F32, 0, spread, None),
            bias: Array::zeros(&[outputs], DType::F32),
        }
    }

    fn dense(inputs: usize, outputs: usize) -> Affine {
        Affine::new(&[inputs, outputs], outputs)
    }

    fn times(&self, x: &Array) -> Array {
        x.matmul(&self.weight) + &self.bias
    }
}

fn relu(x: &Array) -> Array {
    x.maximum(0)
}

/// Some of x at random, scaled so that the expected value stays (Srivastava et al. 2014).
fn dropout(x: &Array, share: f64, training: bool) -> Array {
    if !training {
        return x.clone();
    }
    let kept = random::bernoulli(1.0 - share, Some(&x.shape()), None);
    kept.where_(x / (1.0 - share), 0)
}

/// Layers of products.
#[derive(Clone, Tree)]
struct Mlp {
    layers: Vec<Affine>,
}

impl Reader for Mlp {
    const NAME: &'static str = "mlp";
    const EPOCHS: usize = 150;
    const RATE: f64 = 1e-3;

    fn new() -> Mlp {
        let sizes = [SIDE * SIDE, 512, 256, CLASSES];
        Mlp { layers: sizes.windows(2).map(|pair| Affine::dense(pair[0], pair[1])).collect() }
    }

    fn logits(&self, x: &Array, training: bool) -> Array {
        let x = x.flatten(1, -1);
        let last = self.layers.len() - 1;
        self.layers.iter().enumerate().fold(x, |x, (k, layer)| {
            let y = layer.times(&x);
            if k < last { dropout(&relu(&y), 0.1, training) } else { y }
        })
    }
}

/// Convolutions, then layers of products.
#[derive(Clone, Tree)]
struct Cnn {
    near: Affine,
    wide: Affine,
    hidden: Affine,
    out: Affine,
}

impl Reader for Cnn {
    const NAME: &'static str = "cnn";
    const EPOCHS: usize = 30;
    const RATE: f64 = 2e-3;

    fn new() -> Cnn {
        let features = (SIDE / 4) * (SIDE / 4) * 32;
        Cnn {
            near: Affine::new(&[16, 5, 5, 1], 16),
            wide: Affine::new(&[32, 3, 3, 16], 32),
            hidden: Affine::dense(features, 64),
            out: Affine::dense(64, CLASSES),
        }
    }

    fn logits(&self, x: &Array, training: bool) -> Array {
        // Pictures have their channels last.
        let x = halved(&relu(&(x.expand_dims(-1).conv2d(&self.near.weight, 1, 2, 1, 1) + &self.near.bias)));
        let x = halved(&relu(&(x.conv2d(&self.wide.weight, 1, 1, 1, 1) + &self.wide.bias)));
        let x = dropout(&x.flatten(1, -1), 0.2, training);
        self.out.times(&relu(&self.hidden.times(&x)))
    }
}

/// The largest of every two by two places of `[N, H, W, C]`.
fn halved(x: &Array) -> Array {
    let shape = x.shape();
    let [_, h, w, c] = shape[..] else { return x.clone() };
    x.reshape(&[-1, h as isize / 2, 2, w as isize / 2, 2, c as isize]).max([2, 4], false)
}

/// Pictures turned, zoomed, sheared and moved at random, each in its own way.
fn distorted(x: &Array) -> Array {
    let n = x.shape()[0];
    let draw = |most: f64| random::uniform(-most, most, &[n, 1, 1], DType::F32, None);
    let (turn, zoom_x, zoom_y, shear) = (draw(0.2), draw(0.12) + 1, draw(0.12) + 1, draw(0.2));
    let (right, down) = (draw(2.0), draw(2.0));
    let middle = (SIDE as f64 - 1.0) / 2.0;
    let along = Array::arange(SIDE, DType::F32) - middle;
    let (x0, y0) = (along.reshape(&[1, 1, SIDE as isize]), along.reshape(&[1, SIDE as isize, 1]));
    let from_x = (turn.cos() * &x0 + turn.sin() * &y0) * zoom_x + shear * &y0 + right + middle;
    let from_y = (turn.cos() * &y0 - turn.sin() * &x0) * zoom_y + down + middle;
    // Between the four places around.
    let (left, top) = (from_x.floor(), from_y.floor());
    let (part_x, part_y) = (&from_x - &left, &from_y - &top);
    let flat = x.reshape(&[n as isize, (SIDE * SIDE) as isize]);
    let place = |up: &Array, more: i32| (up + more).maximum(0).minimum((SIDE - 1) as i32);
    let look = |down: i32, right: i32| {
        let at = place(&top, down) * SIDE as i32 + place(&left, right);
        let at = at.astype(DType::I32).reshape(&[n as isize, (SIDE * SIDE) as isize]);
        flat.take_along_axis(&at, 1).reshape(&x.shape().iter().map(|&k| k as isize).collect::<Vec<_>>())
    };
    let upper = look(0, 0) * (1 - &part_x) + look(0, 1) * &part_x;
    let lower = look(1, 0) * (1 - &part_x) + look(1, 1) * &part_x;
    upper * (1 - &part_y) + lower * &part_y
}

/// The mean loss against labels, with some belief left to other classes (Szegedy et al. 2016).
fn loss<R: Reader>(reader: &R, x: &Array, labels: &Array) -> Array {
    const LEFT: f64 = 0.05;
    let logits = reader.logits(x, true);
    let log_p = &logits - logits.logsumexp(-1, true);
    let chosen = fast::cross_entropy(&logits, labels).mean(.., false);
    chosen * (1.0 - LEFT) - log_p.mean(.., false) * LEFT
}

/// Parameters with what AdamW (Loshchilov & Hutter 2019) knows of their gradients.
#[derive(Clone, Tree)]
struct Training<R> {
    reader: R,
    mean: R,
    square: R,
}

/// How far a step goes.
#[derive(Clone, Tree)]
struct Pace {
    /// The rate of learning.
    rate: Array,
    /// How many steps there were, this one counted.
    step: Array,
}

impl<R: Reader> Training<R> {
    fn new() -> Training<R> {
        let reader = R::new();
        let zeros = || reader.with_leaves(&mut leaves(&reader).iter().map(|p| p.zeros_like(None)));
        Training { mean: zeros(), square: zeros(), reader: reader.clone() }
    }

    fn adamw(&mut self, gradient: &R, pace: &Pace) {
        const FIRST: f64 = 0.9;
        const SECOND: f64 = 0.999;
        const DECAY: f64 = 0.02;
        const SMALL: f64 = 1e-8;
        let correct = |keep: f64| 1 - (&pace.step * keep.ln()).exp();
        let (first, second) = (correct(FIRST), correct(SECOND));
        let (mut readers, mut means, mut squares) = (vec![], vec![], vec![]);
        let now = leaves(&self.reader).into_iter().zip(leaves(&self.mean)).zip(leaves(&self.square));
        for (((p, mean), square), g) in now.zip(leaves(gradient)) {
            let mean = mean * FIRST + &g * (1.0 - FIRST);
            let square = square * SECOND + g.square() * (1.0 - SECOND);
            let step = (&mean / &first) / ((&square / &second).sqrt() + SMALL);
            // What is only added does not shrink.
            let decay = if p.ndim() > 1 { DECAY } else { 0.0 };
            readers.push(&p - (step + &p * decay) * &pace.rate);
            means.push(mean);
            squares.push(square);
        }
        self.reader = self.reader.with_leaves(&mut readers.into_iter());
        self.mean = self.mean.with_leaves(&mut means.into_iter());
        self.square = self.square.with_leaves(&mut squares.into_iter());
    }
}

/// The pictures, of 0 to 1, and their labels: to train with and held out.
struct Data {
    train: (Array, Array),
    test: (Array, Array),
}

fn data(path: &Path) -> Result<Data, ArrayError> {
    let named: BTreeMap<String, Array> = files::load_all(path)?.into_iter().collect();
    let pictures = named["images"].astype(DType::F32) / 255;
    let labels = named["labels"].astype(DType::I32);
    let count = labels.shape()[0];
    let order = random::permutation(count as i32, 0, Some(&random::key(SPLIT)));
    let part = |x: &Array, from: usize, to: usize| x.take(order.narrow(0, from, to - from), 0);
    let split = count - HELD_OUT;
    let data = Data {
        train: (part(&pictures, 0, split), part(&labels, 0, split)),
        test: (part(&pictures, split, count), part(&labels, split, count)),
    };
    oneir::eval(&[data.train.0.clone(), data.train.1.clone(), data.test.0.clone(), data.test.1.clone()])?;
    Ok(data)
}

/// What a run came to: the loss and the share of right answers after each epoch.
struct Run<R> {
    reader: R,
    losses: Vec<f64>,
    right: Vec<f64>,
}

fn train<R: Reader>(data: &Data, seed: u64, epochs: usize) -> Result<Run<R>, ArrayError> {
    random::seed(seed);
    let mut training = Training::<R>::new();
    let step = compile_mut(|training: &mut Training<R>, (x, labels, pace): &(Array, Array, Pace)| {
        let x = distorted(x);
        let (loss, gradient) = value_and_grad(|reader: &R| loss(reader, &x, labels))(&training.reader);
        training.adamw(&gradient, pace);
        loss
    });
    let right = compile(|(reader, x, labels): &(R, Array, Array)| {
        reader.logits(x, false).argmax(-1, false).equal(labels).astype(DType::F32).mean(.., false)
    });
    let (x, labels) = &data.train;
    let steps = x.shape()[0] / BATCH;
    let (mut losses, mut shares) = (Vec::new(), Vec::new());
    for epoch in 0..epochs {
        let order = random::permutation(x.shape()[0] as i32, 0, None);
        let mut sum = 0.0;
        for k in 0..steps {
            let chosen = order.narrow(0, k * BATCH, BATCH);
            let done = (epoch * steps + k) as f64 / (epochs * steps) as f64;
            // Up in the first twentieth, then down along a cosine.
            let share = (done * 20.0).min(1.0) * 0.5 * (1.0 + (done * std::f64::consts::PI).cos());
            let pace =
                Pace { rate: array!((R::RATE * share) as f32), step: array!((epoch * steps + k + 1) as f32) };
            let batch = (x.take(&chosen, 0), labels.take(&chosen, 0), pace);
            sum += f64::from(step(&mut training, &batch).item::<f32>()?);
        }
        let (test, answers) = &data.test;
        let share = right(&(training.reader.clone(), test.clone(), answers.clone())).item::<f32>()?;
        losses.push(sum / steps as f64);
        shares.push(f64::from(share));
        eprintln!(
            "{} seed {seed} epoch {:3}: loss {:.4}, right {:.2} %",
            R::NAME,
            epoch + 1,
            sum / steps as f64,
            share * 100.0
        );
    }
    Ok(Run { reader: training.reader, losses, right: shares })
}

/// What the command asks for.
struct Wanted {
    reader: String,
    data: PathBuf,
    out: PathBuf,
    seeds: Vec<u64>,
    epochs: Option<usize>,
}

const USAGE: &str = "usage: digits cnn|mlp [--data FILE.npz] [--out FOLDER] [--seeds 0,1,2] [--epochs N]";

fn wanted() -> Result<Wanted, String> {
    let mut wanted = Wanted {
        reader: String::new(),
        data: "target/digits.npz".into(),
        out: "target/digits".into(),
        seeds: vec![0],
        epochs: None,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value; {USAGE}"));
        let number = |text: &str| text.parse().map_err(|_| format!("{text} is no number; {USAGE}"));
        match word.as_str() {
            "cnn" | "mlp" => wanted.reader = word,
            "--data" => wanted.data = value()?.into(),
            "--out" => wanted.out = value()?.into(),
            "--epochs" => wanted.epochs = Some(number(&value()?)? as usize),
            "--seeds" => wanted.seeds = value()?.split(',').map(number).collect::<Result<_, _>>()?,
            other => return Err(format!("{other} is not known; {USAGE}")),
        }
    }
    if wanted.reader.is_empty() { Err(USAGE.into()) } else { Ok(wanted) }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let wanted = wanted()?;
    let data = data(&wanted.data).map_err(|e| format!("{e}; scripts/digits.py makes the pictures"))?;
    match wanted.reader.as_str() {
        "mlp" => train_all::<Mlp>(&data, &wanted),
        _ => train_all::<Cnn>(&data, &wanted),
    }
}

fn train_all<R: Reader>(data: &Data, wanted: &Wanted) -> Result<(), Box<dyn std::error::Error>> {
    std::fs::create_dir_all(&wanted.out)?;
    // Some that were held out, to look at.
    let shown = (data.test.0.narrow(0, 0, SHOWN) * 255).round(0).astype(DType::U8);
    files::save(wanted.out.join("pictures.npy"), &shown)?;
    let mut runs = Vec::new();
    for &seed in &wanted.seeds {
        runs.push(train::<R>(data, seed, wanted.epochs.unwrap_or(R::EPOCHS))?);
    }
    let last: Vec<f64> = runs.iter().filter_map(|run| run.right.last().copied()).collect();
    let mean = last.iter().sum::<f64>() / last.len().max(1) as f64;
    println!("{}: {:.2} % of {HELD_OUT} held out, mean of {} seeds", R::NAME, mean * 100.0, last.len());
    let curves: Vec<(&[f64], &[f64])> = runs.iter().map(|run| (&run.losses[..], &run.right[..])).collect();
    std::fs::write(wanted.out.join(format!("{}.svg", R::NAME)), svg(R::NAME, &curves))?;
    std::fs::write(wanted.out.join(format!("{}.json", R::NAME)), json(R::NAME, &wanted.seeds, &curves))?;
    if let Some(first) = runs.first() {
        let model = exported(&first.reader)?;
        println!("operators: {}", model.operators().join(", "));
        model.save(wanted.out.join(format!("{}.onnx", R::NAME)))?;
    }
    Ok(())
}

/// The network as a model of any number of pictures of 0 to 255.
fn exported<R: Reader>(reader: &R) -> Result<Exported, Box<dyn std::error::Error>> {
    let pixels = Traced::argument(Spec::new(DType::F32, [2, SIDE, SIDE]));
    let probabilities = reader.logits(&(&pixels / 255), false).softmax(-1);
    let label = probabilities.argmax(-1, false).astype(DType::I64);
    let traced = Traced::new(&[pixels], &[label, probabilities])?;
    let options =
        ExportOptions::new().graph("digits").inputs(&["pixels"]).outputs(&["label", "probabilities"]);
    let weights = leaves(reader).into_iter().enumerate();
    let options =
        weights.fold(options.batch("N"), |all, (k, weight)| all.weight(&weight, &format!("parameter_{k}")));
    Ok(export(&traced, &options)?)
}

/// The shares of right answers as a picture: a line for each run.
fn svg(name: &str, curves: &[(&[f64], &[f64])]) -> String {
    const WIDTH: f64 = 640.0;
    const HEIGHT: f64 = 360.0;
    const EDGE: f64 = 48.0;
    const COLOURS: [&str; 3] = ["#1f6feb", "#d1242f", "#1a7f37"];
    let epochs = curves.iter().map(|(_, right)| right.len()).max().unwrap_or(1).max(2);
    let low = curves.iter().flat_map(|(_, right)| right.iter().skip(1)).fold(0.98f64, |low, &r| low.min(r));
    let low = (low * 100.0).floor() / 100.0;
    let across = |epoch: usize| EDGE + (WIDTH - 2.0 * EDGE) * epoch as f64 / (epochs - 1) as f64;
    let up = |share: f64| HEIGHT - EDGE - (HEIGHT - 2.0 * EDGE) * (share.max(low) - low) / (1.0 - low);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n\
         <text x=\"{EDGE}\" y=\"24\">{name}: right answers on held-out digits, by epoch</text>\n"
    );
    let lines = ((1.0 - low) * 100.0).round() as usize;
    for k in 0..=lines {
        let share = low + k as f64 / 100.0;
        let (y, right) = (up(share), WIDTH - EDGE);
        _ = writeln!(out, "<line x1=\"{EDGE}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#ddd\"/>");
        _ = writeln!(out, "<text x=\"8\" y=\"{:.1}\">{:.0} %</text>", y + 4.0, share * 100.0);
    }
    for (k, (_, right)) in curves.iter().enumerate() {
        let points: Vec<String> =
            right.iter().enumerate().map(|(e, &r)| format!("{:.1},{:.1}", across(e), up(r))).collect();
        let colour = COLOURS[k % COLOURS.len()];
        _ = writeln!(out, "<polyline fill=\"none\" stroke=\"{colour}\" points=\"{}\"/>", points.join(" "));
    }
    out + "</svg>\n"
}

/// All figures, for pages that tell of them.
fn json(name: &str, seeds: &[u64], curves: &[(&[f64], &[f64])]) -> String {
    let list = |all: &[f64]| all.iter().map(|x| format!("{x:.5}")).collect::<Vec<_>>().join(", ");
    let run = |(seed, (losses, right)): (&u64, &(&[f64], &[f64]))| {
        format!("    {{\"seed\": {seed}, \"loss\": [{}], \"right\": [{}]}}", list(losses), list(right))
    };
    let runs: Vec<String> = seeds.iter().zip(curves).map(run).collect();
    format!(
        "{{\n  \"network\": \"{name}\",\n  \"held_out\": {HELD_OUT},\n  \"runs\": [\n{}\n  ]\n}}\n",
        runs.join(",\n")
    )
}
