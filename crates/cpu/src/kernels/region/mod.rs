//! Element-wise kernels: a region of steps, or one primitive as a region of
//! one step, over tiles that stay in the first cache.

mod convert;
mod float;
mod int;
mod step;
mod tile;

use std::mem::MaybeUninit;
use std::ops::Range;

use oneir_ir::graph::{Class, Region, RegionStep, StepArg, Sym};
use oneir_ir::primitive::StepOp;
use oneir_ir::{BinaryOp, Spec, UnaryOp};
use oneir_runtime::{Answer, KernelRow, Request};
use oneir_tensor::DType;
use smallvec::SmallVec;

use crate::launch::{Args, Shared, prepared};
use crate::simd::Level;
use step::StepFn;
use tile::{Block, Cut, Place, Space};

pub(crate) fn rows(level: Level) -> Vec<Box<dyn KernelRow>> {
    vec![Box::new(ElementWise { level })]
}

/// Tiles of one thread fill at most this, of the first cache.
const TILES_BYTES: usize = 32 << 10;
/// Room for tiles on a thread's stack.
const ROOM_BYTES: usize = 64 << 10;
const LARGEST_TILE: usize = 1024;
const SMALLEST_TILE: usize = 64;
/// Rows of a block.
const BLOCK_ROWS: usize = 16;
/// Fewer elements than this are not worth a second thread.
const GRAIN: usize = 16 << 10;

struct ElementWise {
    level: Level,
}

impl KernelRow for ElementWise {
    fn name(&self) -> &'static str {
        "region"
    }

    fn symbols(&self) -> &'static [&'static str] {
        &["region", "unary", "binary", "select", "as_type"]
    }

    fn can(&self, request: &Request<'_>) -> Answer {
        let single;
        let region = match request.sym {
            Sym::Fused(fused) => match &fused.class {
                Class::Region(region) => region,
                Class::Fast(_) => return Answer::No,
            },
            Sym::Prim(primitive) => {
                let Some(op) = primitive.step() else { return Answer::No };
                let inputs = request.operands.len() as u32;
                let args = (0..inputs).map(StepArg::Input).collect();
                single = Region { inputs, steps: vec![RegionStep { op, args }], outputs: vec![0] };
                &single
            }
            Sym::View => return Answer::No,
        };
        if !request.results_own() {
            return Answer::No;
        }
        let Some(program) = Program::new(self.level, region, request) else { return Answer::No };
        let in_place = program.in_place.clone();
        let mut answer = prepared("region", move |args| {
            program.run(args);
            Ok(())
        });
        answer.in_place = in_place;
        Answer::Yes(answer)
    }
}

struct Input {
    place: Place,
    /// Bytes of an element in memory, and where the first lies.
    size: usize,
    first: isize,
    /// Of halves: to f32.
    widen: Option<StepFn>,
    /// The tile that it is brought into, unless it is read where it lies.
    slot: Option<usize>,
}

struct Step {
    run: StepFn,
    /// Places in the table of tile pointers: inputs, then steps.
    args: [usize; 3],
    /// Of halves: to what they can hold.
    round: Option<StepFn>,
    /// The tile that it gives; none where it writes a result.
    slot: Option<usize>,
}

struct Output {
    /// The step, in the table of tile pointers.
    from: usize,
    size: usize,
    /// Of f32 in a tile: to halves.
    narrow: Option<StepFn>,
    /// Whether it is copied from a tile even where it could be written by its
    /// step.
    copied: bool,
}

struct Program {
    space: Space,
    inputs: Vec<Input>,
    steps: Vec<Step>,
    outputs: Vec<Output>,
    in_place: SmallVec<[(u8, u8); 2]>,
    /// The tile in which halves wait for their conversion.
    staging: usize,
    /// Elements of a tile, and bytes of its room.
    tile: usize,
    room: usize,
}

/// Room for tiles, aligned for the widest vector.
#[repr(align(64))]
struct Room {
    _bytes: [MaybeUninit<u8>; ROOM_BYTES],
}

