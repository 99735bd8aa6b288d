use std::collections::BTreeMap;

use super::allowance::Allowance;
use crate::error::OnnxError;
use crate::proto::OperatorSetIdProto;

/// The operator sets that a model or function imports: a version for each
/// domain.
///
/// The standard domain has two spellings, `""` and `"ai.onnx"`; everywhere in
/// this crate it is `""`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Opsets(BTreeMap<String, i64>);

impl Opsets {
    /// The version imported of a domain.
    pub fn version(&self, domain: &str) -> Option<i64> {
        self.0.get(standard(domain)).copied()
    }

    /// Domains and versions, in the order of the domains.
    pub fn iter(&self) -> impl Iterator<Item = (&str, i64)> {
        self.0.iter().map(|(domain, &version)| (domain.as_str(), version))
    }

    /// A domain imported more than once has its highest version.
    pub(super) fn read(imports: Vec<OperatorSetIdProto>) -> Result<Self, OnnxError> {
        let mut opsets = BTreeMap::new();
        for import in imports {
            let domain = domain(import.domain);
            let version = import.version.unwrap_or(0);
            if version < 0 || (domain.is_empty() && version == 0) {
                return Err(OnnxError::BadOpset { domain, version });
            }
            let entry = opsets.entry(domain).or_insert(version);
            *entry = version.max(*entry);
        }
        Ok(Opsets(opsets))
    }

    /// These, and those of `outer` for domains that these do not name.
    pub(super) fn or(mut self, outer: &Opsets, allowance: &mut Allowance) -> Result<Self, OnnxError> {
        for (domain, &version) in &outer.0 {
            allowance.take_name(domain)?;
            self.0.entry(domain.clone()).or_insert(version);
        }
        Ok(self)
    }

    /// The versions of files from before operator sets were named.
    pub(super) fn first() -> Self {
        Opsets(BTreeMap::from([(String::new(), 1)]))
    }
}

/// `name` within `domain`, as errors and listings spell it.
pub(super) fn qualified(domain: &str, name: &str) -> String {
    if domain.is_empty() { name.to_owned() } else { format!("{domain}.{name}") }
}

pub(super) fn domain(given: Option<String>) -> String {
    given.filter(|d| !standard(d).is_empty()).unwrap_or_default()
}

fn standard(domain: &str) -> &str {
    if domain == "ai.onnx" { "" } else { domain }
}
