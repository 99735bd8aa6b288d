//! What memory compiled functions take. One test: the figures are of the process.

use oneir_array::{
    Array, ArrayError, DType, Traced, compile, compile_mut, eval, memory, random, reset_peak_memory,
    value_and_grad,
};
use oneir_cpu as _;
use oneir_ir::Spec;
use oneir_runtime::{Given, Runtime};

const SIDE: usize = 256;
const BYTES: usize = SIDE * SIDE * 4;

fn draw(seed: u64) -> Array {
    random::normal(&[SIDE, SIDE], DType::F32, 0, 1, Some(&random::key(seed)))
}

#[test]
fn compiled_functions_take_no_more_memory_than_they_need() -> Result<(), ArrayError> {
    let device = Runtime::global().default_device()?;
    let taken = || {
        let figures = memory(&device);
        figures.active + figures.cached
    };

    // A chain of element-wise operations is one launch, without working memory.
    let x = Traced::argument(Spec::new(DType::F32, [SIDE, SIDE]));
    let chain = (0..9).fold(x.clone(), |y, k| (y.sin() * k + &x).tanh().maximum(-0.5));
    let traced = Traced::new(&[x], &[chain])?;
    let given = vec![Given::rows(&[SIDE, SIDE])];
    let executable = device.executable(traced.graph(), given)?;
    assert_eq!((executable.plan().launches.len(), executable.plan().arena), (1, 0));

    // A step of training: after the first, memory comes from what was let go of.
    type State = (Array, Array, Array);
    let loss = |w: &Array, (x, y): &(Array, Array)| (x.matmul(w).tanh() - y).square().mean(.., false);
    let step = compile_mut(|(w, m, v): &mut State, data: &(Array, Array)| {
        let (value, slope) = value_and_grad(|w: &Array| loss(w, data))(w);
        *m = &*m * 0.9 + &slope * 0.1;
        *v = &*v * 0.99 + slope.square() * 0.01;
        *w = &*w - &*m / (v.sqrt() + 1e-8) * 0.01;
        value
    });
    let data = (draw(1), draw(2).tanh());
    let mut state = (draw(3), draw(4).zeros_like(None), draw(5).zeros_like(None));
    eval(&[data.0.clone(), data.1.clone(), state.0.clone(), state.1.clone(), state.2.clone()])?;
    step(&mut state, &data).eval()?;
    let after_first = taken();
    for _ in 0..20 {
        step(&mut state, &data).eval()?;
        assert_eq!(taken(), after_first);
    }

    // The state's memory is written in place: at its peak, a step holds the state, the
    // data and its working of three arrays, and no second state.
    reset_peak_memory(&device);
    let before = memory(&device).active;
    step(&mut state, &data).eval()?;
    let working = memory(&device).peak - before;
    assert!(working < 3 * BYTES + 4096, "{working} bytes beside the state and the data");

    // A function that does not own its input takes memory for its result only.
    let shift = compile(|x: &Array| (x * 2).sin() + 1);
    let y = shift(&data.0);
    reset_peak_memory(&device);
    let before = memory(&device).active;
    drop(y);
    let y = shift(&data.0);
    assert!(memory(&device).peak <= before + 4096, "{} {before}", memory(&device).peak);
    drop(y);
    Ok(())
}
