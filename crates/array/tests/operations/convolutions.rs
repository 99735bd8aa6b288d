//! Convolutions, against the loops that define them.

use oneir_array::{Array, ConvGeneral, DType, random};

use crate::{assert_alike, assert_fails, values};

/// Small integers: sums of their products are exact in f32.
fn whole(shape: &[usize], dtype: DType, seed: u64) -> Array {
    random::randint(-3, 4, shape, DType::I32, Some(&random::key(seed))).astype(dtype)
}

/// The geometry of a loop over two dimensions.
#[derive(Clone, Copy)]
struct Loop {
    stride: [usize; 2],
    padding: [usize; 2],
    dilation: [usize; 2],
    groups: usize,
}

const LOOPS: [Loop; 6] = [
    Loop { stride: [1, 1], padding: [0, 0], dilation: [1, 1], groups: 1 },
    Loop { stride: [2, 1], padding: [1, 2], dilation: [1, 1], groups: 2 },
    Loop { stride: [1, 3], padding: [2, 0], dilation: [2, 1], groups: 1 },
    Loop { stride: [2, 2], padding: [3, 3], dilation: [1, 2], groups: 4 },
    Loop { stride: [5, 1], padding: [0, 1], dilation: [1, 1], groups: 2 },
    Loop { stride: [1, 1], padding: [1, 1], dilation: [3, 3], groups: 4 },
];

/// Calls `f` with the places of image, kernel and result that meet: `(n, y, x)`,
/// `(ky, kx)` and `(oy, ox)`, for an image of `[N, H, W, C]`.
fn meetings(
    image: &[usize],
    kernel: [usize; 2],
    out: [usize; 2],
    by: Loop,
    mut f: impl FnMut([usize; 3], [usize; 2], [usize; 2]),
) {
    for n in 0..image[0] {
        for (oy, ox) in (0..out[0]).flat_map(|y| (0..out[1]).map(move |x| (y, x))) {
            for (ky, kx) in (0..kernel[0]).flat_map(|y| (0..kernel[1]).map(move |x| (y, x))) {
                let y = (oy * by.stride[0] + ky * by.dilation[0]).checked_sub(by.padding[0]);
                let x = (ox * by.stride[1] + kx * by.dilation[1]).checked_sub(by.padding[1]);
                if let (Some(y), Some(x)) = (y, x)
                    && y < image[1]
                    && x < image[2]
                {
                    f([n, y, x], [ky, kx], [oy, ox]);
                }
            }
        }
    }
}

fn sizes(image: &[usize], kernel: [usize; 2], by: Loop) -> [usize; 2] {
    [0, 1]
        .map(|i| (image[i + 1] + 2 * by.padding[i] - (kernel[i] - 1) * by.dilation[i] - 1) / by.stride[i] + 1)
}

#[test]
fn convolutions_are_the_loops_that_define_them() {
    let (image, kernel, made) = ([2, 9, 8, 4], [3, 2], 8);
    for by in LOOPS {
        let part = image[3] / by.groups;
        let (x, w) =
            (whole(&image, DType::F32, 1), whole(&[made, kernel[0], kernel[1], part], DType::F32, 2));
        let (xs, ws) = (values::<f32>(&x), values::<f32>(&w));
        let out = sizes(&image, kernel, by);
        let mut wanted = vec![0f32; image[0] * out[0] * out[1] * made];
        meetings(&image, kernel, out, by, |[n, y, x], [ky, kx], [oy, ox]| {
            for (o, c) in (0..made).flat_map(|o| (0..part).map(move |c| (o, c))) {
                let channel = o / (made / by.groups) * part + c;
                let at = ((n * image[1] + y) * image[2] + x) * image[3] + channel;
                let weight = ((o * kernel[0] + ky) * kernel[1] + kx) * part + c;
                wanted[((n * out[0] + oy) * out[1] + ox) * made + o] += xs[at] * ws[weight];
            }
        });
        let wanted = Array::from_slice(&wanted, &[image[0], out[0], out[1], made]);
        for dtype in [DType::F32, DType::F64] {
            let found =
                x.astype(dtype).conv2d(&w.astype(dtype), by.stride, by.padding, by.dilation, by.groups);
            assert_alike(&found, &wanted.astype(dtype), 0.0);
        }
        let halves =
            x.astype(DType::F16).conv2d(&w.astype(DType::F16), by.stride, by.padding, by.dilation, by.groups);
        assert_alike(&halves.astype(DType::F32), &wanted, 0.0);
        // One of more dimensions, and one with turned kernels.
        let deep = x.expand_dims(1).conv3d(
            &w.expand_dims(1),
            [1, by.stride[0], by.stride[1]],
            [0, by.padding[0], by.padding[1]],
            [1, by.dilation[0], by.dilation[1]],
            by.groups,
        );
        assert_alike(&deep.squeeze(1), &wanted, 0.0);
        let turned = ConvGeneral {
            stride: by.stride.to_vec(),
            padding: (by.padding.to_vec(), by.padding.to_vec()),
            kernel_dilation: by.dilation.to_vec(),
            groups: by.groups,
            flip: true,
            ..ConvGeneral::new(2)
        };
        assert_alike(&x.conv_general(&w.flip([1, 2]), &turned), &wanted, 0.0);
    }
}

