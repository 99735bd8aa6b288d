//! Random programs, differentiated, batched, and both.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use oneir_array::{Array, DType, checkpoint, compile, grad};

use crate::harness::{Compared, Devices, Random, Subject, agree};
use crate::steps::Program;

/// How many programs there are.
const SEEDS: u64 = 500;

/// Numbers larger than this leave few digits for differences.
const LARGE: f64 = 50.0;

/// A way of calling a program that changes nothing of what it gives.
type Call = fn(&Program, &[Array]) -> Vec<Array>;

/// Each of these gives the values and the gradients that a plain call gives.
const CALLS: &[(&str, Call)] = &[
    ("checkpoint", |program, x| checkpoint(|x: &Vec<Array>| program.run(x))(&x.to_vec())),
    ("compile", |program, x| {
        let compiled = compile(|x: &Vec<Array>| program.run(x));
        // The second call runs what the first has traced.
        compiled(&x.to_vec());
        compiled(&x.to_vec())
    }),
];

#[test]
fn random_programs_have_right_transforms() {
    let devices = Devices::new();
    let (next, found) = (AtomicU64::new(0), Mutex::new((Vec::new(), Vec::new())));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let seed @ 0..SEEDS = next.fetch_add(1, Ordering::Relaxed) {
                    let outcome = one(seed, &devices);
                    let mut found = found.lock().unwrap();
                    match outcome {
                        Ok(compared) => found.0.push(compared),
                        Err(fault) => found.1.push(format!("seed {seed}: {fault}")),
                    }
                }
            });
        }
    });
    let (compared, faults) = found.into_inner().unwrap();
    let shown = faults[..faults.len().min(5)].join("\n");
    assert!(faults.is_empty(), "{} of {SEEDS} programs are wrong:\n{shown}", faults.len());
    // Kinks must not hide what is wrong.
    let first = compared.iter().filter(|c| c.first > 0).count();
    let second = compared.iter().filter(|c| c.second > 0).count();
    assert!(first > 400 && second > 350, "{first} and {second} of {SEEDS} are compared with differences");
}

/// A program of moderate numbers, and inputs for it.
fn program(random: &mut Random, devices: &Devices) -> (Program, Vec<Array>) {
    loop {
        let program = Program::new(random);
        let inputs: Vec<Array> = program.inputs.iter().map(|shape| random.array(shape, DType::F64)).collect();
        let values =
            devices.both("values", || program.run(&inputs)).unwrap_or_else(|e| panic!("{e}\n{program}"));
        if values.iter().flatten().all(|x| x.abs() < LARGE) {
            return (program, inputs);
        }
    }
}

fn one(seed: u64, devices: &Devices) -> Result<Compared, String> {
    let mut random = Random::new(seed);
    let (program, inputs) = program(&mut random, devices);
    let told = |fault: String| format!("{fault}\n{program}");
    let run = |x: &[Array]| program.run(x);
    // A random way of batching some of the inputs, and all of them.
    let mut way: Vec<Option<isize>> =
        inputs.iter().map(|x| (random.below(2) == 0).then(|| random.below(x.ndim() + 1) as isize)).collect();
    let k = random.below(way.len());
    way[k] = Some(random.below(inputs[k].ndim() + 1) as isize);
    let ways = [way, inputs.iter().map(|_| Some(-1)).collect()];
    let subject = Subject { f: &run, inputs };
    let compared = subject.check(devices, &mut random, &ways).map_err(told)?;
    called(&program, &subject, devices).map_err(told)?;
    if seed.is_multiple_of(5) && compared.first > 0 {
        in_single(&subject, devices, &mut random, &ways).map_err(told)?;
    }
    Ok(compared)
}

/// The sum of all results.
fn total(results: Vec<Array>) -> Array {
    results.into_iter().map(|y| y.sum(.., false)).reduce(|a, b| a + b).unwrap()
}

/// Other ways of calling it give the same.
fn called(program: &Program, subject: &Subject<'_>, devices: &Devices) -> Result<(), String> {
    let x = &subject.inputs;
    let gradient = |call: &dyn Fn(&[Array]) -> Vec<Array>| grad(|x: &Vec<Array>| total(call(x)))(x);
    let values = devices.both("values", || program.run(x))?;
    let gradients = devices.both("grad", || gradient(&|x| program.run(x)))?;
    for (name, call) in CALLS {
        let found = devices.both(name, || call(program, x))?;
        let found_gradients = devices.both(name, || gradient(&|x| call(program, x)))?;
        for (found, expected) in found.iter().zip(&values) {
            agree(&format!("values of {name} and of a plain call"), found, expected, 1e-12)?;
        }
        for (found, expected) in found_gradients.iter().zip(&gradients) {
            agree(&format!("gradients of {name} and of a plain call"), found, expected, 1e-12)?;
        }
    }
    Ok(())
}

/// In f32: the same laws, and the gradients of f64.
fn in_single(
    subject: &Subject<'_>,
    devices: &Devices,
    random: &mut Random,
    ways: &[Vec<Option<isize>>],
) -> Result<(), String> {
    let inputs: Vec<Array> = subject.inputs.iter().map(|x| x.astype(DType::F32)).collect();
    let single = Subject { f: subject.f, inputs };
    single.check(devices, random, ways).map_err(|fault| format!("in f32: {fault}"))?;
    let gradient = |x: &Vec<Array>| grad(|x: &Vec<Array>| total((subject.f)(x)))(x);
    // The same numbers, as f32 holds them.
    let exact: Vec<Array> = single.inputs.iter().map(|x| x.astype(DType::F64)).collect();
    let (found, expected) = (
        devices.both("grad in f32", || gradient(&single.inputs))?,
        devices.both("grad", || gradient(&exact))?,
    );
    for (found, expected) in found.iter().zip(&expected) {
        agree("gradients in f32 and f64", found, expected, 1e-3)?;
    }
    Ok(())
}
