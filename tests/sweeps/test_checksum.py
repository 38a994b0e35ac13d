"""The checksum of batch files, and files of older versions, which have a CRC-32."""

import zlib

import numpy as np
import pytest

import parkade as pk
from parkade.base.errors import DamagedError
from parkade.sweeps import netcdf

BLOCK = 64 * 509 * 8  # bytes
PAGE = 4096


def naive(data):
    """The same by its definition, word by word."""
    blocks = len(data) // BLOCK
    sums = []
    for block in range(blocks):
        words = [
            int.from_bytes(data[at : at + 8], "little")
            for at in range(block * BLOCK, (block + 1) * BLOCK, 8)
        ]
        sums += [sum(words[column::509]) % 2**64 for column in range(509)]
    summed = b"".join(total.to_bytes(8, "little") for total in sums)
    return zlib.crc32(summed + data[blocks * BLOCK :])


@pytest.mark.parametrize("size", [0, 1, 7, BLOCK - 1, BLOCK, BLOCK + 13, 2 * BLOCK + 8])
def test_it_is_what_its_definition_says(size):
    data = np.random.default_rng(size).bytes(size)
    assert netcdf.checksum(memoryview(data)) == naive(data)


def test_every_flipped_bit_and_every_lost_or_swapped_page_is_seen():
    rng = np.random.default_rng(1)
    data = bytearray(rng.bytes(3 * BLOCK + 100))
    right = netcdf.checksum(memoryview(data))
    for at in rng.integers(len(data), size=200):
        bit = 1 << int(rng.integers(8))
        data[at] ^= bit
        assert netcdf.checksum(memoryview(data)) != right
        data[at] ^= bit
    pages = len(data) // PAGE
    for _ in range(100):
        one, other = (PAGE * int(page) for page in rng.choice(pages, 2, replace=False))
        damaged = bytearray(data)
        damaged[one : one + PAGE] = bytes(PAGE)
        assert netcdf.checksum(memoryview(damaged)) != right
        damaged[one : one + PAGE] = data[other : other + PAGE]
        damaged[other : other + PAGE] = data[one : one + PAGE]
        assert netcdf.checksum(memoryview(damaged)) != right


def test_files_with_a_crc_32_are_read_and_checked(tmp_path):
    options = {"d": 2, "beta": 1.0, "n": 2000, "runs": 10, "batch": 10, "t_end": 0.1, "seed": 1}
    made = pk.ensemble(**options, store=tmp_path, measure="final", workers=1)
    file = min(tmp_path.glob("batch-*.nc"))
    data = file.read_bytes()
    body = data[: data.rindex(b"\nparkade")]
    assert len(body) > BLOCK  # smaller files have the same checksum of both kinds
    old = body + b"\nparkade crc32 %08x\n" % zlib.crc32(body)
    assert len(old) == len(data)
    assert old != data
    file.write_bytes(old)
    assert pk.load_ensemble(tmp_path).equals(made)
    for damage in (100, len(old) - 4):
        damaged = bytearray(old)
        damaged[damage] ^= 1
        file.write_bytes(damaged)
        with pytest.raises(DamagedError, match="checksum does not match"):
            pk.load_ensemble(tmp_path)


def test_compressed_batches_are_refused(tmp_path):
    """A chunk may unpack to gigabytes, however few of its numbers are read."""
    import netCDF4

    options = {"d": 2, "n": 4, "beta": 1.0, "runs": 2, "batch": 2, "t_end": 1.0}
    pk.ensemble(**options, measure="clusters", store=tmp_path)
    (file,) = tmp_path.glob("batch-*.nc")
    copy = netCDF4.Dataset("copy.nc", "w", memory=2**16)
    with netCDF4.Dataset("batch.nc", memory=file.read_bytes()) as whole:
        copy.setncatts({name: whole.getncattr(name) for name in whole.ncattrs()})
        for name, dimension in whole.dimensions.items():
            copy.createDimension(name, None if name == "simulation" else dimension.size)
        for name, old in whole.variables.items():
            large = (2**16, *old.shape[1:])
            new = copy.createVariable(name, old.dtype, old.dimensions, zlib=True, chunksizes=large)
            new[:] = old[:]
    data = copy.close()
    file.write_bytes(bytes(data) + netcdf._seal(b"sums1", data))
    with pytest.raises(pk.ParkadeError, match="is compressed"):
        pk.load_ensemble(tmp_path)
