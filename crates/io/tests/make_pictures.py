"""Writes the pictures in `data` with Pillow.

`pictures.rs` knows the values: red and green rise along x and y.
"""

import pathlib

import numpy as np
from PIL import Image

DATA = pathlib.Path(__file__).parent / "data"
WIDTH, HEIGHT = 12, 10

y, x = np.mgrid[:HEIGHT, :WIDTH]
colours = np.stack([20 * x, 25 * y, np.full_like(x, 128)], -1).astype(np.uint8)
gray = (10 * x + 5 * y).astype(np.uint8)

Image.fromarray(colours).save(DATA / "colours.jpg", quality=95, subsampling=0)
Image.fromarray(colours).save(DATA / "halved.jpg", quality=95, subsampling=2)
Image.fromarray(gray).save(DATA / "progressive.jpg", quality=95, progressive=True)
Image.fromarray(colours).convert("P", palette=Image.Palette.ADAPTIVE, colors=120).save(DATA / "palette.png")
Image.fromarray(gray.astype(np.uint16) * 256 + 7).save(DATA / "sixteen.png")
Image.fromarray(gray > 60).save(DATA / "bits.png")
opacity = np.concatenate([colours, gray[..., None]], -1)
Image.fromarray(opacity).save(DATA / "opacity.png")
