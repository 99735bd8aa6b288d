//! Random arrays: the bits that MLX 0.32.4 draws on a CPU for the same keys.

use oneir_array::random::{self, Samples};
use oneir_array::{Array, DType, Traced, bf16, f16};
use oneir_cpu as _;
use oneir_runtime::Runtime;

struct Drawn {
    seed: u64,
    /// Of three keys.
    split: [u32; 6],
    /// Uniform between -2.5 and 3.25, as bits.
    f32: [u32; 5],
    f16: [u16; 5],
    bf16: [u16; 5],
    normal_f16: [u16; 5],
    /// From -50 to below 1000.
    i32: [i32; 5],
    /// With probability 0.3.
    bernoulli: [bool; 5],
    permutation: [u32; 6],
    /// By the logits 0, 1 and -1.
    categorical: [u32; 5],
}

const DRAWN: &[Drawn] = &[
    Drawn {
        seed: 0,
        split: [2467461003, 428148500, 3186719485, 3840466878, 2562233961, 1946702221],
        f32: [1062054448, 3220611468, 3195343488, 1076432578, 1064183136],
        f16: [14960, 49077, 46000, 16712, 15220],
        bf16: [16204, 49142, 48768, 16426, 16240],
        normal_f16: [12802, 48418, 46166, 15615, 13266],
        i32: [553, 54, 362, 888, 576],
        bernoulli: [false, true, false, false, false],
        permutation: [1, 5, 0, 4, 2, 3],
        categorical: [1, 0, 1, 1, 1],
    },
    Drawn {
        seed: 42,
        split: [3134548294, 3733159049, 3746501087, 894150801, 801545058, 2363201431],
        f32: [1071195532, 1075830020, 3215944686, 3215378044, 3216418049],
        f16: [16076, 16638, 48508, 48439, 48565],
        bf16: [16344, 16416, 49072, 49063, 49079],
        normal_f16: [14566, 15486, 47829, 47744, 47903],
        i32: [716, 862, 156, 168, 145],
        bernoulli: [false, false, true, true, true],
        permutation: [4, 3, 5, 0, 1, 2],
        categorical: [1, 1, 0, 0, 0],
    },
    Drawn {
        seed: 5497558138889,
        split: [1934014012, 3536462243, 382421500, 2866101023, 1563367440, 1085710261],
        f32: [1035384000, 1074725520, 3197266232, 1068180746, 3201327728],
        f16: [11680, 16504, 46232, 15706, 46720],
        bf16: [15808, 16400, 48784, 16300, 48848],
        normal_f16: [45054, 15212, 46253, 14060, 46481],
        i32: [422, 814, 354, 650, 332],
        bernoulli: [false, false, false, false, false],
        permutation: [2, 5, 4, 0, 3, 1],
        categorical: [1, 1, 1, 1, 1],
    },
];

#[test]
fn the_same_key_draws_the_same_bits_as_mlx() {
    for drawn in DRAWN {
        let (key, what) = (random::key(drawn.seed), drawn.seed);
        let uniform = |dtype| random::uniform(-2.5, 3.25, &[5], dtype, Some(&key));
        assert_eq!(random::split(&key, 3).to_vec::<u32>().unwrap(), drawn.split, "{what}");
        let f32s = uniform(DType::F32).to_vec::<f32>().unwrap();
        assert_eq!(f32s.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), drawn.f32, "{what}");
        let f16s = uniform(DType::F16).to_vec::<f16>().unwrap();
        assert_eq!(f16s.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), drawn.f16, "{what}");
        let bf16s = uniform(DType::BF16).to_vec::<bf16>().unwrap();
        assert_eq!(bf16s.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), drawn.bf16, "{what}");
        let normal = random::normal(&[5], DType::F16, 0, 1, Some(&key)).to_vec::<f16>().unwrap();
        assert_eq!(normal.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), drawn.normal_f16, "{what}");
        let integers = random::randint(-50, 1000, &[5], DType::I32, Some(&key));
        assert_eq!(integers.to_vec::<i32>().unwrap(), drawn.i32, "{what}");
        let truths = random::bernoulli(0.3, Some(&[5]), Some(&key));
        assert_eq!(truths.to_vec::<bool>().unwrap(), drawn.bernoulli, "{what}");
        let order = random::permutation(6, 0, Some(&key));
        assert_eq!(order.to_vec::<u32>().unwrap(), drawn.permutation, "{what}");
        let logits = Array::from_slice(&[0f32, 1.0, -1.0], &[3]);
        let places = random::categorical(&logits, -1, Samples::Many(5), Some(&key));
        assert_eq!(places.to_vec::<u32>().unwrap(), drawn.categorical, "{what}");
    }
}

#[test]
fn widths_and_empty_shapes() {
    let key = random::key(1);
    for (width, dtype) in [(1, DType::U8), (2, DType::U16), (4, DType::U32)] {
        assert_eq!(random::bits(&[3, 2], width, Some(&key)).dtype(), dtype);
    }
    let empty = random::normal(&[0, 3], DType::F64, 0, 1, Some(&key));
    assert_eq!((empty.shape().to_vec(), empty.to_vec::<f64>().unwrap()), (vec![0, 3], vec![]));
    let wide = random::uniform(0, 1, &[1000], DType::F64, Some(&key)).to_vec::<f64>().unwrap();
    assert!(
        wide.iter().all(|x| (0.0..1.0).contains(x)) && wide.iter().any(|x| x * 2f64.powi(40) % 1.0 != 0.0)
    );
}

