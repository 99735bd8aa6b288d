//! tmp
use oneir_io::*; use oneir_tensor::*;
#[test] fn go() {
  let d = std::path::PathBuf::from("/tmp/w/interop"); std::fs::create_dir_all(&d).unwrap();
  let mut all = vec![];
  for dt in DType::ALL.iter().copied().filter(|d| d.computes() || d.is_float()) {
    let t = HostTensor::from_values(dt, &[2,4], &Values::Float(vec![0.,1.,2.,3.,1.,0.5,4.,1.])).unwrap();
    if dt.computes() { save_tensors(d.join(format!("{dt}.npy")), &[("x".into(), t.clone())]).unwrap(); }
    all.push((dt.name().to_string(), t));
  }
  save_tensors(d.join("a.safetensors"), &all).unwrap();
  let c: Vec<_> = all.iter().filter(|(_,t)| t.dtype().computes()).cloned().collect();
  npz::write(d.join("s.npz"), &c, npz::Compression::Stored).unwrap();
  npz::write(d.join("d.npz"), &c, npz::Compression::Deflated).unwrap();
  std::fs::write(d.join("zero.safetensors"), b"").unwrap();
  for n in ["zero.safetensors", "zero.npy", "zero.npz", "zero"] { std::fs::write(d.join(n), b"").unwrap(); println!("{}", open_tensors(d.join(n)).unwrap_err()); }
  std::fs::write(d.join("z.npy"), b"PK\x03\x04").unwrap(); println!("{}", open_tensors(d.join("z.npy")).unwrap_err());
  println!("{}", open_tensors("/dev/null").unwrap_err());
  println!("{}", open_tensors("/nope.npz").unwrap_err());
  println!("{}", save_tensors("/nope/x.npz", &[]).unwrap_err());
  let mut b = std::fs::read(d.join("s.npz")).unwrap(); b[200] ^= 1; std::fs::write(d.join("bad.npz"), &b).unwrap(); println!("{}", open_tensors(d.join("bad.npz")).unwrap_err());
  println!("{}", npy::from_bytes(&[b"\x93NUMPY\x01\x00\x10\x00".as_slice(), b"{'descr': 4}     "].concat()).unwrap_err());
  if std::env::var("BIG").is_ok() {
    let n = (1usize << 32) + 5;
    let t = HostTensor::zeros(DType::U8, &[n]).unwrap();
    let two = [("x".to_string(), t), ("y".to_string(), HostTensor::scalar(3i32))];
    npz::write(d.join("big.npz"), &two, npz::Compression::Deflated).unwrap();
    let back = npz::read(d.join("big.npz")).unwrap(); assert_eq!(back[0].1.count(), n); assert_eq!(back[1], two[1]);
  }
}
