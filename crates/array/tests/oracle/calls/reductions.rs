use oneir_array::{QuantileMethod, SearchSide};

use super::{Results, looked, one, two, with};
use crate::call::Call;

pub(super) fn call(op: &str, c: &Call<'_>) -> Option<Results> {
    let x = || c.x(0);
    match op {
        "sum" => one(x().sum(c.axes(1), c.flag(2))),
        "prod" => one(x().prod(c.axes(1), c.flag(2))),
        "max" => one(x().max(c.axes(1), c.flag(2))),
        "min" => one(x().min(c.axes(1), c.flag(2))),
        "all" => one(x().all(c.axes(1), c.flag(2))),
        "any" => one(x().any(c.axes(1), c.flag(2))),
        "mean" => one(x().mean(c.axes(1), c.flag(2))),
        "var" => one(x().var(c.axes(1), c.flag(2), c.int(3))),
        "std" => one(x().std(c.axes(1), c.flag(2), c.int(3))),
        "median" => one(x().median(c.axes(1), c.flag(2))),
        "logsumexp" => one(x().logsumexp(c.axes(1), c.flag(2))),
        "count_nonzero" => one(x().count_nonzero(c.axes(1), c.flag(2))),
        "minmax" => two(x().minmax(c.axes(1), c.flag(2))),
        "argmax" => one(x().argmax(c.axes(1), c.flag(2))),
        "argmin" => one(x().argmin(c.axes(1), c.flag(2))),
        "softmax" => one(x().softmax(c.axes(1))),
        "cumsum" | "cumulative_sum" => one(c.scanned().cumsum(c.axes(1), c.flag(2), c.flag(3))),
        "cumprod" | "cumulative_prod" => one(c.scanned().cumprod(c.axes(1), c.flag(2), c.flag(3))),
        "cummax" => one(x().cummax(c.axes(1), c.flag(2), c.flag(3))),
        "cummin" => one(x().cummin(c.axes(1), c.flag(2), c.flag(3))),
        "logcumsumexp" => one(x().logcumsumexp(c.axes(1), c.flag(2), c.flag(3))),
        "diff" => one(x().diff(c.int(1) as usize, c.int(2))),
        "sort" => one(x().sort(c.axes(1))),
        "argsort" => one(x().argsort(c.axes(1))),
        "partition" => one(x().partition(c.int(1), c.axes(2))),
        "argpartition" => one(x().argpartition(c.int(1), c.axes(2))),
        "topk" => one(x().topk(c.int(1) as usize, c.axes(2))),
        "searchsorted" => {
            one(x()
                .searchsorted(c.x(1), if c.text(2) == "left" { SearchSide::Left } else { SearchSide::Right }))
        }
        "isin" => one(x().isin(c.x(1))),
        "quantile" => {
            one(with!(c.side(1), q => x().quantile(q, c.axes(2), c.flag(3), QuantileMethod::Linear)))
        }
        "bincount" => looked(x().bincount(c.int(2) as usize)),
        "interp" => one(x().interp(c.x(1), c.x(2), None, None)),
        "nonzero" => Some(x().nonzero()),
        _ => None,
    }
}

impl Call<'_> {
    /// What is scanned: in a dtype where one is given.
    fn scanned(&self) -> oneir_array::Array {
        self.maybe_dtype(4).map_or_else(|| self.x(0).clone(), |dtype| self.x(0).astype(dtype))
    }
}