#[test]
fn a_transposed_convolution_is_the_adjoint() {
    let (image, kernel, made) = ([2, 9, 8, 4], [3, 2], 8);
    for by in LOOPS {
        let part = image[3] / by.groups;
        let (x, w) =
            (whole(&image, DType::F64, 3), whole(&[made, kernel[0], kernel[1], part], DType::F64, 4));
        let y = x.conv2d(&w, by.stride, by.padding, by.dilation, by.groups);
        let z = whole(&y.shape(), DType::F64, 5);
        // Kernels [O, …, C / groups] from z's channels to x's: of each group, turned.
        let groups = by.groups as isize;
        let back = w.reshape(&[groups, -1, 3, 2, part as isize]).transpose([0, 4, 2, 3, 1]).reshape(&[
            image[3] as isize,
            3,
            2,
            made as isize / groups,
        ]);
        let more: Vec<usize> = (0..2)
            .map(|i| (image[i + 1] + 2 * by.padding[i] - (kernel[i] - 1) * by.dilation[i] - 1) % by.stride[i])
            .collect();
        let spread = z.conv_transpose2d(&back, by.stride, by.padding, by.dilation, more, by.groups);
        assert_eq!(spread.shape(), x.shape());
        // <conv(x), z> = <x, convᵀ(z)>.
        assert_alike(&(y * z).sum(.., false), &(x * spread).sum(.., false), 0.0);
    }
}

#[test]
fn a_batch_is_its_images_and_groups_are_alone() {
    let (x, w) = (whole(&[3, 12, 4], DType::F32, 6), whole(&[6, 3, 2], DType::F32, 7));
    let whole = x.conv1d(&w, 1, 1, 1, 2);
    for n in 0..3 {
        assert_alike(&whole.narrow(0, n, 1), &x.narrow(0, n, 1).conv1d(&w, 1, 1, 1, 2), 0.0);
    }
    let parts = [0, 1].map(|g| x.narrow(2, g * 2, 2).conv1d(&w.narrow(0, g * 3, 3), 1, 1, 1, 1));
    assert_alike(&whole, &Array::concatenate(&parts, 2), 0.0);
    assert_eq!(Array::zeros(&[0, 12, 4], DType::F32).conv1d(&w, 1, 1, 1, 2).shape(), [0, 12, 6]);
}

#[test]
fn what_does_not_fit_is_refused() {
    let (x, w) = (whole(&[1, 8, 4], DType::F32, 8), whole(&[6, 3, 4], DType::F32, 9));
    let told = |a: &Array, what: &str| assert_fails(a, "conv1d", what);
    told(&x.conv1d(&w, 0, 0, 1, 1), "strides = [0] is not valid: steps of at least 1");
    told(&x.conv1d(&w, 1, 0, 0, 1), "dilations = [0] is not valid: steps of at least 1");
    told(&x.conv1d(&w, 1, 0, 1, 0), "4 input channels do not split into 0 groups");
    told(&x.conv1d(&w, 1, 0, 1, 3), "4 input channels do not split into 3 groups");
    told(&x.conv1d(&w.narrow(0, 0, 5), 1, 0, 1, 2), "5 output channels do not split into 2 groups");
    told(&x.conv1d(&w, [1, 1], 0, 1, 1), "2 numbers for 1 spatial dimensions");
    told(
        &x.conv1d(&w.narrow(2, 0, 3), 1, 0, 1, 1),
        "4 channels in 1 groups needs weights of 4, found shape [6, 3, 3]",
    );
    told(
        &x.expand_dims(0).conv1d(&w, 1, 0, 1, 1),
        "need 3 dimensions, found shapes [1, 1, 8, 4] and [6, 3, 4]",
    );
    told(
        &x.narrow(1, 0, 2).conv1d(&w, 1, 0, 1, 1),
        "a window that spans 3 does not fit axis 1, which spans 2",
    );
    let back = |a: &Array, what: &str| assert_fails(a, "conv_transpose1d", what);
    back(
        &x.conv_transpose1d(&w.narrow(0, 0, 5), 1, 0, 1, 0, 2),
        "5 output channels do not split into 2 groups",
    );
    back(&x.conv_transpose1d(&w, 1, 0, 1, 0, 2), "needs weights of 2, found shape [6, 3, 4]");
    back(&x.conv_transpose1d(&w, 0, 0, 1, 0, 1), "strides = [0]");
    back(&x.conv_transpose1d(&w, 1, 9, 1, 0, 1), "");
}
