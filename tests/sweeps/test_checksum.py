"""The checksum of batch files."""

import zlib

import netCDF4
import numpy as np
import pytest
import xarray

import parkade as pk
from parkade.base.errors import DamagedError
from parkade.sweeps import netcdf


def test_every_damaged_byte_is_seen(tmp_path):
    options = {"d": 2, "beta": 1.0, "n": 200, "runs": 10, "batch": 10, "t_end": 0.1, "seed": 1}
    made = pk.ensemble(**options, store=tmp_path, measure=["final", "clusters"], workers=1)
    (file,) = tmp_path.glob("batch-*.nc")
    data = file.read_bytes()
    body = data[: data.rindex(b"\nparkade")]
    assert data == body + b"\nparkade crc32 %08x\n" % zlib.crc32(body)
    assert pk.load_ensemble(tmp_path).equals(made)
    with netCDF4.Dataset(file) as opened, xarray.open_dataset(file) as read:  # as others do
        assert np.array_equal(opened["clusters"][:], read.clusters)
    places = (0, *np.random.default_rng(1).integers(len(data), size=60), len(data) - 1)
    flipped = (data[:i] + bytes([data[i] ^ 1]) + data[i + 1 :] for i in places)
    for damaged in (b"", body, data[:100], data[:-1], data + b"\n", *flipped):
        file.write_bytes(damaged)
        with pytest.raises(DamagedError, match=r"batch-000000.nc \(its checksum does not match"):
            pk.load_ensemble(tmp_path)


def test_compressed_batches_are_refused(tmp_path):
    """A chunk may unpack to gigabytes, however few of its numbers are read."""
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
    file.write_bytes(bytes(data) + netcdf._seal(data))
    with pytest.raises(pk.ParkadeError, match="is compressed"):
        pk.load_ensemble(tmp_path)
