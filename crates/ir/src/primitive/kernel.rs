use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use oneir_tensor::{DType, HostTensor};

use super::case::t;
use super::fields::Kernel;
use super::rules::{Batching, Derivative, EvalError, Nature, Rules};
use super::{Case, HostFunction, KernelCall, Primitive};
use crate::graph::Fill;
use crate::{Invalid, Real, Spec, Specs};

/// What a panic said.
fn words(panic: &(dyn Any + Send)) -> &str {
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    owned.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without words")
}

/// Refuses a launch size that is not along one to three axes.
fn launch(parameter: &'static str, sizes: &[usize], valid: bool) -> Result<(), Invalid> {
    if valid && (1..=3).contains(&sizes.len()) {
        return Ok(());
    }
    Err(Invalid::Parameter {
        parameter,
        found: format!("{sizes:?}"),
        expected: "threads along one to three axes, as many for the grid as for a group, which is not empty",
    })
}

impl Rules for Kernel<'_> {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        let call = self.call;
        if inputs.len() != call.inputs.len() {
            return Err(Invalid::Arity { expected: "as many as the kernel names", found: inputs.len() });
        }
        let outputs = call.outputs.len();
        if outputs == 0 || call.shapes.len() != outputs || call.dtypes.len() != outputs {
            return Err(Invalid::Parameter {
                parameter: "outputs",
                found: format!("{:?} of {:?} and {:?}", call.outputs, call.shapes, call.dtypes),
                expected: "at least one, each with a shape and a dtype",
            });
        }
        launch("threadgroup", &call.threadgroup, !call.threadgroup.contains(&0))?;
        launch("grid", &call.grid, call.grid.len() == call.threadgroup.len())?;
        let specs = call.shapes.iter().zip(&call.dtypes);
        Ok(specs.map(|(shape, &dtype)| Spec::new(dtype, shape.as_slice())).collect())
    }

    fn evaluate(&self, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
        let given: Vec<Spec> = inputs.iter().map(Spec::of).collect();
        let expected = self.infer(&given.iter().collect::<Vec<_>>())?;
        let name = || self.call.name.to_string();
        let Some(function) = self.call.cpu.get() else {
            return Err(EvalError::NoSource { kernel: name(), target: "the host" });
        };
        let inputs = inputs.iter().map(HostTensor::contiguous).collect::<Result<Vec<_>, _>>()?;
        let outputs = catch_unwind(AssertUnwindSafe(|| function(&inputs)))
            .unwrap_or_else(|panic| Err(format!("it panicked: {}", words(&*panic))))
            .map_err(|reason| EvalError::User { name: name(), reason })?;
        let found: Specs = outputs.iter().map(Spec::of).collect();
        if found != expected {
            let list = |specs: &[Spec]| specs.iter().map(Spec::to_string).collect::<Vec<_>>().join(", ");
            let reason = format!("it gave ({}), but must give ({})", list(&found), list(&expected));
            return Err(EvalError::User { name: name(), reason });
        }
        Ok(outputs)
    }

    fn nature(&self) -> Nature {
        Nature::Opaque
    }

    fn derivative(&self) -> Derivative<'_> {
        Derivative::Undefined("its source does not tell it; a custom function around it can")
    }

    fn batching(&self) -> Batching<'_> {
        Batching::Undefined("its source is written for inputs of one shape; a custom function can tell how")
    }

    fn fixes_shape(&self) -> bool {
        true
    }

    fn cases() -> Vec<Case> {
        let plain = || Primitive::Kernel(Box::new(double(HostFunction::none())));
        let x = || vec![t(&[2], &[1f32, 2.0])];
        let with = |change: fn(&mut KernelCall)| {
            let mut call = double(HostFunction::none());
            change(&mut call);
            Primitive::Kernel(Box::new(call))
        };
        vec![
            Case::fails(plain(), x(), "kernel `double` has no source for the host"),
            Case::fails(with(|call| call.init = Fill::Unfilled), x(), "no source"),
            Case::fails(with(|call| call.cuda = "y[i] = \"\\n\";\n".into()), x(), "no source"),
            Case::refused(plain(), vec![], "as many as the kernel names inputs, found 0"),
            Case::refused(with(|call| call.outputs.clear()), x(), "at least one, each with"),
            Case::refused(with(|call| call.shapes.clear()), x(), "at least one, each with"),
            Case::refused(with(|call| call.dtypes.push(DType::F32)), x(), "at least one, each with"),
            Case::refused(with(|call| call.grid.push(1)), x(), "grid = [2, 1]"),
            Case::refused(with(|call| call.threadgroup = vec![0]), x(), "threadgroup = [0]"),
            Case::refused(with(|call| call.threadgroup = vec![1; 4]), x(), "threadgroup = [1, 1, 1, 1]"),
            Case::refused(with(|call| call.shapes = vec![vec![usize::MAX]]), x(), "more bytes than"),
        ]
    }
}

