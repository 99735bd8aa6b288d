//! Threefry-2x32 after Salmon, Moraes, Dror and Shaw, "Parallel Random
//! Numbers: As Easy as 1, 2, 3" (2011).

use oneir_tensor::{DType, HostTensor, TensorError};

use super::case::t;
use super::fields::RandomBits;
use super::rules::{Batching, Derivative, EvalError, Nature, Rules, zeros};
use super::{Case, Primitive, one};
use crate::invalid::{dtype_is, exactly};
use crate::{Invalid, Spec, Specs};

/// Two random words for a key and a counter: 20 rounds.
pub(super) fn threefry2x32(key: [u32; 2], counter: [u32; 2]) -> [u32; 2] {
    const ROTATIONS: [[u32; 4]; 2] = [[13, 15, 26, 6], [17, 29, 16, 24]];
    const PARITY: u32 = 0x1BD1_1BDA;
    let keys = [key[0], key[1], PARITY ^ key[0] ^ key[1]];
    let [mut a, mut b] = [counter[0].wrapping_add(keys[0]), counter[1].wrapping_add(keys[1])];
    for group in 0..5 {
        for rotation in ROTATIONS[group % 2] {
            a = a.wrapping_add(b);
            b = b.rotate_left(rotation) ^ a;
        }
        a = a.wrapping_add(keys[(group + 1) % 3]);
        b = b.wrapping_add(keys[(group + 2) % 3]).wrapping_add(group as u32 + 1);
    }
    [a, b]
}

/// The words drawn for one key. Word i of the first half shares its counter
/// with word i of the second; of an odd number, the one in the middle stands
/// alone.
fn words(key: [u32; 2], count: usize) -> Result<Vec<u32>, TensorError> {
    let half = count / 2;
    let second = half + count % 2;
    let mut words = zeros(count)?;
    for i in 0..half {
        [words[i], words[second + i]] = threefry2x32(key, [i as u32, (second + i) as u32]);
    }
    if count % 2 == 1 {
        [words[half], _] = threefry2x32(key, [half as u32, 0]);
    }
    Ok(words)
}

