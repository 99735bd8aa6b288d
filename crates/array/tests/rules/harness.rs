//! What is compared for one function of arrays.

use oneir_array::{Array, DType, Device, HostTensor, eval_on, grad, jvp, vjp, vmap_over};
use oneir_cpu as _;
use oneir_runtime::Runtime;

/// Numbers that look random: the same seed gives the same.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5851_F42D_4C95_7F2D);
        random.below(2);
        random
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        ((self.0 >> 33) as usize) % n
    }

    pub(crate) fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    /// An array of numbers within ±1.
    pub(crate) fn array(&mut self, shape: &[usize], dtype: DType) -> Array {
        let count = shape.iter().product();
        let numbers: Vec<f64> = (0..count).map(|_| self.below(20_000) as f64 / 10_000.0 - 1.0).collect();
        Array::from_slice(&numbers, shape).astype(dtype)
    }

    fn like(&mut self, arrays: &[Array]) -> Vec<Array> {
        arrays.iter().map(|x| self.array(&x.shape(), x.dtype())).collect()
    }
}

/// A function of float arrays that gives float arrays, and where it is tried.
pub(crate) struct Subject<'a> {
    pub(crate) f: &'a dyn Fn(&[Array]) -> Vec<Array>,
    pub(crate) inputs: Vec<Array>,
}

/// How many of the comparisons with finite differences there were: where a function
/// has a kink, there is none.
#[derive(Default, Clone, Copy)]
pub(crate) struct Compared {
    pub(crate) first: usize,
    pub(crate) second: usize,
}

/// What is wrong.
type Fault = String;

/// The devices on which everything is computed.
pub(crate) struct Devices {
    cpu: Device,
    reference: Device,
}

impl Devices {
    pub(crate) fn new() -> Devices {
        let device = |name| Runtime::global().device(name).unwrap();
        Devices { cpu: device("cpu"), reference: device("cpu-reference") }
    }

    fn on(device: &Device, what: &str, arrays: &[Array]) -> Result<Vec<HostTensor>, Fault> {
        eval_on(device, arrays).map_err(|e| format!("{what} on {}: {e}", device.name()))?;
        arrays.iter().map(|x| x.to_host().map_err(|e| format!("{what}: {e}"))).collect()
    }

    /// The numbers of what `build` makes, which must be the same on both devices.
    pub(crate) fn both(&self, what: &str, build: impl Fn() -> Vec<Array>) -> Result<Vec<Vec<f64>>, Fault> {
        let found = Self::on(&self.cpu, what, &build())?;
        let expected = Self::on(&self.reference, what, &build())?;
        for (k, (found, expected)) in found.iter().zip(&expected).enumerate() {
            let at = format!("{what}, result {k}: reference evaluation and the CPU");
            let single = expected.dtype() != DType::F64;
            agree(&at, &numbers(found), &numbers(expected), if single { 1e-4 } else { 1e-10 })?;
        }
        Ok(found.iter().map(numbers).collect())
    }

    fn one(&self, what: &str, arrays: &[Array]) -> Result<Vec<Vec<f64>>, Fault> {
        Ok(Self::on(&self.cpu, what, arrays)?.iter().map(numbers).collect())
    }
}

fn numbers(x: &HostTensor) -> Vec<f64> {
    x.values().unwrap().to_floats()
}

pub(crate) fn agree(what: &str, found: &[f64], expected: &[f64], close: f64) -> Result<(), Fault> {
    let size = expected.iter().filter(|x| x.is_finite()).fold(1.0, |most: f64, x| most.max(x.abs()));
    let differ = |(a, b): (&f64, &f64)| {
        a != b && a.is_nan() == b.is_nan() && (a - b).abs() > close * size || a.is_nan() != b.is_nan()
    };
    if found.len() != expected.len() {
        return Err(format!("{what}: {} and {} elements", expected.len(), found.len()));
    }
    match found.iter().zip(expected).position(differ) {
        Some(at) => Err(format!("{what} differ at {at}: {} is not {}", found[at], expected[at])),
        None => Ok(()),
    }
}

fn dot(a: &[Vec<f64>], b: &[Vec<f64>]) -> (f64, f64) {
    let products = a.iter().flatten().zip(b.iter().flatten()).map(|(x, y)| x * y);
    products.fold((0.0, 0.0), |(sum, size), p| (sum + p, size + p.abs()))
}