impl Program {
    fn new(level: Level, region: &Region, request: &Request<'_>) -> Option<Program> {
        let shape = &request.results.first()?.spec.shape;
        let operands: Vec<_> = request.operands.iter().map(|o| &o.layout).collect();
        if operands.iter().any(|o| o.shape != *shape) {
            return None;
        }
        let dtypes: Vec<DType> = request.operands.iter().map(|o| o.dtype).collect();
        let specs: Vec<Spec> = dtypes.iter().map(|&dtype| Spec::new(dtype, shape.clone())).collect();
        let made = region.step_specs(&specs.iter().collect::<Vec<_>>()).ok()?;
        let space = Space::new(shape, &operands);
        let whole = |k: usize| operands[k].offset == 0 && operands[k].is_row_contiguous();
        // A place is one result's: each operand is offered to those that fit.
        let in_place: SmallVec<[(u8, u8); 2]> = (0..request.results.len().min(255))
            .flat_map(|r| (0..operands.len().min(255)).map(move |k| (r, k)))
            .filter(|&(r, k)| whole(k) && dtypes[k].size() == request.results[r].spec.dtype.size())
            .map(|(r, k)| (r as u8, k as u8))
            .collect();

        let mut slots = Slots::default();
        let mut widest = 1;
        let mut inputs = Vec::with_capacity(operands.len());
        for (k, (layout, &dtype)) in operands.iter().zip(&dtypes).enumerate() {
            let place = space.place(k);
            let held = convert::in_tile(dtype)?;
            let widen = dtype.is_half().then(|| convert::widen(level, dtype));
            widest = widest.max(held.size()?);
            let slot = (place != Place::Direct || widen.is_some()).then(|| slots.keep());
            inputs.push(Input { place, size: dtype.size()?, first: layout.offset, widen, slot });
        }

        let entry = |arg: &StepArg| match arg {
            StepArg::Input(i) => *i as usize,
            StepArg::Step(i) => inputs.len() + *i as usize,
        };
        let mut last = vec![0; region.steps.len()];
        for (at, step) in region.steps.iter().enumerate() {
            for arg in &step.args {
                if let StepArg::Step(i) = arg {
                    last[*i as usize] = at;
                }
            }
        }
        for &output in &region.outputs {
            last[output as usize] = usize::MAX;
        }
        let mut outputs: Vec<Output> = Vec::with_capacity(region.outputs.len());
        for (k, &output) in region.outputs.iter().enumerate() {
            let dtype = made[output as usize].dtype;
            let twice = region.outputs[..k].contains(&output);
            outputs.push(Output {
                from: inputs.len() + output as usize,
                size: dtype.size()?,
                narrow: dtype.is_half().then(|| convert::narrow(level, dtype)),
                copied: space.cut == Cut::Block || dtype.is_half() || twice,
            });
        }

        let mut steps = Vec::with_capacity(region.steps.len());
        for (at, step) in region.steps.iter().enumerate() {
            let from: SmallVec<[DType; 3]> = step
                .args
                .iter()
                .map(|arg| match arg {
                    StepArg::Input(i) => dtypes[*i as usize],
                    StepArg::Step(i) => made[*i as usize].dtype,
                })
                .collect();
            let dtype = made[at].dtype;
            let held = convert::in_tile(dtype)?;
            widest = widest.max(held.size()?);
            let run = step_fn(level, step.op, &from, held)?;
            let mut args = [0; 3];
            for (to, arg) in args.iter_mut().zip(&step.args) {
                *to = entry(arg);
            }
            let entry = inputs.len() + at;
            let direct = outputs.iter().position(|o| o.from == entry && !o.copied);
            // A result may take an operand's place, and is then copied there
            // once the tile is done.
            let needs_slot = direct.is_none_or(|k| in_place.iter().any(|&(r, _)| usize::from(r) == k));
            // The result's tile is never an operand's: loops over tiles that
            // overlap are not vector code.
            let slot = needs_slot.then(|| slots.take(at, last[at]));
            let round = (dtype.is_half() && rounds(step.op)).then(|| convert::round(level, dtype));
            steps.push(Step { run, args, round, slot });
        }
        let staging = slots.keep();
        let room = slots.count * widest;
        let tile = (TILES_BYTES / room).clamp(SMALLEST_TILE, LARGEST_TILE) / SMALLEST_TILE * SMALLEST_TILE;
        if tile * room > ROOM_BYTES {
            return None;
        }
        Some(Program { space, inputs, steps, outputs, in_place, staging, tile, room: tile * widest })
    }