/// A kernel of one input and one output of two f32, with this function.
fn double(cpu: HostFunction) -> KernelCall {
    KernelCall {
        name: "double".into(),
        inputs: vec!["x".into()],
        outputs: vec!["y".into()],
        shapes: vec![vec![2]],
        dtypes: vec![DType::F32],
        template: vec!["T = float".into()],
        grid: vec![2],
        threadgroup: vec![1],
        init: Fill::Number(Real::new(0.0)),
        cuda: "".into(),
        cpu,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Cursor;

    fn kernel(cpu: HostFunction) -> Primitive {
        Primitive::Kernel(Box::new(double(cpu)))
    }

    fn run(
        function: impl Fn(&[HostTensor]) -> Result<Vec<HostTensor>, String> + Send + Sync + 'static,
    ) -> Result<Vec<HostTensor>, EvalError> {
        let backwards = t(&[2], &[2f32, 1.0]).slice(&[1], &[-1], &[2]).unwrap();
        kernel(HostFunction::new(function)).evaluate(&[backwards])
    }

    #[test]
    fn host_functions_run_on_contiguous_inputs_and_are_checked() {
        let doubled = |inputs: &[HostTensor]| {
            assert!(inputs[0].layout().is_row_contiguous());
            let x = inputs[0].to_vec::<f32>().map_err(|e| e.to_string())?;
            Ok(vec![t(&[2], &x.iter().map(|x| 2.0 * x).collect::<Vec<_>>())])
        };
        assert_eq!(run(doubled), Ok(vec![t(&[2], &[2f32, 4.0])]));
        assert_eq!(run(|_| Err("no luck".into())).unwrap_err().to_string(), "`double` failed: no luck");
        assert_eq!(
            run(|_| Ok(vec![t(&[1], &[1i32])])).unwrap_err().to_string(),
            "`double` failed: it gave (i32[1]), but must give (f32[2])"
        );
        assert!(run(|_| Ok(vec![])).unwrap_err().to_string().contains("it gave ()"));
        let panics = run(|_| panic!("on purpose")).unwrap_err().to_string();
        assert_eq!(panics, "`double` failed: it panicked: on purpose");
    }

    #[test]
    fn host_functions_are_told_apart_by_identity() {
        let make = || HostFunction::new(|x| Ok(x.to_vec()));
        let (first, second) = (make(), make());
        assert_eq!(first, first.clone());
        assert_ne!(first, second);
        assert_ne!(first, HostFunction::none());
        assert_eq!(HostFunction::none(), HostFunction::default());
    }

    #[test]
    fn a_text_says_that_there_was_a_host_function() {
        let mut printed = String::new();
        kernel(HostFunction::new(|x| Ok(x.to_vec()))).write(&mut printed);
        assert!(printed.contains("cpu = host"), "{printed}");
        let read = Primitive::read(&mut Cursor::new(&printed));
        assert_eq!(read, Ok(kernel(HostFunction::none())));
    }
}