/// Central differences at two steps and after; none where they disagree.
fn slopes(
    at: impl Fn(f64) -> Result<Vec<Vec<f64>>, Fault>,
    close: f64,
) -> Result<Option<Vec<Vec<f64>>>, Fault> {
    let [low, lower, middle, higher, high] =
        [at(-STEP)?, at(-0.5 * STEP)?, at(0.0)?, at(0.5 * STEP)?, at(STEP)?];
    let mut all = Vec::new();
    for k in 0..low.len() {
        let mut one = Vec::new();
        for i in 0..low[k].len() {
            let wide = (high[k][i] - low[k][i]) / (2.0 * STEP);
            let near = (higher[k][i] - lower[k][i]) / STEP;
            let after = (high[k][i] - middle[k][i]) / STEP;
            let jumps = |other: f64| (wide - other).abs() > close * (1.0 + wide.abs());
            if !wide.is_finite() || jumps(near) || jumps(after) {
                return Ok(None);
            }
            one.push(near);
        }
        all.push(one);
    }
    Ok(Some(all))
}

impl Subject<'_> {
    fn call(&self, x: &[Array]) -> Vec<Array> {
        (self.f)(x)
    }

    fn is_single(&self) -> bool {
        self.inputs.iter().any(|x| x.dtype() != DType::F64)
    }

    /// The inputs moved along a direction.
    fn moved(&self, direction: &[Array], by: f64) -> Vec<Array> {
        self.inputs.iter().zip(direction).map(|(x, d)| x + d * by).collect()
    }

    /// One number: the results times weights.
    fn weighed(&self, weights: &[Array], x: &[Array]) -> Array {
        let terms = self.call(x).into_iter().zip(weights).map(|(y, w)| (y * w).sum(.., false));
        terms.reduce(|a, b| a + b).unwrap()
    }

    /// Compares everything. `ways` says which inputs are batched along which axes.
    pub(crate) fn check(
        &self,
        devices: &Devices,
        random: &mut Random,
        ways: &[Vec<Option<isize>>],
    ) -> Result<Compared, Fault> {
        let mut compared = Compared::default();
        devices.both("values", || self.call(&self.inputs))?;
        let outputs = self.call(&self.inputs);
        let (directions, weights) = (random.like(&self.inputs), random.like(&outputs));
        let f = |x: &Vec<Array>| self.call(x);
        let forward = devices.both("jvp", || jvp(f, &self.inputs, &directions).1)?;
        let reverse = devices.both("vjp", || vjp(f, &self.inputs, &weights).1)?;
        let given = devices.one("directions", &[directions.clone(), weights.clone()].concat())?;
        let (given, cotangents) = given.split_at(directions.len());
        let ((along, size), (back, _)) = (dot(&forward, cotangents), dot(&reverse, given));
        let close = if self.is_single() { 1e-3 } else { 1e-9 };
        if along.is_finite() {
            agree("jvp and vjp along a direction", &[along / (1.0 + size)], &[back / (1.0 + size)], close)?;
        }
        if !self.is_single() {
            let at = |t: f64| devices.one("differences", &self.call(&self.moved(&directions, t)));
            if let Some(expected) = slopes(at, FIRST)? {
                compared.first += 1;
                for (found, expected) in forward.iter().zip(&expected) {
                    agree("jvp and differences", found, expected, FIRST)?;
                }
            }
            compared.second += usize::from(self.second(devices, &directions, &weights)?);
        }
        for way in ways {
            self.batch(devices, random, way)?;
            self.gradients_of_batch(devices, random, way, &weights)?;
        }
        Ok(compared)
    }

    /// The forward derivative of the gradient, against differences of gradients.
    fn second(&self, devices: &Devices, directions: &[Array], weights: &[Array]) -> Result<bool, Fault> {
        let gradient = grad(|x: &Vec<Array>| self.weighed(weights, x));
        let directions = directions.to_vec();
        let found = devices.both("jvp of grad", || jvp(&gradient, &self.inputs, &directions).1)?;
        let at = |t: f64| devices.one("differences of grad", &gradient(&self.moved(&directions, t)));
        let Some(expected) = slopes(at, SECOND)? else { return Ok(false) };
        for (k, (found, expected)) in found.iter().zip(&expected).enumerate() {
            agree(&format!("jvp of grad and differences, input {k}"), found, expected, SECOND)?;
        }
        Ok(true)
    }

    /// Inputs near these: `SIZE` for each that is batched, joined along its axis.
    fn joined(&self, random: &mut Random, way: &[Option<isize>]) -> (Vec<Array>, Vec<Vec<Array>>) {
        let mut items = vec![Vec::new(); SIZE];
        let mut whole = Vec::new();
        for (x, axis) in self.inputs.iter().zip(way) {
            let near: Vec<Array> =
                (0..SIZE).map(|_| x + random.array(&x.shape(), x.dtype()) * 0.05).collect();
            for (i, list) in items.iter_mut().enumerate() {
                list.push(if axis.is_some() { near[i].clone() } else { x.clone() });
            }
            whole.push(axis.map_or_else(|| x.clone(), |axis| Array::stack(&near, axis)));
        }
        (whole, items)
    }

    /// A batch, against a loop.
    fn batch(&self, devices: &Devices, random: &mut Random, way: &[Option<isize>]) -> Result<(), Fault> {
        let (whole, items) = self.joined(random, way);
        let found = devices.both(&format!("vmap over {way:?}"), || {
            vmap_over(|x: &Vec<Array>| self.call(x), way, &[Some(0)])(&whole)
        })?;
        let expected: Vec<Array> = items.iter().flat_map(|x| self.call(x)).collect();
        let expected = devices.one("a loop", &expected)?;
        for (k, found) in found.iter().enumerate() {
            let expected: Vec<f64> =
                expected.iter().skip(k).step_by(expected.len() / SIZE).flatten().copied().collect();
            let close = if self.is_single() { 1e-4 } else { 1e-10 };
            agree(&format!("vmap over {way:?} and a loop, result {k}"), found, &expected, close)?;
        }
        Ok(())
    }

    /// The gradient of the sum of a batch, against the batch of gradients.
    fn gradients_of_batch(
        &self,
        devices: &Devices,
        random: &mut Random,
        way: &[Option<isize>],
        weights: &[Array],
    ) -> Result<(), Fault> {
        let (whole, _) = self.joined(random, way);
        let one = |x: &Vec<Array>| self.weighed(weights, x);
        let of_batch = devices.both("grad of vmap", || {
            grad(|x: &Vec<Array>| vmap_over(one, way, &[Some(0)])(x).sum(.., false))(&whole)
        })?;
        let out: Vec<Option<isize>> = way.iter().map(|axis| Some(axis.unwrap_or(0))).collect();
        let batch = devices.both("vmap of grad", || {
            let found = vmap_over(grad(one), way, &out)(&whole);
            let shared =
                |(x, axis): (Array, &Option<isize>)| if axis.is_some() { x } else { x.sum(0, false) };
            found.into_iter().zip(way).map(shared).collect()
        })?;
        let close = if self.is_single() { 1e-3 } else { 1e-9 };
        for (k, (found, expected)) in of_batch.iter().zip(&batch).enumerate() {
            agree(&format!("grad of vmap and vmap of grad over {way:?}, input {k}"), found, expected, close)?;
        }
        Ok(())
    }
}

/// The step of finite differences.
const STEP: f64 = 1e-6;

/// How far first derivatives may be from differences, of their size.
const FIRST: f64 = 2e-5;

/// As [`FIRST`], of second derivatives.
const SECOND: f64 = 1e-4;

/// How many there are in a batch.
const SIZE: usize = 3;

/// Every input alone batched along each of its axes, and all of them together.
pub(crate) fn every_way(inputs: &[Array]) -> Vec<Vec<Option<isize>>> {
    let mut all = Vec::new();
    for (k, x) in inputs.iter().enumerate() {
        for axis in 0..=x.ndim() as isize {
            all.push((0..inputs.len()).map(|other| (other == k).then_some(axis)).collect());
        }
    }
    if inputs.len() > 1 {
        all.push(inputs.iter().map(|_| Some(0)).collect());
        all.push(inputs.iter().map(|_| Some(-1)).collect());
    }
    all
}