    fn run(&self, args: &Args<'_>) {
        let mut taken: SmallVec<[bool; 8]> = SmallVec::from_elem(false, self.outputs.len());
        for &(r, k) in &self.in_place {
            let (r, k) = (usize::from(r), usize::from(k));
            taken[r] |= std::ptr::eq(args.reads[k], args.writes[r]);
        }
        let reads: Shared<&[*const u8]> = Shared(args.reads);
        let writes: Shared<&[*mut u8]> = Shared(args.writes);
        let (total, grain) = match self.space.cut {
            Cut::Block => (self.blocks().iter().product(), (GRAIN / self.tile).max(1)),
            Cut::Row | Cut::Run => (self.space.count(), GRAIN),
        };
        if self.space.count() == 0 {
            return;
        }
        args.threads.for_chunks(total, grain, |range| {
            let mut room = MaybeUninit::<Room>::uninit();
            let mut walk = Walk {
                program: self,
                reads: reads.get(),
                writes: writes.get(),
                room: room.as_mut_ptr().cast(),
                table: SmallVec::from_elem(std::ptr::null_mut(), self.inputs.len() + self.steps.len()),
                taken: &taken,
            };
            // SAFETY: layouts stay inside their buffers; the chunks' results
            // do not overlap; a result that took an operand's place is written
            // only where this chunk alone reads, after it has been read.
            unsafe { walk.run(range) }
        });
    }

    fn block_columns(&self) -> usize {
        self.tile / BLOCK_ROWS
    }

    /// How many blocks there are along each dimension.
    fn blocks(&self) -> SmallVec<[usize; 6]> {
        let mut blocks: SmallVec<[usize; 6]> = self.space.sizes.as_slice().into();
        if let [.., rows, columns] = &mut blocks[..] {
            *rows = rows.div_ceil(BLOCK_ROWS);
            *columns = columns.div_ceil(self.block_columns());
        }
        blocks
    }
}

/// Whether a step on halves gives what they cannot hold.
fn rounds(op: StepOp) -> bool {
    use BinaryOp::{Maximum, Minimum};
    use UnaryOp::{Abs, Ceil, Conjugate, Floor, Neg, Real, Round, Sign, Trunc};
    !matches!(
        op,
        StepOp::Select
            | StepOp::Binary(Maximum | Minimum)
            | StepOp::Unary(Abs | Neg | Sign | Floor | Ceil | Round | Trunc | Conjugate | Real)
    )
}

fn step_fn(level: Level, op: StepOp, from: &[DType], held: DType) -> Option<StepFn> {
    let kind = convert::in_tile(*from.first()?)?;
    match op {
        StepOp::Unary(op) => match kind {
            DType::Bool => int::unary_bool(level, op),
            DType::U8 => int::unary_u8(level, op),
            DType::U16 => int::unary_u16(level, op),
            DType::U32 => int::unary_u32(level, op),
            DType::U64 => int::unary_u64(level, op),
            DType::I8 => int::unary_i8(level, op),
            DType::I16 => int::unary_i16(level, op),
            DType::I32 => int::unary_i32(level, op),
            DType::I64 => int::unary_i64(level, op),
            DType::F32 => float::unary_f32(level, op),
            DType::F64 => float::unary_f64(level, op),
            _ => None,
        },
        StepOp::Binary(op) => match kind {
            DType::Bool => int::binary_bool(level, op),
            DType::U8 => int::binary_u8(level, op),
            DType::U16 => int::binary_u16(level, op),
            DType::U32 => int::binary_u32(level, op),
            DType::U64 => int::binary_u64(level, op),
            DType::I8 => int::binary_i8(level, op),
            DType::I16 => int::binary_i16(level, op),
            DType::I32 => int::binary_i32(level, op),
            DType::I64 => int::binary_i64(level, op),
            DType::F32 => float::binary_f32(level, op),
            DType::F64 => float::binary_f64(level, op),
            _ => None,
        },
        StepOp::Select => convert::select(level, held.size()?),
        StepOp::AsType(to) if to.is_half() => convert::cast_to_half(level, kind),
        StepOp::AsType(_) => convert::cast(level, kind, held),
        _ => None,
    }
}

