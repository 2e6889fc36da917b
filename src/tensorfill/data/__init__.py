from tensorfill.data.arrays import from_dense as from_dense
from tensorfill.data.observations import Observations as Observations