impl Rules for RandomBits<'_> {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        let [keys] = exactly(inputs)?;
        let dtype = match self.width {
            1 => DType::U8,
            2 => DType::U16,
            4 => DType::U32,
            other => {
                return Err(Invalid::Parameter {
                    parameter: "width",
                    found: other.to_string(),
                    expected: "1, 2 or 4 bytes",
                });
            }
        };
        dtype_is("the keys", keys, "u32", |d| d == DType::U32)?;
        let Some((2, lead)) = keys.shape.split_last().map(|(&last, lead)| (last, lead)) else {
            return Err(Invalid::Rank {
                operand: "the keys",
                expected: "a last of size 2 among their",
                found: keys.shape.to_vec(),
            });
        };
        one(Spec::new(dtype, lead.iter().chain(self.shape).copied().collect::<Vec<_>>()))
    }

    fn evaluate(&self, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
        let spec = self.results(inputs)?.remove(0);
        let keys = inputs[0].to_vec::<u32>()?;
        let per_key = self.shape.iter().product::<usize>() * usize::from(*self.width);
        let mut bytes = zeros::<u8>(keys.len() / 2 * per_key)?;
        for (out, &key) in bytes.chunks_mut(per_key.max(1)).zip(keys.as_chunks().0) {
            let drawn = words(key, per_key.div_ceil(4))?.into_iter().flat_map(u32::to_le_bytes);
            for (byte, drawn) in out.iter_mut().zip(drawn) {
                *byte = drawn;
            }
        }
        Ok(vec![HostTensor::from_bytes(spec.dtype, &spec.shape, &bytes)?])
    }

    fn nature(&self) -> Nature {
        Nature::Random
    }

    fn derivative(&self) -> Derivative<'_> {
        Derivative::Zero
    }

    fn batching(&self) -> Batching<'_> {
        Batching::Same
    }

    fn fixes_shape(&self) -> bool {
        true
    }

    fn cases() -> Vec<Case> {
        let bits = |shape: &[usize], width| Primitive::RandomBits { shape: shape.to_vec(), width };
        let key = |a: u32, b: u32| t(&[2], &[a, b]);
        let keys = || t(&[2, 2], &[1u32, 2, 3, 4]);
        let mut cases = vec![
            Case::new(
                bits(&[5], 4),
                vec![key(0, 1)],
                vec![t(&[5], &[3568232559u32, 713140391, 1958986954, 2761185182, 2442350529])],
            ),
            Case::new(
                bits(&[4], 4),
                vec![key(7, u32::MAX)],
                vec![t(&[4], &[22858823u32, 93926080, 1450102462, 2381900685])],
            ),
            Case::new(bits(&[], 4), vec![key(0, 0)], vec![t(&[], &[1797259609u32])]),
            Case::new(
                bits(&[2, 3], 2),
                vec![key(123, 456)],
                vec![t(&[2, 3], &[50420u16, 11212, 38199, 35236, 9728, 44898])],
            ),
            Case::new(
                bits(&[5], 2),
                vec![key(123, 456)],
                vec![t(&[5], &[50420u16, 11212, 38199, 35236, 9728])],
            ),
            Case::new(bits(&[1], 2), vec![key(1, 2)], vec![t(&[1], &[57139u16])]),
            Case::new(bits(&[5], 1), vec![key(0, 1)], vec![t(&[5], &[118u8, 136, 41, 116, 72])]),
            Case::new(
                bits(&[8], 1),
                vec![key(0, 1)],
                vec![t(&[8], &[118u8, 136, 41, 116, 72, 128, 141, 252])],
            ),
            Case::new(bits(&[3], 1), vec![key(9, 9)], vec![t(&[3], &[126u8, 22, 222])]),
            Case::new(
                bits(&[13], 1),
                vec![key(5, 6)],
                vec![t(&[13], &[231u8, 121, 116, 221, 247, 238, 174, 213, 2, 223, 160, 102, 169])],
            ),
            Case::new(
                bits(&[3], 4),
                vec![keys()],
                vec![t(
                    &[2, 3],
                    &[4128513521u32, 2271449651, 2345921600, 3970621033, 2693931844, 2143107470],
                )],
            ),
            Case::new(
                bits(&[3], 2),
                vec![keys()],
                vec![t(&[2, 3], &[54996u16, 9597, 18632, 42994, 22000, 22455])],
            ),
            Case::new(
                bits(&[2, 3], 1),
                vec![keys()],
                vec![t(&[2, 2, 3], &[212u8, 214, 125, 37, 200, 72, 242, 167, 240, 85, 183, 87])],
            ),
            Case::new(bits(&[0, 3], 4), vec![key(0, 1)], vec![t::<u32>(&[0, 3], &[])]),
            Case::new(bits(&[3], 1), vec![t::<u32>(&[0, 2], &[])], vec![t::<u8>(&[0, 3], &[])]),
            Case::refused(bits(&[1], 3), vec![key(0, 1)], "1, 2 or 4 bytes"),
            Case::refused(bits(&[1], 4), vec![t(&[3], &[0u32; 3])], "the keys must have a last of size 2"),
            Case::refused(bits(&[1], 4), vec![t(&[], &[0u32])], "the keys must have a last of size 2"),
            Case::refused(bits(&[1], 4), vec![t(&[2], &[0i32; 2])], "the keys must be u32"),
            Case::refused(bits(&[usize::MAX, 2], 4), vec![key(0, 1)], "more bytes"),
        ];
        cases.extend([1, 2, 4].map(|width| Case::parity(bits(&[7, 19], width), vec![keys()])));
        cases
    }
}

#[cfg(test)]
mod tests {
    use super::threefry2x32;

    /// Known answers published with the authors' implementation.
    #[test]
    fn known_answers() {
        assert_eq!(threefry2x32([0, 0], [0, 0]), [0x6B20_0159, 0x99BA_4EFE]);
        assert_eq!(threefry2x32([u32::MAX; 2], [u32::MAX; 2]), [0x1CB9_96FC, 0xBB00_2BE7]);
        assert_eq!(
            threefry2x32([0x1319_8A2E, 0x0370_7344], [0x243F_6A88, 0x85A3_08D3]),
            [0xC492_3A9C, 0x483D_F7A0]
        );
    }
}