/// Tiles that are handed out and taken back.
#[derive(Default)]
struct Slots {
    count: usize,
    /// Slots in use by steps, and the last step that reads each.
    busy: Vec<(usize, usize)>,
}

impl Slots {
    /// A slot for good.
    fn keep(&mut self) -> usize {
        self.count += 1;
        self.count - 1
    }

    /// A slot from step `at` until `last`.
    fn take(&mut self, at: usize, last: usize) -> usize {
        match self.busy.iter_mut().find(|(_, until)| *until < at) {
            Some((slot, until)) => {
                *until = last.max(at);
                *slot
            }
            None => {
                let slot = self.keep();
                self.busy.push((slot, last.max(at)));
                slot
            }
        }
    }
}

/// One thread's way through its part.
struct Walk<'a> {
    program: &'a Program,
    reads: &'a [*const u8],
    writes: &'a [*mut u8],
    room: *mut u8,
    /// Where the tile of each input and step begins.
    table: SmallVec<[*mut u8; 32]>,
    /// Whether a result lies in an operand's place.
    taken: &'a [bool],
}

impl Walk<'_> {
    fn slot(&self, slot: usize) -> *mut u8 {
        // SAFETY: the program counted its slots' room.
        unsafe { self.room.add(slot * self.program.room) }
    }

    /// Whether an output's step writes it.
    fn direct(&self, k: usize) -> bool {
        !(self.program.outputs[k].copied || self.taken[k])
    }

    /// # Safety
    /// As `Program::run` says.
    unsafe fn run(&mut self, range: Range<usize>) {
        let program = self.program;
        // SAFETY: the operands' layouts stay inside their buffers, and every
        // slot has room for a tile.
        unsafe {
            for (k, input) in program.inputs.iter().enumerate() {
                if let Some(slot) = input.slot {
                    self.table[k] = self.slot(slot);
                }
                if input.place == Place::Scalar {
                    let from = self.reads[k].offset(input.first * input.size as isize);
                    self.bring(k, program.tile, |to| tile::gather(input.size, from, 0, program.tile, to));
                }
            }
            for (k, step) in program.steps.iter().enumerate() {
                if let Some(slot) = step.slot {
                    self.table[program.inputs.len() + k] = self.slot(slot);
                }
            }
            match program.space.cut {
                Cut::Block => range.for_each(|block| self.block(block)),
                Cut::Row | Cut::Run => {
                    let inner = program.space.sizes[program.space.sizes.len() - 1];
                    let mut at = range.start;
                    while at < range.end {
                        let mut n = program.tile.min(range.end - at);
                        if program.space.cut == Cut::Row {
                            n = n.min(inner - at % inner);
                        }
                        self.run_tile(at, n);
                        at += n;
                    }
                }
            }
        }
    }

    /// Fills an input's tile with `fill`, through the conversion of halves.
    unsafe fn bring(&self, k: usize, n: usize, fill: impl FnOnce(*mut u8)) {
        match self.program.inputs[k].widen {
            None => fill(self.table[k]),
            Some(widen) => {
                let staging = self.slot(self.program.staging);
                fill(staging);
                // SAFETY: the staging tile holds `n` halves now.
                unsafe { widen(&[staging.cast_const(); 3], self.table[k], n) }
            }
        }
    }

    /// `n` elements from `at` on, in the results' order.
    unsafe fn run_tile(&mut self, at: usize, n: usize) {
        let program = self.program;
        let space = &program.space;
        let mut index: Option<SmallVec<[usize; 6]>> = None;
        // SAFETY: the elements lie inside the operands' layouts.
        unsafe {
            for (k, input) in program.inputs.iter().enumerate() {
                let size = input.size as isize;
                let start = self.reads[k].offset(input.first * size);
                match input.place {
                    Place::Scalar => {}
                    Place::Direct => {
                        let from = start.offset(at as isize * size);
                        match input.widen {
                            None => self.table[k] = from.cast_mut(),
                            Some(widen) => widen(&[from; 3], self.table[k], n),
                        }
                    }
                    Place::Strided => {
                        let index = index.get_or_insert_with(|| space.index(at));
                        let strides = &space.operands[k];
                        if space.cut == Cut::Run {
                            self.bring(k, n, |to| {
                                tile::gather_run(input.size, start, (&space.sizes, strides), index, n, to);
                            });
                            continue;
                        }
                        let from = start.offset(tile::offset(index, strides) * size);
                        match (strides[strides.len() - 1], input.widen, input.slot) {
                            (1, None, _) => self.table[k] = from.cast_mut(),
                            (1, Some(widen), _) => widen(&[from; 3], self.table[k], n),
                            (stride, ..) => {
                                self.bring(k, n, |to| tile::gather(input.size, from, stride, n, to));
                            }
                        }
                    }
                }
            }
            for (k, output) in program.outputs.iter().enumerate() {
                if self.direct(k) {
                    self.table[output.from] = self.writes[k].add(at * output.size);
                }
            }
            self.steps(n);
            for (k, output) in program.outputs.iter().enumerate() {
                if self.direct(k) {
                    continue;
                }
                let (from, to) = (self.table[output.from].cast_const(), self.writes[k].add(at * output.size));
                match output.narrow {
                    Some(narrow) => narrow(&[from; 3], to, n),
                    None => std::ptr::copy_nonoverlapping(from, to, n * output.size),
                }
            }
        }
    }

    /// The steps over a tile whose inputs are there.
    unsafe fn steps(&mut self, n: usize) {
        let inputs = self.program.inputs.len();
        for (k, step) in self.program.steps.iter().enumerate() {
            let args = step.args.map(|arg| self.table[arg].cast_const());
            let out = self.table[inputs + k];
            // SAFETY: the tiles hold `n` elements of the types that the step
            // was chosen for.
            unsafe {
                (step.run)(&args, out, n);
                if let Some(round) = step.round {
                    round(&[out.cast_const(); 3], out, n);
                }
            }
        }
    }

    /// One block of the last two dimensions.
    unsafe fn block(&mut self, block: usize) {
        let program = self.program;
        let space = &program.space;
        let counts = program.blocks();
        let last = space.sizes.len() - 1;
        let mut index: SmallVec<[usize; 6]> = SmallVec::from_elem(0, last + 1);
        let mut left = block;
        for axis in (0..=last).rev() {
            index[axis] = left % counts[axis];
            left /= counts[axis];
        }
        index[last - 1] *= BLOCK_ROWS;
        index[last] *= program.block_columns();
        let rows = BLOCK_ROWS.min(space.sizes[last - 1] - index[last - 1]);
        let columns = program.block_columns().min(space.sizes[last] - index[last]);
        let n = rows * columns;
        // SAFETY: the block lies inside the operands' layouts and the results.
        unsafe {
            for (k, input) in program.inputs.iter().enumerate() {
                if input.place == Place::Scalar {
                    continue;
                }
                let strides = &space.operands[k];
                let at = input.first + tile::offset(&index, strides);
                let from = self.reads[k].offset(at * input.size as isize);
                let block = Block { rows, columns, row: strides[last - 1], column: strides[last] };
                self.bring(k, n, |to| tile::gather_block(input.size, from, block, to));
            }
            self.steps(n);
            let at = tile::offset(&index, &space.results);
            for (k, output) in program.outputs.iter().enumerate() {
                let size = output.size as isize;
                let mut from = self.table[output.from].cast_const();
                if let Some(narrow) = output.narrow {
                    let staging = self.slot(program.staging);
                    narrow(&[from; 3], staging, n);
                    from = staging.cast_const();
                }
                for i in 0..rows {
                    let to = self.writes[k].offset((at + i as isize * space.results[last - 1]) * size);
                    let row = from.add(i * columns * output.size);
                    std::ptr::copy_nonoverlapping(row, to, columns * output.size);
                }
            }
        }
    }
}