#[test]
fn what_makes_no_sense_is_refused_by_name() {
    let told = |a: Array| a.check().unwrap_err().to_string();
    let key = random::key(1);
    let draw = |dtype| random::uniform(0, 1, &[2], dtype, Some(&key));
    assert!(told(draw(DType::I32)).contains("`uniform` at"));
    assert!(told(random::normal(&[2], DType::Bool, 0, 1, Some(&key))).contains("normal"));
    assert!(told(random::split(&draw(DType::F32), 2)).contains("the key must be u32[2], found f32[2]"));
    let three = Array::ones(&[3], DType::F32);
    assert!(told(random::uniform(0, &three, &[2], DType::F32, None)).contains("shapes [3] and [2]"));
    assert!(told(random::categorical(&three, 3, Samples::One, None)).contains("axis 3 is out of range"));
    assert!(told(random::permutation(-1, 0, None)).contains("-1 numbers have no order"));
    assert!(told(random::bits(&[usize::MAX, 2], 4, Some(&key))).contains("more bytes"));
}

fn numbers() -> Vec<u32> {
    random::bits(&[4], 4, None).to_vec::<u32>().unwrap()
}

#[test]
fn a_sequence_is_what_splitting_makes() {
    random::seed(42);
    let state = random::state();
    assert_eq!(state.to_vec::<u32>().unwrap(), random::key(42).to_vec::<u32>().unwrap());
    let both = random::split(&state, 2);
    let [next, given] = [0, 1].map(|i| both.narrow(0, i, 1).squeeze(0));
    let drawn = random::bits(&[4], 4, Some(&given)).to_vec::<u32>().unwrap();
    assert_eq!(numbers(), drawn);
    assert_eq!(random::state().to_vec::<u32>().unwrap(), next.to_vec::<u32>().unwrap());
}

#[test]
fn a_state_put_back_draws_the_same_again() {
    random::seed(5);
    numbers();
    let state = random::state();
    let first = [numbers(), numbers()];
    assert_ne!(first[0], first[1]);
    random::set_state(&state).unwrap();
    assert_eq!([numbers(), numbers()], first);
    // A state that is not known yet: all draws are functions of it.
    let pending = (&state + 1) - 1;
    assert!(!pending.is_available());
    random::set_state(&pending).unwrap();
    assert_eq!([numbers(), numbers()], first);
}

#[test]
fn a_traced_state_is_an_argument_and_a_result() {
    random::seed(9);
    let before = random::state();
    let plain = [numbers(), numbers()];
    let after = random::state().to_vec::<u32>().unwrap();
    let argument = Traced::argument(before.value().unwrap().spec().clone());
    random::set_state(&argument).unwrap();
    let drawn = [random::bits(&[4], 4, None), random::bits(&[4], 4, None)];
    let traced = Traced::new(&[argument], &[drawn[0].clone(), drawn[1].clone(), random::state()]).unwrap();
    random::set_state(&before).unwrap();
    let device = Runtime::global().default_device().unwrap();
    let results = traced.call(&device, &[before]).unwrap();
    let results: Vec<Vec<u32>> = results.iter().map(|r| r.to_vec().unwrap()).collect();
    assert_eq!(results, [plain[0].clone(), plain[1].clone(), after]);
    // Another state gives other numbers: none was taken as a constant.
    let other = traced.call(&device, &[random::key(10)]).unwrap();
    assert_ne!(other[0].to_vec::<u32>().unwrap(), plain[0]);
}

#[test]
fn each_thread_has_a_sequence_of_its_own() {
    random::seed(1);
    let alone = [numbers(), numbers()];
    random::seed(1);
    let first = numbers();
    let elsewhere = || std::thread::spawn(|| (numbers(), numbers()));
    let others: Vec<_> = [elsewhere(), elsewhere()].into_iter().map(|t| t.join().unwrap()).collect();
    let seeded = std::thread::spawn(|| {
        random::seed(1);
        numbers()
    });
    assert_eq!(seeded.join().unwrap(), alone[0], "a seed means the same in each thread");
    assert_eq!([first, numbers()], alone, "other threads do not change this one's sequence");
    let mut all: Vec<Vec<u32>> = others.into_iter().flat_map(|(a, b)| [a, b]).collect();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 4, "threads that do not seed draw different numbers");
}

#[test]
fn a_bad_state_is_refused_and_the_one_before_stays() {
    random::seed(3);
    let told = |state: &Array| random::set_state(state).unwrap_err().to_string();
    assert!(told(&Array::ones(&[2], DType::F32)).contains("the state must be u32[2], found f32[2]"));
    let failed = Array::ones(&[2], DType::F32).matmul(&Array::ones(&[3], DType::F32));
    assert!(told(&failed).contains("matmul"));
    assert_eq!(random::state().to_vec::<u32>().unwrap(), [0, 3]);
}
